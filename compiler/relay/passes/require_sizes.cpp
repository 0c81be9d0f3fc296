// Sizes that may be invalid become checks of the run, before the operation that relies on them:
//
//   %c = nn.conv2d(%x, %w)                             %r = require_sizes((h - 5))
//                                                      %c = nn.conv2d(%x, %w)
//
// for a window of 5 rows in an image of h. Required are sizes of values that may be negative, or too large in a tensor
// without elements; the sizes, less 1, that an operator requires to be positive (OperatorSpec::positive_sizes), such as
// the number of windows of a pooling; and the distances of a callee's sizes from their lower bounds, and of a tensor
// function's from both bounds, on which the simplifications of its body rely. Sizes of operands, of the parameters of
// all functions but @main, and of a callee's result are valid. The sizes of a branch's result are required before the
// branch, because both arms have them. A size that has been required before, in the same or an enclosing block, is not
// required again. The pass has to run before fusion, which hides these sizes.
#include <algorithm>

#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/type_arguments.h"
#include "shape/facts.h"

namespace dlcc::relay {

namespace {

// Whether a size needs a check of its own. Symbols and element counts are checked in any case, and an element count
// bounds its sizes unless one of them may be 0.
bool needs_check(const Dim& d, const Shape& shape) {
  const std::vector<Symbol> symbols = d.symbols();
  if (symbols.size() == 1 && d == Dim::symbol(symbols[0])) return false;
  if (!provably_le(0, d)) return true;
  if (std::ranges::all_of(shape, [](const Dim& other) { return provably_le(1, other); })) return false;
  Facts facts;
  for (const Symbol& symbol : symbols) facts.assume_le(Dim::symbol(symbol), tensor::max_elements);
  return !facts.provably_le(d, tensor::max_elements);
}

class SizeRequirer {
 public:
  explicit SizeRequirer(Module& module) : module_(module) {}

  void function(Function& f, bool is_main) {
    required_.clear();
    for (const Binding& b : f.body.bindings) {
      const RequireSizes* known = std::get_if<RequireSizes>(&b.op);
      if (!known) break;
      require_all(known->sizes);
    }
    const size_t known = required_.size();
    if (is_main)
      for (const Var& p : f.params) require_valid_sizes(p->type, {});
    std::vector<Binding> first;
    add_requirement(known, f.location, first);
    see_parameters(f);
    block(f.body);
    f.body.bindings.insert(f.body.bindings.begin(), first.begin(), first.end());
  }

 private:
  void block(Block& b) {
    const size_t outer = required_.size();
    std::vector<Binding> out;
    out.reserve(b.bindings.size());
    for (Binding& binding : b.bindings) {
      const size_t before = required_.size();
      require_for(binding);
      add_requirement(before, binding.location, out);
      if (const RequireSizes* known = std::get_if<RequireSizes>(&binding.op)) require_all(known->sizes);
      const size_t around = required_.size();
      if (const MakeFunction* made = std::get_if<MakeFunction>(&binding.op)) see_parameters(*made->function);
      for_each_block(binding.op, [&](Block& inner) { block(inner); });
      required_.resize(around);
      out.push_back(std::move(binding));
    }
    b.bindings = std::move(out);
    required_.resize(outer);
  }

  // Adds a binding that requires the sizes of the list from number `first` on, if there are any.
  void add_requirement(size_t first, const SourceLocation& location, std::vector<Binding>& out) {
    const auto begin = required_.begin() + static_cast<std::ptrdiff_t>(first);
    if (begin != required_.end())
      out.push_back({module_.fresh("sizes", tuple_type({})), RequireSizes{{begin, required_.end()}}, location});
  }

  void see_parameters(const Function& f) {
    for (const Var& p : f.params)
      for_each_field(p->type, [&](const Type& field) {
        if (const TensorType* t = as<TensorType>(field)) require_all(t->shape);
      });
  }

  void require_for(const Binding& binding) {
    if (const Call* call = std::get_if<Call>(&binding.op)) {
      if (const OperatorRef* ref = std::get_if<OperatorRef>(&call->callee)) require_positive_sizes(*ref->op, *call);
      if (const GlobalRef* callee = std::get_if<GlobalRef>(&call->callee))
        return require_all(distances_from_lower_bounds(module_, *callee, call->args));
      if (std::holds_alternative<Var>(call->callee)) return;  // the body, which may define the sizes, requires them
    }
    if (std::holds_alternative<MatchCast>(binding.op)) return;
    if (std::holds_alternative<Match>(binding.op)) return;  // its arms do, and their patterns define sizes
    if (const CallTensor* call = std::get_if<CallTensor>(&binding.op)) require_bounds(*call);
    std::vector<Atom> operands;
    for_each_atom(binding.op, [&](const Atom& a) { operands.push_back(a); });
    require_valid_sizes(binding.var->type, operands);
  }

  void require_bounds(const CallTensor& call) {
    const tensor::TensorFunction& callee = module_.tensor_functions.at(call.function);
    std::vector<DimPair> pairs;
    for (size_t k = 0; k < callee.params.size(); ++k)
      if (const Type type = type_of(module_, call.args[k]); const TensorType* argument = as<TensorType>(type))
        add_dim_pairs(callee.params[k]->shape, argument->shape, pairs);
    const std::map<std::string, Dim> values = sizes_at_call(pairs);
    for (const tensor::Buffer& b : callee.params)
      for (const Dim& d : b->shape)
        for (const Symbol& symbol : d.symbols())
          if (const auto value = values.find(symbol.name); value != values.end())
            require_between(value->second, symbol);
  }

  void require_between(const Dim& size, const Symbol& bounds) {
    if (!provably_le(bounds.low, size)) require(size - Dim(bounds.low));
    if (bounds.high != INT64_MAX && !provably_le(size, bounds.high)) require(Dim(bounds.high) - size);
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

  void require_valid_sizes(const Type& type, const std::vector<Atom>& operands) {
    for_each_field(type, [&](const Type& field) {
      const TensorType* t = as<TensorType>(field);
      for (size_t k = 0; t && k < t->shape.size(); ++k)
        if (const Dim& d = t->shape[k];
            needs_check(d, t->shape) && !is_required(d - Dim(1)) && !is_size_of(operands, d))
          require(d);
    });
  }

  bool is_size_of(const std::vector<Atom>& operands, const Dim& d) const {
    bool found = false;
    for (const Atom& a : operands)
      for_each_field(type_of(module_, a), [&](const Type& field) {
        const TensorType* t = as<TensorType>(field);
        found = found || (t && std::ranges::count(t->shape, d) > 0);
      });
    return found;
  }

  bool is_required(const Dim& d) const { return std::ranges::count(required_, d) > 0; }

  void require(const Dim& d) {
    if (!is_required(d)) required_.push_back(d);
  }
  void require_all(const std::vector<Dim>& dims) {
    for (const Dim& d : dims) require(d);
  }

  Module& module_;
  std::vector<Dim> required_;  // in the enclosing blocks, before the current binding; with sizes of parameters
};

}  // namespace

Module require_sizes(Module module, PassContext&) {
  SizeRequirer requirer(module);
  for (auto& [name, f] : module.functions) requirer.function(f, name == "main");
  return module;
}

}  // namespace dlcc::relay
