#!/usr/bin/env python3
"""Records what onnxruntime computes for operators without test vectors: record_onnxruntime.py FOLDER

Each operator gets a file FOLDER/OPERATOR.txt that tests/unit/onnx/recorded_test.cpp reads. A case is a line 'case', a
line with the node in protobuf's text format, and a line for each tensor: 'input', 'constant' or 'output', name, type,
shape, elements. The data is drawn with a fixed seed. Needs the Python packages onnx and onnxruntime.
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from google.protobuf import text_format
from onnx import helper

F, U8, I8, I32, I64 = np.float32, np.uint8, np.int8, np.int32, np.int64
cases = {}  # operator -> [(node, {name: (kind, array)}, the case whose results it has, number of results)]


class Data:
    """Small arrays with few digits."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def real(self, *shape, low=-2.0, high=2.0):
        return np.round(self.random.uniform(low, high, shape), 2).astype(F)

    def whole(self, kind, low, high, *shape):
        return self.random.integers(low, high, shape, endpoint=True).astype(kind)


data = Data(1)


def case(op, inputs, outputs=1, constants=(), domain="com.microsoft", like=None, shown=None, **attributes):
    """Adds a case and returns it. `inputs`: arrays in order, None for an absent one; `constants`: positions of
    initializers; `like`: a case that onnxruntime can compute instead, or the results of an operator that it has on
    other processors only; `shown`: number of results that are recorded."""
    names = ["" if a is None else f"x{k}" for k, a in enumerate(inputs)]
    results = [f"y{k}" for k in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    tensors = {f"x{k}": ("constant" if k in constants else "input", np.asarray(a))
               for k, a in enumerate(inputs) if a is not None}
    cases.setdefault(op, []).append((node, tensors, like or (node, tensors), shown))
    return node, tensors


def computed(node, tensors):
    """The results of onnxruntime by name."""
    def info(name, array):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    def result_info(name):  # the operator has a type for each result, but for this one
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) if name == "qk" else \
            onnx.ValueInfoProto(name=name)
    graph = helper.make_graph(
        [node], "g", [info(n, a) for n, (kind, a) in tensors.items() if kind == "input"],
        [result_info(name) for name in node.output if name],
        [onnx.numpy_helper.from_array(a, n) for n, (kind, a) in tensors.items() if kind == "constant"])
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = session.run(None, {n: a for n, (kind, a) in tensors.items() if kind == "input"})
    return dict(zip([name for name in node.output if name], values))


def line_of(kind, name, array):
    elements = " ".join(f"{v:.6g}" if array.dtype.kind == "f" else str(int(v)) for v in array.ravel())
    return f"{kind} {name} {array.dtype.name} {list(array.shape)} {elements}\n"


def text_of(node, tensors, recorded, shown):
    lines = "case\n" + text_format.MessageToString(node, as_one_line=True) + "\n"
    for name, (kind, array) in tensors.items():
        lines += line_of(kind, name, array)
    results = dict(zip(node.output, recorded)) if isinstance(recorded, list) else computed(*recorded)
    for name, array in list(results.items())[:shown]:
        lines += line_of("output", name, array)
    return lines


def activations():
    x, bias = data.real(2, 6, high=3), data.real(6)
    for op in ("Gelu", "QuickGelu", "FastGelu"):
        case(op, [x])
    case("QuickGelu", [x], alpha=0.5)
    case("FastGelu", [x, bias])
    case("BiasGelu", [x, bias])


def products():
    case("FusedMatMul", [data.real(2, 3, 4), data.real(2, 4, 2)], alpha=0.5)
    case("FusedMatMul", [data.real(4, 3), data.real(2, 4)], transA=1, transB=1)
    case("FusedMatMul", [data.real(3, 2, 4), data.real(3, 2, 4)], transBatchA=1, transBatchB=1, transB=1)
    vector, matrix = F([1, -2, 0.5]), F([[1, 2, 3], [0.5, -1, 2]])
    case("FusedMatMul", [matrix, vector], transB=1, alpha=2.0)
    case("FusedMatMul", [vector, matrix], transA=1, transB=1)
    case("FusedMatMul", [vector, vector], transA=1, transB=1)
    image, weights = data.real(1, 2, 4, 4), data.real(3, 2, 3, 3)
    for name, numbers in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.1]), ("Clip", [-1.0, 1.0]),
                          ("HardSigmoid", [0.3, 0.4])):
        more = {"activation_params": numbers} if numbers else {}
        case("FusedConv", [image, weights, data.real(3)], activation=name, kernel_shape=[3, 3], **more)
    case("FusedConv", [image, weights, data.real(3), data.real(1, 3, 2, 2)], activation="Relu", kernel_shape=[3, 3])


def quantized():
    scale, zero = F(0.05), U8(120)
    case("QuantizeLinear", [data.real(2, 3), scale, zero])
    case("QuantizeLinear", [data.real(2, 3), data.real(3, low=0.01, high=0.1), I8([0, 1, -2])], axis=1)
    case("DequantizeLinear", [data.whole(U8, 0, 255, 2, 3), scale, zero])
    case("DequantizeLinear", [data.whole(I8, -128, 127, 2, 3), data.real(2, low=0.01, high=0.1), I8([3, -5])], axis=0)
    for kind, low, high, middle in ((U8, 0, 255, 128), (I8, -128, 127, 2)):
        def q(*shape):
            return data.whole(kind, low, high, *shape)
        z = kind(middle)
        for op, result in (("QLinearAdd", 0.11), ("QLinearMul", 0.31)):
            case(op, [q(2, 4), F(0.053), z, q(4), F(0.047), z, F(result), z])
        case("QLinearSigmoid", [q(2, 5), F(0.041), z, F(0.0039), kind(low)], constants=(1, 2, 3, 4))
        case("QLinearLeakyRelu", [q(2, 5), F(0.041), z, F(0.037), z], alpha=0.2, constants=(1, 2, 3, 4))
        case("QLinearGlobalAveragePool", [q(1, 2, 3, 3), F(0.041), z, F(0.019), z])
        case("QLinearGlobalAveragePool", [q(1, 3, 3, 2), F(0.041), z, F(0.019), z], channels_last=1)
        case("QGemm", [q(2, 6), F(0.05), z, q(6, 3), F(0.04), z, data.whole(I32, -99, 99, 3), F(0.9), z])
        case("QGemm", [q(2, 6), F(0.05), z, q(3, 6), F(0.04), z, data.whole(I32, -99, 99, 3)], transB=1, alpha=0.5)
        case("MatMulIntegerToFloat", [q(2, 6), q(6, 3), F(0.05), F(0.04), z, z, data.real(3)])
        case("DynamicQuantizeMatMul", [data.real(2, 6), q(6, 3), F(0.04), z, data.real(3)])
    for op in ("QLinearSigmoid", "QLinearLeakyRelu"):
        case(op, [U8([[1, 128, 250]]), F(0.041), None, F(0.037), U8(3)], constants=(1, 3, 4))
    scales = data.real(3, low=0.01, high=0.1)
    case("DynamicQuantizeMatMul", [data.real(2, 3, 6), data.whole(I8, -128, 127, 6, 3), scales])


def normalizations():
    x, skip, gamma, beta, bias = data.real(1, 3, 4), data.real(1, 3, 4), data.real(4), data.real(4), data.real(4)
    sums = ["y", "", "", "sum"]
    case("SkipLayerNormalization", [x, skip, gamma, beta, bias], outputs=sums, epsilon=0.01)
    case("SkipLayerNormalization", [x, skip, gamma])
    case("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], outputs=sums, epsilon=0.01)
    case("SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=0.01)
    ids, segments = data.whole(I32, 0, 5, 2, 3), data.whole(I32, 0, 1, 2, 3)
    tables = [data.real(6, 4), data.real(5, 4), data.real(2, 4)]
    case("EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, I32([[1, 1, 1], [1, 1, 0]])], outputs=2)
    case("EmbedLayerNormalization", [ids, None, *tables[:2], None, gamma, beta, None, I32([[2, 0, 1], [0, 4, 3]])],
         outputs=["y", "", "sum"])


def attention():
    x, weights, bias = data.real(2, 3, 4), data.real(4, 12), data.real(12)
    case("Attention", [x, weights, bias], num_heads=2)
    case("Attention", [x, weights, bias], num_heads=2, unidirectional=1, scale=0.3)
    case("Attention", [x, weights, bias, I32([[1, 1, 0], [1, 0, 1]])], num_heads=2)
    case("Attention", [x, weights, bias, I32([[2, -1, 1], [1, -3, 0]])], num_heads=2)
    case("Attention", [x, weights, bias, data.whole(I32, 0, 1, 2, 3, 3)], num_heads=1, mask_filter_value=-2.0)
    case("Attention", [x, weights, bias, I32([2, 3])], num_heads=2)
    case("Attention", [x, weights, bias, I32([2, 3, 0, 1])], num_heads=2)
    case("Attention", [x, data.real(4, 10), data.real(10)], num_heads=2, qkv_hidden_sizes=[4, 4, 2])
    case("Attention", [x, weights, bias, None, data.real(2, 2, 2, 2, 2)], outputs=2, num_heads=2, unidirectional=1)
    case("Attention", [x, weights, bias, None, None, data.real(1, 2, 3, 3)], num_heads=2)


def multi_head_attention():
    def qkv(keys=4):
        return [data.real(2, 3, 4), data.real(2, keys, 4), data.real(2, keys, 4)]
    case("MultiHeadAttention", qkv(), num_heads=2)
    case("MultiHeadAttention", qkv() + [data.real(12)], num_heads=2, scale=0.5)
    case("MultiHeadAttention", qkv(3), num_heads=2, unidirectional=1)
    case("MultiHeadAttention", qkv() + [None, I32([[1, 1, 0, 1], [1, 1, 1, 1]])], num_heads=2)
    q, k, v = [F([[[1, 2], [-1, 0.5]]]) * factor for factor in (1, -1, 2)]
    case("MultiHeadAttention", [q, k, v, None, I32([[-1, 1]])], num_heads=1)
    case("MultiHeadAttention", qkv() + [None, None, data.real(1, 1, 3, 4)], num_heads=2)
    case("MultiHeadAttention", qkv(3) + [None, None, None, data.real(2, 2, 2, 2), data.real(2, 2, 2, 2)], outputs=3,
         num_heads=2)
    case("MultiHeadAttention", [data.real(2, 3, 4), data.real(2, 2, 5, 2), data.real(2, 2, 5, 2)], num_heads=2)
    q, k, v = qkv(3)
    def heads(array):
        return array.reshape(2, 3, 2, 2)
    separate = case("MultiHeadAttention", [q, k, v], num_heads=2)
    packed = [np.stack([heads(a) for a in arrays], axis=3) for arrays in ((q, k, v), (k, v))]
    case("MultiHeadAttention", [packed[0]], num_heads=2, like=separate)
    case("MultiHeadAttention", [q, packed[1]], num_heads=2, like=separate)


def rotary():
    def caches_of(half):
        angles = data.real(6, half)
        return [np.round(np.cos(angles), 3), np.round(np.sin(angles), 3)]
    caches = caches_of(2)
    at = I64([[0, 3, 2], [5, 1, 4]])
    case("RotaryEmbedding", [data.real(2, 3, 8), at, *caches])
    case("RotaryEmbedding", [data.real(2, 3, 8), I64([2]), *caches], interleaved=1)
    case("RotaryEmbedding", [data.real(2, 2, 3, 4), at, *caches])
    case("RotaryEmbedding", [data.real(2, 2, 3, 6), at, *caches], num_heads=2, rotary_embedding_dim=4)
    return caches_of(8)


def group_query_attention(caches):
    # onnxruntime keeps its keys in the outputs: it computes nothing right without them.
    def run(rows, past=0, lengths=None, more=(), shown=None, batch=2, total=None, **attributes):
        size = 16 if "do_rotary" in attributes else 8
        kv = [data.real(batch, rows, size), data.real(batch, rows, size)]
        earlier = [data.real(batch, 1, past, size), data.real(batch, 1, past, size)] if past else [None, None]
        lengths = I32([past + rows - 1] * batch) if lengths is None else I32(lengths)
        query, total = data.real(batch, rows, 2 * size), I32([total or past + rows])
        case("GroupQueryAttention", [query, *kv, *earlier, lengths, total, *more], outputs=3, num_heads=2,
             kv_num_heads=1, shown=shown, **attributes)
    run(3, batch=1)
    run(2, scale=0.3, softcap=1.5, shown=1)
    run(1, past=3)
    run(1, past=3, lengths=[2], total=3, batch=1)  # into the last row of a buffer
    run(2, more=caches, do_rotary=1)
    run(1, past=3, more=caches, do_rotary=1, rotary_interleaved=1, batch=1)
    run(1, past=3, lengths=[3, 1], more=caches, do_rotary=1, shown=1)
    run(4, local_window_size=2, shown=1, batch=1)
    run(1, past=4, local_window_size=3, shown=1, batch=1)
    run(2, smooth_softmax=1, shown=1, batch=1)
    run(2, more=[None, None, None, data.real(1, 1, 2, 2)], softcap=1.5, shown=1, batch=1)
    run(2, more=[None, None, None, None, data.real(2)], shown=1, batch=1)
    case("GroupQueryAttention", [data.real(1, 2, 32), None, None, None, None, I32([1]), I32([2])], outputs=3,
         num_heads=2, kv_num_heads=1)
    return run


def given_positions(run, caches):
    """In the first run positions count from the first one, in later runs each token has its own."""
    run(3, more=[*caches, I64([[1, 4, 0], [2, 2, 5]])], do_rotary=1)
    run(3, past=2, more=[*caches, I64([[1, 4, 0]])], do_rotary=1, batch=1)
    run(1, past=3, more=[*caches, I64([[4], [1]])], do_rotary=1, shown=1)


def quantized_weights():
    a, bias = data.real(2, 40), data.real(3)
    for bits, kind in ((4, U8), (8, U8), (2, U8)):
        packed = data.whole(kind, 0, 255, 3, 3, 16 * bits // 8)
        scales = data.real(3, 3, low=0.01, high=0.1)
        zeros = data.whole(U8, 0, 255, 3, (3 * bits + 7) // 8)
        common = {"K": 40, "N": 3, "bits": bits, "block_size": 16}
        case("MatMulNBits", [a, packed, scales], constants=(1, 2), **common)
        case("MatMulNBits", [a, packed, scales, zeros, None, bias], constants=(1, 2, 3), **common)
    case("MatMulNBits", [a, data.whole(U8, 0, 255, 3, 3, 8), data.real(3, 3), data.real(3, 3, low=6, high=9)],
         constants=(1, 2, 3), K=40, N=3, bits=4, block_size=16)


def causal_attention_to_other_keys():
    """The first query is beside the first key that is not of an earlier run, and the last query reads all keys."""
    for queries, past in ((3, 0), (2, 2), (1, 0)):
        values = [data.real(1, queries, 4), data.real(1, 5, 4), data.real(1, 5, 4)]
        earlier = [None, None, None, data.real(1, 2, past, 2), data.real(1, 2, past, 2)] if past else []
        case("MultiHeadAttention", values + earlier, outputs=3 if past else 1, num_heads=2, unidirectional=1)


def normalized_heads(caches):
    """The heads of queries and keys are divided by their root mean squares, which onnxruntime's CPU kernel refuses."""
    def normalized(x, weight, epsilon):
        heads = x.reshape(*x.shape[:2], -1, len(weight)).astype(np.float64)
        roots = np.sqrt((heads * heads).mean(axis=3, keepdims=True) + epsilon)
        return (heads / roots * weight).reshape(x.shape).astype(F)
    for size, epsilons, attributes in ((8, (1e-6, 1e-6), {}), (16, (0.1, 0.3), {"do_rotary": 1})):
        q, k, v = data.real(1, 2, 2 * size), data.real(1, 2, size), data.real(1, 2, size)
        weights = [data.real(size, low=0.5), data.real(size, low=0.5)]
        rest = [v, None, None, I32([1]), I32([2]), *(caches if attributes else [None, None])]
        pair = [normalized(x, w, e) for x, w, e in zip((q, k), weights, epsilons)]
        common = {"outputs": 3, "num_heads": 2, "kv_num_heads": 1, **attributes}
        like = case("GroupQueryAttention", pair + rest, **common)
        cases["GroupQueryAttention"].pop()
        if attributes:
            common |= {"qk_norm_epsilon": 0.1, "k_norm_epsilon": 0.3}
        case("GroupQueryAttention", [q, k, *rest, *[None] * 5, *weights], like=like, **common)


def scores_of_attention():
    """The products of queries and keys, scaled, with bias and masks, are a result."""
    def qkv():
        return [data.real(2, 3, 4), data.real(2, 3, 4), data.real(2, 3, 4)]
    results = ["y", "", "", "qk"]
    case("MultiHeadAttention", qkv() + [None, I32([[1, 1, 0], [1, 1, 1]])], outputs=results, num_heads=2)
    case("MultiHeadAttention", qkv() + [None, None, data.real(1, 1, 3, 3)], outputs=results, num_heads=2)
    case("MultiHeadAttention", qkv(), outputs=results, num_heads=2, unidirectional=1)


def moved_quantized_data():
    """Pooling, concatenation, selection and softmax of quantized tensors."""
    for kind, low, high, middle in ((U8, 0, 255, 128), (I8, -128, 127, 2)):
        def q(*shape):
            return data.whole(kind, low, high, *shape)
        z = kind(middle)
        scales = [F(0.041), z, F(0.037), z]
        case("QLinearAveragePool", [q(1, 2, 5, 4), *scales], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
        case("QLinearAveragePool", [q(1, 2, 5, 4), *scales], kernel_shape=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
        case("QLinearAveragePool", [q(1, 5, 4, 2), *scales], kernel_shape=[2, 2], channels_last=1)
        case("QLinearConcat", [F(0.05), z, q(2, 3), F(0.041), z, q(2, 1), F(0.11), kind(middle + 3)], axis=1)
        case("QLinearConcat", [F(0.05), z, q(1, 3), F(0.05), z, q(2, 3), F(0.02), z, q(1, 3), F(0.05), z], axis=-2)
        for opset in (12, 13):
            for axis in ({"axis": 1}, {}):
                case("QLinearSoftmax", [q(2, 3, 2), F(0.021), z, F(1 / 256), kind(low)], constants=(1, 2, 3, 4), opset=opset,
                     **axis)
        case("QLinearWhere", [np.array([[True, False, True]]), q(2, 3), F(0.041), z, q(1, 3), F(0.11), kind(middle + 3),
                              F(0.07), z], constants=(2, 3, 5, 6, 7, 8))


def fused_gemm():
    a, b, c = data.real(2, 3), data.real(3, 4), data.real(4)
    case("FusedGemm", [a, b, c], activation="Relu", alpha=0.5, beta=2.0)
    case("FusedGemm", [a, b], activation="Tanh")
    case("FusedGemm", [data.real(3, 2), data.real(4, 3), data.real(2, 1)], activation="LeakyRelu", activation_alpha=0.1,
         transA=1, transB=1)
    case("FusedGemm", [a, b, c], activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.4)


def quantized_attention():
    bias, past = data.real(12), data.real(2, 2, 2, 2, 2)
    for kind, low, high in ((U8, 0, 255), (I8, -128, 127)):
        x, weights = data.whole(U8, 0, 255, 2, 3, 4), data.whole(kind, low, high, 4, 12)
        scales = [F(0.01), F(0.02)]
        case("QAttention", [x, weights, bias, *scales, None, U8(120), kind(5)], constants=(1,), num_heads=2)
        case("QAttention", [x, weights, bias, *scales, I32([2, 3]), U8(120)], constants=(1,), num_heads=2)
        case("QAttention", [x, weights, bias, F(0.01), data.real(12, low=0.01, high=0.03), None, U8(120),
                            data.whole(kind, 0, 3, 12), past], outputs=2, constants=(1,), num_heads=2, unidirectional=1)


def quantized_embeddings():
    ids, segments, mask = I32([[1, 0, 3], [4, 2, 2]]), I32([[0, 1, 1], [0, 0, 1]]), I32([[1, 1, 1], [1, 1, 0]])
    tables = [data.whole(U8, 0, 255, rows, 4) for rows in (5, 3, 2)] + [data.whole(U8, 0, 255, 4) for _ in range(2)]
    scales, zeros = list(data.real(5, low=0.01, high=0.05)), [U8(z) for z in data.whole(U8, 100, 140, 5)]
    case("QEmbedLayerNormalization", [ids, segments, *tables, mask, *scales, *zeros], outputs=2)
    case("QEmbedLayerNormalization", [ids, None, *tables[:2], None, *tables[3:], None, *scales[:2], None, *scales[3:],
                                      *zeros[:2], None, *zeros[3:]], outputs=2, epsilon=0.01)


def quantized_lstm():
    """One sequence: of several, onnxruntime's threads may quantize the states together or each by itself."""
    for directions, direction in ((1, "forward"), (1, "reverse"), (2, "bidirectional")):
        for kind, low, high in ((I8, -128, 127), (U8, 0, 255)):
            x, bias = data.real(4, 1, 3), data.real(directions, 16)
            w, r = data.whole(kind, low, high, directions, 3, 8), data.whole(kind, low, high, directions, 2, 8)
            scales = [data.real(directions, low=0.005, high=0.01) for _ in range(2)]
            zeros = [data.whole(kind, 0, 9, directions) for _ in range(2)]
            parameters = [scales[0], zeros[0], scales[1], zeros[1]]
            states = [data.real(directions, 1, 2), data.real(directions, 1, 2)] if kind is I8 else [None, None]
            case("DynamicQuantizeLSTM", [x, w, r, bias, None, *states, None, *parameters], outputs=3,
                 constants=(1, 2, 3, 8, 9, 10, 11), hidden_size=2, direction=direction)
    x, w, r = data.real(3, 1, 3), data.whole(I8, -128, 127, 1, 3, 8), data.whole(I8, -128, 127, 1, 2, 8)
    scales, zeros = [data.real(1, 8, low=0.005, high=0.01) for _ in range(2)], np.zeros((1, 8), I8)
    case("DynamicQuantizeLSTM", [x, w, r, None, None, None, None, None, scales[0], zeros, scales[1], zeros], outputs=3,
         constants=(1, 2, 8, 9, 10, 11), hidden_size=2)


def standard_operators_of_torch():
    """Operators that torch's exporter wrote before the standard had them."""
    image, grid = data.real(1, 2, 3, 4), data.real(1, 2, 3, 2, low=-1.2, high=1.2)
    for mode in ("bilinear", "nearest", "bicubic"):
        case("GridSample", [image, grid], mode=mode, padding_mode="border")
    case("GridSample", [image, grid], align_corners=1)
    case("Trilu", [data.real(2, 3, 4)])
    case("Trilu", [data.real(3, 4), I64(1)], upper=0)


def gathered_blocks():
    indices = I64([[2, 0], [-1, 1]])
    for bits, zeros in ((4, None), (4, data.whole(U8, 0, 255, 3, 1)), (8, None)):
        packed, scales = data.whole(U8, 0, 255, 3, 32 * bits // 8), data.real(3, 2, low=0.01, high=0.1)
        case("GatherBlockQuantized", [packed, indices, scales, zeros], constants=(0, 2, 3), bits=bits, block_size=16,
             gather_axis=0, quantize_axis=1)


def grouped_weights():
    """Groups of columns that fill blocks of the size 16 in another order, and others. With them, onnxruntime takes integer
    zero points for absent ones."""
    a, columns = data.real(2, 40), np.arange(40)
    for groups in (I32(columns // 16), I32(data.random.permutation(columns // 16)), I32(columns % 3)):
        def weights(zeros, like=None):
            return case("MatMulNBits", [a, packed, scales, zeros, groups], constants=(1, 2, 3, 4), like=like, K=40, N=3,
                        bits=4, block_size=16)
        packed, scales = data.whole(U8, 0, 255, 3, 3, 8), data.real(3, 3, low=0.01, high=0.1)
        weights(None)
        weights(data.real(3, 3, low=6, high=9))
        zeros = data.whole(U8, 0, 255, 3, 2)
        same = weights(F(np.stack([zeros & 15, zeros >> 4], axis=2).reshape(3, 4)[:, :3]))
        weights(zeros, like=same)


def group_norm(x, gamma, beta, groups, epsilon, activation, channels_last):
    """What the operator's documentation says: there is no CPU kernel."""
    x = x.astype(np.float64) if channels_last else np.moveaxis(x.astype(np.float64), 1, -1)
    grouped = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    centred = grouped - grouped.mean((1, 3), keepdims=True)
    y = (centred / np.sqrt((centred ** 2).mean((1, 3), keepdims=True) + epsilon)).reshape(x.shape) * gamma + beta
    if activation:
        y = y / (1 + np.exp(-y))
    return (y if channels_last else np.moveaxis(y, -1, 1)).astype(F)


def diffusion():
    for last, activation in ((1, 0), (1, 1), (0, 1)):
        shape, ones = ((2, 2, 3, 6), (2, 1, 1, 6)) if last else ((2, 6, 2, 3), (2, 6, 1, 1))
        x, gamma, beta, bias = data.real(*shape), data.real(6), data.real(6), data.real(6)
        kind = {"groups": 3, "activation": activation, "channels_last": last, "epsilon": 0.01}
        case("GroupNorm", [x, gamma, beta], like=[group_norm(x, gamma, beta, 3, 0.01, activation, last)], **kind)
        for skip, added in ((data.real(*shape), None), (data.real(*ones), bias), (data.real(2, 6), bias)):
            total = x + (skip.reshape(ones) if skip.ndim == 2 else skip)
            if added is not None:
                total = total + (added if last else added.reshape(6, 1, 1))
            case("SkipGroupNorm", [x, gamma, beta, skip, added], outputs=2,
                 like=[group_norm(total, gamma, beta, 3, 0.01, activation, last), total], **kind)
    case("Inverse", [data.real(2, 4, 4) + 3 * np.eye(4, dtype=F)])
    case("Inverse", [F([[0, 2, 1], [1, 0, 0], [3, 0, 4]])])


def weights_of_4_bits():
    for kind in (0, 1):
        for rows, columns, block in ((3, 32, 16), (3, 11, 16)):  # with 33 numbers: half a byte and a part of a block
            packed = data.whole(U8, 0, 255, (rows * columns + 1) // 2)
            scales = data.real(-(-rows * columns // block), low=0.1)
            case("MatMulBnb4", [data.real(2, columns), packed, scales], constants=(1, 2), N=rows, K=columns,
                 block_size=block, quant_type=kind)


def main():
    folder = pathlib.Path(sys.argv[1])
    for add in (activations, products, quantized, normalizations, attention, multi_head_attention, quantized_weights):
        add()
    caches = rotary()
    run = group_query_attention(caches)
    causal_attention_to_other_keys()
    given_positions(run, caches)
    scores_of_attention()
    normalized_heads(caches)
    for add in (moved_quantized_data, fused_gemm, quantized_attention, grouped_weights, quantized_embeddings,
                quantized_lstm, standard_operators_of_torch, gathered_blocks, diffusion, weights_of_4_bits):
        add()
    for op, list_of_cases in cases.items():
        text = f"# {op}: recorded from onnxruntime {onnxruntime.__version__}.\n"
        for number, one in enumerate(list_of_cases):
            try:
                text += text_of(*one)
            except Exception as error:  # onnxruntime has no class of its own for models that it refuses
                print(f"{op} {number}: {str(error)[:300]}")
        (folder / f"{op}.txt").write_text(text)


if __name__ == "__main__":
    main()
