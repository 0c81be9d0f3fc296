// Global functions that call themselves become functions around a local function that does:
//
//   def @f(%i: int64, %x: Tensor[(k), float32]) -> Tensor[(k), float32] {
//     let %f = fn (%i_1: int64, %x_1: Tensor[(k), float32]) -> Tensor[(k), float32] {
//       if (%i_1 > 0i64) { %f(%i_1 - 1i64, tanh(%x_1)) } else { %x_1 }
//     };
//     %f(%i, %x)
//   }
//
// Contract: no function of the module calls itself. Lowering makes a loop of the local function if the call is in tail
// position. The local function's sizes and type variables are those of the function around it: a call with others is an
// error.
// Functions that call each other stay.
#include <algorithm>

#include "relay/call_graph.h"
#include "relay/passes/passes.h"
#include "relay/passes/recursive_sizes.h"
#include "relay/passes/retype.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

class RecursionLocalizer {
 public:
  RecursionLocalizer(Module& module, Diagnostics* diagnostics) : module_(module), diagnostics_(diagnostics) {}

  void run(const std::string& name, Function& f) {
    const Var local = module_.fresh(name, nullptr);
    replace_calls(f.body, name, f, local);
    std::map<int, Atom> renamed;
    Function inner = copy_function(module_, f, renamed);
    inner.type_params.clear();
    inner.attrs.clear();
    const Var result = module_.fresh("", f.result_type);
    Call call{local, {f.params.begin(), f.params.end()}, {}};
    f.body = {{{local, MakeFunction{std::move(inner)}, f.location}, {result, std::move(call), f.location}}, result};
  }

 private:
  void replace_calls(Block& block, const std::string& name, const Function& f, const Var& local) {
    auto replace = [&](Atom& a) {
      if (const GlobalRef* global = std::get_if<GlobalRef>(&a); global && global->name == name) a = local;
    };
    for (Binding& b : block.bindings) {
      const Call* call = std::get_if<Call>(&b.op);
      const GlobalRef* callee = call ? std::get_if<GlobalRef>(&call->callee) : nullptr;
      if (callee && callee->name == name) {
        report_changed_sizes(sizes_at_call(dim_pairs(module_, f, call->args)), b.location, diagnostics_);
        report_changed_types(f, *call, b);
      }
      for_each_atom(b.op, replace);
      for_each_block(b.op, [&](Block& inner) { replace_calls(inner, name, f, local); });
    }
    replace(block.result);
  }

  void report_changed_types(const Function& f, const Call& call, const Binding& b) {
    const Type generic = type_of(module_, call.callee);
    const TypeArguments types = type_arguments_at_call(module_, *as<FunctionType>(generic), call.args, b.var->type);
    for (const TypeVariable& v : f.type_params) {
      const auto type = types.find(v.id);
      if (!diagnostics_ || type == types.end() || same_type(type->second, variable_type(v))) continue;
      diagnostics_->error(
          DiagnosticId::unsupported_construct, b.location,
          fmt::format("the recursive call changes the type {} to {}, for which native code would need another function",
                      v.name, str(type->second)),
          {}, "'dlcc run --interpret' runs the program");
    }
  }

  Module& module_;
  Diagnostics* diagnostics_;
};

}  // namespace

Module localize_recursion(Module module, PassContext& context) {
  RecursionLocalizer localizer(module, context.diagnostics);
  bool has_changed = false;
  for (const std::string& name : functions_in_use(module)) {
    Function& f = module.functions.at(name);
    const std::vector<std::string> callees = globals_in(f.body);
    if (std::ranges::find(callees, name) == callees.end()) continue;
    localizer.run(name, f);
    has_changed = true;
  }
  if (has_changed && !(context.diagnostics && context.diagnostics->has_errors())) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
