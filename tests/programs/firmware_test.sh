#!/usr/bin/env bash
# The digit classifier on microcontrollers: examples/firmware runs on QEMU's boards and recognizes its samples, and the
# model uses no more stack than its header says. The header and the runtime compile without a C library, and the objects
# leave nothing undefined that a freestanding program does not have.
# firmware_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without a cross compiler or the emulator.
set -euo pipefail
dlcc=$1 source=$2 work=$3
for tool in arm-none-eabi-gcc qemu-system-arm make; do
  command -v $tool > /dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
fail() { echo "$*"; exit 1; }
rm -rf "$work"
mkdir -p "$work"
cp -r "$source/examples" "$work/examples"
cd "$work/examples/firmware"

for file in model status weights; do
  arm-none-eabi-gcc -std=c99 -Wall -Wextra -pedantic -Werror -ffreestanding -mcpu=cortex-m0plus -mthumb -Os \
    -I"$source/runtime/include" -c "$source/runtime/src/$file.c" -o "$file.o"
done
text=$(arm-none-eabi-size model.o status.o weights.o | awk 'NR > 1 { sum += $1 } END { print sum }')
[ "$text" -le 2048 ] || fail "the runtime has $text bytes of code"
# Of the compiler's own functions, the runtime needs only products and shifts of 64-bit integers: no divisions, no floats.
! arm-none-eabi-nm --undefined-only model.o status.o weights.o | grep ' U ' | grep -vE ' (__aeabi_(lmul|llsl|llsr)|dlcc_.*)$' ||
  fail "the runtime needs other functions"

for core in cortex-m0plus cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55; do
  make -s clean
  make -s CORE=$core DLCC="$dlcc" CFLAGS="-O2 -Wall -Wextra -Werror" digits.elf > out 2>&1 || { cat out; fail "$core: no program"; }
  [ ! -s out ] || { cat out; fail "$core: the linker warns"; }
  timeout 120 make -s CORE=$core run < /dev/null > out 2>&1 || { cat out; fail "$core: the program fails"; }
  for digit in 0 1 2 3 4 5 6 7 8 9; do
    grep -q "^sample $digit: $digit, " out || fail "$core: sample $digit is not recognized: $(cat out)"
  done
  undefined=$(arm-none-eabi-nm --undefined-only digits.o | awk '{ print $2 }' | grep -vE '^mem(cpy|set)$' || true)
  case $core in
    cortex-m0plus|cortex-m3) undefined=$(grep -v '^__aeabi_' <<< "$undefined" || true) ;;
  esac
  [ -z "$undefined" ] || fail "$core: undefined: $undefined"
  writable=$(arm-none-eabi-size -A digits.o | awk '/^\.(data|bss)/ { sum += $2 } END { print sum + 0 }')
  [ "$writable" = 0 ] || fail "$core: $writable bytes of writable data"
  echo "$core: $(tail -1 out)"
done

# The self-test of the object on the device.
make -s clean
"$dlcc" ../digits/digits.onnx -o digits.o --target cortex-m4 --emit=obj,header,selftest
printf '#include "digits.h"\n#include "start.h"\nint digits_selftest(void);\nint main(void) { return digits_selftest() != 0; }\n' > test.c
arm-none-eabi-gcc -std=c11 -O2 -Wall -Wextra -Werror -ffreestanding -mthumb -mcpu=cortex-m4 -mfloat-abi=hard -I. -nostdlib -T board.ld \
  -include start.h -DDLCC_SELFTEST_PRINT=print -DDLCC_SELFTEST_NO_MAIN test.c start.c digits_selftest.c digits.o -lgcc -o digits.elf
timeout 120 make -s -o digits.elf CORE=cortex-m4 run < /dev/null > out 2>&1 && grep -q '^ok' out || fail "the self-test: $(cat out)"
echo "self-test: $(cat out)"

# The header compiles alone, and the model runs with both calling conventions for floats.
echo '#include "digits.h"' > alone.c
arm-none-eabi-gcc -std=c99 -Wall -Wextra -pedantic -Werror -ffreestanding -mcpu=cortex-m4 -mthumb -I. -c alone.c -o alone.o
make -s clean
make -s CORE=cortex-m4 DLCC="$dlcc" FLAGS_cortex-m4="-mcpu=cortex-m4 -mfloat-abi=softfp -mfpu=fpv4-sp-d16" run < /dev/null > out 2>&1
grep -q '^sample 7: 7, ' out || fail "softfp: $(cat out)"
echo "softfp: $(tail -1 out)"
