// The entry of a program: the sizes that it refuses, and the arena's layout that it computes.
#include <doctest/doctest.h>

#include <algorithm>

#include "lower/entry_sizes.h"
#include "lower/instantiate.h"
#include "lower/memory_sizes.h"
#include "lower/walk.h"
#include "program_builder.h"
#include "symbolic_program.h"
#include "tensor/evaluate.h"

using namespace dlcc;
using namespace dlcc::lower;

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
  Program program = symbolic_program(7, unbounded);
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
    Program program = symbolic_program(seed, unbounded);
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
  while (count_of_calls(symbolic_program(seed, dims)) < 3) ++seed;
  for (const auto& sizes : several_sizes) check_entry(symbolic_program(seed, dims), sizes);
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
  CHECK(MemorySizes(b.program, b.program)(first).checks.empty());
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

TEST_CASE("a size that wraps to a negative one is too large, and not unused") {
  ProgramBuilder b;
  b.program.dims = unbounded;
  const ValueId x = b.input(1), y = b.output(1), rest = b.temporary(1);
  b.program.body.steps = {b.call({x}, {rest}), b.call({rest}, {y})};
  b.program.values[rest].shape = {Dim::symbol(n) * Dim::symbol(m) - Dim(5)};
  b.program.values[rest].bytes = b.program.values[rest].shape[0];
  const EntrySizes entry = entry_sizes(b.program, plan_storage(b.program));
  CHECK(admits(entry, 3, 1));
  CHECK(admits(entry, 3, 4));
  CHECK_FALSE(admits(entry, int64_t{1} << 32, int64_t{1} << 32));  // 2^64 - 5
}
