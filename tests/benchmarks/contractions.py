#!/usr/bin/env python3
"""Times generated convolutions and matrix products against their floors, max(FLOPs / peak, bytes / bandwidth).

    contractions.py --dlcc build/release/dlcc [--cpu native] [--passes 3] [--runs 100] [--only TEXT]

The shapes are uncommon, so that nothing is tuned to the layers of well-known networks. Each product is the second layer
of a small network; the first, a projection, stores the product's input as a network would. `dlcc bench --json` measures
the product's step: its floor, computed from probes in the same run, as a percentage of the median time of the calls.
The result is the median of several passes over all products, since other processes may slow a machine down for minutes.
The clock rate of vector code varies from run to run, so the last line also gives the percentage of the floor at the
highest peak of any run. Winograd may exceed 100 %. Needs onnx and numpy.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper


class Network:
    """An ONNX graph with seeded weights; the last node added is the one to measure."""

    def __init__(self, shape):
        self.rng = np.random.default_rng(0)
        self.nodes, self.weights, self.input, self.last = [], [], shape, "x"

    def add(self, op, *weights, **attributes):
        names = [self.last]
        for shape in weights:
            names.append(f"w{len(self.weights)}")
            scale = 1 / math.sqrt(math.prod(shape[1:]) or 1)
            values = (self.rng.standard_normal(shape) * scale).astype(np.float32)
            self.weights.append(numpy_helper.from_array(values, names[-1]))
        self.last = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [self.last], name=self.last, **attributes))
        return self.last

    def save(self, path):
        inputs = [helper.make_tensor_value_info("x", 1, self.input)]
        outputs = [helper.make_tensor_value_info(self.last, 1, None)]
        graph = helper.make_graph(self.nodes, "generated", inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def convolution(batch, channels, outputs, height, width, kernel, stride=1, dilation=1, groups=1):
    """A convolution with bias and ReLU that keeps the size of the image (divided by the stride)."""
    kh, kw = kernel
    first = channels if channels < 8 else 8
    net = Network([batch, first, height, width])
    if first != channels:
        net.add("Conv", [channels, first, 1, 1])
    pads = [dilation * (kh // 2), dilation * (kw // 2)] * 2
    node = net.add("Conv", [outputs, channels // groups, kh, kw], [outputs], pads=pads, strides=[stride] * 2,
                   dilations=[dilation] * 2, group=groups)
    net.add("Relu")
    net.add("GlobalAveragePool")
    name = f"conv {kh}x{kw} {channels}->{outputs} {height}x{width}"
    for what, value, usual in (("batch", batch, 1), ("stride", stride, 1), ("dilation", dilation, 1), ("groups", groups, 1)):
        name += f" {what} {value}" if value != usual else ""
    return name, net, node


def product(m, k, n):
    net = Network([m, k])
    return f"matmul {m}x{k}x{n}", net, net.add("MatMul", [k, n])


def cases():
    for channels, outputs in ((24, 40), (40, 24), (67, 96), (96, 67), (96, 24), (40, 1001)):
        yield convolution(1, channels, outputs, 14, 14, (1, 1))
        yield convolution(1, channels, min(outputs, 96), 14, 14, (3, 3))
    for size in ((7, 7), (14, 14), (57, 43), (112, 112)):
        for kernel in ((1, 1), (3, 3), (5, 5)):
            yield convolution(1, 96, 96, *size, kernel)
        yield convolution(1, 3, 40, *size, (7, 7), stride=2)
    for kernel in ((1, 7), (7, 1), (7, 7)):
        yield convolution(1, 40, 96, 14, 14, kernel)
        yield convolution(1, 96, 96, 57, 43, kernel)
    for batch in (3, 8):
        yield convolution(batch, 67, 96, 14, 14, (3, 3))
        yield convolution(batch, 96, 96, 7, 7, (1, 1))
        yield convolution(batch, 96, 40, 7, 7, (3, 3), stride=2)
    for stride, dilation, groups in ((2, 1, 1), (1, 2, 1), (1, 1, 3), (1, 1, 2), (2, 1, 3)):
        yield convolution(1, 96, 96, 57, 43, (3, 3), stride, dilation, groups)
        yield convolution(1, 96, 192, 14, 14, (3, 3), stride, dilation, groups)
    for groups in (40, 96):
        yield convolution(1, groups, groups, 57, 43, (3, 3), groups=groups)
        yield convolution(1, groups, groups, 14, 14, (5, 5), groups=groups)
    for m, k, n in ((1, 1001, 96), (3, 96, 1001), (8, 67, 96), (67, 67, 67), (96, 1001, 40), (112, 96, 1001)):
        yield product(m, k, n)


def measure(model, node, options):
    """The step that computes `node`, and the report of the run that it is part of."""
    run = subprocess.run([options.dlcc, "bench", model, "--json", f"-mcpu={options.cpu}", "--runs", str(options.runs)],
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    report = json.loads(run.stdout)
    return next(s for s in report["layers"] if f"'{node}'" in s["node"]), report


class Result:
    """What the passes measured of one product."""

    def __init__(self):
        self.steps, self.bandwidth = [], 0

    def add(self, step, report):
        self.steps.append(step)
        self.bandwidth = max(self.bandwidth, report["bandwidth_gbs"])  # of a buffer as large as this network

    def median(self, key):
        return statistics.median(step[key] for step in self.steps)

    def percent_at(self, peak):
        """The shortest time of all, in percent of the floor at this peak and at the largest bandwidth."""
        step = min(self.steps, key=lambda s: s["min_us"])
        return max(step["flops"] / peak, step["bytes"] / self.bandwidth) / step["min_us"] * 0.1


def summary(percents):
    return f"lowest {min(percents):.1f} %, median {statistics.median(percents):.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlcc", required=True)
    parser.add_argument("--cpu", default="native")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    options = parser.parse_args()
    results, peak = {}, 0
    for _ in range(options.passes):
        for name, net, node in cases():
            if options.only not in name:
                continue
            with tempfile.TemporaryDirectory() as folder:
                model = pathlib.Path(folder) / "model.onnx"
                net.save(model)
                step, report = measure(model, node, options)
            peak = max(peak, report["peak_gflops"])
            results.setdefault(name, Result()).add(step, report)
    for name, r in sorted(results.items(), key=lambda item: item[1].median("percent_of_floor")):
        print(f"{r.median('percent_of_floor'):6.1f} %  {r.median('gflops'):6.1f} GFLOP/s  {r.median('us'):9.1f} us  {name}")
    beside = summary([r.median("percent_of_floor") for r in results.values()])
    best = summary([r.percent_at(peak) for r in results.values()])
    print(f"{len(results)} products: {beside} of the floor; shortest times at {peak:.0f} GFLOP/s, the largest peak: {best}")


if __name__ == "__main__":
    main()
