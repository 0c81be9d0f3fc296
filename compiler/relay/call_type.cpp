#include "relay/call_type.h"

#include <algorithm>

namespace dlcc::relay {

namespace {

// Larger sizes are treated as unknown: expressions double where a slice's bounds cannot be ordered. The weight of a
// size is the number of its atoms, without those of small terms of sums, such as n and min(n, 300): the size of a
// concatenation has one for each operand.
constexpr int64_t max_weight = 64, max_atoms_of_small_term = 4;

int64_t weight_of(const Dim& d) {
  int64_t weight = 0;
  for (const Dim::Term& t : d.terms()) {
    if (t.atoms.size() == 1 && t.atoms[0]->count <= max_atoms_of_small_term) continue;
    for (const auto& atom : t.atoms) {
      ++weight;
      for (const Dim& operand : atom->args) weight += weight_of(operand);
    }
  }
  return weight;
}

bool is_long(const Dim& d) { return d.atom_count() > max_weight && weight_of(d) > max_weight; }

AttrValue attribute_of(const Dim& d) {
  AttrValue value;
  if (d.is_constant())
    value.v = d.value();
  else
    value.v = d;
  return value;
}

// The value as an attribute: a number, a list, or a list of rows; empty unless all elements are known.
std::optional<AttrValue> attribute_of(const KnownValue& value) {
  const auto is_known = [](const std::optional<Dim>& d) { return d.has_value(); };
  if (!value || value->shape.size() > 2 || !std::ranges::all_of(value->elements, is_known)) return std::nullopt;
  if (value->shape.empty()) return attribute_of(*value->elements[0]);
  AttrList list;
  for (const auto& d : value->elements) list.push_back(attribute_of(*d));
  if (value->shape.size() == 1) return list;
  AttrList rows;
  const auto width = static_cast<std::ptrdiff_t>(value->shape[1]);
  for (auto at = list.begin(); at != list.end(); at += width) rows.push_back(AttrList(at, at + width));
  return rows;
}

// An element of an operand after the arguments that only an attribute may have.
std::optional<TypeError> code_in_operand(const Operator& op, const Operands& operands) {
  for (size_t k = op.arguments.size(); k < operands.size() && !op.variadic; ++k)
    for (size_t j = 0; operands[k].value && j < operands[k].value->elements.size(); ++j) {
      const std::optional<Dim>& element = operands[k].value->elements[j];
      if (!element || !provably_lt(*element, op.least_value)) continue;
      const std::string& name = op.values[k - op.arguments.size()];
      return TypeError{.id = DiagnosticId::bad_attribute,
                       .message = fmt::format("{}[{}] is {}, but the least value in an operand is {}", name, j,
                                              element->str(), op.least_value),
                       .help = fmt::format("only the attribute has smaller values, which are codes: {}=[...]", name),
                       .status = tensor::Status::dimension_out_of_range};
    }
  return std::nullopt;
}

// A constant scalar of floats as an attribute; empty for other atoms.
std::optional<AttrValue> attribute_of(const Atom& atom) {
  const Constant* c = std::get_if<Constant>(&atom);
  if (!c || !c->shape().empty() || !is_float(c->dtype())) return std::nullopt;
  return AttrValue(c->number_at(0));
}

// The call's attributes together with the operands that determine sizes; empty unless all their values are known.
std::optional<Attrs> with_known_values(const Operator& op, const Attrs& attrs, const Operands& operands,
                                       std::span<const Atom> args) {
  const size_t first = op.arguments.size();
  if (op.values.empty() || operands.size() != first + op.values.size()) return std::nullopt;
  Attrs known = attrs;
  for (size_t k = 0; k < op.values.size(); ++k) {
    auto value = attribute_of(operands[first + k].value);
    if (!value && args.size() == operands.size()) value = attribute_of(args[first + k]);
    if (auto none = known.find(op.values[k]); none != known.end() && none->second.is_none()) known.erase(none);
    if (!value || !known.emplace(op.values[k], std::move(*value)).second) return std::nullopt;
  }
  return known;
}

Type without_long_sizes(const Type& type) {
  return map_leaves(type, &TypeNode::has_symbols, [](const Type& leaf) {
    const TensorType* t = as<TensorType>(leaf);
    if (!t || !std::ranges::any_of(t->shape, is_long)) return leaf;
    Shape shape = t->shape;
    std::ranges::replace_if(shape, is_long, unknown_dim());
    return with_shape(*t, std::move(shape));
  });
}

// Whether the definition of a call with this result is worth evaluating: some result is a small tensor of integers.
// The pass define-sizes computes an unknown size from operands, not from attributes.
bool has_unknown_size(const TypeResult& result) {
  bool has = false;
  if (const Type* type = std::get_if<Type>(&result))
    for_each_symbol(*type, [&](const Symbol& s) { has |= Dim::symbol(s) == unknown_dim(); });
  return has;
}

bool may_have_value(const Type& type) {
  bool may = false;
  for_each_field(type, [&](const Type& field) {
    const TensorType* t = as<TensorType>(field);
    auto count = t && !is_float(t->dtype) ? product(t->shape).constant() : std::nullopt;
    may |= count && *count <= tensor::SymbolicTensor::max_elements;
  });
  return may;
}

}  // namespace

std::variant<TypedCall, TypeError> type_call(const Operator& op, const Attrs& attrs, const Operands& operands,
                                             std::span<const Atom> args) {
  if (op.least_value > INT64_MIN)
    if (auto error = code_in_operand(op, operands)) return std::move(*error);
  TypedCall call{attrs, operands.size(), nullptr};
  TypeResult result;
  auto known = with_known_values(op, attrs, operands, args);
  if (known) {
    result = op.type(*known,
                     Operands(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(op.arguments.size())));
    if (op.sizes && has_unknown_size(result)) known.reset();
  }
  if (known) {
    call.attrs = std::move(*known);
    call.operands = op.arguments.size();
  } else {
    result = op.type(attrs, operands);
  }
  if (auto* error = std::get_if<TypeError>(&result)) return std::move(*error);
  call.type = without_long_sizes(std::get<Type>(result));
  return call;
}

std::vector<KnownValue> values_of_call(const Operator& op, const Attrs& attrs, const Operands& operands,
                                       const Type& type) {
  if (!op.has_definition() || !may_have_value(type)) return {};
  std::vector<KnownValue> values;
  for (const Operand& o : operands) values.push_back(o.value);
  return tensor::evaluate_symbolic(op.compute_as(attrs, operands, type), values);
}

// ---- the values of variables ----------------------------------------------------------------------------------------

KnownValue KnownValues::of(const Atom& atom) const {
  if (const Constant* c = std::get_if<Constant>(&atom)) return tensor::value_of(*c);
  const Var* var = std::get_if<Var>(&atom);
  auto it = var ? values_.find((*var)->id) : values_.end();
  return it != values_.end() && it->second.size() == 1 ? it->second[0] : nullptr;
}

Operand KnownValues::operand(const Module& module, const Atom& atom) const {
  return {*as<TensorType>(type_of(module, atom)), of(atom)};
}

std::optional<Operands> KnownValues::operands_of(const Module& module, const Operator& op,
                                                 const std::vector<Atom>& args) const {
  const std::vector<Atom>* tensors = &args;
  if (op.variadic) {
    const Var* tuple = args.size() == 1 ? std::get_if<Var>(&args[0]) : nullptr;
    auto it = tuple ? tuples_.find((*tuple)->id) : tuples_.end();
    if (it == tuples_.end()) return std::nullopt;
    tensors = &it->second;
  }
  Operands operands;
  for (const Atom& a : *tensors) {
    const bool is_value = std::holds_alternative<Var>(a) || std::holds_alternative<Constant>(a);
    if (!is_value || !as<TensorType>(type_of(module, a))) return std::nullopt;
    operands.push_back(operand(module, a));
  }
  return operands;
}

const Atom* KnownValues::field(const Project& project) const {
  const Var* tuple = std::get_if<Var>(&project.tuple);
  const auto fields = tuple ? tuples_.find((*tuple)->id) : tuples_.end();
  const auto index = static_cast<size_t>(project.index);
  return fields != tuples_.end() && index < fields->second.size() ? &fields->second[index] : nullptr;
}

void KnownValues::learn(const Module& module, const Binding& binding) {
  auto set = [&](KnownValue value) {
    if (value) values_[binding.var->id].assign(1, std::move(value));
  };
  if (const MakeTuple* tuple = std::get_if<MakeTuple>(&binding.op)) {
    tuples_[binding.var->id] = tuple->fields;
  } else if (const Alias* alias = std::get_if<Alias>(&binding.op)) {
    set(of(alias->value));
  } else if (const MatchCast* cast = std::get_if<MatchCast>(&binding.op)) {
    set(of(cast->value));
  } else if (const Project* project = std::get_if<Project>(&binding.op)) {
    const Var* tuple = std::get_if<Var>(&project->tuple);
    auto values = tuple ? values_.find((*tuple)->id) : values_.end();
    const auto index = static_cast<size_t>(project->index);
    if (const Atom* known = field(*project)) {
      set(of(*known));
      const Var* inner = std::get_if<Var>(known);
      if (const auto fields = inner ? tuples_.find((*inner)->id) : tuples_.end(); fields != tuples_.end())
        tuples_.emplace(binding.var->id, fields->second);
    }
    if (values != values_.end() && index < values->second.size()) set(values->second[index]);
  } else if (const Call* call = std::get_if<Call>(&binding.op)) {
    const OperatorRef* o = std::get_if<OperatorRef>(&call->callee);
    if (!o || !may_have_value(binding.var->type)) return;
    if (auto operands = operands_of(module, *o->op, call->args))
      values_[binding.var->id] = values_of_call(*o->op, call->attrs, *operands, binding.var->type);
  }
}

}  // namespace dlcc::relay
