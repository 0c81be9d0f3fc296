#!/usr/bin/env bash
# examples/ci-benchmark measures a model in a linked program, and compares recorded latencies with a baseline. The result of
# this test does not depend on times.   ci_benchmark_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$(realpath "$1") source=$(realpath "$2") work=$3
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
cd "$work"
benchmark=$source/examples/ci-benchmark/benchmark.py
# expect STATUS TEXT ARGUMENT...: the exit status of benchmark.py, and a pattern in its output.
expect() {
  local status=0
  python3 "$benchmark" "${@:3}" >out.txt 2>&1 || status=$?
  [ $status = "$1" ] && grep -qE -- "$2" out.txt || { echo "benchmark.py ${*:3}: status $status: $(cat out.txt)"; exit 1; }
}
echo '{"A": {"same": 10, "slow": 10, "fast": 10, "gone": 1}, "B": {"other": 1}}' >baseline.json
echo '{"A": {"same": 10.9, "fast": 5}}' >good.json
echo '{"A": {"same": 10.9, "slow": 11.1}}' >slow.json
echo '{"A": {"new": 3, "other": 9}}' >new.json
expect 0 '^same +10.00 +10.90 +\+9.0%$' compare baseline.json good.json
expect 0 '^fast +10.00 +5.00 +-50.0%$' compare baseline.json good.json
expect 1 '^slow .*\+11.0%  slower$' compare baseline.json slow.json
expect 1 '^1 slower by more than 10 %' compare baseline.json slow.json
expect 0 '^slow .*\+11.0%$' compare baseline.json slow.json --tolerance 12
expect 1 '^2 slower' compare baseline.json slow.json --tolerance 5
expect 0 '^other +- +9.00 +-  no baseline on A$' compare baseline.json new.json
expect 2 'missing.json' compare missing.json good.json
expect 2 'benchmark.py: Expecting' compare "$benchmark" good.json
python3 "$benchmark" store baseline.json slow.json
expect 0 '^slow .*\+0.0%$' compare baseline.json slow.json
expect 0 '^fast .*-50.0%$' compare baseline.json good.json
python3 "$benchmark" store first.json new.json
expect 0 '^new .*\+0.0%$' compare first.json new.json
echo "recorded latencies"

model=$source/examples/digits/digits.onnx
python3 "$benchmark" measure "$model" --dlcc "$dlcc -O2" --seconds 0.01 --processes 2 >measured.json
python3 "$benchmark" store first.json measured.json
expect 0 'digits.onnx .*\+0.0%$' compare first.json measured.json
expect 2 'dlcc' measure "$model" --dlcc "$dlcc --no-such-option"
echo "a measured model"
