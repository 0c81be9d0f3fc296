#include "lower/shared_functions.h"

namespace dlcc::lower {
namespace {

bool has_only_tensors(const relay::Type& type) {
  bool only_tensors = true;
  relay::for_each_field(type,
                        [&](const relay::Type& t) { only_tensors &= relay::as<relay::TensorType>(t) != nullptr; });
  return only_tensors;
}

bool has_fields(const relay::Type& type) {
  bool any = false;
  relay::for_each_field(type, [&](const relay::Type&) { any = true; });
  return any;
}

void scan(const relay::Module& module, const relay::Block& block, relay::SharedCalls::Body& body) {
  for (const relay::Binding& b : block.bindings) {
    body.operations += std::holds_alternative<relay::CallTensor>(b.op);
    body.can_be_called &= !std::holds_alternative<relay::DefineSizes>(b.op);
    const auto* branch = std::get_if<relay::If>(&b.op);
    if (branch) body.can_be_called &= !relay::defines_sizes(module, *branch);
    const auto* call = std::get_if<relay::Call>(&b.op);
    const auto* callee = call ? std::get_if<relay::GlobalRef>(&call->callee) : nullptr;
    if (callee) body.calls.push_back(specialization_of(callee->name, call->args));
    relay::for_each_block(b.op, [&](const relay::Block& inner) { scan(module, inner, body); });
  }
}

}  // namespace

relay::Specialization specialization_of(const std::string& function, const std::vector<relay::Atom>& args) {
  std::string constants;
  for (size_t k = 0; k < args.size(); ++k)
    if (const auto* c = std::get_if<Constant>(&args[k])) constants += fmt::format("{}: {:016x} ", k, c->hash());
  return {function, constants};
}

relay::SharedCalls shared_functions(const relay::Module& module) {
  std::map<std::string, relay::SharedCalls::Body> bodies;
  for (const auto& [name, f] : module.functions) {
    relay::SharedCalls::Body& body = bodies[name];
    for (const relay::Var& p : f.params) body.can_be_called &= has_only_tensors(p->type);
    body.can_be_called &= has_only_tensors(f.result_type) && has_fields(f.result_type);
    scan(module, f.body, body);
  }
  return {bodies, "main"};
}

}  // namespace dlcc::lower
