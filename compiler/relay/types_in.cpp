#include "relay/types_in.h"

#include <algorithm>

#include "relay/type_arguments.h"

namespace dlcc::relay {

void for_each_variable(const Pattern& pattern, const std::function<void(const Var&)>& visit) {
  auto fields = [&](const std::vector<Pattern>& list) {
    for (const Pattern& p : list) for_each_variable(p, visit);
  };
  std::visit(overloaded{[](const Pattern::Wildcard&) {}, [&](const Pattern::Bind& p) { visit(p.var); },
                        [&](const Pattern::Constructor& p) { fields(p.fields); },
                        [&](const Pattern::Tuple& p) { fields(p.fields); }},
             pattern.v);
}

void for_each_type(Block& block, const std::function<void(Type&)>& visit) {
  for (Binding& b : block.bindings) {
    visit(b.var->type);
    if (MatchCast* cast = std::get_if<MatchCast>(&b.op)) visit(cast->type);
    if (Match* match = std::get_if<Match>(&b.op))
      for (const Clause& c : match->clauses) for_each_variable(c.pattern, [&](const Var& v) { visit(v->type); });
    if (MakeFunction* made = std::get_if<MakeFunction>(&b.op))
      for_each_type(*made->function, visit);
    else
      for_each_block(b.op, [&](Block& inner) { for_each_type(inner, visit); });
  }
}

void for_each_type(Function& function, const std::function<void(Type&)>& visit) {
  for (const Var& p : function.params) visit(p->type);
  visit(function.result_type);
  for_each_type(function.body, visit);
}

TypeLimits limits_of_types(Module& module) {
  TypeLimits written{0, 0}, limits;
  auto see = [&](const Type& type) {
    ++limits.depth;
    ++limits.size;
    if (!type) return;
    written.depth = std::max(written.depth, type->depth);
    written.size = std::max(written.size, type->size);
  };
  for (auto& [name, f] : module.functions) for_each_type(f, see);
  for (const auto& [name, def] : module.data_types)
    for (const ConstructorDef& c : def.constructors) std::ranges::for_each(c.fields, see);
  return {limits.depth + written.depth, limits.size + written.size};
}

static void for_each_dim(const AttrValue& value, const std::function<void(const Dim&)>& visit) {
  if (const AttrList* list = std::get_if<AttrList>(&value.v))
    for (const AttrValue& item : *list) for_each_dim(item, visit);
  if (const Dim* dim = std::get_if<Dim>(&value.v)) visit(*dim);
}

void for_each_dim(const Block& block, const std::function<void(const Dim&)>& visit) {
  for (const Binding& b : block.bindings) {
    if (const Call* call = std::get_if<Call>(&b.op))
      for (const auto& [key, value] : call->attrs) for_each_dim(value, visit);
    if (const DefineSizes* sizes = std::get_if<DefineSizes>(&b.op))
      for (const Dim& d : sizes->most) visit(d);
    if (const RequireSizes* required = std::get_if<RequireSizes>(&b.op))
      for (const Dim& d : required->sizes) visit(d);
    for_each_block(b.op, [&](const Block& inner) { for_each_dim(inner, visit); });
  }
}

int unused_symbol_number(Module& module) {
  int next = 1;
  for (auto& [name, f] : module.functions)
    for_each_type(f, [&](Type& type) {
      for_each_symbol(type, [&](const Symbol& s) { next = std::max(next, 1 + number_of(s)); });
    });
  return next;
}

void for_each_defined_symbol(const Block& block, const std::function<void(const Symbol&)>& visit) {
  for (const Binding& b : block.bindings) {
    if (const DefineSizes* sizes = std::get_if<DefineSizes>(&b.op)) std::ranges::for_each(sizes->symbols, visit);
    for_each_block(b.op, [&](const Block& inner) { for_each_defined_symbol(inner, visit); });
  }
}

void add_symbols(const Type& type, std::set<std::string>& names) {
  if (type && !as<FunctionType>(type)) for_each_symbol(type, [&](const Symbol& s) { names.insert(s.name); });
}

static void substitute_sizes(AttrValue& value, const std::map<std::string, Dim>& sizes) {
  if (AttrList* list = std::get_if<AttrList>(&value.v))
    for (AttrValue& item : *list) substitute_sizes(item, sizes);
  const Dim* dim = std::get_if<Dim>(&value.v);
  if (!dim) return;
  const Dim size = dim->substitute(sizes);
  if (size.is_constant())
    value.v = size.value();
  else
    value.v = size;
}

static void substitute_in_operations(Block& block, const std::map<std::string, Dim>& sizes) {
  for (Binding& b : block.bindings) {
    if (Call* call = std::get_if<Call>(&b.op))
      for (auto& [key, value] : call->attrs) substitute_sizes(value, sizes);
    if (DefineSizes* defined = std::get_if<DefineSizes>(&b.op)) {
      for (Dim& d : defined->most) d = d.substitute(sizes);
      for (Symbol& s : defined->symbols) {
        const std::vector<Symbol> renamed = Dim::symbol(s).substitute(sizes).symbols();
        DLCC_CHECK(renamed.size() == 1, "the symbol {} is defined", s.name);
        s = renamed[0];
      }
    }
    if (RequireSizes* required = std::get_if<RequireSizes>(&b.op))
      for (Dim& d : required->sizes) d = d.substitute(sizes);
    for_each_block(b.op, [&](Block& inner) { substitute_in_operations(inner, sizes); });
  }
}

void substitute_sizes(Block& block, const std::map<std::string, Dim>& sizes) {
  if (sizes.empty()) return;
  for_each_type(block, [&](Type& type) { type = substitute(type, sizes); });
  substitute_in_operations(block, sizes);
}

Function copy_function(Module& module, const Function& function, std::map<int, Atom>& renamed) {
  Function copy{function.type_params, {}, function.result_type, {}, function.attrs, function.location,
                function.result_range};
  for (const Var& p : function.params) {
    Var fresh = module.fresh(p->name, p->type);
    fresh->attrs = p->attrs;
    renamed[p->id] = fresh;
    copy.params.push_back(std::move(fresh));
  }
  copy.body = clone(module, function.body, renamed);
  return copy;
}

Module copy_with_own_variables(const Module& module) {
  Module copy = module;
  for (auto& [name, function] : copy.functions) {
    std::map<int, Atom> renamed;
    function = copy_function(copy, function, renamed);
  }
  return copy;
}

bool can_infer_types(const Module& module) {
  Module copy = copy_with_own_variables(module);
  Diagnostics errors;
  return infer_types(copy, errors);
}

}  // namespace dlcc::relay
