#!/usr/bin/env bash
# The same model and flags give the same bytes: from two folders, under two locales, with one and two compiler threads, with and
# without address randomisation. determinism_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$(realpath "$1") model=$(realpath "$2")/examples/digits/digits.onnx work=$3
rm -rf "$work"
mkdir -p "$work/one" "$work/another folder"
cp "$model" "$work/one/digits.onnx"
cp "$model" "$work/another folder/digits.onnx"
cd "$work/one"
LC_ALL=C "$dlcc" digits.onnx -o digits.o -j1
cp digits.o reference.o
cp digits.h reference.h
same() {
  cmp "$1" "$work/one/reference.o" && cmp "${1%.o}.h" "$work/one/reference.h" && echo "same bytes: $2"
}
"$dlcc" digits.onnx -o digits.o -j2
same "$PWD/digits.o" "two threads"
"$dlcc" digits.onnx -o digits.o -j16
same "$PWD/digits.o" "sixteen threads"
LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 "$dlcc" digits.onnx -o digits.o
same "$PWD/digits.o" "another locale"
setarch -R "$dlcc" digits.onnx -o digits.o
same "$PWD/digits.o" "without address randomisation"
cd "$work/another folder"
"$dlcc" "$PWD/digits.onnx" -o digits.o
same "$PWD/digits.o" "another folder"
"$dlcc" - -o digits.o < digits.onnx
same "$PWD/digits.o" "from standard input"
