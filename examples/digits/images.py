"""Draws digits: strokes of a font, distorted, as 28 x 28 images of values in 0..1 (ink is 1)."""

from dataclasses import dataclass

import numpy as np

SIZE = 28


@dataclass
class Distortion:
    """Ranges of a glyph's distortions. Lengths are fractions of the image's side."""
    rotation: float = 14  # degrees, both ways
    scale: tuple = (0.5, 0.8)  # height of the digit
    aspect: tuple = (0.55, 0.95)  # width relative to height
    shift: float = 0.09
    thickness: tuple = (0.05, 0.14)
    wobble: float = 0.02  # slow random bending of strokes
    noise: float = 0.16  # largest standard deviation
    shear: tuple = (0.0, 0.0)  # both ways
    blur: tuple = (0.0, 0.0)  # standard deviation in pixels


TRAINING = Distortion()
# Distortions that are not in the training data.
SHEAR = Distortion(shear=(0.15, 0.35))
BLUR = Distortion(blur=(0.8, 1.3))


def distance(segments, x, y):
    """Distance of every pixel from the nearest of the segments: [k, 4] -> [SIZE, SIZE]."""
    ax, ay, bx, by = (segments[:, i, None] for i in range(4))
    dx, dy = bx - ax, by - ay
    t = np.clip(((x - ax) * dx + (y - ay) * dy) / np.maximum(dx * dx + dy * dy, 1e-9), 0, 1)
    return np.sqrt(((x - ax - t * dx) ** 2 + (y - ay - t * dy) ** 2).min(0)).reshape(SIZE, SIZE)


def gaussian(image, sigma):
    taps = np.exp(-0.5 * (np.arange(-4, 5) / sigma) ** 2)
    taps /= taps.sum()
    for axis in (0, 1):
        image = np.apply_along_axis(lambda row: np.convolve(row, taps, "same"), axis, image)
    return image


def draw(glyph, how, random):
    """One image of a glyph (a list of polylines)."""
    uniform = random.uniform
    height = uniform(*how.scale)
    width = height * uniform(*how.aspect)
    angle = np.radians(uniform(-how.rotation, how.rotation))
    shear = uniform(*how.shear) * random.choice([-1, 1])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    place = turn @ np.array([[1, shear], [0, 1]]) @ np.diag([width, height])
    centre = 0.5 + uniform(-how.shift, how.shift, 2)
    phase, frequency = uniform(0, 2 * np.pi, 2), uniform(2, 7, 2)
    segments = []
    for stroke in glyph:
        bent = stroke + how.wobble * 2 * np.sin(frequency * stroke[:, ::-1] + phase)
        bent = bent + random.normal(0, how.wobble / 3, stroke.shape)
        points = ((bent - 0.5) @ place.T + centre) * SIZE
        segments.append(np.concatenate([points[:-1], points[1:]], 1))
    grid = np.arange(SIZE) + 0.5
    y, x = (g.reshape(1, -1) for g in np.meshgrid(grid, grid, indexing="ij"))
    radius = uniform(*how.thickness) * SIZE / 2
    image = np.clip(radius - distance(np.concatenate(segments), x, y) + 0.5, 0, 1) * uniform(0.75, 1)
    if how.blur[1] > 0:
        image = gaussian(image, uniform(*how.blur))
    image = image + random.normal(0, uniform(0, how.noise), image.shape)
    return np.clip(image, 0, 1).astype(np.float32)


def make(fonts, how, count, random):
    """`count` images and labels, with equal shares of fonts and digits: [count, 1, SIZE, SIZE] float32, [count] int."""
    glyphs = [font() for font in fonts]
    images, labels = [], []
    for k in range(count):
        digit = k % 10
        images.append(draw(glyphs[k // 10 % len(glyphs)][digit], how, random))
        labels.append(digit)
    return np.stack(images)[:, None], np.array(labels)
