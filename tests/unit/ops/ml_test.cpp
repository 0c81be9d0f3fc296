// Operators of classical machine learning.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;

namespace {

// A tree that reads feature 0 at its root, and feature 1 if feature 0 is above 0.5. Its leaves have one weight each,
// the last leaf has two.
const Values nodes = {0, 2, 1, 1, 0, 0,   // 0: x[0] <= 0.5 or NaN -> 1, else 2
                      0, 1, 1, 0, 0, 1,   // 1: leaf
                      1, 4, 3, 0, 0, 0,   // 2: x[1] <= 2 -> 3, else 4
                      0, 3, 3, 0, 1, 2,   // 3: leaf
                      0, 4, 4, 0, 2, 4};  // 4: leaf
const Constant thresholds = floats({5}, {0.5, 0, 2, 0, 0}), targets = ints({0, 1, 0, 1}),
               weights = floats({4}, {1, 10, 100, 1000});
const Constant rows = floats({4, 2}, {0.5, 9, 0.75, 2, 0.75, 2.5, NaN, NaN});

Constant scores(const Attrs& attrs, const Constant& data, const Constant& roots, const Constant& depths) {
  return apply("ml.tree_ensemble", attrs, {data, ints({5, 6}, nodes), thresholds, roots, depths, targets, weights});
}

}  // namespace

TEST_CASE("ml.tree_ensemble aggregates the weights of the reached leaves for each target") {
  const Constant root = ints({0}), depth = ints({2}), twice = ints({0, 2}), depths = ints({2, 1});
  check_values(scores({{"n_targets", 2}}, rows, root, depth), {4, 2}, {1, 0, 0, 10, 100, 1000, 100, 1000});
  check_values(scores({{"n_targets", 2}, {"has_missing_values", true}}, rows, root, depth), {4, 2},
               {1, 0, 0, 10, 100, 1000, 1, 0});
  check_values(scores({{"n_targets", 2}}, rows, twice, depths), {4, 2}, {101, 1000, 0, 20, 200, 2000, 200, 2000});
  check_values(scores({{"n_targets", 2}, {"aggregate", "max"}}, rows, twice, depths), {4, 2},
               {100, 1000, -infinity, 10, 100, 1000, 100, 1000});
  check_values(scores({{"n_targets", 2}, {"aggregate", "min"}}, rows, twice, depths), {4, 2},
               {1, 1000, infinity, 10, 100, 1000, 100, 1000});
  check_values(scores({{"n_targets", 2}}, floats({0, 2}, {}), root, depth), {0, 2}, {});
  // Table entries out of range are clamped.
  check_values(scores({}, rows, ints({-5}), ints({1})), {4, 1}, {1, 0, 0, 0});
  check_values(scores({}, rows, ints({9}), ints({7})), {4, 1}, {1100, 1100, 1100, 1100});
}

TEST_CASE("the type relation of ml.tree_ensemble refuses tables of inconsistent shapes") {
  auto error = [](const Attrs& attrs, Shape nodes, Shape thresholds, Shape depths) {
    const Operands in = {{{4, 2}, dtype::f32}, {std::move(nodes), dtype::i32},  {std::move(thresholds), dtype::f32},
                         {{1}, dtype::i32},    {std::move(depths), dtype::i32}, {{4}, dtype::i32},
                         {{4}, dtype::f32}};
    auto type = op("ml.tree_ensemble")->type(attrs, in);
    const auto* e = std::get_if<TypeError>(&type);
    return e ? e->message : "";
  };
  CHECK(error({}, {5, 6}, {5}, {1}).empty());
  CHECK(error({}, {5, 5}, {5}, {1}).find("columns of nodes") != std::string::npos);
  CHECK(error({}, {5, 6}, {4}, {1}).find("thresholds") != std::string::npos);
  CHECK(error({}, {5, 6}, {5}, {2}).find("depths") != std::string::npos);
  CHECK(error({}, {0, 6}, {0}, {1}).find("at least 1") != std::string::npos);
  CHECK(error({{"aggregate", "mean"}}, {5, 6}, {5}, {1}).find("found \"mean\"") != std::string::npos);
  CHECK(error({{"n_targets", 0}}, {5, 6}, {5}, {1}).find("n_targets") != std::string::npos);
}

TEST_CASE("linalg.det of single, stacked, singular and empty matrices") {
  check_values(apply("linalg.det", {}, {floats({2, 2}, {1, 2, 3, 4})}), {}, {-2});
  check_values(apply("linalg.det", {}, {floats({2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4})}), {2}, {-1, 0});
  check_values(apply("linalg.det", {}, {floats({3, 3}, {0, 0, 2, 3, 0, 0, 0, 5, 0})}), {}, {30});
  check_values(apply("linalg.det", {}, {floats({0, 0}, {})}), {}, {1});
  check_values(apply("linalg.det", {}, {floats({1, 1}, {NaN})}), {}, {NaN});
  check_values(apply("linalg.det", {}, {tensor_of(dtype::f16, {1, 1}, {3})}), {}, {3});
  auto wrong = op("linalg.det")->type({}, {{{2, 3}, dtype::f32}});
  CHECK(std::holds_alternative<TypeError>(wrong));
}
