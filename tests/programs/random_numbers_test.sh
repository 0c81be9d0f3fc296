#!/usr/bin/env bash
# Random numbers are the same bytes on every target: on x86-64 with the least CPU and with this machine's, and on AArch64 under
# emulation.
# random_numbers_test.sh DLCC SOURCE_FOLDER WORK_FOLDER MODEL; exit status 77 (skipped) without a cross compiler or qemu.
set -euo pipefail
random=$(realpath "$4")
source "$(dirname "$0")/begin.sh"
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $tool > /dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

# The inputs as run_object.c reads them: 36 probabilities 0.5, then 10 numbers 0.
{
  printf '\x90\0\0\0\0\0\0\0'
  for _ in {1..36}; do printf '\0\0\0\x3f'; done
  printf '\x28\0\0\0\0\0\0\0'
  head -c 40 /dev/zero
} > inputs

build() {  # COMPILER DLCC_OPTIONS...
  "$dlcc" "$random" -o m.o --prefix m "${@:2}"
  $1 -std=gnu11 -static -O2 -I"$source/runtime/include" -Wl,--defsym=model_to_run=m_model \
    "$source"/runtime/runner/{run_object,linux}.c m.o -o run
}
build gcc -mcpu=x86-64-v2
./run inputs expected
[ "$(head -c 8 expected | tr -d '\0' | wc -c)" = 0 ] || fail "a status other than ok"
[ "$(tail -c 320 expected | od -An -v -t d4 -w4 | sort -u | wc -l)" = 5 ] || fail "not all of five classes in 80 samples"
build gcc
./run inputs results
cmp expected results || fail "other numbers with the instructions of this machine"
build aarch64-linux-gnu-gcc --target aarch64
qemu-aarch64 ./run inputs results
cmp expected results || fail "other numbers on AArch64"
echo "$(wc -c < expected) bytes are the same"
