#!/usr/bin/env python3
"""Counts the instructions of models on AArch64 under QEMU, and compares inner loops with what their register tiles need.

    aarch64_instructions.py --dlcc build/release/dlcc [--mcpu CPU] [--kernels N] [--loops N] MODEL.onnx...

For each model of static sizes: the instructions of one run for each multiply-accumulate, the share of instructions in
innermost loops of float32 products, and loads and stores of spilled registers in all innermost loops. Then, of the
kernels and of the loops of products that take the most instructions, the same numbers. A loop over K computes tiles of
`rows` x `vectors` accumulators by `fmla` with an element of a vector: `unroll` K indices load a vector of data for each
row and four K indices, and `vectors` vectors of weights for each K index, two with one instruction. These loads, the
products, a counter and a branch are the ideal. Needs aarch64-linux-gnu-gcc, qemu-aarch64 with plugins, a C compiler.
"""
import argparse
import collections
import json
import pathlib
import re

from tiny_networks_measure import measure_models, run

FOLDER = pathlib.Path(__file__).resolve().parent
BYTES = {"float32": 4, "int64": 8, "int32": 4, "float64": 8, "uint8": 1, "int8": 1, "bool": 1}
Instruction = collections.namedtuple("Instruction", "function name operands count")


def program(interface):
    def arrays(kind):
        sizes = [BYTES[t["dtype"]] * eval("*".join(map(str, t["shape"] or [1]))) for t in interface[kind]]
        return [f"static _Alignas(64) unsigned char {kind}{k}[{size}];" for k, size in enumerate(sizes)]

    def struct(kind):
        return f"const m_{kind} {kind} = {{" + ", ".join(f"(void *){kind}{k}" for k in range(len(interface[kind]))) + "};"

    return "\n".join(['#include "m.h"', *arrays("inputs"), *arrays("outputs"),
                      "static _Alignas(M_ARENA_ALIGN) unsigned char arena[M_ARENA_BYTES + 1];", "int main(void) {",
                      struct("inputs"), struct("outputs"), "return m_run(&inputs, &outputs, arena, sizeof arena);", "}"])


def executed(binary, counts):
    """The instructions of the model's functions by address, with the number of times that each ran."""
    times = collections.Counter()
    for line in counts.read_text().splitlines():
        address, instructions, count = line.split()
        for k in range(int(instructions)):
            times[int(address, 16) + 4 * k] += int(count)
    found, function = {}, ""
    for line in run("aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", binary).splitlines():
        if label := re.match(r"[0-9a-f]+ <(\S+)>:", line):
            function = label[1]
        elif (code := re.match(r" *([0-9a-f]+):\s+(\S+)\s*(.*)", line)) and function.startswith("m_"):
            address = int(code[1], 16)
            found[address] = Instruction(function, code[2], code[3], times[address])
    return found


def innermost_loops(code):
    """Lists of addresses from the target of a backward branch to the branch, without those that contain others."""
    loops = []
    for address, i in code.items():
        target = re.search(r"\b([0-9a-f]+) <", i.operands) if re.match(r"b\.|cbn?z|tbn?z|b$", i.name) else None
        begin = int(target[1], 16) if target else address + 4
        if begin <= address and begin in code and code[begin].function == i.function and i.count > 0:
            loops.append((begin, address))
    return [range(begin, end + 4, 4) for begin, end in loops
            if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in loops)]


def is_product(i):
    return i.name == "fmla" and ".4s" in i.operands


def is_spill(i):
    """Generated code keeps local buffers in loops at other registers than sp only if they are large."""
    return re.match(r"(ld|st)[rp]", i.name) is not None and "[sp" in i.operands


class Loop:
    def __init__(self, code, addresses):
        self.code = [code[a] for a in addresses]
        self.function, self.begin = self.code[0].function, addresses[0]
        self.instructions = sum(i.count for i in self.code)
        self.runs = self.code[-1].count
        products = [re.split(r",\s*", i.operands) for i in self.code if is_product(i)]
        self.products = len(products)
        self.loads = sum(i.name.startswith("ld") for i in self.code)
        self.spills = sum(map(is_spill, self.code))
        self.accumulators = len({p[0] for p in products})
        # Registers whose elements are data: one for each row. Vector registers of products without elements are not
        # told apart, so that such a loop has no ideal.
        self.rows = len({p[2].split(".")[0] for p in products if "[" in p[2]})
        self.is_tile = self.rows > 0 and self.accumulators % self.rows == 0 and all("[" in p[2] for p in products)

    def ideal(self):
        vectors, unroll = self.accumulators // self.rows, self.products // self.accumulators
        return self.products + (unroll * vectors + 1) // 2 + (unroll + 3) // 4 * self.rows + 2

    def describe(self):
        size = len(self.code)
        text = (f"{self.instructions:12}  {self.function:44} at {self.begin:x}: {size:4} instructions, "
                f"{self.products:3} products, {self.loads:3} loads, {self.spills} spills, {size / self.products:.3f} per product")
        if not self.is_tile:
            return text
        return text + (f"; tile {self.rows} x {self.accumulators // self.rows}, ideal {self.ideal() / self.products:.3f}, "
                       f"{size / self.ideal() - 1:+.1%}")


def measure(model, args, folder):
    options = ["--target", "aarch64"] + ([f"-mcpu={args.mcpu}"] if args.mcpu else [])
    interface = json.loads(run(args.dlcc, "inspect", model, "--json", *options))
    run(args.dlcc, model, "-o", folder / "m.o", "--prefix", "m", *options)
    (folder / "main.c").write_text(program(interface))
    binary, counts, plugin = folder / "main", folder / "counts", folder / "count.so"
    run("aarch64-linux-gnu-gcc", "-std=c11", "-O1", "-static", f"-I{folder}", folder / "main.c", folder / "m.o", "-o", binary)
    run("cc", "-std=c11", "-O1", "-shared", "-fPIC", FOLDER / "count_instructions.c", "-o", plugin)
    run("qemu-aarch64", "-plugin", f"{plugin},out={counts}", binary)
    code = executed(binary, counts)
    loops = [Loop(code, addresses) for addresses in innermost_loops(code)]
    tiles = sorted((l for l in loops if l.products), key=lambda l: -l.instructions)
    total, macs = sum(i.count for i in code.values()), interface["macs"]
    vectors = sum(i.count for i in code.values() if is_product(i))
    print(f"{model}: {total} instructions, {total / macs:.4f} per MAC, {total / max(vectors, 1):.3f} per vector product; "
          f"{sum(l.instructions for l in tiles) / total:.1%} in innermost loops of products; "
          f"{sum(l.spills for l in loops)} spills in {len(loops)} innermost loops", flush=True)
    kernels = collections.Counter()
    for i in code.values():
        kernels[re.match(r"(m_k\d+)?", i.function)[0] or i.function] += i.count
    names = [call["kernel"] for call in interface["calls"]]
    for kernel, count in kernels.most_common(args.kernels):
        print(f"{count:12}  {count / total:5.1%}  {kernel}")
    for loop in tiles[:args.loops]:
        print(loop.describe())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mcpu", help="default: generic AArch64, and levels with dot products")
    parser.add_argument("--kernels", type=int, default=0, help="kernels to list")
    parser.add_argument("--loops", type=int, default=12, help="loops to list")
    measure_models(parser, measure)


if __name__ == "__main__":
    main()
