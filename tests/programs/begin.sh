# The beginning of a test that runs dlcc in an empty folder, for `source`. The test's arguments are DLCC SOURCE_FOLDER
# WORK_FOLDER; this sets dlcc, source, model and data (the digit classifier and its data set), and enters the folder.
dlcc=$(realpath "$1") source=$(realpath "$2") work=$3
model=$source/examples/digits/digits.onnx data=$source/examples/digits/test_data_set_0
rm -rf "$work"
mkdir -p "$work"
cd "$work"

fail() {  # TEXT
  echo "$1"
  exit 1
}

expect_status() {  # STATUS ARGUMENTS...: runs dlcc with its output in out.txt and err.txt
  local wanted=$1 status=0
  shift
  "$dlcc" "$@" >out.txt 2>err.txt || status=$?
  [ $status = "$wanted" ] || fail "status $status instead of $wanted: dlcc $*: $(cat err.txt)"
}

skip_without() {  # PROGRAMS...: ends the test with status 77 (skipped) if one is not installed
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
  done
}
