#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. DLCC_TEST_DATA may name a folder with further models.
# Arguments go to ctest, e.g. tests/run.sh -R unit/
set -euo pipefail
data=${DLCC_TEST_DATA:+$(realpath "$DLCC_TEST_DATA")}
cd "$(dirname "$0")/.."
bash .ci/install-dependencies.sh tests
cmake --preset release -DDLCC_TEST_DATA="$data"
cmake --build --preset release
ctest --test-dir build/release -j2 --output-on-failure "$@"
