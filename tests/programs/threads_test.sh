#!/usr/bin/env bash
# One network compiled for one, two and three threads gives the same bytes with each executor, on all processors and on
# one; the pool also runs under ThreadSanitizer where the compiler has it. A late worker takes nothing of the next job.
# threads_test.sh DLCC SOURCE_FOLDER WORK_FOLDER RUNTIME_LIBRARY
set -euo pipefail
dlcc=$1 source=$2 out=$3 runtime=$4
mkdir -p "$out"
"$dlcc" "$source/tests/programs/threads.rly" -o "$out/one.o"
"$dlcc" "$source/tests/programs/threads.rly" -o "$out/two.o" --threads=2
"$dlcc" "$source/tests/programs/threads.rly" -o "$out/three.o" --threads=3
for object in one two; do nm "$out/$object.o" > "$out/$object.txt"; done
! grep -q dlcc_default_executor "$out/one.txt" || { echo "a model for one thread needs the pool"; exit 1; }
grep -q dlcc_default_executor "$out/two.txt" || { echo "no loop of the network is run by two threads"; exit 1; }

cd "$out"
build=(gcc -std=c11 -O2 -Wall -Wextra -pedantic -Werror -I. -I"$source/runtime/include" "$source/tests/programs/threads.c" one.o two.o three.o)
"${build[@]}" "$runtime" -lpthread -o threads
./threads
taskset --cpu-list "$(taskset --cpu-list --pid $$ | grep --only-matching '[0-9]*$')" ./threads
gcc -std=c11 -O2 -Wall -Wextra -Werror -I"$source/runtime/include" -I"$source/runtime/src" "$source"/tests/programs/late_worker.c \
  "$source/runtime/src/processors.c" -lpthread -o late_worker
./late_worker
if echo 'int main(void) { return 0; }' | gcc -fsanitize=thread -x c - -o probe 2>/dev/null && ./probe; then
  "${build[@]}" -g -fsanitize=thread "$source"/runtime/src/{pool,processors}.c -lpthread -o threads_checked
  TSAN_OPTIONS=halt_on_error=1 ./threads_checked
else
  echo "without ThreadSanitizer"
fi
