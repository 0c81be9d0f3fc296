#!/usr/bin/env bash
# Whole networks with expected outputs, through the object. networks_test.sh DLCC DATA_FOLDER; exit status 77 (skipped) without the data.
set -euo pipefail
dlcc=$1 data=${2:-}
[ -d "$data/onnx/light" ] || { echo "skipped: DLCC_TEST_DATA has no onnx/light"; exit 77; }
for network in light_resnet50 light_squeezenet light_vgg19; do
  "$dlcc" verify "$data/onnx/light/$network/model.onnx" "$data/onnx/light/$network/test_data_set_0"
  "$dlcc" verify --threads=2 "$data/onnx/light/$network/model.onnx" "$data/onnx/light/$network/test_data_set_0"
done
