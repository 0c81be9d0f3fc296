#include "relay/passes/inline_call.h"

#include <algorithm>
#include <utility>

#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

CallInliner::CallInliner(Module& module) : module_(module), next_size_(unused_symbol_number(module)) {}

Atom CallInliner::inline_call(const Function& callee, const Call& call, const Binding& b, std::vector<Binding>& out) {
  static const std::set<std::string> none;
  return copy_body(callee, std::holds_alternative<GlobalRef>(call.callee) ? &none : nullptr, call, b, out);
}

Atom CallInliner::inline_local(const Function& callee, const std::set<std::string>& visible, const Call& call,
                               const Binding& b, std::vector<Binding>& out) {
  return copy_body(callee, &visible, call, b, out);
}

Atom CallInliner::copy_body(const Function& callee, const std::set<std::string>* visible, const Call& call,
                            const Binding& b, std::vector<Binding>& out) {
  std::map<int, Atom> renamed;
  std::vector<Type> params;
  for (size_t k = 0; k < call.args.size(); ++k) {
    renamed[callee.params[k]->id] = call.args[k];
    params.push_back(callee.params[k]->type);
  }
  TypeArguments types = type_arguments_at_call(module_, *as<FunctionType>(function_type(params, callee.result_type)),
                                               call.args, b.var->type);
  for (const TypeVariable& v : callee.type_params) types.emplace(v.id, hole_type());
  Block body = clone(module_, callee.body, renamed);
  if (visible) {
    std::vector<DimPair> pairs = dim_pairs(module_, callee, call.args);
    add_dim_pairs(callee.result_type, b.var->type, pairs);
    std::map<std::string, Dim> sizes = sizes_of(pairs, *visible, body);
    substitute_sizes(body, sizes);
    for (const std::string& name : sizes_of_function_values(callee)) sizes.erase(name);
    if (auto distances = distances_from_lower_bounds(callee, sizes); !distances.empty())
      out.push_back({module_.fresh("sizes", tuple_type({})), RequireSizes{std::move(distances)}, b.location});
  }
  for_each_type(body, [&](Type& type) { type = with_arguments(type, types); });
  std::ranges::move(body.bindings, std::back_inserter(out));
  return std::move(body.result);
}

Function CallInliner::copy_local(const Function& callee, const std::set<std::string>& visible,
                                 const std::vector<DimPair>& pairs, std::map<int, Atom>& renamed) {
  Function copy = copy_function(module_, callee, renamed);
  const std::map<std::string, Dim> sizes = sizes_of(pairs, visible, copy);
  for (const Var& p : copy.params) p->type = substitute(p->type, sizes);
  copy.result_type = substitute(copy.result_type, sizes);
  substitute_sizes(copy.body, sizes);
  return copy;
}

// The sizes of the symbols in the copy of a function or of its body: those that the caller knows, else new ones.
template <class FunctionOrBlock>
std::map<std::string, Dim> CallInliner::sizes_of(const std::vector<DimPair>& pairs,
                                                 const std::set<std::string>& visible, FunctionOrBlock& copy) {
  std::map<std::string, Dim> sizes = sizes_at_call(pairs);
  std::erase_if(sizes, [&](const auto& size) { return visible.contains(size.first); });
  auto add = [&](const Symbol& s) {
    if (s.name != "?" && !visible.contains(s.name) && !sizes.contains(s.name))
      sizes.emplace(s.name, Dim::symbol({fmt::format("?{}", next_size_++)}));
  };
  for_each_type(copy, [&](Type& type) { for_each_symbol(type, add); });
  return sizes;
}

}  // namespace dlcc::relay
