// Type inference of calls of operators, functions and constructors.
#include <algorithm>

#include "relay/function_sizes.h"
#include "relay/inference.h"
#include "relay/type_arguments.h"

namespace dlcc::relay {

// Every use of a generic function or constructor has its own instance.
Type Inference::type_of(const Atom& atom, const SourceLocation& location) {
  auto instance = [&](const Type& type) {
    const FunctionType* f = as<FunctionType>(type);
    return f && !f->type_params.empty() ? instantiate(*f, location) : type;
  };
  return std::visit(overloaded{[&](const Var& v) {
                                 if (!v->type)
                                   return fail(DiagnosticId::undefined_value, location,
                                               fmt::format("%{} is used before its definition", v->name));
                                 return v->type;
                               },
                               [&](const GlobalRef& g) {
                                 auto it = signatures_.find(g.name);
                                 if (it != signatures_.end()) return instance(it->second);
                                 return fail(DiagnosticId::undefined_value, location,
                                             fmt::format("there is no function @{}", g.name));
                               },
                               [&](const ConstructorRef& c) {
                                 if (const auto* known = constructors_.find(c.name))
                                   return instance(relay::type_of(*known));
                                 return fail(DiagnosticId::undefined_value, location,
                                             fmt::format("there is no constructor {}", c.name));
                               },
                               [&](const OperatorRef& o) {
                                 return fail(DiagnosticId::unsupported_construct, location,
                                             fmt::format("the operator {} is used as a value", o.op->name), {},
                                             "wrap it in a function: fn (%x: ...) { " + o.op->name + "(%x) }");
                               },
                               [&](const Constant& c) { return relay::type_of(module_, c); }},
                    atom);
}

// The type of a value: a function of the module has other symbols than the place where it is one.
Type Inference::type_of_operand(const Atom& atom, const SourceLocation& location) {
  const Type type = type_of_value(atom, unifier_.shallow(type_of(atom, location)));
  const Var* var = std::get_if<Var>(&atom);
  const bool is_global = var ? globals_.contains((*var)->id) : std::holds_alternative<GlobalRef>(atom);
  return is_global ? with_new_sizes(atom, type) : type;
}

// ---- operators ------------------------------------------------------------------------------------------------------

struct Inference::Gathered {
  Operands tensors;
  int hole = 0;                           // the hole that is an operand's type; 0: none
  Type unexpected;                        // the type of an operand that is none of those
  std::string_view expected = "tensors";  // in place of it
};

// The operands of a variadic operator are taken out of their tuples; the first argument must be one.
Inference::Gathered Inference::gather(const Operator& op, const std::vector<Type>& operands) const {
  Gathered g;
  std::vector<Type> types;
  for (const Type& operand : operands) {
    const Type type = unifier_.shallow(operand);
    const TupleType* fields = op.variadic ? as<TupleType>(type) : nullptr;
    if (op.variadic && &operand == &operands.front() && !fields && !as<HoleType>(type)) {
      g.unexpected = type;
      g.expected = "a tuple of tensors";
      return g;
    }
    if (fields)
      types.insert(types.end(), fields->fields.begin(), fields->fields.end());
    else
      types.push_back(type);
  }
  for (const Type& type : types) {
    Type t = unifier_.shallow(type);
    if (const HoleType* hole = as<HoleType>(t)) {
      g.hole = hole->id;
      return g;
    }
    if (const OpenTensorType* open = as<OpenTensorType>(t)) {
      const HoleType* part = as<HoleType>(unifier_.shallow(as<TensorType>(open->shape) ? open->element : open->shape));
      g.hole = part ? part->id : 0;
      if (part) return g;
    }
    const TensorType* tensor = as<TensorType>(t);
    if (!tensor || tensor->lanes != 1) {
      g.unexpected = t;
      return g;
    }
    g.tensors.push_back(*tensor);
  }
  return g;
}

// A remedy for a call with `found` operands, too few or too many.
static std::string remedy_for_count(const Operator& op, size_t found) {
  std::string text = fmt::format("the operands of {} are: {}", op.name, fmt::join(op.arguments, ", "));
  if (found < op.arguments.size() || op.attributes.empty()) return text;
  text += "; attributes have their names before them:";
  for (const auto& a : op.attributes) text += fmt::format("{} {}=...", &a == &op.attributes.front() ? "" : ",", a.name);
  return text;
}

// An attribute of any type with the name of an argument, such as `start` of arange, repeats the operand: it is the
// operand's value if that is a constant number.
static void repeat_constants(const Operator& op, Call& call) {
  for (size_t k = 0; k < std::min(op.arguments.size(), call.args.size()); ++k) {
    const Constant* c = std::get_if<Constant>(&call.args[k]);
    const bool is_repeated = std::ranges::any_of(
        op.attributes, [&](const auto& a) { return a.name == op.arguments[k] && a.type == "value"; });
    if (!c || !is_repeated || !c->shape().empty() || call.attrs.contains(op.arguments[k])) continue;
    call.attrs[op.arguments[k]] = is_float(c->dtype()) ? AttrValue(c->number_at(0)) : AttrValue(c->integer_at(0));
  }
}

// If the operands' types are known, as in straight-line code, their values may be known as well. A call that waits for
// types is decided without values.
Type Inference::call_operator(const Operator* op, Call& call, const SourceLocation& location) {
  repeat_constants(*op, call);
  OperatorCall waiting{op, call.attrs, {}, {}, location};
  for (const Atom& a : call.args) {
    waiting.types.push_back(type_of(a, location));
    waiting.names.push_back(describe(a));
  }
  const size_t found = call.args.size(), expected = op->arguments.size();
  if (!op->accepts(found)) {
    const std::string or_more = op->values.empty() ? "" : fmt::format(" or {}", expected + op->values.size());
    return fail(DiagnosticId::wrong_arity, location,
                fmt::format("{} takes {}{} operand{}, found {}", op->name, expected, or_more,
                            expected == 1 && or_more.empty() ? "" : "s", found),
                {},
                op->variadic ? fmt::format("pass the tensors as one tuple: {}((%a, %b))", op->name)
                             : remedy_for_count(*op, found));
  }
  Gathered in = gather(*op, waiting.types);
  if (!in.hole) {
    if (!op->variadic && !in.unexpected)
      for (size_t k = 0; k < found; ++k) in.tensors[k].value = values_.of(call.args[k]);
    return decide(waiting, std::move(in), &call);
  }
  Type result = unifier_.fresh();
  relate(
      [this, waiting, result] {
        Gathered in = gather(*waiting.op, waiting.types);
        if (in.hole) return in.hole;
        Type type = decide(waiting, std::move(in), nullptr);
        if (!unifier_.unify(type, result))
          mismatch(waiting.location, fmt::format("the result of {}", waiting.op->name), result, type);
        return 0;
      },
      location, op->name);
  return unifier_.shallow(result);
}

Type Inference::decide(const OperatorCall& call, Gathered in, Call* rewrite) {
  const Operator& op = *call.op;
  auto details = [&] {
    std::vector<std::string> lines, names = op.operand_names(call.types.size());
    if (!op.variadic) {
      for (size_t i = 0; i < call.types.size(); ++i)
        lines.push_back(fmt::format("{:8} {:12} {}", names[i], call.names[i], text(call.types[i])));
      return lines;
    }
    const TupleType* fields = as<TupleType>(unifier_.shallow(call.types[0]));
    for (size_t i = 0; fields && i < fields->fields.size(); ++i)
      lines.push_back(fmt::format("[{}]  {}", i, text(fields->fields[i])));
    if (!fields) lines.push_back(fmt::format("[0]  {}", text(call.types[0])));
    return lines;
  };
  if (in.unexpected) {
    return fail(DiagnosticId::type_mismatch, call.location,
                fmt::format("{}: expected {}, found {}", op.name, in.expected, text(in.unexpected)), details());
  }
  auto outcome = rewrite && !op.variadic ? type_call(op, call.attrs, in.tensors, rewrite->args)
                                         : type_call(op, call.attrs, in.tensors);
  if (const TypeError* error = std::get_if<TypeError>(&outcome))
    return fail(error->id, call.location, fmt::format("{}: {}", op.name, error->message), details(), error->help);
  TypedCall& typed = std::get<TypedCall>(outcome);
  if (rewrite && !op.variadic) {
    rewrite->attrs = std::move(typed.attrs);
    rewrite->args.resize(typed.operands, Constant());
  }
  return open_symbols(typed.type, [](const std::string& s) { return s == "?"; });
}

void Inference::learn(const Binding& binding) {
  if (as<HoleType>(unifier_.shallow(binding.var->type))) return;
  values_.learn(module_, binding);
}

// ---- functions and constructors -------------------------------------------------------------------------------------

Type Inference::instantiate(const FunctionType& f, const SourceLocation& location) {
  if (f.type_params.empty()) return function_type(f.params, f.result);
  std::map<int, Type> fresh;
  for (const TypeVariable& v : f.type_params) {
    fresh[v.id] = unifier_.fresh();
    if (v.kind == Kind::type) open_arguments_.insert(as<HoleType>(fresh[v.id])->id);
  }
  auto at_use = [fresh](const Type& type) {
    return map_leaves(type, &TypeNode::has_variables, [&](const Type& leaf) {
      const auto it = fresh.find(as<VariableType>(leaf)->variable.id);
      return it == fresh.end() ? leaf : it->second;
    });
  };
  if (!as<HoleType>(unifier_.shallow(f.result))) {
    const Type type = function_type(f.params, f.result), known = unifier_.resolve(type);  // a result that was inferred
    return at_use(known ? known : type);
  }
  // A call in the function's own body: the type of its result is known with that of the function.
  const Type result = unifier_.fresh();
  relate(
      [this, at_use, result, found = f.result, location] {
        if (const HoleType* hole = as<HoleType>(unifier_.shallow(found))) return hole->id;
        const Type known = unifier_.resolve(found);
        if (known && !unifier_.unify(at_use(known), result))
          mismatch(location, "the result of the function that calls itself", result, at_use(known));
        return 0;
      },
      location, "a generic function that calls itself");
  return function_type(as<FunctionType>(at_use(function_type(f.params, f.result)))->params, result);
}

// At a call, the symbols of the callee end in a mark that no name has: the caller's symbols of the same names are
// others.
static constexpr char mark_of_callee = '\'';
static bool is_of_callee(const std::string& symbol) { return symbol.back() == mark_of_callee; }
static std::string without_mark(const std::string& symbol) { return symbol.substr(0, symbol.size() - 1); }

static std::map<std::string, Dim> without_marks(const std::map<std::string, Dim>& sizes) {
  std::map<std::string, Dim> unmarked;
  for (const auto& [name, size] : sizes) unmarked.emplace(without_mark(name), size);
  return unmarked;
}

// Whether each call of a local function or value finds the size: it is none of a function around the callee. A function
// may call itself for other sizes than it has.
bool Inference::is_found_by_call(const Atom& callee, const std::string& symbol) const {
  const Var* var = std::get_if<Var>(&callee);
  const auto made = var ? fixed_around_.find((*var)->id) : fixed_around_.end();
  const std::set<std::string>& fixed = made == fixed_around_.end() ? fixed_symbols_ : made->second;
  return closure_symbols_.contains(symbol) && !fixed.contains(symbol);
}

// The symbols for which each call finds sizes, by their marked names: all of a global function, and those of a local
// function that do not name sizes of the function around it.
std::map<std::string, Symbol> Inference::symbols_of_callee(const Atom& callee, const Type& type, Callee kind) const {
  std::map<std::string, Symbol> symbols;
  const FunctionType& f = *as<FunctionType>(type);
  std::vector<Type> signature = f.params;
  signature.push_back(f.result);
  const std::set<std::string> of_values = sizes_of_function_values(signature);
  for_each_symbol(type, [&](const Symbol& s) {
    if (s.name != "?" && !of_values.contains(s.name) && (kind != Callee::local || is_found_by_call(callee, s.name)))
      symbols.emplace(s.name + mark_of_callee, s);
  });
  return symbols;
}

// Whether a tensor of the type has a size that is known to be negative.
static bool has_negative_size(const Type& type) {
  bool found = false;
  for_each_field(type, [&](const Type& field) {
    const TensorType* t = as<TensorType>(field);
    found |= t && std::ranges::any_of(t->shape, [](const Dim& d) { return provably_lt(d, 0); });
  });
  return found;
}

Type Inference::call_function(const Type& callee, Call& call, Callee kind, const SourceLocation& location) {
  Type type = unifier_.shallow(callee);
  if (as<HoleType>(type)) {
    std::vector<Type> params;
    for (const Atom& a : call.args) params.push_back(type_of(a, location));
    Type function = function_type(std::move(params), unifier_.fresh());
    if (!unifier_.unify(type, function))
      return fail(DiagnosticId::type_mismatch, location,
                  fmt::format("{} would be a function that takes itself", describe(call.callee)));
    return as<FunctionType>(function)->result;
  }
  const FunctionType* generic = as<FunctionType>(type);
  if (!generic)
    return fail(DiagnosticId::type_mismatch, location,
                fmt::format("{} is called but is not a function: {}", describe(call.callee), text(type)));
  type = instantiate(*generic, location);
  if (const Type known = unifier_.resolve(type)) type = with_new_sizes(call.callee, known, kind);
  const std::map<std::string, Symbol> symbols = symbols_of_callee(call.callee, type, kind);
  std::map<std::string, Dim> marked;
  for (const auto& [name, s] : symbols) marked.emplace(s.name, Dim::symbol({name, s.low, s.high}));
  type = substitute(type, marked);
  const FunctionType& f = *as<FunctionType>(type);
  if (f.params.size() != call.args.size())
    return fail(
        DiagnosticId::wrong_arity, location,
        fmt::format("{} takes {} arguments, found {}", describe(call.callee), f.params.size(), call.args.size()),
        {text(callee)});
  std::map<std::string, Dim> sizes;  // by marked symbol
  std::vector<Type> found = types_of_arguments(call, location);
  widen_type_arguments(f, found, call, location);
  learn_sizes(found, f, sizes);
  if (kind == Callee::tensors)  // a symbol that is no parameter's dimension is the module's
    for (const auto& [name, s] : symbols) sizes.emplace(name, Dim::symbol(s));
  std::vector<size_t> known;  // arguments that were passed whose types had no holes before
  std::vector<int> turns;
  for (size_t i = 0; i < call.args.size(); ++i) turns.push_back(turn_of(call.args[i], found[i], location));
  for (const int turn : {0, 1, 2, 3}) {
    if (turn == 2) {  // data may have told the parameters of functions without types
      for (size_t i = 0; i < call.args.size(); ++i)
        found[i] = take_any_sizes(call.args[i], found[i], f.params[i], location);
      widen_type_arguments(f, found, call, location);
    }
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (turns[i] != turn) continue;
      const bool is_known = !is_incomplete(unifier_.resolve(found[i]));
      if (!pass_argument(found[i], f.params[i], i, sizes, call, known, location)) return unifier_.fresh();
      if (is_known) known.push_back(i);
    }
  }
  bool is_instance = false;
  for (Instance* instance : calling_) {
    if (!names_same(instance->name, call.callee)) continue;
    is_instance = true;
    settle(*instance);
  }
  Type result = unifier_.shallow(f.result);
  if (const Type known = unifier_.resolve(result)) result = known;
  if (!is_instance && is_incomplete(result)) note_early_call(call.callee, without_marks(sizes));
  if (const Type known = is_instance ? unifier_.resolve(type) : nullptr)  // a function that the instance returns
    result = as<FunctionType>(with_new_sizes(call.callee, known, kind))->result;
  if (!has_symbols(result)) return result;
  if (is_instance)  // the result's type, which was found in the instance, has the symbols without marks
    for (const auto& [name, s] : symbols)
      if (auto size = sizes.find(name); size != sizes.end()) sizes.emplace(s.name, size->second);
  const Var* local = std::get_if<Var>(&call.callee);
  const auto defined = local ? result_symbols_.find((*local)->id) : result_symbols_.end();
  const bool defines_sizes = defined != result_symbols_.end();
  if (defines_sizes) result = with_any_sizes_in_data(result, defined->second);
  const bool is_repeated = defines_sizes && shared_.contains((*local)->id);
  auto existential = [&](const std::string& s) {
    return s == "?" || (is_repeated && defined->second.contains(s)) ||
           (!sizes.contains(s) && !value_symbols_.contains(s) &&
            (is_of_callee(s) || (is_instance && !symbols_.contains(s))));
  };
  const int first_symbol = next_symbol_;
  const Type at_call = substitute(open_symbols(result, existential), sizes);
  own_sizes_in_data(at_call, first_symbol);
  if (!has_negative_size(at_call)) return at_call;
  return fail(DiagnosticId::shape_mismatch, location, fmt::format("the result would be {}", text(at_call)),
              {"a size is negative for these arguments"});
}

// In which turn an argument is passed. Data come first: the type of a list decides which sizes its new element may
// have, and not the element's size that of the list; of data, those whose tensors have any sizes. A function of any
// size comes last: the other arguments tell for which sizes a generic function uses it.
int Inference::turn_of(const Atom& arg, const Type& type, const SourceLocation& location) {
  if (as<DataType>(unifier_.shallow(type))) {
    const Type known = unifier_.resolve(type);
    bool has_any_size = false;
    if (known) for_each_symbol(known, [&](const Symbol& s) { has_any_size |= s.name == "?"; });
    return has_any_size ? 0 : 1;
  }
  return has_own_sizes(arg, location) ? 3 : 2;
}

// The type of an argument where nothing is known but its type. The result of an instance that is inferred after the
// call has a hole of its own here.
Type Inference::type_of_argument(const Atom& arg, const SourceLocation& location) {
  const Type type = unifier_.shallow(type_of(arg, location));
  const FunctionType* function = as<FunctionType>(type);
  const auto instance = std::ranges::find_if(calling_, [&](const Instance* i) { return names_same(i->name, arg); });
  if (!function || instance == calling_.end() || !as<HoleType>(unifier_.shallow(function->result)))
    return type_of_value(arg, type);
  Type& result = (*instance)->result_of_value;
  if (!result) result = unifier_.fresh();
  return function_type(function->params, result, function->type_params);
}

// The types of the arguments. Sizes that a function defines for its result are others at each of its calls. Functions
// of any size have different names for it: each may have another one.
std::vector<Type> Inference::types_of_arguments(const Call& call, const SourceLocation& location) {
  std::vector<Type> types;
  std::set<std::string> names;
  for (const Atom& arg : call.args) {
    const Type type = types.emplace_back(type_of_argument(arg, location));
    const Type known = has_own_sizes(arg, location) ? unifier_.resolve(type) : nullptr;
    if (!known) continue;
    bool is_shared = false;
    const auto is_own = sizes_of_value(arg);
    for_each_param(*as<FunctionType>(known), [&](const Type& param) {
      for_each_symbol(param, [&](const Symbol& s) { is_shared |= is_own(s.name) && names.contains(s.name); });
    });
    if (is_shared) types.back() = with_new_sizes(arg, known);
    for_each_symbol(types.back(), [&](const Symbol& s) { names.insert(s.name); });
  }
  return types;
}

// Adds the pairs of sizes of a parameter and its argument. A size of the callee is that of all tensors in data: it
// cannot be "?", another one in each value.
static void add_pairs_of_argument(const Type& param, const Type& argument, std::vector<DimPair>& pairs) {
  std::vector<DimPair> own;
  add_dim_pairs(param, argument, own);
  if (as<DataType>(param)) std::erase_if(own, [](const DimPair& pair) { return pair.argument == unknown_dim(); });
  pairs.insert(pairs.end(), own.begin(), own.end());
}

// Adds the sizes of the callee's symbols that the arguments determine: first those that are no functions, since a
// function may have the type for any size.
void Inference::learn_sizes(const std::vector<Type>& found, const FunctionType& f, std::map<std::string, Dim>& sizes) {
  for (const bool functions : {false, true}) {
    std::vector<DimPair> pairs;
    for (size_t i = 0; i < found.size(); ++i)
      if (const Type param = unifier_.resolve(f.params[i]);
          param && has_symbols(param) && (as<FunctionType>(param) != nullptr) == functions)
        add_pairs_of_argument(param, unifier_.resolve(found[i]), pairs);
    match_sizes(pairs, is_of_callee, sizes);
  }
}

// "n would be -2" for a symbol whose value is below its lower bound; "" without any.
static std::string violated_bound(const std::vector<DimPair>& pairs, const std::map<std::string, Dim>& sizes) {
  for (const DimPair& pair : pairs)
    for (const Symbol& s : pair.param.symbols())
      if (auto size = sizes.find(s.name); size != sizes.end() && provably_lt(size->second, s.low))
        return fmt::format("{} would be {}", without_mark(s.name), size->second.str());
  return "";
}

bool Inference::pass_argument(Type found, Type param, size_t index, std::map<std::string, Dim>& sizes, Call& call,
                              const std::vector<size_t>& known, const SourceLocation& location) {
  Atom& arg = call.args[index];
  const SourceLocation place = place_of_argument(call, index, location);
  if (has_symbols(param)) {
    std::vector<DimPair> pairs;
    add_pairs_of_argument(unifier_.shallow(param), unifier_.resolve(found), pairs);
    match_sizes(pairs, is_of_callee, sizes);
    std::map<std::string, Dim> names;
    for_each_symbol(param, [&](const Symbol& s) {
      if (!is_of_callee(s.name)) return;
      names.emplace(s.name, Dim::symbol({without_mark(s.name)}));
      if (!sizes.contains(s.name)) sizes.emplace(s.name, fresh_symbol());
    });
    const Type declared = std::exchange(param, substitute(param, sizes));
    if (const std::string help = violated_bound(pairs, sizes); !help.empty()) {
      mismatch(place, fmt::format("argument {} of {}", index + 1, describe(call.callee)), substitute(declared, names),
               found, help, declaration_of(call.callee));
      return false;
    }
  }
  if (as<HoleType>(unifier_.shallow(param))) found = type_of_stored(arg, found);
  found = take_any_sizes(arg, found, param, location);
  if (coerce(arg, found, param, location)) return true;
  std::vector<std::string> notes = reasons_for_parameter(index, param, found, known, call, location);
  std::ranges::move(declaration_of(call.callee), std::back_inserter(notes));
  mismatch(place, fmt::format("argument {} of {}", index + 1, describe(call.callee)), param, found, {},
           std::move(notes));
  return false;
}

}  // namespace dlcc::relay
