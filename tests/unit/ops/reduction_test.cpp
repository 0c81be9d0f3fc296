// Reductions and arg-reductions, with their axes as attributes and as operands.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;
using tensor::Status;

TEST_CASE("reductions over axes: keepdims, exclude, negative axes") {
  Constant x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  check_values(apply("sum", {}, {x}), {}, {21});
  check_values(apply("sum", {{"axis", 1}}, {x}), {2}, {6, 15});
  check_values(apply("sum", {{"axis", list({-2})}, {"keepdims", true}}, {x}), {1, 3}, {5, 7, 9});
  check_values(apply("sum", {{"axis", 0}, {"exclude", true}}, {x}), {2}, {6, 15});
  check_values(apply("sum", {{"axis", AttrList{}}}, {x}), {}, {21});
  check_values(apply("sum", {{"axis", list({0, 1})}, {"exclude", true}}, {x}), {2, 3}, {1, 2, 3, 4, 5, 6});
  check_values(apply("mean", {{"axis", list({0, 1})}}, {x}), {}, {3.5});
  check_values(apply("prod", {}, {x}), {}, {720});
  check_values(apply("max", {{"axis", 0}}, {x}), {3}, {4, 5, 6});
  check_values(apply("min", {{"axis", 1}}, {x}), {2}, {1, 4});
}

TEST_CASE("reductions of integers, bools, float16 and NaN") {
  check_values(apply("mean", {}, {tensor_of(dtype::i32, {2}, {-3, -4})}), {}, {-3});
  check_values(apply("mean", {}, {tensor_of(dtype::u8, {3}, {200, 200, 201})}), {}, {200});
  check_values(apply("max", {}, {tensor_of(dtype::boolean, {2}, {0, 1})}), {}, {1});
  check_values(apply("all", {}, {tensor_of(dtype::boolean, {2}, {0, 1})}), {}, {0});
  check_values(apply("any", {}, {tensor_of(dtype::boolean, {2}, {0, 1})}), {}, {1});
  check_values(apply("sum", {}, {tensor_of(dtype::f16, {3}, {2048, 1, 1})}), {}, {2050});
  check_values(apply("max", {}, {floats({3}, {1, NaN, 2})}), {}, {NaN});
  check_values(apply("min", {}, {floats({3}, {1, NaN, 2})}), {}, {NaN});
}

TEST_CASE("a reduction of no axes is the identity") {
  Constant none = floats({2, 0}, {});
  check_values(apply("sum", {{"axis", 1}}, {none}), {2}, {0, 0});
  check_values(apply("prod", {{"axis", 1}}, {none}), {2}, {1, 1});
  check_values(apply("max", {{"axis", 1}}, {none}), {2}, {-infinity, -infinity});
  check_values(apply("mean", {{"axis", 1}}, {none}), {2}, {NaN, NaN});
  check_values(apply("min", {}, {tensor_of(dtype::i8, {0}, {})}), {}, {127});
}

TEST_CASE("argmax and argmin: ties, NaN, axes") {
  Constant x = floats({2, 3}, {1, 3, 3, 5, 4, 5});
  check_values(apply("argmax", {{"axis", 1}}, {x}), {2}, {1, 0});
  check_values(apply("argmax", {{"axis", 1}, {"select_last_index", true}}, {x}), {2}, {2, 2});
  check_values(apply("argmin", {{"axis", 0}, {"keepdims", true}}, {x}), {1, 3}, {0, 0, 0});
  check_values(apply("argmax", {}, {x}), {}, {3});
  CHECK(apply("argmax", {}, {x}).dtype() == dtype::i32);
  CHECK(apply("argmax", {{"dtype", "int64"}}, {x}).dtype() == dtype::i64);
  check_values(apply("argmax", {}, {floats({4}, {1, NaN, 7, NaN})}), {}, {1});
  check_values(apply("argmin", {}, {floats({4}, {1, NaN, 7, NaN})}), {}, {1});
  check_values(apply("argmax", {}, {floats({2}, {-infinity, -infinity})}), {}, {0});
  check_values(apply("argmin", {}, {tensor_of(dtype::u8, {3}, {255, 3, 3})}), {}, {1});
}

TEST_CASE("type relations of reductions") {
  Dim n = Dim::symbol({"n"});
  CHECK(type_of("sum", {{"axis", 1}}, {f32({n, 3})}) == "Tensor[(n), float32]");
  CHECK(error_of("sum", {{"axis", list({0, -2})}}, {f32({2, 3})}) == "bad-attribute: axis names axis 0 twice");
  CHECK(error_of("sum", {{"axis", 2}}, {f32({2, 3})}) == "bad-attribute: axis must be in [-2, 1], found 2");
  CHECK(error_of("all", {}, {f32({2, 3})}) == "unsupported-type: data must be bool, found float32");
  CHECK(
      error_of("argmax", {{"axis", 1}}, {f32({2, 0})}).starts_with("shape-mismatch: the reduced axes of shape (2, 0)"));
  CHECK(error_of("argmax", {{"dtype", "int8"}}, {f32({2})}).starts_with("bad-attribute: dtype must be"));
}
