#!/usr/bin/env bash
# One object on CPUs of several levels, under emulation: the code of the best supported level runs, and on a CPU below the
# first level the model returns a status. cpu_levels_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without the emulator.
set -euo pipefail
dlcc=$1 example=$2/examples/digits work=$3
command -v qemu-x86_64 > /dev/null || { echo "skipped: qemu-x86_64 is not installed"; exit 77; }
mkdir -p "$work"
recognizes() {  # CPU FLAGS...
  local cpu=$1
  shift
  "$dlcc" "$example/digits.onnx" -o "$work/digits.o" --target x86-64 "$@"
  gcc -std=c11 -static -O2 -I"$work" "$example/main.c" "$work/digits.o" -o "$work/digits"
  qemu-x86_64 -cpu "$cpu" "$work/digits" "$example/sheared_4.pgm" > "$work/out" 2> "$work/err" && grep -q '^> *4 ' "$work/out"
}
recognizes Haswell || { echo "AVX2 code was not taken on a CPU without AVX-512"; exit 1; }
recognizes Nehalem -mcpu=x86-64-v2,x86-64-v4 || { echo "SSE code was not taken on a CPU without AVX"; exit 1; }
! recognizes Nehalem || { echo "AVX2 code ran on a CPU without AVX"; exit 1; }
grep -q 'status 4$' "$work/err" || { echo "the model did not say that the CPU is not supported"; exit 1; }
echo "Haswell, Nehalem: the best supported level runs, or a status is returned"
