#!/usr/bin/env bash
# One object at many sizes: in a C program (symbolic_sizes.c), and in `run`, `verify`, `bench` and `inspect`.
# symbolic_sizes_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
source "$(dirname "$0")/begin.sh"

net=$source/tests/programs/symbolic_sizes.rly
sizes=(--dim n=1..64 --dim m=8..:8)
expect_status 0 "$net" -o net.o "${sizes[@]}"
cc=(gcc -std=c11 -Wall -Wextra -pedantic -Wconversion -Werror -I. -I"$source/runtime/include")
"${cc[@]}" "$source/tests/programs/symbolic_sizes.c" net.o "$source"/runtime/src/{model,status}.c -o program
./program || fail "the program in C"
if gcc -fsanitize=address -x c - -o probe <<<'int main(void) { return 0; }' 2>/dev/null && ./probe; then
  "${cc[@]}" -g -fsanitize=address "$source/tests/programs/symbolic_sizes.c" net.o "$source"/runtime/src/{model,status}.c \
    -o checked
  ./checked || fail "the program in C under AddressSanitizer"
fi

command -v python3 >/dev/null || { echo "without Python"; exit 0; }
expect_status 0 inspect "$net" "${sizes[@]}" --prefix=net --json
python3 - <<'END'
import json

net = json.load(open("out.txt"))
assert net["dynamic"] is True and net["arena_bytes"] is None, net
assert net["dims"] == [
    {"name": "n", "identifier": "n", "low": 1, "high": 64, "multiple": 1},
    {"name": "m", "identifier": "m", "low": 8, "high": None, "multiple": 8},
], net["dims"]
assert [t["shape"] for t in net["inputs"]] == [["n", 16], ["m", 16]], net["inputs"]
assert [t["decides_sizes"] for t in net["inputs"]] == [False, False]
assert [t["shape"] for t in net["outputs"]] == [["n", "n"], ["n", 16]], net["outputs"]
END
# Each data set has its own sizes.
python3 - <<'END'
import os
import struct


def save(path, rows):
    """Writes a matrix of float32 as .npy (format 1.0)."""
    shape = (len(rows), len(rows[0]))
    header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            file.write(struct.pack("<%df" % len(row), *row))


for folder, n, m in ("small", 1, 8), ("large", 64, 264):
    x = [[(16 * i + k) % 7 - 3 for k in range(16)] for i in range(n)]
    w = [[(16 * j + k) % 5 - 2 for k in range(16)] for j in range(m)]
    os.mkdir(folder)
    save(folder + "/input_0.npy", x)
    save(folder + "/input_1.npy", w)
    t = [[sum(a * b for a, b in zip(p, q)) for q in w] for p in x]
    save(folder + "/output_0.npy", [[sum(a * b for a, b in zip(p, q)) for q in t] for p in t])
    save(folder + "/output_1.npy", [[max(a, 0) for a in p] for p in x])
save("w_12.npy", [[0] * 16] * 12)
END
for engine in object schedules definitions; do
  expect_status 0 verify "$net" "${sizes[@]}" --engine=$engine small large
  [ "$(cut -d' ' -f1,2 out.txt)" = $'ok small\nok large' ] || fail "$engine: $(cat out.txt)"
done
expect_status 0 verify "$net" "${sizes[@]}" --layers small large
expect_status 0 run "$net" "${sizes[@]}" --input large/input_0.npy --input small/input_1.npy
grep -q '^y float32 (64, 64): ' out.txt || fail "no y of 64 x 64: $(cat out.txt)"
expect_status 1 run "$net" "${sizes[@]}" --input small/input_0.npy --input w_12.npy
grep -q "error\[bad-data\]: axis 0 of input 'w' is 12, but it is declared as m, where m is at least 8" err.txt || fail "$(cat err.txt)"
expect_status 0 run "$net" --input small/input_0.npy --input w_12.npy # without --dim, any size is allowed

expect_status 0 bench "$net" "${sizes[@]}" --runs 3 --size n=8 --size m=16 --layers
expect_status 0 bench "$net" "${sizes[@]}" --runs 4 --size n=5 --html page.html --report report.json
python3 "$source/tests/programs/check_report.py" page.html report.json measured
expect_status 0 bench "$net" --dim n=8 --dim m=16 --runs 3
expect_status 2 bench "$net" "${sizes[@]}" --runs 3 --size n=65 --size m=16
grep -q -- '--size n=65: the size must be in \[1, 64\]' err.txt || fail "$(cat err.txt)"

# Sizes of 0: a recurrent layer without time steps, without a batch, without both.
python3 - <<'END'
import struct


def halves(name, *shape):
    """Writes a tensor whose elements are 0.5."""
    header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    count = 1
    for size in shape:
        count *= size
    with open(name + ".npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<f", 0.5) * count)


for s, b in (0, 2), (3, 0), (0, 0), (3, 2):
    halves(f"x_{s}_{b}", s, b, 4)
for rows in 0, 1, 3:
    halves(f"rows_{rows}", rows, 4)
for pixels in 2, 4, 5:
    halves(f"image_{pixels}", 1, 1, pixels, 5)
END
for dims in "--dim s=0.. --dim b=0.." "--dim s=0..3 --dim b=0..2"; do
  for at in 0_2 3_0 0_0 3_2; do
    expect_status 0 run "$source/tests/programs/recurrent.rly" $dims --input x_$at.npy
    shape=${at//_/, }
    grep -q "^output0 float32 ($shape, 4)" out.txt || fail "$dims: $(cat out.txt)"
    grep -q "^output1 float32 (${shape#*, }, 4)" out.txt || fail "$dims: $(cat out.txt)"
    [ $at != 0_2 ] || grep -q "^output1 float32 (2, 4): 1 1 1 1 1 1 1 1$" out.txt || fail "$dims: $(cat out.txt)"
  done
done

# The message about a wrong shape has the caller's names of the sizes.
expect_status 1 run "$net" "${sizes[@]}" --input small/input_0.npy --input x_3_2.npy
grep -q "input 'w' is float32 (3, 2, 4), the model has float32 (m, 16)$" err.txt || fail "$(cat err.txt)"

# bench makes random inputs; inputs on which sizes depend are given as data.
decided=$source/tests/programs/input_sizes.rly
expect_status 1 bench "$decided" --runs 2 --size n=8
grep -q "give indices and what decides sizes as data: --input NAME=FILE.npy" err.txt || fail "$(cat err.txt)"
for values in "shape 4,8" "reps 3"; do
  read -r name list <<<"$values"
  echo "def @main() { cast(concatenate((\
    $(for k in ${list//,/ }; do printf 'full(%s.0f, shape=[1]),' $k; done)), axis=0), dtype=\"int64\") }" >$name.rly
  expect_status 0 run $name.rly --output $name.npy
done
expect_status 0 bench "$decided" --runs 2 --size n=8 --input shape=shape.npy --input reps=reps.npy
grep -q "^n=8: 2 runs" out.txt || fail "$(cat out.txt)"

# The sizes of a measurement are those of the data.
echo 'def @main(%x: Tensor[(a, 4), float32], %y: Tensor[(b, 4), float32], %z: Tensor[(a), float32]) {
  (%x + 1.0f, %y, %z) }' >measured.rly
expect_status 0 bench measured.rly --runs 2 --size b=5 --input x=rows_3.npy
grep -q "^a=3 b=5: 2 runs" out.txt || fail "$(cat out.txt)"
expect_status 2 bench measured.rly --runs 2 --size a=5 --input x=rows_3.npy
grep -q "axis 0 of input 'x' gives a = 3, but a is 5" err.txt || fail "$(cat err.txt)"

# Two sizes that broadcast to each other, also to no rows.
echo 'def @main(%x: Tensor[(a, 4), float32], %y: Tensor[(b, 4), float32]) { %x + %y }' >sum.rly
for dims in "--dim a=0.. --dim b=0.." "--dim a=0..4 --dim b=0..3"; do
  for rows in "0 1 0" "1 0 0" "0 0 0" "1 3 3" "3 1 3" "3 3 3"; do
    read -r a b sum <<<"$rows"
    expect_status 0 run sum.rly $dims --input rows_$a.npy --input rows_$b.npy
    grep -q "^output0 float32 ($sum, 4):$([ $sum = 0 ] || echo ' 1 1 1 1')" out.txt || fail "$rows: $(cat out.txt)"
  done
  expect_status 1 run sum.rly $dims --input rows_0.npy --input rows_3.npy
  grep -q "status 7" err.txt || fail "$(cat err.txt)"
done

# Heights that are smaller than a window are out of bounds. A window that is larger than an image of two heights is
# refused before anything runs.
for operator in "nn.conv2d(%x, ones(shape=[1, 1, 5, 5], dtype=\"float32\"))" "nn.max_pool2d(%x, pool_size=[5, 5])"; do
  echo "def @main(%x: Tensor[(1, 1, h, 5), float32]) { $operator }" >window.rly
  expect_status 0 run window.rly --input image_5.npy
  for pixels in 2 4; do
    expect_status 1 run window.rly --input image_$pixels.npy
    grep -q "declared as h, where h is at least 5" err.txt || fail "$operator: $(cat err.txt)"
  done
done
echo "def @main(%x: Tensor[(1, 1, a, 5), float32], %y: Tensor[(1, 1, b, 5), float32]) {
  nn.max_pool2d(concatenate((%x, %y), axis=2), pool_size=[7, 5]) }" >window.rly
expect_status 0 run window.rly --input image_2.npy --input image_5.npy
expect_status 1 run window.rly --input image_2.npy --input image_4.npy
grep -q "status 8" err.txt || fail "$(cat err.txt)"
expect_status 1 window.rly --dim a=1..2 --dim b=1..4 -o window.o
