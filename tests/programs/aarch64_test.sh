#!/usr/bin/env bash
# The digit classifier, compiled for AArch64, runs under emulation and recognizes its samples. Outlined loop nests save x9,
# the register with which LLVM aligns their stack.
# aarch64_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without a cross compiler or the emulator.
set -euo pipefail
dlcc=$1 source=$2 work=$3
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $tool > /dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
mkdir -p "$work"
"$dlcc" "$source/examples/digits/digits.onnx" -o "$work/digits.o" --target aarch64
aarch64-linux-gnu-gcc -std=c11 -static -O2 -Wall -Wextra -Werror -I"$work" -I"$source/runtime/include" "$source/examples/digits/main.c" \
  "$work/digits.o" "$source"/runtime/src/*.c -o "$work/digits"
for image in sheared_4 blurred_9; do
  digit=${image##*_}
  qemu-aarch64 "$work/digits" "$source/examples/digits/$image.pgm" > "$work/out"
  grep -q "^> *$digit " "$work/out"
  echo "recognized: $image"
done

"$dlcc" "$source/tests/programs/spilling_layers.rly" --target aarch64 --emit=llvm -o "$work/outlined.ll"
outlined=$(grep -cE '^define .*_outlined' "$work/outlined.ll") saved=$(grep -c '~{x9}' "$work/outlined.ll" || true)
[ "$outlined" -gt 0 ] && [ "$saved" -ge "$outlined" ] || { echo "$saved of $outlined outlined loop nests save x9"; exit 1; }
