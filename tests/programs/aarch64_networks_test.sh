#!/usr/bin/env bash
# SqueezeNet, its weights as inputs, gives under AArch64 emulation what it gives on this machine.
# aarch64_networks_test.sh DLCC SOURCE_FOLDER WORK_FOLDER DATA_FOLDER; exit status 77 (skipped) without tools or data.
set -euo pipefail
dlcc=$1 source=$2 work=$3 model=${4:-}/relay/models/squeezenet_v1.1.relay
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $tool > /dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
[ -f "$model" ] || { echo "skipped: DLCC_TEST_DATA has no relay/models"; exit 77; }
build() {  # FOLDER COMPILER TARGET
  mkdir -p "$1"
  "$dlcc" "$model" -o "$1/model.o" --target "$3"
  "$2" -std=c11 -static -O2 -Wall -Wextra -Werror -I"$1" "$source/tests/programs/run_model.c" "$1/model.o" -lm -o "$1/run"
}
build "$work/host" gcc x86-64
build "$work/aarch64" aarch64-linux-gnu-gcc aarch64
"$work/host/run" > "$work/expected"
qemu-aarch64 "$work/aarch64/run" "$work/expected"
