#include "tensor/print_expr.h"

#include <cmath>

#include "support/ascii.h"
#include "tensor/text.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The least number of nodes of a shared sub-expression that is printed once.
constexpr int64_t shared_size = 12;

std::string identifier(const std::string& wanted) {
  std::string s;
  for (char c : wanted) s += is_identifier_character(c) || (c == '.' && !s.empty()) ? c : '_';
  if (s.empty() || is_digit(s[0])) s = "_" + s;
  return s;
}

std::string number_text(const Literal& l, DType type) {
  std::string suffix = type == dtype::f32 || type == dtype::i64 ? "" : std::string(short_name(type));
  if (is_bool(type)) return l.integer ? "true" : "false";
  if (type == dtype::u64) return fmt::format("{}{}", static_cast<uint64_t>(l.integer), suffix);
  if (!is_float(type)) return fmt::format("{}{}", l.integer, suffix);
  if (std::isnan(l.number)) return suffix.empty() ? "nan" : "nan_" + suffix;
  if (std::isinf(l.number)) return (l.number < 0 ? "-inf" : "inf") + (suffix.empty() ? "" : "_" + suffix);
  std::string s = type == dtype::f64 ? fmt::format("{}", l.number) : fmt::format("{}", static_cast<float>(l.number));
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s + suffix;
}

}  // namespace

// ---- names ----------------------------------------------------------------------------------------------------------

void ExprPrinter::release(Mark m) {
  for (; bound_.size() > m.names; bound_.pop_back()) {
    used_.erase(names_[bound_.back()]);
    names_.erase(bound_.back());
  }
}

std::string ExprPrinter::named(const void* key, const std::string& wanted) {
  auto it = names_.find(key);
  return it != names_.end() ? it->second : bind(key, wanted);
}

std::string ExprPrinter::bind(const void* key, const std::string& wanted) {
  std::string base = identifier(wanted), name = base;
  for (int n = 1; is_reserved(name) || used_.count(name); ++n) name = fmt::format("{}.{}", base, n);
  used_.insert(name);
  names_[key] = name;
  bound_.push_back(key);
  return name;
}

std::string ExprPrinter::symbols(const std::vector<Shape>& shapes) {
  std::map<std::string, Symbol> all;
  for (const Shape& shape : shapes)
    for (const Dim& d : shape)
      for (const Symbol& s : d.symbols()) all.emplace(s.name, s);
  std::string text;
  for (const auto& [name, s] : all) {
    Expr variable = symbol_var(s);
    const VarRef* ref = as<VarRef>(variable);
    text += text.empty() ? "<" : ", ";
    text += bind(ref->var.get(), name);
    if (s.low != 0 || s.high != INT64_MAX)
      text += s.high == INT64_MAX ? fmt::format(" in {}..", s.low) : fmt::format(" in {}..{}", s.low, s.high);
  }
  return text.empty() ? "" : text + ">";
}

// ---- expressions ----------------------------------------------------------------------------------------------------

void ExprPrinter::find_shared(const Expr& root) {
  shared_.clear(), shared_text_.clear();
  std::map<const ExprNode*, int64_t> size;
  std::map<const ExprNode*, int> parents;
  std::vector<Expr> order;
  for_each_expr(root, [&](const Expr& e) {
    int64_t n = 1;
    for_each_operand(*e, [&](const Expr& c) {
      n = std::min<int64_t>(n + size[c.get()], 1 << 20);
      ++parents[c.get()];
    });
    size[e.get()] = n;
    order.push_back(e);
  });
  int count = 0;
  for (const Expr& e : order)
    if (parents[e.get()] > 1 && size[e.get()] >= shared_size) shared_[e.get()] = count++;
  if (count == 0) return;
  for (const Expr& e : order) {
    if (!shared_.count(e.get())) continue;
    int binds = 0;
    shared_text_[e.get()] = text(e, binds);
  }
}

std::string ExprPrinter::expr(const Expr& e) {
  find_shared(e);
  std::string prefix;
  std::map<int, const ExprNode*> by_number;
  for (auto [node, n] : shared_) by_number[n] = node;
  for (auto [n, node] : by_number)
    prefix += fmt::format("{}%{} = {}", prefix.empty() ? "with " : ", ", n, shared_text_[node]);
  if (!prefix.empty()) prefix += ": ";
  std::string result = prefix + term(e, 0);
  shared_.clear(), shared_text_.clear();
  return result;
}

std::string ExprPrinter::term(const Expr& e, int outer) {
  if (auto it = shared_.find(e.get()); it != shared_.end()) return fmt::format("%{}", it->second);
  int binds = 0;
  std::string s = text(e, binds);
  return binds < outer ? "(" + s + ")" : s;
}

std::string ExprPrinter::terms(const std::vector<Expr>& es) {
  std::string s;
  for (const Expr& e : es) s += (s.empty() ? "" : ", ") + term(e, 0);
  return s;
}

std::string ExprPrinter::list(const std::vector<Expr>& es) {
  std::string s;
  for (const Expr& e : es) s += (s.empty() ? "" : ", ") + expr(e);
  return s;
}

// The text of a node, and in `binds` its precedence.
std::string ExprPrinter::text(const Expr& e, int& binds) {
  binds = highest_precedence;
  return std::visit(
      overloaded{
          [&](const Literal& x) { return number_text(x, e.type()); },
          [&](const VarRef& x) { return of(x.var); },
          [&](const Unary& x) { return fmt::format("{}({})", text_of(x.op), term(x.a, 0)); },
          [&](const Binary& x) {
            if (!is_infix(x.op)) {
              std::string a = term(x.a, 0);
              return fmt::format("{}({}, {})", text_of(x.op), a, term(x.b, 0));
            }
            binds = precedence(x.op);
            int left = binds == precedence(BinaryOp::eq) ? binds + 1 : binds;  // comparisons do not chain
            std::string a = term(x.a, left);
            return fmt::format("{} {} {}", a, text_of(x.op), term(x.b, binds + 1));
          },
          [&](const Fma& x) {
            std::string a = term(x.a, 0), b = term(x.b, 0);
            return fmt::format("fma({}, {}, {})", a, b, term(x.c, 0));
          },
          [&](const Select& x) {
            std::string c = term(x.condition, 1), a = term(x.a, 1), b = term(x.b, 1);
            binds = 0;
            return fmt::format("{} ? {} : {}", c, a, b);
          },
          [&](const Cast& x) {
            return fmt::format("{}({}{})", short_name(e.type()), term(x.a, 0), x.saturate ? "" : ", wrap");
          },
          [&](const Bitcast& x) { return fmt::format("bitcast({}, {})", short_name(e.type()), term(x.a, 0)); },
          [&](const Load& x) {
            std::string s = of(x.buffer);
            s += "[" + terms(x.indices) + "]";
            if (!x.otherwise) return s;
            binds = 0;
            return fmt::format("{} else {}", s, term(x.otherwise, 1));
          },
      },
      e->v);
}

}  // namespace dlcc::tensor
