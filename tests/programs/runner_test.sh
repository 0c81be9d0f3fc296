#!/usr/bin/env bash
# Models run on other machines, under emulation, by --runner: networks, symbolic sizes, sizes that data decide, scalars, weights in
# a file, statuses, times; and what goes wrong with the two commands.
# runner_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without a cross compiler or an emulator.
set -euo pipefail
source "$(dirname "$0")/begin.sh"
skip_without aarch64-linux-gnu-gcc qemu-aarch64 arm-linux-gnueabihf-gcc qemu-arm
export TMPDIR=$PWD/temporary
mkdir "$TMPDIR"
arm64=(--target aarch64 --runner qemu-aarch64)

expect_line() {  # LINE: in the output of expect_status
  cat out.txt err.txt | grep -qE -- "$1" || fail "no line '$1' in: $(cat out.txt err.txt)"
}

expect_status 0 verify "$model" "$data" "${arm64[@]}"
expect_line '^ok'
expect_status 0 verify "$model" "$data" --layers "${arm64[@]}"
expect_line '^ok [0-9]+ layers'
for target in armv7-a cortex-m0plus cortex-m4 cortex-m33; do
  expect_status 0 verify "$model" "$data" --target $target --runner qemu-arm
done
expect_status 0 verify "$model" "$data" "${arm64[@]}" --weights external=weights.bin
expect_status 0 bench "$model" --runs 3 "${arm64[@]}"
expect_line '^3 runs: min '

source "$source/tests/programs/sizes_on_targets.sh"
echo 'def @main(%x: Tensor[(), float32]) { negative(%x) }' > scalar.rly
{ npy '<f4' ''; printf '\0\0\x80\x3f'; } > one.npy
expect_status 0 run scalar.rly --input one.npy "${arm64[@]}"
expect_line '^output0 float32 \(\): -1$'

for target in aarch64:qemu-aarch64 armv7-a:qemu-arm cortex-m4:qemu-arm; do check_sizes_on ${target%:*} ${target#*:}; done
expect_status 1 run sizes.rly --input x.npy --input three.npy "${arm64[@]}"
expect_line 'the model returned status 5: an index operand is out of range'
expect_status 0 bench sizes.rly --runs 2 --size n=5 --size m=1 --input i=two.npy "${arm64[@]}"
expect_line '^n=5 m=1: 2 runs: min '

run=(run scalar.rly --input one.npy --target aarch64)
expect_status 1 "${run[@]}"
expect_line 'run the model by an emulator: --runner COMMAND'
expect_status 1 "${run[@]}" --runner false
expect_line "'false' does not run the model: exit status 1"
expect_status 1 "${run[@]}" --runner true
expect_line "'true' gives no complete results"
expect_status 1 "${run[@]}" --runner qemu-arm
expect_line "'qemu-arm' does not run the model: exit status"
expect_status 1 "${run[@]}" --runner qemu-aarch64 --runner-cc false
expect_line "'false' does not compile the program that runs the model: exit status 1"
expect_status 1 "${run[@]}" --runner qemu-arm --runner-cc arm-linux-gnueabihf-gcc
expect_line "'arm-linux-gnueabihf-gcc' does not link the object: exit status 1"
for options in '--runner-cc gcc' '--runner x --interpret' '--target aarch64 --runner x --max-steps 2'; do
  expect_status 2 run scalar.rly --input one.npy $options
done
expect_status 2 bench scalar.rly --runner x --layers
expect_line '--runner excludes --layers: it measures no steps'
[ -z "$(ls "$TMPDIR")" ] || fail "a temporary folder is left"
echo "models run under two emulators"
