// Evaluates operations on constants by the operators' definitions, replaces projections of known tuples, and replaces
// an `if` with known condition by its branch. A result much larger than its operands is not folded: a large tensor that
// depends on a small operand costs less to compute than to store.
#include <algorithm>
#include <set>
#include <span>

#include "relay/call_type.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "relay/types_in.h"
#include "tensor/analysis.h"
#include "tensor/evaluate.h"
#include "tensor/visit.h"

namespace dlcc::relay {

namespace {

// Results of at most so many bytes are folded whatever the operands' size.
constexpr int64_t always_stored = 64 << 10;
// Most elements of a result that is computed from shapes only.
constexpr int64_t max_shape_elements = 64;

class Folder {
 public:
  // Without `only`, any operation on constants is replaced by its value, else those that have these variables.
  explicit Folder(Module& module, const std::set<int>* only = nullptr) : module_(module), only_(only) {}

  // The variables of the operations on constants that were replaced by their values.
  const std::vector<int>& evaluated() const { return evaluated_; }

  void run(Block& block) {
    std::vector<Binding> kept;
    kept.reserve(block.bindings.size());
    fold(std::move(block.bindings), kept);
    known_.apply(block.result);
    block.bindings = std::move(kept);
  }

 private:
  void fold(std::vector<Binding> bindings, std::vector<Binding>& kept) {
    for (Binding& b : bindings) {
      known_.apply(b.op);
      if (Block* taken = known_branch(b)) {
        take_branch(b.var, *taken, kept);
        continue;
      }
      for_each_block(b.op, [&](Block& inner) { run(inner); });
      if (std::optional<Atom> atom = known_value(b)) {
        known_.add(b.var, std::move(*atom));
        continue;
      }
      const bool is_allowed = !only_ || only_->contains(b.var->id);
      if (std::optional<std::vector<Constant>> results = is_allowed ? evaluate(b.op) : std::nullopt) {
        evaluated_.push_back(b.var->id);
        bool single = as<TensorType>(b.var->type) != nullptr;
        if (single) {
          known_.add(b.var, (*results)[0]);
          continue;
        }
        b.op = MakeTuple{std::vector<Atom>(results->begin(), results->end())};
      }
      if (const MakeTuple* tuple = std::get_if<MakeTuple>(&b.op)) tuples_[b.var->id] = tuple->fields;
      values_.learn(module_, b);
      if (std::optional<Constant> constant = known_constant(b)) {
        known_.add(b.var, std::move(*constant));
        continue;
      }
      kept.push_back(std::move(b));
    }
  }

  // The branch that an `if` with a known condition takes. Null if the `if` defines sizes, which other operations name.
  Block* known_branch(Binding& b) const {
    If* branch = std::get_if<If>(&b.op);
    const Constant* condition = branch ? std::get_if<Constant>(&branch->condition) : nullptr;
    if (!condition) return nullptr;
    Block& taken = condition->integer_at(0) ? *branch->then_block : *branch->else_block;
    return same_type(type_of(module_, taken.result), b.var->type) ? &taken : nullptr;
  }

  // Replaces the `if` by the branch's bindings.
  void take_branch(const Var& var, Block& taken, std::vector<Binding>& kept) {
    fold(std::move(taken.bindings), kept);
    known_.apply(taken.result);
    known_.add(var, taken.result);
  }

  // The atom that equals the operation's value, if there is one.
  std::optional<Atom> known_value(const Binding& b) const {
    if (const Alias* alias = std::get_if<Alias>(&b.op)) return alias->value;
    if (const MatchCast* cast = std::get_if<MatchCast>(&b.op))
      if (same_type(type_of(module_, cast->value), cast->type)) return cast->value;
    const Project* project = std::get_if<Project>(&b.op);
    const Var* tuple = project ? std::get_if<Var>(&project->tuple) : nullptr;
    auto it = tuple ? tuples_.find((*tuple)->id) : tuples_.end();
    return it == tuples_.end() ? std::nullopt : std::optional(it->second[project->index]);
  }

  // The value of shape arithmetic, which may be known although sizes are symbolic.
  std::optional<Constant> known_constant(const Binding& b) const {
    const TensorType* t = as<TensorType>(b.var->type);
    const KnownValue value = t && std::holds_alternative<Call>(b.op) ? values_.of(b.var) : nullptr;
    return value && value->is_constant() ? std::optional(tensor::constant_of(t->dtype, *value)) : std::nullopt;
  }

  // ---- evaluation

  std::optional<std::vector<Constant>> evaluate(const Operation& op) const {
    if (const CallTensor* call = std::get_if<CallTensor>(&op)) {
      auto it = module_.tensor_functions.find(call->function);
      bool dense = std::ranges::all_of(call->layouts, [](const tensor::Layout& l) { return l.is_dense(); });
      if (it == module_.tensor_functions.end() || !dense) return std::nullopt;
      return evaluate([&] { return it->second; }, call->args, result_types(it->second));
    }
    const Call* call = std::get_if<Call>(&op);
    const OperatorRef* o = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
    if (!o || !o->op->has_definition()) return std::nullopt;
    std::vector<Atom> args = call->args;
    if (o->op->variadic) {
      const Var* tuple = std::get_if<Var>(&call->args[0]);
      auto it = tuple ? tuples_.find((*tuple)->id) : tuples_.end();
      if (it == tuples_.end()) return std::nullopt;
      args = it->second;
    }
    Operands operands;
    for (const Atom& a : args) {
      Type type = type_of(module_, a);
      const TensorType* t = as<TensorType>(type);
      if (!t || !is_static(t->shape)) return std::nullopt;
      operands.push_back(*t);
    }
    TypeResult type = o->op->type(call->attrs, operands);
    if (!std::holds_alternative<Type>(type)) return std::nullopt;
    return evaluate([&] { return o->op->compute(call->attrs, operands); }, args, fields_of(std::get<Type>(type)));
  }

  static std::vector<Type> fields_of(const Type& type) {
    const TupleType* tuple = as<TupleType>(type);
    return tuple ? tuple->fields : std::vector{type};
  }
  static std::vector<Type> result_types(const tensor::TensorFunction& f) {
    std::vector<Type> types;
    for (const tensor::Buffer& b : f.results) types.push_back(tensor_type(b->shape, b->type));
    return types;
  }

  template <class Define>
  std::optional<std::vector<Constant>> evaluate(Define define, const std::vector<Atom>& args,
                                                const std::vector<Type>& types) const {
    int64_t operand_bytes = 0, result_bytes = 0, result_count = 0;
    bool constant = true;
    for (const Atom& a : args) {
      const Constant* c = std::get_if<Constant>(&a);
      constant &= c != nullptr;
      if (c) operand_bytes += static_cast<int64_t>(c->bytes().size());
    }
    for (const Type& type : types) {
      const TensorType* t = as<TensorType>(type);
      std::optional<int64_t> count = t && is_static(t->shape) ? product(t->shape).constant() : std::nullopt;
      if (!count || *count > tensor::max_elements) return std::nullopt;
      result_count += *count;
      result_bytes += storage_bytes(t->dtype, *count);
    }
    if (result_bytes > std::max(always_stored, 2 * operand_bytes)) return std::nullopt;
    if (!constant && result_count > max_shape_elements) return std::nullopt;
    return run_definition(define(), args);
  }

  // Operands that the definition does not read (shape_of) need not be constants.
  static std::optional<std::vector<Constant>> run_definition(tensor::TensorFunction f, const std::vector<Atom>& args) {
    std::vector<Constant> values;
    std::vector<tensor::Buffer> params;
    for (size_t i = 0; i < args.size(); ++i) {
      if (const Constant* c = std::get_if<Constant>(&args[i])) {
        values.push_back(*c);
        params.push_back(f.params[i]);
      } else if (std::ranges::any_of(f.stages, [&](const tensor::Stage& s) { return reads(s, f.params[i]); })) {
        return std::nullopt;
      }
    }
    f.params = std::move(params);
    if (!tensor::symbols_of(f).empty()) return std::nullopt;  // its attributes are symbolic
    tensor::EvaluationResult result = tensor::evaluate(f, values);
    if (result.status != tensor::Status::ok) return std::nullopt;
    return std::move(result.results);
  }

  Module& module_;
  const std::set<int>* only_;
  std::vector<int> evaluated_;
  Replacements known_;
  KnownValues values_;
  std::map<int, std::vector<Atom>> tuples_;  // fields of variables that are known tuples
};

struct Folded {
  Module module;
  std::vector<int> evaluated;  // see Folder
};

Folded fold(Module module, const std::set<int>* only) {
  Folder folder(module, only);
  for (auto& [name, f] : module.functions) folder.run(f.body);
  return {std::move(module), folder.evaluated()};
}

// Adds to `values` those of `candidates` with which the module still has types. A list in which some cannot be added is
// halved, so that the module is inferred a logarithmic number of times for each of them.
void add_values(const Module& module, std::span<const int> candidates, std::set<int>& values) {
  if (candidates.empty()) return;
  std::set<int> more = values;
  more.insert(candidates.begin(), candidates.end());
  if (can_infer_types(fold(module, &more).module)) {
    values = std::move(more);
  } else if (const size_t half = candidates.size() / 2; half > 0) {
    add_values(module, candidates.first(half), values);
    add_values(module, candidates.subspan(half), values);
  }
}

}  // namespace

// Sizes become known where values do. Then an operation may be an error, as the addition of tensors that do not fit
// together, or a type more precise than its place allows, as that of a value in a reference. A value that leads to such
// an error is not folded: the error occurs when the operation is executed, if it ever is.
Module fold_constants(Module module, PassContext&) {
  Folded all = fold(module, nullptr);
  if (all.evaluated.empty() || can_infer_types(all.module)) return std::move(all.module);
  std::set<int> values;
  add_values(module, all.evaluated, values);
  return fold(std::move(module), &values).module;
}

}  // namespace dlcc::relay
