#!/usr/bin/env bash
# --emit=selftest: the C program finds an object right, and an object with other results wrong.
# selftest_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$1 source=$2 work=$3
fail() { echo "$*"; exit 1; }
rm -rf "$work"
mkdir -p "$work"
cd "$work"

cat > types.rly <<'E2'
def @main(%x: Tensor[(3, 5), float16], %y: Tensor[(3, 5), int8], %z: Tensor[(7), float64], %b: Tensor[(4), bool]) {
  (exp(%x), add(%y, %y), sqrt(exp(%z)), logical_not(%b), cast(%x, dtype="bfloat16"), cast(%y, dtype="int64"),
   cast(%y, dtype="int4"))
}
E2
cat > sizes.rly <<'E2'
def @main(%x: Tensor[(n, 3), float32]) { nn.softmax(nn.relu(%x)) }
E2
cp "$source/examples/digits/digits.onnx" .
check() {  # MODEL [OPTION...]: its self-test passes
  local model=$1 name=${1%%.*}
  shift
  "$dlcc" "$model" -o "$name.o" --emit=obj,header,selftest "$@"
  cc -std=c99 -Wall -Wextra -pedantic -Werror -O1 "${name}_selftest.c" "$name.o" -o "$name"
  "./$name" > out || fail "$name: $(cat out)"
  [ "$(cat out)" = ok ] || fail "$name prints $(cat out)"
  echo "$name: ok"
}
check digits.onnx
check types.rly
check sizes.rly --dim n=1..100

# Another model with the same interface has other results.
sed 's/add(%y, %y)/subtract(%y, %y)/; s/exp(%x)/negative(%x)/' types.rly > wrong.rly
"$dlcc" wrong.rly -o wrong.o --prefix types
cc -std=c99 -O1 types_selftest.c wrong.o -o wrong
status=0
./wrong > out || status=$?
[ $status = 1 ] && [ "$(grep -c '^output .* element' out)" = 2 ] || fail "wrong results are not found: $status $(cat out)"
echo "wrong results: $(head -1 out)"

# No program is written for models with data-dependent sizes or a file of weights, or over a file that is not dlcc's.
cp "$source/tests/programs/data_sizes.rly" data.rly
for options in "data.rly -o data.o" "digits.onnx -o digits.o --weights external=w"; do
  status=0
  # shellcheck disable=SC2086
  "$dlcc" $options --emit=selftest 2> err || status=$?
  [ $status = 2 ] && grep -q 'emit=selftest' err || fail "$options: $status $(cat err)"
done
echo 'int main(void) { return 0; }' > digits_selftest.c
! "$dlcc" digits.onnx -o digits.o --emit=selftest 2> err || fail "a file that is not dlcc's was overwritten"
grep -q 'the self-test of the object would overwrite' err || fail "$(cat err)"
echo "refused"
