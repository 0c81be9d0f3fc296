// A call whose result has sizes that data decide becomes the definition of symbols for these sizes, and a call of a
// tensor function whose result has them:
//
//   %r: Tensor[(?1, 2), f32] = prefix(%x, %n)          %d = define_sizes(%n, (?1), (8))
//                                                      %r = call_tensor(@prefix, %x)
//
// OperatorSpec::largest_sizes says for which operators, and gives the bounds.
#include <set>

#include "relay/call_type.h"
#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"

namespace dlcc::relay {

namespace {

class SizeDefiner {
 public:
  explicit SizeDefiner(Module& module) : module_(module), names_(module) {}

  void run(Function& f) {
    known_.clear();
    for (const Var& p : f.params) see(p->type);
    block(f.body);
  }

 private:
  void see(const Type& type) {
    for_each_symbol(type, [&](const Symbol& s) { known_.insert(s.name); });
  }

  void block(Block& b) {
    std::vector<Binding> out;
    out.reserve(b.bindings.size());
    for (Binding& binding : b.bindings) {
      if (auto* closure = std::get_if<MakeFunction>(&binding.op))
        for (const Var& p : closure->function->params) see(p->type);
      for_each_block(binding.op, [&](Block& inner) { block(inner); });
      if (const auto* sizes = std::get_if<DefineSizes>(&binding.op))
        for (const Symbol& s : sizes->symbols) known_.insert(s.name);
      define(binding, out);
      see(binding.var->type);
      out.push_back(std::move(binding));
    }
    b.bindings = std::move(out);
  }

  // The unknown sizes of a call's result in order: the symbols in place of each "?" in the type that the operator
  // gives.
  std::vector<Symbol> unknown_sizes(const Type& given, const Type& result) const {
    std::vector<const TensorType*> given_fields, fields;
    for_each_field(given, [&](const Type& t) { given_fields.push_back(as<TensorType>(t)); });
    for_each_field(result, [&](const Type& t) { fields.push_back(as<TensorType>(t)); });
    std::vector<Symbol> symbols;
    for (size_t k = 0; k < std::min(fields.size(), given_fields.size()); ++k)
      for (size_t d = 0; d < fields[k]->shape.size(); ++d) {
        if (!(given_fields[k]->shape[d] == unknown_dim())) continue;
        const std::vector<Symbol> in_axis = fields[k]->shape[d].symbols();
        if (in_axis.size() != 1 || !(fields[k]->shape[d] == Dim::symbol(in_axis[0])) ||
            known_.contains(in_axis[0].name))
          return {};  // a declared size: a requirement of the definition
        symbols.push_back(in_axis[0]);
      }
    return symbols;
  }

  void define(Binding& binding, std::vector<Binding>& out) {
    const Call* call = std::get_if<Call>(&binding.op);
    const OperatorRef* ref = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
    if (!ref || !ref->op->largest_sizes) return;
    Operands operands;
    for (const Atom& a : call->args) operands.push_back(*as<TensorType>(type_of(module_, a)));
    const TypeResult given = ref->op->type(call->attrs, operands);
    const Type* type = std::get_if<Type>(&given);
    const std::vector<Symbol> symbols = type ? unknown_sizes(*type, binding.var->type) : std::vector<Symbol>();
    if (symbols.empty()) return;
    const std::vector<Dim> most = ref->op->largest_sizes(call->attrs, operands);
    Atom sizes = call->args.back();
    if (operands.back().dtype != dtype::i64) {
      const Var wide = module_.fresh("sizes", tensor_type(operands.back().shape, dtype::i64));
      out.push_back({wide, Call{OperatorRef{op("cast")}, {sizes}, {{"dtype", "int64"}}}, binding.location});
      sizes = wide;
    }
    out.push_back({module_.fresh("", tuple_type({})), DefineSizes{sizes, symbols, most}, binding.location});
    binding.op = with_attributes(*ref->op, *call, operands, symbols, most);
  }

  // The call whose sizes are an attribute instead of an operand.
  CallTensor with_attributes(const Operator& op, const Call& call, Operands operands,
                             const std::vector<Symbol>& symbols, const std::vector<Dim>& most) {
    auto elements = std::make_shared<tensor::SymbolicTensor>();
    elements->shape = {static_cast<int64_t>(symbols.size())};
    for (size_t k = 0; k < symbols.size(); ++k)
      elements->elements.emplace_back(Dim::symbol({symbols[k].name, 0, most[k].constant().value_or(symbols[k].high)}));
    operands.back().value = elements;
    const auto typed = std::get<TypedCall>(type_call(op, call.attrs, operands));
    operands.pop_back();
    return names_.add(op.short_name(), op.compute_as(typed.attrs, operands, typed.type),
                      {call.args.begin(), call.args.end() - 1});
  }

  Module& module_;
  TensorFunctionNames names_;
  std::set<std::string> known_;  // symbols that are defined before the current binding
};

}  // namespace

Module define_sizes(Module module, PassContext&) {
  SizeDefiner definer(module);
  for (auto& [name, f] : module.functions) definer.run(f);
  return module;
}

}  // namespace dlcc::relay
