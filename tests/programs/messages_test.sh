#!/usr/bin/env bash
# Messages in a terminal and in files: repeated problems, source lines, colours, wrong kinds of files, CPU features.
# messages_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
source "$(dirname "$0")/begin.sh"
expect_text() {  # TEXT: the standard error of the last command
  [ "$(cat err.txt)" = "$1" ] || fail "'$(cat err.txt)' instead of '$1'"
}

echo "source lines, also of standard input and after a byte order mark"
printf '\xef\xbb\xbfdef @main(%%x: Tensor[(2), float32]) {\n\tnn.softmax(%%x, axis=9)\n}\n' > bad.rly
for file in bad.rly -; do
  expect_status 1 check $file < bad.rly
  expect_text "$([ $file = - ] && echo '<stdin>' || echo $file):2:2: error[bad-attribute]: nn.softmax: axis must be in [-1, 0], found 9
    2 |         nn.softmax(%x, axis=9)
      |         ^~~~~~~~~~
    data     %x           Tensor[(2), float32]
'dlcc explain bad-attribute' tells more"
done

echo "colours only on a terminal that has them, and only of the severity"
cp bad.rly 'error[1].rly'
on_terminal() {  # the escape sequences of a command on a terminal
  script -qec "$*" /dev/null < /dev/null | tr -d '\r' | grep -o $'\033\\[[0-9;]*m[^\033]*' || true
}
if command -v script > /dev/null; then
  check="'$dlcc' check 'error[1].rly'"
  [ "$(on_terminal "TERM=xterm NO_COLOR= $check" | head -1)" = $'\033[1;31merror' ] || fail "no colour on a terminal"
  [ "$(on_terminal "TERM=xterm NO_COLOR= $check" | grep -c 31m)" = 1 ] || fail "more than the severity has a colour"
  for setting in NO_COLOR=1 TERM=dumb TERM=; do
    [ -z "$(on_terminal "TERM=xterm; export TERM; $setting $check")" ] || fail "colours in spite of $setting"
  done
fi
expect_status 1 check 'error[1].rly'
! grep -q $'\033' err.txt || fail "colours in a pipe"

echo "wrong kinds of files"
gzip -c "$model" > model.onnx.gz
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' > pointer.onnx
printf '<!DOCTYPE html><html></html>' > page.onnx
while IFS='|' read -r file text; do
  expect_status 1 check $file
  grep -q "^$file: error\[wrong-kind-of-file\]: this is .*$text" err.txt && grep -q '    help: ' err.txt ||
    fail "$file: $(cat err.txt)"
done << END
model.onnx.gz|gzip
pointer.onnx|Git LFS
page.onnx|web page
END
expect_status 0 run "$model" --input "$data/input_0.pb" --output x.npy
cp x.npy x.pb
expect_status 1 run "$model" --input x.pb
expect_text "x.pb: error[wrong-kind-of-file]: this is an array of NumPy
    help: give it a name that ends in .npy"
expect_status 1 check x.npy
grep -q 'can be an input: dlcc run' err.txt || fail "an array as a model: $(cat err.txt)"
expect_status 1 check "$data/input_0.pb"
grep -q 'this is a tensor' err.txt || fail "a tensor as a model: $(cat err.txt)"

echo "only known CPU features"
for feature in +16bit-mode +retpoline +soft-float; do
  expect_status 2 "$model" -o m.o -mattr=$feature
  grep -q "has no CPU feature '${feature:1}'" err.txt || fail "$feature: $(cat err.txt)"
  [ "$(wc -l < err.txt)" = 2 ] || fail "a long list for an unknown feature"
done
expect_status 2 "$model" -o m.o -mcpu=haswel
expect_text "dlcc: error[unknown-target]: target x86-64 has no CPU 'haswel'
    help: did you mean 'haswell'? 'dlcc targets' lists the CPUs"

echo "the CPU of -mcpu=native"
if [ "$(uname -m)" = x86_64 ]; then
  expect_status 0 "$model" -o m.o -mcpu=native
  grep -aq 'mcpu=native ([a-z0-9._-]*)' m.o || fail "the object does not name the CPU"
  expect_status 0 "$model" -o m.o -mcpu=x86-64-v3
  grep -aq 'mcpu=x86-64-v3 -O' m.o || fail "another provenance of a named CPU"
fi

echo "warnings: printed, ignored, errors"
# Relu of x; the input mask is unused, and the output, computed as [2], is declared as [3].
base64 -d > warnings.onnx << END
CAg6RwoMCgF4EgF5IgRSZWx1EgFnWg8KAXgSCgoICAESBAoCCAJaEgoEbWFzaxIKCggIARIECgIIAmIPCgF5EgoKCAgBEgQKAggDQgQKABAR
END
expect_status 0 check warnings.onnx
[ "$(grep -c 'warning\[' err.txt)" = 2 ] || fail "no warnings: $(cat err.txt)"
expect_status 0 check warnings.onnx -w
expect_text ""
expect_status 0 warnings.onnx -o w.o
[ -e w.o ] || fail "a warning prevents the object"
rm w.o w.h
expect_status 1 warnings.onnx -o w.o -Werror
[ ! -e w.o ] && [ "$(grep -c 'error\[' err.txt)" = 2 ] || fail "-Werror: $(cat err.txt)"
expect_status 0 warnings.onnx -o w.o -Werror -w
expect_status 0 check warnings.onnx --diagnostics=json
[ "$(grep -c '"severity": "warning"' err.txt)" = 2 ] || fail "no warnings in JSON: $(cat err.txt)"
