#!/usr/bin/env bash
# Common mistakes of users: mistakes.txt has blocks of a comment, a command and its output. The commands run in a folder with
# digits.onnx, its data set `data`, and the files of the function below. DLCC_BLESS=1 rewrites mistakes.txt.
# mistakes_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$(realpath "$1") source=$(realpath "$2") work=$3
list=$source/tests/programs/mistakes.txt
rm -rf "$work"
mkdir -p "$work/folder"
cd "$work/folder"
PATH=$(dirname "$dlcc"):$PATH

write_files() {
  cp "$source/examples/digits/digits.onnx" .
  cp -r "$source/examples/digits/test_data_set_0" data
  head -c 5000 digits.onnx >truncated.onnx
  gzip -c digits.onnx >digits.onnx.gz
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >pointer.onnx
  printf '<!DOCTYPE html>\n<html><body>404</body></html>\n' >page.onnx
  printf '\x1c\0\0\0TFL3\0\0\0\0' >model.tflite
  printf '\x89HDF\r\n\x1a\n' >model.h5
  dlcc run digits.onnx --input data/input_0.pb --output all.npz
  cp all.npz renamed.npy
  mkdir partial taken.o
  cp data/input_0.pb partial/
  printf 'def @main(%%x: Tensor[(30000, 30000), float32]) { nn.softmax(%%x) }\n' >wide.rly
  cat >batch.rly <<END
def @main(%x: Tensor[(batch, 3), float32]) -> Tensor[(batch, 3), float32] {
  nn.relu(%x)
}
END
  cat >data_decide.rly <<END
def @main(%x: Tensor[(6), float32], %numbers: Tensor[(100), int64]) {
  tile(%x, reshape(sum(%numbers), newshape=[1]))
}
END
  cat >found_rows.rly <<END
def @main(%x: Tensor[(6), float32], %y: Tensor[(9), float32]) {
  let %i = nonzero(%x);
  let %rows = prefix(%i.0, %i.1);
  let %k = nonzero(%y);
  let %rows = prefix(%k.0, %k.1);
  (%rows, prefix(%i.0, %i.1))
}
END
  cat >other_type.rly <<END
def @depth[A](%n: int32, %x: A) -> int32 {
  if (%n == 0) { 0 } else { 1 + @depth(%n - 1, (%x, %x)) }
}
def @main() { @depth(5, 1) }
END
  cat >function_value.rly <<END
def @main(%a: Tensor[(n), float32]) {
  let %cell = ref(fn (%x: Tensor[(k), float32]) -> Tensor[(k), float32] { %x + %x });
  ref_read(%cell)(%a)
}
END
  cat >spelling.rly <<END
def @main(%x: Tensor[(2, 3), float32]) {
  nn.sofmax(%x, axs=1)
}
END
  cat >type_only.rly <<END
def @main() {
  random.threefry_split(zeros(shape=[10], dtype="uint64")).0
}
END
  cat >shapes.rly <<END
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 5), float32]) {
  nn.dense(%x, %w)
}
END
  mkdir saved_model above
  touch saved_model/saved_model.pb
  cp -r data above/test_data_set_0
  printf '\x0a\x14\x0a\x01x\x12\x0bPlaceholder\x3a\x00' >graph.pb
  printf 'import torch\n' >model.py
  printf 'name: "net"\nlayer {\n  type: "Input"\n}\n' >net.prototxt
  printf 'P5\n2 2\n255\n0000' >seven.pgm
  echo 1 2 3 >numbers.txt
  echo 'def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }' >spelled.rly
  echo 'def @main() { cast(ones(shape=[4], dtype="float32"), dtype="int32") }' >counts.rly
  dlcc run counts.rly --output counts.npy
  head -c 140 counts.npy >cut.npy
  echo 'def @main(%x: Tensor[(4), float23]) { %x }' >element.rly
  printf 'def @main() {\n  @hd(@tl(Cons(1, Nil))) + 1\n}\n' >first.rly
  printf 'def @main() {\n\n  @length(Cons(1, Nil))\n}\n' >lists.rly
  echo 'def @main() { zeros(shape=[1000000, 1000000], dtype="float32") }' >vast.rly
  echo 'def @main(%xs: List[int32]) { @length(%xs) }' >list_input.rly
  echo 'def @main(%x: Tensor[(4), float32]) { nn.relu(%y) }' >variable.rly
  echo 'def @man(%x: Tensor[(4), float32]) { nn.relu(%x) }' >man.rly
  echo 'def @main(%x: Tensor[(-4), float32]) { nn.relu(%x) }' >negative.rly
  echo 'def @main(%x: Tensor[(4), float32]) { nn.relu(%x, %x) }' >operands.rly
  echo 'def @main() -> Tensor[(1, 28, 28, 1), float32] { ones(shape=[1, 28, 28, 1], dtype="float32") }' >image.rly
  dlcc run image.rly --output channels_last.npy
  echo 'def @main(%x: Tensor[(4), float32]) { let %i = 7; take(nn.relu(%x), %i, mode="strict") }' >outside.rly
  echo 'def @main(%x: int8x4) { (%x, 1) }' >vectors.rly
  echo 'def @main(%x: Tensor[(1, 8), float32]) { (nn.dense(%x, meta[relay.Constant][0]), nn.softmax(%x, axis=2)) }' \
    >printed.rly
  cat >syntax.rly <<END
def @main(%x: Tensor[(2, 3), float32] {
  nn.relu(%x)
}
END
}

# Prints the block of a comment and a command.
answer() {
  local status=0 output
  output=$(bash -c "$2" 2>&1 </dev/null) || status=$?
  printf '# %s\n$ %s\n%s\nstatus %s\n\n' "$1" "$2" "$output" $status
}

write_files
while IFS= read -r line; do
  case $line in
    '# '*) comment=${line#'# '} ;;
    '$ '*) answer "$comment" "${line#'$ '}" ;;
  esac
done <"$list" >../answers.txt
if [ -n "${DLCC_BLESS:-}" ]; then
  cp ../answers.txt "$list"
else
  diff "$list" ../answers.txt
fi
echo "$(grep -c '^\$ ' "$list") mistakes"
