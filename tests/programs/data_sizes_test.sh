#!/usr/bin/env bash
# Data-dependent sizes and sizes computed from inputs: C programs (data_sizes.c, counted_rows.c, input_sizes.c),
# `inspect`, and the error for a data-dependent size without a bound.
# data_sizes_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
source "$(dirname "$0")/begin.sh"

net=$source/tests/programs/data_sizes.rly
expect_status 0 "$net" -o net.o
cc=(gcc -std=c11 -Wall -Wextra -pedantic -Wconversion -Werror -I. -I"$source/runtime/include")
"${cc[@]}" "$source/tests/programs/data_sizes.c" net.o "$source"/runtime/src/{model,status}.c -o program
./program || fail "the program in C"

expect_status 0 inspect "$net" --prefix=net --json
grep -A2 '"shape": \[' out.txt | grep -q '"?1"' || fail "inspect does not show a data-dependent size: $(cat out.txt)"

# Scan outputs of a loop whose number of iterations depends on data: a C program.
expect_status 0 "$source/tests/programs/counted_rows.rly" -o net.o
"${cc[@]}" "$source/tests/programs/counted_rows.c" net.o "$source"/runtime/src/{model,status}.c -o counted_rows
./counted_rows || fail "the program in C with rows that a loop counts"

# Sizes computed from elements of inputs: a C program, `inspect`.
expect_status 0 "$source/tests/programs/input_sizes.rly" -o net.o
"${cc[@]}" "$source/tests/programs/input_sizes.c" net.o "$source"/runtime/src/{model,status}.c -o input_sizes
./input_sizes || fail "the program in C with sizes computed from inputs"
grep -q 'decides sizes' net.h || fail "the header does not mark the inputs on which sizes depend"
expect_status 0 inspect "$source/tests/programs/input_sizes.rly" --json
[ "$(grep -c '"decides_sizes": true' out.txt)" = 2 ] || fail "inspect: $(cat out.txt)"

# A computed size is described by elements and by sizes as the caller gives them, also where these have a multiple.
cat >split.rly <<'END'
def @main(%x: Tensor[(batch, seq, 4), float32], %sizes: Tensor[(2), int64]) {
  reshape(%x, concatenate((%sizes, full(4i64, shape=[1]))))
}
END
expect_status 0 inspect split.rly --dim seq=8..512:8
grep -q 'size(sizes\[0\], batch, sizes\[1\], seq)' out.txt || fail "inspect: $(cat out.txt)"

# A size computed from many elements has no bound.
cat >unknown.rly <<'END'
def @main(%x: Tensor[(1000), float32]) -> Tensor[(?), float32] {
  full(1f, reshape(cast(sum(%x), dtype="int64"), newshape=[1]))
}
END
expect_status 1 unknown.rly -o unknown.o
grep -q "unknown.rly:2:.*the dimension '?1' of .* depends on data, and nothing bounds it" err.txt || fail "$(cat err.txt)"
[ ! -e unknown.o ] || fail "a half-written object"
