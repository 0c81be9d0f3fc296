#!/usr/bin/env bash
# One model runs on two threads with two arenas at the same time. two_threads_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
mkdir -p "$3"
"$1" "$2/examples/digits/digits.onnx" -o "$3/digits.o"
gcc -std=c11 -O2 -Wall -Wextra -pedantic -Werror -I"$3" "$2/tests/programs/two_threads.c" "$3/digits.o" -lpthread -o "$3/two_threads"
"$3/two_threads"
