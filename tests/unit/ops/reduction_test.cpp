// Reductions and arg-reductions, with their axes as attributes and as operands.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;
using tensor::Status;

TEST_CASE("reductions over axes") {
  Constant x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  check_values(apply("sum", {}, {x}), {}, {21});
  check_values(apply("sum", {{"axis", 1}}, {x}), {2}, {6, 15});
  check_values(apply("sum", {{"axis", list({-2})}, {"keepdims", true}}, {x}), {1, 3}, {5, 7, 9});
  check_values(apply("sum", {{"axis", 0}, {"exclude", true}}, {x}), {2}, {6, 15});
  check_values(apply("sum", {{"axis", AttrList{}}}, {x}), {2, 3}, {1, 2, 3, 4, 5, 6});
  check_values(apply("mean", {{"axis", list({0, 1})}}, {x}), {}, {3.5});
  check_values(apply("prod", {}, {x}), {}, {720});
  check_values(apply("max", {{"axis", 0}}, {x}), {3}, {4, 5, 6});
  check_values(apply("min", {{"axis", 1}}, {x}), {2}, {1, 4});
}

TEST_CASE("reductions of other types") {
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

TEST_CASE("arg-reductions") {
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

TEST_CASE("reductions whose axes are an operand") {
  Constant x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Attrs columns = {{"shape", list({1, 3})}, {"keepdims", true}};
  check_values(apply("dyn.sum", columns, {x, ints({0})}), {1, 3}, {5, 7, 9});
  check_values(apply("dyn.mean", columns, {x, ints({-2})}), {1, 3}, {2.5, 3.5, 4.5});
  CHECK(status_of("dyn.sum", columns, {x, ints({1})}) == Status::shape_mismatch);
  CHECK(status_of("dyn.sum", columns, {x, ints({5})}) == Status::shape_mismatch);
  check_values(apply("dyn.max", {{"shape", list({2})}}, {x, ints({1})}), {2}, {3, 6});
  check_values(apply("dyn.min", {{"shape", AttrList{}}}, {x, ints({1, 0})}), {}, {1});
  CHECK(status_of("dyn.min", {{"shape", AttrList{}}}, {x, ints({1, -1})}) == Status::shape_mismatch);
  check_values(apply("dyn.sum", {{"shape", AttrList{}}}, {x, ints({})}), {}, {21});
  check_values(apply("dyn.sum", {{"shape", list({2, 3})}, {"noop_with_empty_axes", true}}, {x, ints({})}), {2, 3},
               {1, 2, 3, 4, 5, 6});
  // At run time the operand selects one of two axes of equal size.
  Constant square = floats({2, 2}, {1, 2, 3, 4});
  check_values(apply("dyn.sum", {{"shape", list({2})}}, {square, ints({0})}), {2}, {4, 6});
  check_values(apply("dyn.sum", {{"shape", list({2})}}, {square, ints({1})}), {2}, {3, 7});
  Attrs unit = {{"shape", list({1, 2})}};
  Constant y = floats({1, 1, 2}, {1, 2});
  check_values(apply("dyn.sum", unit, {y, ints({0})}), {1, 2}, {1, 2});
  check_values(apply("dyn.sum", unit, {y, ints({1})}), {1, 2}, {1, 2});
  CHECK(status_of("dyn.sum", unit, {y, ints({2})}) == Status::shape_mismatch);
  CHECK(error_of("dyn.sum", {{"shape", list({7})}}, {f32({3, 3}), i64({1})})
            .starts_with("shape-mismatch: reducing 1 axes"));
}
