#include "targets/llvm/aliases.h"

#include <tuple>

#include "lower/walk.h"

namespace dlcc::targets {

namespace {

using lower::Storage;

struct Extent {
  std::pair<Storage, int64_t> space;  // operands of one call with different spaces do not overlap
  Dim begin, end;                     // bytes

  bool may_overlap(const Extent& o) const {
    return space == o.space && !provably_le(o.end, begin) && !provably_le(end, o.begin);
  }
};

Extent extent_of(const lower::Function& function, const lower::FunctionPlan& plan, lower::ValueId id) {
  const lower::Value& value = function.values[static_cast<size_t>(id)];
  Dim offset = 0;
  lower::ValueId root = id;
  if (value.storage == Storage::view) root = value.base, offset = value.base_offset;
  const lower::Value& base = function.values[static_cast<size_t>(root)];
  std::pair<Storage, int64_t> space(base.storage, base.index);
  if (base.storage == Storage::temporary) {
    space.second = plan.is_stacked() ? plan.block_of[static_cast<size_t>(root)] : 0;
    if (!plan.is_stacked()) offset = offset + Dim(plan.offsets[static_cast<size_t>(root)]);
  }
  return {space, offset, offset + value.bytes};
}

class AliasFinder {
 public:
  explicit AliasFinder(const lower::Program& program) : program_(program) {
    for (const lower::KernelVariants& k : program.kernels)
      result_.emplace_back(k.variants.front().params.size(), false);
  }

  void visit(const lower::Function& function, const lower::FunctionPlan& plan) {
    lower::for_each_call(function.body, [&](const lower::Invoke& call) { visit(call, function, plan); });
  }

  std::vector<std::vector<bool>> take() { return std::move(result_); }

 private:
  void visit(const lower::Invoke& x, const lower::Function& function, const lower::FunctionPlan& plan) {
    auto kernel = static_cast<size_t>(x.kernel);
    const std::vector<tensor::Parameter>& params = program_.kernels[kernel].variants.front().params;
    for (size_t i = 0; i < x.operands.size(); ++i)
      for (size_t j = i + 1; j < x.operands.size(); ++j) {
        if (params[i].access == tensor::Access::read && params[j].access == tensor::Access::read) continue;
        if (!extent_of(function, plan, x.operands[i]).may_overlap(extent_of(function, plan, x.operands[j]))) continue;
        result_[kernel][i] = result_[kernel][j] = true;
      }
  }

  const lower::Program& program_;
  std::vector<std::vector<bool>> result_;
};

}  // namespace

std::vector<std::vector<bool>> find_aliases(const lower::Program& program, const lower::StoragePlan& plan) {
  AliasFinder finder(program);
  finder.visit(program, plan);
  for (size_t k = 0; k < program.functions.size(); ++k) finder.visit(program.functions[k], plan.functions[k]);
  return finder.take();
}

}  // namespace dlcc::targets
