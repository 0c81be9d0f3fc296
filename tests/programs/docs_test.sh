#!/usr/bin/env bash
# The examples of README.md and docs/*.md, run as a reader runs them. Three kinds of fenced blocks are examples:
#
#   ```LANGUAGE file=NAME     a file that later commands of the page use
#   ```console                lines '$ COMMAND', each followed by the output of the command
#   ```LANGUAGE quote=PATH    consecutive lines of a file of the repository
#
# '...' in an output or in a quote matches any text. The blocks of a page run in order, in an empty folder that has links to
# the repository's files and to build/release; dlcc is on the PATH. A command must exit with status 0. A page without an
# output or a quote fails, and so does the name of a source file that does not exist.
# docs_test.sh DLCC SOURCE_FOLDER WORK_FOLDER [PAGE...]
set -euo pipefail
dlcc=$(realpath "$1") source=$(realpath "$2") work=$3
mkdir -p "$work"
work=$(realpath "$work")
PATH=$(dirname "$dlcc"):$PATH

# Whether the text matches the pattern, in which '...' matches any text.
matches() {
  local pattern
  pattern=$(printf '%s.' "$2" | sed 's/[][\\*?()|+@!]/\\&/g; s/\.\.\./*/g')
  pattern=${pattern//$'\n*\n'/$'\n*'}  # a line '...' matches no lines, too
  [[ $1 == ${pattern%.} ]]
}

# The functions below check one page: `page` is its name, `line_number` the last line of a block, `checks` the number of outputs
# and quotes.
fail() {
  echo "$page:$line_number: $1"
  exit 1
}

check_command() {
  local output status=0
  output=$(bash -c "$1" 2>&1 </dev/null) || status=$?
  [ $status = 0 ] || fail "'$1' exits with status $status:"$'\n'"$output"
  matches "$output" "${2%$'\n'}" || fail "'$1' prints"$'\n'"$output"$'\n'"in place of"$'\n'"$2"
  checks=$((checks + 1))
}

check_console() {
  local line command='' expected=''
  while IFS= read -r line; do
    if [[ $line == '$ '* ]]; then
      [ -z "$command" ] || check_command "$command" "$expected"
      command=${line#'$ '} expected=
    else
      expected+=$line$'\n'
    fi
  done <<<"${1%$'\n'}"
  check_command "$command" "$expected"
}

check_quote() {
  matches $'\n'"$(cat "$1")"$'\n' $'...\n'"$2..." || fail "these lines are not in $1:"$'\n'"$2"
  checks=$((checks + 1))
}

# Checks that the source files named by the page exist, by the end of their paths; names with capital letters are
# placeholders.
check_file_names() {
  local name
  for name in $(grep -oE '`[a-z0-9_./]+\.(cpp|c|h|def|py|sh|txt)`' "$1" | tr -d '`'); do
    grep -qE "(^|/)${name//./\\.}\$" "$work/files.txt" || fail "there is no file $name"
  done
}

check_block() {
  case $1 in
    *' file='*)
      [ ! -L "${1##* file=}" ] || fail "the repository has a file '${1##* file=}'"
      printf '%s' "$2" >"${1##* file=}"
      ;;
    *' quote='*) check_quote "${1##* quote=}" "$2" ;;
    console) check_console "$2" ;;
  esac
}

check_page() (
  page=$(basename "$1") line_number=0 checks=0
  folder=$work/${page%.md}
  rm -rf "$folder"
  mkdir -p "$folder/build"
  cd "$folder"
  for entry in "$source"/*; do [ "$(basename "$entry")" = build ] || ln -s "$entry" .; done
  ln -s "$(dirname "$dlcc")" build/release
  check_file_names "$1"
  block='' info='' inside=no
  while IFS= read -r line; do
    line_number=$((line_number + 1))
    if [[ $line != '```'* ]]; then
      block+=$line$'\n'
    elif [ $inside = no ]; then
      inside=yes info=${line#'```'} block=
    else
      inside=no
      check_block "$info" "$block"
    fi
  done <"$1"
  [ $inside = no ] || fail "the block does not end"
  [ $checks -gt 0 ] || fail "the page has no example"
)

(cd "$source" && find compiler examples frontends runtime targets tests -type f) >"$work/files.txt"

# A page whose example is wrong must fail.
refuses() {
  printf '%b' "$1" >"$work/wrong.md"
  ! check_page "$work/wrong.md" >/dev/null || { echo "this page passes: $1"; exit 1; }
}
refuses '```console\n$ echo one\ntwo\n```\n'
refuses '```console\n$ echo one; false\none\n```\n'
refuses '```console\n$ echo one\none\n$ echo "[a"\n[b\n```\n'
refuses '```sh quote=README.md\nno line of this page\n```\n'
refuses '```sh file=a\ntext\n```\n'
refuses 'See `no_such_test.sh`.\n```console\n$ echo one\none\n```\n'
refuses '```console\n$ echo one\none\n```\n```console\n$ echo two\n'

pages=("${@:4}")
[ ${#pages[@]} -gt 0 ] || pages=("$source"/README.md "$source"/docs/*.md)
for path in "${pages[@]}"; do check_page "$path"; done
