"""A small convolutional network in numpy, with gradients: convolutions 3 x 3 with padding, ReLU, max pooling, one dense
layer. Channels come last here, so that a convolution is one matrix product; the ONNX model has them first."""

import numpy as np

CHANNELS = (8, 16, 32)  # after each convolution; the image is halved after each


def patches(x):
    """[n, h, w, c] -> [n, h, w, 9 c]: the 3 x 3 neighbourhood of every pixel, zero outside."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    h, w = x.shape[1:3]
    return np.concatenate([padded[:, i:i + h, j:j + w] for i in range(3) for j in range(3)], axis=3)


def patches_gradient(g, channels):
    n, h, w, _ = g.shape
    padded = np.zeros((n, h + 2, w + 2, channels), g.dtype)
    for k in range(9):
        i, j = divmod(k, 3)
        padded[:, i:i + h, j:j + w] += g[..., k * channels:(k + 1) * channels]
    return padded[:, 1:-1, 1:-1]


def pool(x):
    """Maximum over 2 x 2, an odd last row or column dropped; also the position of the maximum."""
    n, h, w, c = x.shape
    four = x[:, :h // 2 * 2, :w // 2 * 2].reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 5, 2, 4)
    four = four.reshape(n, h // 2, w // 2, c, 4)
    return four.max(-1), four.argmax(-1)


def pool_gradient(g, winner, shape):
    n, h, w, c = g.shape
    four = (winner[..., None] == np.arange(4)) * g[..., None]
    out = np.zeros(shape, g.dtype)
    out[:, :h * 2, :w * 2] = four.reshape(n, h, w, c, 2, 2).transpose(0, 1, 4, 2, 5, 3).reshape(n, h * 2, w * 2, c)
    return out


class Network:
    def __init__(self, random):
        sizes = list(zip((1, *CHANNELS), CHANNELS))
        normal = lambda rows, columns: (random.normal(0, np.sqrt(2 / rows), (rows, columns))).astype(np.float32)
        self.weights = [normal(9 * i, o) for i, o in sizes] + [normal(3 * 3 * CHANNELS[-1], 10) * np.float32(0.5)]
        self.biases = [np.zeros(w.shape[1], np.float32) for w in self.weights]

    def forward(self, images):
        """[n, 1, 28, 28] -> probabilities [n, 10], and the intermediate values for the gradient."""
        x, kept = images.transpose(0, 2, 3, 1), []
        for w, b in zip(self.weights[:-1], self.biases):
            columns = patches(x)
            y = np.maximum(columns @ w + b, 0)
            x, winner = pool(y)
            kept.append((columns, y, winner))
        flat = x.transpose(0, 3, 1, 2).reshape(len(x), -1)  # channels first, as in the ONNX model
        scores = flat @ self.weights[-1] + self.biases[-1]
        e = np.exp(scores - scores.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True), (kept, flat, x.shape)

    def gradients(self, probabilities, labels, remembered):
        """The gradient of the mean cross entropy for all weights and biases."""
        kept, flat, shape = remembered
        g = probabilities.copy()
        g[np.arange(len(labels)), labels] -= 1
        g /= np.float32(len(labels))
        weights, biases = [flat.T @ g], [g.sum(0)]
        n, h, w, c = shape
        g = (g @ self.weights[-1].T).reshape(n, c, h, w).transpose(0, 2, 3, 1)
        for layer in reversed(range(len(kept))):
            columns, y, winner = kept[layer]
            g = pool_gradient(g, winner, y.shape) * (y > 0)
            rows = g.reshape(-1, g.shape[-1])
            weights.append(columns.reshape(len(rows), -1).T @ rows)
            biases.append(rows.sum(0))
            if layer:
                g = patches_gradient(g @ self.weights[layer].T, CHANNELS[layer - 1])
        return weights[::-1] + biases[::-1]

    def train(self, images, labels, epochs, random, batch=64, rate=3e-3):
        """Adam with a cosine rate. Every epoch shifts each image anew by up to two pixels."""
        parameters = self.weights + self.biases
        first = [np.zeros_like(p) for p in parameters]
        second = [np.zeros_like(p) for p in parameters]
        steps, step = epochs * (len(images) // batch), 0
        for epoch in range(epochs):
            order, loss = random.permutation(len(images)), 0.0
            for begin in range(0, len(images) - batch + 1, batch):
                chosen = order[begin:begin + batch]
                x = np.roll(images[chosen], tuple(random.integers(-2, 3, 2)), (2, 3))
                probabilities, remembered = self.forward(x)
                loss -= np.log(probabilities[np.arange(batch), labels[chosen]] + 1e-9).mean()
                step += 1
                now = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
                gradients = self.gradients(probabilities, labels[chosen], remembered)
                for p, g, m, v in zip(parameters, gradients, first, second):
                    m += 0.1 * (g - m)
                    v += 0.001 * (g * g - v)
                    p -= (now * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)).astype(np.float32)
            print(f"epoch {epoch + 1}/{epochs}: loss {loss / (len(images) // batch):.4f}", flush=True)

    def accuracy(self, images, labels):
        batches = range(0, len(images), 250)
        found = np.concatenate([self.forward(images[k:k + 250])[0].argmax(1) for k in batches])
        return (found == labels).mean()
