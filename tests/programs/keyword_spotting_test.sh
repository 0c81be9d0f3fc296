#!/usr/bin/env bash
# examples/keyword_spotting on a Cortex-M4 and a Cortex-M7 that QEMU emulates: built by its Makefile and by CMake with the
# installed package, it recognizes the words that the evaluator of the operators' definitions finds, and needs the flash,
# the arena and the stack that `dlcc inspect` and the header tell. The object needs only memcpy and memset.
# keyword_spotting_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without a cross compiler or the emulator.
set -euo pipefail
build=$(dirname "$(realpath "$1")")
source "$(dirname "$0")/begin.sh"
skip_without arm-none-eabi-gcc qemu-system-arm make cmake python3
work=$PWD
cp -r "$source/examples" .
cd examples/keyword_spotting
words=(down go left no off on right stop up yes silence unknown)

# The words that the definitions of the operators find.
python3 make_model.py "$work/made"
for k in 0 1 2; do
  "$dlcc" run "$work/made/keywords.onnx" --input "features=$work/made/utterance_$k.npy" --interpret >scores.txt
  read -r class score < <(grep -oE -- '-?[0-9]+' scores.txt | tail -12 | awk '$1 > most || NR == 1 { most = $1; class = NR - 1 } END { print class, most }')
  echo "utterance $k: ${words[$class]}, $(((score + 128) * 100 / 256)) %"
done >expected.txt
[ "$(cut -d' ' -f3 expected.txt | sort -u | wc -l)" = 3 ] || fail "the utterances do not differ: $(cat expected.txt)"

inspected() {  # NAME: a number of bytes in the output of `dlcc inspect --json`, inspected.json
  sed -n "s/^ \"$1_bytes\": \([0-9]*\),*\$/\1/p" inspected.json
}

check_output() {  # NAME: of the program whose output is out.txt
  grep '^utterance' out.txt | diff expected.txt - || fail "$1: other words"
  read -r flash arena used stack < <(sed -n 's/^flash \([0-9]*\) bytes, arena \([0-9]*\) bytes, stack \([0-9]*\) of \([0-9]*\) bytes$/\1 \2 \3 \4/p' out.txt)
  [ "$arena" = "$(inspected arena)" ] || fail "$1: inspect tells an arena of $(inspected arena) bytes, not $arena"
  [ "$stack" = "$(inspected stack)" ] || fail "$1: inspect tells a stack of $(inspected stack) bytes, not $stack"
  [ "$used" -gt 0 ] && [ "$used" -le $((stack + 64)) ] || fail "$1: the model uses $used bytes of stack"
  echo "$1: $(tail -1 out.txt)"
}

for core in cortex-m4 cortex-m7; do
  make -s clean
  make -s CORE=$core DLCC="$dlcc" CFLAGS="-O2 -Wall -Wextra -Werror" keywords.elf >out.txt 2>&1 || fail "$core: no program: $(cat out.txt)"
  [ ! -s out.txt ] || fail "$core: the linker warns: $(cat out.txt)"
  "$dlcc" inspect keywords.onnx --target $core --json >inspected.json
  timeout 120 make -s CORE=$core run </dev/null >out.txt 2>&1 || fail "$core: the program fails: $(cat out.txt)"
  check_output $core

  # The program's flash is that of its sections, and the object's that of inspect.
  sections=$(arm-none-eabi-size -A keywords.elf | awk '$1 == ".flash" || $1 == ".data" { sum += $2 } END { print sum }')
  [ "$flash" = "$sections" ] || fail "$core: the flash is $sections, not $flash"
  object=$(arm-none-eabi-size keywords.o | awk 'NR == 2 { print $1 + $2 + $3 }')
  [ "$object" = "$(inspected flash)" ] || fail "$core: inspect tells a flash of $(inspected flash) bytes, and the object has $object"
  writable=$(arm-none-eabi-size keywords.o | awk 'NR == 2 { print $2 + $3 }')
  [ "$writable" = 0 ] || fail "$core: $writable bytes of writable data"
  ! arm-none-eabi-nm --undefined-only keywords.o | grep -vE ' U mem(cpy|set)$' || fail "$core: undefined symbols"

  echo '#include "keywords.h"' >alone.c
  arm-none-eabi-gcc -std=c99 -Wall -Wextra -pedantic -Werror -ffreestanding -mcpu=$core -mthumb -I. -c alone.c -o alone.o
done
make -s clean
rm alone.*

# With CMake, from the installed package.
cmake --install "$build" --strip --prefix "$work/prefix" >"$work/installed.txt"
for core in cortex-m4 cortex-m7; do
  cmake -S . -B $core --toolchain arm-none-eabi.cmake -DCORE=$core -DCMAKE_PREFIX_PATH="$work/prefix" >cmake.txt 2>&1 || fail "$(cat cmake.txt)"
  cmake --build $core >cmake.txt 2>&1 || fail "$(cat cmake.txt)"
  ! grep -i warning cmake.txt || fail "$core: warnings"
  timeout 120 cmake --build $core --target run </dev/null >run.txt 2>&1 || fail "$core: $(cat run.txt)"
  grep -E '^(utterance|flash) ' run.txt >out.txt
  "$dlcc" inspect $core/made/keywords.onnx --target $core --json >inspected.json
  check_output "$core with CMake"
done
