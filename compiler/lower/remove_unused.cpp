#include "lower/remove_unused.h"

#include <map>
#include <set>

#include "lower/walk.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

// Removes copies and kernel calls whose only results are temporaries that no other step reads.
class UnreadRemover {
 public:
  UnreadRemover(const Program& program, Function& f) : program_(program), function_(f) {}

  void run() {
    do {
      read_.clear();
      is_changed_ = false;
      for_each_step(function_.body, [&](const Step& step) { note_reads(step); });
      remove_from(function_.body);
    } while (is_changed_);
  }

 private:
  ValueId base_of(ValueId v) const {
    const Value& value = function_.values[static_cast<size_t>(v)];
    return value.storage == Storage::view ? value.base : v;
  }

  const tensor::Kernel& kernel_of(const Invoke& call) const {
    return program_.kernels[static_cast<size_t>(call.kernel)].variants[0];
  }

  void note_reads(const Step& step) {
    if (const auto* copy = std::get_if<Copy>(&step)) {
      read_.insert(base_of(copy->from));
    } else if (const auto* call = std::get_if<Invoke>(&step)) {
      for (size_t k = 0; k < call->operands.size(); ++k)
        if (kernel_of(*call).params[k].access == tensor::Access::read) read_.insert(base_of(call->operands[k]));
    } else {
      for_each_value(step, [&](ValueId v) { read_.insert(base_of(v)); });
    }
  }

  bool is_unread(ValueId v) const {
    const ValueId base = base_of(v);
    return function_.values[static_cast<size_t>(base)].storage == Storage::temporary && !read_.contains(base);
  }

  bool is_unused(const Step& step) const {
    if (const auto* copy = std::get_if<Copy>(&step)) return is_unread(copy->to);
    const auto* call = std::get_if<Invoke>(&step);
    if (!call || tensor::can_fail(kernel_of(*call))) return false;
    bool unread = true;
    for (size_t k = 0; k < call->operands.size(); ++k)
      unread &= kernel_of(*call).params[k].access != tensor::Access::write || is_unread(call->operands[k]);
    return unread;
  }

  void remove_from(Region& region) {
    is_changed_ |= std::erase_if(region.steps, [&](const Step& step) { return is_unused(step); }) > 0;
    for (Step& step : region.steps) {
      if (auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) {
        remove_from((*branch)->then_region);
        remove_from((*branch)->else_region);
      }
      if (auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) remove_from((*loop)->body);
    }
  }

  const Program& program_;
  Function& function_;
  std::set<ValueId> read_;  // the memory of values that steps read
  bool is_changed_ = false;
};

// The live scalars: those in kernel calls, stores, requirements, conditions, sizes and the offsets of views, and those
// from which other live scalars are computed.
class UsedScalars {
 public:
  explicit UsedScalars(const Program& program) {
    for_each_function(program, [&](const Function& f) {
      for (const Value& v : f.values) visit(v);
      for_each_step(f.body, [&](const Step& step) { visit(step); });
    });
    while (!work_.empty()) {
      tensor::Var v = std::move(work_.back());
      work_.pop_back();
      for (const tensor::Expr& e : definitions_[v]) use(e);
    }
  }

  bool contains(const tensor::Var& v) const { return used_.contains(v); }

 private:
  void use(const tensor::Expr& e) {
    if (!e) return;
    tensor::for_each_expr(e, [&](const tensor::Expr& part) {
      const auto* ref = tensor::as<tensor::VarRef>(part);
      if (ref && used_.insert(ref->var).second) work_.push_back(ref->var);
    });
  }

  void visit(const Value& v) {
    use(v.begin);
    for (const Symbol& s : v.bytes.symbols()) use(tensor::symbol_var(s));
    for (const Dim& d : v.shape)
      for (const Symbol& s : d.symbols()) use(tensor::symbol_var(s));
  }

  void visit(const Step& step) {
    if (const auto* compute = std::get_if<Compute>(&step)) {
      definitions_[compute->result] = {compute->value};
    } else if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) {
      use((*branch)->condition);
      for (const Branch::Merge& m : (*branch)->merges) definitions_[m.result] = {m.then_value, m.else_value};
    } else if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) {
      use((*loop)->condition);
      for (const Loop::Carried& c : (*loop)->carried) definitions_[c.var] = {c.initial, c.next};
    } else {
      for_each_scalar_expr(step, [&](const tensor::Expr& e) { use(e); });
    }
  }

  std::set<tensor::Var> used_;
  std::vector<tensor::Var> work_;
  std::map<tensor::Var, std::vector<tensor::Expr>> definitions_;
};

void remove_unused_scalars(Region& region, const UsedScalars& used) {
  std::erase_if(region.steps, [&](const Step& step) {
    const auto* compute = std::get_if<Compute>(&step);
    const auto* read = std::get_if<Read>(&step);
    return (compute && !used.contains(compute->result)) || (read && !used.contains(read->result));
  });
  for (Step& step : region.steps) {
    if (auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) {
      std::erase_if((*branch)->merges, [&](const Branch::Merge& m) { return !used.contains(m.result); });
      remove_unused_scalars((*branch)->then_region, used);
      remove_unused_scalars((*branch)->else_region, used);
    }
    if (auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) {
      std::erase_if((*loop)->carried, [&](const Loop::Carried& c) { return !used.contains(c.var); });
      remove_unused_scalars((*loop)->test, used);
      remove_unused_scalars((*loop)->body, used);
    }
  }
}

// The values that inputs, outputs and steps refer to, and their bases.
std::set<ValueId> used_values(Function& f) {
  std::set<ValueId> used(f.inputs.begin(), f.inputs.end());
  used.insert(f.outputs.begin(), f.outputs.end());
  for_each_value(f.body, [&](ValueId& id) { used.insert(id); });
  for (ValueId v : std::set(used))
    if (f.values[static_cast<size_t>(v)].base >= 0) used.insert(f.values[static_cast<size_t>(v)].base);
  return used;
}

// The values of a function are numbered in their order. Returns their new numbers.
std::map<ValueId, ValueId> remove_unused_values(Function& f) {
  std::map<ValueId, ValueId> renumbered;
  std::vector<Value> values;
  for (ValueId v : used_values(f)) {
    renumbered[v] = static_cast<ValueId>(values.size());
    values.push_back(std::move(f.values[static_cast<size_t>(v)]));
  }
  for (Value& v : values)
    if (v.base >= 0) v.base = renumbered.at(v.base);
  for (ValueId& v : f.inputs) v = renumbered.at(v);
  for (ValueId& v : f.outputs) v = renumbered.at(v);
  for_each_value(f.body, [&](ValueId& id) { id = renumbered.at(id); });
  f.values = std::move(values);
  return renumbered;
}

void remove_unused_constants(Program& program) {
  std::map<int, int> renumbered;
  std::vector<Constant> constants;
  for_each_function(program, [&](Function& f) {
    for (Value& v : f.values) {
      if (v.storage != Storage::constant) continue;
      auto [it, is_new] = renumbered.emplace(v.index, static_cast<int>(constants.size()));
      if (is_new) constants.push_back(program.constants[static_cast<size_t>(v.index)]);
      v.index = it->second;
    }
  });
  program.constants = std::move(constants);
}

void remove_unused_kernels(Program& program) {
  std::map<int, int> renumbered;
  std::vector<KernelVariants> kernels;
  for_each_function(program, [&](Function& f) {
    for_each_call(f.body, [&](Invoke& call) {
      auto [it, is_new] = renumbered.emplace(call.kernel, static_cast<int>(kernels.size()));
      if (is_new) kernels.push_back(std::move(program.kernels[static_cast<size_t>(call.kernel)]));
      call.kernel = it->second;
    });
  });
  program.kernels = std::move(kernels);
}

}  // namespace

void remove_unused(Program& program) {
  for_each_function(program, [&](Function& f) { UnreadRemover(program, f).run(); });
  const UsedScalars used(program);
  for_each_function(program, [&](Function& f) {
    remove_unused_scalars(f.body, used);
    const std::map<ValueId, ValueId> renumbered = remove_unused_values(f);
    if (&f == &program) for_each_value(program.entry, [&](ValueId& id) { id = renumbered.at(id); });
  });
  remove_unused_constants(program);
  remove_unused_kernels(program);
}

}  // namespace dlcc::lower
