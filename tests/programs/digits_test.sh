#!/usr/bin/env bash
# The digit classifier is compiled, linked into the example program and run on its images; `dlcc verify` checks its test
# data.   digits_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$1 example=$2/examples/digits out=$3
mkdir -p "$out"
"$dlcc" "$example/digits.onnx" -o "$out/digits.o"
gcc -std=c11 -O2 -Wall -Wextra -pedantic -Werror -I"$out" "$example/main.c" "$out/digits.o" -o "$out/digits"

classes() { "$out/digits" "$@" | sed -n 's/^> \([0-9]\).*/\1/p' | tr -d '\n'; }
expect() {
  [ "$2" = "$3" ] || { echo "$1: expected $3, found $2"; exit 1; }
}
expect "the samples" "$(classes)" 0123456789
expect "sheared_4.pgm" "$(classes "$example/sheared_4.pgm")" 4
expect "blurred_9.pgm" "$(classes "$example/blurred_9.pgm")" 9
! "$out/digits" "$example/main.c" 2>/dev/null || { echo "a file that is no image was accepted"; exit 1; }
! "$out/digits" 10 2>/dev/null || { echo "sample 10 was accepted"; exit 1; }

"$dlcc" bench "$example/digits.onnx" --runs=4 --json --html "$out/digits.html" >"$out/bench.json"
grep -q '"percent_of_floor"' "$out/bench.json" && grep -q '"percent_of_floor"' "$out/digits.html" ||
  { echo "dlcc bench does not list the steps"; exit 1; }
"$dlcc" verify "$example/digits.onnx" "$example/test_data_set_0"
