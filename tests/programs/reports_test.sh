#!/usr/bin/env bash
# The reports of --report and bench --html: equal bytes for equal inputs, an unchanged object, complete data, a
# well-formed page for any name in the model, refused output files. report_browser_test.sh opens the page.
# reports_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
dlcc=$(realpath "$1") source=$(realpath "$2") work=$3
programs=$source/tests/programs digits=$source/examples/digits/digits.onnx
command -v python3 >/dev/null || { echo "there is no python3 to parse the reports"; exit 77; }
rm -rf "$work"
mkdir -p "$work/one" "$work/two"
cd "$work"

fail() {
  echo "$1"
  exit 1
}

# refused STATUS TEXT ARGUMENTS...: dlcc exits with the status and a message that has the text, and writes no object.
refused() {
  local status=0 message
  message=$("$dlcc" "${@:3}" 2>&1) || status=$?
  [ $status = "$1" ] || fail "'${*:3}' exits with status $status"
  [[ $message == *"$2"* ]] || fail "'${*:3}' says: $message"
  [ ! -e refused.o ] || fail "'${*:3}' wrote an object"
}

(cd one && "$dlcc" "$digits" -o digits.o --report digits.html --report digits.json)
(cd two && "$dlcc" "$digits" -o digits.o --report=digits.json --report=digits.html)
cmp one/digits.html two/digits.html
cmp one/digits.json two/digits.json
"$dlcc" "$digits" -o digits.o
cmp digits.o one/digits.o
python3 "$programs/check_report.py" one/digits.html one/digits.json

# Names of equal length, so that the model stays well-formed.
LC_ALL=C sed 's#probabilities#</script><b>x#g; s#conv1#<i>\&"#g' "$digits" >hostile.onnx
"$dlcc" hostile.onnx -o hostile.o --report hostile.html --report hostile.json
grep -q '</script><b>x' hostile.json || fail "the model's name is missing in the report"
python3 "$programs/check_report.py" hostile.html hostile.json

"$dlcc" bench "$digits" --runs 2 --html measured.html --report measured.json >bench.txt
python3 "$programs/check_report.py" measured.html measured.json measured
"$dlcc" "$digits" -o digits.rly --emit=relay --report relay.json
cmp relay.json one/digits.json

refused 2 "ending in .html or .json" "$digits" -o refused.o --report report.txt
refused 1 "no_such_folder" "$digits" -o refused.o --report no_such_folder/report.html
cp "$digits" model.json
refused 2 "would overwrite this input" model.json -o refused.o --report model.json
cmp model.json "$digits"
