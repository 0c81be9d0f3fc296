// Operators that are defined by statements: cumulative sums, selection in sorted order, scatter, compaction.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;

TEST_CASE("cumsum and cumprod: exclusive, reversed, with an axis operand") {
  const Constant row = floats({4}, {1, 2, 3, 4}), square = floats({2, 3}, counting(6, 1));
  check_values(apply("cumsum", {{"axis", 0}}, {row}), {4}, {1, 3, 6, 10});
  check_values(apply("cumsum", {{"axis", -1}, {"exclusive", true}}, {row}), {4}, {0, 1, 3, 6});
  check_values(apply("cumsum", {{"axis", 0}, {"reverse", true}}, {row}), {4}, {10, 9, 7, 4});
  check_values(apply("cumsum", {{"axis", 0}, {"reverse", true}, {"exclusive", true}}, {row}), {4}, {9, 7, 4, 0});
  check_values(apply("cumsum", {{"axis", 0}}, {square}), {2, 3}, {1, 2, 3, 5, 7, 9});
  check_values(apply("cumsum", {{"axis", 0}, {"exclusive", true}}, {square}), {2, 3}, {0, 0, 0, 1, 2, 3});
  check_values(apply("cumsum", {{"axis", 0}, {"reverse", true}}, {square}), {2, 3}, {5, 7, 9, 4, 5, 6});
  check_values(apply("cumsum", {{"axis", 1}}, {square}), {2, 3}, {1, 3, 6, 4, 9, 15});
  check_values(apply("cumsum", {}, {square}), {6}, {1, 3, 6, 10, 15, 21});
  check_values(apply("cumsum", {{"axis", 0}}, {floats({0}, {})}), {0}, {});
  check_values(apply("cumsum", {{"axis", 0}, {"dtype", "int64"}}, {tensor_of(dtype::i8, {3}, {100, 100, 100})}), {3},
               {100, 200, 300});
  check_values(apply("cumsum", {{"axis", 0}}, {floats({3}, {1, NaN, 2})}), {3}, {1, NaN, NaN});
  check_values(apply("cumprod", {{"axis", 0}}, {row}), {4}, {1, 2, 6, 24});
  check_values(apply("cumprod", {{"axis", 0}, {"exclusive", true}}, {row}), {4}, {1, 1, 2, 6});
  // An axis that is an operand.
  for (double axis : {0.0, -2.0})
    check_values(apply("cumsum", {}, {square, ints({}, {axis})}), {2, 3}, {1, 2, 3, 5, 7, 9});
  CHECK(evaluate_operator("cumsum", {}, {square, ints({}, {2})}).status == tensor::Status::index_out_of_range);
}

TEST_CASE("sums of float16 are accumulated in float32") {
  const Constant ones = tensor_of(dtype::f16, {3000}, Values(3000, 1.0));
  CHECK(apply("cumsum", {{"axis", 0}}, {ones}).number_at(2999) == 3000);
}

TEST_CASE("topk: order of equal elements and of NaN") {
  const Constant x = floats({2, 4}, {3, 1, 4, 1, 5, 9, 2, 6});
  auto top = apply_all("topk", {{"k", 2}, {"axis", 1}}, {x});
  check_values(top[0], {2, 2}, {4, 3, 9, 6});
  check_values(top[1], {2, 2}, {2, 0, 1, 3});
  top = apply_all("topk", {{"k", 1}, {"axis", 0}, {"dtype", "int64"}}, {x});
  check_values(top[0], {1, 4}, {5, 9, 4, 6});
  check_values(top[1], {1, 4}, {1, 1, 0, 1});
  // Of equal elements the first comes first, in either order; NaN counts as the largest.
  const Constant equal = floats({5}, {2, NaN, 2, 1, 1});
  top = apply_all("topk", {{"k", 5}}, {equal});
  check_values(top[0], {5}, {NaN, 2, 2, 1, 1});
  check_values(top[1], {5}, {1, 0, 2, 3, 4});
  top = apply_all("topk", {{"k", 5}, {"is_ascend", true}}, {equal});
  check_values(top[0], {5}, {1, 1, 2, 2, NaN});
  check_values(top[1], {5}, {3, 4, 0, 2, 1});
  for (const int64_t k : {0, -1}) check_values(apply("topk", {{"k", k}}, {x}), {2, 4}, {4, 3, 1, 1, 9, 6, 5, 2});
  CHECK(apply("topk", {{"k", 0}, {"all_below_1", false}}, {x}).count() == 0);
  CHECK(error_of("topk", {{"k", -1}, {"all_below_1", false}}, types_of({x})) == "shape-mismatch: k is -1");
}

// Equal elements, NaN, and each number k around the powers of two, at which the heap gets another level.
TEST_CASE("topk selects what a stable sort has at its beginning") {
  constexpr int64_t n = 150;
  auto value = [](int64_t k) { return k % 37 == 5 ? NaN : static_cast<double>(k * 7919 % 41); };
  Values values;
  std::vector<int64_t> positions;
  for (int64_t k = 0; k < n; ++k) values.push_back(value(k)), positions.push_back(k);
  for (bool ascends : {false, true}) {
    auto key = [&](int64_t k) { return (ascends ? 1 : -1) * (std::isnan(value(k)) ? 1000 : value(k)); };
    std::vector<int64_t> order = positions;
    std::ranges::stable_sort(order, {}, key);
    for (int64_t k : {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 149, 150}) {
      auto top = apply_all("topk", {{"k", k}, {"is_ascend", ascends}}, {floats({n}, values)});
      bool same = true;
      for (int64_t j = 0; j < k; ++j) {
        const int64_t wanted = order[static_cast<size_t>(j)];
        same &= top[1].integer_at(j) == wanted;
        same &= top[0].number_at(j) == value(wanted) || (std::isnan(top[0].number_at(j)) && std::isnan(value(wanted)));
      }
      CHECK_MESSAGE(same, k);
    }
  }
}

TEST_CASE("scatter_elements with each reduction, and indices out of range") {
  const Constant zeros = floats({3, 3}, Values(9, 0));
  const Constant rows = ints({2, 3}, {1, 0, 2, 0, 2, 1}), updates = floats({2, 3}, counting(6, 1));
  check_values(apply("scatter_elements", {{"axis", 0}}, {zeros, rows, updates}), {3, 3}, {4, 2, 0, 1, 0, 6, 0, 5, 3});
  const Constant data = floats({1, 5}, counting(5, 1));
  check_values(apply("scatter_elements", {{"axis", 1}}, {data, ints({1, 2}, {1, -1}), floats({1, 2}, {8, 9})}), {1, 5},
               {1, 8, 3, 4, 9});
  // Updates of one element are applied in order.
  const Constant twice = ints({1, 2}, {1, 1}), pair = floats({1, 2}, {10, 20});
  check_values(apply("scatter_elements", {{"axis", 1}}, {data, twice, pair}), {1, 5}, {1, 20, 3, 4, 5});
  auto reduced = [&](const char* reduction) {
    return apply("scatter_elements", {{"axis", 1}, {"reduction", reduction}}, {data, twice, pair}).number_at(1);
  };
  CHECK(reduced("add") == 32);
  CHECK(reduced("mul") == 400);
  CHECK(reduced("min") == 2);
  CHECK(reduced("max") == 20);
  for (double outside : {5.0, -6.0})
    CHECK(evaluate_operator("scatter_elements", {{"axis", 1}}, {data, ints({1, 1}, {outside}), floats({1, 1}, {0})})
              .status == tensor::Status::index_out_of_range);
}

TEST_CASE("scatter_nd at positions of elements, of slices and of the whole tensor") {
  const Constant data = floats({8}, counting(8, 1));
  check_values(apply("scatter_nd", {}, {data, ints({1, 4}, {4, 3, 1, -1}), floats({4}, {9, 10, 11, 12})}), {8},
               {1, 11, 3, 10, 9, 6, 7, 12});
  const Constant square = floats({2, 2}, {1, 2, 3, 4});
  check_values(apply("scatter_nd", {}, {square, ints({1, 1}, {1}), floats({1, 2}, {7, 8})}), {2, 2}, {1, 2, 7, 8});
  check_values(apply("scatter_nd", {{"mode", "add"}}, {square, ints({2, 2}, {0, 0, 1, 1}), floats({2}, {7, 8})}),
               {2, 2}, {1, 17, 3, 4});
  // Without components a position is the whole tensor.
  check_values(apply("scatter_nd", {}, {square, ints({0, 1}, {}), floats({1, 2, 2}, {5, 6, 7, 8})}), {2, 2},
               {5, 6, 7, 8});
}

TEST_CASE("tensor_scatter writes windows at per-sample indices, also circularly") {
  const Constant cache = floats({2, 3, 1}, {1, 2, 3, 4, 5, 6}), update = floats({2, 2, 1}, {10, 20, 30, 40});
  check_values(apply("tensor_scatter", {}, {cache, update, ints({0, 1})}), {2, 3, 1}, {10, 20, 3, 4, 30, 40});
  check_values(apply("tensor_scatter", {{"circular", true}}, {cache, update, ints({2, 1})}), {2, 3, 1},
               {20, 2, 10, 4, 30, 40});
  const Constant beyond = Constant::of<int64_t>(dtype::i64, {2}, {INT64_MAX, 0});
  CHECK(evaluate_operator("tensor_scatter", {}, {cache, update, beyond}).status == tensor::Status::index_out_of_range);
  CHECK(evaluate_operator("tensor_scatter", {}, {cache, update, ints({2, 0})}).status ==
        tensor::Status::index_out_of_range);
}

TEST_CASE("nonzero finds positions; prefix takes the first rows") {
  auto found = apply_all("nonzero", {}, {floats({2, 3}, {0, 1, 0, NaN, 0, -1})});
  REQUIRE(found[1].integer_at(0) == 3);
  check_values(apply("prefix", {{"length", 3}}, {found[0]}), {3, 2}, {0, 1, 1, 0, 1, 2});
  CHECK(apply_all("nonzero", {}, {floats({0, 3}, {})})[1].integer_at(0) == 0);
  CHECK(apply_all("nonzero", {}, {floats({}, {5})})[1].integer_at(0) == 1);
  check_values(apply("prefix", {{"length", 0}}, {ints({1, 2})}), {0}, {});
}
