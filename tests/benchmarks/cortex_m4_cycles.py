#!/usr/bin/env python3
"""Estimates the cycles of models on a Cortex-M4 from the instructions that QEMU executes.

    cortex_m4_cycles.py --dlcc build/release/dlcc MODEL.onnx...

For each model of one float32 input and one output: millions of instructions and of cycles of one run, and the cycles for
each instruction. The instructions are those of the model; each takes the cycles of Arm's "Cortex-M4 Technical Reference
Manual" (r0p1, sections 3.3 and 7.2.3) from memory without wait states:

    load, store               2 and 1; a load just after another load or store 1, unless that one loads its address
    several registers         1 + their number
    branch                    taken 3 (1 to 3 to fill the pipeline), else 1
    integer division          7 (2 to 12)
    fused multiply-add 3, division and square root of floats 14
    all others                1

Branches that are taken are counted as those after which the next instruction is not executed, so that some may count as
not taken. Waits for the flash memory, for results of the FPU and for unaligned data are not counted. So the estimate is
a lower bound of what a board takes, but closer to it than the number of instructions. Needs arm-none-eabi-gcc,
qemu-system-arm with plugins, a C compiler.
"""
import argparse
import collections
import re

from tiny_networks_measure import PROGRAM, SOURCE, emulate, link_device, measure_models, run, sizes_of

TARGET = "cortex-m4"
LOAD = re.compile(r"ldr|vldr")
STORE = re.compile(r"str|vstr")


def executed(binary, counts):
    """The instructions of the model in order: function, name, operands, and how often each ran."""
    blocks = [[int(number, 16 if k == 0 else 10) for k, number in enumerate(line.split())]
              for line in counts.read_text().splitlines()]
    starts, code, function = collections.defaultdict(list), [], ""
    for address, instructions, count in blocks:
        starts[address].append((instructions, count))
    for line in run("arm-none-eabi-objdump", "-d", "--no-show-raw-insn", binary).splitlines():
        if label := re.match(r"[0-9a-f]+ <(\S+)>:", line):
            function = label[1]
        elif (found := re.match(r" *([0-9a-f]+):\s+(\S+)\s*(.*)", line)) and not found[2].startswith("."):
            code.append([int(found[1], 16), function, found[2], found[3].split("@")[0].strip(), 0])
    for k, (address, *_) in enumerate(code):
        for instructions, count in starts.get(address, []):
            for at in range(k, min(k + instructions, len(code))):
                code[at][4] += count
    return [tuple(c[1:]) for c in code if c[1].startswith("m_")]


def registers(operands):
    """The number of registers in {r4, r5, lr} or {s0-s3}."""
    count = 0
    for item in re.search(r"{(.*)}", operands)[1].split(","):
        first, _, last = item.strip().partition("-")
        count += int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count


def cycles_of(name, operands, before):
    """Of an instruction that is no conditional branch. `before`: the name and the operands of the one before it."""
    if "{" in operands and re.match(r"push|pop|ldm|stm|vpush|vpop|vldm|vstm", name):
        return 1 + registers(operands) + (2 if "pc" in operands else 0)
    if re.match(r"ldrd|strd", name):
        return 3
    if LOAD.match(name):
        loaded = before[1].split(",")[0] if LOAD.match(before[0]) else ""
        is_address = loaded and re.search(rf"\[.*\b{loaded}\b", operands)
        return 1 if (LOAD.match(before[0]) or STORE.match(before[0])) and not is_address else 2
    if STORE.match(name):
        return 1
    if re.match(r"b(\.[nw])?$|bl$|blx$|bx$", name):
        return 3
    if re.match(r"[us]div", name):
        return 7
    if re.match(r"vdiv|vsqrt", name):
        return 14
    return 3 if re.match(r"vf?n?m[as]|vfnm|vml", name) else 1


def estimate(code):
    instructions = cycles = 0
    before = ("", "")
    for k, (function, name, operands, count) in enumerate(code):
        instructions += count
        if re.match(r"b(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|hs|lo)(\.[nw])?$|cbn?z", name):
            after = code[k + 1][3] if k + 1 < len(code) and code[k + 1][0] == function else 0
            taken = count - min(count, after)
            cycles += 3 * taken + (count - taken)
        else:
            cycles += count * cycles_of(name, operands, before)
        before = (name, operands)
    return instructions, cycles


def measure(model, args, folder):
    plugin = folder / "count.so"
    run("cc", "-shared", "-fPIC", "-O1", SOURCE / "tests/benchmarks/count_instructions.c", "-o", plugin)
    report = run(args.dlcc, "inspect", model, "--target", TARGET, f"-O{args.level}")
    run(args.dlcc, model, "-o", folder / "m.o", "--prefix", "m", "--target", TARGET, f"-O{args.level}")
    (folder / "main.c").write_text(PROGRAM)
    link_device(TARGET, folder, "-DONE_RUN", *sizes_of(report), f"-I{folder}", folder / "main.c", folder / "m.o")
    emulate(TARGET, folder, "-plugin", f"{plugin},out={folder / 'counts'}")
    instructions, cycles = estimate(executed(folder / "device", folder / "counts"))
    print(f"{model.stem:12} million instructions {instructions / 1e6:7.3f}  cycles {cycles / 1e6:7.3f}  "
          f"per instruction {cycles / instructions:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-O", dest="level", default="2", help="optimization level")
    measure_models(parser, measure)


if __name__ == "__main__":
    main()
