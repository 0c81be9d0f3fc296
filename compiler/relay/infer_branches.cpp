// Type inference of `if` and `match`: patterns, and the type of values that come from one of several branches.
#include <algorithm>

#include "relay/inference.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

Type Inference::infer(Binding& binding, If& op) {
  Type condition = type_of(op.condition, binding.location);
  if (!unifier_.unify(condition, tensor_type(Shape{}, dtype::boolean)))
    mismatch(binding.location, "the condition of `if`", tensor_type(Shape{}, dtype::boolean), condition);
  std::vector<Branch> branches;
  branches.push_back(infer_branch(*op.then_block, binding.location));
  branches.push_back(infer_branch(*op.else_block, binding.location));
  const Type joined = join(branches, binding.location, "branches of `if`");
  const KnownValue condition_value = values_.of(op.condition);
  if (!condition_value || !condition_value->is_constant()) return joined;
  return branches[*condition_value->elements[0] == Dim(0) ? 1 : 0].type;
}

Type Inference::infer(Binding& binding, Match& op) {
  const Type value = type_of(op.value, binding.location);
  if (op.clauses.empty())
    return fail(DiagnosticId::type_mismatch, binding.location, "this match has no arm, which would tell its type", {},
                "write an arm for each constructor: match (%x) { Cons(%y, _) => ..., Nil => ... }");
  std::vector<Branch> arms;
  for (Clause& clause : op.clauses) {
    std::map<std::string, Dim> names;
    bind_pattern(clause.pattern, value, next_symbol_, names, binding.location);
    arms.push_back(infer_branch(*clause.body, binding.location));
  }
  return join(arms, binding.location, "arms of `match`");
}

// ---- patterns -------------------------------------------------------------------------------------------------------

// The type of a value that a pattern takes out of data: a new symbol replaces each "?" in tensors and tuples of them.
Type Inference::open_sizes(const Type& type) {
  const Type t = unifier_.shallow(type);
  if (as<TensorType>(t)) return open_symbols(t, [](const std::string& symbol) { return symbol == "?"; });
  const TupleType* tuple = as<TupleType>(t);
  if (!tuple) return type;
  std::vector<Type> fields;
  for (const Type& field : tuple->fields) fields.push_back(open_sizes(field));
  return fields == tuple->fields ? t : tuple_type(std::move(fields));
}

// Symbols from number `first_symbol` on are new in the pattern. `names` has the names that its variables give them.
void Inference::bind_pattern(Pattern& pattern, const Type& type, int first_symbol, std::map<std::string, Dim>& names,
                             const SourceLocation& match) {
  const SourceLocation location = match.within(pattern.range);
  std::visit(overloaded{[](Pattern::Wildcard&) {},
                        [&](Pattern::Bind& p) {
                          Type value = open_sizes(type);
                          const Type annotation = p.var->type ? open_holes(p.var->type) : value;
                          const Type accepted = name_new_symbols(value, annotation, first_symbol, names);
                          if (const Type known = names.empty() ? nullptr : unifier_.resolve(value))
                            value = substitute(known, names);
                          if (!unifier_.unify(value, accepted))
                            mismatch(location, fmt::format("the pattern %{}", p.var->name), annotation, value);
                          p.var->type = value;
                          enter_symbols(value);
                        },
                        [&](Pattern::Constructor& p) { bind_constructor(p, type, first_symbol, names, location); },
                        [&](Pattern::Tuple& p) {
                          std::vector<Type> fields;
                          for (size_t i = 0; i < p.fields.size(); ++i) fields.push_back(unifier_.fresh());
                          if (!unifier_.unify(type, tuple_type(fields)))
                            mismatch(location, "the matched value", tuple_type(fields), type);
                          for (size_t i = 0; i < p.fields.size(); ++i)
                            bind_pattern(p.fields[i], fields[i], first_symbol, names, location);
                        }},
             pattern.v);
}

void Inference::bind_constructor(Pattern::Constructor& p, const Type& type, int first_symbol,
                                 std::map<std::string, Dim>& names, const SourceLocation& location) {
  const Constructors::Entry* known = constructors_.find(p.name);
  if (!known) {
    fail(DiagnosticId::undefined_value, location, fmt::format("there is no constructor {}", p.name));
    return;
  }
  // Each value has its own sizes in place of the symbols in the data type's definition.
  Type constructor = instantiate(
      *as<FunctionType>(open_symbols(relay::type_of(*known), [](const std::string& s) { return s != "?"; })), location);
  const FunctionType& f = *as<FunctionType>(constructor);
  if (f.params.size() != p.fields.size()) {
    fail(DiagnosticId::wrong_arity, location,
         fmt::format("the pattern {} has {} fields, the constructor has {}", p.name, p.fields.size(), f.params.size()));
    return;
  }
  if (!unifier_.unify(type, f.result))
    mismatch(location, fmt::format("the value matched with {}", p.name), f.result, type);
  for (size_t i = 0; i < p.fields.size(); ++i) bind_pattern(p.fields[i], f.params[i], first_symbol, names, location);
}

// ---- branches that meet ---------------------------------------------------------------------------------------------

Inference::Branch Inference::infer_branch(Block& block, const SourceLocation& outer) {
  const std::map<std::string, Dim> known_names = known_names_;  // a branch's own ones mean nothing outside of it
  Type type = infer_block(block);
  known_names_ = known_names;
  if (block.range.line > 0) return {&block, std::move(type), outer.within(block.range)};
  return {&block, std::move(type), block.bindings.empty() ? SourceLocation() : block.bindings.back().location};
}

// The type of a value that comes from one of the branches. Where one of them is a function of any size and another one
// is not, its value becomes a function of the other one's size. Data in which sizes differ become data of any sizes.
Type Inference::join(std::vector<Branch>& branches, const SourceLocation& location, const std::string& what) {
  Branch joined = branches[0];
  for (size_t k = 1; k < branches.size(); ++k) joined.type = join(joined, branches[k], location, what);
  for (Branch& branch : branches) {
    if (!has_other_sizes(branch.type, joined.type)) continue;
    std::vector<Binding>* outer = std::exchange(out_, &branch.block->bindings);
    fix_sizes(branch.block->result, branch.type, joined.type, location);
    branch.type = joined.type;
    out_ = outer;
  }
  return joined.type;
}

// New names for sizes that are any size in one of two functions and fixed in their joined type. In
//
//   fn (fn (Tensor[(j)]) -> Tensor[(j)], Tensor[(m)]) -> ...    each call of the parameter finds its own j,
//   fn (fn (Tensor[(k)]) -> Tensor[(k)], Tensor[(k)]) -> ...    and here k is the size of the tensor:
//
// the joined type is the second one, and must not have the name j for its size.
std::map<std::string, Dim> Inference::names_of_fixed_sizes(const FunctionType& one, const FunctionType& other,
                                                           const FunctionType& joined) {
  std::set<std::string> fixed = sizes_of_values_in(one);
  fixed.merge(sizes_of_values_in(other));
  for (const std::string& name : sizes_of_values_in(joined)) fixed.erase(name);
  std::map<std::string, Dim> names;
  for (const std::string& name : fixed) {
    const Dim size = fresh_symbol();
    closure_symbols_.insert(*plain_symbol(size));
    names.emplace(name, size);
  }
  return names;
}

// The type of data with "?" for the sizes in which two types differ; null if they differ in other parts.
Type Inference::join_data(const Type& a, const Type& b) {
  const Type left = unifier_.shallow(a), right = unifier_.shallow(b);
  std::vector<Type> parts = parts_of(left), others = parts_of(right);
  const DataType *data = as<DataType>(left), *other_data = as<DataType>(right);
  const bool is_data = data && other_data && data->name == other_data->name && may_forget_sizes(data->name);
  if (is_data || (as<TupleType>(left) && as<TupleType>(right) && parts.size() == others.size())) {
    for (size_t k = 0; k < parts.size(); ++k)
      if (parts[k] = join_data(parts[k], others[k]); !parts[k]) return nullptr;
    return is_data ? data_type(data->name, std::move(parts)) : tuple_type(std::move(parts));
  }
  const TensorType *x = as<TensorType>(left), *y = as<TensorType>(right);
  if (!x || !y || !same_element_type(*x, *y) || x->shape.size() != y->shape.size())
    return unifier_.unify(left, right) ? left : nullptr;
  Shape shape = x->shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != y->shape[i]) shape[i] = unknown_dim();
  return with_shape(*x, std::move(shape));
}

// Sizes in which two branches differ are new symbols in the joined type; in the result of a function that they give,
// such a size is "?", another one at each call.
Type Inference::join(const Branch& a, const Branch& b, const SourceLocation& location, const std::string& what,
                     bool in_result) {
  Type left = unifier_.shallow(a.type), right = unifier_.shallow(b.type);
  const TensorType *x = as<TensorType>(left), *y = as<TensorType>(right);
  if (x && y && same_element_type(*x, *y) && x->shape.size() == y->shape.size()) {
    Shape shape = x->shape;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!(shape[i] == y->shape[i])) shape[i] = in_result ? unknown_dim() : fresh_symbol();
    return with_shape(*x, std::move(shape));
  }
  auto joined = [&](const Type& one, const Type& other, bool is_in_result) {
    return join({a.block, one, a.location}, {b.block, other, b.location}, location, what, is_in_result);
  };
  const TupleType *p = as<TupleType>(left), *q = as<TupleType>(right);
  if (p && q && p->fields.size() == q->fields.size()) {
    std::vector<Type> fields;
    for (size_t i = 0; i < p->fields.size(); ++i) fields.push_back(joined(p->fields[i], q->fields[i], in_result));
    return tuple_type(std::move(fields));
  }
  const FunctionType *f = as<FunctionType>(left), *g = as<FunctionType>(right);
  if (f && g && f->type_params.empty() && g->type_params.empty()) {
    // Sizes that are any in one function are those of the other one.
    const std::function<bool(const std::string&)> own = [&](const std::string& s) { return is_size_of_value(s); };
    Type second = at_sizes(*g, sizes_as_in(*g, *f, own));
    Type first = at_sizes(*f, sizes_as_in(*f, *as<FunctionType>(second), own));
    const std::map<std::string, Dim> other_names = names_of_fixed_sizes(*f, *g, *as<FunctionType>(first));
    first = at_sizes(*as<FunctionType>(first), other_names);
    second = at_sizes(*as<FunctionType>(second), other_names);
    f = as<FunctionType>(first);
    g = as<FunctionType>(second);
    auto same = [&](const Type& param, const Type& other) { return unifier_.unify(param, other); };
    if (std::ranges::equal(f->params, g->params, same)) {
      retry_relations();  // the parameters may tell the results
      return function_type(f->params, joined(f->result, g->result, true));
    }
  } else {
    if (has_symbols(right))  // functions of any size in references have the same names for it
      right = with_sizes_of(right, left, [&](const std::string& s) { return is_size_of_value(s); });
    if (unifier_.unify(left, right)) return left;
    if (as<DataType>(left))
      if (const Type data = join_data(left, right)) return data;
  }
  auto line = [&](const Type& type, const SourceLocation& at) {
    return at.line > 0 ? fmt::format("{}: {}", at.str(), text(type)) : text(type);
  };
  return fail(DiagnosticId::type_mismatch, location, fmt::format("the {} have different types", what),
              {line(left, a.location), line(right, b.location)});
}

}  // namespace dlcc::relay
