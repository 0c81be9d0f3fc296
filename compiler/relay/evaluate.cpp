#include "relay/evaluate.h"

#include <algorithm>
#include <unordered_map>

#include "relay/actual_sizes.h"
#include "relay/call_type.h"
#include "tensor/analysis.h"

namespace dlcc::relay {
namespace {

constexpr int deepest_recursion = 1000;  // calls that are not in tail position

struct Value {
  Constant tensor;
  std::vector<Value> fields;
  bool is_tuple = false;
  const Function* function = nullptr;  // of a variable that is bound to a local function
};

// The variables of one activation of a function, and the activation that its local functions' bodies see around it.
// Functions are no operands and no results, so that a function is called only while the activation that defines it is
// on the stack.
struct Frame {
  explicit Frame(const Frame* outer) : outer(outer), sizes(outer ? &outer->sizes : nullptr) {}

  const Frame* outer;
  std::unordered_map<int, Value> values;
  ActualSizes sizes;
};

// A function to be called and the activation around it.
struct Target {
  const Function* function = nullptr;
  const Frame* outer = nullptr;
};

struct TailCall {
  Target target;
  std::vector<Value> args;
};

// What a block in tail position leads to: its value, or a call that has it.
using Outcome = std::variant<Value, TailCall>;

struct Stopped {  // thrown to leave the evaluation: with a status, or after a diagnostic
  tensor::Status status = tensor::Status::ok;
};

// The definitions of operations, compiled at their first evaluation.
class Definitions {
  struct Applied {  // a call of an operator, with the types of its last operands
    Operands types;
    std::optional<tensor::CompiledKernel> definition;
  };

 public:
  Definitions(const Module& module, tensor::Precision precision) : module_(module), precision_(precision) {}

  const tensor::CompiledKernel& of(const CallTensor& call) {
    auto it = functions_.find(call.function);
    if (it == functions_.end())
      it = functions_
               .emplace(call.function, tensor::CompiledKernel(module_.tensor_functions.at(call.function), precision_))
               .first;
    return it->second;
  }

  // The definition for these operands, from which those are removed whose values it has in it. The shapes of a call's
  // operands differ between activations of a function of symbolic sizes.
  const tensor::CompiledKernel& of(const Operator& op, const Call& call, const Type& result,
                                   std::vector<Constant>& args, const ActualSizes& sizes) {
    auto [it, added] = operators_.try_emplace(&call);
    auto as_before = [](const TensorType& t, const Constant& c) {
      return t.dtype == c.dtype() &&
             std::ranges::equal(t.shape, c.shape(), [](const Dim& d, int64_t n) { return d == Dim(n); });
    };
    Applied& applied = it->second;
    const bool by_value = !op.variadic && args.size() > op.arguments.size();
    const bool symbolic = by_value || has_symbols(call.attrs);
    if (added || symbolic || !std::ranges::equal(applied.types, args, as_before)) {
      applied.types.clear();
      for (const Constant& c : args)
        applied.types.push_back({{shape_of(c.shape()), c.dtype()}, by_value ? tensor::value_of(c) : nullptr});
      Attrs attrs = call.attrs;
      const bool sizes_matter = std::ranges::any_of(call.args, [](const Atom& a) {
        const Var* var = std::get_if<Var>(&a);
        return var && !is_static((*var)->type);
      });
      if (symbolic || sizes_matter || !is_static(result)) attrs = decided(op, sizes.apply(attrs), applied.types);
      args.resize(applied.types.size());
      applied.definition.emplace(op.compute(attrs, applied.types), precision_);
    }
    return *applied.definition;
  }

 private:
  // The attributes of a call whose sizes the run decides, and its operands without those that are attributes now.
  static Attrs decided(const Operator& op, const Attrs& attrs, Operands& operands) {
    auto typed = type_call(op, attrs, operands);
    if (std::holds_alternative<TypeError>(typed)) throw Stopped{tensor::Status::shape_mismatch};
    TypedCall& call = std::get<TypedCall>(typed);
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(call.operands), operands.end());
    return std::move(call.attrs);
  }

  const Module& module_;
  tensor::Precision precision_;
  std::unordered_map<std::string, tensor::CompiledKernel> functions_;
  std::unordered_map<const Call*, Applied> operators_;
};

class Evaluator {
 public:
  Evaluator(const Module& module, tensor::Precision precision, Diagnostics& diagnostics)
      : module_(module), definitions_(module, precision), diagnostics_(diagnostics) {}

  std::vector<Constant> run(std::span<const Constant> args) {
    std::vector<Value> values;
    for (const Constant& a : args) values.push_back({.tensor = a});
    const Function& main = module_.functions.at("main");
    check_sizes(main, args);
    std::vector<Constant> results;
    flatten(call({{&main, nullptr}, std::move(values)}, main.location), results);
    return results;
  }

 private:
  void check_sizes(const Function& main, std::span<const Constant> args) const {
    if (module_.checked_sizes.empty()) return;
    ActualSizes sizes;
    for (size_t k = 0; k < args.size() && k < main.params.size(); ++k)
      if (const TensorType* t = as<TensorType>(main.params[k]->type)) sizes.match(*t, args[k].shape());
    for (const Dim& d : module_.checked_sizes)
      if (sizes.value_of(d).value_or(0) < 0) throw Stopped{tensor::Status::dimension_out_of_range};
  }

  // ---- functions and blocks

  // Calls in tail position are made here, one after the other, each with a frame of its own.
  Value call(TailCall next, const SourceLocation& location) {
    if (++depth_ > deepest_recursion)
      unsupported(location, fmt::format("recursion deeper than {} calls", deepest_recursion));
    while (true) {
      const Function& f = *next.target.function;
      Frame frame(next.target.outer);
      for (size_t k = 0; k < f.params.size(); ++k) set(frame, f.params[k], std::move(next.args[k]));
      Outcome outcome = block(f.body, frame, true);
      if (Value* value = std::get_if<Value>(&outcome)) {
        --depth_;
        return std::move(*value);
      }
      next = std::move(std::get<TailCall>(outcome));
    }
  }

  // `tail`: the block's value is the function's.
  Outcome block(const Block& b, Frame& frame, bool tail) {
    const Var* result = std::get_if<Var>(&b.result);
    for (const Binding& binding : b.bindings) {
      bool last = &binding == &b.bindings.back() && result && binding.var == *result;
      if (tail && last) return last_operation(binding, frame);
      set(frame, binding.var, operation(binding, frame));
    }
    return atom(b.result, frame, {});
  }

  // Gives a variable its value, and the symbols of its type theirs.
  static void set(Frame& frame, const Var& var, Value value) {
    if (!value.function) match(frame, var->type, value);
    frame.values[var->id] = std::move(value);
  }

  static void match(Frame& frame, const Type& type, const Value& value) {
    if (const TupleType* tuple = as<TupleType>(type))
      for (size_t k = 0; k < value.fields.size(); ++k) match(frame, tuple->fields[k], value.fields[k]);
    const TensorType* t = as<TensorType>(type);
    if (t && !is_static(t->shape) && !frame.sizes.match(*t, value.tensor.shape()))
      throw Stopped{tensor::Status::shape_mismatch};
  }

  // An operation whose value is the function's.
  Outcome last_operation(const Binding& b, Frame& frame) {
    if (const If* branch = std::get_if<If>(&b.op)) return block(taken(*branch, frame, b.location), frame, true);
    const Call* x = std::get_if<Call>(&b.op);
    if (!x || std::holds_alternative<OperatorRef>(x->callee)) return operation(b, frame);
    Target target = callee(*x, frame, b.location);
    if (target.outer == &frame) return operation(b, frame);  // the callee needs this activation's variables
    return TailCall{target, atoms(x->args, frame, b.location)};
  }

  Target callee(const Call& x, const Frame& frame, const SourceLocation& location) {
    if (const GlobalRef* global = std::get_if<GlobalRef>(&x.callee))
      return {&module_.functions.at(global->name), nullptr};
    const Var* var = std::get_if<Var>(&x.callee);
    for (const Frame* f = &frame; var && f; f = f->outer)
      if (auto it = f->values.find((*var)->id); it != f->values.end() && it->second.function)
        return {it->second.function, f};
    unsupported(location, "a call of a function value");
  }

  const Block& taken(const If& branch, const Frame& frame, const SourceLocation& location) {
    bool condition = atom(branch.condition, frame, location).tensor.integer_at(0) != 0;
    return condition ? *branch.then_block : *branch.else_block;
  }

  // ---- operands

  const Value& variable(const Var& var, const Frame& frame) {
    for (const Frame* f = &frame; f; f = f->outer)
      if (auto it = f->values.find(var->id); it != f->values.end()) return it->second;
    DLCC_CHECK(false, "%{} has no value", var->name);
  }

  Value atom(const Atom& a, const Frame& frame, const SourceLocation& location) {
    if (const Constant* c = std::get_if<Constant>(&a)) return {.tensor = *c};
    const Var* var = std::get_if<Var>(&a);
    if (!var || variable(*var, frame).function) unsupported(location, "a function as a value");
    return variable(*var, frame);
  }

  std::vector<Value> atoms(const std::vector<Atom>& list, const Frame& frame, const SourceLocation& location) {
    std::vector<Value> values;
    for (const Atom& a : list) values.push_back(atom(a, frame, location));
    return values;
  }

  // ---- operations

  Value operation(const Binding& b, Frame& frame) {
    auto value = [&](const Atom& a) { return atom(a, frame, b.location); };
    return std::visit(
        overloaded{
            [&](const Call& x) { return call(b, x, frame); },
            [&](const CallTensor& x) { return run(definitions_.of(x), arguments(x, frame, b.location)); },
            [&](const MakeTuple& x) { return Value{.fields = atoms(x.fields, frame, b.location), .is_tuple = true}; },
            [&](const Project& x) { return value(x.tuple).fields.at(static_cast<size_t>(x.index)); },
            [&](const If& x) { return std::get<Value>(block(taken(x, frame, b.location), frame, false)); },
            [&](const Alias& x) { return value(x.value); },
            [&](const MakeFunction& x) { return Value{.function = &*x.function}; },
            [&](const Match&) -> Value { unsupported(b.location, "'match'"); },
            [&](const RefCreate&) -> Value { unsupported(b.location, "a reference"); },
            [&](const RefRead&) -> Value { unsupported(b.location, "a reference"); },
            [&](const RefWrite&) -> Value { unsupported(b.location, "a reference"); },
            [&](const MatchCast& x) {
              Value v = value(x.value);
              const TensorType* t = as<TensorType>(x.type);
              if (t && !frame.sizes.match(*t, v.tensor.shape())) throw Stopped{tensor::Status::shape_mismatch};
              return v;
            },
            [&](const DefineSizes& x) {
              const Constant elements = value(x.value).tensor;
              for (size_t k = 0; k < x.symbols.size(); ++k) {
                const int64_t size = elements.integer_at(static_cast<int64_t>(k));
                const auto most = frame.sizes.value_of(x.most[k]);
                if (most && size > *most) throw Stopped{tensor::Status::capacity_exceeded};
                if (!frame.sizes.define(x.symbols[k], size)) throw Stopped{tensor::Status::dimension_out_of_range};
              }
              return Value{.is_tuple = true};
            },
        },
        b.op);
  }

  Value call(const Binding& b, const Call& x, const Frame& frame) {
    const OperatorRef* op = std::get_if<OperatorRef>(&x.callee);
    if (!op) return call({callee(x, frame, b.location), atoms(x.args, frame, b.location)}, b.location);
    std::vector<Value> args = atoms(x.args, frame, b.location);
    std::vector<Constant> operands = tensors(op->op->variadic ? args.at(0).fields : args);
    const tensor::CompiledKernel& definition = definitions_.of(*op->op, x, b.var->type, operands, frame.sizes);
    return run(definition, operands);
  }

  // The operands of a call and the values of the function's symbols.
  std::vector<Constant> arguments(const CallTensor& x, const Frame& frame, const SourceLocation& location) {
    std::vector<Constant> list = tensors(atoms(x.args, frame, location));
    const tensor::TensorFunction& f = module_.tensor_functions.at(x.function);
    ActualSizes own;
    for (size_t k = 0; k < f.params.size(); ++k) own.match({f.params[k]->shape, f.params[k]->type}, list[k].shape());
    for (const Symbol& s : tensor::symbols_of(f)) {
      std::optional<int64_t> size = own.value_of(Dim::symbol(s));
      if (!size) size = frame.sizes.value_of(Dim::symbol(s));
      if (!size) unsupported(location, fmt::format("a call of @{} with an unknown size '{}'", x.function, s.name));
      list.push_back(Constant::of<int64_t>(dtype::i64, {}, {*size}));
    }
    return list;
  }

  static Value run(const tensor::CompiledKernel& definition, const std::vector<Constant>& args) {
    tensor::EvaluationResult r = definition.run(args);
    if (r.status != tensor::Status::ok) throw Stopped{r.status};
    if (r.results.size() == 1) return {.tensor = r.results[0]};
    Value tuple{.is_tuple = true};
    for (Constant& c : r.results) tuple.fields.push_back({.tensor = std::move(c)});
    return tuple;
  }

  static std::vector<Constant> tensors(const std::vector<Value>& values) {
    std::vector<Constant> list;
    for (const Value& v : values) list.push_back(v.tensor);
    return list;
  }

  static void flatten(const Value& v, std::vector<Constant>& list) {
    if (!v.is_tuple) list.push_back(v.tensor);
    for (const Value& f : v.fields) flatten(f, list);
  }

  [[noreturn]] void unsupported(const SourceLocation& location, const std::string& what) {
    diagnostics_.error(DiagnosticId::unsupported_construct, location, what + " cannot be evaluated");
    throw Stopped{};
  }

  const Module& module_;
  Definitions definitions_;
  Diagnostics& diagnostics_;
  int depth_ = 0;
};

}  // namespace

std::optional<tensor::EvaluationResult> evaluate(const Module& module, std::span<const Constant> args,
                                                 tensor::Precision precision, Diagnostics& diagnostics) {
  try {
    return tensor::EvaluationResult{tensor::Status::ok, Evaluator(module, precision, diagnostics).run(args)};
  } catch (const Stopped& s) {
    if (s.status == tensor::Status::ok) return std::nullopt;
    return tensor::EvaluationResult{s.status, {}};
  }
}

}  // namespace dlcc::relay
