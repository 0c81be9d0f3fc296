#include "relay/interpret.h"

#include "relay/definitions.h"
#include "relay/function_slots.h"
#include "relay/references.h"
#include "relay/type_arguments.h"
#include "shape/solve_sizes.h"
#include "support/deep_stack.h"
#include "tensor/analysis.h"

namespace dlcc::relay {
namespace {

struct Activation {  // of a function
  const FunctionSlots* slots;
  std::vector<Value> values;  // by slot; null before the binding
  std::shared_ptr<const ActivationSizes> sizes;
  std::shared_ptr<ActivationSizes> own_sizes;  // null for functions without symbols
  const SourceLocation* caller;                // the last call outside of the prelude that led to it
};

// About what an activation takes, in bytes: most of its values are scalars of their own.
size_t memory_of(const FunctionSlots& slots) {
  return sizeof(Activation) + slots.slot.size() * (sizeof(Value) + sizeof(Constant));
}

// A block that is being evaluated, and the operation whose value is needed next. When the block ends, its value becomes
// the value of the current operation of the cursor below it on the stack.
struct Cursor {
  const Block* block;
  size_t next = 0;
  bool begins_activation = false;
};

class Machine {
 public:
  Machine(const Module& module, tensor::Precision precision, Diagnostics& diagnostics, int64_t max_steps)
      : module_(module),
        definitions_(module, precision),
        diagnostics_(diagnostics),
        max_steps_(max_steps),
        slots_(assign_slots(module)) {
    for (const auto& [name, def] : module.data_types)
      for (const ConstructorDef& c : def.constructors) constructors_.emplace(c.name, &c);
    for (const auto& [name, f] : module.functions) globals_.emplace(name, make_value(ClosureValue{&f, {}, nullptr}));
  }
  ~Machine() {
    activations_.clear();
    references_.collect();
  }

  Value run(std::span<const Value> args) {
    const Function& main = module_.functions.at("main");
    enter(*as<ClosureValue>(globals_.at("main")), globals_.at("main"), {args.begin(), args.end()}, main.location);
    while (!result_) {
      Cursor& c = cursors_.back();
      if (c.next < c.block->bindings.size()) {
        take_steps(1);
        evaluate(c.block->bindings[c.next]);
      } else {
        leave(atom(c.block->result));
      }
    }
    return result_;
  }

  // The source location of the current operation; empty before the first and after the last one.
  SourceLocation location() const {
    const Cursor* c = cursors_.empty() ? nullptr : &cursors_.back();
    return c && c->next < c->block->bindings.size() ? c->block->bindings[c->next].location : SourceLocation();
  }

 private:
  // ---- control

  // Whether the current operation is in tail position: the last one of its block, with the block's value, of which
  // nothing is to be checked.
  bool in_tail_position() const {
    if (cursors_.empty()) return false;
    const Cursor& c = cursors_.back();
    const Var* result = std::get_if<Var>(&c.block->result);
    return c.next + 1 == c.block->bindings.size() && result && *result == c.block->bindings.back().var &&
           !gives_bounded_size((*result)->type);
  }

  // Whether a value of the type gives a symbol its size, which must be at least 1.
  bool gives_bounded_size(const Type& type) const {
    const ActivationSizes* own = activations_.back().own_sizes.get();
    bool gives = false;
    if (own)
      for_each_symbol(type, [&](const Symbol& s) { gives |= s.low > 0 && !own->sizes.value_of(Dim::symbol(s)); });
    return gives;
  }

  bool is_in_prelude() const { return !activations_.empty() && activations_.back().slots->is_of_prelude; }

  void enter(const Block& block) {
    if (in_tail_position())
      cursors_.back() = {&block, 0, cursors_.back().begins_activation};
    else
      cursors_.push_back({&block});
  }

  void enter(const ClosureValue& closure, const Value& self, std::vector<Value> args, const SourceLocation& location,
             const std::vector<std::pair<Symbol, int64_t>>& sizes = {}) {
    const SourceLocation* caller = is_in_prelude() ? activations_.back().caller : &location;
    if (in_tail_position()) pop_cursor();
    const Function& f = *closure.function;
    const FunctionSlots& slots = slots_.at(&f);
    Activation next{&slots, std::exchange(spare_, {}), closure.sizes, nullptr, caller};
    next.values.resize(slots.slot.size());
    if (slots.has_symbols) next.sizes = next.own_sizes = std::make_shared<ActivationSizes>(closure.sizes);
    for (size_t k = 0; k < slots.captured.size(); ++k)
      next.values[slots.slot.at(slots.captured[k])] = slots.captured[k] == slots.self ? self : closure.captured[k];
    if ((memory_ += memory_of(slots)) > most_memory_)
      fail(DiagnosticId::too_large, location,
           fmt::format("recursion deeper than {} calls cannot be evaluated: it takes more than {} MiB",
                       activations_.size(), most_memory_ >> 20));
    activations_.push_back(std::move(next));
    cursors_.push_back({&f.body, 0, true});
    for (const auto& [symbol, size] : sizes)
      if (!activations_.back().own_sizes->sizes.define(symbol, size))
        throw Stopped{tensor::Status::dimension_out_of_range};
    for (size_t k = 0; k < f.params.size(); ++k) set(f.params[k], std::move(args[k]));
  }

  void pop_cursor() {
    if (cursors_.back().begins_activation) {
      memory_ -= memory_of(*activations_.back().slots);
      spare_ = std::move(activations_.back().values);  // a loop needs no new memory for each iteration
      spare_.clear();
      activations_.pop_back();
    }
    cursors_.pop_back();
  }

  // The last block ends with this value.
  void leave(Value value) {
    pop_cursor();
    if (cursors_.empty())
      result_ = std::move(value);
    else
      done(std::move(value));
  }

  // The current operation has this value.
  void done(Value value) {
    Cursor& c = cursors_.back();
    set(c.block->bindings[c.next++].var, std::move(value));
  }

  void take_steps(int64_t count) {
    if (count > max_steps_ - steps_)
      fail(DiagnosticId::run_failed, location(), fmt::format("the program needs more than {} steps", max_steps_));
    steps_ += count;
  }

  [[noreturn]] void fail(DiagnosticId id, const SourceLocation& location, std::string message, std::string help = "") {
    std::vector<std::string> notes;
    if (is_in_prelude()) notes.push_back(activations_.back().caller->str() + ": called here");
    diagnostics_.error(id, location, std::move(message), std::move(notes), std::move(help));
    throw Stopped{};
  }

  // ---- variables

  Value& slot_of(const Var& var) {
    Activation& a = activations_.back();
    return a.values[a.slots->slot.at(var->id)];
  }

  // Gives a variable its value, and the symbols of its type theirs.
  void set(const Var& var, Value value) {
    if (ActivationSizes* own = activations_.back().own_sizes.get()) match(own->sizes, var->type, value);
    slot_of(var) = std::move(value);
  }

  static void match(ActualSizes& sizes, const Type& type, const Value& value) {
    const auto* fields = as<TupleValue>(value);
    if (const TupleType* tuple = as<TupleType>(type); tuple && fields)
      for (size_t k = 0; k < fields->fields.size(); ++k) match(sizes, tuple->fields[k], fields->fields[k]);
    const TensorType* t = as<TensorType>(type);
    const Constant* c = as<Constant>(value);
    if (t && c && !is_static(t->shape)) check(sizes.match(*t, c->shape()));
  }

  static void check(tensor::Status status) {
    if (status != tensor::Status::ok) throw Stopped{status};
  }

  Value atom(const Atom& a) {
    return std::visit(
        overloaded{
            [&](const Var& var) {
              const Value& value = slot_of(var);
              DLCC_CHECK(value, "%{} has no value", var->name);
              return value;
            },
            [&](const Constant& c) { return constant(c); }, [&](const GlobalRef& g) { return globals_.at(g.name); },
            [&](const ConstructorRef& c) { return make_value(ConstructorValue{constructors_.at(c.name)}); },
            [&](const OperatorRef& o) -> Value {
              fail(DiagnosticId::unsupported_construct, {}, fmt::format("the operator {} is not a value", o.op->name));
            }},
        a);
  }

  // Literals are values that are made once.
  Value constant(const Constant& c) {
    Value& value = constants_[&c];
    if (!value) value = tensor_value(c);
    return value;
  }

  std::vector<Value> atoms(const std::vector<Atom>& list) {
    std::vector<Value> values;
    values.reserve(list.size());
    for (const Atom& a : list) values.push_back(atom(a));
    return values;
  }

  const Constant& tensor(const Value& value) { return std::get<Constant>(value->v); }

  // ---- operations: each ends in done() or enters a block

  void evaluate(const Binding& b) {
    std::visit([&](const auto& op) { evaluate(b, op); }, b.op);
  }

  void evaluate(const Binding& b, const Call& call) {
    if (const OperatorRef* op = std::get_if<OperatorRef>(&call.callee)) return apply(b, call, *op->op);
    if (const ConstructorRef* c = std::get_if<ConstructorRef>(&call.callee))
      return done(make_value(DataValue{constructors_.at(c->name), atoms(call.args)}));
    const Value callee = atom(call.callee);
    if (const auto* c = as<ConstructorValue>(callee))
      return done(make_value(DataValue{c->constructor, atoms(call.args)}));
    const ClosureValue& closure = std::get<ClosureValue>(callee->v);
    std::vector<std::pair<Symbol, int64_t>> sizes;
    const bool has_sizes = std::holds_alternative<GlobalRef>(call.callee) && slots_.at(closure.function).has_symbols;
    if (has_sizes)
      for (const auto& [symbol, dim] : solved_sizes(call, *closure.function))
        if (const auto size = size_of(dim)) sizes.emplace_back(symbol, *size);
    enter(closure, callee, atoms(call.args), b.location, sizes);
  }

  // The symbols of the callee whose values no axis of an argument gives alone, such as m of 2 * n + 2 * m, and their
  // values in terms of the caller's symbols, as in compiled code.
  const std::vector<std::pair<Symbol, Dim>>& solved_sizes(const Call& call, const Function& callee) {
    const auto [it, added] = solved_sizes_.try_emplace(&call);
    if (!added) return it->second;
    const std::vector<DimPair> pairs = dim_pairs(module_, callee, call.args);
    std::map<std::string, Dim> sizes = sizes_at_call(pairs);
    for (const DimPair& pair : pairs)
      if (const auto axis = as_linear(pair.param)) sizes.erase(axis->symbol.name);
    for (const DimPair& pair : pairs)
      for (const Symbol& s : pair.param.symbols())
        if (auto size = sizes.extract(s.name)) it->second.emplace_back(s, size.mapped());
    return it->second;
  }

  // In the current activation; empty if it depends on a size that is not known.
  std::optional<int64_t> size_of(const Dim& d) const {
    const ActivationSizes* sizes = activations_.back().sizes.get();
    return sizes ? sizes->sizes.value_of(d) : d.constant();
  }

  void apply(const Binding& b, const Call& call, const Operator& op) {
    if (auto missing = missing_definition(b.op))
      fail(DiagnosticId::unsupported_operator, b.location, missing->message, missing->help);
    operands_.clear();
    if (op.variadic)
      add_tensors(std::get<TupleValue>(atom(call.args.at(0))->v).fields, operands_);
    else
      add_tensors(call.args, operands_);
    const ActivationSizes* sizes = activations_.back().sizes.get();
    const auto& definition = definitions_.of(op, call, b.var->type, operands_, sizes ? &sizes->sizes : nullptr);
    run(b, definition, operands_);
  }

  void evaluate(const Binding& b, const CallTensor& call) {
    const tensor::CompiledKernel& definition = definitions_.of(call);
    std::vector<Constant> list;
    add_tensors(call.args, list);
    const tensor::TensorFunction& f = module_.tensor_functions.at(call.function);
    if (const std::vector<Symbol> symbols = tensor::symbols_of(f); !symbols.empty()) {
      const std::map<std::string, int64_t> sizes = sizes_of(f, symbols, list, call.function, b.location);
      for (const Symbol& s : symbols) {
        const int64_t size = sizes.at(s.name);
        if (size < s.low || size > s.high) throw Stopped{tensor::Status::dimension_out_of_range};
        list.push_back(Constant::of<int64_t>(dtype::i64, {}, {size}));
      }
      auto is_size = [&](const Dim& d) {
        const int64_t value = d.evaluate(sizes).value_or(-1);
        return value >= 0 && value <= tensor::max_elements;
      };
      for (const tensor::Buffer& result : f.results)
        if (!std::ranges::all_of(result->shape, is_size) || !is_size(product(result->shape)))
          throw Stopped{tensor::Status::dimension_out_of_range};
    }
    run(b, definition, list);
  }

  // The sizes of a tensor function's symbols: those of the arguments, else those of the current activation.
  std::map<std::string, int64_t> sizes_of(const tensor::TensorFunction& f, const std::vector<Symbol>& symbols,
                                          const std::vector<Constant>& args, const std::string& name,
                                          const SourceLocation& location) {
    std::vector<DimPair> pairs;
    for (size_t k = 0; k < f.params.size(); ++k) add_dim_pairs(f.params[k]->shape, shape_of(args[k].shape()), pairs);
    const std::map<std::string, Dim> known = sizes_at_call(pairs);
    std::map<std::string, int64_t> sizes;
    for (const Symbol& s : symbols) {
      const auto of_argument = known.find(s.name);
      auto size = of_argument == known.end() ? std::nullopt : of_argument->second.constant();
      if (!size) size = size_of(Dim::symbol(s));
      if (!size)
        fail(DiagnosticId::unsupported_construct, location,
             fmt::format("a call of @{} with an unknown size '{}' cannot be evaluated", name, s.name));
      sizes.emplace(s.name, *size);
    }
    return sizes;
  }

  void run(const Binding& b, const tensor::CompiledKernel& definition, const std::vector<Constant>& args) {
    if (max_steps_ != unlimited_steps) take_steps(definition.iterations(args));
    tensor::EvaluationResult r = definition.run(args);
    if (r.status != tensor::Status::ok) throw Stopped{r.status};
    if (!as<TupleType>(b.var->type)) return done(tensor_value(std::move(r.results[0])));
    TupleValue tuple;
    for (Constant& c : r.results) tuple.fields.push_back(tensor_value(std::move(c)));
    done(make_value(std::move(tuple)));
  }

  // Allocates no Value for a literal.
  void add_tensors(const std::vector<Atom>& atoms, std::vector<Constant>& list) {
    for (const Atom& a : atoms) {
      const Constant* literal = std::get_if<Constant>(&a);
      const Var* var = std::get_if<Var>(&a);
      list.push_back(literal ? *literal : tensor(var ? slot_of(*var) : atom(a)));
    }
  }

  void add_tensors(const std::vector<Value>& values, std::vector<Constant>& list) {
    for (const Value& v : values) list.push_back(tensor(v));
  }

  void evaluate(const Binding&, const MakeTuple& op) { done(make_value(TupleValue{atoms(op.fields)})); }
  void evaluate(const Binding&, const Project& op) {
    const Value tuple = atom(op.tuple);
    done(std::get<TupleValue>(tuple->v).fields.at(static_cast<size_t>(op.index)));
  }
  void evaluate(const Binding&, const If& op) {
    const Var* var = std::get_if<Var>(&op.condition);
    const bool condition = tensor(var ? slot_of(*var) : atom(op.condition)).integer_at(0) != 0;
    enter(condition ? *op.then_block : *op.else_block);
  }

  void evaluate(const Binding& b, const Match& op) {
    const Value value = atom(op.value);
    for (const Clause& c : op.clauses)
      if (fits(c.pattern, value)) return enter(*c.body);
    fail(DiagnosticId::run_failed, b.location, fmt::format("no arm of this match fits {}", str(value, 100)));
  }

  // Binds the pattern's variables.
  bool fits(const Pattern& pattern, const Value& value) {
    auto all_fit = [&](const std::vector<Pattern>& patterns, const std::vector<Value>& fields) {
      for (size_t k = 0; k < patterns.size(); ++k)
        if (!fits(patterns[k], fields[k])) return false;
      return true;
    };
    return std::visit(
        overloaded{[](const Pattern::Wildcard&) { return true; },
                   [&](const Pattern::Bind& p) {
                     set(p.var, value);
                     return true;
                   },
                   [&](const Pattern::Constructor& p) {
                     const auto& data = std::get<DataValue>(value->v);
                     return data.constructor->name == p.name && all_fit(p.fields, data.fields);
                   },
                   [&](const Pattern::Tuple& p) { return all_fit(p.fields, std::get<TupleValue>(value->v).fields); }},
        pattern.v);
  }

  void evaluate(const Binding&, const MakeFunction& op) {
    const Function& f = *op.function;
    ClosureValue closure{&f, {}, activations_.back().sizes};
    const FunctionSlots& slots = slots_.at(&f);
    for (int id : slots.captured) {
      const Activation& a = activations_.back();
      closure.captured.push_back(id == slots.self ? nullptr : a.values[a.slots->slot.at(id)]);
    }
    done(make_value(std::move(closure)));
  }

  void evaluate(const Binding&, const RefCreate& op) { done(references_.create(atom(op.value))); }
  void evaluate(const Binding&, const RefRead& op) {
    const Value ref = atom(op.ref);
    done(std::get<RefValue>(ref->v).contents);
  }
  void evaluate(const Binding&, const RefWrite& op) {
    const Value ref = atom(op.ref);
    std::get<RefValue>(ref->v).contents = atom(op.value);
    done(make_value(TupleValue{}));
  }

  void evaluate(const Binding&, const MatchCast& op) {
    Value value = atom(op.value);
    const TensorType* t = as<TensorType>(op.type);
    if (t) check(activations_.back().own_sizes->sizes.match(*t, tensor(value).shape()));
    done(std::move(value));
  }

  void evaluate(const Binding&, const DefineSizes& op) {
    const Value value = atom(op.value);
    ActualSizes& sizes = activations_.back().own_sizes->sizes;
    for (size_t k = 0; k < op.symbols.size(); ++k) {
      const int64_t size = tensor(value).integer_at(static_cast<int64_t>(k));
      const auto most = sizes.value_of(op.most[k]);
      if (most && size > *most) throw Stopped{tensor::Status::capacity_exceeded};
      if (size > tensor::max_elements || !sizes.define(op.symbols[k], size))
        throw Stopped{tensor::Status::dimension_out_of_range};
    }
    done(make_value(TupleValue{}));
  }

  void evaluate(const Binding&, const RequireSizes& op) {
    for (const Dim& d : op.sizes) {
      const auto size = activations_.back().own_sizes->sizes.value_of(d);
      if (!size || *size < 0 || *size > tensor::max_elements) throw Stopped{tensor::Status::dimension_out_of_range};
    }
    done(make_value(TupleValue{}));
  }

  void evaluate(const Binding&, const Alias& op) { done(atom(op.value)); }

  const Module& module_;
  Definitions definitions_;
  Diagnostics& diagnostics_;
  const int64_t max_steps_;
  int64_t steps_ = 0;
  std::unordered_map<const Function*, FunctionSlots> slots_;
  std::unordered_map<std::string, const ConstructorDef*> constructors_;
  std::unordered_map<std::string, Value> globals_;
  std::unordered_map<const Constant*, Value> constants_;  // by their place in the module
  std::unordered_map<const Call*, std::vector<std::pair<Symbol, Dim>>> solved_sizes_;
  References references_;
  std::vector<Activation> activations_;
  size_t memory_ = 0;  // about what they take, in bytes
  const size_t most_memory_ = memory_for_recursion();
  std::vector<Constant> operands_;  // of the current operation
  std::vector<Value> spare_;        // empty, with the memory of an activation that has ended
  std::vector<Cursor> cursors_;
  Value result_;  // of @main; null before its end
};

}  // namespace

std::optional<Interpretation> interpret(const Module& module, std::span<const Value> args, tensor::Precision precision,
                                        Diagnostics& diagnostics, int64_t max_steps) {
  Machine machine(module, precision, diagnostics, max_steps);
  try {
    return Interpretation{tensor::Status::ok, machine.run(args), {}};
  } catch (const Stopped& s) {
    if (s.status == tensor::Status::ok) return std::nullopt;
    return Interpretation{s.status, nullptr, machine.location()};
  }
}

}  // namespace dlcc::relay
