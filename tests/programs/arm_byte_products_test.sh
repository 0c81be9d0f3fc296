#!/usr/bin/env bash
# A quantized network on microcontrollers with the DSP extension, and on AArch64 with dot products, gives the bits that
# it gives on x86: convolutions of all kinds, with and without padding and zero points, products, a residual addition,
# pooling. The products are smlad, vmladava, sdot and usdot. An object for all CPUs of AArch64 selects its code when it runs.
# arm_byte_products_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without a cross compiler or the
# emulator.
set -euo pipefail
source "$(dirname "$0")/begin.sh"
skip_without arm-linux-gnueabihf-gcc qemu-arm

cp "$source/tests/programs/quantized_network.rly" network.rly
# Sums of the largest products, of both signs: neighbouring bytes are -128, 127 and 255.
cat > extremes.rly <<'END'
def @main(%x: Tensor[(8, 64), uint8]) {
  let %data = cast(%x, dtype="int32");
  (nn.dense(%data, full(-128i32, shape=[24, 64])), nn.dense(%data, full(127i32, shape=[24, 64])))
}
END
python3 - <<'END'
import random, struct
random.seed(1)
with open("network.in", "wb") as file:
    for count in (3 * 12 * 13, 36):
        file.write(struct.pack("<q", count * 4))
        file.write(struct.pack(f"<{count}f", *(random.uniform(-3, 3) for _ in range(count))))
with open("extremes.in", "wb") as file:
    rows = [bytes(64), bytes([255] * 64), bytes([0, 255] * 32), bytes([0, 0, 255, 255] * 16), bytes([128] * 64)]
    data = b"".join(rows + [random.randbytes(64) for _ in range(3)])
    file.write(struct.pack("<q", len(data)) + data)
END

build() {  # MODEL TARGET COMPILER OPTION..: the program run
  "$dlcc" $1.rly -o $1.o --prefix m --target "$2" "${@:4}"
  case $2 in cortex-*) arm-linux-gnueabihf-objcopy --remove-section=.ARM.attributes $1.o ;; esac
  "$3" -std=gnu11 -static -O1 -Wl,-z,noexecstack -I"$source/runtime/include" -Wl,--defsym=model_to_run=m_model \
    "$source"/runtime/runner/{run_object,linux}.c $1.o -o run
}
run() {  # TARGET COMPILER EMULATOR OPTION..: the results of the network in network.TARGET
  build network "$1" "$2" "${@:4}"
  $3 ./run network.in "network.$1"
}
run x86-64 cc "" -mcpu=x86-64-v3
build extremes x86-64 cc -mcpu=x86-64-v3
./run extremes.in extremes.x86-64
for target in cortex-m4 cortex-m7 cortex-m33; do
  run $target arm-linux-gnueabihf-gcc qemu-arm
  cmp network.x86-64 network.$target
  "$dlcc" network.rly -o network.s --emit=asm --prefix m --target $target
  echo "$target: equal, $(grep -c smlad network.s) smlad"
  grep -q smlad network.s
done
run cortex-m4 arm-linux-gnueabihf-gcc qemu-arm -Os
cmp network.x86-64 network.cortex-m4
"$dlcc" network.rly -o network.s --emit=asm --prefix m --target cortex-m3
! grep smlad network.s

# Helium: the sums of sixteen products are exact, too. Its instructions run on a board only, and so do cores without the
# DSP extension here.
"$dlcc" network.rly -o network.s --emit=asm --prefix m --target cortex-m55
grep -q vmlava network.s
if command -v arm-none-eabi-gcc > /dev/null && command -v qemu-system-arm > /dev/null; then
  python3 - <<'END'
import struct
with open("network.in", "rb") as file:
    for name, shape in (("x", "1, 3, 12, 13"), ("v", "1, 36")):
        count, = struct.unpack("<q", file.read(8))
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}".ljust(117) + "\n"
        with open(f"{name}.npy", "wb") as array:
            array.write(b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + file.read(count))
END
  "$dlcc" run network.rly --input x.npy --input v.npy > of_x86.txt
  "$dlcc" run network.rly --input x.npy --input v.npy --target cortex-m55 --runner qemu-system-arm > of_m55.txt
  cmp of_x86.txt of_m55.txt
  echo "cortex-m55: equal, $(grep -c vmlava network.s) vmlava"
  # Without fused multiply-add, a mean of floats is rounded in another way, and so is what is computed from it.
  for target in cortex-m0plus cortex-m3; do
    "$dlcc" run network.rly --input x.npy --input v.npy --target $target --runner qemu-system-arm > of_$target.txt
    cmp <(grep -vE '^output2[12] ' of_x86.txt) <(grep -vE '^output2[12] ' of_$target.txt)
    echo "$target: equal"
  done
  if command -v riscv64-linux-gnu-gcc > /dev/null && command -v qemu-riscv64 > /dev/null; then
    "$dlcc" run network.rly --input x.npy --input v.npy --target riscv64 --runner qemu-riscv64 > of_riscv64.txt
    cmp of_x86.txt of_riscv64.txt
    echo "riscv64: equal"
  fi
fi
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
  command -v $tool > /dev/null || { echo "not on AArch64: $tool is not installed"; exit 0; }
done
for cpu in cortex-a76:sdot neoverse-n2:usdot; do
  run aarch64 aarch64-linux-gnu-gcc qemu-aarch64 -mcpu=${cpu%:*}
  cmp network.x86-64 network.aarch64
  "$dlcc" network.rly -o network.s --emit=asm --prefix m --target aarch64 -mcpu=${cpu%:*}
  echo "${cpu%:*}: equal, $(grep -cP "\t${cpu#*:}\t" network.s) ${cpu#*:}"
  grep -qP "\t${cpu#*:}\t" network.s
done

# ---- several levels in one object

functions_with() {  # MODEL INSTRUCTION: the names of the functions of MODEL.o that have the instruction
  aarch64-linux-gnu-objdump -d $1.o | awk -v wanted=$2 '/^[0-9a-f]+ <.*>:$/ { name = $2 } $3 == wanted { print name }' |
    sort -u
}

# Which of the extensions the emulated CPU says that it has.
cat > extensions.c <<'END'
#include <stdio.h>
int main(void) {
  unsigned long first, second;
  __asm__("mrs %0, ID_AA64ISAR0_EL1" : "=r"(first));
  __asm__("mrs %0, ID_AA64ISAR1_EL1" : "=r"(second));
  printf("%s%s", first >> 44 & 15 ? "dotprod " : "", second >> 52 & 15 ? "i8mm" : "");
  return 0;
}
END
aarch64-linux-gnu-gcc -static extensions.c -o extensions
[ -z "$(qemu-aarch64 -cpu cortex-a57 ./extensions)" ] || fail "this emulator's Cortex-A57 has dot products"
[ "$(qemu-aarch64 -cpu cortex-a76 ./extensions)" = "dotprod " ] || fail "this emulator's Cortex-A76 has other extensions"
largest=$(qemu-aarch64 -cpu max ./extensions)
case $largest in *i8mm) ;; *) echo "i8mm is not tested: this emulator hides it from programs" ;; esac

check_levels() {  # LEVELS CPU:CODE..: on each CPU, the code of the level CODE runs, or else that of the first level
  local levels=$1 cpu code found other model
  for model in network extremes; do
    build $model aarch64 aarch64-linux-gnu-gcc ${levels:+-mcpu=$levels}
    ! aarch64-linux-gnu-nm --undefined-only $model.o | grep -vE ' (memcpy|memset)$' || fail "undefined symbols of $levels"
    for found in sdot:dotprod usdot:i8mm; do
      ! functions_with $model ${found%:*} | grep -v "_generic_${found#*:}" || fail "$found in code for other CPUs"
    done
    for cpu in "${@:2}"; do
      code=${cpu#*:} cpu=${cpu%:*}
      qemu-aarch64 -cpu $cpu -d in_asm -D translated ./run $model.in $model.aarch64
      cmp $model.x86-64 $model.aarch64
      for other in dotprod i8mm; do
        found=$(grep -c "^IN: m_k[0-9]*_generic_$other" translated || true)
        [ $other = $code ] && [ $found = 0 ] && fail "$levels on $cpu: no code for $other ran"
        [ $other != $code ] && [ $found != 0 ] && fail "$levels on $cpu: code for $other ran"
      done
    done
    echo "${levels:-default}: $model is equal on ${*:2}"
  done
}
check_levels "" cortex-a57:none cortex-a76:dotprod max:dotprod
for found in network extremes; do
  [ -n "$(functions_with $found sdot)" ] || fail "no dot products in the default object of $found"
done
check_levels generic,generic+dotprod cortex-a57:none cortex-a76:dotprod max:dotprod
case $largest in *i8mm)
  check_levels generic,generic+i8mm cortex-a57:none cortex-a76:none max:i8mm
  check_levels generic+i8mm,generic+dotprod,generic cortex-a57:none cortex-a76:dotprod max:i8mm ;;
esac

# One level, and networks without products of bytes, need no registers that programs may not read.
for cpu in generic generic+dotprod cortex-a76; do
  "$dlcc" network.rly -o network.o --prefix m --target aarch64 -mcpu=$cpu
  [ -z "$(functions_with network mrs)" ] || fail "an object with one level reads registers: $cpu"
done
"$dlcc" "$model" -o network.o --prefix m --target aarch64
[ -z "$(functions_with network mrs)" ] || fail "a network of floats reads registers"
! aarch64-linux-gnu-nm network.o | grep dotprod || fail "a network of floats has code for dot products"
