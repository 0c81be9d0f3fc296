#include "lower/entry_sizes.h"

#include <algorithm>

#include "lower/largest_size.h"
#include "lower/memory_sizes.h"
#include "lower/size_conditions.h"
#include "lower/walk.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

using tensor::Expr;
using tensor::Status;

class EntrySizesBuilder {
 public:
  explicit EntrySizesBuilder(const Program& program) : program_(program), largest_(program) {}

  EntrySizes run(const StoragePlan& plan) {
    for (const InputDim& d : program_.dims) size(d);
    for (const Step& s : program_.entry.steps) result_.steps.steps.push_back(s);
    for (const Symbol& s : program_.input_sizes) result_.symbols.push_back(scalar_of(s));
    for (const Dim& d : program_.checked_sizes)
      for (const Expr& condition : conditions_of_size(d)) require(condition);
    for_each_function(program_, [&](const Function& f) {
      const MemorySizes sizes(program_, f);
      for (size_t v = 0; v < f.values.size(); ++v) check_sizes(f, sizes, static_cast<ValueId>(v));
    });
    for (const Require& r : program_.requirements) result_.steps.steps.push_back(r);
    for (const FunctionPlan& f : plan.functions) lay_out(f);
    lay_out(plan);
    return std::move(result_);
  }

 private:
  void require(const Expr& condition) {
    Expr simple = tensor::simplify(condition, ranges_);
    if (tensor::constant_integer(simple) != 1)
      result_.steps.steps.push_back(Require{simple, Status::dimension_out_of_range});
  }

  Expr compute(const tensor::Var& var, const Expr& value) {
    result_.steps.steps.push_back(Compute{var, value});
    return var;
  }

  void size(const InputDim& d) {
    const tensor::Var given = tensor::make_var(d.name), symbol = scalar_of(d.symbol);
    const Expr number = given;
    result_.given.push_back(given);
    require(tensor::logical_and(Expr(d.low()) <= number, number <= Expr(std::min(d.high(), tensor::max_elements))));
    if (d.multiple != 1) require(tensor::equal(tensor::floor_mod(number, Expr(d.multiple)), Expr(0)));
    result_.symbols.push_back(compute(symbol, tensor::floor_div(number, Expr(d.multiple))));
  }

  // Each distinct size is checked once.
  void check_sizes(const Function& f, const MemorySizes& sizes, ValueId v) {
    const Shape& shape = f.values[static_cast<size_t>(v)].shape;
    const MemorySize size = sizes(v);
    check_size(largest_(product(shape)), size, tensor::max_elements);
    if (program_.largest_object == INT64_MAX) return;
    check_size(size.bytes, size, program_.largest_object);
    for (const Dim& d : shape) check_size(largest_(d), size, program_.largest_object);  // loops count to the sizes
  }

  // The size is at most `limit` if the value is used.
  void check_size(const Dim& size, const MemorySize& value, int64_t limit) {
    const bool is_known = size.is_constant() && size.value() <= limit;
    const Checked checked{size, value.checks, limit};
    if (is_known || std::ranges::count(checked_, checked)) return;
    checked_.push_back(checked);
    for (const Expr& condition : conditions_of_small_size(size, limit))
      require(value.checks.empty() ? condition : tensor::logical_or(tensor::logical_not(value.is_used()), condition));
  }

  // The arenas of its callees must have been laid out before.
  void lay_out(const FunctionPlan& plan) {
    std::vector<Expr> begins, ends;
    Expr arena_bytes = Expr(plan.arena_bytes);
    for (const StackedBlock& block : plan.blocks) {
      begins.push_back(compute(tensor::make_var("offset"), offset_of(block, ends)));
      const Expr bytes = block.function < 0 ? block.size.expr() : result_.arenas[static_cast<size_t>(block.function)];
      ends.push_back(compute(tensor::make_var("end"), begins.back() + bytes));
      arena_bytes = ends.size() == 1 ? ends.back() : tensor::max(arena_bytes, ends.back());
    }
    if (plan.is_stacked()) {
      arena_bytes = compute(tensor::make_var("arena_bytes"), arena_bytes);
      if (program_.largest_object < INT64_MAX) require(arena_bytes <= Expr(program_.largest_object));
    }
    result_.blocks.push_back(std::move(begins));
    result_.arenas.push_back(arena_bytes);
  }

  static Expr offset_of(const StackedBlock& block, const std::vector<Expr>& ends) {
    if (block.below.empty()) return Expr(0);
    Expr offset = Expr(0);
    for (int k : block.below) offset = tensor::max(offset, ends[static_cast<size_t>(k)]);
    offset = tensor::floor_div(offset + Expr(block.alignment - 1), Expr(block.alignment)) * Expr(block.alignment);
    return offset;
  }

  const Program& program_;
  LargestSizes largest_;
  EntrySizes result_;
  struct Checked {
    Dim size;
    std::vector<Dim> checks;
    int64_t limit;
    bool operator==(const Checked&) const = default;
  };
  std::vector<Checked> checked_;
  tensor::Ranges ranges_;
};

}  // namespace

EntrySizes entry_sizes(const Program& program, const StoragePlan& plan) { return EntrySizesBuilder(program).run(plan); }

}  // namespace dlcc::lower
