#include "relay/differentiate.h"

#include <map>
#include <set>
#include <utility>

#include "relay/call_gradient.h"

namespace dlcc::relay {

namespace {

std::vector<Type> leaves_of(const Type& type) {
  std::vector<Type> leaves;
  for_each_field(type, [&](const Type& leaf) { leaves.push_back(leaf); });
  return leaves;
}

bool is_real(const Type& leaf) {
  const auto* t = as<TensorType>(leaf);
  return t && is_float(t->dtype) && bits(t->dtype) >= 16;
}

// Whether values of the type can lead to a gradient: tensors of floats do, and what may hold or return them.
bool may_have_gradient(const Type& type) {
  bool may = false;
  for_each_field(type, [&](const Type& leaf) { may = may || is_real(leaf) || !as<TensorType>(leaf); });
  return may;
}

// Calls `visit` for all atoms of the operation, those of nested blocks included.
template <class Visit>
void for_each_atom_within(const Operation& op, const Visit& visit) {
  for_each_atom(op, visit);
  for_each_block(op, [&](const Block& block) {
    for (const Binding& b : block.bindings) for_each_atom_within(b.op, visit);
    visit(block.result);
  });
}

class Differentiation {
 public:
  explicit Differentiation(Module& module) : module_(module), code_(module) {}

  std::optional<Gradients> run(std::span<const Binding> bindings, const std::vector<Atom>& results,
                               const std::vector<Var>& variables, const SourceLocation& location,
                               Diagnostics& diagnostics) {
    for (const Var& x : variables) active_.insert(x->id);
    mark(bindings);
    code_.location = location;
    try {
      for (const Atom& result : results) {
        const std::vector<Type> leaves = leaves_of(type_of(module_, result));
        for (size_t k = 0; k < leaves.size(); ++k)
          if (is_active(result) && is_real(leaves[k])) add(result, k, filled(leaves[k], 1));
      }
      backward(bindings);
      code_.location = location;
      Gradients gradients;
      for (const Var& x : variables) gradients.of.push_back(gradient_of(x, 0).atom());
      gradients.bindings = std::move(code_.bindings());
      return gradients;
    } catch (NoGradient& none) {
      diagnostics.error(DiagnosticId::unsupported_operator, code_.location,
                        "its gradient is not computed: " + none.reason, {}, none.help);
      return std::nullopt;
    }
  }

 private:
  // Leaf k of a value is a tensor: the value itself, or one of the fields of a tuple at any depth.
  using Leaves = std::vector<std::optional<Term>>;

  // ---- forward: what depends on the variables

  bool is_active(const Atom& atom) const {
    const Var* var = std::get_if<Var>(&atom);
    return var && active_.contains((*var)->id);
  }

  void mark(std::span<const Binding> bindings) {
    for (const Binding& b : bindings) {
      bool depends = false;
      for_each_atom_within(b.op, [&](const Atom& a) { depends = depends || is_active(a); });
      if (depends && may_have_gradient(b.var->type)) active_.insert(b.var->id);
      if (const auto* tuple = std::get_if<MakeTuple>(&b.op)) tuples_[b.var->id] = tuple->fields;
    }
  }

  // ---- gradients so far

  Term filled(const Type& leaf, double value) {
    const auto& t = *as<TensorType>(leaf);
    return code_.full(t.shape, t.dtype, value);
  }

  void add(const Atom& atom, size_t leaf, const Term& gradient) {
    if (!is_active(atom)) return;
    const Var& var = std::get<Var>(atom);
    const std::vector<Type> types = leaves_of(var->type);
    if (!is_real(types.at(leaf))) return;
    Leaves& leaves = gradients_[var->id];
    leaves.resize(types.size());
    const Term fitting = code_.checked(gradient, *as<TensorType>(types[leaf]));
    leaves[leaf] = leaves[leaf] ? *leaves[leaf] + fitting : fitting;
  }
  void add(const Atom& atom, size_t first, const Leaves& gradients) {
    for (size_t k = 0; k < gradients.size(); ++k)
      if (gradients[k]) add(atom, first + k, *gradients[k]);
  }

  Term gradient_of(const Var& var, size_t leaf) {
    const auto known = gradients_.find(var->id);
    if (known != gradients_.end() && known->second[leaf]) return *known->second[leaf];
    return filled(leaves_of(var->type)[leaf], 0);
  }

  // ---- backward

  void backward(std::span<const Binding> bindings) {
    for (size_t k = bindings.size(); k-- > 0;) {
      const Binding& b = bindings[k];
      const auto known = gradients_.find(b.var->id);
      if (known == gradients_.end()) continue;
      const Leaves gradients = std::move(known->second);
      gradients_.erase(known);
      code_.location = b.location;
      through(b, gradients);
    }
  }

  void through(const Binding& b, const Leaves& gradients) {
    if (const auto* call = std::get_if<Call>(&b.op)) return through_call(b.var, *call, gradients);
    if (const auto* branch = std::get_if<If>(&b.op)) return through_if(*branch, gradients);
    if (const auto* alias = std::get_if<Alias>(&b.op)) return add(alias->value, 0, gradients);
    if (const auto* cast = std::get_if<MatchCast>(&b.op)) return add(cast->value, 0, gradients);
    if (const auto* project = std::get_if<Project>(&b.op)) {
      const auto& fields = as<TupleType>(type_of(module_, project->tuple))->fields;
      size_t first = 0;
      for (int k = 0; k < project->index; ++k) first += leaves_of(fields[static_cast<size_t>(k)]).size();
      return add(project->tuple, first, gradients);
    }
    if (const auto* tuple = std::get_if<MakeTuple>(&b.op)) {
      auto next = gradients.begin();
      for (const Atom& field : tuple->fields) {
        const auto end = next + static_cast<ptrdiff_t>(leaves_of(type_of(module_, field)).size());
        add(field, 0, Leaves(next, end));
        next = end;
      }
      return;
    }
    if (std::holds_alternative<CallTensor>(b.op)) throw NoGradient{"it is a tensor function", ""};
    if (std::holds_alternative<Match>(b.op)) throw NoGradient{"it is a match", ""};
    throw NoGradient{"it has effects", ""};
  }

  // ---- operators

  // The tensors of a value: it is one, or a tuple of them.
  std::vector<CallGradient::Slot> slots_of(const Atom& atom) const {
    const Type type = type_of(module_, atom);
    if (const auto* t = as<TensorType>(type)) return {{.atom = atom, .type = *t, .wanted = is_active(atom)}};
    std::vector<CallGradient::Slot> slots;
    for (const Type& field : as<TupleType>(type)->fields)
      slots.push_back({.atom = atom,
                       .type = *as<TensorType>(field),
                       .field = static_cast<int>(slots.size()),
                       .wanted = is_active(atom)});
    return slots;
  }

  // The operands, those of a variadic operator taken out of their tuple.
  std::vector<CallGradient::Slot> operands_of(const Operator& op, const Call& call) const {
    std::vector<Atom> args = call.args;
    const Var* packed = op.variadic ? std::get_if<Var>(&args.at(0)) : nullptr;
    if (const auto known = packed ? tuples_.find((*packed)->id) : tuples_.end(); known != tuples_.end())
      args = known->second;
    std::vector<CallGradient::Slot> operands;
    for (const Atom& arg : args)
      for (CallGradient::Slot& slot : slots_of(arg)) operands.push_back(std::move(slot));
    return operands;
  }

  void through_call(const Var& var, const Call& call, const Leaves& gradients) {
    const auto* callee = std::get_if<OperatorRef>(&call.callee);
    if (!callee && std::holds_alternative<Var>(call.callee))
      throw NoGradient{"it is a loop, or calls a local function", "differentiate what is before it or after it"};
    if (!callee) throw NoGradient{"it calls a function", "run the pass inline-functions before"};
    const Operator& op = *callee->op;
    if (!op.gradient) throw NoGradient{fmt::format("{} has no rule for it", op.name), ""};
    std::vector<CallGradient::Slot> results = slots_of(var);
    for (size_t k = 0; k < results.size(); ++k) results[k].gradient = gradients[k];
    const CallGradient::Through follow = [this](const std::vector<Binding>& calls, const std::vector<Term>& ends,
                                                const std::vector<Term>& of_ends) {
      mark(calls);
      for (size_t k = 0; k < ends.size(); ++k) add(ends[k].atom(), 0, of_ends[k]);
      backward(calls);
    };
    CallGradient rule(code_, call, operands_of(op, call), std::move(results), follow);
    op.gradient(call.attrs, !op.values.empty() && call.args.size() > op.arguments.size(), rule);
    for (const CallGradient::Slot& slot : rule.operands())
      if (slot.gradient) add(slot.atom, static_cast<size_t>(std::max(slot.field, 0)), *slot.gradient);
  }

  // ---- branches

  struct Read {
    Var var;
    size_t leaf;
  };

  // The tensors that depend on the variables and that the branches read.
  std::vector<Read> tensors_read(const If& branch) {
    std::vector<Read> reads;
    std::set<int> seen;
    for_each_atom_within(branch, [&](const Atom& atom) {
      if (!is_active(atom) || !seen.insert(std::get<Var>(atom)->id).second) return;
      const Var& var = std::get<Var>(atom);
      if (defined_within(branch, var)) return;
      const std::vector<Type> leaves = leaves_of(var->type);
      for (size_t k = 0; k < leaves.size(); ++k) {
        if (!as<TensorType>(leaves[k])) throw NoGradient{"a branch reads a function or data", ""};
        if (is_real(leaves[k])) reads.push_back({var, k});
      }
    });
    return reads;
  }

  static bool defined_within(const Operation& op, const Var& var) {
    bool found = false;
    for_each_block(op, [&](const Block& block) {
      for (const Binding& b : block.bindings) found = found || b.var == var || defined_within(b.op, var);
    });
    return found;
  }

  // Whether the value may have the shapes of the gradients. That of a branch has not if the condition is known and
  // selects the other one.
  bool may_have_types(const Atom& value, const Leaves& gradients) const {
    const std::vector<Type> types = leaves_of(type_of(module_, value));
    for (size_t k = 0; k < types.size(); ++k)
      if (gradients[k] && !may_be_equal(as<TensorType>(types[k])->shape, gradients[k]->shape())) return false;
    return true;
  }

  // A branch of the `if` for the gradients: the operations of the branch, and those of the gradients of what it reads.
  Block differentiated(const Block& branch, const std::vector<Read>& reads, const Leaves& gradients) {
    std::map<int, Atom> renamed;
    const Block copy = clone(module_, branch, renamed);
    std::vector<Binding> outer = std::exchange(code_.bindings(), copy.bindings);
    std::map<int, Leaves> outer_gradients = std::exchange(gradients_, {});
    mark(copy.bindings);
    if (may_have_types(copy.result, gradients)) add(copy.result, 0, gradients);
    backward(copy.bindings);
    std::vector<Atom> results;
    std::vector<Type> types;
    for (const Read& read : reads) {
      results.push_back(gradient_of(read.var, read.leaf).atom());
      types.push_back(type_of(module_, results.back()));
    }
    const Var tuple = code_.emit(MakeTuple{std::move(results)}, tuple_type(std::move(types)));
    gradients_ = std::move(outer_gradients);
    return {std::exchange(code_.bindings(), std::move(outer)), tuple};
  }

  void through_if(const If& branch, const Leaves& gradients) {
    const SourceLocation location = code_.location;
    const std::vector<Read> reads = tensors_read(branch);
    Block then_block = differentiated(*branch.then_block, reads, gradients);
    code_.location = location;
    Block else_block = differentiated(*branch.else_block, reads, gradients);
    code_.location = location;
    const Type type = type_of(module_, then_block.result);
    const Var all = code_.emit(If{branch.condition, std::move(then_block), std::move(else_block)}, type);
    for (size_t k = 0; k < reads.size(); ++k) {
      const Type& field = as<TupleType>(type)->fields[k];
      add(reads[k].var, reads[k].leaf, code_.term(code_.emit(Project{all, static_cast<int>(k)}, field)));
    }
  }

  Module& module_;
  GradientCode code_;
  std::set<int> active_;                     // by variable: whether it depends on those of run()
  std::map<int, std::vector<Atom>> tuples_;  // fields of variables that are known tuples
  std::map<int, Leaves> gradients_;          // by variable, of those whose operation is still to come
};

}  // namespace

std::optional<Gradients> differentiate(Module& module, std::span<const Binding> bindings,
                                       const std::vector<Atom>& results, const std::vector<Var>& variables,
                                       const SourceLocation& location, Diagnostics& diagnostics) {
  return Differentiation(module).run(bindings, results, variables, location, diagnostics);
}

}  // namespace dlcc::relay
