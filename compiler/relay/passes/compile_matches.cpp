// Compiles each match to a decision tree (Maranget, "Compiling Pattern Matching to Good Decision Trees", 2008): matches
// whose patterns are one constructor with variables or wildcards as fields, and a last arm for the other constructors.
// Tuples are taken apart by projections.
//
//   match (%p) {                              match (%xs) {
//     (Cons(%x, Cons(%y, _)), _) => A,          Cons(%x, %rest) => match (%rest) { Cons(%y, _) => A, _ => %arm() },
//     (_, %n) => B,                             _ => %arm(),
//   }                                         }
//
// Contract: a value is looked at only where it decides between the arms that are left, and once on each path. The first
// arm that fits is taken, as before; looking at values has no effect, so that the order of effects stays. An arm that
// several leaves of the tree end in is a local function of its pattern's variables, unless it is an atom. A `match?`
// that no arm fits still fails. The tree has one path for each distinction that the patterns make: it may
// be exponentially larger than the patterns, and a match whose tree has more than 100,000 nodes is an error.
#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "relay/passes/retype.h"
#include "relay/type_arguments.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

constexpr int64_t most_nodes = 100'000;  // of one tree

struct MatchedValue {  // what a column of patterns is matched with
  Atom atom;
  Type type;
};

struct MatchRow {
  std::vector<const Pattern*> patterns;  // by column; null fits everything
  size_t clause;
  std::vector<std::pair<Var, Atom>> bound;  // variables of the pattern so far
};

struct Tree {
  struct Leaf {
    size_t clause;
    std::vector<std::pair<Var, Atom>> bound;
  };
  struct Projections {
    Atom tuple;
    std::vector<std::pair<int, Var>> fields;
    Boxed<Tree> rest;
  };
  struct Case {
    std::string constructor;
    std::vector<Var> fields;  // null: is not looked at
    Boxed<Tree> tree;
  };
  struct Switch {
    Atom value;
    std::vector<Case> cases;
    Boxed<Tree> otherwise;  // none: the value has one of the constructors, or fits no arm
    bool complete;
  };
  std::variant<Leaf, Projections, Switch> v;
};

struct ConstructorInfo {
  const DataTypeDef* type;
  size_t index;  // in its type
};
using Constructors = std::unordered_map<std::string, ConstructorInfo>;

const Pattern::Constructor* constructor_in(const Pattern* p) {
  return p ? std::get_if<Pattern::Constructor>(&p->v) : nullptr;
}

const Pattern::Tuple* tuple_in(const Pattern* p) { return p ? std::get_if<Pattern::Tuple>(&p->v) : nullptr; }

bool is_wildcard(const Pattern& p) { return std::holds_alternative<Pattern::Wildcard>(p.v); }

// Builds the decision tree of one match.
class TreeBuilder {
 public:
  TreeBuilder(Module& module, const Constructors& constructors) : module_(module), constructors_(constructors) {}

  bool is_too_large() const { return nodes_ > most_nodes; }

  Tree build(std::vector<MatchRow> rows, const std::vector<MatchedValue>& columns) {
    ++nodes_;
    for (MatchRow& row : rows) bind_variables(row, columns);
    const MatchRow& first = rows.front();
    if (is_too_large() || std::ranges::all_of(first.patterns, [](const Pattern* p) { return !p; }))
      return {Tree::Leaf{first.clause, first.bound}};
    const size_t column = best_column(rows);
    if (tuple_in(first.patterns[column])) return project(std::move(rows), columns, column);
    return distinguish(rows, columns, column);
  }

 private:
  // A variable fits everything and is another name of the column's value.
  static void bind_variables(MatchRow& row, const std::vector<MatchedValue>& columns) {
    for (size_t k = 0; k < row.patterns.size(); ++k) {
      const Pattern* p = row.patterns[k];
      if (const auto* bind = p ? std::get_if<Pattern::Bind>(&p->v) : nullptr)
        row.bound.emplace_back(bind->var, columns[k].atom);
      if (p && !constructor_in(p) && !tuple_in(p)) row.patterns[k] = nullptr;
    }
  }

  // A column that the first row looks at. Among them, the one with the fewest rows that fit other constructors (the
  // heuristics f and d of section 8), then with the fewest constructors (b).
  static size_t best_column(const std::vector<MatchRow>& rows) {
    size_t best = 0;
    std::pair<size_t, size_t> best_cost;
    bool found = false;
    for (size_t k = 0; k < rows.front().patterns.size(); ++k) {
      if (!rows.front().patterns[k]) continue;
      std::pair<size_t, size_t> cost;
      std::vector<std::string_view> names;
      for (const MatchRow& row : rows) {
        cost.first += row.patterns[k] == nullptr;
        if (const auto* c = constructor_in(row.patterns[k])) names.push_back(c->name);
      }
      std::ranges::sort(names);
      cost.second = static_cast<size_t>(std::ranges::unique(names).begin() - names.begin());
      if (std::exchange(found, true) && cost >= best_cost) continue;
      best = k;
      best_cost = cost;
    }
    return best;
  }

  // The fields of a value that some row looks at, as new columns; `fields_of` gives a row's patterns for the fields.
  template <class FieldsOf>
  std::vector<Var> new_columns(std::vector<MatchRow>& rows, std::vector<MatchedValue>& columns,
                               const std::vector<Type>& types, FieldsOf fields_of) {
    std::vector<Var> variables;
    for (size_t field = 0; field < types.size(); ++field) {
      Var variable;
      for (const MatchRow& row : rows) {
        const std::vector<Pattern>* patterns = fields_of(row);
        if (!patterns || is_wildcard((*patterns)[field])) continue;
        const auto* bind = std::get_if<Pattern::Bind>(&(*patterns)[field].v);
        if (!variable) variable = module_.fresh("", types[field]);
        if (!bind || !variable->name.empty()) continue;
        variable->name = bind->var->name;
        variable->type = bind->var->type;
      }
      variables.push_back(variable);
    }
    for (MatchRow& row : rows) {
      const std::vector<Pattern>* patterns = fields_of(row);
      for (size_t field = 0; field < types.size(); ++field)
        if (variables[field]) row.patterns.push_back(patterns ? &(*patterns)[field] : nullptr);
    }
    for (size_t field = 0; field < types.size(); ++field)
      if (variables[field]) columns.push_back({variables[field], variables[field]->type});
    return variables;
  }

  static void remove_column(std::vector<MatchRow>& rows, std::vector<MatchedValue>& columns, size_t column) {
    for (MatchRow& row : rows) row.patterns.erase(row.patterns.begin() + static_cast<ptrdiff_t>(column));
    columns.erase(columns.begin() + static_cast<ptrdiff_t>(column));
  }

  Tree project(std::vector<MatchRow> rows, std::vector<MatchedValue> columns, size_t column) {
    const MatchedValue tuple = columns[column];
    const std::vector<Type> types = as<TupleType>(tuple.type)->fields;
    const std::vector<Var> variables =
        new_columns(rows, columns, types, [&](const MatchRow& row) -> const std::vector<Pattern>* {
          const Pattern::Tuple* t = tuple_in(row.patterns[column]);
          return t ? &t->fields : nullptr;
        });
    remove_column(rows, columns, column);
    Tree::Projections projections{tuple.atom, {}, {}};
    for (size_t field = 0; field < variables.size(); ++field)
      if (variables[field]) projections.fields.emplace_back(static_cast<int>(field), variables[field]);
    projections.rest = build(std::move(rows), columns);
    return {std::move(projections)};
  }

  Tree distinguish(const std::vector<MatchRow>& rows, const std::vector<MatchedValue>& columns, size_t column) {
    const MatchedValue& value = columns[column];
    const DataTypeDef& def = *constructors_.at(constructor_in(rows.front().patterns[column])->name).type;
    std::map<size_t, std::vector<MatchRow>> parts;  // by constructor
    std::vector<MatchRow> others;
    for (const MatchRow& row : rows)
      if (const auto* c = constructor_in(row.patterns[column])) parts[constructors_.at(c->name).index];
    for (const MatchRow& row : rows) {
      if (const auto* c = constructor_in(row.patterns[column])) {
        parts[constructors_.at(c->name).index].push_back(row);
        continue;
      }
      for (auto& [index, part] : parts) part.push_back(row);
      others.push_back(row);
    }
    Tree::Switch result{value.atom, {}, {}, parts.size() == def.constructors.size() || !others.empty()};
    for (auto& [index, part] : parts) {
      const std::string& name = def.constructors[index].name;
      std::vector<MatchedValue> inner = columns;
      std::vector<Var> fields = new_columns(part, inner, *types_of_fields(def, name, *as<DataType>(value.type)),
                                            [&](const MatchRow& row) -> const std::vector<Pattern>* {
                                              const Pattern::Constructor* c = constructor_in(row.patterns[column]);
                                              return c ? &c->fields : nullptr;
                                            });
      remove_column(part, inner, column);
      result.cases.push_back({name, std::move(fields), build(std::move(part), inner)});
    }
    if (parts.size() == def.constructors.size() || others.empty()) return {std::move(result)};
    std::vector<MatchedValue> rest = columns;
    remove_column(others, rest, column);
    result.otherwise = build(std::move(others), rest);
    return {std::move(result)};
  }

  Module& module_;
  const Constructors& constructors_;
  int64_t nodes_ = 0;
};

void count_leaves(const Tree& tree, std::vector<int>& leaves) {
  std::visit(overloaded{[&](const Tree::Leaf& t) { ++leaves[t.clause]; },
                        [&](const Tree::Projections& t) { count_leaves(*t.rest, leaves); },
                        [&](const Tree::Switch& t) {
                          for (const Tree::Case& c : t.cases) count_leaves(*c.tree, leaves);
                          if (t.otherwise) count_leaves(*t.otherwise, leaves);
                        }},
             tree.v);
}

// Writes the tree of a match as operations.
class TreeWriter {
 public:
  TreeWriter(Module& module, Match match, const Tree& tree, const Binding& binding)
      : module_(module), match_(std::move(match)), binding_(binding), leaves_(match_.clauses.size()) {
    count_leaves(tree, leaves_);
    arms_.resize(leaves_.size());
  }

  // The functions of arms that several leaves share, to be bound before the match.
  std::vector<Binding> shared_arms() {
    std::vector<Binding> out;
    for (size_t k = 0; k < leaves_.size(); ++k) {
      Block& body = *match_.clauses[k].body;
      if (leaves_[k] < 2 || body.bindings.empty()) continue;
      Function arm;
      for_each_variable(match_.clauses[k].pattern, [&](const Var& v) { arm.params.push_back(v); });
      arm.body = std::move(body);
      arm.location = binding_.location;
      arms_[k] = {module_.fresh("arm"), arm.params};
      out.push_back({arms_[k].function, MakeFunction{std::move(arm)}, binding_.location});
    }
    return out;
  }

  Block block(const Tree& tree) {
    return std::visit(overloaded{[&](const Tree::Leaf& t) { return leaf(t); },
                                 [&](const Tree::Projections& t) {
                                   std::vector<Binding> fields;
                                   for (const auto& [field, var] : t.fields)
                                     fields.push_back({var, Project{t.tuple, field}, binding_.location});
                                   Block rest = block(*t.rest);
                                   rest.bindings.insert(rest.bindings.begin(), std::move_iterator(fields.begin()),
                                                        std::move_iterator(fields.end()));
                                   return rest;
                                 },
                                 [&](const Tree::Switch& t) { return one_operation(match(t)); }},
                      tree.v);
  }

 private:
  Match match(const Tree::Switch& t) {
    Match match{t.value, {}, t.complete};
    for (const Tree::Case& c : t.cases) {
      Pattern::Constructor pattern{c.constructor, {}};
      for (const Var& field : c.fields)
        pattern.fields.push_back(field ? Pattern{Pattern::Bind{field}} : Pattern{Pattern::Wildcard{}});
      match.clauses.push_back({{std::move(pattern)}, block(*c.tree)});
    }
    if (t.otherwise) match.clauses.push_back({{Pattern::Wildcard{}}, block(*t.otherwise)});
    return match;
  }

  Block one_operation(Operation op) {
    Var result = module_.fresh("");
    Block block;
    block.bindings.push_back({result, std::move(op), binding_.location});
    block.result = result;
    return block;
  }

  Block leaf(const Tree::Leaf& leaf) {
    Replacements known;
    for (const auto& [var, value] : leaf.bound) known.add(var, value);
    if (const SharedArm& arm = arms_[leaf.clause]; arm.function) {
      Operation call = Call{arm.function, {arm.params.begin(), arm.params.end()}, {}};
      known.apply(call);
      return one_operation(std::move(call));
    }
    Block body = leaves_[leaf.clause] == 1 ? std::move(*match_.clauses[leaf.clause].body)
                                           : Block{{}, match_.clauses[leaf.clause].body->result};
    known.apply(body);
    // The arm's symbols for unknown sizes are those of its own variables.
    std::vector<DimPair> pairs;
    for (const auto& [var, value] : leaf.bound) add_dim_pairs(var->type, type_of(module_, value), pairs);
    substitute_sizes(body, sizes_at_call(pairs));
    return body;
  }

  struct SharedArm {
    Var function;  // null for other arms
    std::vector<Var> params;
  };

  Module& module_;
  Match match_;
  const Binding& binding_;
  std::vector<int> leaves_;      // by clause
  std::vector<SharedArm> arms_;  // by clause
};

class MatchCompiler {
 public:
  MatchCompiler(Module& module, Diagnostics* diagnostics) : module_(module), diagnostics_(diagnostics) {
    for (const auto& [name, def] : module.data_types)
      for (size_t k = 0; k < def.constructors.size(); ++k) constructors_[def.constructors[k].name] = {&def, k};
  }

  bool has_changed() const { return has_changed_; }

  void block(Block& block) {
    std::vector<Binding> out;
    out.reserve(block.bindings.size());
    for (Binding& b : block.bindings) {
      for_each_block(b.op, [&](Block& inner) { this->block(inner); });
      Match* match = std::get_if<Match>(&b.op);
      if (match && !is_flat(*match))
        compile(std::move(b), out);
      else
        out.push_back(std::move(b));
    }
    block.bindings = std::move(out);
  }

 private:
  // Whether the match is what the pass writes: each constructor at most once, with variables or wildcards as fields,
  // and at most a wildcard after them.
  static bool is_flat(const Match& match) {
    std::vector<std::string_view> names;
    for (const Clause& c : match.clauses) {
      if (is_wildcard(c.pattern)) {
        if (names.empty() || &c != &match.clauses.back()) return false;
        continue;
      }
      const auto* constructor = constructor_in(&c.pattern);
      if (!constructor || std::ranges::any_of(constructor->fields, [](const Pattern& p) {
            return !is_wildcard(p) && !std::holds_alternative<Pattern::Bind>(p.v);
          }))
        return false;
      names.push_back(constructor->name);
    }
    std::ranges::sort(names);
    return std::ranges::adjacent_find(names) == names.end();
  }

  void compile(Binding binding, std::vector<Binding>& out) {
    Match& match = std::get<Match>(binding.op);
    std::vector<MatchRow> rows;
    for (size_t k = 0; k < match.clauses.size(); ++k) rows.push_back({{&match.clauses[k].pattern}, k, {}});
    TreeBuilder builder(module_, constructors_);
    const Tree tree = builder.build(std::move(rows), {{match.value, type_of(module_, match.value)}});
    if (builder.is_too_large()) {
      if (diagnostics_)
        diagnostics_->error(DiagnosticId::too_large, binding.location,
                            fmt::format("the decision tree of this match has more than {} nodes", most_nodes), {},
                            "divide the match into matches of one value each");
      return out.push_back(std::move(binding));
    }
    has_changed_ = true;
    TreeWriter writer(module_, std::move(match), tree, binding);
    for (Binding& arm : writer.shared_arms()) out.push_back(std::move(arm));
    Block block = writer.block(tree);
    const Var* result = std::get_if<Var>(&block.result);
    if (!block.bindings.empty() && result && *result == block.bindings.back().var)
      rename(block.bindings.back(), binding.var);
    else
      block.bindings.push_back({binding.var, Alias{std::move(block.result)}, binding.location});
    std::ranges::move(block.bindings, std::back_inserter(out));
  }

  // Gives a binding that nothing after it uses another variable. A function may use its own variable.
  static void rename(Binding& binding, const Var& var) {
    if (auto* made = std::get_if<MakeFunction>(&binding.op)) {
      Block& body = made->function->body;
      if (var->name.empty() && Uses(body)[binding.var] > 0)
        var->name = binding.var->name;  // graph bindings do not recur
      Replacements renamed;
      renamed.add(binding.var, var);
      renamed.apply(body);
    }
    binding.var = var;
  }

  Module& module_;
  Diagnostics* diagnostics_;
  Constructors constructors_;
  bool has_changed_ = false;
};

}  // namespace

Module compile_matches(Module module, PassContext& context) {
  MatchCompiler compiler(module, context.diagnostics);
  for (auto& [name, f] : module.functions) compiler.block(f.body);
  if (compiler.has_changed()) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
