// Functions that take or return functions become their bodies where they are called, and the variables and fields of
// tuples that hold a function become the function. So callees are known, and each call has sizes of its own.
//
//   def @apply(%f: fn (Tensor[(k), float32]) -> Tensor[(?, 1), int64], %x: Tensor[(k), float32]) { %f(%x) }
//   let %fs = (@found, @rows);                        // dead afterwards
//   let %h = if (%c) { %fs.0 } else { %fs.1 };        // dead afterwards
//   let %y = @apply(%h, %a);                          // becomes if (%c) { @found(%a) } else { @rows(%a) }
//
// Contract: effects keep their number and order, because making a function or a tuple has none. A function that an `if`
// with an unknown condition selects becomes an `if` at each of its calls. It must be one that is known outside of the
// `if`, or use only values that are. A recursive local function that passes functions on to itself is copied for each
// call, without these parameters; other recursive functions stay. Functions in data and references stay values.
// Function values that nothing uses any more are removed, and so are functions of the module that take or return
// functions.
//
//   let %loop = fn (%f: fn (int32) -> int32, %i: int32) -> int32 { if (%i < 9) { %loop(%f, %f(%i)) } else { %i } };
//   let %y = %loop(%g, %n);
//
//   let %loop_1 = fn (%i: int32) -> int32 { if (%i < 9) { %loop_1(%g(%i)) } else { %i } };
//   let %y = %loop_1(%n);
#include <algorithm>
#include <set>
#include <utility>

#include "relay/call_graph.h"
#include "relay/passes/copy_budget.h"
#include "relay/passes/inline_call.h"
#include "relay/passes/passes.h"
#include "relay/passes/recursive_arguments.h"
#include "relay/passes/replace.h"
#include "relay/passes/retype.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

using Names = std::set<std::string>;

bool is_higher_order(const Function& f) {
  return has_function(f.result_type) ||
         std::ranges::any_of(f.params, [](const Var& p) { return has_function(p->type); });
}

// Whether a function is used as a value in the block, not only called.
bool has_function_values(const Module& module, const Block& block) {
  auto is_function = [&](const Atom& a) {
    return !std::holds_alternative<OperatorRef>(a) && has_function(type_of(module, a));
  };
  return is_function(block.result) || std::ranges::any_of(block.bindings, [&](const Binding& b) {
           bool found = false, is_callee = std::holds_alternative<Call>(b.op);
           for_each_atom(b.op, [&](const Atom& a) { found |= !std::exchange(is_callee, false) && is_function(a); });
           for_each_block(b.op, [&](const Block& inner) { found = found || has_function_values(module, inner); });
           return found;
         });
}

class HigherOrderInliner {
 public:
  HigherOrderInliner(Module& module, Diagnostics* diagnostics)
      : module_(module),
        budget_(diagnostics, "calls of functions that take or return functions expand to",
                "pass tensors instead of functions, or call fewer such functions from each other"),
        inliner_(module) {}

  bool has_changed() const { return has_changed_; }

  // Callees come first, so that the bodies that replace calls have been visited. They are visited again where the
  // functions that they take are known.
  void run() {
    for (const std::string& name : callees_first(module_)) {
      Function& f = module_.functions.at(name);
      function(f, {});
      if (name != "main" && is_higher_order(f) && !calls_itself(name)) inlined_.insert(name);
    }
    if (!has_changed_) return;
    for (auto& [name, f] : module_.functions) {
      uses_ = Uses(f.body);
      remove_unused(f.body);
    }
    remove_inlined();
  }

 private:
  struct Local {  // a local function that takes or returns functions
    Function function;
    Names visible;  // the sizes around it
  };
  struct Recursive {  // a local function that passes functions on to itself
    Local local;
    std::vector<size_t> functions;  // the parameters that hold them
  };
  struct Choice {  // a function, or a tuple with one, that an `if` selects
    Atom condition, then_value, else_value;
  };

  bool calls_itself(const std::string& name) const {
    auto callees_of = [&](const std::string& f) -> std::optional<std::vector<std::string>> {
      const auto found = module_.functions.find(f);
      if (found == module_.functions.end()) return std::nullopt;
      return globals_in(found->second.body);
    };
    const std::vector<std::string> reached = callees_first(*callees_of(name), callees_of);
    return std::ranges::find(reached, name) != reached.end();
  }

  void function(Function& f, Names visible) {
    for (const Var& p : f.params) add_symbols(p->type, visible);
    block(f.body, std::move(visible));
  }

  void block(Block& b, Names visible) {
    std::vector<Binding> out;
    out.reserve(b.bindings.size());
    walk(std::move(b.bindings), out, visible);
    known_.apply(b.result);
    b.bindings = std::move(out);
  }

  void walk(std::vector<Binding> bindings, std::vector<Binding>& out, Names& visible) {
    for (Binding& b : bindings) {
      known_.apply(b.op);
      if (is_known(b) || (std::holds_alternative<Call>(b.op) && is_inlined(b, out, visible))) continue;
      if (auto* made = std::get_if<MakeFunction>(&b.op))
        function(*made->function, visible);
      else
        for_each_block(b.op, [&](Block& inner) { block(inner, visible); });
      if (const auto* sizes = std::get_if<DefineSizes>(&b.op))
        for (const Symbol& s : sizes->symbols) visible.insert(s.name);
      add_symbols(b.var->type, visible);
      if (has_function(b.var->type) && is_selected(b, visible, out)) continue;
      out.push_back(std::move(b));
    }
  }

  // ---- variables that hold functions

  // Whether the variable is another name of a value: of a function, or of a field of a tuple with functions. A field of
  // a tuple that an `if` selects is selected by an `if`.
  bool is_known(Binding& b) {
    if (const Alias* alias = std::get_if<Alias>(&b.op); alias && has_function(b.var->type)) {
      return replace(b, Atom(alias->value));
    }
    const Project* project = std::get_if<Project>(&b.op);
    const Var* tuple = project ? std::get_if<Var>(&project->tuple) : nullptr;
    if (!tuple) return false;
    const int index = project->index;
    if (const Atom* field = field_of(project->tuple, index)) {
      return replace(b, Atom(*field));
    }
    if (const auto found = choices_.find((*tuple)->id); found != choices_.end()) {
      const Choice choice = found->second;
      const Atom *first = field_of(choice.then_value, index), *second = field_of(choice.else_value, index);
      if (!first || !second) return false;
      b.op = If{choice.condition, Block{{}, *first}, Block{{}, *second}};
      has_changed_ = true;
    }
    return false;
  }

  // A value takes the place of the variable that the operation binds.
  bool replace(const Binding& b, Atom value) {
    known_.add(b.var, std::move(value));
    return has_changed_ = true;
  }

  const Atom* field_of(const Atom& tuple, int index) const {
    const Var* var = std::get_if<Var>(&tuple);
    const auto found = var ? tuples_.find((*var)->id) : tuples_.end();
    return found == tuples_.end() ? nullptr : &found->second.at(static_cast<size_t>(index));
  }

  // Notes what the variable holds, a function or a tuple with one. True if the variable is another name of a value,
  // because the condition of an `if` is known.
  bool is_selected(Binding& b, const Names& visible, std::vector<Binding>& out) {
    if (const MakeTuple* tuple = std::get_if<MakeTuple>(&b.op)) tuples_.emplace(b.var->id, tuple->fields);
    if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op))
      if (is_higher_order(*made->function)) note_function(b.var, {*made->function, visible});
    If* branch = std::get_if<If>(&b.op);
    if (!branch) return false;
    if (const Constant* condition = std::get_if<Constant>(&branch->condition)) {
      Block& taken = condition->integer_at(0) != 0 ? *branch->then_block : *branch->else_block;
      std::ranges::move(taken.bindings, std::back_inserter(out));
      return replace(b, Atom(taken.result));
    }
    const bool are_visible = move_functions(*branch->then_block, out) & move_functions(*branch->else_block, out);
    if (are_visible)
      choices_.emplace(b.var->id, Choice{branch->condition, branch->then_block->result, branch->else_block->result});
    return false;
  }

  void note_function(const Var& var, Local local) {
    if (Uses(local.function.body)[var] == 0)
      locals_.emplace(var->id, std::move(local));
    else if (auto functions = passed_on_functions(local.function, var); !functions.empty())
      recursive_.emplace(var->id, Recursive{std::move(local), std::move(functions)});
  }

  // Moves the functions of a branch, and tuples with functions, before the `if`, where they use nothing that is
  // computed in the branch. Whether the branch's result is visible there.
  static bool move_functions(Block& branch, std::vector<Binding>& out) {
    std::set<int> computed;
    auto is_visible = [&](const Atom& a) {
      const Var* var = std::get_if<Var>(&a);
      return !var || !computed.contains((*var)->id);
    };
    std::vector<Binding> left;
    for (Binding& b : branch.bindings) {
      const If* inner = std::get_if<If>(&b.op);
      const bool is_empty = inner && inner->then_block->bindings.empty() && inner->else_block->bindings.empty();
      bool may_move = has_function(b.var->type) && (is_empty || std::holds_alternative<MakeFunction>(b.op) ||
                                                    std::holds_alternative<MakeTuple>(b.op));
      const Uses uses = used_in(b.op);
      for (const int id : computed) may_move = may_move && uses.count(id) == 0;
      if (!may_move) computed.insert(b.var->id);
      (may_move ? out : left).push_back(std::move(b));
    }
    branch.bindings = std::move(left);
    return is_visible(branch.result);
  }

  static Uses used_in(const Operation& op) {
    Uses uses;
    uses.add(op, 1);
    return uses;
  }

  // ---- calls

  // Whether the call is replaced by the callee's body. A call of a function that an `if` selects becomes an `if` of
  // calls.
  bool is_inlined(Binding& b, std::vector<Binding>& out, Names& visible) {
    const Call call = std::get<Call>(b.op);
    const Var* var = std::get_if<Var>(&call.callee);
    const GlobalRef* global = std::get_if<GlobalRef>(&call.callee);
    if (const auto choice = var ? choices_.find((*var)->id) : choices_.end(); choice != choices_.end()) {
      b.op = If{choice->second.condition, call_of(choice->second.then_value, call, b),
                call_of(choice->second.else_value, call, b)};
      has_changed_ = true;
      return false;
    }
    if (const auto found = var ? recursive_.find((*var)->id) : recursive_.end(); found != recursive_.end()) {
      specialize(b, *var, Recursive(found->second), out, visible);
      return false;
    }
    const auto local = var ? locals_.find((*var)->id) : locals_.end();
    if (local == locals_.end() && !(global && inlined_.contains(global->name))) return false;
    const Function callee = global ? module_.functions.at(global->name) : local->second.function;
    if (!budget_.may_copy(callee, b.location)) return false;
    std::vector<Binding> body;
    Atom result = global ? inliner_.inline_call(callee, call, b, body)
                         : inliner_.inline_local(callee, local->second.visible, call, b, body);
    walk(std::move(body), out, visible);
    known_.apply(result);
    return replace(b, std::move(result));
  }

  // Makes a copy of the recursive callee that has the call's functions in place of its parameters, and calls the copy.
  void specialize(Binding& b, const Var& callee, const Recursive& recursive, std::vector<Binding>& out,
                  Names& visible) {
    const Function& f = recursive.local.function;
    if (!budget_.may_copy(f, b.location)) return;
    Call& call = std::get<Call>(b.op);
    const Var copy = module_.fresh(callee->name);
    std::vector<DimPair> pairs;
    std::map<int, Atom> renamed = {{callee->id, copy}};
    for (size_t k : recursive.functions) add_dim_pairs(f.params[k]->type, type_of(module_, call.args[k]), pairs);
    erase_sizes_of_values(f, pairs);
    Function function = inliner_.copy_local(f, recursive.local.visible, pairs, renamed);
    for (size_t k : recursive.functions) known_.add(function.params[k], call.args[k]);
    erase_arguments(function.body, copy, recursive.functions);
    erase_at(function.params, recursive.functions);
    erase_at(call.args, recursive.functions);
    call.callee = copy;
    copy->type = function_type_of(function);
    std::vector<Binding> binding;
    binding.push_back({copy, MakeFunction{std::move(function)}, b.location});
    walk(std::move(binding), out, visible);
    has_changed_ = true;
  }

  static Type function_type_of(const Function& f) {
    std::vector<Type> params;
    for (const Var& p : f.params) params.push_back(p->type);
    return function_type(std::move(params), f.result_type);
  }

  // The type of the result is inferred again, since each branch defines its own sizes.
  Block call_of(const Atom& callee, Call call, const Binding& b) {
    call.callee = callee;
    const Var result = module_.fresh("", has_function(b.var->type) ? b.var->type : nullptr);
    return {{{result, std::move(call), b.location}}, result};
  }

  // ---- the end

  void remove_unused(Block& b) {
    for (size_t k = b.bindings.size(); k-- > 0;) {  // users before what they use
      Binding& binding = b.bindings[k];
      if (has_function(binding.var->type) && is_unused(binding) && is_removed(binding)) {
        b.bindings.erase(b.bindings.begin() + static_cast<std::ptrdiff_t>(k));
        continue;
      }
      for_each_block(binding.op, [&](Block& inner) { remove_unused(inner); });
    }
  }

  // Removes the functions of the module whose calls were replaced, unless another function still uses them.
  void remove_inlined() {
    Names used;
    std::vector<std::string> rest;
    for (const auto& [name, f] : module_.functions)
      if (!inlined_.contains(name)) rest.push_back(name);
    while (!rest.empty()) {
      const std::vector<std::string> callees = globals_in(module_.functions.at(rest.back()).body);
      rest.pop_back();
      for (const std::string& callee : callees)
        if (inlined_.contains(callee) && used.insert(callee).second) rest.push_back(callee);
    }
    for (const std::string& name : inlined_)
      if (!used.contains(name)) module_.functions.erase(name);
  }

  bool is_unused(const Binding& b) const {
    const MakeFunction* made = std::get_if<MakeFunction>(&b.op);
    return uses_[b.var] == (made ? Uses(made->function->body)[b.var] : 0);
  }

  // Whether the operation, whose value is unused, has no effect. The branches of an `if` keep theirs, without results.
  bool is_removed(Binding& b) {
    If* branch = std::get_if<If>(&b.op);
    if (branch && (!branch->then_block->bindings.empty() || !branch->else_block->bindings.empty())) {
      b.var->type = tuple_type({});
      for (Block* arm : {&*branch->then_block, &*branch->else_block}) {
        uses_.add(arm->result, -1);
        const Var nothing = module_.fresh("", b.var->type);
        arm->bindings.push_back({nothing, MakeTuple{}, b.location});
        arm->result = nothing;
      }
      return false;
    }
    const bool has_no_effect = branch || std::holds_alternative<MakeFunction>(b.op) ||
                               std::holds_alternative<MakeTuple>(b.op) || std::holds_alternative<Project>(b.op);
    if (has_no_effect) uses_.add(b.op, -1);
    return has_no_effect;
  }

  Module& module_;
  CopyBudget budget_;
  CallInliner inliner_;
  std::set<std::string> inlined_;            // functions of the module
  std::map<int, Local> locals_;              // by variable
  std::map<int, Recursive> recursive_;       // by variable
  std::map<int, std::vector<Atom>> tuples_;  // the fields of tuples with functions, by variable
  std::map<int, Choice> choices_;            // by variable
  Replacements known_;
  Uses uses_;  // in the function of which unused operations are removed
  bool has_changed_ = false;
};

}  // namespace

Module inline_higher_order(Module module, PassContext& context) {
  if (std::ranges::none_of(module.functions, [&](const auto& f) { return has_function_values(module, f.second.body); }))
    return module;
  HigherOrderInliner inliner(module, context.diagnostics);
  inliner.run();
  const bool has_errors = context.diagnostics && context.diagnostics->has_errors();
  if (inliner.has_changed() && !has_errors) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
