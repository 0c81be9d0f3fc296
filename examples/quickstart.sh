#!/usr/bin/env bash
# From a bare Debian 12 to a running model: installs the packages that are missing, builds dlcc, compiles the digit
# classifier, links it with examples/digits/main.c and classifies an image. Arguments are passed to that program.
set -euo pipefail
[ $# -gt 0 ] && [ -f "$1" ] && set -- "$(realpath "$1")"
cd "$(dirname "$0")/.."
bash .ci/install-dependencies.sh
cmake --preset release
cmake --build --preset release --target dlcc dlcc_rt

out=build/quickstart
mkdir -p $out
set -x
build/release/dlcc examples/digits/digits.onnx -o $out/digits.o
gcc -std=c11 -O2 -Wall -Wextra -pedantic -I$out examples/digits/main.c $out/digits.o -Lbuild/release -ldlcc_rt -o $out/digits
$out/digits "${@:-examples/digits/sheared_4.pgm}"
