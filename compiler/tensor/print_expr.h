// Prints expressions of tensor IR, and assigns the names in a text. Names are unique within their scope: a variable or
// buffer whose name is in use, reserved or not an identifier gets a number as suffix. A large sub-expression with
// several uses is printed once, before the expression: "with %0 = x[i] + b[i]: %0 * %0".
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

class ExprPrinter {
 public:
  std::string expr(const Expr& e);
  std::string list(const std::vector<Expr>& es);  // separated by commas

  // release() unbinds the names that were bound since mark().
  struct Mark {
    size_t names;
  };
  Mark mark() const { return {bound_.size()}; }
  void release(Mark m);

  // The name of a variable or buffer; binds one if it has none.
  std::string of(const Var& v) { return named(v.get(), v->name); }
  std::string of(const Buffer& b) { return named(b.get(), b->name); }
  bool is_named(const Buffer& b) const { return names_.contains(b.get()); }

  // "<n in 1..512, m>", binding the names of the symbols in the shapes; empty without symbols.
  std::string symbols(const std::vector<Shape>& shapes);

 private:
  std::string bind(const void* key, const std::string& wanted);
  std::string named(const void* key, const std::string& wanted);

  void find_shared(const Expr& root);
  std::string term(const Expr& e, int outer);  // in parentheses if its precedence is lower than `outer`
  std::string text(const Expr& e, int& binds);
  std::string terms(const std::vector<Expr>& es);

  std::map<const void*, std::string> names_;
  std::vector<const void*> bound_;
  std::set<std::string> used_;
  std::map<const ExprNode*, int> shared_;  // the number k of each node that is printed as %k
  std::map<const ExprNode*, std::string> shared_text_;
};

}  // namespace dlcc::tensor
