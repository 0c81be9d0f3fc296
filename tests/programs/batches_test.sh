#!/usr/bin/env bash
# examples/batches by the commands of its README.md, with warnings as errors and under sanitizers where gcc has them.
# batches_test.sh DLCC SOURCE_FOLDER WORK_FOLDER
set -euo pipefail
source "$(dirname "$0")/begin.sh"

cp "$source"/examples/batches/* .
PATH=$(dirname "$dlcc"):$PATH
sed -n 's/^    //p' README.md >commands.sh
expected='1 queries: 1 found, the first at a squared distance of 0.2
8 queries: 8 found, the first at a squared distance of 0.2
200 queries: 200 found, the first at a squared distance of 0.2
257 queries: status 8, a size out of its bounds'
[ "$(bash -e commands.sh)" = "$expected" ] || fail "the commands of README.md print: $(bash -e commands.sh)"

flags=(-std=c11 -Wall -Wextra -Wconversion -pedantic -Werror)
if gcc -fsanitize=address,undefined -x c - -o probe <<<'int main(void) { return 0; }' 2>/dev/null && ./probe; then
  flags+=(-fsanitize=address,undefined)
fi
gcc "${flags[@]}" main.c nearest.o -o checked
[ "$(./checked)" = "$expected" ] || fail "with ${flags[*]}: $(./checked)"
