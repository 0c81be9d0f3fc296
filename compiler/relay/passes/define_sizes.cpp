// A call whose result has data-dependent sizes becomes a definition of symbols for these sizes, followed by a call of a
// tensor function whose result has these symbols:
//
//   %r: Tensor[(?1, 2), f32] = nn.pad(%x, 0f, %w)     %s = call_tensor(@pad_sizes, %w)
//                                                     %d = define_sizes(%s, (?1), (?))
//                                                     %r = call_tensor(@pad, %x, 0f, %w)
//
// OperatorSpec::sizes defines the sizes, OperatorSpec::largest_sizes their bounds. In a local function, such as a loop,
// a match_cast of the result bounds a size, too, if nothing else does.
#include <algorithm>
#include <set>

#include "relay/call_type.h"
#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "relay/types_in.h"
#include "support/ascii.h"
#include "support/similar_names.h"
#include "tensor/element_expressions.h"

namespace dlcc::relay {

namespace {

// The unknown sizes of a call's result.
struct UnknownSizes {
  std::vector<size_t> axes;
  std::vector<Symbol> symbols;  // one for each axis
};

class SizeDefiner {
 public:
  // With `bounded_types`, the types of results have the bounds of their sizes, if these are numbers.
  SizeDefiner(Module& module, const std::map<std::string, int64_t>& bounds, bool bounded_types)
      : module_(module), names_(module), bounds_(bounds), bounded_types_(bounded_types) {}

  void run(Function& f) {
    known_.clear();
    for (const Var& p : f.params) see(p->type);
    block(f.body);
  }

  bool has_bounds() const { return has_bounds_; }  // whether a type of a result has one

  // Reports bounds for values without a data-dependent size.
  void report_unused(const std::string& file, Diagnostics& diagnostics) const {
    for (const auto& [name, bound] : bounds_)
      if (!used_.contains(name))
        diagnostics.error(DiagnosticId::undefined_value, {.file = file},
                          fmt::format("--bound {}={}: no value of this name has a data-dependent size", name, bound),
                          {}, data_dependent_.empty() ? "leave out the option" : suggest_names(name, data_dependent_));
  }

 private:
  void see(const Type& type) {
    for_each_symbol(type, [&](const Symbol& s) { known_.insert(s.name); });
  }

  void block(Block& b, bool is_local = false) {
    std::vector<Binding> out;
    out.reserve(b.bindings.size());
    for (const Binding& binding : b.bindings) {  // a match_cast follows the value whose sizes it requires
      const auto* cast = std::get_if<MatchCast>(&binding.op);
      const auto* value = cast ? std::get_if<Var>(&cast->value) : nullptr;
      const auto* type = value && is_local ? as<TensorType>(cast->type) : nullptr;
      if (type) casts_.emplace((*value)->id, type->shape);
    }
    for (Binding& binding : b.bindings) {
      values_.learn(module_, binding);
      auto* closure = std::get_if<MakeFunction>(&binding.op);
      if (closure)
        for (const Var& p : closure->function->params) see(p->type);
      for_each_block(binding.op, [&](Block& inner) { block(inner, is_local || closure); });
      if (auto* sizes = std::get_if<DefineSizes>(&binding.op)) {
        for (const Symbol& s : sizes->symbols) known_.insert(s.name);
        if (const auto bound = bound_of(binding.var->name))
          for (Dim& m : sizes->most) m = m == unknown_dim() ? Dim(*bound) : min(m, *bound);
      }
      define(binding, out);
      see(binding.var->type);
      out.push_back(std::move(binding));
    }
    b.bindings = std::move(out);
  }

  // The symbols in place of "?" in the type that the operator gives; empty unless each is a new symbol.
  std::optional<UnknownSizes> unknown_sizes(const Type& given, const Type& result) const {
    const TensorType *before = as<TensorType>(given), *after = as<TensorType>(result);
    UnknownSizes unknown;
    for (size_t d = 0; before && after && d < after->shape.size(); ++d) {
      if (!(before->shape[d] == unknown_dim())) continue;
      const std::vector<Symbol> in_axis = after->shape[d].symbols();
      if (in_axis.size() != 1 || !(after->shape[d] == Dim::symbol(in_axis[0])) || known_.contains(in_axis[0].name))
        return std::nullopt;
      unknown.axes.push_back(d);
      unknown.symbols.push_back(in_axis[0]);
    }
    return unknown.axes.empty() ? std::nullopt : std::optional(unknown);
  }

  void define(Binding& binding, std::vector<Binding>& out) {
    const Call* call = std::get_if<Call>(&binding.op);
    const OperatorRef* ref = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
    if (!ref || !ref->op->sizes || call->args.size() == ref->op->first_size_operand()) return;
    const Operator& op = *ref->op;
    Operands operands;
    for (const Atom& a : call->args) operands.push_back(values_.operand(module_, a));
    const TypeResult given = op.type(call->attrs, operands);
    const Type* type = std::get_if<Type>(&given);
    const auto unknown = type ? unknown_sizes(*type, binding.var->type) : std::nullopt;
    if (!unknown) return;
    std::vector<Dim> most(unknown->axes.size(), unknown_dim());
    if (op.largest_sizes)
      for (size_t k = 0; k < most.size(); ++k) most[k] = op.largest_sizes(call->attrs, operands)[unknown->axes[k]];
    for (size_t k = 0; k < most.size(); ++k)
      if (most[k] == unknown_dim()) most[k] = size_after_cast(binding.var, unknown->axes[k]);
    const std::string name = binding.var->name.empty() ? op.short_name() : binding.var->name;
    if (const auto bound = bound_of(name))
      for (Dim& m : most) m = m == unknown_dim() ? Dim(*bound) : min(m, *bound);
    const Atom sizes = sizes_of(op, *call, operands, unknown->axes, binding.location, out);
    out.push_back({module_.fresh(name, tuple_type({})), DefineSizes{sizes, unknown->symbols, most}, binding.location});
    const bool suffice = op.sizes_suffice && unknown_elements(op, operands) == unknown->axes.size();
    binding.op =
        of_known_size(op, *call, operands, with_bounds(*as<TensorType>(binding.var->type), *unknown, most), suffice);
  }

  // The size that a match_cast of the value requires, over symbols that are defined before the value; else "?".
  Dim size_after_cast(const Var& value, size_t axis) const {
    const auto cast = casts_.find(value->id);
    if (cast == casts_.end() || axis >= cast->second.size()) return unknown_dim();
    const Dim& size = cast->second[axis];
    const bool is_known = std::ranges::all_of(size.symbols(), [&](const Symbol& s) { return known_.contains(s.name); });
    return is_known ? size : unknown_dim();
  }

  // The number of elements of unknown value in the operands after the arguments. If there are more of them than unknown
  // sizes, some are checked against a known size.
  static size_t unknown_elements(const Operator& op, const Operands& operands) {
    size_t count = 0;
    for (size_t k = op.arguments.size(); k < operands.size(); ++k)
      if (const KnownValue& value = operands[k].value)
        count += static_cast<size_t>(std::ranges::count_if(value->elements, [](const auto& e) { return !e; }));
      else
        count += static_cast<size_t>(product(operands[k].shape).constant().value_or(0));
    return count;
  }

  // The type with bounded symbols where the bounds are numbers: definitions need no requirement for conditions that the
  // bounds prove.
  Type with_bounds(const TensorType& type, const UnknownSizes& unknown, const std::vector<Dim>& most) {
    Shape shape = type.shape;
    for (size_t k = 0; bounded_types_ && k < most.size(); ++k)
      if (auto high = most[k].constant()) {
        shape[unknown.axes[k]] = Dim::symbol({unknown.symbols[k].name, 0, *high});
        has_bounds_ = true;
      }
    return with_shape(type, std::move(shape));
  }

  // The vector of the sizes: an operand, if these are its elements.
  Atom sizes_of(const Operator& op, const Call& call, const Operands& operands, const std::vector<size_t>& axes,
                const SourceLocation& location, std::vector<Binding>& out) {
    tensor::TensorFunction f = op.sizes(call.attrs, operands, axes);
    const std::vector<Atom> args(call.args.begin() + static_cast<std::ptrdiff_t>(op.first_size_operand()),
                                 call.args.end());
    if (are_elements(f)) return args[0];
    const Var sizes = module_.fresh("sizes", tensor_type(f.results[0]->shape, dtype::i64));
    const std::string name = f.name;
    out.push_back({sizes, names_.add(name, std::move(f), args), location});
    return sizes;
  }

  // Whether the results of the function are the elements of its first parameter, in order.
  static bool are_elements(const tensor::TensorFunction& f) {
    const tensor::Buffer& p = f.params[0];
    if (p->type != dtype::i64 || p->shape != f.results[0]->shape) return false;
    auto elements = std::make_shared<tensor::ElementExpressions>();
    elements->shape = static_shape(p->shape);
    for (int64_t k = 0; k < elements->shape[0]; ++k) elements->elements.emplace_back(tensor::make_var("element"));
    std::vector<tensor::KnownElements> args(f.params.size());
    args[0] = elements;
    const tensor::KnownElements result = tensor::element_expressions(f, args)[0];
    return result && std::ranges::equal(result->elements, elements->elements, [](const Expr& a, const Expr& b) {
             return a && tensor::structurally_equal(a, b);
           });
  }

  // The call with a result of this type; without the operands after the arguments if the result's sizes suffice.
  CallTensor of_known_size(const Operator& op, const Call& call, Operands operands, const Type& result, bool suffice) {
    Attrs attrs = call.attrs;
    std::vector<Atom> args = call.args;
    if (suffice) {
      const size_t arguments = op.arguments.size();
      AttrList sizes;
      for (const Dim& d : as<TensorType>(result)->shape) {
        AttrValue& size = sizes.emplace_back();
        if (auto number = d.constant())
          size.v = *number;
        else
          size.v = d;
      }
      attrs.insert_or_assign(op.values[0], std::move(sizes));
      for (const auto& [name, value] : op.of_given_sizes) attrs.insert_or_assign(name, value);
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(arguments), operands.end());
      args.resize(arguments, Constant());
    }
    return names_.add(op.short_name(), op.compute_as(attrs, operands, result), std::move(args));
  }

  // The bound that the user gives for a value. Names of other languages are identifiers in Relay.
  std::optional<int64_t> bound_of(const std::string& value) {
    if (std::ranges::count(data_dependent_, value) == 0) data_dependent_.push_back(value);
    auto is_same = [](char a, char b) { return a == b || (a == '_' && !is_alphanumeric(b)); };
    for (const auto& [name, bound] : bounds_)
      if (std::ranges::equal(value, name, is_same) ||
          (value.starts_with('v') && std::ranges::equal(value.substr(1), name, is_same))) {
        used_.insert(name);
        return bound;
      }
    return std::nullopt;
  }

  Module& module_;
  TensorFunctionNames names_;
  const std::map<std::string, int64_t>& bounds_;
  const bool bounded_types_;
  bool has_bounds_ = false;
  std::set<std::string> used_;               // names of bounds
  std::vector<std::string> data_dependent_;  // names of values with data-dependent sizes
  KnownValues values_;
  std::set<std::string> known_;  // symbols that are defined before the current binding
  std::map<int, Shape> casts_;   // the sizes that a match_cast in a local function requires, by the value's id
};

}  // namespace

// A bound may show that an operation never succeeds, as the reshape of at most two elements to three. Its error occurs
// when it is executed, if it ever is: then no type has bounds.
Module define_sizes(Module module, PassContext& context) {
  auto defined = [&](bool bounded_types) {
    Module result = module;
    SizeDefiner definer(result, context.bounds, bounded_types);
    for (auto& [name, f] : result.functions) definer.run(f);
    if (bounded_types && definer.has_bounds() && !can_infer_types(result)) return std::optional<Module>();
    const auto main = module.functions.find("main");
    const std::string file = main == module.functions.end() ? "" : main->second.location.file;
    if (context.diagnostics) definer.report_unused(file, *context.diagnostics);
    return std::optional(std::move(result));
  };
  if (std::optional<Module> bounded = defined(true)) return *std::move(bounded);
  return *defined(false);
}

}  // namespace dlcc::relay
