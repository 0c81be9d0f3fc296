#!/usr/bin/env bash
# A model with its weights in a file gives the same results on every CPU level, and a status for any other file.
# external_weights_test.sh DLCC SOURCE_FOLDER WORK_FOLDER RUNTIME_LIBRARY
set -euo pipefail
runtime=$(realpath "$4")
source "$(dirname "$0")/begin.sh"
"$dlcc" "$model" -o whole.o
"$dlcc" "$model" -o bare.o --weights external=bare.weights
"$dlcc" "$source/tests/programs/threads.rly" -o other.o --weights external=other.weights
! readelf -SW bare.o | grep weights || fail "the object has a section of weights"
[ "$(stat -c %s bare.o)" -lt "$(stat -c %s bare.weights)" ] || fail "the object is as large as its weights"
gcc -std=c11 -O2 -Wall -Wextra -pedantic -Werror -I. -I"$source/runtime/include" "$source/tests/programs/external_weights.c" \
  bare.o whole.o "$runtime" -static -o external_weights
./external_weights bare.weights other.weights
if command -v qemu-x86_64 > /dev/null; then
  qemu-x86_64 -cpu Haswell ./external_weights bare.weights other.weights
else
  echo "not run on a CPU without AVX-512: qemu-x86_64 is not installed"
fi
echo "in a C program"

"$dlcc" verify "$model" "$data" --weights external=unused
"$dlcc" verify --layers "$model" "$data" --weights external=unused
"$dlcc" run "$model" --input "$data/input_0.pb" --weights external=unused > run.txt
"$dlcc" run "$model" --input "$data/input_0.pb" | cmp - run.txt
"$dlcc" bench "$model" --runs=4 --layers --weights external=unused > bench.txt
"$dlcc" inspect --json "$model" --weights external=unused > inspect.txt
grep -q "\"weights_file_bytes\": $(stat -c %s bare.weights)" inspect.txt ||
  fail "inspect does not tell the file's size"
[ ! -e unused ] || fail "a command that compiles in memory wrote the weights"
echo "in dlcc's own commands"

status=0
"$dlcc" "$model" -o bare.o --weights external=bare.h 2> errors.txt || status=$?
[ $status = 2 ] && grep -q 'two outputs would be written to this file' errors.txt || fail "one file for header and weights"
mkdir folder
! "$dlcc" "$model" -o unwritten.o --weights external=folder 2> errors.txt || fail "a folder was taken for a file"
! ls unwritten.* 2> ls.txt || fail "outputs were written without the weights"
echo "all outputs or none"
