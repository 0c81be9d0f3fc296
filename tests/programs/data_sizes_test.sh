#!/usr/bin/env bash
# Results whose sizes data decide: a C program (data_sizes.c), `run`, `inspect`, and no size that is not known.
# data_sizes_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
source "$(dirname "$0")/begin.sh"

net=$source/tests/programs/data_sizes.rly
expect_status 0 "$net" -o net.o
cc=(gcc -std=c11 -Wall -Wextra -pedantic -Wconversion -Werror -I. -I"$source/runtime/include")
"${cc[@]}" "$source/tests/programs/data_sizes.c" net.o "$source"/runtime/src/{model,status}.c -o program
./program || fail "the program in C"

expect_status 0 inspect "$net" --prefix=net --json
grep -A2 '"shape": \[' out.txt | grep -q '"?1"' || fail "inspect does not show a size that data decide: $(cat out.txt)"

# A number that only an input gives has no bound.
cat >unknown.rly <<'END'
def @main(%n: Tensor[(1), int64]) -> Tensor[(?), float32] { full(1f, %n) }
END
expect_status 1 unknown.rly -o unknown.o
grep -q 'does not follow from the sizes of the inputs' err.txt || fail "$(cat err.txt)"
[ ! -e unknown.o ] || fail "a half-written object"
