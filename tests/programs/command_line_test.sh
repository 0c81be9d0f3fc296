#!/usr/bin/env bash
# The behaviour on which scripts and build systems rely: exit statuses, written files, dependency files, standard input and
# output, completions, tuning records.
# command_line_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
source "$(dirname "$0")/begin.sh"
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
grep -q ': -mcpu needs a value: -mcpu=CPU$' err.txt || fail "the value of -mcpu= is taken from the next argument: $(cat err.txt)"
for arguments in "" "-o m.o --no-such-option" "-o m.o -O9" "-o" "-o m.o --dim n"; do
  expect_status 2 "$model" --diagnostics=json $arguments
  [ "$(head -c1 err.txt; tail -c2 err.txt)" = '[]' ] && grep -q '"id": "bad-option"' err.txt || fail "no JSON: $arguments"
done
expect_status 2 "$model" -o m.o --no-such-option --diagnostics json
grep -q "\"message\": \".*'--no-such-option'\"" err.txt || fail "--diagnostics after an error is ignored"
while IFS='|' read -r arguments message help; do
  expect_status 2 $arguments
  [ "$(head -1 err.txt)" = "dlcc: error[bad-option]: $message" ] || fail "'$(head -1 err.txt)' instead of '$message'"
  [ -z "$help" ] || [ "$(tail -1 err.txt)" = "    help: $help" ] || fail "'$(tail -1 err.txt)' instead of '$help'"
done << END
|MODEL is missing|usage: dlcc MODEL -o OBJECT [options]
check|MODEL is missing|usage: dlcc check MODEL [options]
check $model $model|unexpected argument '$model'|a command takes one model: run it for each
$model -o m.o -mcpu|-mcpu needs a value: -mcpu=CPU|
$model -o m.o --mcpu|-mcpu needs a value: -mcpu=CPU|
$model -o m.o -MF deps|-MF requires -MD|
$model -o m.o -MP|-MP requires -MD|
$model -o m.o -MD -MF|-MF needs a value: -MF FILE|
$model -o m.o -j0|--jobs: expected a number from 1 to 256, found '0'|
$model -o m.o --threads=many|--threads: expected a number from 1 to 256, found 'many'|
$model -o m.o --thread=2|unknown option '--thread'|did you mean '--threads'?
$model -o m.o -mpcu=native|unknown option '-mpcu'|did you mean '-mcpu'?
$model -o m.o --xyz|unknown option '--xyz'|'dlcc --help' lists the options
$model -o m.o -O9|-O: expected 0, 1, 2, 3 or s, found '9'|
$model -o m.o --emit=object|--emit: unknown output 'object'|the outputs are obj, header, relay, tensor, legalized, llvm, asm, selftest
$model -o - --emit=obj,header|--emit=obj,header names several outputs, and -o - takes one|
$model -o m.o --stop-after=fues|--stop-after: there is no pass 'fues'|did you mean 'fuse'?
$model -o m.o --dim batch|--dim: expected NAME=SIZES, found 'batch'|
$model -o m.o --dim n=2 --dim n=3|--dim: 'n=3' contradicts 'n=2'|a dimension has one value
$model -o m.o --dim n=9..8|--dim: 'n=9..8': the lower bound 9 is above the upper bound 8|a size is a number, such as batch=1, or a range: n=1..64, n=1.. or, for multiples of 8, n=8..64:8
$model -o m.o --dim n=1..64:0|--dim: 'n=1..64:0': sizes cannot be multiples of 0|
$model -o m.o --dim n=1..7:8|--dim: 'n=1..7:8': no size in this range is a multiple of 8|
$model -o m.o --dim n=1..7@8|--dim: 'n=1..7@8': the typical size 8 is not in the range|
$model -o m.o --bound boxes|--bound: expected NAME=N with a number N of at least 0, found 'boxes'|
$model -o m.o --bound boxes=1..5|--bound: expected NAME=N with a number N of at least 0, found 'boxes=1..5'|
bench $model --size n=2 --size n=3|--size: 'n=3' contradicts 'n=2'|a name has one value
bench $model --size k=2|--size k=2: no input has a symbolic size of this name|all sizes are numbers
$model -o m.o --weights=nowhere|--weights: expected section=NAME or external=FILE, found 'nowhere'|section=.rodata.weights puts them in a section of the object, external=model.weights in a file
$model -o m.o --tune|--tune needs --tuning-records FILE, to which it adds its records|
verify $model|DATA is missing|usage: dlcc verify MODEL DATA... [options]
inspec $model|there is no command or file 'inspec'|did you mean 'inspect'?
isnpect $model --json|unknown option '--json'|
-O2 check $model|the command 'check' follows an option of another command|the command comes first: dlcc check MODEL [options]
-v isnpect $model|there is no command or file 'isnpect'|did you mean 'inspect'?
Run $model|there is no command or file 'Run'|did you mean 'run'?
-|-o OBJECT is missing|usage: dlcc MODEL -o OBJECT [options]
END
for before in -v --diagnostics=json "--diagnostics json" -w "-Werror -v"; do
  expect_status 0 $before check "$model"
done
expect_status 0 -o m.o --jobs 2 -- "$model"
expect_status 2 -o m.o --no-such-option -- "$model"
rm m.[oh]
echo "global options, and -- before a file"
expect_status 0 --version
grep -q '^LLVM ' out.txt && grep -q '^targets: .*aarch64' out.txt || fail "--version: $(cat out.txt)"
[ -e "$("$dlcc" --print-runtime-dir)/libdlcc_rt.a" ] || fail "--print-runtime-dir names no folder of the runtime"
for command in "" check inspect run verify bench opt ops targets; do
  expect_status 0 $command --help
  grep -q "^Usage: dlcc ${command:-MODEL}" out.txt || fail "help of '$command': $(cat out.txt)"
  expect_status 0 $command --print-man-page
  [ "$command" ] && page='dlcc' || page='dlcc\-check'
  grep -qxF ".BR $page (1)" out.txt || fail "the manual page of '$command' refers to no other"
  ! command -v groff > groff.txt || groff -man -ww -Tutf8 out.txt 2>&1 > page.txt | (! grep .) || fail "manual page of '$command'"
done
for shell in bash zsh fish; do
  expect_status 0 --print-completion=$shell
  ! command -v $shell > shell.txt || $shell -n out.txt || fail "the completion for $shell is not well-formed"
done
rm -f groff.txt page.txt shell.txt
"$dlcc" --print-completion=bash > completion.sh
completed() {  # the completions of the last of the words
  bash -c 'source completion.sh; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dlcc 2> /dev/null; echo "${COMPREPLY[*]}"' "" "$@" 
}
[ "$(completed dlcc ins)" = inspect ] || fail "completion of a command: $(completed dlcc ins)"
[ "$(completed dlcc verify m.onnx --rt)" = --rtol= ] || fail "completion of an option"
[ "$(completed dlcc m.onnx --target = aar)" = aarch64 ] || fail "completion of a target"
[ "$(completed dlcc m.onnx --accuracy = s)" = strict ] || fail "completion of a value"
[ "$(completed dlcc m.onnx -O)" = "-O0 -O1 -O2 -O3 -Os" ] || fail "completion of a level: $(completed dlcc m.onnx -O)"
[ "$(completed dlcc -v ins)" = inspect ] || fail "completion of a command after an option"
[ "$(completed dlcc --diagnostics = json ins)" = inspect ] || fail "completion of a command after an option with a value"
[ "$(completed dlcc m.onnx ins)" = "" ] || fail "completion of a command after a model"
[ "$(completed dlcc m.onnx --emit = obj,hea)" = obj,header ] || fail "completion in a list"
[ "$(completed dlcc m.onnx -mattr = +avx512vnni,-avx512vn)" = +avx512vnni,-avx512vnni ] || fail "completion of a feature"
[ "$(completed dlcc check -- --dia)" = "" ] || fail "completion of an option after --"
[ "$(completed dlcc explain unused)" = unused-input ] || fail "completion of a diagnostic"
rm completion.sh
if command -v fish > shell.txt; then
  "$dlcc" --print-completion=fish > completion.fish
  offered() { fish --no-config -c "source completion.fish; complete -C '$1'" | cut -f1 | xargs; }
  [ "$(offered 'dlcc m.onnx -o m.o --thr')" = --threads ] || fail "fish: completion of an option after the model"
  [ "$(offered 'dlcc m.onnx --accuracy=s')" = --accuracy=strict ] || fail "fish: completion of a value"
  [ "$(offered 'dlcc explain unused')" = unused-input ] || fail "fish: completion of a diagnostic"
  [ "$(offered 'dlcc ops --target aar')" = aarch64 ] || fail "fish: completion of a target"
  rm completion.fish
fi
rm -f shell.txt
echo "help, manual pages and completions"
expect_status 1 rib -o m.o
cp "$model" rum
expect_status 0 rum -o m.o
rm rum m.[oh]
expect_status 2 inspec "$model" --diagnostics=json
grep -q '"message": "there is no command' err.txt || fail "no JSON for a misspelled command"
expect_status 2 "$model" -o m.o -MF deps --diagnostics=json
grep -q '"message": "-MF requires -MD"' err.txt || fail "JSON does not spell an option as typed: $(cat err.txt)"
expect_status 2 "$model" -o /dev/null -g
expect_status 0 "$model" -o - --emit=header --prefix=m
mv out.txt streamed.h
expect_status 0 "$model" -o m.o
cmp streamed.h m.h || fail "the header on standard output is another one"
rm streamed.h m.[oh]
expect_status 2 verify "$model" "$data" --layers --engine=object
cat >loop.rly <<'END'
def @main() -> float32 {
  let %loop = fn (%i: int64, %y: float32) -> float32 {
    if (%i < 3i64) { %loop(%i + 1i64, %y * 2f) } else { %y }
  };
  exp(%loop(0i64, 0.25f))
}
END
mkdir loop_data
expect_status 0 run loop.rly --output output0=loop_data/output_0.npy
expect_status 0 verify loop.rly loop_data --layers
grep -qx 'ok 2 layers' out.txt || fail "a loop is no layer: $(cat out.txt)"
rm -r loop.rly loop_data
expect_status 2 run "$model" --input "$data/input_0.pb" --input "image=$data/input_0.pb"
expect_status 2 run "$model" --input "$data/input_0.pb" --output probabilities=
expect_status 2 "$model" -o m.o --no-such-option
grep -q "'dlcc --help' lists the options" err.txt || fail "no help for an unknown option"
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
expect_status 2 "$model" -o taken.o
expect_status 1 "$model" -o missing/m.o -v
! grep -q '^import' err.txt || fail "the model was read although the object cannot be written"
expect_status 1 "$model" -o "$(printf "x%.0s" {1..300}).o"
expect_status 1 "$model" -o m.o --tune --tuning-records missing/records.json
expect_status 1 bench "$model" --html missing/page.html
[ ! -s out.txt ] || fail "measured although the page cannot be written"
expect_status 0 "$model" -o /dev/null
[ ! -e /dev/null.h ] || fail "a header was written beside a device"
mkdir taken.h
for arguments in "-o taken.o" "-o m.h" "-o m.o -MD -MF m.h" "-o m.o --weights external=m.h" "-o $model"; do
  status=0
  "$dlcc" "$model" $arguments -v 2> err.txt > out.txt || status=$?
  [ $status != 0 ] && ! grep -q '^import' err.txt || fail "status $status; the model was read: dlcc MODEL $arguments"
  grep -q 'help: .*\(name\|path\)' err.txt || fail "no remedy for $arguments: $(cat err.txt)"
done
rmdir taken.o taken.h
expect_files
echo "nothing was left behind"
expect_status 1 check "$source/tests/programs/threads.rly" --dim n=2
grep -q 'threads.rly: error\[undefined-value\]: --dim n=2' err.txt || fail "no error for an unknown dimension"
expect_status 1 check "$source/tests/programs/threads.rly" --bound boxes=5
grep -q 'threads.rly: error\[undefined-value\]: --bound boxes=5' err.txt || fail "no error for an unknown value"
for command in inspect "run --input $data/input_0.pb" "opt --passes=fuse" ops "ops --json"; do
  status=0
  [[ $command = ops* ]] || command="$command $model"
  "$dlcc" $command > /dev/full 2> err.txt || status=$?
  [ $status = 1 ] && grep -q 'standard output' err.txt || fail "status $status of $command to a full device: $(cat err.txt)"
done
for command in --help --print-completion=bash; do
  status=0
  "$dlcc" $command > /dev/full 2> err.txt || status=$?
  [ $status = 1 ] && grep -q 'standard output' err.txt || fail "status $status of $command to a full device: $(cat err.txt)"
done
# A message that cannot be written does not change the status.
for stream in /dev/full closed; do
  for case in '1 check no-such-model.onnx' '2 --no-such-option'; do
    status=0
    if [ $stream = closed ]; then "$dlcc" ${case#* } 2>&- || status=$?; else "$dlcc" ${case#* } 2> $stream || status=$?; fi
    [ $status = ${case%% *} ] || fail "status $status of '${case#* }' with standard error $stream"
  done
done

expect_status 0 "$model" -o m.o
[ ! -s out.txt ] && [ ! -s err.txt ] || fail "a compilation without a terminal is not silent"
expect_files m.h m.o
mkdir other
"$dlcc" - -o - < "$model" --prefix=m > other/m.o
cmp m.o other/m.o
"$dlcc" verify - "$data" < "$model" > out.txt || fail "verify does not read standard input"
expect_status 1 verify "$model" "$data" missing
[ "$(wc -l < out.txt)" = 2 ] && grep -q '^FAIL missing not compared$' out.txt || fail "verify: $(cat out.txt)"
grep -q 'error\[cannot-read-file\]' err.txt || fail "verify does not report a missing folder"
mkdir partial
cp "$data/input_0.pb" partial/
expect_status 1 verify "$model" partial --diagnostics=json
grep -q '"file": "partial/output_0.pb"' err.txt || fail "verify reports no JSON: $(cat err.txt)"
rm -r partial
expect_status 0 verify --json "$model" "$data"
grep -q '"passed": 1' out.txt && grep -q '"largest_error": ' out.txt || fail "verify --json: $(cat out.txt)"
expect_status 0 run "$model" --input "$data/input_0.pb" --output all.npz
expect_status 1 run "$model" --input all.npz
grep -q "there is no array for input 'image'" err.txt && grep -q 'the archive has: probabilities' err.txt || fail "run with a wrong archive"
echo 'def @main(%probabilities: Tensor[(n, m), float32]) { shape_of(%probabilities) }' > all.rly
expect_status 0 run --interpret all.rly --input all.npz
grep -qF 'Tensor[(2), int32]{1, 10}' out.txt || fail "interpreting an archive: $(cat out.txt)"
rm all.npz all.rly
cat > functions.rly << 'END'
def @main(%f: fn (int32) -> int32, %xs: List[int32], %fs: List[fn (int32) -> int32]) {
  (%f(@hd(%xs)), @map(@hd(%fs), %xs))
}
END
expect_status 0 run --interpret functions.rly --input 'f=fn (%y: int32) { %y * 7 }' --input 'xs=Cons(1, Cons(2, Nil))' \
  --input 'fs=Cons(fn (%y: int32) { %y + @id(10) }, Nil)'
grep -qF '(7, Cons(11, Cons(12, Nil)))' out.txt || fail "functions as inputs: $(cat out.txt)"
echo 'def @main[A](%f: fn (A) -> A, %xs: List[A]) { @map(%f, %xs) }' > functions.rly
expect_status 0 run --interpret functions.rly --input 'fn (%y: float32) { %y * 7f }' --input 'Cons(1f, Nil)'
grep -qF 'Cons(7f, Nil)' out.txt || fail "inputs of a generic @main: $(cat out.txt)"
expect_status 1 run --interpret functions.rly --input 'fn (%y: float32) { %y * 7f }' --input 'Cons(1, Nil)'
grep -qF 'argument 2 decides what A is: List[int32]' err.txt || fail "inputs of two types: $(cat err.txt)"
echo 'def @main(%xs: List[int32]) { %xs }' > functions.rly
printf '// two elements\nCons(5,\nCons(6, Nil))\n' > value.rly
expect_status 0 run --interpret functions.rly --input xs=value.rly
grep -qF 'Cons(5, Cons(6, Nil))' out.txt || fail "a file with a value: $(cat out.txt)"
echo 'Cons(5, 7f)' > value.rly
expect_status 1 run --interpret functions.rly --input value.rly
grep -qF 'value.rly:1:9: error[type-mismatch]' err.txt || fail "a file with a wrong value: $(cat err.txt)"
expect_status 1 run --interpret functions.rly --input xs=absent.rly
rm value.rly
expect_status 1 run --interpret functions.rly --input 'Cons(1'
grep -qF '1:7: error[syntax-error]: expected' err.txt || fail "an incomplete input: $(cat err.txt)"
expect_status 1 run --interpret functions.rly --input 'Cons(1, Nil)) }'
grep -qF "1:13: error[syntax-error]: expected the end of the text, found ')'" err.txt || fail "text behind an input: $(cat err.txt)"
echo 'def @main(%x: Tensor[(?, 3), float32]) { sum(%x, axis=[0]) }' > functions.rly
expect_status 1 run --interpret functions.rly --input 'zeros(shape=[0, 3], dtype="float32")'
grep -qF 'where x_0 is at least 1, found Tensor[(0, 3), float32]' err.txt || fail "an input without rows: $(cat err.txt)"
expect_status 0 run --interpret functions.rly --dim x_0=0.. --input 'zeros(shape=[0, 3], dtype="float32")'
rm functions.rly
expect_status 1 run "$model" --input "$data/input_0.pb" --output nowhere=x.npy
grep -q 'outputs: probabilities' err.txt && [ ! -e x.npy ] || fail "run does not list the outputs"
expect_status 1 run "$model" --input "$data/input_0.pb" --output x.npy --output probabilities=missing/x.npy
expect_status 2 run "$model" --input "$data/input_0.pb" --output x.npy --output probabilities=./x.npy
[ -z "$(ls x.npy* 2> ls.txt)" ] || fail "run wrote one of two outputs"
expect_status 0 run "$model" --input "$data/input_0.pb" --output x.npy --output probabilities=x.pb
[ -s x.npy ] && [ -s x.pb ] || fail "run did not write both outputs"
for command in "check $model" "inspect $model" "run $model --input $data/input_0.pb" "verify $model $data" \
               "bench $model --runs 2" "opt $model --passes=fuse" "$model -o other/m.o"; do
  expect_status 0 $command --time-passes
  grep -q 'ms  import$' err.txt || fail "--time-passes of $command: $(cat err.txt)"
done
echo "from standard input to standard output"

mkdir interrupted
nanoseconds=$(date +%s%N)
expect_status 0 "$model" -o interrupted/m.o --prefix=m
nanoseconds=$(($(date +%s%N) - nanoseconds))
rm interrupted/*
for signal in INT TERM HUP; do
  for part in 10 30 50 70 80 85 90 93 96 99; do  # percent of the time of a compilation
    delay=$(printf '%d.%09d' $((nanoseconds * part / 100 / 1000000000)) $((nanoseconds * part / 100 % 1000000000)))
    "$dlcc" "$model" -o interrupted/m.o --prefix=m 2> err.txt & compilation=$!
    sleep $delay
    kill -$signal $compilation 2> err.txt || true
    wait $compilation 2> err.txt || true
    for file in $(ls -A interrupted); do
      cmp interrupted/$file $file || fail "an incomplete file $file was left by SIG$signal after $delay s"
    done
    rm -f interrupted/*
  done
done
(ulimit -f 8; "$dlcc" "$model" -o interrupted/m.o 2> err.txt) && fail "a file exceeds the limit of its size"
grep -q 'File too large' err.txt && [ -z "$(ls -A interrupted)" ] || fail "files were left beyond the limit of their size"
rmdir interrupted
if memory=$(mktemp -d --tmpdir=/dev/shm 2> err.txt); then
  expect_status 0 "$model" -o "$memory/m.o" --prefix=m
  cmp "$memory/m.o" m.o && [ -e "$memory/m.h" ] || fail "a file in /dev/shm is taken for a device"
  rm -r "$memory"
fi
mkfifo pipe
cat pipe > piped.o & reader=$!
expect_status 0 "$model" -o pipe --prefix=m
wait $reader
cmp piped.o m.o || fail "another object came through a pipe"
"$dlcc" "$model" -o pipe 2> err.txt & compilation=$!  # a pipe that nobody reads
sleep 1
kill $compilation
! wait $compilation 2> err.txt || fail "dlcc wrote to a pipe without a reader"
rm pipe piped.o
cp "$model" victim.onnx
expect_status 2 bench victim.onnx --runs 2 --html victim.onnx
expect_status 2 run victim.onnx --input "$data/input_0.pb" --output victim.onnx
cmp "$model" victim.onnx || fail "an input was overwritten"
cp "$data/input_0.pb" data.json
expect_status 2 bench "$model" --runs 2 --input image=data.json --report data.json
cmp "$data/input_0.pb" data.json || fail "bench overwrote its data"
rm victim.onnx data.json
echo "interrupted compilations"
expect_status 0 "$model" -c -o m.o -MD
[ "$(cat m.d)" = "m.o: $model" ] || fail "wrong dependencies: $(cat m.d)"
expect_status 0 "$model" -o m.o -MD -MF other/rules -MT 'a target'
[ "$(cat other/rules)" = "a\\ target: $model" ] || fail "wrong dependencies: $(cat other/rules)"
cp other/rules quoted_rules
expect_status 0 "$model" -o m.o -MMD -MF other/rules -MQ 'a target'
cmp quoted_rules other/rules
rm quoted_rules
echo "dependency files"

expect_status 0 "$model" -o wide.o --prefix=m -mcpu=x86-64-v4
expect_status 0 "$model" -o narrow.o --prefix=m -mcpu=x86-64-v4 -mattr=-avx512f
expect_status 0 "$model" -o added.o --prefix=m -mcpu=haswell -mattr=+avx512f,+avx512vl,+avx512bw,+avx512dq
for object in wide narrow added; do objdump -d $object.o > $object.txt; done
grep -q zmm wide.txt || fail "x86-64-v4 has no 512-bit vectors"
! grep -q zmm narrow.txt || fail "-mattr=-avx512f leaves 512-bit vectors"
grep -q zmm added.txt || fail "-mattr=+avx512f gives no 512-bit vectors"
printf 'def @main(%%x: Tensor[(7), float32], %%y: Tensor[(9), float64]) { (floor(%%x), ceil(%%x), trunc(%%x), round(%%y)) }\n' > rounded.rly
expect_status 0 rounded.rly -o rounded.o -mcpu=x86-64
! nm --undefined-only rounded.o | grep . || fail "an object for CPUs without SSE4.1 needs a function"
echo "CPU features"
expect_status 2 "$model" -o m.o --weights=nowhere
expect_status 2 "$model" -o m.o --weights=section=.qspi --weights=external=w.bin
grep -q 'section= and external= exclude each other' err.txt || fail "two places for the weights: $(cat err.txt)"
expect_status 0 "$model" -o placed.o --weights section=.qspi
readelf -SW placed.o > placed.txt
grep -q '\.qspi .* A ' placed.txt && ! grep -q 'rodata\.placed_weights' placed.txt || fail "the weights are not in .qspi"
echo "a section for the weights"
expect_status 2 ops --target z80
grep -q 'the targets are .*aarch64' err.txt || fail "no list of targets for an unknown one"
for target in x86-64 aarch64; do
  expect_status 0 ops --target $target
  grep -qE '^nn\.conv2d .* x +x$' out.txt || fail "no code for convolutions in float32 and float64 on $target"
done
expect_status 0 ops --target x86-64 --json
grep -q '"types": \[' out.txt || fail "ops --target --json has no types"
echo "operators of a target"
expect_status 0 "$model" -v -o m.o
grep -q '^generate code' err.txt || fail "-v does not print the stages"
if command -v script > script.txt; then
  on_terminal() { script -qec "env $* '$dlcc' '$model' -o m.o" /dev/null < /dev/null | tr '\r\033' '\n.'; }
  on_terminal TERM=xterm | grep -q 'generate code' || fail "a terminal sees no progress"
  [ -z "$(on_terminal TERM=dumb)" ] || fail "a terminal without control sequences gets some: $(on_terminal TERM=dumb)"
fi
rm script.txt
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
if ! grep -q ' xop' /proc/cpuinfo; then # as in all CPUs after AMD's bdver4
  expect_status 0 "$model" -o tuned2.o -mcpu=x86-64-v3,bdver4 --tune --tuning-records lower.json
  grep -q '"cpu": "x86-64-v3"' lower.json && ! grep -q bdver4 lower.json || fail "the tuned level is not the machine's"
  expect_status 1 "$model" -o tuned2.o -mcpu=bdver4 --tune --tuning-records none.json
  grep -q 'cannot run code for bdver4' err.txt || fail "tuning for a CPU that the machine lacks"
fi
expect_status 0 "$model" -o again.o --prefix=m -mcpu=native --tuning-records records.json -MD
cmp tuned.o again.o
grep -q 'records.json' again.d || fail "the records are no dependency"
expect_status 0 "$model" -o again.o --prefix=m -mcpu=native --tuning-records records.json -MD -MP
[ "$(tail -1 again.d)" = records.json: ] && ! grep -q "^$model:" again.d || fail "wrong empty rules: $(cat again.d)"
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

printf 'def @f(%%x: int32) { %%x+1 }\n' > layout.rly
expect_status 1 fmt --check layout.rly
[ "$(cat out.txt)" = layout.rly ] || fail "a file with another layout is not named"
expect_status 0 fmt layout.rly
[ "$(cat out.txt)" = 'def @f(%x: int32) { %x + 1 }' ] || fail "fmt prints $(cat out.txt)"
cmp -s out.txt layout.rly && fail "fmt without --in-place changes the file"
expect_status 0 fmt -i layout.rly
expect_status 0 fmt --check layout.rly
expect_status 0 fmt - < layout.rly
cmp out.txt layout.rly || fail "standard input is laid out differently"
printf 'def @f() { 1 +\n' > broken.rly
cp broken.rly kept.rly
expect_status 1 fmt -i broken.rly layout.rly
cmp broken.rly kept.rly || fail "a text that cannot be read is changed"
expect_status 2 fmt
echo "fmt"

printf 'def @main(%%x: int32) { nn.relu(%%x, 1f) }\n' > types.rly
expect_status 1 check types.rly
expect_status 0 check --syntax-only types.rly
expect_status 1 check --syntax-only broken.rly
expect_status 0 check --syntax-only "$model"
expect_status 0 check --syntax-only - < "$model"
: > empty.rly
expect_status 1 check --syntax-only empty.rly
echo "check --syntax-only"

printf 'def @main(%%x: Tensor[(1, 8), float32]) { nn.relu(meta[relay.Constant][0]) + %%x }\n' > printed.rly
expect_status 1 check printed.rly
expect_status 1 check --missing-meta=error printed.rly
expect_status 0 check --missing-meta=opaque printed.rly
expect_status 0 check --missing-meta=opaque "$model"
expect_status 1 check --missing-meta=opaque types.rly
expect_status 2 check --missing-meta=all printed.rly
echo "check --missing-meta"

# The memory that the system gives. Programs with sanitizers need more address space.
printf 'def @main(%%x: Tensor[(1, 16384), float32]) { nn.matmul(%%x, ones(shape=[16384, 16384], dtype="float32")) }\n' > big.rly
if (ulimit -v 600000; "$dlcc" --version > out.txt 2>&1); then
  (ulimit -v 600000; expect_status 1 big.rly -o big.o)
  grep -q 'error\[too-large\]: not enough memory for this model' err.txt && [ ! -e big.o ] || fail "without memory: $(cat err.txt)"
fi
echo "not enough memory"

# Limits of memory: nothing is written above them, and the error names what needs most.
rm -f limited.o limited.h
limited=("$model" -o limited.o --target cortex-m4)
expect_status 1 "${limited[@]}" --max-ram 16K
grep -q 'bytes of RAM, and --max-ram allows 16384' err.txt || fail "--max-ram: $(cat err.txt)"
grep -q "step 1, fused_max_pool2d (node 'pool1' (MaxPool))" err.txt || fail "--max-ram names no step: $(cat err.txt)"
grep -q '25088 bytes: float32 (1, 8, 28, 28), relu1' err.txt || fail "--max-ram names no buffer: $(cat err.txt)"
expect_status 1 "${limited[@]}" --max-flash 32768
grep -q 'bytes of flash, and --max-flash allows 32768' err.txt || fail "--max-flash: $(cat err.txt)"
grep -q "18560 bytes of weights: step 4, .*'conv3'" err.txt || fail "--max-flash names no step: $(cat err.txt)"
[ ! -e limited.o ] && [ ! -e limited.h ] || fail "an object above the limits was written"
printf 'def @main(%%x: Tensor[(h, 16), float32]) { nn.softmax(tanh(nn.softmax(%%x))) }\n' > rows.rly
expect_status 1 rows.rly -o rows.o --max-ram 16 --dim h=1..20
grep -q '1280 bytes: float32 (20, ' err.txt || fail "--max-ram does not name a buffer at the largest size: $(cat err.txt)"
expect_status 1 rows.rly -o rows.o --max-ram 16
grep -q -- '--dim h=1..64' err.txt || fail "--max-ram does not say how an arena gets a constant size: $(cat err.txt)"
expect_status 0 "${limited[@]}" --max-ram 64K --max-flash 1M
arena=$(sed -n 's/#define LIMITED_ARENA_BYTES \([0-9]*\)u.*/\1/p' limited.h)
expect_status 1 "${limited[@]}" --max-ram "$((arena + 1))"
echo "memory limits"
