// Plans of programs with symbolic sizes: random programs whose values are scaled by symbols of the inputs.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "lower/check_plan.h"
#include "lower/entry_sizes.h"
#include "lower/instantiate.h"
#include "lower/largest_size.h"
#include "lower/parse_program.h"
#include "lower/program_text.h"
#include "lower/stacked_arena.h"
#include "lower/walk.h"
#include "random_program.h"
#include "tensor/evaluate.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

const Symbol n{"n", 1}, m{"m", 0};

// Scales the values of a program by 1, n, m or n * m; values that must have equal sizes, and views and their bases, by
// the same.
class Scaling {
 public:
  explicit Scaling(uint32_t seed) : random_(seed), program_(Generator(seed).run()) {
    for_each_function(program_, [&](Function& f) {
      functions_.push_back(&f);
      first_.push_back(group_.size());
      group_.resize(group_.size() + f.values.size());
    });
    std::iota(group_.begin(), group_.end(), size_t{0});
  }

  Program run(const std::vector<InputDim>& dims) {
    program_.dims = dims;
    for (size_t f = 0; f < functions_.size(); ++f) join_in(f);
    choose_factors();
    for (size_t f = 0; f < functions_.size(); ++f) {
      for (size_t v = 0; v < functions_[f]->values.size(); ++v) scale(f, static_cast<ValueId>(v));
      for_each_call(functions_[f]->body, [&](Invoke& call) { scale(*functions_[f], call); });
    }
    return std::move(program_);
  }

 private:
  // The number of a value among those of all functions, of which the first is the program.
  size_t id(size_t function, ValueId v) const { return first_[function] + static_cast<size_t>(v); }
  size_t group(size_t v) { return group_[v] == v ? v : group_[v] = group(group_[v]); }
  void join(size_t a, size_t b) { group_[group(a)] = group(b); }

  void join_in(size_t f) {
    const Function& function = *functions_[f];
    for (size_t v = 0; v < function.values.size(); ++v)
      if (function.values[v].base >= 0) join(id(f, static_cast<ValueId>(v)), id(f, function.values[v].base));
    for_each_step(function.body, [&](const Step& step) {
      if (const auto* copy = std::get_if<Copy>(&step)) join(id(f, copy->from), id(f, copy->to));
      if (const auto* call = std::get_if<Invoke>(&step))
        for (auto [written, read] : call->in_place) join(id(f, call->operands[written]), id(f, call->operands[read]));
      const auto* call = std::get_if<Call>(&step);
      if (!call) return;
      const size_t callee = static_cast<size_t>(call->function) + 1;
      for (size_t k = 0; k < call->operands.size(); ++k)
        join(id(f, call->operands[k]), id(callee, functions_[callee]->inputs[k]));
      for (size_t k = 0; k < call->results.size(); ++k)
        join(id(f, call->results[k]), id(callee, functions_[callee]->outputs[k]));
    });
  }

  // Views that begin at a scalar, and elements that are scalars, have constant offsets.
  void choose_factors() {
    const std::array factors = {Dim(1), Dim::symbol(n), Dim::symbol(m), Dim::symbol(n) * Dim::symbol(m)};
    for (size_t v = 0; v < group_.size(); ++v) factor_.emplace(v, factors[random_() % factors.size()]);
    for (size_t f = 0; f < functions_.size(); ++f) {
      const std::vector<Value>& values = functions_[f]->values;
      for (size_t v = 0; v < values.size(); ++v)
        if (values[v].begin) fix(id(f, static_cast<ValueId>(v)));
      for_each_step(functions_[f]->body, [&](const Step& step) {
        if (const auto* read = std::get_if<Read>(&step)) fix(id(f, read->from));
      });
    }
  }
  void fix(size_t v) { factor_.at(group(v)) = Dim(1); }

  void scale(size_t f, ValueId v) {
    Value& value = functions_[f]->values[v];
    value.bytes = value.bytes * factor_.at(group(id(f, v)));
    value.base_offset = value.base_offset * factor_.at(group(id(f, v)));
    value.shape = {value.bytes};
  }
  void scale(const Function& f, Invoke& call) {
    tensor::Kernel& kernel = program_.kernels[call.kernel].variants[0];
    for (const Symbol& s : {m, n}) {  // in the order of their names
      kernel.scalars.push_back(scalar_of(s));
      call.scalars.push_back(tensor::symbol_var(s));
    }
    for (size_t k = 0; k < kernel.params.size(); ++k) {
      auto buffer = std::make_shared<tensor::BufferNode>(*kernel.params[k].buffer);
      buffer->shape = f.values[call.operands[k]].shape;
      kernel.params[k].buffer = buffer;
    }
  }

  std::mt19937 random_;
  Program program_;
  std::vector<Function*> functions_;  // the program, then its functions
  std::vector<size_t> first_;         // the numbers of their first values
  std::vector<size_t> group_;
  std::map<size_t, Dim> factor_;  // by the first value of a group
};

Program random_program(uint32_t seed, const std::vector<InputDim>& dims) { return Scaling(seed).run(dims); }

const std::vector<InputDim> unbounded = {{"n", n}, {"m", m}};
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

int count_of_calls(const Program& program) {
  int count = 0;
  for_each_function(program, [&](const Function& f) { for_each_function_call(f.body, [&](const Call&) { ++count; }); });
  return count;
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

namespace {

// Buffers of a constant size, and of one that grows with n * n.
std::vector<Chain> random_chains(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Chain> chains;
  for (int64_t k = 0; k < 12; ++k) {
    const int64_t bytes = 64 * static_cast<int64_t>(1 + random() % 9), lower = static_cast<int64_t>(random() % 12);
    const Dim size = random() % 2 == 0 ? Dim(bytes * 4096) : Dim(bytes) * Dim::symbol(n) * Dim::symbol(n);
    chains.push_back({size, {0, lower, lower + 1 + static_cast<int64_t>(random() % 4), 64}});
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
    Program program = random_program(seed, dims);
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
      block.function < 0 ? void(block.bytes = block.bytes - Dim(1)) : void(block.function = -1);
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
    const Program program = random_program(seed, unbounded);
    const StoragePlan good = plan_storage(program);
    WrongPlans wrong(program, good);
    for (int f = -1; f < static_cast<int>(program.functions.size()); ++f) wrong.change(f);
    refused += wrong.refused, harmless += wrong.harmless;
  }
  CHECK(refused > 1000);
  CHECK(harmless > 100);
}

// The values that an entry computes from the sizes that the caller gives.
class EntryValues {
 public:
  EntryValues(const EntrySizes& entry, const std::vector<int64_t>& given) {
    for (size_t k = 0; k < given.size(); ++k) define(entry.given[k], given[k]);
    for (const Step& step : entry.steps.steps) {
      if (const auto* compute = std::get_if<Compute>(&step)) define(compute->result, (*this)(compute->value));
      if (const auto* require = std::get_if<Require>(&step)) admits_ = admits_ && (*this)(require->condition) == 1;
    }
  }
  bool admits() const { return admits_; }
  int64_t operator()(const tensor::Expr& e) const {
    const tensor::CompiledScalar compiled(e);
    std::vector<Constant> values;
    for (const tensor::Var& v : compiled.variables()) values.push_back(scalars_.at(v));
    return compiled.value(values).integer_at(0);
  }

 private:
  void define(const tensor::Var& v, int64_t value) {
    scalars_.insert_or_assign(v, Constant::of<int64_t>(dtype::i64, {}, {value}));
  }
  std::map<tensor::Var, Constant> scalars_;
  bool admits_ = true;
};

static bool admits(const EntrySizes& entry, int64_t size_n, int64_t size_m) {
  return EntryValues(entry, {size_n, size_m}).admits();
}

TEST_CASE("the entry refuses each negative size, also where the product of two is positive") {
  Program program = random_program(7, unbounded);
  program.checked_sizes = {Dim::symbol(n) - Dim(4), Dim::symbol(m) - Dim(4)};
  const EntrySizes entry = entry_sizes(program, plan_storage(program));
  CHECK(admits(entry, 4, 4));
  CHECK(admits(entry, 9, 5));
  CHECK_FALSE(admits(entry, 2, 3));
  CHECK_FALSE(admits(entry, 2, 9));
  CHECK_FALSE(admits(entry, 9, 2));
}

TEST_CASE("the entry refuses values and arenas that are larger than an object of the target may be") {
  int admitted = 0, refused = 0;
  for (uint32_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    Program program = random_program(seed, unbounded);
    program.largest_object = INT32_MAX;
    const StoragePlan plan = plan_storage(program);
    const EntrySizes entry = entry_sizes(program, plan);
    for (int64_t size = 1000; size < int64_t{1} << 33; size += size / 5) {
      CAPTURE(size);
      const std::map<std::string, int64_t> sizes = {{"n", size}, {"m", 7}};
      const StoragePlan layout = lay_out_arena(plan, sizes);
      int64_t largest = std::max(size, layout.arena_bytes);
      for (const FunctionPlan& f : layout.functions) largest = std::max(largest, f.arena_bytes);
      for_each_function(program, [&](const Function& f) {
        for (const Value& v : f.values) {
          largest = std::max(largest, v.bytes.evaluate(sizes).value());
          for (const Dim& d : v.shape) largest = std::max(largest, d.evaluate(sizes).value());
        }
      });
      CHECK(admits(entry, size, 7) == (largest <= INT32_MAX));
      CHECK((status_at(program, sizes) == tensor::Status::ok || largest > INT32_MAX));
      (largest <= INT32_MAX ? admitted : refused)++;
    }
  }
  CHECK(admitted > 100);
  CHECK(refused > 100);

  Program copy;  // no arena, and dimensions that are small
  copy.dims = unbounded;
  copy.largest_object = INT32_MAX;
  const Shape shape = {Dim::symbol(n), Dim::symbol(m)};
  copy.values = {{.name = "x", .type = dtype::f32, .shape = shape, .bytes = bytes_of(dtype::f32, shape)}};
  copy.values[0].storage = Storage::input;
  copy.inputs = {0};
  const EntrySizes entry = entry_sizes(copy, plan_storage(copy));
  CHECK(admits(entry, 32768, 16383));
  CHECK_FALSE(admits(entry, 32768, 16384));
}

// Compares the offsets and sizes of arenas that the entry computes with those of the plan's layout at the sizes.
static void check_entry(const Program& program, const std::map<std::string, int64_t>& sizes) {
  const StoragePlan plan = plan_storage(program);
  const EntrySizes entry = entry_sizes(program, plan);
  std::vector<int64_t> given;
  for (const InputDim& d : program.dims) given.push_back(d.multiple * sizes.at(d.symbol.name));
  const EntryValues value(entry, given);
  CHECK(value.admits());
  for (size_t k = 0; k < program.dims.size(); ++k)
    CHECK(value(entry.symbols[k]) == sizes.at(program.dims[k].symbol.name));
  const StoragePlan layout = lay_out_arena(plan, sizes);
  CHECK(value(entry.arenas.back()) == layout.arena_bytes);
  auto check_blocks = [&](const FunctionPlan& own, const FunctionPlan& at, const std::vector<tensor::Expr>& blocks) {
    for (size_t v = 0; v < own.block_of.size(); ++v)
      if (own.block_of[v] >= 0) CHECK(value(blocks[own.block_of[v]]) == at.offsets[v]);
    for (size_t c = 0; own.is_stacked() && c < own.workspaces.size(); ++c)
      if (own.workspaces[c] >= 0) CHECK(value(blocks[own.workspaces[c]]) == at.workspaces[c]);
  };
  check_blocks(plan, layout, entry.blocks.back());
  for (size_t f = 0; f < plan.functions.size(); ++f)
    check_blocks(plan.functions[f], layout.functions[f], entry.blocks[f]);
}

TEST_CASE("the entry computes the offsets of the arena's layout") {
  std::vector<InputDim> dims = unbounded;
  dims[0].multiple = 4;
  uint32_t seed = 7;
  while (count_of_calls(random_program(seed, dims)) < 3) ++seed;
  for (const auto& sizes : several_sizes) check_entry(random_program(seed, dims), sizes);
}

TEST_CASE("a value of an arm that has a negative size takes no memory") {
  ProgramBuilder b;
  b.program.dims = unbounded;
  const ValueId x = b.input(1), first = b.temporary(1), second = b.temporary(1), y = b.output(1);
  auto resize = [&](ValueId v, const Shape& shape) {
    b.program.values[v].shape = shape, b.program.values[v].bytes = product(shape);
  };
  resize(first, {Dim::symbol(n) - Dim(4), Dim::symbol(m) - Dim(3)});
  resize(second, {Dim::symbol(m) * Dim(8)});
  for (const Invoke& call : {b.call({x}, {first}), b.call({first}, {second}), b.call({first, second}, {y})})
    b.program.body.steps.emplace_back(call);
  for (auto [n_size, m_size] : {std::pair<int64_t, int64_t>{1, 2}, {3, 9}, {4, 3}, {9, 2}, {9, 9}}) {
    const std::map<std::string, int64_t> sizes = {{"n", n_size}, {"m", m_size}};
    check_entry(b.program, sizes);
    const int64_t elements = std::max<int64_t>(0, n_size - 4) * std::max<int64_t>(0, m_size - 3);
    CHECK(lay_out_arena(plan_storage(b.program), sizes).arena_bytes == elements + m_size * 8);
    CHECK(status_at(b.program, sizes) == tensor::Status::ok);
  }
  b.program.checked_sizes = {Dim::symbol(n) - Dim(5), Dim::symbol(m) - Dim(3)};
  CHECK(shape_in_memory(b.program, b.program.values[first].shape) == b.program.values[first].shape);
}

TEST_CASE("the entry refuses sizes whose parts int64 cannot represent, also if they are bounded") {
  ProgramBuilder b;
  b.program.dims = unbounded;
  const Dim begin = Dim::symbol(n) * Dim::symbol(m) * Dim::symbol(m);
  b.program.outputs = {b.temporary(1)};
  Value& rest = b.program.values[0];
  rest.storage = Storage::output, rest.shape = {Dim(25) - min(begin, 25)}, rest.bytes = rest.shape[0];
  const EntrySizes entry = entry_sizes(b.program, plan_storage(b.program));
  CHECK(admits(entry, 3, 2));
  CHECK(admits(entry, int64_t{1} << 30, 1000));
  CHECK_FALSE(admits(entry, int64_t{1} << 24, int64_t{1} << 20));  // 2^64
  CHECK_FALSE(admits(entry, (int64_t{1} << 40) - 1, int64_t{1} << 12));
}
