// The checker of storage plans: an abstract interpretation of the program (Cousot and Cousot, "Abstract
// Interpretation", POPL 1977) whose state is a map from bytes of memory to the value last written there.
//
// Rules
//   * Every temporary that a step uses is inside the arena, at a multiple of its alignment. The arena's alignment is a
//     multiple of every temporary's alignment.
//   * A view is inside its base, and the base is not a view. A view that begins at a scalar may have a base without
//     elements: no index is in range then, so that no step that uses the view is executed.
//   * A view that begins at a scalar may be anywhere in its base: a read of it finds the base's value in every byte, a
//     write leaves bytes undefined that held another value.
//   * A kernel's parameter has at most the bytes of its operand, and at most the alignment that is known of the
//     operand's address.
//   * A read finds its own value (or views of it) in every byte, on every path. The state after a branch is the
//     intersection of the states after its arms; loops are interpreted up to a fixed point. An arm is not taken if
//     the condition, or the sizes that the arm defines, are others at the sizes at which the program is interpreted. A
//     loop has no iteration if its first test fails at these sizes.
//   * A loop with a constant number of iterations, each of which writes the slice of a value at its counter, or at the
//     distance of its counter from the end, has written all of the value if no step of the loop reads it.
//   * A loop that counts from 0 by 1, and in each iteration writes the slice of a value at its counter, has written as
//     many slices of the value as the counter says after the loop. So if a later step of the same region defines a size
//     as the counter, and no step of the loop reads the value, the loop has defined this number of slices. Before each
//     write, the loop's condition or a requirement ensures that the memory of the value has the slice; an output has
//     memory for the largest sizes.
//   * Inputs and constants are never written. At the end, every byte of every output has been written.
//   * A call of a function reads the bytes of each operand and writes the bytes of each result; their sizes are the
//     function's. A result overlaps no other result, no operand and not the workspace; the workspace overlaps no
//     operand. The workspace is in the arena, large enough and aligned for the arena of the function. Its contents are
//     undefined after the call. The plan of each function is checked by the same rules, at sizes that it admits; no
//     other call is reached.
//   * An operand that a step writes or uses as scratch overlaps no other operand of the step. An operand of equal
//     address and size in a declared in-place pair may overlap. The contents of scratch are undefined after the step.
//
// A program with symbolic sizes is interpreted at several sizes. Then every temporary has memory of its own, and a
// write leaves all temporaries undefined that may alias the written one for any sizes (lower/alias_analysis.h). So
// disjointness of live temporaries is checked for all sizes; accesses are checked to be inside of their values, and
// values to fit the memory that the plan gives them, at these sizes.
#include "lower/check_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "lower/byte_owners.h"
#include "lower/check_slices.h"
#include "lower/instantiate.h"
#include "lower/largest_size.h"
#include "lower/sample_sizes.h"
#include "lower/value_addresses.h"
#include "lower/walk.h"
#include "support/parallel_for.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

using tensor::Access;

// Whether a call of the function at these sizes is possible: the sizes that it requires and those of its inputs are not
// negative.
bool admits(const Function& f, const Sizes& sizes) {
  auto is_natural = [&](const Dim& d) { return d.evaluate(sizes).value_or(0) >= 0; };
  return std::ranges::all_of(f.checked_sizes, is_natural) && std::ranges::all_of(f.inputs, [&](ValueId v) {
           return std::ranges::all_of(f.values[static_cast<size_t>(v)].shape, is_natural);
         });
}

class PlanChecker : ValueAddresses {
 public:
  // `function` is the program, or one of its functions, with static sizes; `functions` are the plans of the functions.
  // If the static sizes are an instance of symbolic ones, `sizes` has the values of the symbols; else `aliases` is
  // null.
  PlanChecker(const Program& program, const Function& function, const FunctionPlan& plan,
              const std::vector<FunctionPlan>& functions, const AliasAnalysis* aliases, const Sizes& sizes)
      : ValueAddresses(function, plan, aliases, sizes), program_(program), functions_(functions) {}

  void run() {
    for_each_function_call(function_.body, [&](const Call& call) { number_call(call); });
    if (plan_.workspaces.size() != calls_.size())
      fail("the plan has {} workspaces for {} calls of functions", plan_.workspaces.size(), calls_.size());
    ByteOwners memory;                             // inputs and constants always hold their own bytes
    if (!execute(function_.body, memory)) return;  // a step ends the run
    for (ValueId v : function_.outputs) {
      if (base_of(v).storage != Storage::output)
        fail("{} is an output of the program but is not stored in one", label(v));
      read(memory, v, "the end of the program");
    }
  }

 private:
  struct Operand {
    ValueId value;
    Access access;
    Bytes bytes;
  };

  void number_call(const Call& call) {
    calls_.emplace(&call, calls_.size());
    auto own = std::ranges::find_if(program_.functions, [&](const Function& f) { return &f == &function_; });
    if (call.function < 0 || call.function >= own - program_.functions.begin())
      fail("a call of function {}, which is not before its caller", call.function);
  }

  void read(const ByteOwners& memory, ValueId v, const std::string& where) const {
    check_usable(v, where);
    if (incomplete_.contains(base_id(v))) fail("{}: a loop has not written all slices of {} yet", where, label(v));
    const Storage storage = base_of(v).storage;
    if (storage == Storage::input || storage == Storage::constant) return;
    const std::optional<int64_t> byte = memory.find_other(range_of(v), base_id(v));
    if (!byte) return;
    const std::optional<ValueId> found = memory.owner_at(*byte);
    fail("{}: byte {} of {} holds {}", where, *byte - address_[v], label(v),
         found ? label(*found) : "no defined value");
  }

  // False if a step ends the run at the sizes at which the program is interpreted, or if no run has these sizes.
  bool execute(const Region& region, ByteOwners& memory) {
    const std::span<const Step> steps = region.steps;
    return std::ranges::all_of(steps, [&](const Step& step) {
      if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) return execute(**branch, memory);
      if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&step))
        return execute(**loop, steps.subspan(static_cast<size_t>(&step - steps.data()) + 1), memory);
      if (const auto* require = std::get_if<Require>(&step)) return tensor::constant_integer(require->condition) != 0;
      if (const auto* check = std::get_if<CheckSize>(&step)) return !provably_lt(check->size, 0);
      std::visit([&](const auto& s) { execute(s, memory); }, step);
      return true;
    });
  }

  void execute(const Invoke& call, ByteOwners& memory) {
    if (call.kernel < 0 || call.kernel >= static_cast<int>(program_.kernels.size()))
      fail("there is no kernel {}", call.kernel);
    const KernelVariants& kernel = program_.kernels[call.kernel];
    const std::string where = call.node.empty() ? kernel.name : fmt::format("{} ({})", kernel.name, call.node);
    const std::vector<Operand> operands = match_operands(kernel, call, where);
    for (const Operand& o : operands) {
      if (o.access == Access::read) {
        read(memory, o.value, where);
      } else {
        check_writable(o.value, where);
      }
    }
    check_disjoint(call, operands, where);
    for (const Operand& o : operands)
      if (o.access != Access::read) clear(o.value, memory);
    for (const Operand& o : operands)
      if (o.access == Access::write) define(o.value, memory);
  }

  // A step writes the value: temporaries that may alias it become undefined.
  void clear_shared(ValueId v, ByteOwners& memory) const {
    if (!aliases_ || base_of(v).storage != Storage::temporary) return;
    const ValueId written = base_id(v);
    memory.clear_owners([&](ValueId other) {
      return other != written && function_.values[other].storage == Storage::temporary &&
             aliases_->may_alias(other, written);
    });
  }
  void clear(ValueId v, ByteOwners& memory) const {
    clear_shared(v, memory);
    if (begins_at_scalar(v))
      memory.clear_others(range_of(v), base_id(v));
    else
      memory.clear(range_of(v));
  }
  void write(ValueId v, ByteOwners& memory) const {
    clear_shared(v, memory);
    define(v, memory);
  }
  void define(ValueId v, ByteOwners& memory) const {
    if (begins_at_scalar(v))
      memory.clear_others(range_of(v), base_id(v));
    else
      memory.write(range_of(v), base_id(v));
  }

  std::vector<Operand> match_operands(const KernelVariants& kernel, const Invoke& call,
                                      const std::string& where) const {
    if (kernel.variants.empty()) fail("{}: the kernel has no code", where);
    std::vector<Operand> operands;
    for (const tensor::Kernel& variant : kernel.variants) {
      if (variant.params.size() != call.operands.size())
        fail("{}: {} operands for {} parameters", where, call.operands.size(), variant.params.size());
      for (size_t k = 0; k < variant.params.size(); ++k) {
        check_usable(call.operands[k], where);
        check_fits(call, variant, k, where);
        if (&variant == &kernel.variants[0])
          operands.push_back({call.operands[k], variant.params[k].access, range_of(call.operands[k])});
        else if (variant.params[k].access != operands[k].access)
          fail("{}: the CPU levels disagree about parameter {}", where, k);
      }
    }
    return operands;
  }

  void check_fits(const Invoke& call, const tensor::Kernel& kernel, size_t param, const std::string& where) const {
    const ValueId v = call.operands[param];
    const tensor::BufferNode& buffer = *kernel.params[param].buffer;
    const std::optional<std::vector<int64_t>> shape = shape_in_call(kernel, buffer, call);
    if (!shape) fail("{}: parameter '{}' has a dimension that the call does not give", where, buffer.name);
    int64_t count = 1;
    for (int64_t extent : *shape) count *= extent;
    if (!buffer.strides.empty() && count > 0) {  // one past the last element
      count = 1;
      for (size_t d = 0; d < shape->size(); ++d) count += ((*shape)[d] - 1) * buffer.strides[d];
    }
    const int64_t needed = storage_bytes(buffer.type, count), had = function_.values[v].bytes.value();
    if (needed > had) fail("{}: parameter '{}' needs {} bytes, {} has {}", where, buffer.name, needed, label(v), had);
    if (had > 0 && buffer.alignment > known_alignment(v))
      fail("{}: parameter '{}' needs alignment {}, {} has {}", where, buffer.name, buffer.alignment, label(v),
           known_alignment(v));
  }

  // Whether the operands are different temporaries of a program with symbolic sizes.
  bool have_symbolic_addresses(const Operand& a, const Operand& b) const {
    return aliases_ && base_id(a.value) != base_id(b.value) && base_of(a.value).storage == Storage::temporary &&
           base_of(b.value).storage == Storage::temporary;
  }
  bool overlap(const Operand& a, const Operand& b) const {
    if (have_symbolic_addresses(a, b)) return aliases_->may_alias(base_id(a.value), base_id(b.value));
    return a.bytes.overlaps(b.bytes);
  }
  // Whether the operands have the same bytes of memory.
  bool are_equal(const Operand& a, const Operand& b) const {
    if (!have_symbolic_addresses(a, b)) return a.bytes == b.bytes;
    const int64_t offset_in_a = a.bytes.begin - address_[base_id(a.value)];
    const int64_t offset_in_b = b.bytes.begin - address_[base_id(b.value)];
    return aliases_->begin_together(base_id(a.value), base_id(b.value)) && offset_in_a == offset_in_b &&
           a.bytes.end - a.bytes.begin == b.bytes.end - b.bytes.begin;
  }

  void check_disjoint(const Invoke& call, const std::vector<Operand>& operands, const std::string& where) const {
    for (size_t w = 0; w < operands.size(); ++w) {
      if (operands[w].access == Access::read) continue;
      for (size_t o = 0; o < operands.size(); ++o) {
        if (o == w || !overlap(operands[w], operands[o])) continue;
        const std::pair<int, int> pair(static_cast<int>(w), static_cast<int>(o));
        const bool declared = std::count(call.in_place.begin(), call.in_place.end(), pair) > 0;
        const bool kinds = operands[w].access == Access::write && operands[o].access == Access::read;
        if (declared && kinds && are_equal(operands[w], operands[o])) continue;
        fail("{}: {} overlaps {}, another operand of the call", where, label(operands[w].value),
             label(operands[o].value));
      }
    }
  }

  void execute(const Copy& copy, ByteOwners& memory) {
    const std::string where = fmt::format("copy of %{} to %{}", copy.from, copy.to);
    read(memory, copy.from, where);
    check_writable(copy.to, where);
    const Bytes from = range_of(copy.from), to = range_of(copy.to);
    if (!(function_.values[copy.from].bytes == function_.values[copy.to].bytes)) fail("{}: sizes differ", where);
    if (overlap({copy.from, Access::read, from}, {copy.to, Access::write, to}))
      fail("{}: source and destination overlap", where);
    write(copy.to, memory);
  }

  // The bytes of the arena that a call passes to the function. The workspace is treated as a temporary whose number
  // follows those of all values.
  Bytes workspace_of(const Call& call, const std::string& where) const {
    const FunctionPlan& callee = functions_[static_cast<size_t>(call.function)];
    const int64_t offset = plan_.workspaces[calls_.at(&call)];
    if (!callee.has_arena()) return {0, 0};
    if (offset < 0) fail("{}: the function has no workspace", where);
    if (offset > plan_.arena_bytes - callee.arena_bytes)
      fail("{}: the workspace of {} bytes at {} is outside the arena of {} bytes", where, callee.arena_bytes, offset,
           plan_.arena_bytes);
    if (offset % callee.arena_alignment != 0 || plan_.arena_alignment % callee.arena_alignment != 0)
      fail("{}: the workspace at {} is not aligned to {}", where, offset, callee.arena_alignment);
    return {offset, offset + callee.arena_bytes};
  }

  bool is_in_workspace(ValueId v, const Call& call, Bytes workspace) const {
    if (base_of(v).storage != Storage::temporary) return false;
    if (!aliases_) return range_of(v).overlaps(workspace);
    return has_workspace(call) && aliases_->may_alias(base_id(v), workspace_id(call));
  }
  bool has_workspace(const Call& call) const { return functions_[static_cast<size_t>(call.function)].has_arena(); }
  ValueId workspace_id(const Call& call) const {
    return static_cast<ValueId>(function_.values.size() + calls_.at(&call));
  }

  void check_passed(ValueId v, ValueId formal, const Function& callee, const std::string& where) const {
    check_usable(v, where);
    const Value& wanted = callee.values[static_cast<size_t>(formal)];
    if (!(wanted.bytes == function_.values[v].bytes))
      fail("{}: {} has {} bytes, the function's {} has {}", where, label(v), function_.values[v].bytes.str(), formal,
           wanted.bytes.str());
    if (wanted.bytes != Dim(0) && wanted.alignment > known_alignment(v))
      fail("{}: {} has alignment {}, the function needs {}", where, label(v), known_alignment(v), wanted.alignment);
  }

  void execute(const Call& call, ByteOwners& memory) {
    const Function& callee = program_.functions[static_cast<size_t>(call.function)];
    const std::string where = call.node.empty() ? "@" + callee.name : fmt::format("@{} ({})", callee.name, call.node);
    if (call.operands.size() != callee.inputs.size() || call.results.size() != callee.outputs.size())
      fail("{}: {} operands and {} results for {} and {}", where, call.operands.size(), call.results.size(),
           callee.inputs.size(), callee.outputs.size());
    if (!admits(callee, {})) fail("{}: the function does not admit these sizes", where);
    const Bytes workspace = aliases_ ? Bytes{0, 0} : workspace_of(call, where);
    std::vector<Operand> passed;
    for (size_t k = 0; k < call.operands.size(); ++k) {
      check_passed(call.operands[k], callee.inputs[k], callee, where);
      read(memory, call.operands[k], where);
      passed.push_back({call.operands[k], Access::read, range_of(call.operands[k])});
    }
    for (size_t k = 0; k < call.results.size(); ++k) {
      check_passed(call.results[k], callee.outputs[k], callee, where);
      check_writable(call.results[k], where);
      passed.push_back({call.results[k], Access::write, range_of(call.results[k])});
    }
    for (size_t i = 0; i < passed.size(); ++i) {
      if (is_in_workspace(passed[i].value, call, workspace))
        fail("{}: {} overlaps the workspace", where, label(passed[i].value));
      for (size_t j = 0; j < i; ++j)
        if ((passed[i].access == Access::write || passed[j].access == Access::write) && overlap(passed[i], passed[j]))
          fail("{}: {} overlaps {}, another operand of the call", where, label(passed[i].value),
               label(passed[j].value));
    }
    memory.clear(workspace);
    if (aliases_ && has_workspace(call))
      memory.clear_owners([&](ValueId v) {
        return function_.values[v].storage == Storage::temporary && aliases_->may_alias(v, workspace_id(call));
      });
    for (ValueId v : call.results) write(v, memory);
  }

  void execute(const Read& step, ByteOwners& memory) {
    const std::string where = fmt::format("read of scalar '{}'", step.result->name);
    read(memory, step.from, where);
    check_element(step.from, step.element, where);
  }

  void execute(const Write& step, ByteOwners& memory) {
    const std::string where = fmt::format("write of a scalar to %{}", step.to);
    check_writable(step.to, where);
    check_element(step.to, step.element, where);
    const int64_t size = storage_bytes(function_.values[step.to].type, 1);
    const int64_t begin = range_of(step.to).begin + step.element * size;
    clear_shared(step.to, memory);
    if (begins_at_scalar(step.to))
      write(step.to, memory);
    else
      memory.write({begin, begin + size}, base_id(step.to));
  }

  void check_element(ValueId v, int64_t element, const std::string& where) const {
    const int64_t size = storage_bytes(function_.values[v].type, 1);
    if (element < 0 || element > function_.values[v].bytes.value() / size - 1)
      fail("{}: {} has no element {}", where, label(v), element);
  }

  void execute(const Compute& step, ByteOwners&) {
    const tensor::Expr value = tensor::simplify(tensor::substitute(step.value, constants_));
    if (tensor::as<tensor::Literal>(value)) constants_.insert_or_assign(step.result, value);
  }
  void execute(const Require&, ByteOwners&) {}
  void execute(const CheckSize&, ByteOwners&) {}
  void execute(const std::shared_ptr<Branch>&, ByteOwners&) {}
  void execute(const std::shared_ptr<Loop>&, ByteOwners&) {}

  // Whether the values that the arm gives to symbols are those at which the program is interpreted.
  bool is_possible(const Branch& branch, tensor::Expr Branch::Merge::*value) const {
    return std::ranges::all_of(branch.merges, [&](const Branch::Merge& m) {
      const auto size = tensor::is_symbol_var(m.result) ? sizes_.find(m.result->name) : sizes_.end();
      return size == sizes_.end() || tensor::constant_integer(m.*value) == size->second;
    });
  }

  bool execute(const Branch& branch, ByteOwners& memory) {
    const auto condition = tensor::constant_integer(tensor::simplify(tensor::substitute(branch.condition, constants_)));
    const bool has_then = condition != 0 && is_possible(branch, &Branch::Merge::then_value);
    const bool has_else = condition != 1 && is_possible(branch, &Branch::Merge::else_value);
    if (!has_then && !has_else) return false;  // no run has these sizes
    if (has_then != has_else) return execute(has_then ? branch.then_region : branch.else_region, memory);
    ByteOwners other = memory;
    const bool after_then = execute(branch.then_region, memory), after_else = execute(branch.else_region, other);
    if (!after_then)
      memory = std::move(other);
    else if (after_else)
      memory = ByteOwners::intersect(memory, other);
    return after_then || after_else;
  }

  // The state before each test is the intersection of the states at the entry and after the iterations. The loop ends
  // after a test. A value that the loop writes slice by slice owns its memory from the entry on, so that no other value
  // may be written there, but must not be read before the end. `after`: the steps of the region after the loop.
  bool execute(const Loop& loop, std::span<const Step> after, ByteOwners& memory) {
    std::vector<ValueId> sliced;
    auto write_slices = [&](ValueId v, Bytes written) {
      if (!memory.find_other(written, v)) return;  // they are defined already
      memory.write(written, v);
      if (incomplete_.insert(v).second) sliced.push_back(v);
    };
    for (ValueId v : written_by_slices(program_, function_, loop)) write_slices(v, range_of(v));
    for (const CountedSlices& s :
         counted_slices(program_, function_, loop, after, sizes_, [&](ValueId v) { return memory_of(v); }))
      write_slices(s.value, {address_[s.value], address_[s.value] + s.bytes});
    const bool ends = interpret(loop, memory);
    for (ValueId v : sliced) incomplete_.erase(v);
    return ends;
  }

  // The bytes of memory that a base may use: an output's memory is that for its largest size.
  int64_t memory_of(ValueId v) const {
    const bool is_output = function_.values[v].storage == Storage::output && aliases_;
    return is_output ? aliases_->memory_at(v, sizes_).value_or(0) : function_.values[v].bytes.value();
  }

  // Whether the first test may succeed.
  static bool may_run(const Loop& loop) {
    tensor::Substitution initial;
    for (const Loop::Carried& c : loop.carried) initial.emplace(c.var, c.initial);
    const tensor::Expr condition = tensor::substitute(definition_in(loop.test, loop.condition), initial);
    return tensor::constant_integer(tensor::simplify(condition)) != 0;
  }

  bool interpret(const Loop& loop, ByteOwners& memory) {
    if (!may_run(loop)) return execute(loop.test, memory);
    while (true) {
      ByteOwners tested = memory;
      if (!execute(loop.test, tested)) return false;
      ByteOwners after = tested;
      ByteOwners next = execute(loop.body, after) ? ByteOwners::intersect(memory, after) : memory;
      if (next == memory) {
        memory = std::move(tested);
        return true;
      }
      memory = std::move(next);
    }
  }

  const Program& program_;
  const std::vector<FunctionPlan>& functions_;
  std::map<const Call*, size_t> calls_;  // their numbers in the order of lower/walk.h
  tensor::Substitution constants_;       // scalars that are constant at the sizes
  std::set<ValueId> incomplete_;         // values that loops around the step write slice by slice
};

// Calls `check` with the program and its plan, then with each function and its plan.
template <class Check>
void for_each_plan(const Program& program, const StoragePlan& plan, const Check& check) {
  if (plan.functions.size() != program.functions.size())
    fail("the plan has {} functions for {}", plan.functions.size(), program.functions.size());
  check(program, plan);
  for (size_t k = 0; k < program.functions.size(); ++k) check(program.functions[k], plan.functions[k]);
}

void check_all_sizes(const Program& program, const StoragePlan& plan, int jobs) {
  std::vector<AliasAnalysis> aliases;
  for_each_plan(program, plan, [&](const Function& f, const FunctionPlan& own) {
    aliases.emplace_back(program, f, own, plan.functions);
    if (!aliases.back().violation().empty()) fail("{}", aliases.back().violation());
  });
  const AdmittedSizes admitted(program);
  std::vector<Sizes> samples = sample_sizes(program);
  std::erase_if(samples, [&](const Sizes& sizes) { return admitted.status_at(sizes) != tensor::Status::ok; });
  parallel_for(samples.size(), jobs, [&](size_t sample) {
    const Sizes& sizes = samples[sample];
    const Program at = instantiate(program, sizes);
    PlanChecker(at, at, plan, plan.functions, &aliases[0], sizes).run();
    for (size_t k = 0; k < at.functions.size(); ++k)
      if (admits(program.functions[k], sizes))
        PlanChecker(at, at.functions[k], plan.functions[k], plan.functions, &aliases[k + 1], sizes).run();
  });
}

}  // namespace

std::string check_storage(const Program& program, const StoragePlan& plan, int jobs) {
  try {
    if (!has_symbols(program))
      for_each_plan(program, plan, [&](const Function& f, const FunctionPlan& own) {
        if (admits(f, {})) PlanChecker(program, f, own, plan.functions, nullptr, {}).run();
      });
    else
      check_all_sizes(program, plan, jobs);
    return {};
  } catch (const Violation& violation) {
    return violation.text;
  }
}

}  // namespace dlcc::lower
