#!/usr/bin/env bash
# Networks with random weights, compiled for AArch64 and run under emulation, give the results of their definitions.
# aarch64_networks_test.sh DLCC SOURCE_FOLDER WORK_FOLDER NETWORKS_FOLDER; exit status 77 (skipped) without the tools.
set -euo pipefail
dlcc=$1 source=$2 work=$3 networks=$4
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $tool > /dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
mkdir -p "$work"
check() {  # NETWORK FLAGS..
  "$dlcc" "$1/model.rly" -o "$work/model.o" --target aarch64 "${@:2}"
  aarch64-linux-gnu-gcc -std=c11 -static -O2 -Wall -Wextra -Werror -I"$work" "$source/tests/programs/run_model.c" \
    "$work/model.o" -lm -o "$work/run"
  echo "${1##*/} ${*:2}"
  qemu-aarch64 "$work/run" "$1/input.bin" "$1/expected.bin"
}
for network in "$networks"/*; do
  check "$network"
  check "$network" --accuracy=strict
done
