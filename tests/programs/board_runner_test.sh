#!/usr/bin/env bash
# Models run on boards without an operating system that QEMU emulates, by --runner qemu-system-arm, and give the results of
# this machine: networks on each microcontroller, symbolic sizes, weights in a file, statuses, times. The program that runs
# them finds writes outside of buffers, changed inputs and faults, and names what is too large for the board.
# board_runner_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without a cross compiler or the emulator.
set -euo pipefail
source "$(dirname "$0")/begin.sh"
skip_without arm-none-eabi-gcc qemu-system-arm
# The names of files are semihosting arguments, in an option in which commas separate.
export TMPDIR="$PWD/a  b,c\\ d"
mkdir "$TMPDIR"
m4=(--target cortex-m4 --runner qemu-system-arm)

expect_line() {  # LINE: in the output of expect_status
  cat out.txt err.txt | grep -qE -- "$1" || fail "no line '$1' in: $(cat out.txt err.txt)"
}

source "$source/tests/programs/sizes_on_targets.sh"
for target in cortex-m0plus cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55; do
  expect_status 0 verify "$model" "$data" --target $target --runner qemu-system-arm
  expect_line '^ok'
done
expect_status 0 verify "$model" "$data" --target cortex-m4 -mcpu=cortex-m4+nofp --runner "nice $(command -v qemu-system-arm)"
expect_status 0 verify "$model" "$data" --layers "${m4[@]}"
expect_line '^ok [0-9]+ layers'
expect_status 0 verify "$model" "$data" "${m4[@]}" --weights external=weights.bin
expect_status 0 verify "$model" "$data" "${m4[@]}" --weights section=in_flash
expect_status 0 bench "$model" --runs 3 "${m4[@]}"
expect_line '^3 runs: min '

for target in cortex-m0plus cortex-m4; do check_sizes_on $target qemu-system-arm; done
expect_status 1 run sizes.rly --input x.npy --input three.npy "${m4[@]}"
expect_line 'the model returned status 5: an index operand is out of range'

# What does not fit into the board, and what is not for a board.
printf 'def @main(%%x: Tensor[(n), int8]) { max(%%x) }\n' > largest.rly
{ npy '|i1' '17000000,'; head -c 17000000 /dev/zero; } > large.npy
expect_status 1 run largest.rly --input large.npy "${m4[@]}"
expect_line "'qemu-system-arm' does not run the model: exit status 3"
expect_line 'the memory of the board is too small'
rm large.npy
for target in aarch64 armv7-a; do
  expect_status 1 run sizes.rly --input x.npy --input two.npy --target $target --runner qemu-system-arm
  expect_line "'qemu-system-arm' runs programs without an operating system, and $target is a target for Linux"
done
expect_status 1 verify "$model" "$data" "${m4[@]}" --runner-cc false
expect_line "'false' does not compile the program that runs the model: exit status 1"
[ -z "$(ls "$TMPDIR")" ] || fail "a temporary folder is left"
echo "models run on boards"

# Models that are wrong, in place of objects of dlcc. Each adds 1 to 4 floats; $1 is its defect.
runner=$source/runtime/runner
run_wrong_model() {
  cat > model.c <<END
#include "dlcc/types.h"
static const int64_t shape[] = {4};
static const dlcc_tensor x = {"x", "float32", shape, 1, 1, 16}, y = {"y", "float32", shape, 1, 1, 16};
static dlcc_status run(const void *const *inputs, void *const *outputs, void *arena, size_t bytes, const dlcc_context *context) {
  const float *in = inputs[0];
  float *out = outputs[0];
  for (int k = 0; k < 4; ++k) out[k] = in[k] + 1;
  $1;
  return (void)arena, (void)bytes, (void)context, DLCC_OK;
}
const dlcc_model model_to_run = {.abi_version = 1, .input_count = 1, .output_count = 1, .inputs = &x, .outputs = &y,
                                 .arena_bytes = 32, .arena_alignment = 16, .run = run};
END
  arm-none-eabi-gcc -std=gnu11 -O2 -Wall -Wextra -Werror -ffreestanding -fno-tree-loop-distribute-patterns -mthumb -mcpu=$2 \
    -mfloat-abi=soft -I"$source/runtime/include" -nostdlib -T "$runner/board.ld" -Wl,--defsym=code_start=0,--defsym=code_bytes=4M \
    -Wl,--defsym=ram_start=0x20000000,--defsym=ram_bytes=4M,--defsym=data_start=0x21000000,--defsym=data_bytes=16M \
    "$runner"/{run_object,board}.c model.c -lgcc -o wrong
  local status=0
  rm -f results
  qemu-system-arm -M mps2-an385 -display none -monitor none -serial none \
    -semihosting-config enable=on,target=native,arg=run_object,arg=inputs,arg=results -kernel wrong >out.txt 2>err.txt || status=$?
  [ $status = "$3" ] || fail "status $status instead of $3 for '$1': $(cat out.txt err.txt)"
  [ -z "$4" ] || expect_line "$4"
}
printf '\20\0\0\0\0\0\0\0\0\0\0\0\0\0\200\77\0\0\0\100\0\0\100\100' > inputs
run_wrong_model ';' cortex-m3 0 ''
[ "$(od -An -tx1 results | tr -d ' \n')" = 000000000000000010000000000000000000803f000000400000404000008040 ] || fail "$(od -An -tx1 results)"
outside='the model has written outside of its buffers'
run_wrong_model 'out[4] = 0' cortex-m3 6 "$outside"
run_wrong_model 'out[-1] = 0' cortex-m3 6 "$outside"
run_wrong_model '((unsigned char *)arena)[32] = 0' cortex-m3 6 "$outside"
run_wrong_model '((float *)in)[1] = 7' cortex-m3 6 'the model has changed an input or its weights'
run_wrong_model '__asm__ volatile("udf #0")' cortex-m3 7 'the CPU has stopped the model: a fault'
run_wrong_model '__asm__ volatile("ldr r0, [%0]" : : "r"((char *)out + 1) : "r0", "memory")' cortex-m3 0 ''
run_wrong_model '__asm__ volatile("ldr r0, [%0]" : : "r"((char *)out + 1) : "r0", "memory")' cortex-m0plus 7 'a fault'
head -c 12 inputs > short && mv short inputs
run_wrong_model ';' cortex-m3 4 'the inputs end early'
rm inputs
run_wrong_model ';' cortex-m3 2 'a file of the host cannot be opened'
echo "wrong models are found"
