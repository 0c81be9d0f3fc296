#!/usr/bin/env python3
"""Writes the four networks of MLPerf Tiny with seeded random weights, quantized to int8, as ONNX models.

    tiny_networks.py FOLDER [--only NAME]

FOLDER/NAME.onnx, in QDQ form with activations of uint8 and weights of int8 for each output channel:
    resnet8      image classification, CIFAR-10: 32 x 32 x 3, 10 classes
    dscnn        keyword spotting: 49 x 10, 12 classes
    mobilenet    visual wake words, MobileNetV1 of width 0.25: 96 x 96 x 3, 2 classes
    autoencoder  anomaly detection: 640 numbers
Batch normalization is folded into the weights. Biases and scales are such that rectifiers pass about half of their
operands. tiny_networks_measure.py runs them on a microcontroller. Needs onnx, onnxruntime and numpy.
"""
import argparse
import logging
import math
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

FLOAT = onnx.TensorProto.FLOAT


class Network:
    """A float32 ONNX graph, which applies layers in turn to the input x."""

    def __init__(self, seed, *shape):
        self.rng = np.random.default_rng(seed)
        self.shape = [1, *shape]
        self.nodes, self.constants = [], []
        self.last, self.channels = "x", shape[0]

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def weights(self, *shape):
        return self.constant(self.rng.standard_normal(shape) * math.sqrt(2 / math.prod(shape[1:])))

    def add(self, op, *operands, of=None, **attributes):
        """Applies an operator to `of`, or the last result, and further operands."""
        self.nodes.append(helper.make_node(op, [of or self.last, *operands], [f"y{len(self.nodes)}"], **attributes))
        self.last = self.nodes[-1].output[0]
        return self.last

    def conv(self, channels, size=(1, 1), stride=(1, 1), pads=None, groups=1, of=None, inputs=None):
        inputs = inputs or self.channels
        pads = pads or [(size[0] - 1) // 2, (size[1] - 1) // 2] * 2
        w, b = self.weights(channels, inputs // groups, *size), self.constant(self.rng.standard_normal(channels) * 0.1)
        self.channels = channels
        return self.add("Conv", w, b, of=of, kernel_shape=list(size), strides=list(stride), pads=pads, group=groups)

    def relu(self):
        return self.add("Relu")

    def depthwise_separable(self, channels, stride=1, pads=None):
        self.conv(self.channels, (3, 3), (stride, stride), pads, groups=self.channels)
        self.relu()
        self.conv(channels)
        self.relu()

    def dense(self, inputs, outputs):
        b = self.constant(self.rng.standard_normal(outputs) * 0.1)
        self.add("Gemm", self.weights(outputs, inputs), b, transB=1)

    def classify(self, classes):
        self.add("GlobalAveragePool")
        self.add("Flatten")
        self.dense(self.channels, classes)
        self.add("Softmax", axis=1)

    def model(self):
        data = helper.make_tensor_value_info("x", FLOAT, self.shape)
        result = helper.make_tensor_value_info(self.last, FLOAT, None)
        graph = helper.make_graph(self.nodes, "tiny", [data], [result], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def resnet8():
    n = Network(1, 3, 32, 32)
    n.conv(16, (3, 3))
    x = n.relu()
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        inputs = n.channels
        pads = [0, 0, 1, 1] if stride == 2 else None
        n.conv(channels, (3, 3), (stride, stride), pads, of=x)
        n.relu()
        y = n.conv(channels, (3, 3))
        if stride == 2:
            x = n.conv(channels, (1, 1), (2, 2), of=x, inputs=inputs)
        n.add("Add", y, of=x)
        x = n.relu()
    n.classify(10)
    return n


def dscnn():
    n = Network(2, 1, 49, 10)
    n.conv(64, (10, 4), (2, 2), [4, 1, 5, 1])
    n.relu()
    for _ in range(4):
        n.depthwise_separable(64)
    n.classify(12)
    return n


def mobilenet():
    n = Network(3, 3, 96, 96)
    n.conv(8, (3, 3), (2, 2), [0, 0, 1, 1])
    n.relu()
    for channels, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)):
        n.depthwise_separable(channels, stride, [0, 0, 1, 1] if stride == 2 else None)
    n.classify(2)
    return n


def autoencoder():
    n = Network(4, 640)
    widths = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640]
    for inputs, outputs in zip(widths, widths[1:]):
        n.dense(inputs, outputs)
        if outputs != 640:
            n.relu()
    return n


class Samples(CalibrationDataReader):
    """Seeded inputs, of which the ranges of all activations are found."""

    def __init__(self, shape, count=8):
        rng = np.random.default_rng(5)
        self.feeds = iter([{"x": rng.uniform(0, 1, shape).astype(np.float32)} for _ in range(count)])

    def get_next(self):
        return next(self.feeds, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(4)
    args.folder.mkdir(parents=True, exist_ok=True)
    for make in (resnet8, dscnn, mobilenet, autoencoder):
        if args.only not in make.__name__:
            continue
        network = make()
        with tempfile.TemporaryDirectory() as folder:
            floats = pathlib.Path(folder) / "model.onnx"
            onnx.save(network.model(), floats)
            quantize_static(str(floats), str(args.folder / f"{make.__name__}.onnx"), Samples(network.shape),
                            quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                            weight_type=QuantType.QInt8)
        print(make.__name__, flush=True)


if __name__ == "__main__":
    main()
