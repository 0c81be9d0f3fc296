// A recursive-descent parser of tensor IR's text form (docs/TENSOR_IR.md), which stops at the first error. The nesting
// of brackets and the depth of expressions are limited, so that no text overflows the stack. parse.cpp has names, types
// and modules, parse_expr.cpp expressions, parse_program.cpp definitions and kernels. The parser of programs
// (lower/parse_program.cpp) is derived from it.
#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>

#include "tensor/lexer.h"
#include "tensor/parse.h"
#include "tensor/text.h"

namespace dlcc::tensor {

// Thrown inside the parser after a diagnostic has been reported.
struct SyntaxError {};

class Parser {
 public:
  // Limits that bound the parser's recursion.
  static constexpr int max_nesting = 200, max_expression_depth = 2000;

  Parser(std::string_view text, const std::string& file, Diagnostics& diagnostics,
         std::span<const Intrinsic* const> known)
      : file_(file), diagnostics_(diagnostics), known_(known) {
    Lexer lexer(text);
    do tokens_.push_back(lexer.next());
    while (tokens_.back().kind != Token::Kind::end);
  }

  ParsedTensorIr module();

 protected:
  // ---- tokens ----
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token take() {
    Token t = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return t;
  }
  bool accept(std::string_view s) { return peek().is(s) ? (take(), true) : false; }
  void expect(std::string_view s) {
    if (!accept(s)) fail(peek(), fmt::format("expected '{}'", s));
  }
  [[noreturn]] void fail(const Token& t, const std::string& message) {
    const char* mark = t.kind == Token::Kind::shared ? "%" : t.kind == Token::Kind::name ? "@" : "";
    std::string found = t.kind == Token::Kind::end ? "the end of the text" : fmt::format("'{}{}'", mark, t.text);
    report(t, DiagnosticId::syntax_error, message + ", found " + found);
  }
  [[noreturn]] void report(const Token& t, DiagnosticId id, const std::string& message) {
    diagnostics_.error(id, {file_, t.line, t.column}, message);
    throw SyntaxError{};
  }

  // ---- names ----
  struct Meaning {  // what a name refers to: one of the two is not null
    Var var;
    Buffer buffer;
  };
  struct Nesting {  // one level of brackets or blocks; at its end, names bound in a `scope` are unbound
    explicit Nesting(Parser& p, bool scope = false) : p(p), bound(p.bound_.size()), scope(scope) {
      if (++p.nesting_ > max_nesting) p.report(p.peek(), DiagnosticId::syntax_error, "nested too deeply");
    }
    ~Nesting() {
      --p.nesting_;
      if (!scope) return;
      for (; p.bound_.size() > bound; p.bound_.pop_back()) p.names_.erase(p.bound_.back());
    }
    Parser& p;
    size_t bound;
    bool scope;
  };
  std::string identifier();
  void bind(const Token& where, const std::string& name, Meaning m);
  const Meaning& look_up(const Token& t);
  Buffer buffer_named(const Token& t);

  // ---- parts ----
  std::string function_name();
  void symbols();
  int64_t integer();
  DType type();
  Dim dim();
  Dim dim_product();
  Dim dim_atom();
  Shape shape();
  Buffer declaration(Scope scope);
  bool at_scalar() const;
  Var scalar();
  std::vector<Axis> axes(Shape* origin = nullptr);

  // ---- expressions ----
  Expr make(const Token& where, DType type, decltype(ExprNode::v) v, const std::vector<Expr>& children);
  Expr expr();
  Expr infix(int lowest);
  Expr primary();
  Expr call();
  Expr number(bool negative);
  Expr load_from(const Token& name);
  std::vector<Expr> list(std::string_view end);

  // ---- definitions, statements ----
  TensorFunction function();
  Stage stage();
  bool at_reduction() const;
  Reduction reduction(std::vector<Expr>& values);
  Kernel signature();  // of a kernel, after the word 'kernel'
  Kernel kernel();
  Stmt block();
  Stmt statement();
  Stmt loop(LoopKind kind);
  Stmt if_statement();
  Stmt call_statement();
  Status status();

  const std::string& file_;
  Diagnostics& diagnostics_;
  std::span<const Intrinsic* const> known_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  std::map<std::string, Meaning> names_;
  std::vector<std::string> bound_;
  std::map<std::string, Symbol> symbols_;
  std::vector<Expr> shared_;  // %0, %1, ... of the expression that is being parsed
  std::unordered_map<const ExprNode*, int> depth_;
};

}  // namespace dlcc::tensor
