// Writes programs in Relay's text format 0.0.5, in A-normal form: one `let` (or, for nameless variables, one graph
// binding `%0 = ...`) per operation, the last operation of a block in place of its result. Operations that the format
// lacks are written as calls: match_cast(%x, T) and call_tensor(@f, %x).
#include <algorithm>
#include <set>
#include <utility>

#include "relay/annotations.h"
#include "relay/metadata.h"
#include "relay/operator.h"
#include "relay/type_arguments.h"
#include "support/ascii.h"

namespace dlcc::relay {

namespace {

// The number of uses of each variable.
void count_uses(const Block& block, std::map<int, int>& uses) {
  auto use = [&](const Atom& a) {
    if (const Var* v = std::get_if<Var>(&a)) ++uses[(*v)->id];
  };
  for (const Binding& b : block.bindings) {
    for_each_atom(b.op, use);
    for_each_block(b.op, [&](const Block& inner) { count_uses(inner, uses); });
  }
  use(block.result);
}

// An identifier that the parser reads as a variable's name; empty stays empty.
std::string identifier(const std::string& name) {
  std::string text;
  for (char c : name) {
    if (text.empty() && is_digit(c)) text += 'v';
    text += is_alphanumeric(c) || c == '/' ? c : '_';
  }
  return text;
}

class Printer {
 public:
  Printer(const Module* module, ConstantPool* pool) : module_(module), annotations_(module), pool_(pool) {
    if (!module) return;
    for (const auto& [name, def] : module->data_types)
      for (const ConstructorDef& c : def.constructors)
        if (!c.fields.empty()) with_fields_.insert(c.name);
  }

  std::string module() {
    out_ = "#[version = \"0.0.5\"]\n";
    std::string gap;
    for (const auto& [name, def] : module_->data_types) data_type(def);
    if (!module_->data_types.empty()) gap = "\n";
    for (const auto& [name, f] : module_->tensor_functions) {
      out_ += gap + tensor::print(f);
      if (out_.back() != '\n') out_ += '\n';
      gap = "\n";
    }
    for (const auto& [name, reference] : module_->external_functions) {
      out_ += fmt::format("{}def @{} = {}\n", gap, name, relay::str(reference));
      gap = "\n";
    }
    for (const auto& [name, text] : module_->prim_functions) {
      out_ += gap + text + "\n";
      gap = "\n";
    }
    for (const auto& [name, f] : module_->functions) {
      names_.clear();
      taken_.clear();
      out_ += gap + "def @" + name;
      function(f, name == "main");
      out_ += "\n";
      gap = "\n";
    }
    return std::move(out_);
  }

  std::string lone_block(const Block& b) {
    count_uses(b, uses_);
    block(b);
    return std::move(out_);
  }

 private:
  // Begins a line. The indentation is limited, so that the length of the text is linear in the size of the program.
  void line() {
    constexpr int most = 50;
    out_ += '\n';
    out_.append(2 * static_cast<size_t>(std::min(indent_, most)), ' ');
  }

  template <class List, class Write>
  void list(const List& items, Write write) {
    bool first = true;
    for (const auto& item : items) {
      if (!std::exchange(first, false)) out_ += ", ";
      write(item);
    }
  }

  // ---- definitions

  void data_type(const DataTypeDef& def) {
    out_ += (def.is_extern ? "extern type " : "type ") + def.name;
    if (!def.params.empty()) {
      out_ += "[";
      list(def.params, [&](const TypeVariable& v) { out_ += str(v); });
      out_ += "]";
    }
    if (!def.is_extern) {
      out_ += " {\n";
      for (const ConstructorDef& c : def.constructors) {
        out_ += "  " + c.name;
        if (!c.fields.empty()) {
          out_ += "(";
          list(c.fields, [&](const Type& t) { out_ += str(t); });
          out_ += ")";
        }
        out_ += ",\n";
      }
      out_ += "}";
    }
    out_ += "\n";
  }

  // Names of inputs and outputs that differ from the parameters' names are attributes of @main.
  Attrs interface_names(const Function& f) const {
    Attrs attrs;
    auto add = [&](const char* key, const std::vector<std::string>& names, bool implied) {
      if (!names.empty() && !implied) attrs[key] = AttrValue(AttrList(names.begin(), names.end()));
    };
    bool same = std::ranges::equal(module_->input_names, f.params,
                                   [](const std::string& name, const Var& p) { return name == p->name; });
    add("input_names", module_->input_names, same);
    add("output_names", module_->output_names, false);
    return attrs;
  }

  void function(const Function& f, bool is_main) {
    uses_.clear();
    count_uses(f.body, uses_);
    signature(f, is_main ? interface_names(f) : Attrs());
  }

  // The type with the names of type variables in this text.
  std::string text(const Type& type) const { return str(renamed_.empty() ? type : with_arguments(type, renamed_)); }

  // The variable with a name that no data type and no enclosing function's variable has.
  TypeVariable named(TypeVariable v) {
    const std::string base = v.name;
    auto is_taken = [&] {
      return type_variables_.contains(v.name) || (module_ && module_->data_types.contains(v.name));
    };
    for (int k = 1; is_taken(); ++k) v.name = fmt::format("{}_{}", base, k);
    renamed_.erase(v.id);  // an inlined copy of a function has the same variables
    if (v.name != base) renamed_[v.id] = variable_type(v);
    type_variables_.insert(v.name);
    return v;
  }

  void signature(const Function& f, const Attrs& more) {
    const std::set<std::string> enclosing = type_variables_;
    if (!f.type_params.empty()) {
      out_ += "[";
      list(f.type_params, [&](const TypeVariable& v) { out_ += str(named(v)); });
      out_ += "]";
    }
    out_ += "(";
    bool first = true;
    for (const Var& p : f.params) {
      if (!std::exchange(first, false)) out_ += ", ";
      out_ += "%" + name_of(p, "p");
      if (p->attrs && !p->attrs->empty()) {
        out_ += " {";
        list(*p->attrs, [&](const auto& attr) { out_ += attr.first + "=" + relay::str(attr.second); });
        out_ += "}";
      }
      if (p->type) out_ += ": " + text(p->type);
    }
    Attrs attrs = f.attrs;
    attrs.insert(more.begin(), more.end());
    for (const auto& [key, value] : attrs) {
      if (!std::exchange(first, false)) out_ += ", ";
      out_ += key + "=" + relay::str(value);
    }
    out_ += ")";
    if (f.result_type) out_ += " -> " + text(f.result_type);
    out_ += " ";
    braces(f.body);
    type_variables_ = enclosing;
  }

  // ---- blocks

  void braces(const Block& b) {
    out_ += "{";
    ++indent_;
    line();
    block(b);
    --indent_;
    line();
    out_ += "}";
  }

  void block(const Block& b) {
    for (size_t i = 0; i < b.bindings.size(); ++i) {
      const Binding& binding = b.bindings[i];
      const Var* result = std::get_if<Var>(&b.result);
      bool in_place = i + 1 == b.bindings.size() && result && (*result)->id == binding.var->id &&
                      !std::holds_alternative<Alias>(binding.op) && uses_[binding.var->id] == 1 &&
                      !Annotations::defines_unknown_size(binding);
      if (in_place) return operation(binding.op);
      target(binding);
      bool statement = std::holds_alternative<Match>(binding.op);  // not an expression: needs parentheses
      if (statement) out_ += "(";
      operation(binding.op);
      out_ += statement ? ");" : ";";
      line();
    }
    atom(b.result);
  }

  void target(const Binding& b) {
    const Var& v = b.var;
    bool unused = uses_[v->id] == 0, is_function = std::holds_alternative<MakeFunction>(b.op);
    // A graph binding has no annotation and is not visible in its expression, and `%0 = %x` binds nothing.
    bool nameless = v->name.empty() || (v->name == "_" && !unused && !is_function);
    if (nameless && !annotations_.are_needed(b) && !std::holds_alternative<Alias>(b.op)) {
      names_[v->id] = fmt::format("{}", next_number_++);
      out_ += "%" + names_[v->id] + " = ";
      return;
    }
    out_ += "let %" + (v->name == "_" && unused ? "_" : name_of(v, "v"));
    if (v->type && !is_function) out_ += ": " + text(v->type);
    out_ += " = ";
  }

  // The variable's own name, made unique in the function.
  const std::string& name_of(const Var& v, const char* nameless) {
    auto [it, added] = names_.emplace(v->id, "");
    if (!added) return it->second;
    std::string base = identifier(v->name);
    if (base.empty() || base == "_") base = nameless;
    std::string name = base;
    for (int& i = suffix_[base]; !taken_.insert(name).second;) name = fmt::format("{}_{}", base, ++i);
    return it->second = name;
  }

  // ---- operations

  void atom(const Atom& a) {
    std::visit(
        overloaded{[&](const Var& v) { out_ += "%" + name_of(v, "v"); }, [&](const Constant& c) { constant(c); },
                   [&](const GlobalRef& g) { out_ += "@" + g.name; }, [&](const ConstructorRef& c) { out_ += c.name; },
                   [&](const OperatorRef& o) { out_ += o.op->name; }},
        a);
  }

  void atoms(const std::vector<Atom>& all) {
    list(all, [&](const Atom& a) { atom(a); });
  }

  void operation(const Operation& op) {
    std::visit([&](const auto& o) { write(o); }, op);
  }

  void write(const Call& call) {
    atom(call.callee);
    // A constructor with fields that is called without arguments, an error of types, is no constructor as a value.
    const auto* constructor = std::get_if<ConstructorRef>(&call.callee);
    if (constructor && call.args.empty() && !with_fields_.contains(constructor->name)) return;
    out_ += "(";
    atoms(call.args);
    bool first = call.args.empty();
    auto attribute = [&](const std::string& key, const AttrValue& value) {
      if (!std::exchange(first, false)) out_ += ", ";
      out_ += key + "=" + relay::str(value);
    };
    Attrs rest = call.attrs;
    if (const OperatorRef* o = std::get_if<OperatorRef>(&call.callee)) {
      for (const Operator::Attribute& a : o->op->attributes) {
        auto it = rest.find(a.name);
        if (it == rest.end()) continue;
        if (a.required || !(it->second == a.default_value)) attribute(a.name, it->second);
        rest.erase(it);
      }
    }
    for (const auto& [key, value] : rest) attribute(key, value);
    out_ += ")";
  }

  void write(const CallTensor& call) {
    out_ += "call_tensor(@" + call.function;
    for (const Atom& a : call.args) {
      out_ += ", ";
      atom(a);
    }
    if (!call.layouts.empty()) {
      out_ += ", layouts=[";
      list(call.layouts, [&](const tensor::Layout& l) { out_ += "\"" + tensor::str(l) + "\""; });
      out_ += "]";
    }
    out_ += ")";
  }

  void write(const MakeTuple& op) {
    out_ += "(";
    atoms(op.fields);
    out_ += op.fields.size() == 1 ? ",)" : ")";
  }

  void write(const Project& op) {
    bool literal = std::holds_alternative<Constant>(op.tuple);  // 1.0 would be a number
    out_ += literal ? "(" : "";
    atom(op.tuple);
    out_ += fmt::format("{}.{}", literal ? ")" : "", op.index);
  }

  void write(const If& op) {
    out_ += "if (";
    atom(op.condition);
    out_ += ") ";
    braces(*op.then_block);
    out_ += " else ";
    braces(*op.else_block);
  }

  void write(const Match& op) {
    out_ += op.complete ? "match (" : "match? (";
    atom(op.value);
    out_ += ") {";
    ++indent_;
    for (const Clause& clause : op.clauses) {
      line();
      pattern(clause.pattern);
      out_ += " => ";
      braces(*clause.body);
      out_ += ",";
    }
    --indent_;
    line();
    out_ += "}";
  }

  void pattern(const Pattern& p) {
    auto fields = [&](const std::vector<Pattern>& all) {
      out_ += "(";
      list(all, [&](const Pattern& field) { pattern(field); });
      out_ += ")";
    };
    std::visit(overloaded{[&](const Pattern::Wildcard&) { out_ += "_"; },
                          [&](const Pattern::Bind& b) {
                            out_ += "%" + name_of(b.var, "v");
                            if (b.var->type) out_ += ": " + text(b.var->type);
                          },
                          [&](const Pattern::Constructor& c) {
                            out_ += c.name;
                            if (!c.fields.empty()) fields(c.fields);
                          },
                          [&](const Pattern::Tuple& t) { fields(t.fields); }},
               p.v);
  }

  void write(const MakeFunction& op) {
    out_ += "fn ";
    signature(*op.function, {});
  }
  void write(const RefCreate& op) { unary("ref", op.value); }
  void write(const RefRead& op) { unary("ref_read", op.ref); }
  void write(const RefWrite& op) {
    out_ += "ref_write(";
    atom(op.ref);
    out_ += ", ";
    atom(op.value);
    out_ += ")";
  }
  void write(const MatchCast& op) {
    out_ += "match_cast(";
    atom(op.value);
    out_ += ", " + text(op.type) + ")";
  }
  void write(const DefineSizes& op) {
    Shape symbols;
    for (const Symbol& s : op.symbols) symbols.push_back(Dim::symbol(s));
    out_ += "define_sizes(";
    atom(op.value);
    out_ += fmt::format(", {}, {})", str(symbols), str(op.most));
  }
  void write(const RequireSizes& op) { out_ += fmt::format("require_sizes({})", str(op.sizes)); }
  void write(const Alias& op) { atom(op.value); }

  void unary(const char* name, const Atom& a) {
    out_ += std::string(name) + "(";
    atom(a);
    out_ += ")";
  }

  // ---- constants

  void constant(const Constant& c) {
    std::string literal = literal_text(c);
    if (literal.empty()) literal = fmt::format("meta[relay.Constant][{}]", pool_ ? pool_->index_of(c) : 0);
    out_ += literal;
  }

  const Module* module_;  // null for a lone block
  Annotations annotations_;
  ConstantPool* pool_;
  std::set<std::string> with_fields_;  // constructors that are functions
  std::string out_;
  int indent_ = 0;
  int next_number_ = 0;  // of graph bindings, never reused within a module
  std::map<int, int> uses_;
  std::map<int, std::string> names_;  // by variable, within one function
  std::set<std::string> taken_;
  std::map<std::string, int> suffix_;
  std::set<std::string> type_variables_;  // names of the enclosing functions' type variables
  TypeArguments renamed_;                 // type variables with another name in the text
};

}  // namespace

std::string print(const Module& module, bool with_metadata) {
  ConstantPool pool;
  std::string text = Printer(&module, &pool).module();
  if (pool.constants().empty() && module.metadata.lists.empty()) return text;
  return text + (with_metadata ? metadata_text(pool.constants(), module.metadata) : "// meta data omitted\n");
}

std::string print(const Block& block) {
  ConstantPool pool;
  return Printer(nullptr, &pool).lone_block(block);
}

}  // namespace dlcc::relay
