// A call whose result has sizes that data decide becomes the computation of these sizes, the definition of symbols for
// them, and a tensor function of a result with these symbols:
//
//   %r: Tensor[(?1, 2), f32] = prefix(%x, %n)          %n1 = call_tensor(@prefix_sizes, %n)
//                                                      %d = define_sizes(%n1, (?1), (8))
//                                                      %r = call_tensor(@prefix, %x, %n)
//
// Operators say in OperatorSpec::sizes how such sizes are computed.
#include <set>

#include "relay/call_type.h"
#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "tensor/analysis.h"

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
      if (const auto* tuple = std::get_if<MakeTuple>(&binding.op)) tuples_[binding.var->id] = tuple->fields;
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

  std::optional<std::vector<Atom>> tensors(const Call& call, const Operator& op) const {
    if (!op.variadic) return call.args;
    const Var* tuple = std::get_if<Var>(&call.args[0]);
    auto it = tuple ? tuples_.find((*tuple)->id) : tuples_.end();
    return it == tuples_.end() ? std::nullopt : std::optional(it->second);
  }

  void define(Binding& binding, std::vector<Binding>& out) {
    const Call* call = std::get_if<Call>(&binding.op);
    const OperatorRef* ref = call ? std::get_if<OperatorRef>(&call->callee) : nullptr;
    if (!ref || !ref->op->sizes) return;
    const auto args = tensors(*call, *ref->op);
    if (!args) return;
    Operands operands;
    for (const Atom& a : *args) operands.push_back(*as<TensorType>(type_of(module_, a)));
    const TypeResult given = ref->op->type(call->attrs, operands);
    const Type* type = std::get_if<Type>(&given);
    const std::vector<Symbol> symbols = type ? unknown_sizes(*type, binding.var->type) : std::vector<Symbol>();
    if (symbols.empty()) return;
    DataSizes sizes = ref->op->sizes(call->attrs, operands);
    const std::string stem = ref->op->name.substr(ref->op->name.rfind('.') + 1);
    Atom values = args->back();
    if (!sizes.are_elements || operands.back().dtype != dtype::i64) {
      const auto count = static_cast<int64_t>(symbols.size());
      const Var computed = module_.fresh(stem + "_sizes", tensor_type(Shape{Dim(count)}, dtype::i64));
      out.push_back({computed, add(stem + "_sizes", std::move(sizes.function), *args), binding.location});
      values = computed;
    }
    out.push_back({module_.fresh("", tuple_type({})), DefineSizes{values, symbols, sizes.most}, binding.location});
    binding.op = sizes.are_elements ? with_attributes(stem, *ref->op, *call, operands, symbols, sizes.most)
                                    : add(stem, ref->op->compute_as(call->attrs, operands, binding.var->type), *args);
  }

  // The call whose sizes are an attribute instead of an operand.
  CallTensor with_attributes(const std::string& stem, const Operator& op, const Call& call, Operands operands,
                             const std::vector<Symbol>& symbols, const std::vector<Dim>& most) {
    auto elements = std::make_shared<tensor::SymbolicTensor>();
    elements->shape = {static_cast<int64_t>(symbols.size())};
    for (size_t k = 0; k < symbols.size(); ++k)
      elements->elements.emplace_back(Dim::symbol({symbols[k].name, 0, most[k].constant().value_or(symbols[k].high)}));
    operands.back().value = elements;
    auto typed = std::get<TypedCall>(type_call(op, call.attrs, operands));
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(typed.operands), operands.end());
    const std::vector<Atom> args(call.args.begin(), call.args.begin() + static_cast<std::ptrdiff_t>(typed.operands));
    return add(stem, op.compute_as(typed.attrs, operands, typed.type), args);
  }

  // A call of a new tensor function with the operands that it reads.
  CallTensor add(const std::string& stem, tensor::TensorFunction f, std::vector<Atom> args) {
    f.name = names_.unused(stem);
    for (size_t k = args.size(); k-- > 0;) {
      const tensor::Buffer param = f.params[k];
      if (std::ranges::any_of(f.stages, [&](const tensor::Stage& s) { return tensor::reads(s, param); })) continue;
      f.params.erase(f.params.begin() + static_cast<std::ptrdiff_t>(k));
      args.erase(args.begin() + static_cast<std::ptrdiff_t>(k));
    }
    CallTensor call{f.name, std::move(args), {}};
    module_.tensor_functions.emplace(call.function, std::move(f));
    return call;
  }

  Module& module_;
  TensorFunctionNames names_;
  std::set<std::string> known_;              // symbols that are defined before the current binding
  std::map<int, std::vector<Atom>> tuples_;  // the fields of tuples, by variable
};

}  // namespace

Module define_sizes(Module module, PassContext&) {
  SizeDefiner definer(module);
  for (auto& [name, f] : module.functions) definer.run(f);
  return module;
}

}  // namespace dlcc::relay
