// The rewrites of the simplifier, for expressions and statements.
#include "tensor/simplifier.h"

#include <algorithm>
#include <numeric>

namespace dlcc::tensor {

namespace {

// The result of `d op 0`, if it is the same for every d in the range.
std::optional<bool> decide(BinaryOp op, Range d) {
  switch (op) {
    case BinaryOp::lt:
      return d.high < 0 ? std::optional(true) : d.low >= 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::le:
      return d.high <= 0 ? std::optional(true) : d.low > 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::gt:
      return d.low > 0 ? std::optional(true) : d.high <= 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::ge:
      return d.low >= 0 ? std::optional(true) : d.high < 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::eq:
      if (d.low == 0 && d.high == 0) return true;
      return d.low > 0 || d.high < 0 ? std::optional(false) : std::nullopt;
    case BinaryOp::ne:
      if (d.low == 0 && d.high == 0) return false;
      return d.low > 0 || d.high < 0 ? std::optional(true) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// Whether the condition compares the two integers, in any order.
bool is_equality_of(const Expr& condition, BinaryOp op, const Expr& a, const Expr& b) {
  const Binary* x = as<Binary>(condition);
  if (!x || x->op != op || !is_integer(x->a.type()) || x->a.type() != a.type()) return false;
  return (structurally_equal(x->a, a) && structurally_equal(x->b, b)) ||
         (structurally_equal(x->a, b) && structurally_equal(x->b, a));
}

bool is_sum(const Expr& e) {
  const Binary* x = as<Binary>(e);
  return x && e.type() == dtype::i64 && (x->op == BinaryOp::add || x->op == BinaryOp::sub);
}

}  // namespace

// ---- expressions ----------------------------------------------------------------------------------------------------

Expr Simplifier::operator()(const Expr& e) {
  if (!e) return e;
  if (auto it = memo_.simple.find(e.get()); it != memo_.simple.end()) return it->second.second;
  Expr r = compute(e);
  if (!r.same_node(e) && structurally_equal(r, e)) r = e;
  memo_.simple.emplace(e.get(), std::pair(e, r));
  return r;
}

Expr Simplifier::compute(const Expr& e) {
  return std::visit(overloaded{
                        [&](const Literal&) { return e; },
                        [&](const VarRef& x) {
                          auto it = ranges_.find(x.var);
                          if (it != ranges_.end() && it->second.low == it->second.high)
                            return literal(e.type(), it->second.low);
                          return e;
                        },
                        [&](const Unary& x) {
                          Expr a = (*this)(x.a);
                          if (x.op == UnaryOp::negate && e.type() == dtype::i64)
                            return sum(scale(linear_form(a, order_), -1));
                          if (x.op == UnaryOp::logical_not) {
                            if (const Unary* inner = as<Unary>(a); inner && inner->op == UnaryOp::logical_not)
                              return inner->a;
                            const Binary* c = as<Binary>(a);
                            if (c && is_comparison(c->op) && is_integer(c->a.type()))
                              return binary_of(negated(c->op), c->a, c->b);
                          }
                          return unary(x.op, a);
                        },
                        [&](const Binary& x) {
                          if (is_sum(e)) return sum(sum_of_simplified(e));
                          return binary_of(x.op, (*this)(x.a), (*this)(x.b));
                        },
                        [&](const Fma& x) { return fma((*this)(x.a), (*this)(x.b), (*this)(x.c)); },
                        [&](const Select& x) { return select_of(x); },
                        [&](const Cast& x) { return cast(e.type(), (*this)(x.a), x.saturate); },
                        [&](const Bitcast& x) { return bitcast(e.type(), (*this)(x.a)); },
                        [&](const Load& x) { return load_of(x); },
                    },
                    e->v);
}

// Collects all summands before they are sorted: a concatenation of many tensors has indices of as many summands.
Linear Simplifier::sum_of_simplified(const Expr& e) {
  std::vector<std::pair<Expr, int64_t>> terms;
  int64_t constant = 0;
  auto collect = [&](auto& self, const Expr& summand, int64_t factor) -> void {
    if (!is_sum(summand)) return add_terms((*this)(summand), factor, terms, constant);
    const Binary& x = *as<Binary>(summand);
    self(self, x.a, factor);
    self(self, x.b, x.op == BinaryOp::add ? factor : -factor);
  };
  collect(collect, e, 1);
  return sum_of(std::move(terms), constant, order_);
}

Expr Simplifier::binary_of(BinaryOp op, Expr a, Expr b) {
  if (is_bool(a.type())) {
    if ((op == BinaryOp::logical_and || op == BinaryOp::logical_or) && structurally_equal(a, b)) return a;
    return binary(op, a, b);
  }
  if (a.type() != dtype::i64) {
    // The range of a narrow type can decide a comparison with a constant.
    if (is_comparison(op) && is_integer(a.type())) {
      auto x = range(a), y = range(b);
      if (x && y)
        if (auto d = narrowed(Wide{x->low} - y->high, Wide{x->high} - y->low))
          if (auto known = decide(op, *d)) return literal(dtype::boolean, int64_t{*known});
    }
    return binary(op, a, b);
  }
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::sub:
      return sum(add(linear_form(a, order_), linear_form(b, order_), op == BinaryOp::add ? 1 : -1, order_));
    case BinaryOp::mul:
      if (auto c = constant_integer(a)) return sum(scale(linear_form(b, order_), *c));
      if (auto c = constant_integer(b)) return sum(scale(linear_form(a, order_), *c));
      return order_.compare(a, b) <= 0 ? a * b : b * a;
    case BinaryOp::div:
    case BinaryOp::rem:
      if (auto c = constant_integer(b); c && *c > 0)
        if (auto r = range(a); r && r->low >= 0) return op == BinaryOp::div ? divide(a, *c) : modulo(a, *c);
      return binary(op, a, b);
    case BinaryOp::floor_div:
      if (auto c = constant_integer(b); c && *c > 0) return divide(a, *c);
      if (auto r = range(a), s = range(b); r && s && r->low >= 0 && r->high < s->low) return Expr(0);
      return binary(op, a, b);
    case BinaryOp::floor_mod:
      if (auto c = constant_integer(b); c && *c > 0) return modulo(a, *c);
      if (auto r = range(a), s = range(b); r && s && r->low >= 0 && r->high < s->low) return a;
      return binary(op, a, b);
    case BinaryOp::min:
    case BinaryOp::max:
      return extremum(op, a, b);
    default:
      return is_comparison(op) ? compare(op, a, b) : binary(op, a, b);
  }
}

// c * k * floordiv(x, c) + k * floormod(x, c) => k * x
void Simplifier::recombine(Linear& l) {
  for (size_t i = 0; i < l.terms.size(); ++i) {
    const Binary* m = as<Binary>(l.terms[i].first);
    if (!m || m->op != BinaryOp::floor_mod) continue;
    auto c = constant_integer(m->b);
    if (!c || *c <= 0) continue;
    Expr quotient = floor_div(m->a, m->b);
    int64_t k = l.terms[i].second;
    for (size_t j = 0; j < l.terms.size(); ++j) {
      if (l.terms[j].second != wrapping_mul(*c, k) || order_.compare(l.terms[j].first, quotient) != 0) continue;
      Linear whole = linear_form(m->a, order_);
      l.terms.erase(l.terms.begin() + std::max(i, j));
      l.terms.erase(l.terms.begin() + std::min(i, j));
      l = add(l, whole, k, order_);
      return recombine(l);
    }
  }
}

Expr Simplifier::sum(Linear l) {
  recombine(l);
  return to_expr(l);
}

// Splits a = c * quotient + rest: the rest has the terms whose coefficients c does not divide.
static std::pair<Linear, Linear> split(const Linear& a, int64_t c) {
  Linear quotient, rest;
  for (const auto& [atom, k] : a.terms) {
    if (k % c == 0)
      quotient.terms.emplace_back(atom, k / c);
    else
      rest.terms.emplace_back(atom, k);
  }
  quotient.constant = floor_quotient(a.constant, c);
  rest.constant = floor_remainder(a.constant, c);
  return {quotient, rest};
}

// The common divisors of c and some coefficient, without 1 and c, in descending order.
static std::vector<int64_t> common_factors(const Linear& a, int64_t c) {
  std::vector<int64_t> factors;
  for (const auto& [atom, k] : a.terms) {
    int64_t g = std::gcd(k, c);
    if (g > 1 && g < c) factors.push_back(g);
  }
  std::ranges::sort(factors, std::greater<>());
  factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
  return factors;
}

Expr Simplifier::divide(const Expr& a, int64_t c) {
  if (c == 1) return a;
  Linear form = linear_form(a, order_);
  if (form.is_constant()) return Expr(floor_quotient(form.constant, c));
  // floordiv(floordiv(x, d), c) => floordiv(x, d * c)
  if (const Binary* inner = as<Binary>(a); inner && inner->op == BinaryOp::floor_div) {
    auto d = constant_integer(inner->b);
    if (d && *d > 0 && *d <= INT64_MAX / c) return divide(inner->a, *d * c);
  }
  if (!range(form)) return floor_div(a, Expr(c));
  auto [quotient, rest] = split(form, c);
  auto r = range(rest);
  if (!r || !range(quotient)) return floor_div(a, Expr(c));
  if (floor_quotient(r->low, c) == floor_quotient(r->high, c)) {
    quotient.constant = wrapping_add(quotient.constant, floor_quotient(r->low, c));
    return sum(quotient);
  }
  for (int64_t g : common_factors(rest, c)) {
    auto [multiple, small] = split(rest, g);
    auto s = range(small);
    if (!s || s->low < 0 || s->high >= g || !range(multiple)) continue;
    Linear inner = linear_form(divide(sum(multiple), c / g), order_);
    return sum(add(quotient, inner, 1, order_));
  }
  Expr remaining = floor_div(sum(rest), Expr(c));
  return sum(add(quotient, linear_form(remaining, order_), 1, order_));
}

Expr Simplifier::modulo(const Expr& a, int64_t c) {
  if (c == 1) return Expr(0);
  Linear form = linear_form(a, order_);
  if (form.is_constant()) return Expr(floor_remainder(form.constant, c));
  // floormod(floormod(x, d), c) => floormod(x, c) if c divides d
  if (const Binary* inner = as<Binary>(a); inner && inner->op == BinaryOp::floor_mod) {
    auto d = constant_integer(inner->b);
    if (d && *d > 0 && *d % c == 0) return modulo(inner->a, c);
  }
  if (!range(form)) return floor_mod(a, Expr(c));
  auto [quotient, rest] = split(form, c);
  auto r = range(rest);
  if (!r) return floor_mod(a, Expr(c));
  if (floor_quotient(r->low, c) == floor_quotient(r->high, c)) {
    rest.constant -= floor_quotient(r->low, c) * c;
    return sum(rest);
  }
  for (int64_t g : common_factors(rest, c)) {
    auto [multiple, small] = split(rest, g);
    auto s = range(small);
    if (!s || s->low < 0 || s->high >= g || !range(multiple)) continue;
    Linear inner = scale(linear_form(modulo(sum(multiple), c / g), order_), g);
    return sum(add(inner, small, 1, order_));
  }
  return floor_mod(sum(rest), Expr(c));
}

Expr Simplifier::compare(BinaryOp op, const Expr& a, const Expr& b) {
  Linear d = add(linear_form(a, order_), linear_form(b, order_), -1, order_);
  if (d.is_constant() && (op == BinaryOp::eq || op == BinaryOp::ne))
    return literal(dtype::boolean, int64_t{(d.constant == 0) == (op == BinaryOp::eq)});
  if (d.is_constant() && d.constant == 0)
    return literal(dtype::boolean, int64_t{op == BinaryOp::le || op == BinaryOp::ge});
  if (!range(a) || !range(b)) return binary(op, a, b);
  if (auto r = range(d))
    if (auto known = decide(op, *r)) return literal(dtype::boolean, int64_t{*known});
  // Positive terms on the left, negative ones and the constant on the right.
  Linear left, right;
  for (const auto& [atom, k] : d.terms)
    if (k > 0)
      left.terms.emplace_back(atom, k);
    else
      right.terms.emplace_back(atom, wrapping_mul(k, -1));
  (left.terms.empty() ? left.constant : right.constant) =
      left.terms.empty() ? d.constant : wrapping_mul(d.constant, -1);
  if (!range(left) || !range(right)) return binary(op, a, b);
  return binary(op, sum(left), sum(right));
}

Expr Simplifier::extremum(BinaryOp op, const Expr& a, const Expr& b) {
  bool is_min = op == BinaryOp::min;
  if (structurally_equal(a, b)) return a;
  if (range(a) && range(b)) {
    auto d = range(add(linear_form(a, order_), linear_form(b, order_), -1, order_));
    if (d && d->high <= 0) return is_min ? a : b;
    if (d && d->low >= 0) return is_min ? b : a;
  }
  return binary(op, a, b);
}

Expr Simplifier::select_of(const Select& x) {
  Expr c = (*this)(x.condition);
  if (auto known = constant_integer(c)) return (*this)(*known ? x.a : x.b);
  auto arm = [&](const Expr& e, bool holds) {
    // Shared operands are simplified again under each assumed condition. A long chain of selects assumes only the first
    // conditions, so that the time stays linear.
    auto context = select_contexts_ < 64 ? enter(c, holds) : std::nullopt;
    select_contexts_ += context.has_value();
    Expr r = (*this)(e);
    if (context) leave(std::move(*context));
    return r;
  };
  Expr a = arm(x.a, true), b = arm(x.b, false);
  if (structurally_equal(a, b) || is_equality_of(c, BinaryOp::eq, a, b)) return b;  // e == 1 ? 1 : e
  return is_equality_of(c, BinaryOp::ne, a, b) ? a : select(c, a, b);
}

Expr Simplifier::load_of(const Load& x) {
  std::vector<Expr> indices;
  for (const Expr& i : x.indices) indices.push_back((*this)(i));
  if (!x.otherwise) return load(x.buffer, std::move(indices));
  bool inside = true;
  for (size_t d = 0; d < indices.size(); ++d) {
    auto r = range(indices[d]);
    auto extent = x.buffer->shape[d].constant();
    if (r && (r->high < 0 || (extent && r->low >= *extent))) return (*this)(x.otherwise);
    inside &= r && r->low >= 0 && extent && r->high < *extent;
  }
  return load(x.buffer, std::move(indices), inside ? Expr() : (*this)(x.otherwise));
}

// ---- statements -----------------------------------------------------------------------------------------------------

Stmt Simplifier::loop(const Stmt& s, const For& x) {
  Expr extent = (*this)(x.extent);
  auto r = range(extent);
  if (r && r->high <= 0) return nullptr;
  if (constant_integer(extent) == 1) return (*this)(substitute(x.body, {{x.var, Expr(0)}}));
  if (r) ranges_[x.var] = {0, r->high - 1};
  Stmt body = (*this)(x.body);
  if (!body) return nullptr;
  return extent.same_node(x.extent) && body == x.body ? s : for_loop(x.var, extent, x.kind, body);
}

Stmt Simplifier::binding(const Stmt& s, const Let& x) {
  Expr value = (*this)(x.value);
  if (as<Literal>(value) || as<VarRef>(value)) return (*this)(substitute(x.body, {{x.var, value}}));
  if (auto r = range(value)) ranges_[x.var] = *r;
  Stmt body = (*this)(x.body);
  if (!body) return nullptr;
  return value.same_node(x.value) && body == x.body ? s : let(x.var, value, body);
}

Stmt Simplifier::branch(const Stmt& s, const IfThen& x) {
  Expr c = (*this)(x.condition);
  if (auto known = constant_integer(c)) return (*this)(*known ? x.then_body : x.else_body);
  auto arm = [&](const Stmt& body, bool holds) {
    // The body may store to a buffer that the condition loads from.
    auto context = loads_of(c).empty() ? enter(c, holds) : std::nullopt;
    Stmt r = (*this)(body);
    if (context) leave(std::move(*context));
    return r;
  };
  Stmt a = arm(x.then_body, true), b = arm(x.else_body, false);
  if (!a && !b) return nullptr;
  if (!a) return if_then((*this)(logical_not(c)), b);
  return c.same_node(x.condition) && a == x.then_body && b == x.else_body ? s : if_then(c, a, b);
}

Stmt Simplifier::operator()(const Stmt& s) {
  if (!s) return s;
  auto all = [&](const std::vector<Expr>& list) {
    std::vector<Expr> r;
    for (const Expr& e : list) r.push_back((*this)(e));
    return r;
  };
  auto same = [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return x.same_node(y); });
  };
  return std::visit(
      overloaded{
          [&](const For& x) { return loop(s, x); },
          [&](const Sequence& x) -> Stmt {
            std::vector<Stmt> body;
            for (const Stmt& b : x.body) body.push_back((*this)(b));
            return body == x.body ? s : sequence(std::move(body));
          },
          [&](const Store& x) -> Stmt {
            std::vector<Expr> indices = all(x.indices);
            Expr value = (*this)(x.value);
            if (same(indices, x.indices) && value.same_node(x.value)) return s;
            return store(x.buffer, std::move(indices), value);
          },
          [&](const Let& x) { return binding(s, x); },
          [&](const Allocate& x) -> Stmt {
            Stmt body = (*this)(x.body);
            if (!body) return nullptr;
            return body == x.body ? s : allocate(x.buffer, body);
          },
          [&](const IfThen& x) { return branch(s, x); },
          [&](const Require& x) -> Stmt {
            Expr c = (*this)(x.condition);
            if (constant_integer(c) == 1) return nullptr;
            return c.same_node(x.condition) ? s : require(c, x.status);
          },
          [&](const Prefetch& x) -> Stmt {
            std::vector<Expr> indices = all(x.indices);
            return same(indices, x.indices) ? s : make_stmt(Prefetch{x.buffer, std::move(indices), x.cache});
          },
          [&](const IntrinsicCall& x) -> Stmt {
            std::vector<Region> operands;
            bool changed = false;
            for (const Region& r : x.operands) {
              operands.push_back({r.buffer, all(r.begin)});
              changed |= !same(operands.back().begin, r.begin);
            }
            return changed ? make_stmt(IntrinsicCall{x.intrinsic, std::move(operands)}) : s;
          },
          [&](const Outline& x) -> Stmt {
            Stmt body = (*this)(x.body);
            return body == x.body ? s : outline(body);
          },
      },
      s->v);
}

// A simplifier copies the ranges, which takes longer than the answer for a number or a variable.
std::optional<Range> range_of(const Expr& e, const Ranges& ranges) {
  if (auto number = e.type() == dtype::i64 ? constant_integer(e) : std::nullopt) return Range{*number, *number};
  if (const auto* ref = as<VarRef>(e))
    if (auto known = ranges.find(ref->var); known != ranges.end()) return known->second;
  return Simplifier(ranges).range(e);
}
Expr simplify(const Expr& e, const Ranges& ranges) { return Simplifier(ranges)(e); }
Stmt simplify(const Stmt& s, const Ranges& ranges) { return Simplifier(ranges)(s); }

std::optional<int64_t> stride_along(const Expr& index, const Var& v) {
  return constant_integer(simplify(substitute(index, {{v, Expr(v) + Expr(1)}}) - index));
}

}  // namespace dlcc::tensor
