// Type inference of operations other than calls of operators, `if` and `match`.
#include <algorithm>

#include "relay/call_graph.h"
#include "relay/inference.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

// ---- operations -----------------------------------------------------------------------------------------------------

// Whether a value of this type is no tensor, whatever is inferred later.
static bool is_no_tensor(const Type& type) {
  return !as<TensorType>(type) && !as<OpenTensorType>(type) && !as<HoleType>(type);
}

Type Inference::infer(Binding& binding, Call& call) {
  if (const Var* callee = std::get_if<Var>(&call.callee))
    if (auto global = globals_.find((*callee)->id); global != globals_.end()) call.callee = global->second;
  if (const OperatorRef* o = std::get_if<OperatorRef>(&call.callee)) {
    if (o->op->takes_any_value && call.args.size() == 1) {
      const Type value = unifier_.shallow(type_of(call.args[0], binding.location));
      if (is_no_tensor(value)) {
        binding.op = Alias{Atom(call.args[0])};
        return value;
      }
    }
    return call_operator(o->op, call, binding.location);
  }
  bool global = std::holds_alternative<GlobalRef>(call.callee) || std::holds_alternative<ConstructorRef>(call.callee);
  return call_function(type_of(call.callee, binding.location), call, global ? Callee::global : Callee::local,
                       binding.location);
}

Type Inference::infer(Binding& binding, CallTensor& call) {
  auto it = module_.tensor_functions.find(call.function);
  if (it == module_.tensor_functions.end())
    return fail(DiagnosticId::undefined_value, binding.location,
                fmt::format("there is no tensor function @{}", call.function));
  auto type_of_buffer = [](const tensor::Buffer& b) { return tensor_type(b->shape, b->type); };
  std::vector<Type> params, results;
  for (const tensor::Buffer& b : it->second.params) params.push_back(type_of_buffer(b));
  for (const tensor::Buffer& b : it->second.results) results.push_back(type_of_buffer(b));
  Call as_call{GlobalRef{call.function}, std::move(call.args), {}};
  Type result = results.size() == 1 ? results[0] : tuple_type(results);
  Type type = call_function(function_type(params, result), as_call, Callee::tensors, binding.location);
  call.args = std::move(as_call.args);
  return type;
}

Type Inference::infer(Binding& binding, MakeTuple& op) {
  std::vector<Type> fields;
  for (const Atom& a : op.fields) fields.push_back(type_of_operand(a, binding.location));
  return tuple_type(std::move(fields));
}

// A function that is taken out of a known tuple is the function itself, of which each call has its own sizes.
Type Inference::infer(Binding& binding, Project& op) {
  if (const Atom* field = values_.field(op); field && is_function(*field)) {
    binding.op = Alias{Atom(*field)};
    return infer(binding, std::get<Alias>(binding.op));
  }
  Type result = unifier_.fresh();
  relate(
      [this, tuple = type_of(op.tuple, binding.location), index = op.index, result, location = binding.location] {
        Type t = unifier_.shallow(tuple);
        if (const HoleType* hole = as<HoleType>(t)) return hole->id;
        const TupleType* fields = as<TupleType>(t);
        if (!fields)
          fail(DiagnosticId::type_mismatch, location, fmt::format("projection .{} of a {}", index, text(t)));
        else if (index < 0 || index >= static_cast<int>(fields->fields.size()))
          fail(DiagnosticId::type_mismatch, location,
               fmt::format("projection .{} of a tuple of {}", index, fields->fields.size()), {text(t)});
        else if (!unifier_.unify(fields->fields[index], result))
          mismatch(location, fmt::format("projection .{}", index), result, fields->fields[index]);
        return 0;
      },
      binding.location, fmt::format("projection .{}", op.index));
  return unifier_.shallow(result);
}

// Whether the function calls a parameter without type: each call may have other sizes.
bool Inference::calls_open_param(const Function& function) const {
  return std::ranges::any_of(function.params, [&](const Var& p) { return !p->type && called_.contains(p->id); });
}

// A function that makes functions without types is inferred at each use if it has at most these operations. The copies
// of functions in functions take quadratic time.
static constexpr int most_operations_of_maker = 200;

// Whether the body, which has at most `budget` operations, makes a function without types. Which sizes that one takes
// may depend on the types of the parameters around it.
static bool makes_open_function(const Block& body, int& budget) {
  bool found = false;
  for (const Binding& b : body.bindings) {
    if (--budget < 0) return false;
    if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op))
      found |= std::ranges::any_of(made->function->params, [](const Var& p) { return !p->type; });
    for_each_block(b.op, [&](const Block& inner) { found |= makes_open_function(inner, budget); });
  }
  return found && budget >= 0;
}

Type Inference::infer(Binding& binding, MakeFunction& op) {
  Function& function = *op.function;
  const bool may_copy =
      sizes_of_open_functions_ == SizesOfOpenFunctions::any && copied_operations_ < max_copied_operations / 2;
  int budget = may_copy ? most_operations_of_maker : 0;
  const bool may_be_template =
      this->may_be_template(function) && (shared_.contains(binding.var->id) || has_kinds(function.type_params) ||
                                          calls_open_param(function) || makes_open_function(function.body, budget));
  if (may_be_template && is_copy_of_template(binding.var)) {  // its text was inferred: only uses are of interest
    add_template(binding.var, std::exchange(function, {}), scopes_.open(scope_), true, nullptr);
    return unifier_.fresh();
  }
  Function text = may_be_template ? copy_of_text(function, binding.var, binding.var) : Function();
  rename_symbols(text);
  const size_t errors = diagnostics_.error_count();
  const int outer_scope = scope_;
  if (may_be_template) scope_ = scopes_.open(scope_);
  std::set<std::string> visible = symbols_;
  const int first_symbol = next_symbol_;
  declare(function, true);
  own_sizes_of_values(function);
  std::vector<Type> params;
  for (const Var& p : function.params) {
    params.push_back(p->type);
    enter_symbols(p->type);
  }
  const Type declared = function.result_type;
  std::set<std::string> known = symbols_;
  for (const std::string& name : result_names_) known.erase(name);
  function.result_type = with_unknown_sizes(declared, known);
  Type type = function_type(std::move(params), function.result_type, function.type_params);
  binding.var->type = type;  // the function may call itself
  if (function.type_params.empty()) functions_.insert(binding.var->id);
  if (has_symbols(type) || is_incomplete(type)) fixed_around_[binding.var->id] = fixed_symbols_;
  infer_body(function, declared, known, binding.location);
  name_result_sizes(function, declared, first_symbol);
  type = function_type(as<FunctionType>(type)->params, function.result_type, function.type_params);
  own_new_sizes(function, first_symbol);
  note_defined_sizes(binding.var, function, std::move(visible));
  check_early_calls(binding.var, function, binding.location);
  const int scope = std::exchange(scope_, outer_scope);
  if (may_be_template && has_holes(function) && diagnostics_.error_count() == errors)
    add_template(binding.var, std::move(text), scope, kinds_.contains(&function), &function);
  return type;
}

// The variables that a function uses and does not bind.
static std::vector<Var> captured_variables(const Function& function) {
  std::set<int> bound;
  std::vector<Var> used;
  auto use = [&](const Atom& a) {
    if (const Var* var = std::get_if<Var>(&a)) used.push_back(*var);
  };
  std::function<void(const Block&)> visit = [&](const Block& block) {
    for (const Binding& b : block.bindings) {
      bound.insert(b.var->id);
      for_each_atom(b.op, use);
      if (const Match* match = std::get_if<Match>(&b.op))
        for (const Clause& c : match->clauses) for_each_variable(c.pattern, [&](const Var& v) { bound.insert(v->id); });
      if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op))
        for (const Var& p : made->function->params) bound.insert(p->id);
      for_each_block(b.op, visit);
    }
    use(block.result);
  };
  for (const Var& p : function.params) bound.insert(p->id);
  visit(function.body);
  std::erase_if(used, [&](const Var& v) { return bound.contains(v->id); });
  return used;
}

// Sizes of parameters without types are the function's own, as if they were written: in fn (%x) { @twice(%x) }, %x has
// any size. But a size that a captured variable has, or may turn out to have, is that of the place of the function.
void Inference::own_new_sizes(const Function& function, int first_symbol) {
  std::set<std::string> sizes;
  for (const Var& p : function.params)
    if (const Type type = unifier_.resolve(p->type); type && !as<FunctionType>(type))
      for_each_symbol(type, [&](const Symbol& s) {
        if (number_of(s) >= first_symbol && !closure_symbols_.contains(s.name)) sizes.insert(s.name);
      });
  if (sizes.empty()) return;
  for (const Var& v : captured_variables(function)) {
    const Type type = v->type ? unifier_.resolve(v->type) : nullptr;
    if (!type || is_incomplete(type)) return;
    for_each_symbol(type, [&](const Symbol& s) { sizes.erase(s.name); });
  }
  closure_symbols_.merge(sizes);
}

void Inference::infer_body(Function& function, const Type& declared, const std::set<std::string>& known,
                           const SourceLocation& location) {
  const std::set<std::string> fixed_symbols = fixed_symbols_;
  const std::set<std::string> unbound_symbols = unbound_symbols_;
  const std::map<std::string, Dim> known_names = known_names_;
  const std::set<int> type_variables = type_variables_;
  for (const TypeVariable& v : function.type_params) type_variables_.insert(v.id);
  for (const Var& p : function.params)
    for_each_symbol(unifier_.shallow(p->type), [&](const Symbol& s) {
      if (!value_symbols_.contains(s.name)) fixed_symbols_.insert(s.name);
    });
  enter_parameter_sizes(function, true);
  coerce_result(function, infer_block(function.body), declared, known, location);
  fixed_symbols_ = fixed_symbols;
  unbound_symbols_ = unbound_symbols;
  known_names_ = known_names;
  type_variables_ = type_variables;
  if (auto kinds = kinds_.find(&function); kinds != kinds_.end()) check_kinds(kinds->second, location);
}

Type Inference::infer(Binding& binding, RefCreate& op) {
  return ref_type(type_of_stored(op.value, type_of(op.value, binding.location)));
}

Type Inference::infer(Binding& binding, RefRead& op) {
  Type value = unifier_.fresh(), ref = type_of(op.ref, binding.location);
  if (unifier_.unify(ref, ref_type(value))) return unifier_.shallow(value);
  return mismatch(binding.location, "the operand of ref_read", ref_type(value), ref, {}, definition_of(op.ref));
}

Type Inference::infer(Binding& binding, RefWrite& op) {
  Type value = unifier_.fresh(), ref = type_of(op.ref, binding.location), written = type_of(op.value, binding.location);
  if (!unifier_.unify(ref, ref_type(value)))
    return mismatch(binding.location, "the operand of ref_write", ref_type(value), ref, {}, definition_of(op.ref));
  if (!coerce(op.value, written, value, binding.location))
    mismatch(binding.location, "the written value", value, written, {}, definition_of(op.ref));
  return tuple_type({});
}

// "?" in the type accepts any size and keeps the value's.
Type Inference::infer(Binding& binding, MatchCast& op) {
  Type found = unifier_.shallow(type_of(op.value, binding.location));
  if (as<DataType>(op.type) && can_cast(found, op.type)) return op.type;
  const TensorType *from = as<TensorType>(found), *to = as<TensorType>(op.type);
  if (!from || !to || !same_element_type(*from, *to) || from->shape.size() != to->shape.size())
    return mismatch(binding.location, "the operand of match_cast", op.type, found);
  Shape shape = to->shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    std::map<std::string, Dim> known;
    for (const Symbol& s : shape[i].symbols())
      if (const auto size = known_names_.find(s.name); size != known_names_.end() && !symbols_.contains(s.name))
        known.insert(*size);
    if (!known.empty()) shape[i] = shape[i].substitute(known);
    if (shape[i] == unknown_dim()) shape[i] = from->shape[i];
    if (are_never_equal(shape[i], from->shape[i]))
      return mismatch(binding.location, "the operand of match_cast", op.type, found);
    for (const Symbol& s : shape[i].symbols())
      if (shape[i] != from->shape[i] && unbound_symbols_.contains(s.name))
        return fail(DiagnosticId::cannot_infer, binding.location,
                    fmt::format("the size {} is not known here: no tensor of the function's parameters has it", s.name),
                    {"value: " + text(found), "type:  " + text(op.type)},
                    "pass a tensor of this size, or write ? for another size");
  }
  op.type = with_shape(*to, std::move(shape));
  check_size(op.type, binding.location, "the result of match_cast");
  enter_symbols(op.type);
  return op.type;
}

Type Inference::infer(Binding& binding, DefineSizes& op) {
  const auto count = static_cast<int64_t>(op.symbols.size());
  const Type expected = tensor_type(Shape{Dim(count)}, dtype::i64), found = type_of(op.value, binding.location);
  if (op.most.size() != op.symbols.size())
    return fail(DiagnosticId::wrong_arity, binding.location,
                fmt::format("define_sizes has {} symbols and {} bounds", op.symbols.size(), op.most.size()));
  for (const Symbol& s : op.symbols)
    if (!symbols_.insert(s.name).second)
      return fail(DiagnosticId::duplicate_definition, binding.location,
                  fmt::format("'{}' is the name of another size of the function", s.name));
  return unifier_.unify(found, expected) ? tuple_type({})
                                         : mismatch(binding.location, "the operand of define_sizes", expected, found);
}

Type Inference::infer(Binding&, RequireSizes&) { return tuple_type({}); }

// What is known of a variable that is a function holds for another name of it.
void Inference::name_function(const Var& name, const Var& function) {
  if (functions_.contains(function->id)) functions_.insert(name->id);
  if (const auto around = fixed_around_.find(function->id); around != fixed_around_.end())
    fixed_around_[name->id] = std::set(around->second);
  const auto sizes = result_symbols_.find(function->id);
  if (sizes == result_symbols_.end()) return;
  result_symbols_[name->id] = std::set(sizes->second);
  shared_.insert({name->id, function->id});  // calls by either name are calls of one function
}

// A call of %g after `let %g = @f` is a call of @f: each call has its own sizes, and a function value has not.
Type Inference::infer(Binding& binding, Alias& op) {
  if (const Var* var = std::get_if<Var>(&op.value))
    if (auto global = globals_.find((*var)->id); global != globals_.end()) op.value = global->second;
  if (const GlobalRef* global = std::get_if<GlobalRef>(&op.value)) globals_.emplace(binding.var->id, *global);
  if (const Var* var = std::get_if<Var>(&op.value))
    name_function(binding.var, *var);
  else if (is_function(op.value))
    functions_.insert(binding.var->id);
  return type_of(op.value, binding.location);
}

}  // namespace dlcc::relay
