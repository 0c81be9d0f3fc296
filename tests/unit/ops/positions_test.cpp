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

TEST_CASE("unique gives the elements, their first positions, their numbers and their count, as TVM does") {
  const Constant x = ints({5, 3, 5, 9});
  // Elements from the count on are unspecified.
  const auto check_first = [](const Constant& c, DType type, const Values& expected) {
    CHECK(c.dtype() == type);
    for (size_t k = 0; k < expected.size(); ++k) CHECK(c.integer_at(static_cast<int64_t>(k)) == expected[k]);
  };
  const auto results = [&](const Attrs& attrs) { return apply_all("unique", attrs, {x}); };
  const std::vector<Constant> sorted = results({{"return_counts", true}});
  REQUIRE(sorted.size() == 5);
  check_first(sorted[0], dtype::i64, {3, 5, 9});
  check_first(sorted[1], dtype::i32, {1, 0, 3});
  check_first(sorted[2], dtype::i32, {1, 0, 1, 2});
  check_first(sorted[3], dtype::i32, {3});
  check_first(sorted[4], dtype::i32, {1, 2, 1});
  const std::vector<Constant> found = results({{"sorted", false}});
  REQUIRE(found.size() == 4);
  check_first(found[0], dtype::i64, {5, 3, 9});
  check_first(found[2], dtype::i32, {0, 1, 0, 2});
}
