#!/usr/bin/env python3
"""Compares models of `random_models FIRST COUNT FOLDER` with onnxruntime: compare_onnxruntime.py FOLDER

Every model must pass ONNX's checker, and onnxruntime's results must be those of test_data_set_0 within tolerances.txt.
A model with an operator or type for which onnxruntime has no kernel is counted, not compared. Exit status 1 if a model
differs.
"""
import collections
import pathlib
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime


# onnxruntime has no class of exception for models that it has no kernel for. "Type Error" is the refusal of a type that
# ONNX's checker, which comes first, accepts: bfloat16 for Where.
WITHOUT_KERNEL = ("NOT_IMPLEMENTED", "Could not find an implementation", "Unsupported", "No corresponding Numpy type",
                  "Type Error: Type 'tensor(bfloat16)'", "layout == 1",
                  "data type is not supported with Scatter", "does not support double")


def read(path):
    return onnx.numpy_helper.to_array(onnx.load_tensor(path))


def by_number(folder, what):
    return [folder / f"{what}_{k}.pb" for k in range(len(list(folder.glob(f"{what}_*.pb"))))]


def feed_value(path):
    """The input as onnxruntime takes it: numpy has no bfloat16."""
    array = read(path)
    if array.dtype.name == "bfloat16":
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), onnx.TensorProto.BFLOAT16)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


def results_of(model, data):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feeds = {i.name: feed_value(p) for i, p in zip(session.get_inputs(), by_number(data, "input"))}
    return [v.numpy() for v in session.run_with_ort_values([o.name for o in session.get_outputs()], feeds)]


def difference(folder):
    """What differs; empty if nothing does."""
    data = folder / "test_data_set_0"
    expected = [read(p) for p in by_number(data, "output")]
    if not expected:
        return "dlcc gave no results"
    onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check=True)
    tolerances = [float(line) for line in (folder / "tolerances.txt").read_text().split()]
    for k, (got, want, tolerance) in enumerate(zip(results_of(folder / "model.onnx", data), expected, tolerances)):
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"output {k}: {want.dtype} {want.shape}, onnxruntime has {got.dtype} {got.shape}"
        error = np.abs(got.astype(np.float64) - want.astype(np.float64))
        if not (error <= tolerance).all():
            return f"output {k}: differs by {error.max():g}, tolerance {tolerance:g}"
    return ""


def main():
    counts = collections.Counter()
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir(), key=lambda f: int(f.name)):
        try:
            what = difference(folder)
        except Exception as e:
            if any(words in str(e) for words in WITHOUT_KERNEL):
                counts["without a kernel in onnxruntime"] += 1
                continue
            what = f"{type(e).__name__}: {e}"
        counts["differ" if what else "agree"] += 1
        if what:
            print("FAIL", folder.name, what.replace("\n", " ")[:300], flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
