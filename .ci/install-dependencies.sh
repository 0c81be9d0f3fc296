#!/usr/bin/env bash
# Installs the Debian 12 packages that are missing. Needs root or sudo only if a package is missing.
#
#   install-dependencies.sh          to build dlcc and link compiled models
#   install-dependencies.sh tests    also to run the tests
set -euo pipefail

packages=(cmake ninja-build g++
  llvm-19-dev zlib1g-dev libzstd-dev            # code generation
  libprotobuf-dev protobuf-compiler libonnx-dev # reading ONNX: the schema is /usr/include/onnx/onnx.proto
  libcli11-dev libfmt-dev nlohmann-json3-dev    # command line, text, JSON
  libzip-dev                                    # archives of tensors
  libmimalloc-dev                               # a fast malloc
  doctest-dev)
if [ "${1:-}" = tests ]; then
  packages+=(python3                                                  # some test programs
    libonnx-testdata                                                  # ONNX's operator tests
    make pkg-config                                                   # to use an installed dlcc
    qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross             # to run AArch64 objects
    gcc-arm-linux-gnueabihf libc6-dev-armhf-cross                     # ARMv7-A
    gcc-arm-none-eabi qemu-system-arm                                 # microcontrollers
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross                     # RISC-V
    gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc)
fi

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "these packages are missing, and there is no sudo: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
