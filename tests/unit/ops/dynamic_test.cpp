// Operators whose operands decide a declared shape: matching operands give the static operator's result, others the
// status shape_mismatch.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;
using tensor::Status;

TEST_CASE("dyn.reshape") {
  Constant x = floats({2, 3}, counting(6));
  Attrs attrs = {{"shape", list({2, 1, 3})}};
  for (Values sizes : std::vector<Values>{{2, 1, 3}, {0, 1, 3}, {-1, 1, 3}, {2, 1, -1}, {0, -1, 3}})
    check_values(apply("dyn.reshape", attrs, {x, ints(sizes)}), {2, 1, 3}, counting(6));
  for (Values sizes : std::vector<Values>{{1, 2, 3}, {2, 0, 3}, {-1, -1, 3}, {2, 1, 0}, {-2, 1, 3}})
    CHECK(status_of("dyn.reshape", attrs, {x, ints(sizes)}) == Status::shape_mismatch);
  CHECK(error_of("dyn.reshape", attrs, {f32({2, 3}), i64({2})}).starts_with("shape-mismatch: the length of newshape"));
  CHECK(error_of("dyn.reshape", attrs, {f32({2, 4}), i64({3})}).starts_with("shape-mismatch: the element count"));
}

TEST_CASE("an operand that decides a shape must be a list") {
  CHECK(error_of("dyn.reshape", {{"shape", list({6})}}, {f32({2, 3}), i64({})}) ==
        "shape-mismatch: newshape must have 1 dimension, found 0");
  CHECK(error_of("dyn.sum", {{"shape", list({6})}}, {f32({2, 3}), f32({1})})
            .starts_with("unsupported-type: axes must be"));
}

TEST_CASE("dyn.squeeze and dyn.expand_dims") {
  Constant x = floats({1, 3, 1}, {1, 2, 3});
  check_values(apply("dyn.squeeze", {{"shape", list({3, 1})}}, {x, ints({0})}), {3, 1}, {1, 2, 3});
  check_values(apply("dyn.squeeze", {{"shape", list({3, 1})}}, {x, ints({-3})}), {3, 1}, {1, 2, 3});
  check_values(apply("dyn.squeeze", {{"shape", list({3})}}, {x, ints({2, 0})}), {3}, {1, 2, 3});
  CHECK(status_of("dyn.squeeze", {{"shape", list({3, 1})}}, {x, ints({2})}) == Status::shape_mismatch);
  CHECK(status_of("dyn.squeeze", {{"shape", list({3, 1})}}, {x, ints({1})}) == Status::shape_mismatch);
  CHECK(status_of("dyn.squeeze", {{"shape", list({3})}}, {x, ints({2, -1})}) == Status::shape_mismatch);
  CHECK(status_of("dyn.squeeze", {{"shape", list({3, 1})}}, {x, ints({7})}) == Status::shape_mismatch);

  Constant y = floats({3}, {1, 2, 3});
  check_values(apply("dyn.expand_dims", {{"shape", list({1, 3, 1})}}, {y, ints({0, -1})}), {1, 3, 1}, {1, 2, 3});
  CHECK(status_of("dyn.expand_dims", {{"shape", list({1, 3, 1})}}, {y, ints({0, 1})}) == Status::shape_mismatch);
  CHECK(status_of("dyn.expand_dims", {{"shape", list({1, 3, 1})}}, {y, ints({0, 0})}) == Status::shape_mismatch);
  CHECK(error_of("dyn.expand_dims", {{"shape", list({1, 3, 1})}}, {f32({3}), i64({1})})
            .starts_with("shape-mismatch: the declared shape"));
}

TEST_CASE("dyn.broadcast_to and dyn.full") {
  Constant x = floats({2, 1}, {1, 2});
  Attrs attrs = {{"shape", list({2, 2})}};
  check_values(apply("dyn.broadcast_to", attrs, {x, ints({2, 2})}), {2, 2}, {1, 1, 2, 2});
  check_values(apply("dyn.broadcast_to", attrs, {x, ints({1, 2})}), {2, 2}, {1, 1, 2, 2});
  check_values(apply("dyn.broadcast_to", attrs, {x, ints({2})}), {2, 2}, {1, 1, 2, 2});
  CHECK(status_of("dyn.broadcast_to", attrs, {x, ints({2, 1})}) == Status::shape_mismatch);
  CHECK(status_of("dyn.broadcast_to", attrs, {x, ints({3, 2})}) == Status::shape_mismatch);
  CHECK(error_of("dyn.broadcast_to", attrs, {f32({3, 1}), i64({2})}) ==
        "shape-mismatch: shape (3, 1) cannot be broadcast to (2, 2)");
  CHECK(
      error_of("dyn.broadcast_to", attrs, {f32({1}), i64({1})}).starts_with("shape-mismatch: the number of declared"));

  check_values(apply("dyn.full", attrs, {floats({}, {7}), ints({2, 2})}), {2, 2}, {7, 7, 7, 7});
  CHECK(status_of("dyn.full", attrs, {floats({}, {7}), ints({2, 1})}) == Status::shape_mismatch);
}

TEST_CASE("dyn.strided_slice") {
  Constant x = floats({5}, counting(5));
  auto slice = [&](int64_t count, double begin, double end, double stride) {
    return evaluate_operator("dyn.strided_slice", {{"shape", list({count})}},
                             {x, ints({begin}), ints({end}), ints({stride})});
  };
  auto min = static_cast<double>(INT64_MIN), max = 9e18;
  check_values(slice(3, 1, 4, 1).results.at(0), {3}, {1, 2, 3});
  check_values(slice(2, -3, max, 2).results.at(0), {2}, {2, 4});
  check_values(slice(5, -1, min, -1).results.at(0), {5}, {4, 3, 2, 1, 0});
  check_values(slice(2, 100, 0, -2).results.at(0), {2}, {4, 2});
  check_values(slice(1, 0, max, max).results.at(0), {1}, {0});
  check_values(slice(1, -1, min, min).results.at(0), {1}, {4});
  CHECK(slice(3, 1, 3, 1).status == Status::shape_mismatch);
  CHECK(slice(3, 4, 1, 1).status == Status::shape_mismatch);
  CHECK(slice(3, 1, 4, 0).status == Status::shape_mismatch);
  Constant y = floats({2, 3}, counting(6));
  Attrs last = {{"shape", list({2, 1})}, {"axes", list({-1})}};
  check_values(apply("dyn.strided_slice", last, {y, ints({2}), ints({3}), ints({1})}), {2, 1}, {2, 5});
  CHECK(error_of("dyn.strided_slice", last, {f32({4, 3}), i64({1}), i64({1}), i64({1})})
            .starts_with("shape-mismatch: declared size 0"));
  CHECK(error_of("dyn.strided_slice", last, {f32({2, 3}), i64({Dim::symbol({"n"})}), i64({1}), i64({1})}) ==
        "dynamic-shape: the length of begin must be known at compile time");
}

TEST_CASE("dyn.nn.pad") {
  Constant x = floats({1, 2}, {1, 2}), zero = floats({}, {0});
  Attrs attrs = {{"shape", list({1, 5})}};
  check_values(apply("dyn.nn.pad", attrs, {x, ints({2, 2}, {0, 0, 1, 2}), zero}), {1, 5}, {0, 1, 2, 0, 0});
  check_values(apply("dyn.nn.pad", attrs, {x, ints({0, 1, 0, 2}), zero}), {1, 5}, {0, 1, 2, 0, 0});
  check_values(apply("dyn.nn.pad", attrs, {x, ints({0, -1, 0, 4}), zero}), {1, 5}, {2, 0, 0, 0, 0});
  CHECK(status_of("dyn.nn.pad", attrs, {x, ints({0, 1, 0, 1}), zero}) == Status::shape_mismatch);
  CHECK(status_of("dyn.nn.pad", attrs, {x, ints({1, 1, -1, 2}), zero}) == Status::ok);
  Attrs edge = {{"shape", list({1, 5})}, {"axes", list({1})}, {"pad_mode", "edge"}};
  check_values(apply("dyn.nn.pad", edge, {x, ints({2, 1}), zero}), {1, 5}, {1, 1, 1, 2, 2});
  edge["pad_mode"] = "reflect";
  check_values(apply("dyn.nn.pad", edge, {x, ints({2, 1}), zero}), {1, 5}, {1, 2, 1, 2, 1});
  CHECK(error_of("dyn.nn.pad", attrs, {f32({1, 2}), i64({3}), f32({})}) ==
        "shape-mismatch: pad_width must have shape (2, 2) or (4,), found (3)");
}
