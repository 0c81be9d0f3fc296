#!/usr/bin/env python3
"""Makes a keyword spotting network with random weights, and utterances for it. make_model.py FOLDER writes

    keywords.onnx     the model: int8 features [1, 1, 49, 10] -> int8 scores [1, 12]
    utterances.h      the features of some utterances as a table in C
    utterance_K.npy   the features of utterance K, for `dlcc run`

The network is the DS-CNN of MLPerf Tiny, a convolution and four depthwise separable ones, quantized to int8 in QDQ form:
each operator has dequantized operands, and its result is quantized. A score is a probability times 256, minus 128.
Features are 10 coefficients of 49 overlapping parts of a second of sound. A product would use trained weights and the
features of recorded sound; with these shapes they need the same memory and time. The files are the same on each machine.
Needs only Python 3: the functions below write ONNX's protobuf messages.
"""
import array
import math
import pathlib
import random
import sys

CHANNELS, CLASSES, FRAMES, COEFFICIENTS = 64, 12, 49, 10
WEIGHTS_SEED, UTTERANCE_SEEDS = 13, (0, 5, 6)  # with which each utterance has another class
FLOAT, INT8, INT32 = 1, 3, 6  # of onnx.TensorProto.DataType


def varint(number):
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    return bytes(data) + bytes([number])


def field(number, value):
    """A field of a protobuf message: an integer, a text or another message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, element_type, shape, values):
    data = array.array({FLOAT: "f", INT8: "b", INT32: "i"}[element_type], values)
    if sys.byteorder == "big":
        data.byteswap()
    dims = b"".join(field(1, size) for size in shape)
    return dims + field(2, element_type) + field(8, name) + field(9, data.tobytes())


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)


def value_info(name, element_type, shape):
    dims = b"".join(field(1, field(1, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, element_type) + field(2, dims)))


class Network:
    """An ONNX graph in QDQ form: `last` is the dequantized result of the last operator, `scale` its scale."""

    def __init__(self, seed):
        self.random = random.Random(seed).random  # a sequence that Python's documentation guarantees
        self.nodes, self.constants, self.count = [], [], 0
        self.last, self.scale = None, None

    def uniform(self, low, high, count):
        return [low + (high - low) * self.random() for _ in range(count)]

    def constant(self, *tensor_arguments):
        self.count += 1
        self.constants.append(tensor(f"c{self.count}", *tensor_arguments))
        return f"c{self.count}"

    def add(self, operator, operands, result=None, **attributes):
        self.count += 1
        result = result or f"{operator}{self.count}"
        self.nodes.append(b"".join(field(1, operand) for operand in operands) + field(2, result) + field(3, result) +
                          field(4, operator) + b"".join(field(5, attribute(*a)) for a in attributes.items()))
        return result

    def dequantize(self, quantized, scale, zero_point):
        parameters = [self.constant(FLOAT, [], [scale]), self.constant(INT8, [], [zero_point])]
        self.last, self.scale = self.add("DequantizeLinear", [quantized, *parameters]), scale
        return parameters

    def quantize(self, scale, zero_point, result=None):
        """Quantizes the last result. `result`: the name of the model's output."""
        parameters = [self.constant(FLOAT, [], [scale]), self.constant(INT8, [], [zero_point])]
        quantized = self.add("QuantizeLinear", [self.last, *parameters], result)
        if not result:
            self.last, self.scale = self.add("DequantizeLinear", [quantized, *parameters]), scale

    def weights(self, shape, mean_is_zero=False, gain=1):
        """Weights and biases, with a scale for each output channel. The variance of the weights is gain**2 times 2
        divided by the number of weights of an output; without a gain, rectifiers keep the variance of the data (He et
        al., "Delving Deep into Rectifiers", 2015, section 2.2)."""
        fan_in, largest = math.prod(shape[1:]), 127
        deviation = largest / math.sqrt(3)  # of a uniform distribution
        values = []
        for _ in range(shape[0]):
            channel = self.uniform(-largest, largest, fan_in)
            mean = sum(channel) / fan_in if mean_is_zero else 0
            values += [max(-largest, min(largest, round(v - mean))) for v in channel]
        scales = [gain * math.sqrt(2 / fan_in) / deviation * s for s in self.uniform(0.8, 1.2, shape[0])]
        biases = [round(b / (s * self.scale)) for b, s in zip(self.uniform(-0.2, 0.2, shape[0]), scales)]
        bias_scales = self.constant(FLOAT, shape[:1], [s * self.scale for s in scales])
        operands = [self.constant(INT8, shape, values), self.constant(FLOAT, shape[:1], scales)]
        return [self.add("DequantizeLinear", operands, axis=0),
                self.add("DequantizeLinear", [self.constant(INT32, shape[:1], biases), bias_scales], axis=0)]

    def convolution(self, inputs, size, strides, pads, group=1):
        operands = [self.last, *self.weights([CHANNELS, inputs // group, *size])]
        self.last = self.add("Conv", operands, kernel_shape=size, strides=strides, pads=pads, group=group)
        self.last = self.add("Relu", [self.last])
        self.quantize(6 / 255, -128)

    def model(self, inputs, outputs):
        graph = b"".join(field(1, node) for node in self.nodes) + field(2, "keywords")
        graph += b"".join(field(5, constant) for constant in self.constants)
        graph += b"".join(field(11, value_info(*i)) for i in inputs)
        graph += b"".join(field(12, value_info(*o)) for o in outputs)
        return field(1, 8) + field(2, "dlcc examples/keyword_spotting") + field(7, graph) + field(8, field(2, 17))


def make_model():
    network = Network(WEIGHTS_SEED)
    network.dequantize("features", 4 / 128, 0)
    network.convolution(1, [10, 4], [2, 2], [4, 1, 5, 1])
    for _ in range(4):
        network.convolution(CHANNELS, [3, 3], [1, 1], [1, 1, 1, 1], group=CHANNELS)
        network.convolution(CHANNELS, [1, 1], [1, 1], [0, 0, 0, 0])
    network.last = network.add("GlobalAveragePool", [network.last])
    network.quantize(2 / 255, -128)
    network.last = network.add("Flatten", [network.last])
    # All channels have positive means. Weights whose mean is not zero would favour the same class for all utterances.
    operands = [network.last, *network.weights([CLASSES, CHANNELS], mean_is_zero=True, gain=4)]
    network.last = network.add("Gemm", operands, transB=1)
    network.quantize(8 / 128, 0)
    network.last = network.add("Softmax", [network.last], axis=1)
    network.quantize(1 / 256, -128, result="scores")
    return network.model([("features", INT8, [1, 1, FRAMES, COEFFICIENTS])], [("scores", INT8, [1, CLASSES])])


def make_features(seed):
    """Each coefficient rises and falls around a mean; the means, amplitudes and periods depend on the utterance."""
    rng = random.Random(seed).random
    waves = [(80 * rng() - 40, 80 * rng(), 4 + 40 * rng(), rng()) for _ in range(COEFFICIENTS)]
    features = []
    for frame in range(FRAMES):
        for mean, amplitude, period, phase in waves:
            wave = 4 * abs((frame / period + phase) % 1 - 0.5) - 1
            features.append(max(-128, min(127, round(mean + amplitude * wave))))
    return features


def write_npy(path, features):
    shape = f"(1, 1, {FRAMES}, {COEFFICIENTS})"
    header = f"{{'descr': '|i1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + array.array("b", features).tobytes())


def write_table(path, utterances):
    lines = ["/* The features of some utterances, by make_model.py: a line for each part of the sound. */",
             "#include <stdint.h>", "",
             f"static const int8_t utterances[{len(utterances)}][{FRAMES}][{COEFFICIENTS}] = {{"]
    for features in utterances:
        rows = [features[k:k + COEFFICIENTS] for k in range(0, len(features), COEFFICIENTS)]
        lines += ["    {", *[f"        {{{', '.join(map(str, row))}}}," for row in rows], "    },"]
    path.write_text("\n".join([*lines, "};", ""]))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_model.py FOLDER")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "keywords.onnx").write_bytes(make_model())
    utterances = [make_features(seed) for seed in UTTERANCE_SEEDS]
    for k, features in enumerate(utterances):
        write_npy(folder / f"utterance_{k}.npy", features)
    write_table(folder / "utterances.h", utterances)


if __name__ == "__main__":
    main()
