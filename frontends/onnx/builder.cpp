#include "frontends/onnx/builder.h"

#include <algorithm>
#include <optional>

#include "relay/differentiate.h"
#include "shape/facts.h"
#include "support/ascii.h"
#include "tensor/element_expressions.h"

namespace dlcc::frontends::onnx {

using relay::TensorType;

namespace {

constexpr int64_t folding_limit = 4096;  // elements; the constant folding pass handles larger tensors

bool is_small(const Shape& shape) { return is_static(shape) && product(shape).value() <= folding_limit; }

// The operator's results if all operands and results are small constants.
std::optional<Values> evaluate_now(const relay::Operator& op, const Values& args, const relay::Operands& operands,
                                   const relay::Attrs& attrs, const std::vector<TensorType>& results) {
  const bool is_weight = results[0].shape.size() >= 2;
  if (op.dequantizes && is_weight) return std::nullopt;
  std::vector<Constant> constants;
  for (const Value& arg : args) {
    if (!arg.constant() || !is_small(arg.type.shape)) return std::nullopt;
    constants.push_back(*arg.constant());
  }
  if (!std::ranges::all_of(results, [](const TensorType& t) { return is_small(t.shape); })) return std::nullopt;
  auto evaluated = relay::evaluate(op, attrs, operands, constants);
  if (!evaluated) return std::nullopt;  // fails at run time instead
  Values values;
  for (Constant& c : *evaluated) values.push_back(Value::of(std::move(c)));
  return values;
}

// The known elements of the only result of a call; null if nothing is known.
relay::KnownValue value_of_call(const relay::Operator& op, const relay::Attrs& attrs, const relay::Operands& operands,
                                const relay::Type& type) {
  auto values = relay::values_of_call(op, attrs, operands, type);
  return values.empty() ? nullptr : values[0];
}

// "nn.conv2d" -> "conv2d"
std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

Value Value::poison() { return {Constant::of<uint8_t>(dtype::boolean, {}, {0}), {{}, dtype::boolean}, true}; }

Value Value::of(Constant c) {
  TensorType type{shape_of(c.shape()), c.dtype()};
  return {std::move(c), std::move(type)};
}

relay::Type type_of(const Values& values) {
  std::vector<relay::Type> types;
  for (const Value& v : values) types.push_back(relay::tensor_type(v.type.shape, v.type.dtype));
  return types.size() == 1 ? types[0] : relay::tuple_type(std::move(types));
}

std::string variable_name(const std::string& name) {
  std::string result = name;
  std::ranges::replace_if(
      result, [](char c) { return !is_identifier_character(c); }, '_');
  const bool starts_well = !result.empty() && !is_digit(result[0]);
  return starts_well ? result : "v" + result;
}

void BlockBuilder::open() { open_.emplace_back(); }

relay::Block BlockBuilder::close(const Values& results, const SourceLocation& location) {
  if (results.size() == 1) return close(results[0].atom);
  relay::MakeTuple tuple;
  for (const Value& v : results) tuple.fields.push_back(v.atom);
  return close(bind(std::move(tuple), type_of(results), "results", location));
}

relay::Block BlockBuilder::close(relay::Atom result) {
  relay::Block block = suspend();
  block.result = std::move(result);
  return block;
}

void BlockBuilder::discard() { open_.pop_back(); }

relay::Block BlockBuilder::suspend() {
  relay::Block block = std::move(open_.back());
  open_.pop_back();
  return block;
}

void BlockBuilder::resume(relay::Block block) { open_.push_back(std::move(block)); }

relay::Var BlockBuilder::parameter(const std::string& name, const TensorType& type) {
  return module_.fresh(variable_name(name), relay::tensor_type(type.shape, type.dtype));
}

relay::Var BlockBuilder::fresh(const std::string& name, relay::Type type) {
  return module_.fresh(variable_name(name), std::move(type));
}

void BlockBuilder::bind(const relay::Var& var, relay::Operation op, const SourceLocation& location) {
  open_.back().bindings.push_back({var, std::move(op), location});
  known_.learn(module_, open_.back().bindings.back());
}

relay::Var BlockBuilder::bind(relay::Operation op, relay::Type type, const std::string& name,
                              const SourceLocation& location) {
  relay::Var var = fresh(name, std::move(type));
  bind(var, std::move(op), location);
  return var;
}

Values BlockBuilder::fields(const relay::Var& tuple, size_t count, const std::string& name,
                            const SourceLocation& location) {
  const auto* type = relay::as<relay::TupleType>(tuple->type);
  Values values;
  for (size_t k = 0; k < count; ++k) {
    relay::Var field = bind(relay::Project{tuple, static_cast<int>(k)}, type->fields[k], name, location);
    values.push_back({field, *relay::as<TensorType>(type->fields[k])});
    if (of_inputs_.contains(tuple->id)) of_inputs_.insert(field->id);
  }
  return values;
}

Dim BlockBuilder::new_size(const Dim& most) {
  data_dependent_.insert(next_symbol_);
  if (!(most == relay::unknown_dim())) largest_.emplace(next_symbol_, most);
  return Dim::symbol({fmt::format("?{}", next_symbol_++), 0, most.constant().value_or(INT64_MAX)});
}

std::optional<Dim> BlockBuilder::size_of_input(const Value& scalar, const std::string& name,
                                               const SourceLocation& location) {
  const auto* var = std::get_if<relay::Var>(&scalar.atom);
  if (!var || !of_inputs_.contains((*var)->id)) return std::nullopt;
  for (const auto& [symbol, id] : sizes_of_inputs_)
    if (id == (*var)->id) return size_symbol(fmt::format("?{}", symbol));
  sizes_of_inputs_.emplace(next_symbol_, (*var)->id);
  const Dim size = new_size();
  std::vector<relay::Block> inner;
  while (open_.size() > 1) inner.push_back(suspend());
  auto apply = [&](const std::string& op, const Values& args, const relay::Attrs& attrs) {
    return std::get<Values>(call(op, args, attrs, 1, location))[0];
  };
  const Value zero = Value::of(Constant::of<int64_t>(dtype::i64, {}, {0}));
  const Value count = apply("maximum", {scalar, zero}, {});
  const Value vector = apply("reshape", {count}, {{"newshape", relay::sizes_attribute({1})}});
  bind(relay::DefineSizes{vector.atom, size.symbols(), {relay::unknown_dim()}}, relay::tuple_type({}), name, location);
  for (; !inner.empty(); inner.pop_back()) resume(std::move(inner.back()));
  return size;
}

std::map<std::string, Dim> BlockBuilder::largest_sizes(int first) const {
  std::map<std::string, Dim> sizes;
  for (auto known = largest_.lower_bound(first); known != largest_.end(); ++known)
    sizes.emplace(fmt::format("?{}", known->first), known->second);
  return sizes;
}

// Each "?" becomes a symbol of its own. `largest`: upper bounds of the axes of a tensor, if they are known.
relay::Type BlockBuilder::with_new_symbols(const relay::Type& type, bool data_dependent, const Shape& largest) {
  return relay::map_leaves(type, [&](const relay::Type& leaf) {
    const auto* t = relay::as<TensorType>(leaf);
    if (!t || is_static(t->shape)) return leaf;
    Shape shape = t->shape;
    for (size_t k = 0; k < shape.size(); ++k) {
      Dim& d = shape[k];
      if (d.is_constant() || std::ranges::count(d.symbols(), Symbol{.name = "?"}) == 0) continue;
      const bool is_bounded = d == relay::unknown_dim() && k < largest.size() && !(largest[k] == relay::unknown_dim());
      if (is_bounded && data_dependent) largest_.emplace(next_symbol_, largest[k]);
      d = d.substitute({{"?", data_dependent ? new_size() : size_symbol(fmt::format("?{}", next_symbol_++))}});
    }
    return relay::tensor_type(std::move(shape), t->dtype);
  });
}

// Whether the dimension is a new symbol, from `first` on, that is not data-dependent: a declaration may replace it.
bool BlockBuilder::is_new_symbol(const Dim& d, int first) const {
  for (int k = first; k < next_symbol_; ++k)
    if (d == size_symbol(fmt::format("?{}", k))) return !data_dependent_.contains(k);
  return false;
}

const relay::Call* BlockBuilder::call_of(const relay::Atom& atom) const {
  const auto* var = std::get_if<relay::Var>(&atom);
  const std::vector<relay::Binding>& bindings = current().bindings;
  const auto found = std::ranges::find_if(bindings, [&](const relay::Binding& b) { return var && b.var == *var; });
  const auto* call = found == bindings.end() ? nullptr : std::get_if<relay::Call>(&found->op);
  return call && std::holds_alternative<relay::OperatorRef>(call->callee) ? call : nullptr;
}

bool BlockBuilder::has_new_symbol(const Dim& d, int first) const {
  const std::vector<Symbol> symbols = d.symbols();
  for (int k = first; k < next_symbol_; ++k)
    if (!is_size_of_input(k) && std::ranges::count(symbols, fmt::format("?{}", k), &Symbol::name) > 0) return true;
  return false;
}

Value BlockBuilder::with_declared_sizes(const Value& result, const Shape& declared, int first_symbol,
                                        const SourceLocation& location) {
  Shape shape = result.type.shape;
  if (result.poisoned || shape.size() != declared.size()) return result;
  bool changed = false;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!declared[k].is_constant() || !is_new_symbol(shape[k], first_symbol)) continue;
    shape[k] = declared[k];
    changed = true;
  }
  return changed ? check_sizes(result, shape, location) : result;
}

void BlockBuilder::note_input(const relay::Var& var) {
  bool small = true;
  relay::for_each_field(var->type, [&](const relay::Type& field) {
    const auto* t = relay::as<TensorType>(field);
    const auto count = t ? product(t->shape).constant() : std::nullopt;
    small = small && count && *count <= tensor::ElementExpressions::max_elements;
  });
  if (small) of_inputs_.insert(var->id);
}

// Whether all elements of the values from `first` on are computed from inputs of the model, or from their sizes.
bool BlockBuilder::is_computed_from_inputs(const Values& args, size_t first) const {
  return std::all_of(args.begin() + static_cast<std::ptrdiff_t>(std::min(first, args.size())), args.end(),
                     [&](const Value& v) {
                       const auto* var = std::get_if<relay::Var>(&v.atom);
                       const relay::KnownValue value = known(v);
                       const bool is_known =
                           value && std::ranges::all_of(value->elements, [](const auto& e) { return e.has_value(); });
                       return !var || is_known || of_inputs_.contains((*var)->id);
                     });
}

Value BlockBuilder::check_sizes(const Value& value, const Shape& sizes, const SourceLocation& location) {
  const relay::Type type = relay::tensor_type(sizes, value.type.dtype);
  const auto* var = std::get_if<relay::Var>(&value.atom);
  relay::Var checked = bind(relay::MatchCast{value.atom, type}, type, var ? (*var)->name : "checked", location);
  if (var && of_inputs_.contains((*var)->id)) of_inputs_.insert(checked->id);
  return {checked, {sizes, value.type.dtype}, false, value.role};
}

// Makes the two sizes equal in all operands, by run-time checks. False if no operand changes.
bool BlockBuilder::make_equal(const std::pair<Dim, Dim>& sizes, Values& args, const SourceLocation& location) {
  if (sizes.first.is_overflow() || sizes.second.is_overflow()) return false;  // equals no size, not even itself
  auto replaced = [&](const auto& in_place_of) {
    bool changed = false;
    for (Value& arg : args) {
      Shape shape = arg.type.shape;
      for (Dim& d : shape) d = in_place_of(d);
      if (shape == arg.type.shape) continue;
      arg = check_sizes(arg, shape, location);
      changed = true;
    }
    return changed;
  };
  Facts facts;
  if (facts.assume_equal(sizes.first, sizes.second) && replaced([&](const Dim& d) { return facts.apply(d); }))
    return true;
  return replaced([&](const Dim& d) { return d == sizes.first ? sizes.second : d; });
}

relay::Operands BlockBuilder::operands_of(const Values& args) const {
  relay::Operands operands;
  for (const Value& arg : args) operands.push_back({arg.type, known(arg)});
  return operands;
}

// The type of a call. `args` is updated by the checks that the type needs.
std::variant<relay::TypedCall, relay::TypeError> BlockBuilder::typed(const relay::Operator& op,
                                                                     const relay::Attrs& attrs, Values& args,
                                                                     const SourceLocation& location) {
  while (true) {
    auto outcome = relay::type_call(op, attrs, operands_of(args));
    const auto* error = std::get_if<relay::TypeError>(&outcome);
    if (!error || !error->unproved || !make_equal(*error->unproved, args, location)) return outcome;
  }
}

std::vector<std::optional<double>> BlockBuilder::known_numbers(const Value& list) const {
  const auto* var = std::get_if<relay::Var>(&list.atom);
  if (const auto known = var ? numbers_.find((*var)->id) : numbers_.end(); known != numbers_.end())
    return known->second;
  const std::optional<int64_t> count = list.type.shape[0].constant();
  std::vector<std::optional<double>> numbers(
      static_cast<size_t>(std::min(count.value_or(0), tensor::SymbolicTensor::max_elements)));
  if (const Constant* constant = list.constant())
    for (size_t k = 0; k < numbers.size(); ++k) numbers[k] = constant->number_at(static_cast<int64_t>(k));
  return numbers;
}

std::variant<Values, relay::TypeError> BlockBuilder::call(const std::string& name, const Values& args,
                                                          const relay::Attrs& attrs, size_t results,
                                                          const SourceLocation& location) {
  const relay::Operator* op = relay::op(name);
  Values tensor_args = args;
  auto checked = typed(*op, attrs, tensor_args, location);
  if (auto* error = std::get_if<relay::TypeError>(&checked)) return *error;
  auto& [known_attrs, operand_count, outcome] = std::get<relay::TypedCall>(checked);
  tensor_args.resize(operand_count);
  const relay::Operands operands = operands_of(tensor_args);
  const bool by_inputs = open_.size() == 1 && is_computed_from_inputs(tensor_args, op->arguments.size());
  const bool has_largest = op->sizes && op->largest_sizes && relay::as<TensorType>(outcome);
  relay::Type type = with_new_symbols(outcome, op->sizes && (op->largest_sizes || by_inputs),
                                      has_largest ? op->largest_sizes(known_attrs, operands) : Shape());

  std::vector<TensorType> tensors;
  const auto* tuple = relay::as<relay::TupleType>(type);
  if (!tuple) tensors.push_back(*relay::as<TensorType>(type));
  for (size_t k = 0; tuple && k < tuple->fields.size(); ++k)
    tensors.push_back(*relay::as<TensorType>(tuple->fields[k]));
  DLCC_CHECK(results <= tensors.size(), "{} has {} results, not {}", name, tensors.size(), results);
  if (auto constants = evaluate_now(*op, tensor_args, operands, known_attrs, tensors)) {
    constants->resize(results);
    return *constants;
  }
  const relay::KnownValue value = tuple ? nullptr : value_of_call(*op, known_attrs, operands, type);
  if (value && value->is_constant()) return Values{Value::of(tensor::constant_of(tensors[0].dtype, *value))};

  relay::Call call{relay::OperatorRef{op}, {}, std::move(known_attrs)};
  for (const Value& arg : tensor_args) call.args.push_back(arg.atom);
  if (op->variadic) {
    std::vector<relay::Type> types;
    for (const TensorType& t : operands) types.push_back(relay::tensor_type(t.shape, t.dtype));
    relay::Var packed =
        bind(relay::MakeTuple{std::move(call.args)}, relay::tuple_type(std::move(types)), "fields", location);
    call.args = {packed};
  }
  relay::Var var = bind(std::move(call), type, last_part(name), location);
  if (open_.size() == 1 && is_computed_from_inputs(tensor_args, 0)) note_input(var);
  if (tuple) return fields(var, results, last_part(name), location);
  if (name == "concatenate" && tensors[0].shape.size() == 1 && is_float(tensors[0].dtype)) {
    std::vector<std::optional<double>>& numbers = numbers_[var->id];
    for (const Value& arg : tensor_args) std::ranges::copy(known_numbers(arg), std::back_inserter(numbers));
  }
  return Values{{var, tensors[0]}};
}

std::optional<Values> BlockBuilder::gradients(size_t first, const Value& value,
                                              const std::vector<relay::Var>& variables, const SourceLocation& location,
                                              Diagnostics& diagnostics) {
  auto found = relay::differentiate(module_, std::span(open_.back().bindings).subspan(first), {value.atom}, variables,
                                    location, diagnostics);
  if (!found) return std::nullopt;
  for (relay::Binding& b : found->bindings) bind(b.var, std::move(b.op), b.location);
  Values values;
  for (const relay::Atom& atom : found->of)
    values.push_back({atom, *relay::as<TensorType>(relay::type_of(module_, atom))});
  return values;
}

}  // namespace dlcc::frontends::onnx
