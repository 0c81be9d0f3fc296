// Functions without types that nothing uses. The holes that remain in the type of such a function are its type
// variables, as in a principal type (Damas and Milner 1982). If a type relation waits for one of them, the function has
// a type for each solution, and none of its own: it is left out.
#include <algorithm>

#include "relay/inference.h"
#include "relay/type_arguments.h"

namespace dlcc::relay {

namespace {

// Adds the holes in a type; false if a shape or an element type is one, for which there is no variable in the end.
bool add_holes(const Type& type, std::vector<int>& holes) {
  if (!type || as<OpenTensorType>(type)) return false;
  if (const HoleType* hole = as<HoleType>(type); hole && std::ranges::find(holes, hole->id) == holes.end())
    holes.push_back(hole->id);
  return std::ranges::all_of(parts_of(type), [&](const Type& part) { return add_holes(part, holes); });
}

}  // namespace

// Functions come after those that they use, so that the ones around a function are visited before it.
void Inference::settle_unused_functions() {
  for (auto t = templates_.rbegin(); t != templates_.rend(); ++t) {
    Template& unused = **t;
    const bool is_open = !unused.is_replaced && unused.function && scopes_.is_live(unused.scope);
    if (!is_open || !has_holes(*unused.function) || generalize(unused)) continue;
    unused.is_replaced = true;
    scopes_.drop(unused.scope);
    diagnostics_.warning(DiagnosticId::cannot_infer, unused.function->location,
                         fmt::format("{} is left out: nothing uses it, and its operators need to know the types of its "
                                     "parameters",
                                     describe(unused.name)),
                         {}, "annotate the parameters, such as %x: Tensor[(n), float32]");
  }
}

// Makes type variables of the holes in the function's type; false if a relation waits for one.
bool Inference::generalize(Template& unused) {
  for (const Relation& r : relations_)
    if (!r.decided && scopes_.is_live(r.scope) && scopes_.is_within(r.scope, unused.scope)) return false;
  Function& function = *unused.function;
  std::vector<int> holes;
  for (const Var& p : function.params)
    if (!add_holes(unifier_.resolve(p->type), holes)) return false;
  if (!add_holes(unifier_.resolve(function.result_type), holes)) return false;
  for (const int hole : holes) {
    const TypeVariable variable{module_.next_id++, fmt::format("A{}", ++generalized_)};
    unifier_.unify(hole_type(hole), variable_type(variable));
    function.type_params.push_back(variable);
  }
  if (const Var* var = std::get_if<Var>(&unused.name)) {
    const FunctionType& type = *as<FunctionType>(unifier_.shallow((*var)->type));
    (*var)->type = function_type(type.params, type.result, function.type_params);
  }
  return true;
}

}  // namespace dlcc::relay
