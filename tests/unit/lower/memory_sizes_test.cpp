// The memory that values take at sizes at which steps use them, and at others.
#include <doctest/doctest.h>

#include "lower/check_plan.h"
#include "lower/compared_sizes.h"
#include "lower/instantiate.h"
#include "lower/memory_sizes.h"
#include "lower/plan.h"
#include "program_builder.h"
#include "symbolic_program.h"

using namespace dlcc;
using namespace dlcc::lower;

TEST_CASE("a value takes memory only where the checks before its uses succeed") {
  ProgramBuilder b;
  b.program.dims = unbounded;
  const ValueId x = b.input(1), rows = b.temporary(1), shared = b.temporary(1), y = b.output(1);
  const Dim a = Dim::symbol(n) - Dim(9'999), c = Dim::symbol(m) - Dim(9'999);  // of windows, say
  auto resize = [&](ValueId v, const Shape& shape) {
    b.program.values[v].shape = shape, b.program.values[v].bytes = product(shape);
  };
  resize(rows, {a * c, a * c});  // 10^16 at n = 1, m = 1
  resize(shared, {a * c});
  auto branch = std::make_shared<Branch>();
  branch->condition = tensor::literal(dtype::boolean, int64_t{1});
  Region& arm = branch->then_region;
  arm.steps = {CheckSize{a}, CheckSize{c}, b.call({x}, {rows}), b.call({rows}, {shared}), b.call({shared}, {y})};
  branch->else_region.steps = {b.call({x}, {y})};
  b.program.body.steps.emplace_back(branch);

  const MemorySizes sizes(b.program, b.program);
  auto bytes_at = [&](ValueId v, int64_t n_size, int64_t m_size) {
    return sizes(v).at({{"n", n_size}, {"m", m_size}});
  };
  for (ValueId v : {rows, shared})
    for (auto [n_size, m_size] : {std::pair<int64_t, int64_t>{1, 1}, {1, 200'000}, {9'999, 1}, {int64_t{1} << 39, 2}})
      CHECK(bytes_at(v, n_size, m_size) == 0);
  CHECK(bytes_at(rows, 10'001, 10'002) == 36);
  CHECK(bytes_at(shared, 9'999, 10'002) == 0);
  for (auto [n_size, m_size] : {std::pair<int64_t, int64_t>{1, 1}, {1, 200'000}, {10'001, 10'002}})
    CHECK(status_at(b.program, {{"n", n_size}, {"m", m_size}}) == tensor::Status::ok);

  SUBCASE("not if a use in the other arm is not after the checks") {
    branch->else_region.steps = {b.call({x}, {shared}), b.call({shared}, {y})};
    const MemorySizes other(b.program, b.program);
    CHECK(other(rows).at({{"n", 1}, {"m", 1}}) == 0);
    CHECK(other(shared).at({{"n", 1}, {"m", 1}}) == 9'998LL * 9'998);
  }
  SUBCASE("not after a check of one arm, but after one of both") {
    const ValueId later = b.temporary(1);
    resize(later, {a * c});
    b.program.body.steps.emplace_back(b.call({x}, {later}));
    const std::map<std::string, int64_t> smallest = {{"n", 1}, {"m", 1}};
    CHECK(MemorySizes(b.program, b.program)(later).at(smallest) == 9'998LL * 9'998);
    branch->else_region.steps.insert(branch->else_region.steps.begin(), CheckSize{c});
    CHECK(MemorySizes(b.program, b.program)(later).at(smallest) == 0);
    branch->else_region.steps[0] = CheckSize{c + Dim(1)};
    CHECK(MemorySizes(b.program, b.program)(later).at(smallest) == 9'998LL * 9'998);
  }
  SUBCASE("after the test of a loop, and not after its body") {
    const ValueId inside = b.temporary(1), later = b.temporary(1);
    for (ValueId v : {inside, later}) resize(v, {a * c});
    auto loop = std::make_shared<Loop>();
    loop->condition = tensor::literal(dtype::boolean, int64_t{0});
    loop->test.steps = {CheckSize{a}};
    loop->body.steps = {CheckSize{c}, b.call({x}, {inside})};
    b.program.body.steps = {loop, b.call({x}, {later})};
    const MemorySizes other(b.program, b.program);
    CHECK(other(inside).checks == std::vector<Dim>{a, c, a * c});
    CHECK(other(later).checks == std::vector<Dim>{a, a * c});
  }
  SUBCASE("bounds that refuse the checks") {
    const Symbol small{"n", 1, 64};
    b.program.dims[0].symbol = small;
    for (Step& step : arm.steps)
      if (auto* check = std::get_if<CheckSize>(&step); check && check->size == a)
        check->size = Dim::symbol(small) - Dim(9'999);
    CHECK(MemorySizes(b.program, b.program)(rows).upper_bound() == 0);
  }
  SUBCASE("a use through a view counts") {
    const ValueId part = b.view(shared, 0, 1);
    branch->else_region.steps = {b.call({x}, {part})};
    CHECK(MemorySizes(b.program, b.program)(shared).at({{"n", 1}, {"m", 1}}) == 9'998LL * 9'998);
  }
}

TEST_CASE("a value of a function takes memory only where the checks before all calls of the function succeed") {
  const Dim a = Dim::symbol(n) - Dim(9'999), c = Dim::symbol(m) - Dim(9'999);
  ProgramBuilder f, b;
  f.program.dims = b.program.dims = unbounded;
  const ValueId from = f.input(1), large = f.temporary(1), to = f.output(1);
  f.program.values[large].shape = {a * c}, f.program.values[large].bytes = a * c;
  f.program.body.steps = {f.call({from}, {large}), f.call({large}, {to})};

  const ValueId x = b.input(1), y = b.output(1);
  auto branch = std::make_shared<Branch>();
  branch->condition = tensor::literal(dtype::boolean, int64_t{1});
  branch->then_region.steps = {CheckSize{a}, CheckSize{c}, Call{0, {x}, {y}}};
  branch->else_region.steps = {b.call({x}, {y})};
  b.program.body.steps.emplace_back(branch);
  b.program.functions = {f.program};
  auto bytes_at = [&](int64_t n_size, int64_t m_size) {
    return MemorySizes(b.program, b.program.functions[0])(large).at({{"n", n_size}, {"m", m_size}});
  };
  CHECK(bytes_at(1, 1) == 0);
  CHECK(bytes_at(10'001, 10'002) == 6);

  SUBCASE("not if another call is not after the checks") {
    branch->else_region.steps = {Call{0, {x}, {y}}};
    CHECK(bytes_at(1, 1) == 9'998LL * 9'998);
  }
  SUBCASE("a call by another function counts, too") {
    Function outer = f.program;
    outer.body.steps = {CheckSize{c}, Call{0, {from}, {to}}};
    b.program.functions.push_back(outer);
    branch->then_region.steps = {CheckSize{a}, Call{1, {x}, {y}}};
    CHECK(bytes_at(1, 1) == 0);
    branch->else_region.steps = {Call{1, {x}, {y}}};
    CHECK(MemorySizes(b.program, b.program.functions[0])(large).checks == std::vector<Dim>{c, a * c});
  }
  SUBCASE("sizes that the function requires count, though a caller that knows them does not test them") {
    b.program.functions[0].checked_sizes = {a, c};
    branch->then_region.steps = {Call{0, {x}, {y}}};
    CHECK(bytes_at(1, 1) == 0);
  }
  SUBCASE("a check of a data-dependent size counts with its largest value") {
    b.program.data_sizes = {{{"k"}, 5}};
    branch->then_region.steps[0] = CheckSize{Dim::symbol({"k"}) - Dim(7)};
    CHECK(MemorySizes(b.program, b.program.functions[0])(large).upper_bound() == 0);
  }
}

TEST_CASE("a block has the memory of a value with fewer checks") {
  const Dim a = Dim::symbol(n) - Dim(9), c = Dim::symbol(m) - Dim(9);
  const MemorySize all{100, {a, c}}, fewer{100, {a}};
  CHECK(provably_le(all, fewer));
  CHECK_FALSE(provably_le(fewer, all));
  CHECK(provably_le(MemorySize{100, {a - Dim(3)}}, fewer));
  CHECK_FALSE(provably_le(all, MemorySize{99, {a}}));
}

TEST_CASE("conditions of branches on sizes") {
  const Dim size_n = Dim::symbol(n), size_m = Dim::symbol(m);
  const tensor::Expr expr_n(size_n), expr_m(size_m);
  auto where = [](const tensor::Expr& condition, bool value) {
    return ComparedSizes({n, m}).natural_where(condition, value);
  };
  using Dims = std::vector<Dim>;
  struct Comparison {
    tensor::BinaryOp op;
    Dims where_true, where_false;
  };
  const Dim less = Dim(49) - size_n, at_most = Dim(50) - size_n;
  for (const Comparison& c : {
           Comparison{tensor::BinaryOp::lt, {less}, {Dim(0) - at_most}},
           Comparison{tensor::BinaryOp::le, {at_most}, {Dim(0) - at_most - Dim(1)}},
           Comparison{tensor::BinaryOp::gt, {Dim(0) - at_most - Dim(1)}, {at_most}},
           Comparison{tensor::BinaryOp::ge, {Dim(0) - at_most}, {less}},
           Comparison{tensor::BinaryOp::eq, {Dim(0) - at_most, at_most}, {}},
           Comparison{tensor::BinaryOp::ne, {}, {Dim(0) - at_most, at_most}},
       }) {
    const tensor::Expr condition = tensor::binary(c.op, expr_n, tensor::Expr(50));
    CHECK(where(condition, true) == c.where_true);
    CHECK(where(condition, false) == c.where_false);
    CHECK(where(tensor::logical_not(condition), true) == c.where_false);
  }

  const tensor::Expr few = expr_n < tensor::Expr(50), fewer = expr_m < expr_n;
  CHECK(where(tensor::logical_and(few, fewer), true) == Dims{less, size_n - size_m - Dim(1)});
  CHECK(where(tensor::logical_and(few, fewer), false).empty());
  CHECK(where(tensor::logical_or(few, fewer), true).empty());
  CHECK(where(tensor::logical_or(few, fewer), false) == Dims{size_n - Dim(50), size_m - size_n});

  SUBCASE("whose computation may wrap tell nothing") {
    const tensor::Expr square = expr_n * expr_n;
    CHECK(where(square < tensor::Expr(50), true).empty());
    CHECK(where(square + expr_n - square < tensor::Expr(50), true).empty());
    CHECK(where(tensor::Expr(1000) * expr_n < tensor::Expr(50), true).size() == 1);
  }
  SUBCASE("by scalars") {
    ComparedSizes conditions({n});
    const tensor::Var twice = tensor::make_var("twice"), is_few = tensor::make_var("few", dtype::boolean);
    conditions.define({twice, expr_n * tensor::Expr(2)});
    conditions.define({is_few, tensor::Expr(twice) <= tensor::Expr(9)});
    CHECK(conditions.natural_where(is_few, true) == Dims{Dim(9) - Dim(2) * size_n});
    CHECK(conditions.natural_where(tensor::make_var("other", dtype::boolean), true).empty());
    CHECK(conditions.natural_where(expr_m < expr_n, true).empty());
  }
}

TEST_CASE("a value of an arm takes no memory at sizes at which the branch does not take the arm") {
  ProgramBuilder b;
  b.program.dims = unbounded;
  const ValueId x = b.input(1), square = b.temporary(1), y = b.output(1);
  const Dim size = Dim::symbol(n);
  const tensor::Var few = flag();
  auto branch = std::make_shared<Branch>();
  branch->condition = few;
  branch->then_region.steps = {b.call({x}, {square}), b.call({square}, {y})};
  branch->else_region.steps = {b.call({x}, {y})};
  b.program.body.steps = {Compute{few, tensor::Expr(size) < tensor::Expr(50)}, branch};
  b.program.values[square].shape = {size, size}, b.program.values[square].bytes = size * size;
  auto memory = [&] { return MemorySizes(b.program, b.program)(square); };
  CHECK(memory().at({{"n", 49}}) == 49 * 49);
  CHECK(memory().at({{"n", 50}}) == 0);
  CHECK_FALSE(memory().upper_bound());  // only bounds of the caller make a bounded arena
  CHECK(status_at(b.program, {{"n", 2'000'000}, {"m", 1}}) == tensor::Status::ok);
  CHECK(check_storage(b.program, plan_storage(b.program)) == "");

  SUBCASE("the bound of its memory is that of the arm") {
    const Symbol bounded{"n", 1, 1000};
    const Dim own = Dim::symbol(bounded);
    b.program.dims[0].symbol = bounded;
    b.program.values[square].shape = {own, own}, b.program.values[square].bytes = own * own;
    CHECK(memory().upper_bound() == 49 * 49);
  }
  SUBCASE("of the other arm") {
    std::swap(branch->then_region, branch->else_region);
    CHECK(memory().at({{"n", 49}}) == 0);
    CHECK(memory().at({{"n", 50}}) == 2500);
  }
  SUBCASE("but where both arms use it") {
    branch->else_region.steps.insert(branch->else_region.steps.begin(), b.call({x}, {square}));
    CHECK(memory().at({{"n", 50}}) == 2500);
  }
}
