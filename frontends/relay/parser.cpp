// Parses modules: header, definitions, and files that are one expression.
#include "frontends/relay/parser.h"

#include <algorithm>

#include "frontends/relay/remedies.h"
#include "relay/type_arguments.h"
#include "support/similar_names.h"
#include "tensor/analysis.h"
#include "tensor/parse.h"
#include "tensor/passes/bind_sizes.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

std::optional<Module> parse(std::string_view text, const ParseOptions& options, Diagnostics& diagnostics) {
  const size_t errors = diagnostics.error_count();
  auto module = parse_with_unknowns(text, options, diagnostics);
  return diagnostics.error_count() == errors ? std::move(module) : std::nullopt;
}

std::optional<Module> parse_with_unknowns(std::string_view text, const ParseOptions& options,
                                          Diagnostics& diagnostics) {
  return Parser(text, options, diagnostics).run();
}

Parser::Parser(std::string_view text, const ParseOptions& options, Diagnostics& diagnostics)
    : text_(text.substr(0, find_metadata(text))),
      metadata_text_(text.substr(text_.size())),
      options_(options),
      diagnostics_(diagnostics),
      errors_before_(diagnostics.error_count()),
      lexer_(text_, options.file, diagnostics) {
  diagnostics.keep_text(options.file, text_);
}

std::optional<Module> Parser::run() {
  if (!metadata()) return std::nullopt;
  if (at_end() && metadata_text_.empty()) lexer_.error(location(), "the text is empty");
  header();
  auto at_definition = [&] {
    return at_end() || peek().word("def") || peek().word("type") || peek().word("extern") || peek().word("tensor") ||
           lexer_.at_prim_function();
  };
  if (at_definition() && !options_.is_expression)
    definitions();
  else
    expression_file();
  interface_names();
  if (lexer_.failed() || lexer_.has_errors() || !tensor_functions()) return std::nullopt;
  check_globals();
  if (is_broken_) return std::nullopt;
  declare_unknowns();
  return std::move(module_);
}

bool Parser::metadata() {
  if (metadata_text_.empty()) return true;
  int line = 1 + static_cast<int>(std::count(text_.begin(), text_.end(), '\n'));
  const size_t mark = metadata_text_.find_first_of("]:") + 1;  // #[metadata] or METADATA:
  auto metadata = parse_metadata(metadata_text_.substr(mark), {options_.file, line, 1, ""}, diagnostics_);
  if (!metadata) return false;
  metadata_ = std::move(*metadata);
  module_.metadata = std::move(metadata_.objects);
  return true;
}

void Parser::header() {
  if (has_old_header(text_)) return old_header();
  if (!accept("#[")) return;
  if (!accept_word("version")) return unexpected("'version'");
  if (!expect("=", "version")) return;
  Token version = expect_kind(TokenKind::string, "the version");
  if (!lexer_.failed() && version.text != "0.0.5")
    return lexer_.error(lexer_.location(version), fmt::format("version \"{}\" is not known", version.text),
                        "the format is \"0.0.5\"");
  expect("]", "the version");
}

// v0.0.4
void Parser::old_header() {
  const SourceLocation where = location();
  const bool is_known = peek(1).integer == 0 && peek(2).kind == TokenKind::projection && peek(2).integer == 4;
  if (!is_known)
    return lexer_.error(where, "this version of the text format is not known",
                        "the formats are v0.0.4 and #[version = \"0.0.5\"]");
  for (int k = 0; k < 3; ++k) lexer_.next();
  is_old_ = true;
  lexer_.begin_old_format();
}

// ---- definitions ----------------------------------------------------------------------------------------------------

// Finds the types that the text defines, so that types may name later ones.
void Parser::find_types() {
  if (text_.find("type ") == std::string_view::npos) return;
  Diagnostics ignored;
  Lexer lexer(text_, options_.file, ignored);
  while (lexer.peek().kind != TokenKind::end) {
    if (!lexer.next().word("type") || lexer.peek().kind != TokenKind::identifier) continue;
    const std::string name(lexer.next().text);
    size_t params = 0;
    if (lexer.peek().is("["))
      for (bool is_kind = false; lexer.peek().kind != TokenKind::end && !lexer.peek().is("]");) {
        params += lexer.peek().kind == TokenKind::identifier && !is_kind;
        is_kind = lexer.next().is(":");
      }
    types_of_text_.emplace(name, params);
    if (lexer.peek().is("]")) lexer.next();
    if (lexer.peek().is("{")) find_constructors(lexer);
  }
}

// The names in braces, without those of the fields' types.
void Parser::find_constructors(Lexer& lexer) {
  bool begins = false;
  for (int depth = 0; lexer.peek().kind != TokenKind::end;) {
    const Token t = lexer.next();
    depth += (t.is("{") || t.is("(") || t.is("[")) - (t.is("}") || t.is(")") || t.is("]"));
    if (depth == 0) return;
    if (begins && t.kind == TokenKind::identifier) constructors_of_text_.insert(std::string(t.text));
    begins = depth == 1 && (t.is("{") || t.is(","));
  }
}

// A syntax error ends a definition, and the next one is read for its own errors; but not after an error in a type,
// whose constructors would be missing.
void Parser::definitions() {
  find_types();
  while (!at_end()) {
    const Token start = peek();
    definition();
    if (!lexer_.failed()) continue;
    const bool is_function = start.word("def") || start.word("tensor");
    if (!is_function || has_enough_errors() || !lexer_.resume_after(start.line)) break;
    block_ = nullptr;
    rereading_ = nullptr;
    self_uses_.clear();
  }
}

void Parser::definition() {
  if (accept_word("def")) return function_definition();
  if (accept_word("type")) return type_definition(false);
  if (accept_word("extern")) {
    if (!accept_word("type")) return unexpected("'type'");
    return type_definition(true);
  }
  if (peek().word("tensor")) return tensor_definition();
  if (lexer_.at_prim_function()) return prim_function();
  unexpected("a definition: 'def', 'type' or 'tensor'");
}

void Parser::function_definition() {
  Token name = expect_kind(TokenKind::global, "the function's name, @name");
  if (accept("=")) return external_function(name);
  Function f = function_rest();
  f.location = lexer_.location(name);
  if (lexer_.failed()) return;
  if (is_defined_once(name)) module_.functions.emplace(name.text, std::move(f));
}

// Whether no function has this name, or reports it.
bool Parser::is_defined_once(const Token& name) {
  const std::string key(name.text);
  const bool is_first = !module_.functions.contains(key) && !module_.external_functions.contains(key) &&
                        !module_.prim_functions.contains(key);
  if (is_first)
    note_definition("@" + key, name);
  else
    report_second_definition("@" + key, name);
  return is_first;
}

void Parser::note_definition(const std::string& what, const Token& name) {
  first_definitions_.emplace(what, lexer_.location(name));
}

void Parser::report_second_definition(const std::string& what, const Token& name) {
  report(DiagnosticId::duplicate_definition, lexer_.location(name), what + " is defined twice", {},
         first_definition(what));
}

// The line of a message that names the place of the first definition, if that is in the text.
std::vector<std::string> Parser::first_definition(const std::string& what) const {
  const auto first = first_definitions_.find(what);
  if (first == first_definitions_.end()) return {};
  return {first->second.str() + ": the first definition"};
}

// A function of TVM's tensor IR, which TVM prints and does not read.
void Parser::prim_function() {
  const Token name = peek();
  const std::string_view text = lexer_.take_prim_function();
  if (!lexer_.failed() && is_defined_once(name)) module_.prim_functions.emplace(name.text, text);
}

// def @f = meta[ExternFunc][0], as TVM prints a function that another compiler has compiled.
void Parser::external_function(const Token& name) {
  if (!accept_word("meta")) return unexpected("meta[ExternFunc][0]");
  const MetaReference reference = meta_reference();
  if (lexer_.failed()) return;
  accept(";");
  if (is_defined_once(name)) module_.external_functions.emplace(name.text, reference);
}

// The constructors may refer to the type.
void Parser::type_definition(bool is_extern) {
  Scope scope(*this);
  Token name = expect_kind(TokenKind::identifier, "the type's name");
  DataTypeDef def{std::string(name.text), type_params(), {}, is_extern};
  if (lexer_.failed()) return;
  if (is_type_of_language(name))
    report(DiagnosticId::duplicate_definition, lexer_.location(name),
           fmt::format("{} is a type of the language", name.text), "give the data type another name");
  if (module_.data_types.emplace(def.name, def).second) {
    note_definition("type " + def.name, name);
  } else {
    report_second_definition("type " + def.name, name);
    def.name = "";
  }
  if (accept("{")) list("}", [&] { constructor(def); });
  find_kinds(def.params);
  for (const TypeVariable& v : def.params)
    if (v.kind != Kind::type)
      report(DiagnosticId::unsupported_type, lexer_.location(name),
             fmt::format("the variable {} of type {} stands for a shape or an element type", v.name, name.text),
             "a data type has only types as variables: write the tensor type as one");
  if (is_extern && !def.constructors.empty())
    report(DiagnosticId::syntax_error, lexer_.location(name), "an extern type has no constructors");
  if (!def.name.empty()) module_.data_types[def.name] = std::move(def);
}

void Parser::constructor(DataTypeDef& def) {
  Token name = expect_kind(TokenKind::identifier, "a constructor's name");
  ConstructorDef c{std::string(name.text), {}};
  if (accept("(")) c.fields = type_list(")");
  if (lexer_.failed()) return;
  if (is_reserved(name))
    report(DiagnosticId::duplicate_definition, lexer_.location(name),
           fmt::format("{} is a word or an operator of the language", name.text), "give the constructor another name");
  else if (name.text.find('.') != std::string_view::npos)
    report(DiagnosticId::syntax_error, lexer_.location(name), "the name of a constructor has no '.'");
  if (std::ranges::any_of(c.fields, has_holes))
    report(DiagnosticId::cannot_infer, lexer_.location(name),
           fmt::format("the types of the fields of {} must be known: nothing infers '_' in a data type", c.name),
           "a field of any type is a variable of the type: type T[A] { C(A) }");
  if (constructors_.emplace(c.name, Constructor{c.fields.size()}).second) {
    note_definition("constructor " + c.name, name);
    def.constructors.push_back(std::move(c));
  } else {
    report_second_definition("constructor " + c.name, name);
  }
}

// Tensor functions have their own text format (tensor/parse.h). All are parsed together, at their offsets in the file,
// so that messages have the file's line numbers.
void Parser::tensor_definition() {
  const Token head = peek();
  std::string_view definition = lexer_.take_braced(head);
  if (tensor_text_.empty()) {
    tensor_text_.assign(text_);
    for (char& c : tensor_text_) c = c == '\n' ? '\n' : ' ';
  }
  std::copy(definition.begin(), definition.end(), tensor_text_.begin() + static_cast<ptrdiff_t>(head.offset));
}

bool Parser::tensor_functions() {
  if (tensor_text_.empty()) return true;
  auto parsed = tensor::parse(tensor_text_, options_.file, diagnostics_);
  if (!parsed) return false;
  for (tensor::TensorFunction& f : parsed->functions) {
    std::string name = f.name;
    f = with_inferred_sizes(std::move(f));
    if (!module_.tensor_functions.emplace(name, std::move(f)).second)
      report(DiagnosticId::duplicate_definition, {options_.file}, fmt::format("tensor @{} is defined twice", name));
  }
  return true;
}

// In tensor text, where '?' is an operator, the size ?1 of the Relay text is _1. A size that no operand has is the
// module's: the function must have its name.
tensor::TensorFunction Parser::with_inferred_sizes(tensor::TensorFunction f) const {
  std::map<std::string, Dim> inferred;
  for (const Symbol& s : tensor::symbols_of(f)) {
    const std::string name = "?" + s.name.substr(1);
    const bool is_inferred = s.name.starts_with('_') && symbols_.contains(name) && !symbols_.contains(s.name);
    if (is_inferred) inferred.emplace(s.name, Dim::symbol({name, s.low, s.high}));
  }
  return inferred.empty() ? f : tensor::bind_sizes(f, inferred);
}

// The file is the body of @main, whose parameters are the free variables, or a function, which is @main itself.
void Parser::expression_file() {
  Function main;
  main.location = location();
  block_ = &main.body;
  free_vars_ = &main.params;
  Value value = expr();
  if (!at_end()) unexpected("the end of the text");
  MakeFunction* function = nullptr;
  if (Operation* op = std::get_if<Operation>(&value.v)) function = std::get_if<MakeFunction>(op);
  if (function && main.body.bindings.empty() && main.params.empty()) {
    main = std::move(*function->function);
  } else {
    main.body.result = atom(std::move(value));
  }
  block_ = nullptr;
  if (!lexer_.failed()) module_.functions.emplace("main", std::move(main));
}

// Reads the interface's names from the attributes input_names and output_names of @main. By default an input has the
// name of its parameter.
void Parser::interface_names() {
  auto it = module_.functions.find("main");
  if (it == module_.functions.end()) return;
  Function& main = it->second;
  auto take = [&](const char* key, std::vector<std::string>& names) {
    auto attr = main.attrs.find(key);
    const AttrList* list = attr == main.attrs.end() ? nullptr : std::get_if<AttrList>(&attr->second.v);
    if (!list) return;
    for (const AttrValue& v : *list)
      if (const std::string* s = std::get_if<std::string>(&v.v)) names.push_back(*s);
    main.attrs.erase(attr);
  };
  take("input_names", module_.input_names);
  take("output_names", module_.output_names);
  if (module_.input_names.size() == main.params.size()) return;
  module_.input_names.clear();
  for (const Var& p : main.params) module_.input_names.push_back(p->name);
}

// Why the prelude's function is hidden, "did you mean '@f'?", or the functions that there are.
std::string Parser::remedy_for_global(const std::string& name, const std::vector<std::string>& known) {
  constexpr size_t most_shown = 5;
  if (std::string reason = why_hidden(name); !reason.empty()) return reason;
  auto meant = meant_by("@" + name, [&] { return known; });
  if (!meant) meant = meant_by("@" + name, [&] { return functions_of_prelude(); });
  if (meant) return fmt::format("did you mean '{}'?", *meant);
  const bool is_short = may_report() && !known.empty() && known.size() <= most_shown;
  return is_short ? fmt::format("defined here: {}", fmt::join(known, ", ")) : "";
}

static void for_each_global(Block& block, const std::function<void(Atom&, const GlobalRef&)>& visit) {
  auto visit_global = [&](Atom& a) {
    if (const GlobalRef* global = std::get_if<GlobalRef>(&a)) visit(a, GlobalRef(*global));
  };
  for (Binding& b : block.bindings) {
    for_each_atom(b.op, visit_global);
    for_each_block(b.op, [&](Block& inner) { for_each_global(inner, visit); });
  }
  visit_global(block.result);
}

void Parser::check_globals() {
  load_functions();
  std::vector<std::string> functions, tensor_functions;
  for (const auto& [name, f] : module_.functions) functions.push_back("@" + name);
  for (const auto& [name, f] : module_.tensor_functions) tensor_functions.push_back("@" + name);
  bool has_unknowns = false;
  for (const auto& [name, where] : globals_used_) {
    if (module_.functions.contains(name)) continue;
    if (module_.external_functions.contains(name) || module_.prim_functions.contains(name)) {
      report(DiagnosticId::unsupported_construct, where,
             fmt::format("@{} is a function without a body in Relay, which cannot be called", name),
             "define it: def @" + name + "(%x: ...) { ... }");
      continue;
    }
    has_unknowns = true;
    if (may_report())
      diagnostics_.error(DiagnosticId::undefined_value, where, fmt::format("there is no function @{}", name), {},
                         remedy_for_global(name, functions));
  }
  if (has_unknowns)
    for (auto& [name, f] : module_.functions)
      for_each_global(f.body, [&](Atom& use, const GlobalRef& global) {
        if (!module_.functions.contains(global.name)) use = unknowns_.emplace_back(module_.fresh("unknown"));
      });
  for (const auto& [name, where] : tensor_functions_used_)
    if (!module_.tensor_functions.contains(name))
      report(DiagnosticId::undefined_value, where, fmt::format("there is no tensor function @{}", name),
             remedy_for_global(name, tensor_functions));
}

// ---- tokens ---------------------------------------------------------------------------------------------------------

bool Parser::accept(std::string_view symbol) {
  if (!peek().is(symbol)) return false;
  lexer_.next();
  return true;
}

bool Parser::accept_word(std::string_view word) {
  if (!peek().word(word)) return false;
  lexer_.next();
  return true;
}

bool Parser::expect(std::string_view symbol, std::string_view after) {
  if (accept(symbol)) return true;
  unexpected(fmt::format("'{}' after {}", symbol, after));
  return false;
}

Token Parser::expect_kind(TokenKind kind, std::string_view what) {
  if (peek().kind == kind) return lexer_.next();
  unexpected(what);
  return {};
}

void Parser::unexpected(std::string_view wanted) {
  const Token t = peek();
  std::string found = t.kind == TokenKind::end ? "the end of the text" : fmt::format("'{}'", t.text);
  if (t.kind == TokenKind::local) found = fmt::format("'%{}'", t.text);
  if (t.kind == TokenKind::graph) found = fmt::format("'%{}'", t.integer);
  if (t.kind == TokenKind::global) found = fmt::format("'@{}'", t.text);
  if (t.kind == TokenKind::projection) found = fmt::format("'.{}'", t.integer);
  if (t.kind == TokenKind::number) found = "a number";
  if (t.kind == TokenKind::string) found = "a string";
  lexer_.error(lexer_.location(t), fmt::format("expected {}, found {}", wanted, found), remedy_for_token(t, wanted));
}

// Errors after a syntax error would follow from it, and nobody reads hundreds of them.
bool Parser::may_report() const { return !lexer_.failed() && !has_enough_errors(); }

bool Parser::has_enough_errors() const {
  constexpr size_t enough = 100;
  return diagnostics_.error_count() >= errors_before_ + enough;
}

std::optional<std::string> Parser::meant_by(std::string_view word,
                                            const std::function<std::vector<std::string>()>& names) const {
  return may_report() ? nearest_name(word, names()) : std::nullopt;
}

void Parser::report(DiagnosticId id, const SourceLocation& where, std::string message, std::string help,
                    std::vector<std::string> details) {
  is_broken_ = true;
  if (!may_report()) return;
  diagnostics_.error(id, where, std::move(message), std::move(details), std::move(help));
  if (!may_report()) diagnostics_.remark(id, where, "there may be more errors: only the first 100 are reported");
}

Atom Parser::unknown(DiagnosticId id, const SourceLocation& where, std::string message, std::string help) {
  if (may_report()) diagnostics_.error(id, where, std::move(message), {}, std::move(help));
  return unknowns_.emplace_back(module_.fresh("unknown"));
}

void Parser::declare_unknowns() {
  if (unknowns_.empty()) return;
  Function function;
  function.params = std::move(unknowns_);
  function.body.result = nothing();
  module_.functions.emplace("", std::move(function));  // no function of the text has this name
}

}  // namespace dlcc::frontends::relay_text
