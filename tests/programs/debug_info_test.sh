#!/usr/bin/env bash
# With -g a debugger names kernels and shows lines of the scheduled program; the code is the same as without -g.
# debug_info_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$(realpath "$1") example=$(realpath "$2")/examples/digits work=$3
rm -rf "$work"
mkdir -p "$work/plain" "$work/debug"
cd "$work"
fail() {
  echo "$1"
  exit 1
}
"$dlcc" "$example/digits.onnx" -o plain/digits.o --emit=obj,header,tensor
"$dlcc" "$example/digits.onnx" -o debug/digits.o -g
cmp plain/digits.tensor debug/digits.tensor
cmp plain/digits.h debug/digits.h
instructions() { objdump -d --no-show-raw-insn "$1" | grep -P '^ +[0-9a-f]+:\t' | sed 's/<[^>]*>//; s/# .*//'; }
cmp <(instructions plain/digits.o) <(instructions debug/digits.o) || fail "-g changes the code"
! readelf -SW plain/digits.o | grep '\.debug' || fail "debug information without -g"
! readelf --debug-dump=info debug/digits.o | grep -E 'DW_AT_comp_dir|DW_AT_name.*/' || fail "the object names a folder"
echo "the same code, with and without"

for dwarfdump in llvm-dwarfdump-19 /usr/lib/llvm-19/bin/llvm-dwarfdump llvm-dwarfdump; do
  command -v "$dwarfdump" > /dev/null || continue
  "$dwarfdump" --verify debug/digits.o > verify.txt || fail "llvm-dwarfdump finds errors: $(tail verify.txt)"
  break
done
gcc -std=c11 -O2 -Wall -Wextra -pedantic -Werror -Idebug "$example/main.c" debug/digits.o -o digits
lines_of() { grep -n "$1" debug/digits.tensor | cut -d: -f1 | xargs; }
declared() { readelf --debug-dump=info debug/digits.o | grep -A4 "DW_AT_name .* $1\$" | sed -n 's/.*DW_AT_decl_line *: //p' | xargs; }
for function in fused_softmax fused_matmul_bias_add; do  # one for all CPU levels, one for each
  wanted=$(lines_of "^kernel @$function(.*{\$")
  [ "$(declared $function)" = "$wanted" ] || fail "$function is at '$(declared $function)' instead of '$wanted'"
done
[ "$(declared digits_run)" = "$(lines_of '^run {')" ] || fail "digits_run is at '$(declared digits_run)'"
nm digits | grep digits_k8_fused_softmax_x86_64_v3 > symbol.txt || fail "a kernel's symbol does not name it"
# Every call of the network and every store of its kernels has code; lines that only close a block have none.
objdump -dl digits | sed -n 's/^digits.tensor:\([0-9]*\).*/\1/p' | sort -nu > lines.txt
wanted=$(lines_of '# node .softmax')
grep -qx "$wanted" lines.txt || fail "no code is at line $wanted, the call of softmax"
sed -n "$(sed 's/$/p/' lines.txt)" debug/digits.tensor > code.txt
! grep -nE '^ *}$' code.txt || fail "a closing brace has code"
stores=$(grep -cE '^ +(result|padded)[[].* = ' debug/digits.tensor) found=$(grep -cE '^ +(result|padded)[[].* = ' code.txt)
[ "$found" = "$stores" ] || fail "$found of $stores stores have code"
echo "names and lines"

command -v gdb > /dev/null || { echo "not run in a debugger: gdb is not installed"; exit 0; }
gdb -nx -batch -iex 'set debuginfod enabled off' -d debug -ex 'break fused_softmax' -ex 'run' -ex 'backtrace' -ex 'up' digits \
  > gdb.txt 2>&1 || fail "$(cat gdb.txt)"
grep -q '^#0 .*fused_softmax .* at .*digits.tensor:' gdb.txt && grep -q '^#1 .*digits_run_.* digits.tensor' gdb.txt &&
  grep -q "# node 'softmax' (Softmax)" gdb.txt || fail "gdb does not show the line of the program: $(cat gdb.txt)"
echo "in a debugger"
