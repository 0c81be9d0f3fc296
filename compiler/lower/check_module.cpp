#include "lower/check_module.h"

#include <algorithm>
#include <map>
#include <set>

#include "relay/input_dims.h"
#include "relay/operator.h"
#include "support/similar_names.h"

namespace dlcc::lower {
namespace {

class ModuleChecker {
 public:
  ModuleChecker(const std::vector<InputDim>& dims, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
    for (const InputDim& d : dims) given_.insert(d.symbol.name);
  }

  void check_main(const relay::Function& main) {
    for (const relay::Var& p : main.params)
      for_each_field(p->type, [&](const relay::Type& type) {
        if (!relay::as<relay::TensorType>(type))
          diagnostics_.error(
              DiagnosticId::unsupported_construct, main.location,
              fmt::format("input '{}' has type {}, which cannot be compiled to native code", p->name, relay::str(type)),
              {}, "'dlcc run --interpret' runs the program");
      });
  }

  // Some passes take time proportional to the nesting depth for each block.
  bool check_nesting(const relay::Block& block, int levels = 0) {
    constexpr int most = 1000;
    for (const relay::Binding& b : block.bindings) {
      bool nested = false, good = true;
      relay::for_each_block(b.op, [&](const relay::Block& inner) {
        nested = true;
        good = good && levels < most && check_nesting(inner, levels + 1);
      });
      if (nested && levels == most)
        diagnostics_.error(DiagnosticId::too_large, b.location,
                           fmt::format("blocks nested deeper than {} levels cannot be compiled to native code", most));
      if (!good) return false;
    }
    return true;
  }

  // Notes the sizes that the types of function values name. After the passes, such a size is known in the body of a
  // function if it is one of the enclosing function.
  void note_function_values(const relay::Function& f) {
    for (const relay::Var& p : f.params) note_function_value(p->type);
    note_function_values(f.body);
  }

  // `has_caller`: the function is not @main, so that its caller gives the symbols of its parameters.
  void check_sizes(const relay::Function& f, bool has_caller) {
    std::set<std::string> of_main = given_;
    if (has_caller) given_.clear();
    for (const relay::Var& p : f.params)
      for_each_field(p->type, [&](const relay::Type& field) {
        if (const auto* t = relay::as<relay::TensorType>(field); t && has_caller)
          for (const Dim& d : t->shape)
            for (const Symbol& s : d.symbols()) given_.insert(s.name);
      });
    for (const relay::Var& p : f.params) check_sizes(p->type, f.location, fmt::format("input '{}'", p->name));
    check_sizes(f.body);
    given_ = std::move(of_main);
  }

 private:
  void note_function_value(const relay::Type& type) {
    if (relay::as<relay::FunctionType>(type))
      relay::for_each_symbol(type, [&](const Symbol& s) { of_function_values_.insert(s.name); });
  }

  void note_function_values(const relay::Block& block) {
    for (const relay::Binding& b : block.bindings) {
      note_function_value(b.var->type);
      relay::for_each_block(b.op, [&](const relay::Block& inner) { note_function_values(inner); });
    }
  }

  void check_sizes(const relay::Block& block) {
    for (const relay::Binding& b : block.bindings) {
      if (auto missing = relay::missing_definition(b.op))
        diagnostics_.error(DiagnosticId::unsupported_operator, b.location, missing->message, {}, missing->help);
      if (const auto* required = std::get_if<relay::RequireSizes>(&b.op))
        for (const Dim& d : required->sizes) check_symbols(d, b.location, "a required size");
      if (const auto* sizes = std::get_if<relay::DefineSizes>(&b.op)) {
        for (const Dim& d : sizes->most)
          if (d != relay::unknown_dim()) check_symbols(d, b.location, "a bound");
        for (const Symbol& s : sizes->symbols) given_.insert(s.name);
      }
      relay::for_each_block(b.op, [&](const relay::Block& inner) { check_sizes(inner); });
      if (std::holds_alternative<relay::If>(b.op))  // defines the sizes in which its branches differ
        relay::for_each_symbol(b.var->type, [&](const Symbol& s) { given_.insert(s.name); });
      check_sizes(b.var->type, b.location, b.var->name.empty() ? "a value" : fmt::format("'{}'", b.var->name));
    }
  }

  void check_sizes(const relay::Type& type, const SourceLocation& location, const std::string& what) {
    for_each_field(type, [&](const relay::Type& field) {
      if (const auto* t = relay::as<relay::TensorType>(field)) check_sizes(*t, location, what);
    });
  }

  void check_sizes(const relay::TensorType& t, const SourceLocation& location, const std::string& what) {
    if (t.lanes != 1 && reported_.insert("").second)
      diagnostics_.error(DiagnosticId::unsupported_type, location,
                         fmt::format("{} has type {}: no operator computes with vectors as elements", what,
                                     relay::str(relay::with_shape(t, t.shape))),
                         {}, "give the tensor one more axis in place of the vector");
    if (!is_static(t.shape) && is_always_too_large(t.shape) && reported_.insert("").second)
      diagnostics_.error(DiagnosticId::too_large, location,
                         fmt::format("{} has type {}, which is more than 2^40 elements for all sizes", what,
                                     relay::str(relay::tensor_type(t.shape, t.dtype))));
    for (const Dim& d : t.shape) {
      check_symbols(d, location, what);
      if (d.is_overflow() && reported_.insert("").second)
        diagnostics_.error(DiagnosticId::too_large, location,
                           fmt::format("a dimension of {} does not fit 64 bits", what));
    }
    if (is_static(t.shape) && (product(t.shape).is_overflow() || product(t.shape).value() > tensor::max_elements))
      diagnostics_.error(DiagnosticId::too_large, location,
                         fmt::format("{} has type {}, which is more than 2^40 elements", what,
                                     relay::str(relay::tensor_type(t.shape, t.dtype))));
  }

  static bool is_always_too_large(const Shape& shape) {
    // No run uses a tensor of a negative size, however large its product with another one is.
    if (std::ranges::any_of(shape, [](const Dim& d) { return !provably_le(0, d); })) return false;
    const Dim count = product(shape);
    return count.is_overflow() || count.lower_bound().value_or(0) > tensor::max_elements;
  }

  void check_symbols(const Dim& d, const SourceLocation& location, const std::string& what) {
    for (const Symbol& s : d.symbols())
      if (!given_.contains(s.name)) unknown_size(s.name, location, what);
  }

  void unknown_size(const std::string& symbol, const SourceLocation& location, const std::string& what) {
    if (!reported_.insert(symbol).second) return;
    const bool has_name = !symbol.starts_with('?');  // the names of inferred symbols begin with '?'
    const bool is_of_function = of_function_values_.contains(symbol);
    diagnostics_.error(
        DiagnosticId::dynamic_shape, location,
        fmt::format("the dimension '{}' of {} does not follow from the sizes of the inputs", symbol, what), {},
        is_of_function ? "a function in data has one type: name sizes of the enclosing function in it, or call the "
                         "function by its name"
        : has_name     ? fmt::format("give it a value: --dim {}=N", symbol)
                       : "declare its shape in the model, or make the operand that decides it a constant; "
                         "--input NAME=value:[1] makes an input of an ONNX model a constant");
  }

  Diagnostics& diagnostics_;
  std::set<std::string> given_;  // symbols that the caller gives
  std::set<std::string> of_function_values_;
  std::set<std::string> reported_;  // symbols; "" for dimensions that do not fit 64 bits
};

}  // namespace

// The compiled function must be named @main: suggests the function that may be meant.
static std::string remedy_for_main(const relay::Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, function] : module.functions) names.push_back(name);
  const auto meant = names.size() == 1 ? std::optional(names.front()) : nearest_name("main", names);
  return meant ? fmt::format("name the function that is to be compiled @main instead of @{}", *meant)
               : "name the function that is to be compiled @main";
}

bool check_module(const relay::Module& module, const SourceLocation& model, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  auto main = module.functions.find("main");
  ModuleChecker checker(main == module.functions.end() ? std::vector<InputDim>() : relay::input_dims(module),
                        diagnostics);
  if (main != module.functions.end())
    checker.check_main(main->second);
  else
    diagnostics.error(DiagnosticId::undefined_value, model, "there is no function @main", {}, remedy_for_main(module));
  for (const auto& [name, f] : module.functions) checker.note_function_values(f);
  for (const auto& [name, f] : module.functions)
    if (checker.check_nesting(f.body)) checker.check_sizes(f, name != "main");
  return diagnostics.error_count() == before;
}

}  // namespace dlcc::lower
