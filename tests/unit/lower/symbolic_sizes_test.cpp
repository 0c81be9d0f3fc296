// Plans of programs with symbolic sizes: random programs whose values are scaled by sizes that the caller gives.
#include <doctest/doctest.h>

#include <array>
#include <numeric>

#include "lower/check_plan.h"
#include "lower/entry_sizes.h"
#include "lower/instantiate.h"
#include "lower/parse_program.h"
#include "lower/program_text.h"
#include "lower/walk.h"
#include "random_program.h"
#include "tensor/evaluate.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

const Symbol n{"n", 1}, m{"m", 0};

// Scales the values of a program by 1, n, m or n * m; values that must have equal sizes, and views and their bases, by
// the same.
class Scaling {
 public:
  explicit Scaling(uint32_t seed) : random_(seed), program_(Generator(seed).run()) {
    group_.resize(program_.values.size());
    std::iota(group_.begin(), group_.end(), 0);
  }

  Program run(const std::vector<InputDim>& dims) {
    program_.dims = dims;
    for (size_t v = 0; v < group_.size(); ++v)
      if (program_.values[v].base >= 0) join(static_cast<ValueId>(v), program_.values[v].base);
    for_each_step(program_.body, [&](const Step& step) {
      if (const auto* copy = std::get_if<Copy>(&step)) join(copy->from, copy->to);
      if (const auto* call = std::get_if<Invoke>(&step))
        for (auto [written, read] : call->in_place) join(call->operands[written], call->operands[read]);
    });
    choose_factors();
    for (size_t v = 0; v < group_.size(); ++v) scale(static_cast<ValueId>(v));
    for_each_call(program_.body, [&](Invoke& call) { scale(call); });
    return std::move(program_);
  }

 private:
  ValueId group(ValueId v) { return group_[v] == v ? v : group_[v] = group(group_[v]); }
  void join(ValueId a, ValueId b) { group_[group(a)] = group(b); }

  // Views inside of a value, and elements that are scalars, have constant offsets.
  void choose_factors() {
    const std::array factors = {Dim(1), Dim::symbol(n), Dim::symbol(m), Dim::symbol(n) * Dim::symbol(m)};
    for (size_t v = 0; v < group_.size(); ++v)
      factor_.emplace(static_cast<ValueId>(v), factors[random_() % factors.size()]);
    for (size_t v = 0; v < group_.size(); ++v)
      if (program_.values[v].base_offset > 0 || program_.values[v].begin) fix(static_cast<ValueId>(v));
    for_each_step(program_.body, [&](const Step& step) {
      if (const auto* read = std::get_if<Read>(&step)) fix(read->from);
    });
  }
  void fix(ValueId v) { factor_.at(group(v)) = Dim(1); }

  void scale(ValueId v) {
    Value& value = program_.values[v];
    value.bytes = value.bytes * factor_.at(group(v));
    value.shape = {value.bytes};
  }
  void scale(Invoke& call) {
    tensor::Kernel& kernel = program_.kernels[call.kernel].variants[0];
    for (const Symbol& s : {m, n}) {  // in the order of their names
      kernel.scalars.push_back(scalar_of(s));
      call.scalars.push_back(tensor::symbol_var(s));
    }
    for (size_t k = 0; k < kernel.params.size(); ++k) {
      auto buffer = std::make_shared<tensor::BufferNode>(*kernel.params[k].buffer);
      buffer->shape = program_.values[call.operands[k]].shape;
      kernel.params[k].buffer = buffer;
    }
  }

  std::mt19937 random_;
  Program program_;
  std::vector<ValueId> group_;
  std::map<ValueId, Dim> factor_;  // by the first value of a group
};

Program random_program(uint32_t seed, const std::vector<InputDim>& dims) { return Scaling(seed).run(dims); }

const std::vector<InputDim> unbounded = {{"n", n}, {"m", m}};
const std::vector<InputDim> bounded = {{"n", {"n", 1, 5}}, {"m", {"m", 0, 3}}};

// The symbols of a program are those of its dims, with their bounds.
Program with_bounds(Program program, const std::vector<InputDim>& dims) {
  const std::map<std::string, Dim> symbols = {{"n", Dim::symbol(dims[0].symbol)}, {"m", Dim::symbol(dims[1].symbol)}};
  program.dims = dims;
  for (Value& v : program.values) v.bytes = v.bytes.substitute(symbols), v.shape = {v.bytes};
  return program;
}

bool simulates_at(const Program& program, const StoragePlan& plan, const std::map<std::string, int64_t>& sizes) {
  const ArenaLayout layout = lay_out_arena(program, plan, sizes);
  const StoragePlan at_sizes{.offsets = layout.offsets, .arena_bytes = layout.bytes};
  return simulates(instantiate(program, sizes), at_sizes);
}

// The program's text parses to a program whose plan is right, and which prints the same text.
void check_text(const Program& program, const StoragePlan& plan) {
  const std::string text = print(program, &plan);
  Diagnostics d;
  const auto parsed = parse_program(text, "p", d);
  REQUIRE_MESSAGE(parsed, d.str() << text);
  CHECK(print(parsed->program, &*parsed->plan) == text);
  CHECK(check_storage(parsed->program, *parsed->plan) == "");
}

const std::map<std::string, int64_t> several_sizes[] = {
    {{"n", 1}, {"m", 0}}, {{"n", 1}, {"m", 3}}, {{"n", 2}, {"m", 1}}, {{"n", 5}, {"m", 2}}};

}  // namespace

TEST_CASE("stacked arenas of random programs are correct at all sizes") {
  int stacked = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Program program = random_program(seed, unbounded);
    const StoragePlan plan = plan_storage(program);
    stacked += plan.is_stacked();
    REQUIRE(check_storage(program, plan) == "");
    for (const auto& sizes : several_sizes) REQUIRE(simulates_at(program, plan, sizes));
    check_text(program, plan);
  }
  CHECK(stacked > 150);
}

TEST_CASE("arenas of bounded sizes are constant and correct at all sizes") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Program program = with_bounds(random_program(seed, unbounded), bounded);
    const StoragePlan plan = plan_storage(program);
    REQUIRE(!plan.is_stacked());
    REQUIRE(check_storage(program, plan) == "");
    for (const auto& sizes : several_sizes) REQUIRE(simulates_at(program, plan, sizes));
  }
}

TEST_CASE("a stacked arena is no larger than the best packing for typical sizes") {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::vector<InputDim> dims = unbounded;
    dims[0].typical = 6, dims[1].typical = 4;
    Program program = random_program(seed, dims);
    const StoragePlan plan = plan_storage(program);
    const auto sizes = typical_sizes(program);
    CHECK(lay_out_arena(program, plan, sizes).bytes <= plan_storage(instantiate(program, sizes)).arena_bytes);
  }
}

TEST_CASE("a plan that is wrong at some sizes is refused") {
  int refused = 0, harmless = 0;
  auto expect_refusal = [&](const Program& program, const StoragePlan& plan) {
    if (check_storage(program, plan) != "") {
      ++refused;
      return;
    }
    ++harmless;
    for (const auto& sizes : several_sizes) REQUIRE(simulates_at(program, plan, sizes));
  };
  for (uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Program program = random_program(seed, unbounded);
    const StoragePlan good = plan_storage(program);
    for (size_t k = 0; k < good.blocks.size(); ++k) {
      for (size_t b = 0; b < good.blocks[k].below.size(); ++b) {  // it may begin lower
        StoragePlan plan = good;
        plan.blocks[k].below.erase(plan.blocks[k].below.begin() + static_cast<std::ptrdiff_t>(b));
        expect_refusal(program, plan);
      }
      StoragePlan plan = good;
      plan.blocks[k].bytes = plan.blocks[k].bytes - Dim(1);
      CHECK(check_storage(program, plan) != "");
    }
    for (size_t v = 0; v < program.values.size(); ++v)  // in the memory of another value
      for (int k = 0; good.is_stacked() && good.block_of[v] >= 0 && k < static_cast<int>(good.blocks.size()); ++k) {
        StoragePlan plan = good;
        plan.block_of[v] = k;
        expect_refusal(program, plan);
      }
  }
  CHECK(refused > 1000);
  CHECK(harmless > 100);
}

TEST_CASE("the numbers of an entry are those of the arena's layout") {
  std::vector<InputDim> dims = unbounded;
  dims[0].multiple = 4;
  const Program program = random_program(7, dims);
  const StoragePlan plan = plan_storage(program);
  const EntrySizes entry = entry_sizes(program, plan);
  for (const auto& sizes : several_sizes) {
    std::map<tensor::Var, Constant> scalars;
    auto value = [&](const tensor::Expr& e) {
      const tensor::CompiledScalar compiled(e);
      std::vector<Constant> values;
      for (const tensor::Var& v : compiled.variables()) values.push_back(scalars.at(v));
      return compiled.value(values);
    };
    scalars.emplace(entry.given[0], Constant::of<int64_t>(dtype::i64, {}, {4 * sizes.at("n")}));
    scalars.emplace(entry.given[1], Constant::of<int64_t>(dtype::i64, {}, {sizes.at("m")}));
    for (const Step& step : entry.steps.steps) {
      if (const auto* compute = std::get_if<Compute>(&step))
        scalars.insert_or_assign(compute->result, value(compute->value));
      if (const auto* require = std::get_if<Require>(&step)) CHECK(value(require->condition).integer_at(0) == 1);
    }
    CHECK(value(entry.symbols[0]).integer_at(0) == sizes.at("n"));
    const ArenaLayout layout = lay_out_arena(program, plan, sizes);
    CHECK(value(entry.arena_bytes).integer_at(0) == layout.bytes);
    for (size_t v = 0; v < program.values.size(); ++v)
      if (plan.block_of[v] >= 0) CHECK(value(entry.blocks[plan.block_of[v]]).integer_at(0) == layout.offsets[v]);
  }
}
