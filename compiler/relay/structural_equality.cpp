#include "relay/structural_equality.h"

#include <algorithm>
#include <functional>

#include "relay/operator.h"
#include "tensor/text.h"

namespace dlcc::relay {

namespace {

// Names of the first module and those in their place in the second one: none stands for two.
template <class Name>
class Renaming {
 public:
  bool same(const Name& a, const Name& b) {
    const auto [forth, is_new] = forth_.emplace(a, b);
    if (!is_new) return forth->second == b;
    return back_.emplace(b, a).second;
  }
  // Makes the names stand for each other in place of what they stood for.
  void bind(const Name& a, const Name& b) {
    if (const auto other = forth_.find(a); other != forth_.end()) back_.erase(other->second);
    if (const auto other = back_.find(b); other != back_.end()) forth_.erase(other->second);
    forth_[a] = b;
    back_[b] = a;
  }
  // The name in place of one of the first module, which must have one.
  const Name& of(const Name& a) const { return forth_.at(a); }
  bool has(const Name& a) const { return forth_.contains(a); }
  bool is_taken(const Name& b) const { return back_.contains(b); }

 private:
  std::map<Name, Name> forth_, back_;
};

// The attributes of a call but for those that have the values which they have without being given.
Attrs without_defaults(const Call& call) {
  Attrs attrs = call.attrs;
  if (const OperatorRef* o = std::get_if<OperatorRef>(&call.callee))
    for (const Operator::Attribute& a : o->op->attributes)
      if (const auto given = attrs.find(a.name);
          given != attrs.end() && !a.required && given->second == a.default_value)
        attrs.erase(given);
  return attrs;
}

// Compares two functions of the modules.
class ModuleComparison {
 public:
  bool same(const Function& a, const Function& b) {
    return with_bound(a.type_params, b.type_params, [&] {
      return same(a.params, b.params) && same(a.result_type, b.result_type) && same(a.attrs, b.attrs) &&
             same(a.body, b.body);
    });
  }

  bool same(const DataTypeDef& a, const DataTypeDef& b) {
    return a.is_extern == b.is_extern &&
           with_bound(a.params, b.params, [&] { return same(a.constructors, b.constructors); });
  }

 private:
  template <class T>
  bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return std::ranges::equal(a, b, [this](const T& x, const T& y) { return same(x, y); });
  }
  template <class T>
  bool same(const Boxed<T>& a, const Boxed<T>& b) {
    return same(*a, *b);
  }

  // ---- types

  // Whether the variables bind the same where `is_same` compares. Elsewhere they may be bound again.
  bool with_bound(const std::vector<TypeVariable>& a, const std::vector<TypeVariable>& b,
                  const std::function<bool()>& is_same) {
    if (!std::ranges::equal(a, b, {}, &TypeVariable::kind, &TypeVariable::kind)) return false;
    if (a.empty()) return is_same();
    const Renaming<int> outer = type_variables_;
    for (size_t k = 0; k < a.size(); ++k) type_variables_.bind(a[k].id, b[k].id);
    const bool equal = is_same();
    type_variables_ = outer;
    return equal;
  }

  bool same(const ConstructorDef& a, const ConstructorDef& b) { return a.name == b.name && same(a.fields, b.fields); }

  bool same(const Symbol& a, const Symbol& b) {
    return a.low == b.low && a.high == b.high && sizes_.same(a.name, b.name);
  }

  // Equal after renaming. The names that occur here for the first time stand for each other in order.
  bool same(const Dim& a, const Dim& b) {
    const std::vector<Symbol> symbols = a.symbols(), others = b.symbols();
    std::vector<Symbol> fresh, other_fresh;
    std::ranges::copy_if(symbols, std::back_inserter(fresh), [&](const Symbol& s) { return !sizes_.has(s.name); });
    std::ranges::copy_if(others, std::back_inserter(other_fresh),
                         [&](const Symbol& s) { return !sizes_.is_taken(s.name); });
    if (!same(fresh, other_fresh)) return false;
    std::map<std::string, Dim> renamed;
    for (const Symbol& s : symbols) {
      const auto other = std::ranges::find(others, sizes_.of(s.name), &Symbol::name);
      if (other == others.end()) return false;
      renamed.emplace(s.name, Dim::symbol(*other));
    }
    return a.substitute(renamed) == b;
  }

  bool same(const Type& a, const Type& b) {
    if (!a || !b) return a == b;
    if (a->v.index() != b->v.index()) return false;
    return std::visit(overloaded{[&](const TensorType& t) {
                                   const TensorType& u = *as<TensorType>(b);
                                   return t.dtype == u.dtype && t.lanes == u.lanes && same(t.shape, u.shape);
                                 },
                                 [&](const OpenTensorType& t) {
                                   const OpenTensorType& u = *as<OpenTensorType>(b);
                                   return same(t.shape, u.shape) && same(t.element, u.element);
                                 },
                                 [&](const TupleType& t) { return same(t.fields, as<TupleType>(b)->fields); },
                                 [&](const FunctionType& t) {
                                   const FunctionType& u = *as<FunctionType>(b);
                                   return with_bound(t.type_params, u.type_params, [&] {
                                     return same(t.params, u.params) && same(t.result, u.result);
                                   });
                                 },
                                 [&](const DataType& t) {
                                   const DataType& u = *as<DataType>(b);
                                   return t.name == u.name && same(t.args, u.args);
                                 },
                                 [&](const RefType& t) { return same(t.value, as<RefType>(b)->value); },
                                 [&](const VariableType& t) {
                                   const TypeVariable &v = t.variable, &w = as<VariableType>(b)->variable;
                                   return v.kind == w.kind && type_variables_.same(v.id, w.id);
                                 },
                                 [](const HoleType&) { return true; }},
                      a->v);
  }

  // ---- attributes

  bool same(const AttrValue& a, const AttrValue& b) {
    const AttrList *list = std::get_if<AttrList>(&a.v), *other = std::get_if<AttrList>(&b.v);
    if (list && other) return same(*list, *other);
    const Dim *dim = std::get_if<Dim>(&a.v), *other_dim = std::get_if<Dim>(&b.v);
    return dim && other_dim ? same(*dim, *other_dim) : a == b;
  }

  bool same(const Attrs& a, const Attrs& b) {
    return std::ranges::equal(
        a, b, [this](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); });
  }

  // ---- values

  bool same(const Var& a, const Var& b) {
    const bool have_attrs = a->attrs && b->attrs;
    return variables_.same(a->id, b->id) && (have_attrs ? same(*a->attrs, *b->attrs) : a->attrs == b->attrs) &&
           same(a->type, b->type);
  }

  bool same(const Atom& a, const Atom& b) {
    if (a.index() != b.index()) return false;
    return std::visit(overloaded{[&](const Var& v) { return variables_.same(v->id, std::get<Var>(b)->id); },
                                 [&](const Constant& c) { return c.same_as(std::get<Constant>(b)); },
                                 [&](const GlobalRef& g) { return g.name == std::get<GlobalRef>(b).name; },
                                 [&](const ConstructorRef& c) { return c.name == std::get<ConstructorRef>(b).name; },
                                 [&](const OperatorRef& o) { return o.op == std::get<OperatorRef>(b).op; }},
                      a);
  }

  bool same(const Pattern& a, const Pattern& b) {
    if (a.v.index() != b.v.index()) return false;
    return std::visit(
        overloaded{[](const Pattern::Wildcard&) { return true; },
                   [&](const Pattern::Bind& p) { return same(p.var, std::get<Pattern::Bind>(b.v).var); },
                   [&](const Pattern::Constructor& p) {
                     const auto& q = std::get<Pattern::Constructor>(b.v);
                     return p.name == q.name && same(p.fields, q.fields);
                   },
                   [&](const Pattern::Tuple& p) { return same(p.fields, std::get<Pattern::Tuple>(b.v).fields); }},
        a.v);
  }

  bool same(const Clause& a, const Clause& b) { return same(a.pattern, b.pattern) && same(a.body, b.body); }

  // ---- operations

  bool same(const Call& a, const Call& b) {
    return same(a.callee, b.callee) && same(a.args, b.args) && same(without_defaults(a), without_defaults(b));
  }
  bool same(const CallTensor& a, const CallTensor& b) {
    return a.function == b.function && same(a.args, b.args) && a.layouts == b.layouts;
  }
  bool same(const MakeTuple& a, const MakeTuple& b) { return same(a.fields, b.fields); }
  bool same(const Project& a, const Project& b) { return a.index == b.index && same(a.tuple, b.tuple); }
  bool same(const If& a, const If& b) {
    return same(a.condition, b.condition) && same(a.then_block, b.then_block) && same(a.else_block, b.else_block);
  }
  bool same(const Match& a, const Match& b) {
    return a.complete == b.complete && same(a.value, b.value) && same(a.clauses, b.clauses);
  }
  bool same(const MakeFunction& a, const MakeFunction& b) { return same(a.function, b.function); }
  bool same(const RefCreate& a, const RefCreate& b) { return same(a.value, b.value); }
  bool same(const RefRead& a, const RefRead& b) { return same(a.ref, b.ref); }
  bool same(const RefWrite& a, const RefWrite& b) { return same(a.ref, b.ref) && same(a.value, b.value); }
  bool same(const MatchCast& a, const MatchCast& b) { return same(a.value, b.value) && same(a.type, b.type); }
  bool same(const DefineSizes& a, const DefineSizes& b) {
    return same(a.value, b.value) && same(a.symbols, b.symbols) && same(a.most, b.most);
  }
  bool same(const RequireSizes& a, const RequireSizes& b) { return same(a.sizes, b.sizes); }
  bool same(const Alias& a, const Alias& b) { return same(a.value, b.value); }

  bool same(const Binding& a, const Binding& b) {
    if (a.op.index() != b.op.index()) return false;
    // A function may use the variable that names it.
    const bool is_function = std::holds_alternative<MakeFunction>(a.op);
    if (is_function && !variables_.same(a.var->id, b.var->id)) return false;
    const bool are_same =
        std::visit([&](const auto& op) { return same(op, std::get<std::decay_t<decltype(op)>>(b.op)); }, a.op);
    return are_same && same(a.var, b.var);
  }

  bool same(const Block& a, const Block& b) { return same(a.bindings, b.bindings) && same(a.result, b.result); }

  Renaming<int> variables_, type_variables_;
  Renaming<std::string> sizes_;
};

template <class T, class Same>
bool all_same(const std::map<std::string, T>& a, const std::map<std::string, T>& b, const Same& same) {
  return std::ranges::equal(
      a, b, [&](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); });
}

}  // namespace

bool structurally_equal(const Module& a, const Module& b) {
  auto same = [](const auto& x, const auto& y) { return ModuleComparison().same(x, y); };
  auto same_text = [](const tensor::TensorFunction& x, const tensor::TensorFunction& y) {
    return tensor::print(x) == tensor::print(y);
  };
  return all_same(a.functions, b.functions, same) && all_same(a.data_types, b.data_types, same) &&
         all_same(a.tensor_functions, b.tensor_functions, same_text) && a.external_functions == b.external_functions &&
         a.prim_functions == b.prim_functions;
}

}  // namespace dlcc::relay
