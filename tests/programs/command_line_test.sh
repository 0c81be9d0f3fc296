#!/usr/bin/env bash
# The behaviour that scripts and build systems rely on: exit statuses, written files, dependency files, standard input and
# output.
# command_line_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$(realpath "$1") source=$(realpath "$2") work=$3
model=$source/examples/digits/digits.onnx data=$source/examples/digits/test_data_set_0
rm -rf "$work"
mkdir -p "$work"
cd "$work"
fail() {
  echo "$1"
  exit 1
}
expect_status() {  # STATUS ARGUMENTS...
  local wanted=$1 status=0
  shift
  "$dlcc" "$@" > out.txt 2> err.txt || status=$?
  [ $status = "$wanted" ] || fail "status $status instead of $wanted: dlcc $*"
}
expect_files() {  # the files of the folder, except the two of expect_status
  local found
  found=$(ls -A --ignore={out,err}.txt | xargs)
  [ "$found" = "$*" ] || fail "found files '$found' instead of '$*'"
}

echo "errors in the command line: status 2"
expect_status 2
expect_status 2 "$model"
expect_status 2 "$model" -o m.o --no-such-option
expect_status 2 "$model" -o m.o --emit=nothing
expect_status 2 "$model" -o m.o --target z80
expect_status 2 "$model" -o m.o -mcpu=pentium9
expect_status 2 "$model" -o m.o -mattr=+no-such-feature
expect_status 2 "$model" -o m.o --dim n
expect_status 2 "$model" -o m.o --stop-after=no-such-pass
expect_status 0 "$model" --stop-after=fuse
expect_status 0 opt "$model"
mv out.txt imported.txt
expect_status 0 opt --passes= "$model"
cmp out.txt imported.txt || fail "an empty list of passes is not empty"
expect_status 0 opt "$model" --passes ""
cmp out.txt imported.txt || fail "an empty list of passes is not empty"
rm imported.txt
expect_status 2 "$model" -o - -MD
expect_status 2 opt "$model" --passes=no-such-pass
expect_status 2 "$model" -o m.o --target aarch64 -mcpu=cortex-a76,neoverse-n1
grep -q 'has code for one CPU$' err.txt || fail "two CPUs without detection: $(cat err.txt)"
expect_status 2 "$model" -mcpu= -o m.o
grep -q '^-mcpu has no value' err.txt || fail "the value of -mcpu= is taken from what follows: $(cat err.txt)"
for arguments in "" "-o m.o --no-such-option" "-o m.o -O9" "-o" "-o m.o --dim n"; do
  expect_status 2 "$model" --diagnostics=json $arguments
  [ "$(head -c1 err.txt; tail -c2 err.txt)" = '[]' ] && grep -q '"id": "bad-option"' err.txt || fail "no JSON: $arguments"
done
expect_status 2 "$model" -o m.o --no-such-option --diagnostics json
grep -q '"message": ".*--no-such-option"' err.txt || fail "--diagnostics after an error is ignored"
while IFS='|' read -r arguments message; do
  expect_status 2 $arguments
  [ "$(head -1 err.txt)" = "$message" ] || fail "'$(head -1 err.txt)' instead of '$message'"
done << END
$model -o m.o -mcpu|-mcpu: 1 required CPU missing
$model -o m.o --mcpu|--mcpu: 1 required CPU missing
$model -o m.o -MF deps|-MF requires -MD
$model -o m.o -MD -MF|-MF: 1 required FILE missing
$model -o m.o -j0|-j: Value 0 not in range 1 to 256
$model -o m.o --jobs=0|--jobs: Value 0 not in range 1 to 256
inspec $model|there is no command 'inspec', did you mean 'inspect'?
isnpect $model --json|there is no command 'isnpect', did you mean 'inspect'?
Run $model|there is no command 'Run', did you mean 'run'?
-|-o OBJECT, without a command, is required
END
expect_status 1 rib -o m.o
cp "$model" rum
expect_status 0 rum -o m.o
rm rum m.[oh]
expect_status 2 inspec "$model" --diagnostics=json
grep -q '"message": "there is no command' err.txt || fail "no JSON for a misspelled command"
expect_status 2 "$model" -o m.o -MF deps --diagnostics=json
grep -q '"message": "-MF requires -MD"' err.txt || fail "JSON does not spell an option as typed: $(cat err.txt)"
expect_status 2 "$model" -o /dev/null -g
expect_status 2 verify "$model" "$data" --layers --engine=object
expect_status 2 run "$model" --input "$data/input_0.pb" --input "image=$data/input_0.pb"
expect_status 2 run "$model" --input "$data/input_0.pb" --output probabilities=
expect_status 2 "$model" -o m.o --no-such-option
grep -q '^Run with --help' err.txt || fail "no text for an unknown option"
cp "$model" copy.onnx
expect_status 2 copy.onnx -o copy.onnx
cmp "$model" copy.onnx || fail "a model was replaced by its object"
rm copy.onnx
echo "errors in the input: status 1"
expect_status 1 missing.onnx -o m.o
head -c 1000 "$model" > truncated.onnx
expect_status 1 truncated.onnx -o m.o
expect_status 1 check truncated.onnx
expect_status 1 check truncated.onnx --diagnostics=json
grep -q '"id": "malformed-model"' err.txt || fail "diagnostics are not JSON"
rm truncated.onnx
mkdir taken.o
expect_status 1 "$model" -o taken.o
expect_status 1 "$model" -o missing/m.o
expect_status 1 "$model" -o "$(printf "x%.0s" {1..300}).o"
expect_status 1 "$model" -o m.o --tune --tuning-records missing/records.json
expect_status 1 bench "$model" --html missing/page.html
[ ! -s out.txt ] || fail "measured although the page cannot be written"
expect_status 0 "$model" -o /dev/null
[ ! -e /dev/null.h ] || fail "a header was written beside a device"
rmdir taken.o
expect_files
echo "nothing was left behind"
expect_status 1 check "$source/tests/programs/threads.rly" --dim n=2
grep -q 'threads.rly: error\[undefined-value\]: --dim n=2' err.txt || fail "no error for an unknown dimension"
for command in inspect "run --input $data/input_0.pb" "opt --passes=fuse" ops "ops --json"; do
  status=0
  [[ $command = ops* ]] || command="$command $model"
  "$dlcc" $command > /dev/full 2> err.txt || status=$?
  [ $status = 1 ] && grep -q 'standard output' err.txt || fail "status $status of $command to a full device: $(cat err.txt)"
done

expect_status 0 "$model" -o m.o
[ ! -s out.txt ] && [ ! -s err.txt ] || fail "a compilation without a terminal is not silent"
expect_files m.h m.o
mkdir other
"$dlcc" - -o - < "$model" --prefix=m > other/m.o
cmp m.o other/m.o
"$dlcc" verify - "$data" < "$model" > out.txt || fail "verify does not read standard input"
expect_status 1 verify "$model" "$data" missing
[ "$(wc -l < out.txt)" = 2 ] && grep -q '^FAIL missing .*input_0.pb: .*output_0.pb: ' out.txt || fail "verify: $(cat out.txt)"
expect_status 1 run "$model" --input "$data/input_0.pb" --output nowhere=x.npy
grep -q 'outputs: probabilities' err.txt && [ ! -e x.npy ] || fail "run does not list the outputs"
expect_status 1 run "$model" --input "$data/input_0.pb" --output x.npy --output probabilities=missing/x.npy
expect_status 2 run "$model" --input "$data/input_0.pb" --output x.npy --output probabilities=./x.npy
[ -z "$(ls x.npy* 2> ls.txt)" ] || fail "run wrote one of two outputs"
expect_status 0 run "$model" --input "$data/input_0.pb" --output x.npy --output probabilities=x.pb
[ -s x.npy ] && [ -s x.pb ] || fail "run did not write both outputs"
echo "from standard input to standard output"
expect_status 0 "$model" -c -o m.o -MD
[ "$(cat m.d)" = "m.o: $model" ] || fail "wrong dependencies: $(cat m.d)"
expect_status 0 "$model" -o m.o -MD -MF other/rules -MT 'a target'
[ "$(cat other/rules)" = "a\\ target: $model" ] || fail "wrong dependencies: $(cat other/rules)"
echo "dependency files"

expect_status 0 "$model" -o wide.o --prefix=m -mcpu=x86-64-v4
expect_status 0 "$model" -o narrow.o --prefix=m -mcpu=x86-64-v4 -mattr=-avx512f
for object in wide narrow; do objdump -d $object.o > $object.txt; done
grep -q zmm wide.txt || fail "x86-64-v4 has no 512-bit vectors"
! grep -q zmm narrow.txt || fail "-mattr=-avx512f leaves 512-bit vectors"
echo "CPU features"
expect_status 2 "$model" -o m.o --weights=nowhere
expect_status 0 "$model" -o placed.o --weights section=.qspi
readelf -SW placed.o > placed.txt
grep -q '\.qspi .* A ' placed.txt && ! grep -q 'rodata\.placed_weights' placed.txt || fail "the weights are not in .qspi"
echo "a section for the weights"
expect_status 2 ops --target z80
grep -q 'one of: .*aarch64' err.txt || fail "no list of targets for an unknown one"
for target in x86-64 aarch64; do
  expect_status 0 ops --target $target
  grep -qE '^nn\.conv2d .* x +x$' out.txt || fail "no code for convolutions in float32 and float64 on $target"
done
expect_status 0 ops --target x86-64 --json
grep -q '"types": \[' out.txt || fail "ops --target --json has no types"
echo "operators of a target"
expect_status 0 "$model" -v -o m.o
grep -q '^generate code' err.txt || fail "-v does not print the stages"
expect_status 0 inspect --json "$model" --prefix=p
for key in prefix arena_bytes arena_align weights_bytes macs inputs outputs operators parameters; do
  grep -q "\"$key\"" out.txt || fail "inspect --json has no $key"
done
echo "inspect --json"

expect_status 2 "$model" -o tuned.o --tune
expect_status 2 "$model" -o tuned.o --tune --tuning-records records.json --target aarch64
expect_status 1 "$model" -o tuned.o --tuning-records missing.json
for text in '{' '{"format": "dlcc tuning records", "dlcc": "'"${version:=$("$dlcc" --version | cut -d' ' -f2)}"'", "records": [1]}'; do
  echo "$text" > records.json
  expect_status 1 "$model" -o tuned.o --tuning-records records.json
  grep -q '^records.json.*error\[tuning-records\]' err.txt || fail "no source location of a bad record: $(cat err.txt)"
  expect_status 1 "$model" -o tuned.o --tune --tuning-records records.json -mcpu=native
  [ "$(cat records.json)" = "$text" ] && [ ! -e tuned.o ] || fail "something was written in spite of bad records"
done
rm records.json
expect_status 0 "$model" -o untuned.o --prefix=m -mcpu=native
expect_status 0 "$model" -o tuned.o --prefix=m -mcpu=native --tune --tuning-records records.json
[ ! -s out.txt ] && [ ! -s err.txt ] || fail "tuning without a terminal is not silent"
expect_status 0 "$model" -o again.o --prefix=m -mcpu=native --tuning-records records.json -MD
cmp tuned.o again.o
grep -q 'records.json' again.d || fail "the records are no dependency"
# A configuration that changes the code, as the tuner might record it.
sed 's/"config": {}/"config": {"k_unroll": 8, "panel_width": 16, "accumulators": 4}/' records.json > chosen.json
expect_status 0 "$model" -o chosen.o --prefix=m -mcpu=native --tuning-records chosen.json
! cmp -s untuned.o chosen.o || fail "the records do not change the code"
expect_status 0 verify "$model" "$data" -mcpu=native --tuning-records chosen.json
sed 's/"dlcc": "/"dlcc": "0./' records.json > older.json
sed 's/"cpu": "/"cpu": "not-/' chosen.json > elsewhere.json
for other in older elsewhere; do
  expect_status 0 "$model" -o untuned2.o --prefix=m -mcpu=native --tuning-records $other.json
  grep -q "^$other.json: remark\[tuning-records\]: .*do not apply" err.txt || fail "no remark on records that do not apply"
  cmp untuned.o untuned2.o
done
echo "tuning records"
