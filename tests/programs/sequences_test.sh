#!/usr/bin/env bash
# Sequences, optionals and fixed inputs in the C interface: the forms of --input, and the forms that `run` and `verify` take
# from data.
# sequences_test.sh DLCC SOURCE_FOLDER WORK_FOLDER MODEL_FOLDER
set -euo pipefail
source "$(dirname "$0")/begin.sh"
cp "$4/sequences.onnx" .

tensor() {  # A TensorProto of two float32 elements, given as bytes.
  printf '\x08\x02\x10\x01J\x08'"$1"
}
one='\x00\x00\x80?' two='\x00\x00\x00@' three='\x00\x00@@'
mkdir data
{ printf '\x1a\x0e'; tensor "$one$two"; printf '\x1a\x0e'; tensor "$three$one"; } >data/input_0.pb  # a SequenceProto
printf '\x10\x00' >data/input_1.pb                                                                    # an OptionalProto: absent
printf '\x10\x07J\x08\x03\x00\x00\x00\x00\x00\x00\x00' >data/input_2.pb                                 # 3
tensor "$one$two" >data/input_3.pb
{ printf '\x1a\x12\x08\x03\x10\x01J\x0c'"$one$two$three"; printf '\x1a\x0a\x08\x01\x10\x01J\x04'"$one"; } >data/output_0.pb
tensor '\x00\x00\x80\xbf\x00\x00\x00\xc0' >data/output_1.pb
{ printf '\x10\x01\x1a\x0e'; tensor "$one$two"; } >present.pb

says() {  # TEXT FILE
  grep -qF -- "$1" "$2" || fail "'$1' is not in: $(cat "$2")"
}

echo "an unknown length of a sequence is an error with a remedy"
expect_status 1 check sequences.onnx
says "--input s=seq:3" err.txt
expect_status 1 check sequences.onnx --input s=seq:2
says "--input NAME=value:2" err.txt

echo "an object for the forms of --input"
forms=(--input s=seq:2 --input o=none --input k=value:3)
expect_status 0 sequences.onnx -o sequences.o "${forms[@]}"
cc -std=c11 -Wall -Wextra -Werror "$source/tests/programs/sequences.c" sequences.o -I. -I"$source/runtime/include" -o sequences
[ "$(./sequences)" = "0: 1 2 3, 4; -5 6" ] || fail "$(./sequences)"
expect_status 0 inspect sequences.onnx "${forms[@]}"
says "s[1]" out.txt
for wrong in s=three s=seq: =none s; do expect_status 2 check sequences.onnx --input "$wrong"; done
expect_status 2 check sequences.onnx --input s=seq:2 --input s=seq:3
expect_status 1 check sequences.onnx "${forms[@]}" --input w=none
expect_status 2 check sequences.onnx "${forms[@]}" --input x=none

expect_status 2 check "$source/tests/programs/layers.rly" --input x=none
says "the inputs of a Relay program are tensors" err.txt

echo "verify takes the forms from the data and prints them"
for engine in definitions schedules object; do
  expect_status 0 verify --engine=$engine sequences.onnx data
  says "input 's' is compiled as a sequence of 2 tensors" err.txt
  says "input 'o' is compiled as an absent optional" err.txt
  says "input 'k' is compiled as the value of this file" err.txt
done
expect_status 0 verify sequences.onnx data "${forms[@]}"
expect_status 1 verify sequences.onnx data --input s=seq:3
says "'s' is a sequence of 2 tensors; the model was compiled for a sequence of 3 tensors" err.txt
expect_status 1 verify sequences.onnx data --input k=value:2
says "'k' is another value; the model was compiled for a fixed one" err.txt

echo "run takes the forms from the files of the inputs"
files=(--input s=data/input_0.pb --input k=data/input_2.pb --input x=data/input_3.pb)
expect_status 0 run sequences.onnx "${files[@]}" --input o=data/input_1.pb
[ "$(cat out.txt)" = $'pieces[0] float32 (3): 1 2 3\npieces[1] float32 (1): 1\ny float32 (2): -1 -2' ] || fail "$(cat out.txt)"
expect_status 0 run sequences.onnx "${files[@]}" --input o=none
says "y float32 (2): -1 -2" out.txt
expect_status 0 run sequences.onnx "${files[@]}" --input o=present.pb
says "y float32 (2): 1 2" out.txt
expect_status 0 run sequences.onnx --input data/input_0.pb --input data/input_1.pb --input data/input_2.pb --input data/input_3.pb
says "pieces[1] float32 (1): 1" out.txt
expect_status 0 run sequences.onnx --input s=seq:2 --input 's[0]=data/input_3.pb' --input 's[1]=data/input_3.pb' --input o=none \
  --input k=value:4 --input x=data/input_3.pb
says "pieces[0] float32 (4): 1 2 1 2" out.txt
expect_status 1 run sequences.onnx --input s=data/input_3.pb --input o=none --input k=value:4 --input x=data/input_3.pb
says "the bytes are not an ONNX SequenceProto" err.txt

echo "a name is that of an input before it is that of a C identifier; an archive has both outputs of one name"
cp "$4/equal_names.onnx" .
tensor "$three$one" >other.pb
given=(--input a.b=data/input_3.pb --input a_b=other.pb)
expect_status 0 run equal_names.onnx "${given[@]}"
says "y float32 (2): -2 1" out.txt
expect_status 0 run equal_names.onnx "${given[@]}" --output both.npz
grep -qa 'y_2.npy' both.npz || fail "both.npz lacks the second output"
echo passed
