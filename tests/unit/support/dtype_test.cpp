// Element types: their names, their ONNX numbers and the bytes that elements take.
#include "support/dtype.h"

#include <doctest/doctest.h>

using namespace dlcc;

TEST_CASE("element types are found by name and by ONNX number") {
  for (DType t : {dtype::boolean, dtype::i4, dtype::u64, dtype::f16, dtype::f64}) {
    CHECK(dtype_named(name(t)) == t);
    CHECK(dtype_of_onnx(onnx_number(t)) == t);
  }
  CHECK(dtype_named("complex64") == std::nullopt);
}

TEST_CASE("two sub-byte elements share a byte") {
  CHECK(storage_bytes(dtype::i4, 3) == 2);
  CHECK(storage_bytes(dtype::f32, 3) == 12);
}
