// Eta expansion: a global function or a constructor that is used as a value becomes a local function that calls it.
// After the pass, globals and constructors are only called, so that later passes know all places of their uses.
//
//   @map(Some, %xs)   becomes   %0 = fn (%x: int32) -> Option[int32] { Some(%x) };  @map(%0, %xs)
//
// Contract: each use has its own function, made where the use is evaluated; making a function has no effect, so the
// result and the order of effects stay. An instance of a generic function is no longer generic: its types are inferred
// from the use.
#include "relay/passes/passes.h"
#include "relay/passes/retype.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

Type without_variables(const FunctionType& generic, const Type& type) {
  return map_leaves(type, &TypeNode::has_variables, [&](const Type& leaf) {
    const TypeVariable& variable = as<VariableType>(leaf)->variable;
    return std::ranges::find(generic.type_params, variable) != generic.type_params.end() ? hole_type() : leaf;
  });
}

class Expander {
 public:
  explicit Expander(Module& module) : module_(module), next_size_(unused_symbol_number(module)) {}

  bool has_changed() const { return has_changed_; }

  void block(Block& block) {
    std::vector<Binding> out;
    out.reserve(block.bindings.size());
    SourceLocation last;
    for (Binding& b : block.bindings) {
      for_each_block(b.op, [&](Block& inner) { this->block(inner); });
      bool callee = std::holds_alternative<Call>(b.op);
      for_each_atom(b.op, [&](Atom& a) {
        if (!std::exchange(callee, false)) expand(a, b.location, out);
      });
      last = b.location;
      out.push_back(std::move(b));
    }
    expand(block.result, last, out);
    block.bindings = std::move(out);
  }

 private:
  void expand(Atom& atom, const SourceLocation& location, std::vector<Binding>& out) {
    if (!std::holds_alternative<GlobalRef>(atom) && !std::holds_alternative<ConstructorRef>(atom)) return;
    has_changed_ = true;
    const Type type = with_new_sizes(type_of(module_, atom));
    const FunctionType& signature = *as<FunctionType>(type);
    Function function;
    Call call{atom, {}, {}};
    for (const Type& param : signature.params) {
      function.params.push_back(module_.fresh("x", without_variables(signature, param)));
      call.args.emplace_back(function.params.back());
    }
    function.result_type = without_variables(signature, signature.result);
    function.location = location;
    Var result = module_.fresh("");
    function.body.bindings.push_back({result, std::move(call), location});
    function.body.result = result;
    Var expanded = module_.fresh("");
    out.push_back({expanded, MakeFunction{std::move(function)}, location});
    atom = expanded;
  }

  // The sizes of a function of the module are other ones than those of equal names where it is used.
  Type with_new_sizes(const Type& type) {
    std::map<std::string, Dim> sizes;
    for_each_symbol(type, [&](const Symbol& s) {
      if (s.name != "?" && !sizes.contains(s.name))
        sizes.emplace(s.name, Dim::symbol({fmt::format("?{}", next_size_++), s.low, s.high}));
    });
    return sizes.empty() ? type : substitute(type, sizes);
  }

  Module& module_;
  int next_size_;
  bool has_changed_ = false;
};

}  // namespace

Module eta_expand(Module module, PassContext& context) {
  Expander expander(module);
  for (auto& [name, f] : module.functions) expander.block(f.body);
  if (expander.has_changed()) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
