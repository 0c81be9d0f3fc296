#include "relay/evaluate.h"

#include <map>

#include "relay/operator.h"

namespace dlcc::relay {
namespace {

struct Value {
  Constant tensor;
  std::vector<Value> fields;
  bool is_tuple = false;
};

struct Stopped {  // thrown to leave the evaluation: with a status, or after a diagnostic
  tensor::Status status = tensor::Status::ok;
};

class Evaluator {
 public:
  Evaluator(const Module& module, tensor::Precision precision, Diagnostics& diagnostics, const Observer& observer)
      : module_(module), precision_(precision), diagnostics_(diagnostics), observer_(observer) {}

  std::vector<Constant> run(std::span<const Constant> args) {
    const Function& main = module_.functions.at("main");
    std::vector<Value> values;
    for (const Constant& a : args) values.push_back({a, {}, false});
    std::vector<Constant> results;
    flatten(call_function(main, values), results);
    return results;
  }

 private:
  using Environment = std::map<int, Value>;

  Value call_function(const Function& f, const std::vector<Value>& args) {
    Environment env;
    for (size_t k = 0; k < f.params.size(); ++k) env[f.params[k]->id] = args[k];
    return block(f.body, env);
  }

  Value block(const Block& b, Environment env) {
    for (const Binding& binding : b.bindings) {
      Value v = operation(binding, env);
      if (observer_) {
        std::vector<Constant> tensors;
        flatten(v, tensors);
        observer_(binding, tensors);
      }
      env[binding.var->id] = std::move(v);
    }
    return atom(b.result, env, {});
  }

  Value atom(const Atom& a, const Environment& env, const SourceLocation& location) {
    if (const Var* v = std::get_if<Var>(&a)) return env.at((*v)->id);
    if (const Constant* c = std::get_if<Constant>(&a)) return {*c, {}, false};
    unsupported(location, "a function as a value");
  }

  Value operation(const Binding& b, const Environment& env) {
    auto all = [&](const std::vector<Atom>& atoms) {
      std::vector<Value> values;
      for (const Atom& a : atoms) values.push_back(atom(a, env, b.location));
      return values;
    };
    return std::visit(
        overloaded{
            [&](const Call& x) {
              if (const OperatorRef* op = std::get_if<OperatorRef>(&x.callee))
                return apply(*op->op, x.attrs, all(x.args));
              const GlobalRef* callee = std::get_if<GlobalRef>(&x.callee);
              if (!callee) unsupported(b.location, "a call of a function value");
              if (++depth_ > 1000) unsupported(b.location, "recursion deeper than 1000 calls");
              Value v = call_function(module_.functions.at(callee->name), all(x.args));
              --depth_;
              return v;
            },
            [&](const CallTensor& x) { return apply(module_.tensor_functions.at(x.function), all(x.args)); },
            [&](const MakeTuple& x) {
              return Value{{}, all(x.fields), true};
            },
            [&](const Project& x) { return atom(x.tuple, env, b.location).fields.at(static_cast<size_t>(x.index)); },
            [&](const If& x) {
              bool taken = atom(x.condition, env, b.location).tensor.integer_at(0) != 0;
              return block(taken ? *x.then_block : *x.else_block, env);
            },
            [&](const Alias& x) { return atom(x.value, env, b.location); },
            [&](const Match&) -> Value { unsupported(b.location, "'match'"); },
            [&](const MakeFunction&) -> Value { unsupported(b.location, "a closure"); },
            [&](const RefCreate&) -> Value { unsupported(b.location, "a reference"); },
            [&](const RefRead&) -> Value { unsupported(b.location, "a reference"); },
            [&](const RefWrite&) -> Value { unsupported(b.location, "a reference"); },
            [&](const MatchCast&) -> Value { unsupported(b.location, "a check of symbolic dimensions"); },
        },
        b.op);
  }

  Value apply(const Operator& op, const Attrs& attrs, const std::vector<Value>& args) {
    std::vector<Value> operands = op.variadic ? args.at(0).fields : args;
    Operands types;
    for (const Value& v : operands) types.push_back({shape_of(v.tensor.shape()), v.tensor.dtype()});
    return apply(op.compute(attrs, types), operands);
  }

  Value apply(const tensor::TensorFunction& f, const std::vector<Value>& args) {
    std::vector<Constant> tensors;
    for (const Value& v : args) tensors.push_back(v.tensor);
    tensor::EvaluationResult r = tensor::evaluate(f, tensors, precision_);
    if (r.status != tensor::Status::ok) throw Stopped{r.status};
    if (r.results.size() == 1) return {r.results[0], {}, false};
    Value tuple{{}, {}, true};
    for (Constant& c : r.results) tuple.fields.push_back({std::move(c), {}, false});
    return tuple;
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
  tensor::Precision precision_;
  Diagnostics& diagnostics_;
  const Observer& observer_;
  int depth_ = 0;
};

}  // namespace

std::optional<tensor::EvaluationResult> evaluate(const Module& module, std::span<const Constant> args,
                                                 tensor::Precision precision, Diagnostics& diagnostics,
                                                 const Observer& observer) {
  try {
    return tensor::EvaluationResult{tensor::Status::ok, Evaluator(module, precision, diagnostics, observer).run(args)};
  } catch (const Stopped& s) {
    if (s.status == tensor::Status::ok) return std::nullopt;
    return tensor::EvaluationResult{s.status, {}};
  }
}

}  // namespace dlcc::relay
