// Calls of global functions that define sizes of their results become the bodies of the functions:
//
//   def @found(%x: Tensor[(k), float32]) -> Tensor[(?1, 1), int64] {
//     let %all = nonzero(%x);
//     prefix(%all.0, %all.1)                                  // ?1 is the element of %all.1
//   }
//   let %rows: Tensor[(?2, 1), int64] = @found(%a);           // a size that no argument determines
//
// Contract: no call is of a function whose result has a symbol that its parameters do not have. Each copy of a body has
// new symbols in place of those that the body defines. Functions of which no call is left are removed. Functions that
// call each other recursively are an error.
#include <algorithm>
#include <set>
#include <utility>

#include "relay/call_graph.h"
#include "relay/passes/copy_budget.h"
#include "relay/passes/inline_call.h"
#include "relay/passes/passes.h"
#include "relay/passes/recursive_sizes.h"
#include "relay/passes/replace.h"
#include "relay/passes/retype.h"

namespace dlcc::relay {

namespace {

bool defines_sizes_of_result(const Function& f) {
  std::set<std::string> given;
  for (const Var& p : f.params) for_each_symbol(p->type, [&](const Symbol& s) { given.insert(s.name); });
  bool found = false;
  for_each_symbol(f.result_type, [&](const Symbol& s) { found = found || !given.contains(s.name); });
  return found;
}

class DefinedSizesInliner {
 public:
  DefinedSizesInliner(Module& module, Diagnostics* diagnostics)
      : module_(module),
        diagnostics_(diagnostics),
        budget_(diagnostics, "calls of functions expand to",
                "return tensors of the largest sizes, and the sizes that are in use as numbers: such functions need "
                "not be copied for each call"),
        inliner_(module),
        in_use_(functions_in_use(module)) {
    for (const auto& [name, f] : module.functions)
      if (name != "main" && defines_sizes_of_result(f)) defining_.insert(name);
  }

  bool has_changed() const { return has_changed_; }

  // Callees come first, so that the bodies that replace calls have no such calls any more, except in recursion.
  void run() {
    if (defining_.empty()) return;
    for (const std::string& name : callees_first(module_)) {
      Function& f = module_.functions.at(name);
      known_ = {};
      is_in_use_ = in_use_.contains(name);
      block(f.body);
      const std::vector<std::string> callees = globals_in(f.body);
      if (std::ranges::find(callees, name) == callees.end()) complete_.insert(name);
    }
    const std::set<std::string> left = functions_in_use(module_);
    for (const std::string& name : defining_)
      if (!left.contains(name)) module_.functions.erase(name);
  }

 private:
  void block(Block& b) {
    std::vector<Binding> out;
    out.reserve(b.bindings.size());
    for (Binding& binding : b.bindings) {
      known_.apply(binding.op);
      for_each_block(binding.op, [&](Block& inner) { block(inner); });
      const Call* call = std::get_if<Call>(&binding.op);
      const GlobalRef* callee = call ? std::get_if<GlobalRef>(&call->callee) : nullptr;
      if (callee && defining_.contains(callee->name)) {
        if (complete_.contains(callee->name)) {
          const Function& f = module_.functions.at(callee->name);
          if (budget_.may_copy(f, binding.location))
            known_.add(binding.var, inliner_.inline_call(f, *call, binding, out));
          has_changed_ = true;
          continue;
        }
        if (is_in_use_) report_size_of_result(binding.location, diagnostics_);
      }
      out.push_back(std::move(binding));
    }
    known_.apply(b.result);
    b.bindings = std::move(out);
  }

  Module& module_;
  Diagnostics* diagnostics_;
  CopyBudget budget_;
  CallInliner inliner_;
  std::set<std::string> in_use_, defining_;
  std::set<std::string> complete_;  // functions that have been visited and do not call themselves
  Replacements known_;
  bool is_in_use_ = false, has_changed_ = false;
};

}  // namespace

Module inline_defined_sizes(Module module, PassContext& context) {
  DefinedSizesInliner inliner(module, context.diagnostics);
  inliner.run();
  const bool has_errors = context.diagnostics && context.diagnostics->has_errors();
  if (inliner.has_changed() && !has_errors) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
