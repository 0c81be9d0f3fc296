// iota and tile.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;
using tensor::Status;

TEST_CASE("iota counts along one axis") {
  check_values(apply("iota", {{"shape", list({2, 3})}, {"dtype", "int64"}}, {}), {2, 3}, {0, 0, 0, 1, 1, 1});
  check_values(apply("iota", {{"shape", list({2, 3})}, {"dtype", "float16"}, {"axis", -1}}, {}), {2, 3},
               {0, 1, 2, 0, 1, 2});
  check_values(apply("iota", {{"shape", list({0})}, {"dtype", "uint8"}}, {}), {0}, {});
  CHECK(type_of("iota", {{"dtype", "int32"}}, {i64({1})}) == "Tensor[(?), int32]");
  CHECK(error_of("iota", {{"shape", list({2})}, {"dtype", "bool"}}, {}) ==
        "unsupported-type: dtype must be an integer or a float of at least 16 bits, found bool");
  CHECK(error_of("iota", {{"shape", list({2})}, {"dtype", "int32"}, {"axis", 1}}, {}) ==
        "bad-attribute: axis must be in [-1, 0], found 1");
}

TEST_CASE("tile repeats along existing and new leading axes") {
  Constant x = floats({1, 2}, {1, 2});
  check_values(apply("tile", {{"reps", list({2, 2})}}, {x}), {2, 4}, {1, 2, 1, 2, 1, 2, 1, 2});
  check_values(apply("tile", {{"reps", list({2})}}, {x}), {1, 4}, {1, 2, 1, 2});
  check_values(apply("tile", {{"reps", list({2, 1, 1})}}, {x}), {2, 1, 2}, {1, 2, 1, 2});
  check_values(apply("tile", {{"reps", list({0, 1})}}, {x}), {0, 2}, {});
  check_values(apply("tile", {{"reps", list({3, 2})}}, {tensor_of(dtype::boolean, {0, 2}, {})}), {0, 4}, {});
  check_values(apply("tile", {{"reps", list({})}}, {floats({}, {5})}), {}, {5});
  Dim n = Dim::symbol({"n"});
  CHECK(type_of("tile", {{"reps", list({2, 3})}}, {f32({n, 2})}) == "Tensor[(2 * n, 6), float32]");
  CHECK(type_of("tile", {}, {f32({4, 2}), i64({2})}) == "Tensor[(?, ?), float32]");
  CHECK(error_of("tile", {{"reps", list({-1, 1})}}, {f32({4, 2})}) ==
        "shape-mismatch: axis 0 cannot be repeated -1 times");
}

TEST_CASE("tile with the repetitions as operand requires the declared sizes") {
  const Operands types = {f32({2, 3}), i64({2})};
  tensor::TensorFunction f = op("tile")->compute_as({}, types, tensor_type(Shape{4, 3}, dtype::f32));
  Diagnostics diagnostics;
  CHECK_MESSAGE(tensor::verify(f, diagnostics), diagnostics.str());
  Constant x = floats({2, 3}, counting(6));
  auto good = tensor::evaluate(f, std::vector{x, ints({2, 1})});
  CHECK(good.status == Status::ok);
  check_values(good.results[0], {4, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(tensor::evaluate(f, std::vector{x, ints({1, 2})}).status == Status::shape_mismatch);
}
