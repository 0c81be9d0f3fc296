// Local functions whose parameters have sizes of their own become copies with the sizes of their calls:
//
//   let %f = fn (%x: Tensor[(m), float32]) { %x + %x };
//   let %y = %f(%a);                                        // %a: Tensor[(k), float32]
//   let %z = %f(%b);                                        // %b: Tensor[(5), float32]
//
//   let %f_1 = fn (%x: Tensor[(k), float32]) { %x + %x };   // before the first call
//   let %f_2 = fn (%x: Tensor[(5), float32]) { %x + %x };   // before the second one
//
// Contract: a symbol in the types of a local function is one of its own unless an enclosing function, or an earlier
// operation there, has it: a size of the parameters, or one that the body defines for the result. A call requires the
// lower bounds of the former that are not proved. In the copies, other symbols that the body defines have new names. A
// recursive call has the sizes of its function: one that is not proved to have them is an error. Functions that are
// used as values stay, the others are removed.
#include <algorithm>
#include <set>
#include <utility>

#include "relay/call_graph.h"
#include "relay/passes/copy_budget.h"
#include "relay/passes/passes.h"
#include "relay/passes/recursive_sizes.h"
#include "relay/passes/replace.h"
#include "relay/passes/retype.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

using Names = std::set<std::string>;

// Whether the block makes functions whose types have symbols.
bool makes_symbolic_functions(const Block& block) {
  return std::ranges::any_of(block.bindings, [](const Binding& b) {
    bool found = false;
    if (std::holds_alternative<MakeFunction>(b.op)) for_each_symbol(b.var->type, [&](const Symbol&) { found = true; });
    for_each_block(b.op, [&](const Block& inner) { found = found || makes_symbolic_functions(inner); });
    return found;
  });
}

class SizeInstantiator {
 public:
  SizeInstantiator(Module& module, Diagnostics* diagnostics)
      : module_(module),
        diagnostics_(diagnostics),
        budget_(diagnostics, "copies of local functions have", "define the functions in the module: def @..."),
        next_size_(unused_symbol_number(module)) {}

  bool has_changed() const { return has_changed_; }

  void run(Function& f) {
    Names visible;
    for (const Var& p : f.params) add_symbols(p->type, visible);
    block(f.body, std::move(visible));
  }

 private:
  struct Local {
    Function function;
    Names own, visible;  // its own symbols, and those around it
  };

  void block(Block& b, Names visible) {
    std::vector<Binding> out;
    out.reserve(b.bindings.size());
    for (Binding& binding : b.bindings) {
      known_.apply(binding.op);
      if (const auto* alias = std::get_if<Alias>(&binding.op); alias && is_local(alias->value)) {
        known_.add(binding.var, alias->value);
        continue;
      }
      if (auto* made = std::get_if<MakeFunction>(&binding.op)) {
        known_.apply(made->function->body);  // a function that stays is not visited
        define(binding.var, *made->function, visible);
      }
      if (auto* call = std::get_if<Call>(&binding.op)) instantiate(*call, binding, out);
      if (auto* made = std::get_if<MakeFunction>(&binding.op)) {
        if (!locals_.contains(binding.var->id)) function(*made->function, visible);
      } else {
        for_each_block(binding.op, [&](Block& inner) { block(inner, visible); });
      }
      if (const auto* sizes = std::get_if<DefineSizes>(&binding.op))
        for (const Symbol& s : sizes->symbols) visible.insert(s.name);
      add_symbols(binding.var->type, visible);
      out.push_back(std::move(binding));
    }
    known_.apply(b.result);
    b.bindings = std::move(out);
    remove_unused(b);
  }

  bool is_local(const Atom& a) const {
    const Var* var = std::get_if<Var>(&a);
    return var && locals_.contains((*var)->id);
  }

  // Removes the local functions to which only themselves refer.
  void remove_unused(Block& b) {
    auto is_noted = [&](const Binding& binding) { return locals_.contains(binding.var->id); };
    if (std::ranges::none_of(b.bindings, is_noted)) return;
    Uses uses(b);
    for (size_t k = b.bindings.size(); k-- > 0;) {  // users before what they use
      if (!is_noted(b.bindings[k])) continue;
      const Binding binding = b.bindings[k];
      if (uses[binding.var] != Uses(std::get<MakeFunction>(binding.op).function->body)[binding.var]) continue;
      uses.add(binding.op, -1);
      b.bindings.erase(b.bindings.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }

  void function(Function& f, Names visible) {
    for (const Var& p : f.params) add_symbols(p->type, visible);
    block(f.body, std::move(visible));
  }

  // Notes a local function with symbols of its own, which its parameters name or its body defines for its result.
  void define(const Var& var, const Function& f, const Names& visible) {
    Names own;
    auto add = [&](const Symbol& s) {
      if (!visible.contains(s.name)) own.insert(s.name);
    };
    for (const Var& p : f.params) for_each_symbol(p->type, add);
    if (f.result_type) for_each_symbol(f.result_type, add);
    if (!own.empty()) locals_.emplace(var->id, Local{f, std::move(own), visible});
  }

  // Makes the operation call a copy of the local function for its sizes.
  void instantiate(Call& call, const Binding& b, std::vector<Binding>& out) {
    const Var* callee = std::get_if<Var>(&call.callee);
    const auto found = callee ? locals_.find((*callee)->id) : locals_.end();
    if (found == locals_.end()) return;
    const Local local = found->second;
    if (!budget_.may_copy(local.function, b.location)) return;
    const std::map<std::string, Dim> sizes = sizes_of(local, call, b.var->type);
    if (auto distances = distances_from_lower_bounds(local.function, sizes); !distances.empty())
      out.push_back({module_.fresh("sizes", tuple_type({})), RequireSizes{std::move(distances)}, b.location});
    has_changed_ = true;
    const Var copy = module_.fresh((*callee)->name, nullptr);
    if (checked_.insert((*callee)->id).second) check_recursion(local, local.function.body, (*callee)->id);
    std::map<int, Atom> renamed = {{(*callee)->id, copy}};
    Function f = copy_function(module_, local.function, renamed);
    std::map<std::string, Dim> all = sizes;
    for_each_type(f, [&](Type& type) { for_each_symbol(type, [&](const Symbol& s) { add_size(s, local, all); }); });
    for (Var& p : f.params) p->type = substitute(p->type, all);
    if (f.result_type) f.result_type = substitute(f.result_type, all);
    substitute_sizes(f.body, all);
    function(f, local.visible);
    out.push_back({copy, MakeFunction{std::move(f)}, b.location});
    call.callee = copy;
  }

  // The sizes of the local function's own symbols at the call, whose result has the type `result`.
  std::map<std::string, Dim> sizes_of(const Local& local, const Call& call, const Type& result) {
    std::vector<DimPair> pairs = dim_pairs(module_, local.function, call.args);
    add_dim_pairs(local.function.result_type, result, pairs);
    std::map<std::string, Dim> sizes = sizes_at_call(pairs);
    std::erase_if(sizes, [&](const auto& entry) { return !local.own.contains(entry.first); });
    return sizes;
  }

  static bool defines_size_of_result(const Local& local) {
    Names defined;
    if (local.function.result_type)
      for_each_symbol(local.function.result_type, [&](const Symbol& s) { defined.insert(s.name); });
    for (const Var& p : local.function.params)
      for_each_symbol(p->type, [&](const Symbol& s) { defined.erase(s.name); });
    return std::ranges::any_of(defined, [&](const std::string& name) { return local.own.contains(name); });
  }

  void check_recursion(const Local& local, const Block& body, int id) {
    for (const Binding& b : body.bindings) {
      for_each_block(b.op, [&](const Block& inner) { check_recursion(local, inner, id); });
      const auto* call = std::get_if<Call>(&b.op);
      const auto* callee = call ? std::get_if<Var>(&call->callee) : nullptr;
      if (!callee || (*callee)->id != id) continue;
      if (defines_size_of_result(local)) report_size_of_result(b.location, diagnostics_);
      report_changed_sizes(sizes_of(local, *call, local.function.result_type), b.location, diagnostics_);
    }
  }

  void add_size(const Symbol& s, const Local& local, std::map<std::string, Dim>& sizes) {
    if (s.name != "?" && !local.visible.contains(s.name) && !sizes.contains(s.name))
      sizes.emplace(s.name, Dim::symbol({fmt::format("?{}", next_size_++)}));
  }

  Module& module_;
  Diagnostics* diagnostics_;
  CopyBudget budget_;
  std::map<int, Local> locals_;  // by variable
  std::set<int> checked_;        // variables of local functions whose recursive calls were checked
  Replacements known_;           // other names of local functions
  int next_size_;
  bool has_changed_ = false;
};

}  // namespace

Module instantiate_sizes(Module module, PassContext& context) {
  if (std::ranges::none_of(module.functions, [](const auto& f) { return makes_symbolic_functions(f.second.body); }))
    return module;
  SizeInstantiator instantiator(module, context.diagnostics);
  for (auto& [name, f] : module.functions) instantiator.run(f);
  if (instantiator.has_changed()) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
