// The parser of Relay text. It accepts the surface syntax of format 0.0.5 (nested calls, graph variables, infix
// operators, blocks as values), reads the older 0.0.4, too, and produces A-normal form: an operand that is not an atom
// is bound to a new variable of the current block. Internal to frontends/relay; other code calls import_relay.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontends/relay/lexer.h"
#include "frontends/relay/metadata.h"
#include "relay/ir.h"
#include "relay/operator.h"
#include "support/deep_stack.h"

namespace dlcc::frontends::relay_text {

struct ParseOptions {
  std::string file;
  // The value of meta[relay.Constant][i] for indices beyond the text's metadata section, if given.
  std::optional<Constant> outside_constant;
  bool is_prelude = false;     // the text is the prelude itself
  bool is_expression = false;  // the text is one expression, without definitions
  // An object that the metadata section lacks has a value of unknown type. The module is incomplete then.
  bool allows_missing_metadata = false;
};

// The module as written, without type inference. Checks scopes, names and the number of type arguments.
std::optional<relay::Module> parse(std::string_view text, const ParseOptions&, Diagnostics&);

// The same, but returns a module also if the only errors are unknown operators, functions and variables. These become
// parameters of unknown types of an additional function, so that type inference, which then fails, finds the other
// problems of the module.
std::optional<relay::Module> parse_with_unknowns(std::string_view text, const ParseOptions&, Diagnostics&);

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions&, Diagnostics&);
  std::optional<relay::Module> run();  // as parse_with_unknowns

 private:
  // The value of an expression: an atom, or an operation without variable.
  struct Value {
    std::variant<relay::Atom, relay::Operation> v;
    SourceLocation location;
    TextRange range = {};  // of the whole expression, where statements() read it
  };
  class Depth;  // refuses text that would overflow the stack

  // ---- module (parser.cpp)
  void header();
  void old_header();
  void find_types();
  void find_constructors(Lexer&);
  void definitions();
  void definition();
  void function_definition();
  void external_function(const Token& name);
  void prim_function();
  bool is_defined_once(const Token& name);
  void type_definition(bool is_extern);
  void tensor_definition();
  bool tensor_functions();
  tensor::TensorFunction with_inferred_sizes(tensor::TensorFunction) const;
  void constructor(relay::DataTypeDef&);
  void expression_file();
  void interface_names();
  bool metadata();
  std::string remedy_for_global(const std::string& name, const std::vector<std::string>& known);
  void check_globals();

  // ---- the prelude (prelude.cpp). The load_ functions add the definition with this name, and those that it uses. They
  // return false if the prelude has no such definition, or the text defines the name itself.
  static relay::Module parse_prelude(int next_id, Diagnostics&);
  static const std::set<std::string>& names_of_prelude();
  const relay::Module& prelude();
  bool load_type(const std::string& name);
  bool load_constructor(const std::string& name);
  bool load_function(const std::string& name);
  void load_functions();
  std::vector<std::string> known_constructors();
  std::vector<std::string> functions_of_prelude();
  // Why the text cannot use this name of the prelude or of a constructor; "" for other names.
  std::string why_hidden(const std::string& name);

  // ---- functions, blocks, expressions (parse_expr.cpp, parse_match.cpp, parse_operations.cpp)
  relay::Function function_rest();
  void parameter(relay::Function&);
  relay::Block braces();  // { expr } in a new scope
  void block_value();     // of the current block
  Value expr();           // bindings and statements in a new scope; the value of the last statement
  Value statements();
  bool binding();  // parses one `let`, graph binding or `free_var`; false if there is none
  void let_binding();
  void graph_binding();
  void free_variable();
  Value bound_value();  // the right side of a binding
  Value statement();
  Value match_statement();
  relay::Pattern pattern();
  relay::Pattern pattern_without_range();
  Value binary();
  Value call();
  relay::Operation arguments(relay::Atom callee, const SourceLocation&);
  void argument(relay::Call&);
  Value primary();
  Value projected(Value);
  Value negated(const SourceLocation&);
  Value stacked(const SourceLocation&);
  Value primary_word(const Token&);
  Value named(const Token&);  // an operator or constructor
  Value dynamic_call(const std::string& name, const relay::Operator&, const SourceLocation&);
  relay::Operation operator_function(const relay::Operator&, const SourceLocation&);
  std::string remedy_for_name(const std::string&);  // for an unknown name
  relay::Atom local_variable(const Token&);
  relay::Atom graph_variable(const Token&);
  relay::Atom read_again(const Token&);
  relay::Atom undefined_local(const Token&);
  Value if_expression(const SourceLocation&);
  Value parenthesised(const SourceLocation&);
  Value call_tensor(const SourceLocation&);
  Value match_cast(const SourceLocation&);
  Value define_sizes(const SourceLocation&);
  Value require_sizes(const SourceLocation&);
  Value meta_constant(const SourceLocation&);
  bool at_attributes();
  bool at_meta_attributes();
  relay::Attrs meta_attributes(const relay::Operator*);

  relay::Atom atom(Value);  // binds an operation to an unnamed variable
  relay::Atom callee(Value);
  relay::Atom atom_expr() { return atom(expr()); }
  void bind(relay::Var, Value);
  relay::Atom nothing() { return Constant(); }  // after an error

  // ---- types, attributes, literals (parse_types.cpp, parse_literals.cpp)
  relay::Type type();
  relay::Type parenthesised_type();
  relay::Type tensor_type();
  bool is_type_of_language(const Token& name);
  bool is_reserved(const Token& name);
  relay::Type named_type(const Token&);
  relay::Type function_type();
  std::vector<relay::Type> type_list(std::string_view close);
  struct ElementType {
    DType dtype;
    int lanes;  // of a vector type such as int8x4
  };
  std::optional<ElementType> element_type(const Token&);
  relay::Type element(const Token&);
  relay::Type shape();
  std::vector<relay::TypeVariable> type_params();
  std::optional<relay::Kind> kind();
  relay::Type use_variable(const relay::TypeVariable&, relay::Kind, const SourceLocation&);
  void find_kinds(std::vector<relay::TypeVariable>&) const;
  Dim dim();
  std::optional<Dim> dim_in(std::string_view text);
  Dim dim_product();
  Dim dim_atom();
  Dim symbol(const std::string& name);
  relay::Attrs attributes(std::string_view close);
  relay::AttrValue attribute_value();
  relay::AttrValue meta_value();
  relay::MetaReference meta_reference();
  const MetadataNode* meta_object(const relay::MetaReference&, const SourceLocation&);
  Dim meta_dim();
  Constant literal(const Token&);
  Constant integer_literal(const Token&);
  Constant float_literal(const Token&);
  void check_suffix(const Token&);  // that a number with a fraction or an exponent has one
  std::optional<double> number(const Token&);
  Value tensor_literal(const relay::Type&, const SourceLocation&);
  Token element_token();
  std::optional<uint64_t> bits_of_element(const Token&, DType);
  std::vector<tensor::Layout> layouts(const relay::AttrValue&, const SourceLocation&);

  // ---- tokens
  const Token& peek(size_t ahead = 0) { return lexer_.peek(ahead); }
  bool accept(std::string_view symbol);
  bool accept_word(std::string_view word);
  bool expect(std::string_view symbol, std::string_view after);
  Token expect_kind(TokenKind, std::string_view what);
  bool at_end() { return peek().kind == TokenKind::end; }
  SourceLocation location() { return lexer_.location(peek()); }
  void unexpected(std::string_view wanted);
  void report(DiagnosticId, const SourceLocation&, std::string message, std::string help = {},
              std::vector<std::string> details = {});
  void note_definition(const std::string& what, const Token& name);
  void report_second_definition(const std::string& what, const Token& name);
  std::vector<std::string> first_definition(const std::string& what) const;
  bool may_report() const;
  bool has_enough_errors() const;
  // The name that `word` probably means, among those that `names` returns. Empty for errors that are not reported: a
  // search takes time for each name.
  std::optional<std::string> meant_by(std::string_view word,
                                      const std::function<std::vector<std::string>()>& names) const;
  relay::Atom unknown(DiagnosticId, const SourceLocation&, std::string message, std::string help);  // and reports it
  void declare_unknowns();

  // A list after its opening symbol: items separated by commas, optionally with a trailing comma, then `close`.
  template <class Item>
  void list(std::string_view close, Item item) {
    while (!lexer_.failed() && !accept(close)) {
      item();
      if (!accept(",") && !peek().is(close)) unexpected(fmt::format("',' or '{}'", close));
    }
  }

  // ---- scoped names: a log of hidden entries restores them at the end of a scope
  template <class Key, class Entry>
  class Names {
   public:
    void add(const Key& key, Entry entry) {
      auto it = current_.find(key);
      log_.emplace_back(key, it == current_.end() ? std::nullopt : std::optional(it->second));
      current_.insert_or_assign(key, std::move(entry));
    }
    const Entry* find(const Key& key) const {
      auto it = current_.find(key);
      return it == current_.end() ? nullptr : &it->second;
    }
    std::vector<Key> all() const {
      std::vector<Key> keys;
      for (const auto& [key, entry] : current_) keys.push_back(key);
      return keys;
    }
    size_t mark() const { return log_.size(); }
    void restore(size_t mark) {
      for (; log_.size() > mark; log_.pop_back()) {
        auto& [key, hidden] = log_.back();
        if (hidden)
          current_.insert_or_assign(key, std::move(*hidden));
        else
          current_.erase(key);
      }
    }

   private:
    std::map<Key, Entry> current_;
    std::vector<std::pair<Key, std::optional<Entry>>> log_;
  };
  class Scope;       // removes the names declared in its lifetime
  class BlockScope;  // and the graph variables

  struct GraphVariable {
    relay::Atom value;
    size_t offset;  // of the expression
  };
  struct GraphText {
    Token start;   // of the expression
    int first_id;  // variables that the expression binds have this id or a later one
    bool has_errors;
  };
  struct Rereading {
    int64_t number;  // of the graph variable
    const GraphText& text;
    SourceLocation use;
  };

  std::string_view text_, metadata_text_;
  const ParseOptions& options_;
  Diagnostics& diagnostics_;
  size_t errors_before_;
  bool is_broken_ = false;            // there are errors besides unknown names
  std::vector<relay::Var> unknowns_;  // in place of unknown names
  Lexer lexer_;
  bool is_old_ = false;  // whether the text has format 0.0.4
  relay::Module module_;
  relay::Block* block_ = nullptr;  // the current one
  Names<std::string, relay::Var> locals_;
  Names<int64_t, GraphVariable> graph_;
  std::map<int64_t, GraphText> graph_texts_;  // of the latest binding of each number
  const Rereading* rereading_ = nullptr;      // while a graph variable's expression is parsed again
  // The referent of each variable in the text when it was first parsed, by the variable's offset: the id of a local
  // variable, or the offset of a graph variable's expression.
  std::unordered_map<size_t, size_t> meanings_;
  Names<std::string, relay::TypeVariable> type_variables_;
  struct KindOfVariable {
    relay::Kind kind;
    SourceLocation location;  // where it is declared or used as such
  };
  std::map<int, KindOfVariable> kinds_;          // of type variables, as far as they are known
  std::map<std::string, size_t> types_of_text_;  // their number of parameters
  std::set<std::string> constructors_of_text_;
  struct Constructor {
    size_t fields;
  };
  std::map<std::string, Constructor> constructors_;
  std::map<std::string, SourceLocation> first_definitions_;  // of "@f", "type T", "constructor C", "%id"
  std::optional<relay::Module> prelude_;                     // parsed at its first use
  std::set<std::string> loaded_types_;                       // of the prelude
  std::set<std::string> names_in_pattern_;                   // of the variables that the current pattern binds so far
  std::vector<std::pair<std::string, SourceLocation>> globals_used_, tensor_functions_used_;
  Metadata metadata_;
  std::set<std::string> symbols_;  // names of sizes in the Relay text
  std::string tensor_text_;        // the text with everything but embedded tensor functions replaced by blanks
  std::vector<relay::Var>* free_vars_ = nullptr;      // declared by free_var, in a file that is one expression
  std::map<int, relay::OperatorRef> operator_names_;  // by variable: the operator that it names
  std::map<int, int> self_uses_;                      // by variable: uses in the function that is its value
};

// The parser recurses over nested text, and may use a quarter of the stack. The other traversals of the module need the
// rest; some use more stack per level than the parser.
class Parser::Depth {
 public:
  explicit Depth(Parser& parser) {
    const StackSpace stack = stack_space();
    if (stack.rest < stack.total - stack.total / 4)
      parser.lexer_.error(parser.location(), "this is nested deeper than the stack has room for",
                          "bind inner expressions with let");
  }
};

class Parser::Scope {
 public:
  explicit Scope(Parser& p) : parser_(p), locals_(p.locals_.mark()), types_(p.type_variables_.mark()) {}
  ~Scope() {
    parser_.locals_.restore(locals_);
    parser_.type_variables_.restore(types_);
  }

 private:
  Parser& parser_;
  size_t locals_, types_;
};

class Parser::BlockScope {
 public:
  explicit BlockScope(Parser& p) : parser_(p), scope_(p), graph_(p.graph_.mark()) {}
  ~BlockScope() { parser_.graph_.restore(graph_); }

 private:
  Parser& parser_;
  Scope scope_;
  size_t graph_;
};

}  // namespace dlcc::frontends::relay_text
