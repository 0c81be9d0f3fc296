#!/usr/bin/env bash
# The objects of whole networks: networks with random weights give the results of their definitions on every CPU level and
# as the default object, which selects a level, and the networks of DATA_FOLDER give their recorded results. --verify-each
# verifies the module after every pass. networks_test.sh DLCC NETWORKS_FOLDER [DATA_FOLDER]
set -euo pipefail
dlcc=$1 networks=$2 data=${3:-}
levels=(x86-64-v2 x86-64-v3)
if grep -qw avx512vl /proc/cpuinfo; then levels+=(x86-64-v4); else echo "not run on x86-64-v4: this machine has no AVX-512"; fi
check() {  # NETWORK FLAGS..
  "$dlcc" verify --rtol=1e-4 --atol=1e-4 "$1/model.rly" "$1/test_data_set_0" "${@:2}"
}
for network in "$networks"/*; do
  for level in "${levels[@]}"; do check "$network" -mcpu="$level"; done
  check "$network" --verify-each
  check "$network" -mcpu=x86-64-v3 --accuracy=strict --threads=2
done
for network in "$data"/onnx/light/light_{resnet50,squeezenet,vgg19}; do
  [ -d "$network" ] || continue
  "$dlcc" verify --verify-each "$network/model.onnx" "$network/test_data_set_0"
  "$dlcc" verify --threads=2 "$network/model.onnx" "$network/test_data_set_0"
done
