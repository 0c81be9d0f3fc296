#include "lower/check_module.h"

#include <algorithm>
#include <map>
#include <set>

#include "relay/input_dims.h"
#include "relay/operator.h"

namespace dlcc::lower {
namespace {

class Checker {
 public:
  Checker(const std::vector<InputDim>& dims, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
    for (const InputDim& d : dims) given_.insert(d.symbol.name);
  }

  void check_main(const relay::Function& main) {
    for (const relay::Var& p : main.params)
      for_each_field(p->type, [&](const relay::Type& type) {
        if (!relay::as<relay::TensorType>(type))
          diagnostics_.error(DiagnosticId::unsupported_construct, main.location,
                             fmt::format("input '{}' has type {}, which cannot be compiled to native code", p->name,
                                         relay::str(type)));
      });
  }

  // The caller of a function that is not @main gives the symbols of its parameters.
  void check_sizes(const relay::Function& f, bool has_caller) {
    const std::set<std::string> of_main = given_;
    for (const relay::Var& p : f.params)
      for_each_field(p->type, [&](const relay::Type& field) {
        if (const auto* t = relay::as<relay::TensorType>(field); t && has_caller)
          for (const Dim& d : t->shape)
            for (const Symbol& s : d.symbols()) given_.insert(s.name);
      });
    for (const relay::Var& p : f.params) check_sizes(p->type, f.location, fmt::format("input '{}'", p->name));
    check_sizes(f.body);
    given_ = of_main;
  }

 private:
  void check_sizes(const relay::Block& block) {
    for (const relay::Binding& b : block.bindings) {
      if (const auto* sizes = std::get_if<relay::DefineSizes>(&b.op))
        for (const Symbol& s : sizes->symbols) given_.insert(s.name);
      check_sizes(b.var->type, b.location, b.var->name.empty() ? "a value" : fmt::format("'{}'", b.var->name));
      relay::for_each_block(b.op, [&](const relay::Block& inner) { check_sizes(inner); });
    }
  }

  void check_sizes(const relay::Type& type, const SourceLocation& location, const std::string& what) {
    for_each_field(type, [&](const relay::Type& field) {
      if (const auto* t = relay::as<relay::TensorType>(field)) check_sizes(*t, location, what);
    });
  }

  void check_sizes(const relay::TensorType& t, const SourceLocation& location, const std::string& what) {
    if (!is_static(t.shape) && !fits_at_smallest(t.shape) && reported_.insert("").second)
      diagnostics_.error(DiagnosticId::too_large, location,
                         fmt::format("{} has type {}, which is more than 2^40 elements for the smallest sizes", what,
                                     relay::str(relay::tensor_type(t.shape, t.dtype))));
    for (const Dim& d : t.shape) {
      for (const Symbol& s : d.symbols())
        if (!given_.contains(s.name)) unknown_size(s.name, location, what);
      if (d.is_overflow() && reported_.insert("").second)
        diagnostics_.error(DiagnosticId::too_large, location,
                           fmt::format("a dimension of {} does not fit 64 bits", what));
    }
    if (is_static(t.shape) && (product(t.shape).is_overflow() || product(t.shape).value() > int64_t{1} << 40))
      diagnostics_.error(DiagnosticId::too_large, location,
                         fmt::format("{} has type {}, which is more than 2^40 elements", what,
                                     relay::str(relay::tensor_type(t.shape, t.dtype))));
  }

  static bool fits_at_smallest(const Shape& shape) {
    std::map<std::string, int64_t> smallest;
    for (const Symbol& s : product(shape).symbols()) smallest[s.name] = s.low;
    const auto count = product(shape).evaluate(smallest);
    return count && *count <= tensor::most_elements;
  }

  void unknown_size(const std::string& symbol, const SourceLocation& location, const std::string& what) {
    if (!reported_.insert(symbol).second) return;
    bool has_name = !symbol.starts_with('?');  // '?' begins the symbols that type inference makes
    diagnostics_.error(
        DiagnosticId::dynamic_shape, location,
        fmt::format("the dimension '{}' of {} does not follow from the sizes of the inputs", symbol, what), {},
        has_name ? fmt::format("give it a value: --dim {}=1", symbol)
                 : "declare its shape in the model, or make the operand that decides it a constant");
  }

  Diagnostics& diagnostics_;
  std::set<std::string> given_;     // symbols that the caller gives
  std::set<std::string> reported_;  // symbols; "" for dimensions that do not fit 64 bits
};

}  // namespace

namespace {

void add_size(const Dim& d, std::vector<Dim>& sizes) {
  if (!std::ranges::count(sizes, d)) sizes.push_back(d);
}

// Sizes that data decide are not checked before the run begins.
bool is_given(const Dim& d, const std::vector<InputDim>& dims) {
  return std::ranges::all_of(d.symbols(),
                             [&](const Symbol& s) { return std::ranges::count(dims, s, &InputDim::symbol) > 0; });
}

// The sizes, each less 1, that must be at least 1 for a call of an operator.
void add_positive_sizes(const relay::Module& module, const relay::Binding& b, const std::vector<InputDim>& dims,
                        std::vector<Dim>& sizes) {
  const auto* call = std::get_if<relay::Call>(&b.op);
  const auto* ref = call ? std::get_if<relay::OperatorRef>(&call->callee) : nullptr;
  if (!ref || !ref->op->positive_sizes) return;
  relay::Operands operands;
  for (const relay::Atom& a : call->args) operands.push_back(*relay::as<relay::TensorType>(relay::type_of(module, a)));
  for (const Dim& d : ref->op->positive_sizes(call->attrs, operands))
    if (is_given(d, dims) && !provably_le(1, d)) add_size(d - Dim(1), sizes);
}

// Symbols and numbers of elements are checked in any case. A number of elements hides a size only if another one is 0.
bool is_doubtful(const Dim& d, const Shape& shape) {
  const std::vector<Symbol> symbols = d.symbols();
  if (symbols.size() == 1 && d == Dim::symbol(symbols[0])) return false;
  const bool may_be_hidden = std::ranges::any_of(shape, [](const Dim& other) { return !provably_le(1, other); });
  return !d.is_constant() && (!provably_le(0, d) || (may_be_hidden && !provably_le(d, tensor::most_elements)));
}

void add_doubtful_sizes(const relay::Module& module, const relay::Block& block, const std::vector<InputDim>& dims,
                        std::vector<Dim>& sizes) {
  for (const relay::Binding& b : block.bindings) {
    add_positive_sizes(module, b, dims, sizes);
    relay::for_each_field(b.var->type, [&](const relay::Type& field) {
      if (const auto* t = relay::as<relay::TensorType>(field))
        for (const Dim& d : t->shape)
          if (is_given(d, dims) && is_doubtful(d, t->shape) && !std::ranges::count(sizes, d - Dim(1)))
            add_size(d, sizes);
    });
    relay::for_each_block(b.op, [&](const relay::Block& inner) { add_doubtful_sizes(module, inner, dims, sizes); });
  }
}

}  // namespace

std::vector<Dim> doubtful_sizes(const relay::Module& module) {
  std::vector<Dim> sizes;
  if (auto main = module.functions.find("main"); main != module.functions.end())
    add_doubtful_sizes(module, main->second.body, relay::input_dims(module), sizes);
  return sizes;
}

bool check_module(const relay::Module& module, const SourceLocation& model, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  auto main = module.functions.find("main");
  Checker checker(main == module.functions.end() ? std::vector<InputDim>() : relay::input_dims(module), diagnostics);
  if (main != module.functions.end())
    checker.check_main(main->second);
  else
    diagnostics.error(DiagnosticId::undefined_value, model, "there is no function @main");
  for (const auto& [name, f] : module.functions) checker.check_sizes(f, name != "main");
  return diagnostics.error_count() == before;
}

}  // namespace dlcc::lower
