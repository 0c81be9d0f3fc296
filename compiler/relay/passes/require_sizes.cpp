// Sizes that may be invalid become checks of the run, before the operation that relies on them:
//
//   %c = nn.conv2d(%x, %w)                             %r = require_sizes((h - 5))
//                                                      %c = nn.conv2d(%x, %w)
//
// for a window of 5 rows in an image of h. Required are sizes of results that may be negative, or too large in a tensor
// without elements; the sizes, less 1, that an operator requires to be positive (OperatorSpec::positive_sizes), such as
// the number of windows of a pooling; and the distances of a callee's sizes from their lower bounds, on which the
// simplifications of its body rely. The pass has to run before fusion, which hides these sizes. A size that has been
// required before, in the same or an enclosing block, is not required again.
#include <algorithm>

#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/type_arguments.h"

namespace dlcc::relay {

namespace {

// Whether a size needs a check of its own. Symbols and element counts are checked in any case, and an element count
// bounds its sizes unless one of them may be 0.
bool needs_check(const Dim& d, const Shape& shape) {
  const std::vector<Symbol> symbols = d.symbols();
  if (symbols.size() == 1 && d == Dim::symbol(symbols[0])) return false;
  const bool may_be_hidden = std::ranges::any_of(shape, [](const Dim& other) { return !provably_le(1, other); });
  return !d.is_constant() && (!provably_le(0, d) || (may_be_hidden && !provably_le(d, tensor::max_elements)));
}

class SizeRequirer {
 public:
  explicit SizeRequirer(Module& module) : module_(module) {}

  void block(Block& b) {
    const size_t outer = required_.size();
    std::vector<Binding> out;
    out.reserve(b.bindings.size());
    for (Binding& binding : b.bindings) {
      const size_t before = required_.size();
      require_for(binding);
      if (required_.size() > before)
        out.push_back({module_.fresh("sizes", tuple_type({})),
                       RequireSizes{{required_.begin() + static_cast<std::ptrdiff_t>(before), required_.end()}},
                       binding.location});
      for_each_block(binding.op, [&](Block& inner) { block(inner); });
      out.push_back(std::move(binding));
    }
    b.bindings = std::move(out);
    required_.resize(outer);
  }

 private:
  void require_for(const Binding& binding) {
    if (const Call* call = std::get_if<Call>(&binding.op)) {
      if (const OperatorRef* ref = std::get_if<OperatorRef>(&call->callee)) {
        require_positive_sizes(*ref->op, *call);
        require_valid_sizes(binding.var->type, call->args);
      } else if (const GlobalRef* callee = std::get_if<GlobalRef>(&call->callee)) {
        for (Dim& d : distances_from_lower_bounds(module_, *callee, call->args)) require(std::move(d));
      }
    } else if (const CallTensor* call_tensor = std::get_if<CallTensor>(&binding.op)) {
      require_valid_sizes(binding.var->type, call_tensor->args);
    }
  }

  void require_positive_sizes(const Operator& op, const Call& call) {
    if (!op.positive_sizes) return;
    Operands operands;
    for (const Atom& a : call.args) {
      const Type type = type_of(module_, a);
      const TensorType* t = as<TensorType>(type);
      if (!t) return;  // the type is not known: a generic function
      operands.push_back(*t);
    }
    for (const Dim& d : op.positive_sizes(call.attrs, operands))
      if (!provably_le(1, d)) require(d - Dim(1));
  }

  // Sizes of the operands are valid.
  void require_valid_sizes(const Type& result, const std::vector<Atom>& args) {
    for_each_field(result, [&](const Type& field) {
      const TensorType* t = as<TensorType>(field);
      for (size_t k = 0; t && k < t->shape.size(); ++k)
        if (const Dim& d = t->shape[k]; needs_check(d, t->shape) && !is_required(d - Dim(1)) && !is_size_of(args, d))
          require(d);
    });
  }

  bool is_size_of(const std::vector<Atom>& args, const Dim& d) const {
    bool found = false;
    for (const Atom& a : args)
      for_each_field(type_of(module_, a), [&](const Type& field) {
        const TensorType* t = as<TensorType>(field);
        found = found || (t && std::ranges::count(t->shape, d) > 0);
      });
    return found;
  }

  bool is_required(const Dim& d) const { return std::ranges::count(required_, d) > 0; }

  void require(Dim d) {
    if (!is_required(d)) required_.push_back(std::move(d));
  }

  Module& module_;
  std::vector<Dim> required_;  // in the enclosing blocks, before the current binding
};

}  // namespace

Module require_sizes(Module module, PassContext&) {
  SizeRequirer requirer(module);
  for (auto& [name, f] : module.functions) requirer.block(f.body);
  return module;
}

}  // namespace dlcc::relay
