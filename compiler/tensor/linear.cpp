#include "tensor/linear.h"

#include <algorithm>
#include <bit>

namespace dlcc::tensor {

int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

namespace {

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

int ExprOrder::compare(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (int c = three_way(a.size(), b.size())) return c;
  for (size_t i = 0; i < a.size(); ++i)
    if (int c = compare(a[i], b[i])) return c;
  return 0;
}

int ExprOrder::compare(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return 0;
  if (!a || !b) return a ? 1 : -1;
  if (int c = three_way(a->v.index(), b->v.index())) return c;
  if (int c = three_way(a.type(), b.type())) return c;
  return std::visit(overloaded{
                        [&](const Literal& x) {
                          const Literal& y = *as<Literal>(b);
                          if (int c = three_way(x.integer, y.integer)) return c;
                          return three_way(std::bit_cast<uint64_t>(x.number), std::bit_cast<uint64_t>(y.number));
                        },
                        [&](const VarRef& x) {
                          const VarRef& y = *as<VarRef>(b);
                          if (x.var == y.var) return 0;
                          if (int c = three_way(x.var->name, y.var->name)) return c;
                          int m = number(x.var), n = number(y.var);
                          return three_way(m, n);
                        },
                        [&](const Unary& x) {
                          const Unary& y = *as<Unary>(b);
                          int c = three_way(x.op, y.op);
                          return c ? c : compare(x.a, y.a);
                        },
                        [&](const Binary& x) {
                          const Binary& y = *as<Binary>(b);
                          if (int c = three_way(x.op, y.op)) return c;
                          int c = compare(x.a, y.a);
                          return c ? c : compare(x.b, y.b);
                        },
                        [&](const Fma& x) {
                          const Fma& y = *as<Fma>(b);
                          return compare(std::vector{x.a, x.b, x.c}, std::vector{y.a, y.b, y.c});
                        },
                        [&](const Select& x) {
                          const Select& y = *as<Select>(b);
                          return compare(std::vector{x.condition, x.a, x.b}, std::vector{y.condition, y.a, y.b});
                        },
                        [&](const Cast& x) {
                          int c = three_way(x.saturate, as<Cast>(b)->saturate);
                          return c ? c : compare(x.a, as<Cast>(b)->a);
                        },
                        [&](const Bitcast& x) { return compare(x.a, as<Bitcast>(b)->a); },
                        [&](const Load& x) {
                          const Load& y = *as<Load>(b);
                          if (int c = three_way(x.buffer->name, y.buffer->name)) return c;
                          // Buffers of equal names are compared by address. Only equality is used of that, so that
                          // the order reaches no output.
                          if (x.buffer != y.buffer) return x.buffer < y.buffer ? -1 : 1;
                          int c = compare(x.indices, y.indices);
                          return c ? c : compare(x.otherwise, y.otherwise);
                        },
                    },
                    a->v);
}

Linear scale(const Linear& a, int64_t factor) {
  Linear r;
  r.constant = wrapping_mul(a.constant, factor);
  for (const auto& [atom, c] : a.terms)
    if (int64_t k = wrapping_mul(c, factor)) r.terms.emplace_back(atom, k);
  return r;
}

Linear add(const Linear& a, const Linear& b, int64_t factor, ExprOrder& order) {
  Linear r;
  r.constant = wrapping_add(a.constant, wrapping_mul(b.constant, factor));
  auto i = a.terms.begin();
  auto j = b.terms.begin();
  auto put = [&](const Expr& atom, int64_t c) {
    if (c) r.terms.emplace_back(atom, c);
  };
  while (i != a.terms.end() || j != b.terms.end()) {
    int c = i == a.terms.end() ? 1 : j == b.terms.end() ? -1 : order.compare(i->first, j->first);
    if (c < 0) {
      put(i->first, i->second), ++i;
    } else if (c > 0) {
      put(j->first, wrapping_mul(j->second, factor)), ++j;
    } else {
      put(i->first, wrapping_add(i->second, wrapping_mul(j->second, factor))), ++i, ++j;
    }
  }
  return r;
}

bool same_terms(const Linear& a, const Linear& b, int64_t factor, ExprOrder& order) {
  if (a.terms.size() != b.terms.size()) return false;
  for (size_t i = 0; i < a.terms.size(); ++i)
    if (a.terms[i].second != wrapping_mul(b.terms[i].second, factor) ||
        order.compare(a.terms[i].first, b.terms[i].first) != 0)
      return false;
  return true;
}

Linear sum_of(std::vector<std::pair<Expr, int64_t>> terms, int64_t constant, ExprOrder& order) {
  std::ranges::stable_sort(terms, [&](const auto& a, const auto& b) { return order.compare(a.first, b.first) < 0; });
  Linear sum{{}, constant};
  for (auto& [atom, c] : terms) {
    if (!sum.terms.empty() && order.compare(sum.terms.back().first, atom) == 0)
      sum.terms.back().second = wrapping_add(sum.terms.back().second, c);
    else
      sum.terms.emplace_back(std::move(atom), c);
  }
  std::erase_if(sum.terms, [](const auto& t) { return t.second == 0; });
  return sum;
}

void add_terms(const Expr& e, int64_t factor, std::vector<std::pair<Expr, int64_t>>& terms, int64_t& constant) {
  if (auto value = constant_integer(e)) {
    constant = wrapping_add(constant, wrapping_mul(*value, factor));
    return;
  }
  if (const Binary* x = as<Binary>(e)) {
    if (x->op == BinaryOp::add || x->op == BinaryOp::sub) {
      add_terms(x->a, factor, terms, constant);
      return add_terms(x->b, x->op == BinaryOp::add ? factor : wrapping_mul(factor, -1), terms, constant);
    }
    if (x->op == BinaryOp::mul) {
      if (auto c = constant_integer(x->a)) return add_terms(x->b, wrapping_mul(*c, factor), terms, constant);
      if (auto c = constant_integer(x->b)) return add_terms(x->a, wrapping_mul(*c, factor), terms, constant);
    }
  }
  if (const Unary* x = as<Unary>(e); x && x->op == UnaryOp::negate)
    return add_terms(x->a, wrapping_mul(factor, -1), terms, constant);
  terms.emplace_back(e, factor);
}

Linear linear_form(const Expr& e, ExprOrder& order) {
  std::vector<std::pair<Expr, int64_t>> terms;
  int64_t constant = 0;
  add_terms(e, 1, terms, constant);
  return sum_of(std::move(terms), constant, order);
}

Expr to_expr(const Linear& l) {
  auto terms = l.terms;
  auto magnitude = [](int64_t c) { return c < 0 ? -static_cast<uint64_t>(c) : static_cast<uint64_t>(c); };
  std::ranges::stable_sort(terms, [&](const auto& a, const auto& b) {
    if ((a.second > 0) != (b.second > 0)) return a.second > 0;
    return magnitude(a.second) > magnitude(b.second);
  });
  auto times = [](uint64_t c, const Expr& atom) { return c == 1 ? atom : Expr(static_cast<int64_t>(c)) * atom; };
  Expr sum;
  if (terms.empty() || (terms[0].second < 0 && l.constant != 0)) sum = Expr(l.constant);
  bool constant_placed = static_cast<bool>(sum);
  for (const auto& [atom, c] : terms) {
    if (!sum)
      sum = Expr(c) * atom;
    else
      sum = c < 0 && c != INT64_MIN ? sum - times(magnitude(c), atom) : sum + times(static_cast<uint64_t>(c), atom);
  }
  if (constant_placed || l.constant == 0) return sum;
  return l.constant < 0 && l.constant != INT64_MIN ? sum - Expr(-l.constant) : sum + Expr(l.constant);
}

}  // namespace dlcc::tensor
