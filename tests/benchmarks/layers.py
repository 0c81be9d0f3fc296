#!/usr/bin/env python3
"""Times single layers of uncommon shapes against onnxruntime, to find kinds of layers that are slow.

    layers.py --dlcc build/release/dlcc --runtime build/release/libdlcc_rt.a [--cpu native] [--threads 1] [--only TEXT]
              [--milliseconds 150] [--worst 20]

Each layer is a model of one operator, or of a few that compute one thing. Both programs run in this process, in turn,
each for one call at a time; a call has its data in the caches, as a layer within a network has. The ratio is the median
time of onnxruntime over that of dlcc. A layer whose results differ is an error. The floor of a layer is its FLOPs at the
peak, or its inputs, weights and results at the bandwidth, that `dlcc bench` measures in the same run. It is compared with
the fastest call, since other programs of the machine slow some calls down, and only for layers of at least 1 MFLOP.
Needs a C compiler, onnx, onnxruntime and numpy.
"""
import argparse
import ctypes
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

FLOAT = onnx.TensorProto.FLOAT


class Layer:
    """An ONNX graph with seeded weights, which applies operators in turn to the input x."""

    def __init__(self, name, shape, flops=0):
        self.name, self.flops = name, flops
        self.rng = np.random.default_rng(len(name))
        self.nodes, self.constants, self.inputs, self.feed, self.last = [], [], [], {}, None
        self.last = self.data("x", shape)

    def data(self, name, shape):
        """Another input of the model, with random elements."""
        self.inputs.append(helper.make_tensor_value_info(name, FLOAT, list(shape)))
        self.feed[name] = self.rng.standard_normal(shape).astype(np.float32)
        return name

    def weight(self, *shape):
        scale = 1 / math.sqrt(math.prod(shape[1:]) or 1)
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, op, *operands, **attributes):
        """Applies an operator to the last result and further operands."""
        node = helper.make_node(op, [self.last, *operands], [f"y{len(self.nodes)}"], **attributes)
        self.nodes.append(node)
        self.last = node.output[0]
        return self

    def model(self):
        output = helper.make_empty_tensor_value_info(self.last)
        graph = helper.make_graph(self.nodes, "layer", self.inputs, [output], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def convolution(batch, channels, outputs, size, kernel, stride=1, dilation=1, groups=1, at_run_time=False,
                transposed=False):
    """A convolution over one, two or three dimensions that keeps the size of the image, divided by the stride."""
    rank = len(size)
    shape = [channels, outputs // groups, *kernel] if transposed else [outputs, channels // groups, *kernel]
    pads = [dilation * (k // 2) for k in kernel] * 2
    points = math.prod(size) if transposed else math.prod((s - 1) // stride + 1 for s in size)
    flops = 2 * batch * points * math.prod(shape)
    name = f"{'transposed ' if transposed else ''}conv {'x'.join(map(str, kernel))} {channels}->{outputs} " \
           f"{'x'.join(map(str, size))}"
    for what, value, usual in (("batch", batch, 1), ("stride", stride, 1), ("dilation", dilation, 1),
                               ("groups", groups, 1), ("run-time weights", at_run_time, False)):
        name += f" {what} {value}" if value != usual else ""
    layer = Layer(name, [batch, channels, *size], flops)
    weights = layer.data("w", shape) if at_run_time else layer.weight(*shape)
    return layer.add("ConvTranspose" if transposed else "Conv", weights, layer.weight(outputs), pads=pads,
                     strides=[stride] * rank, dilations=[dilation] * rank, group=groups)


def product(a, b, constant=True):
    """A matrix product of these shapes, batched if they have more than two dimensions."""
    batch = math.prod(a[:-2])
    name = f"matmul {'x'.join(map(str, a))} . {'x'.join(map(str, b))}{'' if constant else ' run-time'}"
    layer = Layer(name, a, 2 * batch * a[-2] * a[-1] * b[-1])
    return layer.add("MatMul", layer.weight(*b) if constant else layer.data("w", b))


def simple(op, shape, *constants, **attributes):
    """An operator on one tensor, with constant operands behind it."""
    text = " ".join(f"{k}={v}" for k, v in attributes.items())
    layer = Layer(f"{op} {'x'.join(map(str, shape))} {text}".strip(), shape)
    return layer.add(op, *[layer.constant(c) for c in constants], **attributes)


def convolutions(rng):
    pick = rng.choice
    for _ in range(70):  # dense
        size = pick([(5, 5), (7, 7), (14, 14), (28, 28), (57, 43), (90, 160)])
        kernel = pick([(1, 1), (3, 3), (5, 5), (7, 7), (11, 11), (1, 3), (3, 1), (1, 7), (7, 1)])
        channels, outputs = pick([1, 3, 16, 24, 32, 67, 96, 128, 256]), pick([1, 7, 16, 24, 40, 64, 67, 96, 130, 1001])
        if 2 * math.prod(size) * channels * outputs * math.prod(kernel) < 6e8:
            yield convolution(pick([1, 1, 1, 2, 8]) if math.prod(size) < 400 else 1, channels, outputs, size, kernel,
                              pick([1, 1, 2, 3]), pick([1, 1, 1, 2]))
    for _ in range(40):  # grouped and depthwise, with multipliers
        channels = pick([8, 24, 32, 48, 64, 96, 120, 256])
        groups = pick([g for g in range(2, channels + 1) if channels % g == 0])
        yield convolution(1, channels, channels * pick([1, 1, 1, 2, 3]), pick([(7, 7), (14, 14), (28, 28), (57, 43)]),
                          pick([(3, 3), (5, 5), (7, 7), (1, 1), (1, 9)]), pick([1, 1, 2]), pick([1, 1, 2]), groups)
    for _ in range(16):
        yield convolution(1, pick([16, 24, 64]), pick([16, 40, 64]), pick([(7, 7), (14, 14), (28, 28)]),
                          pick([(2, 2), (3, 3), (4, 4)]), pick([1, 2]), groups=pick([1, 1, 2, 8]), transposed=True)
    for _ in range(16):
        yield convolution(pick([1, 4]), pick([1, 16, 40, 80]), pick([16, 64, 100]), (pick([50, 199, 1024]),),
                          (pick([1, 3, 5, 9]),), pick([1, 2]), pick([1, 2]))
    for _ in range(12):
        yield convolution(1, pick([3, 16, 32]), pick([16, 24, 32]), pick([(8, 14, 14), (5, 9, 7), (16, 28, 28)]),
                          pick([(1, 1, 1), (3, 3, 3), (1, 3, 3)]), pick([1, 2]))
    for _ in range(12):
        yield convolution(1, pick([16, 24, 64]), pick([16, 40, 64]), pick([(7, 7), (14, 14), (28, 28)]),
                          pick([(1, 1), (3, 3), (5, 5)]), groups=pick([1, 1, 2, 8]), at_run_time=True)


def products(rng):
    pick = rng.choice
    for m, k, n in ((1, 512, 1000), (1, 67, 1001), (3, 96, 1001), (8, 67, 96), (67, 67, 67), (96, 1001, 40),
                    (128, 768, 768), (128, 3072, 768), (197, 192, 576), (333, 64, 1), (512, 3, 64), (64, 1, 64)):
        yield product([m, k], [k, n])
        yield product([m, k], [k, n], constant=False)
    for _ in range(24):
        batch, m, k, n = pick([2, 6, 12]), pick([1, 17, 64, 128, 197]), pick([16, 33, 64, 80]), pick([1, 17, 64, 128])
        yield product([batch, m, k], [batch, k, n], constant=False)
    for m, k, n in ((128, 64, 128), (33, 80, 57), (197, 64, 197)):
        layer = Layer(f"q.k of 12 heads {m}x{k}x{n}", [1, 12, m, k], 2 * 12 * m * k * n)
        keys = layer.data("k", [1, 12, n, k])
        layer.nodes.append(helper.make_node("Transpose", [keys], ["t"], perm=[0, 1, 3, 2]))
        yield layer.add("MatMul", "t")


def rows_and_movement(rng):
    pick = rng.choice
    for shape in ((1, 128, 768), (8, 197, 192), (1, 12, 128, 128), (4, 1001), (64, 33), (1, 64, 56, 56)):
        yield simple("Softmax", shape, axis=-1)
        yield simple("LogSoftmax", shape, axis=-1)
        yield simple("ReduceMean", shape, axes=[-1])
        yield simple("ReduceMax", shape, axes=[-1])
        scale, bias = np.ones(shape[-1:], np.float32), np.zeros(shape[-1:], np.float32)
        yield simple("LayerNormalization", shape, scale, bias)
    for shape in ((1, 64, 56, 56), (1, 24, 57, 43), (2, 96, 14, 14)):
        scale, bias = np.ones(shape[1], np.float32), np.zeros(shape[1], np.float32)
        yield simple("InstanceNormalization", shape, scale, bias)
        yield simple("Softmax", shape, axis=1)
        yield simple("LRN", shape, size=5)
        yield simple("ReduceMean", shape, axes=[2, 3])
        for kernel, stride in ((2, 2), (3, 1), (3, 2), (5, 3)):
            pads = [kernel // 2] * 4 if kernel % 2 else [0] * 4
            yield simple("MaxPool", shape, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)
            yield simple("AveragePool", shape, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)
        for op in ("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Sqrt", "HardSwish", "Softplus", "Elu"):
            if shape[1] == 64:
                yield simple(op, shape)
    for shape, perm in (((1, 128, 12, 64), (0, 2, 1, 3)), ((1, 12, 128, 64), (0, 1, 3, 2)), ((1, 56, 56, 64), (0, 3, 1, 2)),
                        ((1, 64, 56, 56), (0, 2, 3, 1)), ((1024, 333), (1, 0)), ((33, 7, 57), (2, 1, 0))):
        yield simple("Transpose", shape, perm=list(perm))
    for shape in ((1, 24, 28, 28), (1, 64, 14, 14)):
        for mode in ("nearest", "linear"):
            for scale in (2.0, 1.5):
                layer = Layer(f"Resize {mode} {scale} {'x'.join(map(str, shape))}", shape)
                yield layer.add("Resize", "", layer.constant(np.array([1, 1, scale, scale], np.float32)), mode=mode)
        pads = np.array([0, 0, 1, 2, 0, 0, 3, 1], np.int64)
        yield simple("Pad", shape, pads)
        yield simple("Pad", shape, pads, mode="reflect")
        layer = Layer(f"channel shuffle {'x'.join(map(str, shape))}", shape)
        n, c, h, w = shape
        layer.add("Reshape", layer.constant(np.array([n, 2, c // 2, h, w], np.int64)))
        layer.add("Transpose", perm=[0, 2, 1, 3, 4])
        yield layer.add("Reshape", layer.constant(np.array(shape, np.int64)))
    for shapes, axis in (([(1, 24, 28, 28), (1, 40, 28, 28)], 1), ([(8, 100), (8, 33)], 1), ([(1, 12, 63, 64), (1, 12, 1, 64)], 2)):
        layer = Layer(f"Concat {' '.join('x'.join(map(str, s)) for s in shapes)} axis={axis}", shapes[0])
        yield layer.add("Concat", layer.data("z", shapes[1]), axis=axis)
    for shape, other in (((1, 64, 56, 56), (1, 64, 1, 1)), ((128, 768), (768,)), ((1, 64, 56, 56), (1, 64, 56, 56)),
                         ((197, 1), (1, 333))):
        for op in ("Add", "Mul", "Div"):
            layer = Layer(f"{op} {'x'.join(map(str, shape))} {'x'.join(map(str, other))}", shape)
            yield layer.add(op, layer.data("z", other))
    for rows, width in ((30522, 768), (1000, 33)):
        layer = Layer(f"Gather of 128 rows {rows}x{width}", (rows, width))
        yield layer.add("Gather", layer.constant(np.arange(128) * 7 % rows), axis=0)


def aligned(count, dtype, alignment=64):
    raw = np.zeros(count * np.dtype(dtype).itemsize + alignment, np.uint8)
    begin = -raw.ctypes.data % alignment
    return raw[begin:begin + count * np.dtype(dtype).itemsize].view(dtype)


class Compiled:
    """A layer's object, loaded into this process. Called without arguments, it returns the results."""

    def __init__(self, model, feed, folder, options):
        path, library = folder / "m.onnx", folder / "m.so"
        onnx.save(model, path)
        flags = [f"-mcpu={options.cpu}", f"--threads={options.threads}", "--prefix=m"]
        compile_with(options.dlcc, path, "-o", folder / "m.o", *flags)
        interface = json.loads(compile_with(options.dlcc, "inspect", "--json", path, *flags))
        compile_with("cc", "-shared", "-o", library, folder / "m.o", options.runtime, "-lpthread")
        self.run = ctypes.CDLL(str(library)).m_run
        self.inputs = [np.ascontiguousarray(feed[i["name"]]) for i in interface["inputs"]]
        self.outputs = [aligned(math.prod(o["shape"]), o["dtype"]).reshape(o["shape"]) for o in interface["outputs"]]
        arena = aligned(max(interface["arena_bytes"], 1), np.uint8)
        self.kept = arena
        pointers = [(ctypes.c_void_p * len(all))(*[a.ctypes.data for a in all]) for all in (self.inputs, self.outputs)]
        self.arguments = (*pointers, ctypes.c_void_p(arena.ctypes.data), ctypes.c_size_t(interface["arena_bytes"]))

    def __call__(self):
        status = self.run(*self.arguments)
        if status:
            raise RuntimeError(f"the layer returned status {status}")
        return self.outputs


def compile_with(*command):
    run = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())
    return run.stdout


def session_of(model, options):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = options.threads, 1
    return onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])


def bound_call(session, feed):
    """A call of the session with its inputs and outputs bound, so that it copies nothing."""
    binding = session.io_binding()
    for name, value in feed.items():
        binding.bind_cpu_input(name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name, "cpu")
    return lambda: session.run_with_iobinding(binding)


def agree(expected, got):
    largest = max((np.nanmax(np.abs(e), initial=0) for e in expected), default=0)
    return all(e.shape == g.shape and np.allclose(e, g, rtol=1e-3, atol=1e-4 * max(largest, 1e-30), equal_nan=True)
               for e, g in zip(expected, got))


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure(layer, options):
    """The median times of dlcc and of onnxruntime, the least time of dlcc, in seconds, and the bytes of all tensors."""
    model = layer.model()
    session = session_of(model, options)
    with tempfile.TemporaryDirectory() as folder:
        ours = Compiled(model, layer.feed, pathlib.Path(folder), options)
        expected = session.run(None, layer.feed)
        if not agree(expected, ours()):
            raise RuntimeError("the results differ")
        theirs = bound_call(session, layer.feed)
        theirs()
        times = ([], [])
        end = time.perf_counter() + options.milliseconds / 1000
        while time.perf_counter() < end or len(times[0]) < 5:
            for call, list_of in ((ours, times[0]), (theirs, times[1])):
                list_of.append(seconds_of(call))
        tensors = [*layer.feed.values(), *expected, *map(numpy_helper.to_array, model.graph.initializer)]
        return statistics.median(times[0]), statistics.median(times[1]), min(times[0]), sum(t.nbytes for t in tensors)


def peaks_of(options):
    """GFLOP/s of multiply-adds in registers and GB/s of reads, as `dlcc bench` measures them beside a small layer."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "m.onnx"
        onnx.save(product([8, 8], [8, 8]).model(), path)
        report = json.loads(compile_with(options.dlcc, "bench", path, "--json", f"-mcpu={options.cpu}"))
        return report["peak_gflops"], report["bandwidth_gbs"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlcc", required=True)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--cpu", default="native")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="run the layers whose name contains this")
    parser.add_argument("--milliseconds", type=float, default=150, help="for each layer")
    parser.add_argument("--worst", type=int, default=20, help="the number of layers to list")
    options = parser.parse_args()
    rng, rows, before, failed = random.Random(1), [], peaks_of(options), 0
    layers = [layer for make in (convolutions, products, rows_and_movement) for layer in make(rng)]
    for layer in {layer.name: layer for layer in layers if options.only in layer.name}.values():
        try:
            ours, theirs, least, size = measure(layer, options)
        except RuntimeError as error:
            failed += 1
            print(f"error: {layer.name}: {error}", file=sys.stderr)
            continue
        rows.append((theirs / ours, ours, least, layer, size))
    peak, bandwidth = map(max, before, peaks_of(options))

    def of_floor(row):
        return 100 * max(row[3].flops / peak, row[4] / bandwidth) / row[2] / 1e9

    def report(row):
        floor = f"{of_floor(row):5.1f} % of the floor" if row[3].flops >= 1e6 else " " * 22
        print(f"{row[0]:6.2f} x  {row[1] * 1e6:9.1f} us  {floor}  {row[3].name}")

    for row in sorted(rows, key=lambda row: row[0])[:options.worst]:
        report(row)
    with_floors = sorted((row for row in rows if row[3].flops >= 1e6), key=of_floor)
    print("farthest from the floor:")
    for row in with_floors[:options.worst]:
        report(row)
    ratios = [row[0] for row in rows]
    print(f"{len(rows)} layers, {failed} failed: lowest {min(ratios):.2f} x onnxruntime, geometric mean "
          f"{statistics.geometric_mean(ratios):.2f} x; {sum(r < 0.9 for r in ratios)} below 0.9 x")
    floors = [of_floor(row) for row in with_floors]
    if floors:
        print(f"of the floor at {peak:.0f} GFLOP/s and {bandwidth:.1f} GB/s: lowest {min(floors):.1f} %, median "
              f"{statistics.median(floors):.1f} %, {sum(f < 50 for f in floors)} of {len(floors)} below 50 %")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
