#!/usr/bin/env python3
"""Prints frontends/onnx/element_types.def: the element types that operator sets added to operators that exist since
an earlier one. Needs the Python package onnx.

    python3 tests/onnx/list_element_types.py | clang-format --assume-filename=.cpp > frontends/onnx/element_types.def
"""
import collections

import onnx

HEADER = """\
// Element types that an operator set added to operators of earlier ones, by tests/onnx/list_element_types.py from the
// schemas of the standard: ADDED(operator set, types, operators). "Pow.0" is the first input of Pow, "Add" any input of
// Add that may have the type at all."""

# Relay's names of the types; others do not exist in dlcc.
NAMES = {"float": "float32", "double": "float64", "float4e2m1": "float4_e2m1fn", "float8e8m0": "float8_e8m0fnu",
         "float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2": "float8_e5m2",
         "float8e5m2fnuz": "float8_e5m2fnuz"}
SAME = ("bool int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 float16 bfloat16").split()


def types_of(formal):
    """The element types of an input in dlcc; those of tensors only."""
    for text in formal.types:
        if not text.startswith("tensor("):
            continue
        name = text[len("tensor("):-1]
        if name in NAMES or name in SAME:
            yield NAMES.get(name, name)


def histories():
    """Schemas of each operator by version, without deprecated versions."""
    schemas = collections.defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.deprecated:
            qualified = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
            schemas[qualified][schema.since_version] = schema
    return schemas


def first_versions(schemas):
    """For each input the first operator set with each of its types."""
    inputs = collections.defaultdict(dict)
    for version in sorted(schemas):
        for k, formal in enumerate(schemas[version].inputs):
            for name in types_of(formal):
                inputs[k].setdefault(name, version)
    return inputs


def added_types():
    """Operators or their inputs by version and added type."""
    added = collections.defaultdict(set)
    for operator, schemas in histories().items():
        inputs = first_versions(schemas)
        begins = {k: min(types.values()) for k, types in inputs.items()}
        for k, types in inputs.items():
            for name, version in types.items():
                if version == begins[k]:
                    continue
                agrees = all(other.get(name, version) == version for other in inputs.values())
                added[version, name].add(operator if agrees else f"{operator}.{k}")
    return added


def main():
    rows = collections.defaultdict(list)
    for (version, name), operators in added_types().items():
        rows[version, tuple(sorted(operators))].append(name)
    print(HEADER)
    for (version, operators), names in sorted(rows.items(), key=lambda row: (row[0][0], sorted(row[1]), row[0][1])):
        print(f'ADDED({version}, "{" ".join(sorted(names))}", "{" ".join(operators)}")')


if __name__ == "__main__":
    main()
