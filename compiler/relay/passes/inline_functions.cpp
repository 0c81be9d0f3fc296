// Inlining: calls of small functions, and of functions with one call, become the bodies of the functions (beta
// reduction).
//
// Contract: a body is evaluated where its call was, with the arguments in place of the parameters, so that effects keep
// their number and order. Inlined are global functions of at most 8 operations, nested ones included, and those that
// the module refers to once; and local functions whose only use is a call. Callees come first, so that what is inlined
// has been inlined into. A function that calls itself stays, and so does @main. In a copy of a generic function, the
// types of the call replace its type variables. Sizes of the arguments replace the symbols of the parameters, and new
// symbols those that the body defines; lower bounds of the symbols that are not proved are required first. A local
// function with symbols in its types stays. Functions that nothing calls any more are left to eliminate-dead-code.
#include <algorithm>
#include <set>

#include "relay/call_graph.h"
#include "relay/passes/inline_call.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "relay/passes/retype.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

constexpr int64_t most_operations = 8;

// The number of calls of each variable, by id.
void count_calls(const Block& block, std::map<int, int>& calls) {
  for (const Binding& b : block.bindings) {
    const Call* call = std::get_if<Call>(&b.op);
    const Var* callee = call ? std::get_if<Var>(&call->callee) : nullptr;
    if (callee) ++calls[(*callee)->id];
    for_each_block(b.op, [&](const Block& inner) { count_calls(inner, calls); });
  }
}

class Inliner {
 public:
  explicit Inliner(Module& module) : module_(module), inliner_(module) {
    for (const auto& [name, f] : module.functions)
      for (const std::string& callee : globals_in(f.body)) ++references_[callee];
  }

  bool has_changed() const { return has_changed_; }

  void run() {
    for (const std::string& name : callees_first(module_)) {
      Function& f = module_.functions.at(name);
      uses_ = Uses(f.body);
      calls_.clear();
      known_ = {};
      count_calls(f.body, calls_);
      block(f.body);
      const std::vector<std::string> callees = globals_in(f.body);
      const bool calls_itself = std::ranges::find(callees, name) != callees.end();
      if (!calls_itself && name != "main" && (references_[name] == 1 || count_operations(f.body) <= most_operations))
        may_inline_.insert(name);
    }
  }

 private:
  void block(Block& block) {
    std::vector<Binding> out;
    out.reserve(block.bindings.size());
    for (Binding& b : block.bindings) {
      known_.apply(b.op);
      for_each_block(b.op, [&](Block& inner) { this->block(inner); });
      if (has_one_call(b)) {
        local_functions_.emplace(b.var->id, std::move(*std::get<MakeFunction>(b.op).function));
        continue;
      }
      if (const Call* call = std::get_if<Call>(&b.op))
        if (const Function* callee = function_to_inline(*call)) {
          has_changed_ = true;
          known_.add(b.var, inliner_.inline_call(*callee, *call, b, out));
          continue;
        }
      out.push_back(std::move(b));
    }
    known_.apply(block.result);
    block.bindings = std::move(out);
  }

  bool has_one_call(Binding& b) {
    MakeFunction* made = std::get_if<MakeFunction>(&b.op);
    if (!made || uses_[b.var] != 1 || calls_[b.var->id] != 1 || Uses(made->function->body)[b.var] != 0) return false;
    bool is_symbolic = false;
    for_each_type(*made->function,
                  [&](Type& type) { for_each_symbol(type, [&](const Symbol&) { is_symbolic = true; }); });
    return !is_symbolic;
  }

  const Function* function_to_inline(const Call& call) const {
    if (const Var* var = std::get_if<Var>(&call.callee)) {
      auto it = local_functions_.find((*var)->id);
      return it == local_functions_.end() ? nullptr : &it->second;
    }
    const GlobalRef* global = std::get_if<GlobalRef>(&call.callee);
    if (!global || !may_inline_.contains(global->name)) return nullptr;
    return &module_.functions.at(global->name);
  }

  Module& module_;
  CallInliner inliner_;
  std::map<std::string, int> references_;
  std::set<std::string> may_inline_;
  std::map<int, Function> local_functions_;  // with one call, by variable
  Uses uses_;                                // in the current function
  std::map<int, int> calls_;
  Replacements known_;
  bool has_changed_ = false;
};

}  // namespace

Module inline_functions(Module module, PassContext& context) {
  Inliner inliner(module);
  inliner.run();
  if (inliner.has_changed()) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
