// Holes and symbols of type inference, and the queue of type relations that wait for holes.
#include <algorithm>

#include "relay/inference.h"

namespace dlcc::relay {

// ---- holes and symbols ----------------------------------------------------------------------------------------------

Type Inference::open_holes(const Type& type) {
  return map_leaves(type, &TypeNode::has_holes,
                    [&](const Type& leaf) { return as<HoleType>(leaf)->id == 0 ? unifier_.fresh() : leaf; });
}

Dim Inference::fresh_symbol() {
  std::string name = fmt::format("?{}", next_symbol_++);
  symbols_.insert(name);
  return Dim::symbol({name});
}

// Calls `map` for the tensor types in a type, with the answer whether they are in data or in the result of a function
// type: there a "?" is another size in each value.
Type Inference::map_tensors(const Type& type, bool is_each,
                            const std::function<Type(const TensorType&, bool)>& map) const {
  if (!has_symbols(type)) return type;
  auto all = [&](const std::vector<Type>& list, bool are_each) {
    std::vector<Type> mapped;
    for (const Type& t : list) mapped.push_back(map_tensors(t, are_each, map));
    return mapped;
  };
  if (const TupleType* t = as<TupleType>(type)) return tuple_type(all(t->fields, is_each));
  if (const DataType* t = as<DataType>(type))
    return data_type(t->name, all(t->args, is_each || may_forget_sizes(t->name)));
  if (const RefType* t = as<RefType>(type)) return ref_type(map_tensors(t->value, is_each, map));
  if (const FunctionType* f = as<FunctionType>(type))
    return function_type(all(f->params, is_each), map_tensors(f->result, true, map), f->type_params);
  return map_leaves(type, &TypeNode::has_symbols,
                    [&](const Type& leaf) { return map(*as<TensorType>(leaf), is_each); });
}

Type Inference::open_symbols(const Type& type, const std::function<bool(const std::string&)>& quantified) {
  std::map<std::string, Dim> opened;  // one symbol per name; each "?" is a symbol of its own
  return map_tensors(type, false, [&](const TensorType& t, bool is_each) {
    Shape shape = t.shape;
    for (Dim& d : shape) {
      opened.erase("?");
      for (const Symbol& s : d.symbols())
        if (quantified(s.name) && !opened.contains(s.name) && !(is_each && s.name == "?"))
          opened.emplace(s.name, fresh_symbol());
      d = d.substitute(opened);
    }
    return with_shape(t, std::move(shape));
  });
}

// The type with "?" in place of these sizes in data.
Type Inference::with_any_sizes_in_data(const Type& type, const std::set<std::string>& sizes) const {
  return map_tensors(type, false, [&](const TensorType& t, bool is_each) {
    Shape shape = t.shape;
    for (Dim& d : shape)
      if (is_each && std::ranges::any_of(d.symbols(), [&](const Symbol& s) { return sizes.contains(s.name); }))
        d = unknown_dim();
    return with_shape(t, std::move(shape));
  });
}

void Inference::enter_symbols(const Type& type) {
  for_each_symbol(type, [&](const Symbol& s) {
    if (!value_symbols_.contains(s.name)) symbols_.insert(s.name);
  });
}

// ---- the queue ------------------------------------------------------------------------------------------------------

void Inference::relate(Attempt attempt, const SourceLocation& location, std::string what, Instance* instance) {
  int hole = attempt();
  if (hole == 0) return;
  waiting_[hole].push_back(static_cast<int>(relations_.size()));
  relations_.push_back({std::move(attempt), location, std::move(what), scope_, instance});
}

void Inference::retry_relations() {
  for (std::vector<int> filled = unifier_.take_filled(); !filled.empty(); filled = unifier_.take_filled()) {
    for (int hole : filled) {
      auto it = waiting_.find(hole);
      if (it == waiting_.end()) continue;
      std::vector<int> ready = std::move(it->second);
      waiting_.erase(it);
      for (int r : ready) {
        Attempt attempt = relations_[r].attempt;
        const int outer_scope = std::exchange(scope_, relations_[r].scope);
        int blocked = attempt();
        scope_ = outer_scope;
        if (blocked)
          waiting_[blocked].push_back(r);
        else
          relations_[r].decided = true;
      }
    }
  }
}

void Inference::report_open_relations() {
  for (const Relation& r : relations_)
    if (!r.decided && scopes_.is_live(r.scope))
      fail(DiagnosticId::cannot_infer, r.location,
           fmt::format("the type of {} cannot be inferred: an operand's type is not known", r.what), {},
           "annotate the parameter it comes from, e.g. %x: Tensor[(2, 3), float32]");
}

}  // namespace dlcc::relay
