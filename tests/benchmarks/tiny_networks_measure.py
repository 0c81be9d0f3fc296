#!/usr/bin/env python3
"""Measures models on a microcontroller that QEMU emulates, and compares their results with x86's.

    tiny_networks_measure.py --dlcc build/release/dlcc [--target cortex-m4] [-Os] [--steps] MODEL.onnx...

For each model of one float32 input and one output: the arena, the code and the weights in bytes, the instructions of one
run for each multiply-accumulate, and whether all bytes of the output equal those of the object for x86. --steps lists
the instructions of each step. The emulator counts virtual time in instructions, one for each nanosecond, and the
program reads the core's timer, whose period is 31 to 50 ns. Needs arm-none-eabi-gcc, qemu-system-arm and a C compiler for the
host. The models may be those of tiny_networks.py.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# QEMU's board of each core, the nanoseconds of a tick of its timer, and flags of the linker.
BOARDS = {
    "cortex-m0plus": ("mps2-an385", 40, []),  # QEMU has no board with one; Cortex-M3 has its instructions
    "cortex-m3": ("mps2-an385", 40, []),
    "cortex-m4": ("mps2-an386", 40, []),
    "cortex-m7": ("mps2-an500", 40, []),
    "cortex-m33": ("mps2-an505", 50, ["-Wl,--defsym=flash_start=0x10000000,--defsym=ram_start=0x38000000"]),
    "cortex-m55": ("mps3-an547", 31.25, ["-Wl,--defsym=flash_start=0x10000000,--defsym=ram_start=0x30000000"]),
}

PROGRAM = """
#include "m.h"
#ifdef __arm__
#include "start.h"
#define TIMER ((volatile uint32_t *)0xE000E010)
static void start_timer(void) {
  TIMER[1] = 0xFFFFFF, TIMER[2] = 0, TIMER[0] = 5;
  while (TIMER[2] == 0) {
  }
}
static uint32_t ticks(void) { return 0xFFFFFF - TIMER[2]; }
#else
#include <stdio.h>
static void print(const char *text) { fputs(text, stdout); }
static void print_number(uint32_t number) { printf("%u", number); }
static void start_timer(void) {}
static uint32_t ticks(void) { return 0; }
#endif

static unsigned char arena[M_ARENA_BYTES + 1] __attribute__((aligned(M_ARENA_ALIGN)));
static float input[INPUTS], output[OUTPUTS];
static uint32_t begun;

static void begin_step(void *self, int32_t step, const char *node) { begun = ticks(); }
static void end_step(void *self, int32_t step, const char *node) {
  const uint32_t ended = ticks();
  print("step "), print_number((uint32_t)step), print(" "), print_number(ended - begun), print("\\n");
}

int main(void) {
  uint32_t seed = 1;
  for (int k = 0; k < INPUTS; ++k) seed = seed * 1664525u + 1013904223u, input[k] = (float)(seed >> 8) / 16777216.0f;
  const m_inputs inputs = {input};
  const m_outputs outputs = {output};
  const dlcc_profiler profiler = {0, begin_step, end_step};
  const dlcc_context context = {.profiler = &profiler};
  start_timer();
  const uint32_t before = ticks();
  if (m_run(&inputs, &outputs, arena, sizeof arena) != DLCC_OK) return 1;
  print("run "), print_number(ticks() - before), print("\\n");
  uint32_t hash = 2166136261u;
  for (unsigned k = 0; k < sizeof output; ++k) hash = (hash ^ ((unsigned char *)output)[k]) * 16777619u;
  print("hash "), print_number(hash), print("\\n");
#ifdef ONE_RUN
  return 0;
#endif
  start_timer();
  return m_run_ctx(&inputs, &outputs, arena, sizeof arena, &context) != DLCC_OK;
}
"""


def run(*command):
    result = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {result.returncode}\n{result.stdout}")
    return result.stdout


def numbers(text):
    return {key: int(value) for key, value in re.findall(r"^(\w+(?: \d+)?) (\d+)$", text, re.M)}


def link_device(target, folder, *options):
    """The program folder/device for the object folder/m.o."""
    firmware = SOURCE / "examples/firmware"
    floats = "soft" if target in ("cortex-m0plus", "cortex-m3") else "hard"
    run("arm-none-eabi-gcc", "-std=gnu11", "-ffreestanding", "-mthumb", f"-mcpu={target}", f"-mfloat-abi={floats}", "-O2",
        *BOARDS[target][2], f"-I{firmware}", "-nostdlib", "-T", firmware / "board.ld", firmware / "start.c", *options,
        "-lgcc", "-o", folder / "device")


def emulate(target, folder, *options):
    """The output of the program."""
    return numbers(run("qemu-system-arm", "-M", BOARDS[target][0], "-nographic", "-monitor", "none", "-serial", "none",
                       "-semihosting-config", "enable=on,target=native", "-icount", "shift=0", *options, "-kernel",
                       folder / "device"))


def sizes_of(report):
    """Options of the C compiler: the numbers of elements of the input and the output."""
    elements = [eval("*".join(re.findall(r"\d+", shape))) for shape in re.findall(r"float32 \(([\d, ]+)\)", report)]
    return [f"-DINPUTS={elements[0]}", f"-DOUTPUTS={elements[1]}"]


def measure(model, args, folder):
    report = run(args.dlcc, "inspect", model, "--target", args.target, f"-O{args.level}")
    # Of the model: kernels of bytes may have more taps, of weight 0.
    floats = run(args.dlcc, "inspect", model, "--target", "cortex-m3")
    macs = int(re.search(r"^MACs .*\((\d+)\)", floats, re.M).group(1))
    (folder / "main.c").write_text(PROGRAM)
    sizes = [*sizes_of(report), f"-I{folder}", folder / "main.c", folder / "m.o"]
    run(args.dlcc, model, "-o", folder / "m.o", "--prefix", "m", "-mcpu=x86-64-v3")
    run("cc", "-std=gnu11", "-O1", *sizes, "-o", folder / "host")
    host = numbers(run(folder / "host"))
    run(args.dlcc, model, "-o", folder / "m.o", "--prefix", "m", "--target", args.target, f"-O{args.level}")
    ns_per_tick = BOARDS[args.target][1]
    link_device(args.target, folder, *sizes)
    device = emulate(args.target, folder)
    sections = re.findall(r"^\.(\S+)\s+(\d+)", run("arm-none-eabi-size", "-A", folder / "m.o"), re.M)
    code = sum(int(size) for name, size in sections if name.startswith("text"))
    weights = sum(int(size) for name, size in sections if name.startswith("rodata"))
    arena = int(re.search(r"M_ARENA_BYTES\D+(\d+)", (folder / "m.h").read_text()).group(1))
    instructions = round(device["run"] * ns_per_tick)
    equal = "equal" if host["hash"] == device["hash"] else "DIFFERENT"
    print(f"{model.stem:12} arena {arena:7}  code {code:6}  weights {weights:7}  instructions {instructions:10}  "
          f"per MAC {instructions / macs:6.3f}  {equal}", flush=True)
    if args.steps:
        names = re.findall(r"^ *(\d+) +([\d.]+) +[\d.]+ +[\d.]+ +(\S+)", report, re.M)
        for step, mflop, name in names:
            count, step_macs = round(device.get(f"step {step}", 0) * ns_per_tick), float(mflop) * 5e5
            ratio = f"{count / step_macs:6.2f}" if step_macs else "      "
            print(f"  {step:>3} {count:9} {ratio}  {name}")


def measure_models(parser, measure):
    """Calls measure(model, args, folder) for each model of the command line, with an empty folder."""
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--dlcc", type=pathlib.Path, required=True)
    args = parser.parse_args()
    for model in args.models:
        with tempfile.TemporaryDirectory() as folder:
            measure(model, args, pathlib.Path(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cortex-m4", choices=BOARDS)
    parser.add_argument("-O", dest="level", default="2", help="optimization level of the object for the target")
    parser.add_argument("--steps", action="store_true")
    measure_models(parser, measure)


if __name__ == "__main__":
    main()
