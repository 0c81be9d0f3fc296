#!/usr/bin/env bash
# Models for RISC-V: 64 bits under Linux, and 32-bit microcontrollers with and without an FPU, whose self-tests run on an
# emulated board.
# riscv_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without a cross compiler or an emulator.
set -euo pipefail
source "$(dirname "$0")/begin.sh"
skip_without riscv64-linux-gnu-gcc qemu-riscv64 riscv64-unknown-elf-gcc qemu-system-riscv32
[ -e "$(riscv64-unknown-elf-gcc -print-file-name=picolibc.specs)" ] || { echo "skipped: picolibc is not installed"; exit 77; }
cat >types.rly <<'END'
def @main(%x: Tensor[(3, 5), float16], %y: Tensor[(3, 5), int8], %z: Tensor[(7), float64], %b: Tensor[(4), bool]) {
  (exp(%x), add(%y, %y), sqrt(exp(%z)), logical_not(%b), cast(%x, dtype="bfloat16"), round(%z), floor(cast(%x, dtype="float32")), round(cast(%x, dtype="float32")),
   cast(%y, dtype="int64") * 12345678901i64)
}
END

linux=(--target riscv64 --runner qemu-riscv64)
expect_status 0 verify "$model" "$data" --layers "${linux[@]}"
source "$source/tests/programs/sizes_on_targets.sh"
check_sizes_on riscv64 qemu-riscv64
expect_status 0 types.rly -o types.o --target riscv64 --threads 2 -g --emit=obj,header,selftest
riscv64-linux-gnu-gcc -std=c11 -static -O1 -I"$source/runtime/include" types_selftest.c types.o "$source"/runtime/src/*.c \
  -lpthread -o types
qemu-riscv64 ./types >out.txt || fail "types.rly on riscv64: $(cat out.txt)"
for feature in $("$dlcc" targets --features | sed -n '/^riscv64/,/^riscv32/p' | grep -oE '\bz[a-z]+\b' | sort -u); do
  expect_status 0 types.rly -o feature.o --prefix types --target riscv64 -mattr=+$feature
done
echo "riscv64"

# Memories of QEMU's board `virt`, in the names of picolibc's linker script.
memories=(-Wl,--defsym=__flash=0x80000000 -Wl,--defsym=__flash_size=8M -Wl,--defsym=__ram=0x80800000
  -Wl,--defsym=__ram_size=32M -Wl,--defsym=__stack_size=64k)
for variant in rv32imac:ilp32 rv32imafc:ilp32f rv32im:ilp32; do
  cpu=${variant%:*}
  for program in "$model" types.rly; do
    name=$(basename "${program%.*}")_$cpu
    expect_status 0 "$program" -o "$name.o" --target riscv32 -mcpu="$cpu" --emit=obj,header,selftest
    ! nm --undefined-only "$name.o" | grep -vE ' (__[a-z0-9]*|memcpy|memset)$' || fail "$name needs a library"
    riscv64-unknown-elf-gcc --specs=picolibc.specs --oslib=semihost --crt0=hosted -march="$cpu" -mabi="${variant#*:}" \
      "${memories[@]}" -std=c99 -O1 "${name}_selftest.c" "$name.o" -o "$name.elf"
    timeout 100 qemu-system-riscv32 -M virt -bios none -display none -monitor none -serial none \
      -semihosting-config enable=on,target=native -kernel "$name.elf" >out.txt 2>&1 </dev/null || fail "$name: $(cat out.txt)"
    [ "$(cat out.txt)" = ok ] || fail "$name prints $(cat out.txt)"
  done
  echo "riscv32 with $cpu"
done
expect_status 1 verify "$model" "$data" --target riscv32 --runner qemu-riscv32
grep -q 'there is no C compiler for riscv32 under Linux' err.txt || fail "$(cat err.txt)"
