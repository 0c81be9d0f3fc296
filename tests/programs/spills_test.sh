#!/usr/bin/env bash
# Searches the assembly of kernels for spills. In the kernels of common layers, of the digit classifier and of the networks of
# DATA_FOLDER, no vector register is spilled, and innermost multiply-add loops reload nothing. In large kernels, whose loop
# nests may be outlined, no loop spills anything. For AArch64 and x86-64-v2, only spills in innermost multiply-add loops are
# refused, and not in loops of epilogues, which have divisions or extrema. Products of bytes on AArch64 are multiply-adds,
# too.
# spills_test.sh DLCC SOURCE_FOLDER WORK_FOLDER [DATA_FOLDER]
set -euo pipefail
dlcc=$1 source=$2 out=$3 data=${4:-}
mkdir -p "$out"
checked=0
check() {  # MODEL 0|1|innermost FLAGS..; 1: large kernels
  "$dlcc" "$1" --emit=asm -o "$out/model.s" --prefix=m "${@:3}"
  grep -qE 'vfmadd|fmla|mulps' "$out/model.s" || { echo "$*: no products in the listing"; exit 1; }
  spills=$(awk -v scope="$2" '
    function end_block() {
      if (inner && products && !(scope == "innermost" && epilogue)) printf "%s", reloads
      looped = inner = products = epilogue = 0; reloads = ""
    }
    /^(\.LBB|(#|\/\/) %bb)/ { end_block() }
    /^m_k[0-9]+_.*:/ { end_block(); kernel = $1 }
    /Loop Header|in Loop:|Parent Loop/ { looped = 1 }
    /Inner Loop Header/ { inner = 1 }
    /(div|min|max)ps|fdiv|fmin|fmax/ { epilogue = 1 }
    /vfmadd|fmla|sadalp|u?sdot/ || scope == "innermost" && /mulps/ { products = 1 }
    scope != "innermost" && /(16|32|64)-byte (Folded )?(Spill|Reload)/ { print kernel, $0; next }
    scope == 1 && looped && /-byte (Folded )?Spill/ { print kernel, $0; next }
    scope == "innermost" && /Reload/ { next }
    /-byte (Folded )?(Spill|Reload)/ { reloads = reloads kernel " " $0 "\n" }' "$out/model.s")
  if [ -n "$spills" ]; then
    printf '%s spills:\n%s\n' "$*" "$spills"
    exit 1
  fi
  checked=$((checked + 1))
}
check_all() {  # LARGE MODEL..
  for model in "${@:2}"; do
    [ -e "$model" ] || continue
    for cpu in x86-64-v3 x86-64-v4 skylake-avx512 znver5; do check "$model" "$1" -mcpu=$cpu; done
    check "$model" 0 -Os
    check "$model" "$1" --threads=2
    check "$model" innermost -mcpu=x86-64-v2
    check "$model" innermost --target=aarch64
  done
}
for levels in generic,generic+dotprod generic,generic+dotprod,generic+i8mm; do
  check "$source/tests/programs/quantized_network.rly" innermost --target=aarch64 -mcpu=$levels
done
check_all 0 "$source/tests/programs/layers.rly" "$source/examples/digits/digits.onnx"
check_all 1 "$source/tests/programs/spilling_layers.rly" "$data"/onnx/light/light_{resnet50,squeezenet}/model.onnx
[ "$checked" -ge 26 ] || { echo "only $checked listings"; exit 1; }
echo "$checked listings without spills"
