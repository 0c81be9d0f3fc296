// Parses functions, blocks and expressions; parse_match.cpp has match, parse_operations.cpp the other operations with a
// keyword.
#include <algorithm>
#include <optional>

#include "frontends/relay/parser.h"
#include "frontends/relay/remedies.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

// ---- functions and blocks -------------------------------------------------------------------------------------------

// [A](%x: T, attr=1) -> T { body }
Function Parser::function_rest() {
  Scope scope(*this);
  Function f;
  f.location = location();
  f.type_params = type_params();
  if (!expect("(", "the function's name")) return f;
  list(")", [&] {
    if (!at_attributes()) return parameter(f);
    f.attrs = attributes(")");
  });
  if (accept("->")) {
    const Token first = peek();
    f.result_type = type();
    f.result_range = lexer_.range_from(first);
  }
  f.body = braces();
  find_kinds(f.type_params);
  return f;
}

void Parser::parameter(Function& f) {
  Token name = expect_kind(TokenKind::local, "a parameter, %name");
  Var var = module_.fresh(std::string(name.text));
  if (accept("{")) {
    var->attrs = std::make_shared<const Attrs>(attributes("}"));
    expect("}", "the parameter's attributes");
  }
  if (accept(":")) var->type = type();
  for (const Var& other : f.params)
    if (other->name == var->name && !lexer_.failed())
      report(DiagnosticId::duplicate_definition, lexer_.location(name),
             fmt::format("two parameters are named %{}", var->name), {},
             first_definition(fmt::format("%{}", other->id)));
  note_definition(fmt::format("%{}", var->id), name);
  f.params.push_back(var);
  locals_.add(var->name, var);
}

Block Parser::braces() {
  Block block;
  const Token open = peek();
  if (!expect("{", "the head")) return block;
  BlockScope scope(*this);
  Block* outer = std::exchange(block_, &block);
  block_value();
  // After a syntax error, the rest of the block is read for its own errors.
  while (lexer_.failed() && !has_enough_errors() && lexer_.resume_in_block(open))
    if (!peek().is("}")) block_value();
  block_ = outer;
  expect("}", "the block's value");
  return block;
}

void Parser::block_value() {
  Value value = statements();
  block_->range = value.range;
  block_->result = atom(std::move(value));
}

Parser::Value Parser::expr() {
  Scope scope(*this);
  return statements();
}

Parser::Value Parser::statements() {
  Depth depth(*this);
  for (;;) {
    while (binding()) {
    }
    const Token first = peek();
    Value value = statement();
    value.range = lexer_.range_from(first);
    if (lexer_.failed() || !accept(";")) return value;
    if (is_old_) accept(";");  // format 0.0.4 has a;; b
    // a; b  is  let %_ = a; b
    if (std::holds_alternative<Operation>(value.v)) bind(module_.fresh("_"), std::move(value));
  }
}

bool Parser::binding() {
  if (lexer_.failed()) return false;
  if (peek().word("let"))
    let_binding();
  else if (peek().kind == TokenKind::graph && peek(1).is("="))
    graph_binding();
  else if (peek().word("free_var"))
    free_variable();
  else
    return false;
  return true;
}

// A function's variable is in scope in the function, which may be recursive.
void Parser::let_binding() {
  lexer_.next();
  Token name = expect_kind(TokenKind::local, "a variable, %name");
  Type annotation = accept(":") ? type() : nullptr;
  Var var = module_.fresh(std::string(name.text), annotation);
  if (!expect("=", "the variable")) return locals_.add(var->name, var);
  size_t ahead = 0;
  while (ahead < 8 && peek(ahead).is("(")) ++ahead;
  bool recursive = peek(ahead).word("fn");
  if (recursive) {
    locals_.add(var->name, var);
    self_uses_[var->id] = 0;
  }
  Value value = bound_value();
  if (!recursive) locals_.add(var->name, var);
  const Operation* op = std::get_if<Operation>(&value.v);
  bool function = op && std::holds_alternative<MakeFunction>(*op);
  if (recursive && !function && self_uses_[var->id] > 0)
    report(DiagnosticId::undefined_value, lexer_.location(name),
           fmt::format("%{} is used in its own value, which is not a function", var->name));
  self_uses_.erase(var->id);
  const Atom* atom = std::get_if<Atom>(&value.v);
  const OperatorRef* named = atom && !annotation ? std::get_if<OperatorRef>(atom) : nullptr;
  if (named)
    operator_names_.emplace(var->id, *named);
  else
    bind(var, std::move(value));
  expect(";", "the binding");
}

// %0 = value; the expression is evaluated at the binding.
void Parser::graph_binding() {
  int64_t number = lexer_.next().integer;
  lexer_.next();
  GraphText text{peek(), module_.next_id, false};
  const size_t errors = diagnostics_.error_count();
  graph_.add(number, {callee(bound_value()), text.start.offset});
  text.has_errors = diagnostics_.error_count() > errors;
  if (!rereading_) graph_texts_.insert_or_assign(number, text);
  expect(";", "the binding");
}

void Parser::free_variable() {
  lexer_.next();
  Token name = expect_kind(TokenKind::local, "a variable, %name");
  Var var = module_.fresh(std::string(name.text));
  if (accept(":")) var->type = type();
  if (free_vars_)
    free_vars_->push_back(var);
  else
    report(DiagnosticId::syntax_error, lexer_.location(name),
           "free_var is allowed only in a file that is one expression");
  locals_.add(var->name, var);
  expect(";", "the variable");
}

Parser::Value Parser::bound_value() {
  bool wide = peek().word("match") || peek().is("match?") || peek().is("{");
  Depth depth(*this);
  return wide ? statement() : binary();
}

Parser::Value Parser::statement() {
  if (peek().word("match") || peek().is("match?")) return match_statement();
  if (!accept("{")) return binary();
  Value value = expr();
  expect("}", "the block's value");
  return value;
}

// ---- expressions ----------------------------------------------------------------------------------------------------

namespace {

struct Infix {
  std::string_view symbol, op;
  int precedence;
};
constexpr Infix infixes[] = {{"*", "multiply", 12}, {"/", "divide", 12},        {"+", "add", 10},
                             {"-", "subtract", 10}, {"<", "less", 8},           {"<=", "less_equal", 8},
                             {">", "greater", 8},   {">=", "greater_equal", 8}, {"==", "equal", 7},
                             {"!=", "not_equal", 7}};

const Infix* infix(const Token& t) {
  for (const Infix& i : infixes)
    if (t.is(i.symbol)) return &i;
  return nullptr;
}

}  // namespace

// Operator-precedence parsing (Floyd, "Syntactic Analysis and Operator Precedence", 1963) with an explicit stack; all
// operators are left-associative.
Parser::Value Parser::binary() {
  struct Pending {
    Atom left;
    const Infix* op;
    SourceLocation location;
  };
  std::vector<Pending> stack;
  Value value = call();
  for (;;) {
    const Infix* op = lexer_.failed() ? nullptr : infix(peek());
    while (!stack.empty() && (!op || stack.back().op->precedence >= op->precedence)) {
      Pending p = std::move(stack.back());
      stack.pop_back();
      const Operator* callee = operators().find(std::string(p.op->op));
      if (!callee) {
        report(DiagnosticId::unsupported_operator, p.location, fmt::format("there is no operator {}", p.op->op));
        return {nothing(), p.location};
      }
      Atom right = atom(std::move(value));
      value = {Operation(Call{OperatorRef{callee}, {p.left, right}, {}}), p.location};
    }
    if (!op) return value;
    SourceLocation where = location();
    lexer_.next();
    Atom left = atom(std::move(value));
    stack.push_back({std::move(left), op, where});
    value = call();
  }
}

// -value, of format 0.0.4, after the sign.
Parser::Value Parser::negated(const SourceLocation& where) {
  Depth depth(*this);
  Atom value = atom(call());
  return {Operation(Call{OperatorRef{operators().find("negative")}, {std::move(value)}, {}}), where};
}

// [a, b] of format 0.0.4, after '[': the tensor of these elements or rows.
Parser::Value Parser::stacked(const SourceLocation& where) {
  MakeTuple rows;
  list("]", [&] { rows.fields.push_back(atom_expr()); });
  if (rows.fields.empty() && !lexer_.failed())
    report(DiagnosticId::syntax_error, where, "this tensor has no elements", "zeros(shape=[0]) is an empty tensor");
  Atom tuple = atom({Operation(std::move(rows)), where});
  return {Operation(Call{OperatorRef{operators().find("stack")}, {std::move(tuple)}, {{"axis", int64_t{0}}}}), where};
}

Parser::Value Parser::call() {
  if (is_old_ && peek().is("-")) return negated(lexer_.location(lexer_.next()));
  Value value = primary();
  while (!lexer_.failed() && peek().is("(")) {
    SourceLocation where = value.location;
    Atom function = callee(std::move(value));
    lexer_.next();
    value = projected({arguments(std::move(function), where), where});
  }
  return value;
}

bool Parser::at_attributes() { return peek().kind == TokenKind::identifier && peek(1).is("="); }

// meta[relay.attrs.Conv2DAttrs][0] in place of the attributes.
bool Parser::at_meta_attributes() {
  return peek().word("meta") && peek(2).kind == TokenKind::identifier && peek(2).text.starts_with("relay.attrs.");
}

// Arguments and attributes, after '('. Only operators have attributes; TVM prints attrs_type_key for calls of others,
// also for those of a name of an operator.
Operation Parser::arguments(Atom callee, const SourceLocation& where) {
  Call call{std::move(callee), {}, {}};
  const OperatorRef* op = std::get_if<OperatorRef>(&call.callee);
  list(")", [&] {
    if (at_attributes())
      call.attrs = attributes(")");
    else if (at_meta_attributes())
      call.attrs = meta_attributes(op ? op->op : nullptr);
    else
      argument(call);
  });
  const bool has_type_key = call.attrs.erase("attrs_type_key") > 0;
  if (op || call.attrs.empty()) return call;
  const Var* var = std::get_if<Var>(&call.callee);
  const bool is_unknown = var && std::ranges::find(unknowns_, *var) != unknowns_.end();  // it may be an operator
  if (may_report() && !is_unknown && !has_type_key)
    diagnostics_.warning(
        DiagnosticId::bad_attribute, where,
        fmt::format("attribute '{}' is ignored: only calls of operators have attributes", call.attrs.begin()->first));
  call.attrs.clear();
  return call;
}

void Parser::argument(Call& call) {
  Value value = expr();
  call.ranges.push_back(value.range);
  call.args.push_back(atom(std::move(value)));
}

Parser::Value Parser::primary() {
  Depth depth(*this);
  Token t = peek();
  Value value{nothing(), lexer_.location(t)};
  switch (t.kind) {
    case TokenKind::number:
      value.v = Atom(literal(lexer_.next()));
      break;
    case TokenKind::local:
      lexer_.next();
      value.v = local_variable(t);
      break;
    case TokenKind::graph:
      lexer_.next();
      value.v = graph_variable(t);
      break;
    case TokenKind::global:
      lexer_.next();
      globals_used_.emplace_back(t.text, value.location);
      value.v = Atom(GlobalRef{std::string(t.text)});
      break;
    case TokenKind::identifier:
      value = primary_word(t);
      break;
    default:
      if (is_old_ && accept("[")) {
        value = stacked(value.location);
        break;
      }
      if (!accept("(")) {
        unexpected("an expression");
        return value;
      }
      value = parenthesised(value.location);
  }
  return projected(std::move(value));
}

// value.0.1
Parser::Value Parser::projected(Value value) {
  while (peek().kind == TokenKind::projection) {
    int index = static_cast<int>(lexer_.next().integer);
    SourceLocation where = value.location;
    Atom tuple = atom(std::move(value));
    value = {Operation(Project{std::move(tuple), index}), where};
  }
  return value;
}

Parser::Value Parser::primary_word(const Token& t) {
  SourceLocation where = lexer_.location(t);
  if (t.word("let") || t.word("def") || t.word("type") || t.word("else") || t.word("extern") || t.word("free_var") ||
      t.word("match") || t.word("_")) {
    unexpected("an expression");
    return {nothing(), where};
  }
  lexer_.next();
  auto operands = [&](size_t count) {
    std::vector<Atom> args;
    if (expect("(", t.text)) list(")", [&] { args.push_back(atom_expr()); });
    if (args.size() != count && !lexer_.failed())
      report(DiagnosticId::wrong_arity, where,
             fmt::format("{} takes {} operands, found {}", t.text, count, args.size()));
    args.resize(count);
    return args;
  };
  auto operation = [&](auto op) { return Value{Operation(std::move(op)), where}; };
  if (t.word("True") || t.word("False"))
    return {Atom(Constant::of<uint8_t>(dtype::boolean, {}, {t.text == "True"})), where};
  if (t.word("if")) return if_expression(where);
  if (t.word("fn")) return operation(MakeFunction{function_rest()});
  if (t.word("ref")) return operation(RefCreate{operands(1)[0]});
  if (t.word("ref_read")) return operation(RefRead{operands(1)[0]});
  if (t.word("ref_write")) {
    std::vector<Atom> args = operands(2);
    return operation(RefWrite{args[0], args[1]});
  }
  if (t.word("Tensor") && peek().is("[")) return tensor_literal(tensor_type(), where);
  if (peek().is("{") && element_type(t)) return tensor_literal(element(t), where);
  if (t.word("meta")) return meta_constant(where);
  if (t.word("call_tensor")) return call_tensor(where);
  if (t.word("match_cast")) return match_cast(where);
  if (t.word("define_sizes")) return define_sizes(where);
  if (t.word("require_sizes")) return require_sizes(where);
  return named(t);
}

Parser::Value Parser::named(const Token& t) {
  std::string name(t.text);
  SourceLocation where = lexer_.location(t);
  if (auto it = constructors_.find(name); it != constructors_.end()) {
    if (it->second.fields == 0 && !peek().is("(")) return {Operation(Call{ConstructorRef{name}, {}, {}}), where};
    return {Atom(ConstructorRef{name}), where};
  }
  // TVM has operators of their own, "dyn.reshape", where operands decide sizes.
  const bool by_operands = name.starts_with("dyn.");
  const Operator* op = operators().find(by_operands ? name.substr(4) : name);
  if (op && by_operands && !op->values.empty() && peek().is("(")) return dynamic_call(name, *op, where);
  if (op && (!by_operands || !op->values.empty())) return {Atom(OperatorRef{op}), where};
  if (may_report() && load_constructor(name)) return named(t);
  if (std::string remedy = remedy_for_word(name); !remedy.empty()) {
    lexer_.error(where, fmt::format("there is no '{}' in Relay", name), std::move(remedy));
    return {nothing(), where};
  }
  return {unknown(DiagnosticId::unsupported_operator, where,
                  fmt::format("there is no operator or constructor '{}'", name), remedy_for_name(name)),
          where};
}

// A call of "dyn.nn.pad" and the like, whose operands are in another order than those of "nn.pad".
Parser::Value Parser::dynamic_call(const std::string& name, const Operator& op, const SourceLocation& where) {
  struct Order {
    std::string_view name;
    std::vector<size_t> operands;  // those of TVM, in the order of dlcc's
  };
  static const Order orders[] = {{"dyn.nn.pad", {0, 2, 1}},        // TVM: data, pad_width, pad_value
                                 {"dyn.image.resize2d", {0, 1}}};  // TVM: data, size, roi, which only crops read
  lexer_.next();
  Operation operation = arguments(Atom(OperatorRef{&op}), where);
  Call& call = std::get<Call>(operation);
  const auto order = std::ranges::find(orders, std::string_view(name), &Order::name);
  if (order != std::end(orders) && call.args.size() == 3) {
    std::vector<Atom> operands;
    for (size_t k : order->operands) operands.push_back(call.args[k]);
    call.args = std::move(operands);
    call.ranges.clear();
  }
  return {std::move(operation), where};
}

std::string Parser::remedy_for_name(const std::string& name) {
  if (!may_report()) return "";
  if (auto remedy = remedy_for_operator_without_type(name)) return *remedy;
  if (std::string why = why_hidden(name); !why.empty()) return why;
  if (std::ranges::count(locals_.all(), name)) return fmt::format("did you mean '%{}'?", name);
  if (module_.functions.contains(name)) return fmt::format("did you mean '@{}'?", name);
  if (auto elsewhere = operator_named_elsewhere(name)) return fmt::format("did you mean '{}'?", *elsewhere);
  auto meant = meant_by(name, [&] {
    std::vector<std::string> names = known_constructors();
    for (const auto& [known, op] : operators().all()) names.push_back(known);
    return names;
  });
  return meant ? fmt::format("did you mean '{}'?", *meant)
               : "variables are written %name, functions @name; 'dlcc ops' lists the operators";
}

Atom Parser::undefined_local(const Token& t) {
  if (peek().is("=")) {
    lexer_.error(lexer_.location(t), "a binding of a named variable begins with 'let'",
                 fmt::format("let %{} = ...;", t.text));
    locals_.add(std::string(t.text), module_.fresh(std::string(t.text)));  // its uses are no errors
    return nothing();
  }
  constexpr size_t most_shown = 5;  // variables in a remedy
  auto meant = meant_by(t.text, [&] { return locals_.all(); });
  std::string help = meant ? fmt::format("did you mean '%{}'?", *meant) : "";
  if (!meant && may_report()) {
    std::vector<std::string> all = locals_.all();
    std::erase(all, "");  // after an error
    if (all.empty()) help = "no variable is defined here";
    if (!all.empty() && all.size() <= most_shown) help = fmt::format("defined here: %{}", fmt::join(all, ", %"));
  }
  return unknown(DiagnosticId::undefined_value, lexer_.location(t), fmt::format("%{} is not defined here", t.text),
                 help);
}

// ---- A-normal form --------------------------------------------------------------------------------------------------

// An operator that is a value is a function of its operands.
Atom Parser::atom(Value value) {
  Atom* a = std::get_if<Atom>(&value.v);
  if (a && !std::holds_alternative<OperatorRef>(*a)) return std::move(*a);
  Var var = module_.fresh("");
  bind(var, std::move(value));
  return var;
}

// The value as what is called, or named: an operator remains one, which a call gives attributes.
Atom Parser::callee(Value value) {
  if (Atom* a = std::get_if<Atom>(&value.v)) return std::move(*a);
  return atom(std::move(value));
}

void Parser::bind(Var var, Value value) {
  DLCC_CHECK(block_, "an expression outside a block");
  Operation op = std::visit(overloaded{[](Operation& operation) { return std::move(operation); },
                                       [&](Atom& a) {
                                         const OperatorRef* o = std::get_if<OperatorRef>(&a);
                                         return o ? operator_function(*o->op, value.location) : Alias{std::move(a)};
                                       }},
                            value.v);
  block_->bindings.push_back({std::move(var), std::move(op), std::move(value.location)});
}

}  // namespace dlcc::frontends::relay_text
