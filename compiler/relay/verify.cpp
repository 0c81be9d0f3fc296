// The rules of Relay programs, checked after inference and between passes:
//
//   1. every variable (parameter, binding, pattern) is bound once in the module and has an id below next_id;
//   2. a variable is used only where it is visible: after its binding in its block, in the blocks nested there, and,
//      when it is bound to a function, in that function's own body;
//   3. global functions, tensor functions, constructors and data types that are named exist; data types have as many
//      arguments as parameters; constructors' names are unique in the module;
//   4. a constant is not called; operators are only called, not passed on; a constructor without fields is called, too;
//   5. calls of operators, globals, constructors and tensor functions have the right number of operands, and only
//      operators take attributes; a call of a tensor function has no layouts or one per operand and result, over their
//      axes;
//   6. patterns of one `match` are of one data type and have as many fields as their constructors; a `match` has a
//      clause;
//   7. nested blocks and functions are not null;
//   8. every variable, parameter and function result has a type without holes, and a binding has the type of its
//      operation (unknown dimensions are not compared).
#include <algorithm>
#include <set>
#include <utility>

#include "relay/constructors.h"
#include "relay/operator.h"

namespace dlcc::relay {

namespace {

class Verifier {
 public:
  Verifier(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics), constructors_(module) {}

  bool run() {
    size_t before = diagnostics_.error_count();
    data_types();
    for (const auto& [name, f] : module_.functions) {
      where_ = "@" + name;
      function(f);
    }
    return diagnostics_.error_count() == before;
  }

 private:
  void fail(const SourceLocation& location, std::string message) {
    diagnostics_.error(DiagnosticId::invalid_ir, location, fmt::format("in {}: {}", where_, message));
  }

  // ---- definitions

  void data_types() {
    std::set<std::string> constructors;
    for (const auto& [name, def] : module_.data_types) {
      where_ = "type " + name;
      if (def.is_extern && !def.constructors.empty()) fail({}, "an extern type has constructors");
      for (const ConstructorDef& c : def.constructors) {
        if (!constructors.insert(c.name).second) fail({}, fmt::format("constructor {} is defined twice", c.name));
        for (const Type& t : c.fields) type(t, {}, "a field of " + c.name);
      }
    }
  }

  void function(const Function& f) {
    size_t mark = scope_.size();
    for (const Var& p : f.params) bind(p, f.location);
    type(f.result_type, f.location, "the result");
    block(f.body, f.location);
    leave(mark);
  }

  // ---- scopes

  void bind(const Var& var, const SourceLocation& location) {
    if (!var) return fail(location, "a variable is null");
    if (var->id <= 0 || var->id >= module_.next_id)
      fail(location, fmt::format("the id {} of %{} is not one of the module's", var->id, var->name));
    if (!bound_.insert(var->id).second) fail(location, fmt::format("%{} (id {}) is bound twice", var->name, var->id));
    scope_.push_back(var->id);
    visible_.insert(var->id);
    type(var->type, location, "%" + var->name);
  }

  void leave(size_t mark) {
    for (; scope_.size() > mark; scope_.pop_back()) visible_.erase(scope_.back());
  }

  void block(const Block& b, const SourceLocation& location) {
    size_t mark = scope_.size();
    for (const Binding& binding : b.bindings) {
      bool closure = std::holds_alternative<MakeFunction>(binding.op);
      if (closure) bind(binding.var, binding.location);
      operation(binding);
      if (!closure) bind(binding.var, binding.location);
    }
    value(b.result, b.bindings.empty() ? location : b.bindings.back().location);
    leave(mark);
  }

  // ---- types

  void type(const Type& t, const SourceLocation& location, const std::string& what) {
    if (!t) return fail(location, what + " has no type");
    if (t->has_holes) fail(location, fmt::format("the type of {} has a hole: {}", what, str(t)));
    data_type_arguments(t, location);
  }

  void data_type_arguments(const Type& t, const SourceLocation& location) {
    if (as<TensorType>(t) || !checked_types_.insert(t).second) return;
    auto all = [&](const std::vector<Type>& list) {
      for (const Type& part : list) data_type_arguments(part, location);
    };
    if (const DataType* d = as<DataType>(t)) {
      auto it = module_.data_types.find(d->name);
      if (it == module_.data_types.end())
        fail(location, fmt::format("there is no data type {}", d->name));
      else if (it->second.params.size() != d->args.size())
        fail(location, fmt::format("{} takes {} type arguments", d->name, it->second.params.size()));
      all(d->args);
    } else if (const TupleType* p = as<TupleType>(t)) {
      all(p->fields);
    } else if (const FunctionType* f = as<FunctionType>(t)) {
      all(f->params);
      data_type_arguments(f->result, location);
    } else if (const RefType* r = as<RefType>(t)) {
      data_type_arguments(r->value, location);
    }
  }

  static bool equal_where_known(const Type& a, const Type& b) {
    if (a == b) return true;
    const TensorType *x = as<TensorType>(a), *y = as<TensorType>(b);
    if (x && y)
      return same_element_type(*x, *y) && std::ranges::equal(x->shape, y->shape, [](const Dim& m, const Dim& n) {
               return m == n || !m.is_constant() || !n.is_constant();
             });
    const TupleType *p = as<TupleType>(a), *q = as<TupleType>(b);
    if (p && q) return std::ranges::equal(p->fields, q->fields, equal_where_known);
    if (!a || !b || a->v.index() != b->v.index()) return false;
    return true;  // generic parts were instantiated: inference compares them
  }

  void expect_type(const Binding& b, const Type& given) {
    if (b.var && b.var->type && given && !equal_where_known(b.var->type, given))
      fail(b.location,
           fmt::format("%{} has type {}, its operation gives {}", b.var->name, str(b.var->type), str(given)));
  }

  // ---- operands

  // An operand that is a value.
  void value(const Atom& a, const SourceLocation& location) {
    if (const OperatorRef* o = std::get_if<OperatorRef>(&a))
      fail(location, fmt::format("the operator {} is used as a value", o->op ? o->op->name : "null"));
    const ConstructorRef* c = std::get_if<ConstructorRef>(&a);
    if (c && fields_of(*c) == 0) fail(location, fmt::format("{} is not called", c->name));
    known(a, location);
  }

  void known(const Atom& a, const SourceLocation& location) {
    std::visit(overloaded{[&](const Var& v) {
                            if (!v)
                              fail(location, "an operand is null");
                            else if (!visible_.contains(v->id))
                              fail(location, fmt::format("%{} (id {}) is not visible here", v->name, v->id));
                          },
                          [&](const GlobalRef& g) {
                            if (!module_.functions.contains(g.name))
                              fail(location, fmt::format("there is no function @{}", g.name));
                          },
                          [&](const ConstructorRef& c) {
                            if (!fields_of(c)) fail(location, fmt::format("there is no constructor {}", c.name));
                          },
                          [&](const Constant& c) {
                            int64_t expected = storage_bytes(c.dtype(), c.count());
                            if (static_cast<int64_t>(c.bytes().size()) != expected)
                              fail(location,
                                   fmt::format("a constant has {} bytes instead of {}", c.bytes().size(), expected));
                          },
                          [&](const OperatorRef& o) {
                            if (!o.op) fail(location, "an operator is null");
                          }},
               a);
  }

  std::optional<size_t> fields_of(const ConstructorRef& c) const {
    const Constructors::Entry* known = constructors_.find(c.name);
    return known ? std::optional(known->definition->fields.size()) : std::nullopt;
  }

  Type type_of_value(const Atom& a) const {
    if (std::holds_alternative<OperatorRef>(a)) return nullptr;
    const GlobalRef* g = std::get_if<GlobalRef>(&a);
    if (g && !module_.functions.contains(g->name)) return nullptr;
    const ConstructorRef* c = std::get_if<ConstructorRef>(&a);
    if (!c) return type_of(module_, a);
    const Constructors::Entry* known = constructors_.find(c->name);
    return known ? type_of(*known) : nullptr;
  }

  // ---- operations

  void operation(const Binding& b) {
    if (!nested_blocks_exist(b.op)) return fail(b.location, "a nested block or function is null");
    const Call* call = std::get_if<Call>(&b.op);
    bool callee = call != nullptr;
    for_each_atom(b.op,
                  [&](const Atom& a) { std::exchange(callee, false) ? known(a, b.location) : value(a, b.location); });
    if (const Match* match = std::get_if<Match>(&b.op)) return check(b, *match);
    if (const MakeFunction* closure = std::get_if<MakeFunction>(&b.op)) return function(*closure->function);
    for_each_block(b.op, [&](const Block& inner) { block(inner, b.location); });
    std::visit(
        overloaded{[&](const Call& o) { check(b, o); }, [&](const CallTensor& o) { check(b, o); },
                   [&](const MakeTuple& o) {
                     std::vector<Type> fields;
                     for (const Atom& a : o.fields) fields.push_back(type_of_value(a));
                     if (std::ranges::all_of(fields, [](const Type& t) { return t != nullptr; }))
                       expect_type(b, tuple_type(std::move(fields)));
                   },
                   [&](const Project& o) { check(b, o); },
                   [&](const Alias& o) { expect_type(b, type_of_value(o.value)); },
                   [&](const MatchCast& o) { expect_type(b, o.type); }, [&](const DefineSizes& o) { check(b, o); },
                   [&](const RequireSizes&) { expect_type(b, tuple_type({})); }, [](const auto&) {}},
        b.op);
  }

  static bool nested_blocks_exist(const Operation& op) {
    if (const If* o = std::get_if<If>(&op)) return o->then_block && o->else_block;
    if (const Match* o = std::get_if<Match>(&op))
      return std::ranges::all_of(o->clauses, [](const Clause& c) { return static_cast<bool>(c.body); });
    if (const MakeFunction* o = std::get_if<MakeFunction>(&op)) return static_cast<bool>(o->function);
    return true;
  }

  void arity(const Binding& b, const std::string& callee, size_t expected, size_t found) {
    if (expected != found) fail(b.location, fmt::format("{} takes {} operands, found {}", callee, expected, found));
  }

  void check(const Binding& b, const Call& call) {
    const OperatorRef* o = std::get_if<OperatorRef>(&call.callee);
    if (o && o->op) return check_operator(b, *o->op, call);
    if (!call.attrs.empty()) fail(b.location, "attributes on the call of something that is not an operator");
    if (std::holds_alternative<Constant>(call.callee)) return fail(b.location, "a constant is called");
    Type type = type_of_value(call.callee);
    if (!type) return;
    const FunctionType* f = as<FunctionType>(type);
    if (!f) return fail(b.location, fmt::format("a value of type {} is called", str(type)));
    arity(b, "the function", f->params.size(), call.args.size());
    if (f->type_params.empty()) expect_type(b, f->result);
  }

  void check_operator(const Binding& b, const Operator& op, const Call& call) {
    if (!op.accepts(call.args.size())) arity(b, op.name, op.arguments.size(), call.args.size());
    std::vector<Type> types;
    for (const Atom& a : call.args) {
      const Type type = type_of_value(a);
      const TupleType* tuple = op.variadic ? as<TupleType>(type) : nullptr;
      if (op.variadic && !tuple && &a == &call.args.front())
        return fail(b.location, fmt::format("{} takes a tuple", op.name));
      if (tuple)
        types.insert(types.end(), tuple->fields.begin(), tuple->fields.end());
      else
        types.push_back(type);
    }
    Operands operands;
    for (const Type& t : types)
      if (const TensorType* tensor = as<TensorType>(t)) operands.push_back(*tensor);
    if (operands.size() != types.size())
      return fail(b.location, fmt::format("an operand of {} is not a tensor", op.name));
    if (!op.variadic && !op.accepts(operands.size())) return;
    TypeResult result = op.type(call.attrs, operands);
    if (const TypeError* error = std::get_if<TypeError>(&result))
      fail(b.location, fmt::format("{}: {}", op.name, error->message));
    else
      expect_type(b, std::get<Type>(result));
  }

  void check(const Binding& b, const CallTensor& call) {
    auto it = module_.tensor_functions.find(call.function);
    if (it == module_.tensor_functions.end())
      return fail(b.location, fmt::format("there is no tensor function @{}", call.function));
    const tensor::TensorFunction& f = it->second;
    arity(b, "@" + call.function, f.params.size(), call.args.size());
    if (!call.layouts.empty() && call.layouts.size() != f.params.size() + f.results.size())
      fail(b.location, fmt::format("the call of @{} has {} layouts for {} operands and {} results", call.function,
                                   call.layouts.size(), f.params.size(), f.results.size()));
    std::vector<tensor::Buffer> buffers = f.params;
    buffers.insert(buffers.end(), f.results.begin(), f.results.end());
    for (size_t i = 0; i < std::min(buffers.size(), call.layouts.size()); ++i)
      for (const tensor::Layout::Part& p : call.layouts[i].parts)
        if (p.axis < 0 || p.axis >= buffers[i]->rank() || p.divisor < 1 || provably_lt(p.extent, 1))
          fail(b.location,
               fmt::format("layout {} does not fit {} dimensions", tensor::str(call.layouts[i]), buffers[i]->rank()));
    std::vector<Type> results;
    for (const tensor::Buffer& r : f.results) results.push_back(tensor_type(r->shape, r->type));
    expect_type(b, results.size() == 1 ? results[0] : tuple_type(results));
  }

  void check(const Binding& b, const Project& op) {
    Type type = type_of_value(op.tuple);
    const TupleType* tuple = as<TupleType>(type);
    if (!tuple || op.index < 0 || op.index >= static_cast<int>(tuple->fields.size()))
      return fail(b.location, fmt::format("projection .{} of a {}", op.index, str(type)));
    expect_type(b, tuple->fields[op.index]);
  }

  void check(const Binding& b, const DefineSizes& op) {
    const Type type = type_of_value(op.value);
    const TensorType* t = as<TensorType>(type);
    const auto count = static_cast<int64_t>(op.symbols.size());
    if (!t || t->dtype != dtype::i64 || !(t->shape == Shape{Dim(count)}))
      fail(b.location, fmt::format("define_sizes of {} symbols from a {}", count, str(type)));
    if (op.most.size() != op.symbols.size()) fail(b.location, "define_sizes has not one bound for each symbol");
    expect_type(b, tuple_type({}));
  }

  void check(const Binding& b, const Match& match) {
    if (match.clauses.empty()) fail(b.location, "a match has no clause");
    for (const Clause& clause : match.clauses) {
      size_t mark = scope_.size();
      pattern(clause.pattern, type_of_value(match.value), b.location);
      block(*clause.body, b.location);
      leave(mark);
    }
  }

  void pattern(const Pattern& p, const Type& matched, const SourceLocation& location) {
    if (const auto* bound = std::get_if<Pattern::Bind>(&p.v)) bind(bound->var, location);
    if (const auto* tuple = std::get_if<Pattern::Tuple>(&p.v)) {
      const TupleType* type = as<TupleType>(matched);
      if (matched && (!type || type->fields.size() != tuple->fields.size()))
        fail(location, fmt::format("a tuple pattern of {} against a {}", tuple->fields.size(), str(matched)));
      for (size_t i = 0; i < tuple->fields.size(); ++i)
        pattern(tuple->fields[i], type && i < type->fields.size() ? type->fields[i] : nullptr, location);
    }
    const auto* c = std::get_if<Pattern::Constructor>(&p.v);
    if (!c) return;
    const Constructors::Entry* known = constructors_.find(c->name);
    const DataType* type = as<DataType>(matched);
    if (!known) return fail(location, fmt::format("there is no constructor {}", c->name));
    if (matched && (!type || type->name != known->type->name))
      fail(location, fmt::format("the pattern {} against a {}", c->name, str(matched)));
    if (fields_of({c->name}) != c->fields.size())
      fail(location, fmt::format("the pattern {} has {} fields", c->name, c->fields.size()));
    for (const Pattern& field : c->fields) pattern(field, nullptr, location);
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  const Constructors constructors_;
  std::string where_;
  std::set<int> bound_, visible_;
  std::vector<int> scope_;
  std::set<Type> checked_types_;  // whose data types have been checked
};

}  // namespace

bool verify(const Module& module, Diagnostics& diagnostics) { return Verifier(module, diagnostics).run(); }

}  // namespace dlcc::relay
