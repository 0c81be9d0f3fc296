// Plans of programs with symbolic sizes: random programs whose values are scaled by symbols of the inputs.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "lower/check_plan.h"
#include "lower/instantiate.h"
#include "lower/parse_program.h"
#include "lower/program_text.h"
#include "lower/stacked_arena.h"
#include "lower/walk.h"
#include "random_program.h"
#include "symbolic_program.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

const std::vector<InputDim> bounded = {{"n", {"n", 1, 5}}, {"m", {"m", 0, 3}}};

// The symbols of a program are those of its dims, with their bounds.
Program with_bounds(Program program, const std::vector<InputDim>& dims) {
  const std::map<std::string, Dim> symbols = {{"n", Dim::symbol(dims[0].symbol)}, {"m", Dim::symbol(dims[1].symbol)}};
  program.dims = dims;
  for_each_function(program, [&](Function& f) {
    for (Value& v : f.values) {
      v.bytes = v.bytes.substitute(symbols), v.base_offset = v.base_offset.substitute(symbols);
      v.shape = {v.bytes};
    }
  });
  return program;
}

bool simulates_at(const Program& program, const StoragePlan& plan, const std::map<std::string, int64_t>& sizes) {
  return simulates(instantiate(program, sizes), lay_out_arena(plan, sizes));
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

}  // namespace

TEST_CASE("stacked arenas of random programs are correct at all sizes") {
  int stacked = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Program program = symbolic_program(seed, unbounded);
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
    const Program program = with_bounds(symbolic_program(seed, unbounded), bounded);
    const StoragePlan plan = plan_storage(program);
    REQUIRE(!plan.is_stacked());
    REQUIRE(check_storage(program, plan) == "");
    for (const auto& sizes : several_sizes) REQUIRE(simulates_at(program, plan, sizes));
  }
}

namespace {

// Buffers of a constant size, and of one that grows with n * n.
std::vector<Chain> random_chains(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Chain> chains;
  for (int64_t k = 0; k < 12; ++k) {
    const int64_t bytes = 64 * static_cast<int64_t>(1 + random() % 9), lower = static_cast<int64_t>(random() % 12);
    const Dim size = random() % 2 == 0 ? Dim(bytes * 4096) : Dim(bytes) * Dim::symbol(n) * Dim::symbol(n);
    chains.push_back({{size}, {0, lower, lower + 1 + static_cast<int64_t>(random() % 4), 64}});
  }
  return chains;
}

// The bytes of the arena over those that are live, where that is most.
double largest_excess(const StackedArena& arena, const std::vector<Chain>& chains,
                      const std::vector<SizeSample>& samples) {
  double excess = 0;
  for (const SizeSample& sample : samples) {
    const FunctionPlan plan = lay_out({.blocks = arena.blocks}, sample);
    const int64_t live = stack(chains, {sample}).live_bound;
    excess = std::max(excess, static_cast<double>(plan.arena_bytes) / static_cast<double>(live));
  }
  return excess;
}

}  // namespace

TEST_CASE("a stacked arena is near the live bytes for small and for large sizes") {
  std::vector<SizeSample> samples;
  for (int64_t size : {64, 16, 256, 1024}) samples.push_back({{{"n", size}}, {}});
  int better = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const std::vector<Chain> chains = random_chains(seed);
    const double for_all = largest_excess(stack(chains, samples), chains, samples);
    const double for_one = largest_excess(stack(chains, {samples[0]}), chains, samples);
    CHECK(for_all <= for_one);
    better += for_all < for_one;
  }
  CHECK(better > 10);
}

TEST_CASE("a stacked arena is no larger than the best packing for typical sizes") {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::vector<InputDim> dims = unbounded;
    dims[0].typical = 6, dims[1].typical = 4;
    Program program = symbolic_program(seed, dims);
    const StoragePlan plan = plan_storage(program);
    const auto sizes = typical_sizes(program);
    CHECK(lay_out_arena(plan, sizes).arena_bytes <= plan_storage(instantiate(program, sizes)).arena_bytes);
  }
}

namespace {

// Changes one offset or block of a plan at a time. The simulation of each plan that the checker accepts must be
// correct.
class WrongPlans {
 public:
  WrongPlans(const Program& program, const StoragePlan& good) : program_(program), good_(good) {}

  int refused = 0, harmless = 0;

  // Those of the program, or of one of its functions; `function` is -1 or its index.
  void change(int function) {
    const FunctionPlan own = part(good_, function);
    for (size_t k = 0; k < own.blocks.size(); ++k) {
      for (size_t b = 0; b < own.blocks[k].below.size(); ++b)  // it may begin lower
        try_with(function, [&](FunctionPlan& f) {
          f.blocks[k].below.erase(f.blocks[k].below.begin() + static_cast<std::ptrdiff_t>(b));
        });
      StoragePlan plan = good_;
      StackedBlock& block = part(plan, function).blocks[k];
      block.function < 0 ? void(block.size.bytes = block.size.bytes - Dim(1)) : void(block.function = -1);
      CHECK(check_storage(program_, plan) != "");
    }
    for (int b = 0; b < static_cast<int>(own.blocks.size()); ++b) {  // in the memory of another value
      for (size_t v = 0; v < own.block_of.size(); ++v)
        if (own.block_of[v] >= 0) try_with(function, [&](FunctionPlan& f) { f.block_of[v] = b; });
      for (size_t c = 0; c < own.workspaces.size(); ++c)
        if (own.workspaces[c] >= 0) try_with(function, [&](FunctionPlan& f) { f.workspaces[c] = b; });
    }
  }

 private:
  static const FunctionPlan& part(const StoragePlan& plan, int function) {
    return function < 0 ? plan : plan.functions[static_cast<size_t>(function)];
  }
  static FunctionPlan& part(StoragePlan& plan, int function) {
    return function < 0 ? plan : plan.functions[static_cast<size_t>(function)];
  }

  template <class Change>
  void try_with(int function, const Change& change) {
    StoragePlan plan = good_;
    change(part(plan, function));
    if (check_storage(program_, plan) != "") {
      ++refused;
      return;
    }
    ++harmless;
    for (const auto& sizes : several_sizes) REQUIRE(simulates_at(program_, plan, sizes));
  }

  const Program& program_;
  const StoragePlan& good_;
};

}  // namespace

TEST_CASE("a plan that is wrong at some sizes is refused") {
  int refused = 0, harmless = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const Program program = symbolic_program(seed, unbounded);
    const StoragePlan good = plan_storage(program);
    WrongPlans wrong(program, good);
    for (int f = -1; f < static_cast<int>(program.functions.size()); ++f) wrong.change(f);
    refused += wrong.refused, harmless += wrong.harmless;
  }
  CHECK(refused > 1000);
  CHECK(harmless > 100);
}
