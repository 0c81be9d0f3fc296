#!/usr/bin/env python3
"""Makes the digit classifier: draws the data, trains, measures, and writes beside itself

    digits.onnx          the model: image [1, 1, 28, 28] -> probabilities [1, 10]
    test_data_set_0/     an input and onnxruntime's output, for `dlcc verify`
    samples.h, *.pgm     held-out images for the example program

Needs numpy, onnx and onnxruntime:  python3 -m venv build/venv && build/venv/bin/pip install numpy onnx onnxruntime
Takes about four minutes on one core.
"""

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: sums in the same order on every run

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import fonts
import images
from network import CHANNELS, Network

HERE = Path(__file__).parent
SHADES = " .:-=+*#%@"  # of the samples, from 0 to 1
GOAL = 0.97


def to_onnx(network):
    """The trained network as an ONNX model, opset 13."""
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name))
        return name

    x = "image"
    for k, (w, b) in enumerate(zip(network.weights[:-1], network.biases), 1):
        kernel = w.reshape(3, 3, -1, CHANNELS[k - 1]).transpose(3, 2, 0, 1)
        operands = [x, constant(f"conv{k}.weight", kernel), constant(f"conv{k}.bias", b)]
        nodes.append(helper.make_node("Conv", operands, [f"conv{k}"], f"conv{k}", kernel_shape=[3, 3], pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"conv{k}"], [f"relu{k}"], f"relu{k}"))
        nodes.append(
            helper.make_node("MaxPool", [f"relu{k}"], [f"pool{k}"], f"pool{k}", kernel_shape=[2, 2], strides=[2, 2]))
        x = f"pool{k}"
    nodes.append(helper.make_node("Flatten", [x], ["flat"], "flatten", axis=1))
    operands = ["flat", constant("dense.weight", network.weights[-1]), constant("dense.bias", network.biases[-1])]
    nodes.append(helper.make_node("Gemm", operands, ["scores"], "dense"))
    nodes.append(helper.make_node("Softmax", ["scores"], ["probabilities"], "softmax", axis=1))
    graph = helper.make_graph(
        nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, images.SIZE, images.SIZE])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])], constants)
    model = helper.make_model(graph, producer_name="dlcc examples/digits", opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    onnx.checker.check_model(model)
    return model


def write_samples(data):
    """The first image of every digit as rows of shades."""
    lines = ["// Held-out digits for main.c, by make_model.py: one row of shades a line, from ' ' (0) to '@' (1).",
             f"static const char *const samples[10][{images.SIZE}] = {{"]
    for image in data[:10, 0]:
        lines.append("    {")
        lines += [f'        "{"".join(SHADES[int(v * 9 + 0.5)] for v in row)}",' for row in image]
        lines.append("    },")
    (HERE / "samples.h").write_text("\n".join([*lines, "};", ""]))


def write_pgm(name, image):
    pixels = (image * 255 + 0.5).astype(np.uint8)
    (HERE / name).write_bytes(b"P5\n%d %d\n255\n" % pixels.shape[::-1] + pixels.tobytes())


def main():
    random = np.random.default_rng(2024)
    network = Network(random)
    data, labels = images.make(fonts.TRAINING, images.TRAINING, 24000, random)
    network.train(data, labels, 10, random)

    held_out = {}
    for title, how in (("as in training", images.TRAINING), ("shear", images.SHEAR), ("blur", images.BLUR)):
        held_out[title] = images.make(fonts.HELD_OUT, how, 4000, random)
    fresh = images.make(fonts.TRAINING, images.TRAINING, 4000, random)
    print(f"training fonts, new images: {network.accuracy(*fresh):.2%}")
    accuracies = {title: network.accuracy(*pair) for title, pair in held_out.items()}
    for title, accuracy in accuracies.items():
        print(f"held-out fonts, {title}: {accuracy:.2%}")

    path = HERE / "digits.onnx"
    onnx.save(to_onnx(network), path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    sample = held_out["shear"][0][7:8]
    result = session.run(None, {"image": sample})[0]
    assert np.abs(result - network.forward(sample)[0]).max() < 1e-5
    folder = HERE / "test_data_set_0"
    folder.mkdir(exist_ok=True)
    for name, tensor, file in (("image", sample, "input_0.pb"), ("probabilities", result, "output_0.pb")):
        (folder / file).write_bytes(numpy_helper.from_array(tensor, name).SerializeToString())
    write_samples(np.concatenate([held_out["as in training"][0][:10:2], held_out["shear"][0][11:20:2]], 1)
                  .reshape(10, 1, images.SIZE, images.SIZE))
    write_pgm("sheared_4.pgm", held_out["shear"][0][14, 0])
    write_pgm("blurred_9.pgm", held_out["blur"][0][19, 0])
    parameters = sum(w.size for w in network.weights + network.biases)
    print(f"{path.name}: {path.stat().st_size} bytes, {parameters} parameters")
    if min(accuracies.values()) < GOAL or path.stat().st_size > 200_000:
        sys.exit(f"the goal of {GOAL:.0%} within 200 KB is missed")


if __name__ == "__main__":
    main()
