#!/usr/bin/env bash
# Rounding, square roots and transcendental functions on 32-bit ARM, whose CPUs lack many of their instructions, equal
# those on x86 bit by bit: special values and random patterns of float32 and float64. Transcendental functions of float64
# may differ in the last bit where libgcc subtracts: __aeabi_dsub of GCC 12 rounds 1 - 0x1.a57687df15adep-33 downwards.
# NEON takes subnormal float32 for zero, but not narrower numbers. ARMv7-A, which has vectors but no fused multiply-add,
# computes these functions as x86 does with strict accuracy only. Bytes that floats are rounded to are equal, and constants are
# found.
# arm_arithmetic_test.sh DLCC SOURCE_FOLDER WORK_FOLDER; exit status 77 (skipped) without a cross compiler or the emulator.
set -euo pipefail
source "$(dirname "$0")/begin.sh"
skip_without arm-linux-gnueabihf-gcc qemu-arm

count=20000
for type in float32 float64; do
  cat > "$type.rly" <<END
def @main(%x: Tensor[($count), $type]) {
  (floor(%x), ceil(%x), trunc(%x), round(%x), sqrt(%x), exp(%x), log(%x), tanh(%x), sigmoid(%x))
}
END
done
python3 - $count <<'END'
import random, struct, sys
count = int(sys.argv[1])
random.seed(1)
for name, code, fraction in (("float32", "f", 23), ("float64", "d", 52)):
    size = struct.calcsize(code)
    values = []
    for x in (0.0, 0.5, 1.0, 1.5, 2.5, 0.49999997, 2.0**(fraction - 1) + 0.5, 2.0**fraction - 0.5, 2.0**fraction,
              2.0**fraction + 1, 1e30, float("inf"), float("nan"), 1e-38, 1e-40, 2.0**-149):
        values += [struct.pack("<" + code, x), struct.pack("<" + code, -x)]
    while len(values) < count // 2:
        values.append(random.randbytes(size))
    while len(values) < count:
        values.append(struct.pack("<" + code, random.uniform(-100, 100)))
    with open(name + ".in", "wb") as file:
        file.write(struct.pack("<q", count * size) + b"".join(values))
END

run() {  # TYPE TARGET COMPILER EMULATOR: the results in TYPE.TARGET
  "$dlcc" "$1.rly" -o "$1.o" --prefix m --target "$2" ${5:-}
  case $2 in cortex-*) arm-linux-gnueabihf-objcopy --remove-section=.ARM.attributes "$1.o" ;; esac
  "$3" -std=gnu11 -static -O1 -Wl,-z,noexecstack -I"$source/runtime/include" -Wl,--defsym=model_to_run=m_model \
    "$source"/runtime/runner/{run_object,linux}.c "$1.o" -o run
  $4 ./run "$1.in" "$1.$2"
}
for type in float32 float64; do
  run $type x86-64 cc "" "-mcpu=x86-64-v3 --accuracy=strict"
  mv $type.x86-64 $type.strict
  run $type x86-64 cc "" -mcpu=x86-64-v3
  for target in cortex-m0plus cortex-m4 cortex-m33; do run $type $target arm-linux-gnueabihf-gcc qemu-arm; done
  run $type armv7-a arm-linux-gnueabihf-gcc qemu-arm --accuracy=strict
done

# Numbers rounded to bytes, also NaN, infinities and ties, are equal.
cat > bytes.rly <<END
def @main(%x: Tensor[($count), float32]) {
  (cast(round(%x), dtype="uint8"), cast(round(%x * 2f), dtype="int8"), cast(round(%x * 3f) + 100f, dtype="uint8"),
   cast(round(%x * 4f) + -77f, dtype="int8"), cast(round(%x * 5f) + 0.5f, dtype="int8"),
   cast(round(%x * 6f) + 300f, dtype="uint8"), cast(clip(round(%x * 7f) + 3f, a_min=0f, a_max=200f), dtype="uint8"),
   cast(clip(round(%x * 8f) + 3f, a_min=-128f, a_max=127f), dtype="int8"), qnn.quantize(%x, 0.5f, cast(7, dtype="uint8")),
   cast(round(%x * 9f), dtype="int32"))
}
END
cp float32.in bytes.in
run bytes x86-64 cc "" -mcpu=x86-64-v3
for target in cortex-m0plus cortex-m4 cortex-m33; do
  run bytes $target arm-linux-gnueabihf-gcc qemu-arm
  cmp bytes.x86-64 bytes.$target
done
"$dlcc" bytes.rly -o bytes.s --emit=asm --prefix m --target cortex-m4
[ "$(grep -c vcvtr bytes.s)" -ge 6 ] || { echo "no vcvtr" && exit 1; }

# Every pattern of narrow floats, many of which are subnormal, and a part of a vector in registers of their own.
for type in float8_e4m3fn float8_e5m2 float8_e4m3fnuz float16; do
  [ $type = float16 ] && patterns=65536 bytes=2 || patterns=256 bytes=1
  printf 'def @main(%%x: Tensor[(%d), %s]) { cast(%%x, dtype="float32") }\n' $patterns $type > $type.rly
  python3 -c "import struct, sys
sys.stdout.buffer.write(struct.pack('<q', $patterns * $bytes) + b''.join(k.to_bytes($bytes, 'little') for k in range($patterns)))" > $type.in
done
cat > masked_row.rly <<'END'
tensor @f(x: f32[2, 1, 4]) -> (y: f32[2, 1, 4]) {
  y[a < 2, b < 1, c < 4] = c < 3 ? x[a, 0, c] * 0.35355338 : -inf
}
def @main(%x: Tensor[(2, 1, 4), float32]) { call_tensor(@f, %x) }
END
python3 -c "import struct, sys; sys.stdout.buffer.write(struct.pack('<q8f', 32, *range(1, 9)))" > masked_row.in
for model in float8_e4m3fn float8_e5m2 float8_e4m3fnuz float16 masked_row; do
  run $model x86-64 cc "" -mcpu=x86-64-v3
  for target in cortex-m0plus armv7-a; do
    run $model $target arm-linux-gnueabihf-gcc qemu-arm
    cmp $model.x86-64 $model.$target
  done
done

# A scalar of the program is rounded without a function for int64 on a CPU with an FPU for float32.
cat > scalar.rly <<'END'
def @main(%n: Tensor[(), int64]) {
  let %loop = fn(%i: Tensor[(), int64], %a: Tensor[(), float32]) {
    if (less(%i, %n)) { %loop(%i + 1i64, round(%a * 1.3f) + floor(%a * 1.7f) + ceil(%a)) } else { %a }
  };
  %loop(0i64, 1f)
}
END
printf '\10\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0' > scalar.in
run scalar x86-64 cc "" -mcpu=x86-64
for target in cortex-m0plus cortex-m4; do
  run scalar $target arm-linux-gnueabihf-gcc qemu-arm
  cmp scalar.x86-64 scalar.$target
done
"$dlcc" scalar.rly -o scalar.o --target cortex-m4
! nm --undefined-only scalar.o | grep . || fail "an object for Cortex-M4 needs a function"

# Constants of several compilation units, which Cortex-M0+ addresses by words among the code.
{
  echo 'def @main(%x: Tensor[(7), float32]) {'
  for k in 1 2 3 4 5 6 7 8 9; do echo "  let %p$k = nn.pad(%x, $k.5f, pad_width=[[$((k % 3 + 1)), $((k % 4 + 1))]]);"; done
  echo '  (%p1, %p2, %p3, %p4, %p5, %p6, %p7, %p8, %p9)'
  echo '}'
} > pads.rly
printf '\34\0\0\0\0\0\0\0' > pads.in
head -c 28 /dev/zero >> pads.in
run pads x86-64 cc "" -mcpu=x86-64-v3
for target in cortex-m0plus cortex-m4 armv7-a; do
  run pads $target arm-linux-gnueabihf-gcc qemu-arm
  cmp pads.x86-64 pads.$target
done

python3 - <<'END'
import struct, sys
names = ("floor", "ceil", "trunc", "round", "sqrt", "exp", "log", "tanh", "sigmoid")
def outputs(path, code):
    data, at = open(path, "rb").read(), 8
    if struct.unpack_from("<q", data)[0]: sys.exit(f"{path}: the model failed")
    for name in names:
        size, = struct.unpack_from("<q", data, at)
        yield struct.unpack_from(f"<{size // struct.calcsize(code)}{code}", data, at + 8)
        at += 8 + size
failed = 0
for kind, code in (("float32", "f"), ("float64", "d")):
    inputs = struct.unpack_from(f"<20000{code}", open(kind + ".in", "rb").read(), 8)
    for target in ("cortex-m0plus", "cortex-m4", "cortex-m33", "armv7-a"):
        expected = f"{kind}.{'strict' if target == 'armv7-a' else 'x86-64'}"
        for name, ours, theirs in zip(names, outputs(f"{kind}.{target}", code), outputs(expected, code)):
            bits = lambda v: int.from_bytes(struct.pack("<" + code, v), "little")
            allowed = kind == "float64" and target != "armv7-a" and name in ("exp", "log", "tanh", "sigmoid")
            tiny = lambda v: kind == "float32" and target == "armv7-a" and abs(v) < 2.0**-126
            wrong = [x for x, a, b in zip(inputs, ours, theirs)
                     if abs(bits(a) - bits(b)) > allowed and not (a != a and b != b) and not (tiny(a) and tiny(b)) and not tiny(x)]
            if wrong:
                print(f"{target}: {name} of {kind} differs for {len(wrong)} numbers, such as {wrong[0]!r}")
                failed = 1
print("equal" if not failed else "different")
sys.exit(failed)
END

# A loop over a product of sizes counts beyond 32 bits; one over a bounded size does not.
printf 'def @main(%%x: Tensor[(n), int8], %%y: Tensor[(m), int8]) {\n  (sum(ones(shape=[n * m], dtype="float64")), max(%%x), max(%%y))\n}\n' >product.rly
"$dlcc" product.rly -o product.o --emit=llvm --target armv7-a
if grep 'phi i32 \[ 0' product.ll; then echo "a loop over n * m counts in 32 bits" && exit 1; fi
"$dlcc" product.rly -o product.o --emit=llvm --target armv7-a --dim n=1..100 --dim m=1..100
grep -q 'phi i32 \[ 0' product.ll || { echo "a loop over n <= 100 counts in 64 bits" && exit 1; }
echo "loop counters"
