#include "tensor/ir.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <mutex>

#include "support/float_formats.h"
#include "support/integers.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

Var make_var(std::string name, DType type) { return std::make_shared<const VarNode>(VarNode{std::move(name), type}); }

Buffer make_buffer(std::string name, DType type, Shape shape, Scope scope, int64_t alignment) {
  return std::make_shared<const BufferNode>(BufferNode{std::move(name), type, std::move(shape), scope, {}, alignment});
}

// ---- literals

namespace {

Expr make(DType type, decltype(ExprNode::v) v) {
  return Expr(std::make_shared<const ExprNode>(ExprNode{type, std::move(v)}));
}

// `value` wrapped to an integer type.
int64_t wrap(DType type, int64_t value) {
  if (is_bool(type)) return value != 0;
  int width = bits(type);
  if (width == 64) return value;
  uint64_t mask = (uint64_t{1} << width) - 1, low = static_cast<uint64_t>(value) & mask;
  bool negative = is_signed(type) && low >> (width - 1);
  return static_cast<int64_t>(negative ? low | ~mask : low);
}

// Folds an operation on int64 or bool literals, the types of index arithmetic; empty if it is not folded.
std::optional<int64_t> fold(BinaryOp op, int64_t a, int64_t b) {
  auto wrapped = [](auto f, int64_t x, int64_t y) {
    return static_cast<int64_t>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
  };
  bool divides = b != 0 && !(a == INT64_MIN && b == -1);
  switch (op) {
    case BinaryOp::add:
      return wrapped(std::plus<>(), a, b);
    case BinaryOp::sub:
      return wrapped(std::minus<>(), a, b);
    case BinaryOp::mul:
      return wrapped(std::multiplies<>(), a, b);
    case BinaryOp::div:
      return divides ? std::optional(a / b) : std::nullopt;
    case BinaryOp::rem:
      return divides ? std::optional(a % b) : std::nullopt;
    case BinaryOp::floor_div:
      return divides ? std::optional(floor_quotient(a, b)) : std::nullopt;
    case BinaryOp::floor_mod:
      return divides ? std::optional(floor_remainder(a, b)) : std::nullopt;
    case BinaryOp::min:
      return std::min(a, b);
    case BinaryOp::max:
      return std::max(a, b);
    case BinaryOp::eq:
      return a == b;
    case BinaryOp::ne:
      return a != b;
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::le:
      return a <= b;
    case BinaryOp::gt:
      return a > b;
    case BinaryOp::ge:
      return a >= b;
    case BinaryOp::logical_and:
      return a && b;
    case BinaryOp::logical_or:
      return a || b;
    case BinaryOp::logical_xor:
      return (a != 0) != (b != 0);
    default:
      return std::nullopt;
  }
}

}  // namespace

Expr::Expr(const Var& var) : Expr(make(var->type, VarRef{var})) {}
Expr::Expr(int64_t index) : Expr(literal(dtype::i64, index)) {}

static Expr expr_of(const DimAtom& atom) {
  auto arg = [&](size_t k) { return Expr(atom.args[k]); };
  switch (atom.kind) {
    case DimAtom::Kind::symbol:
      return symbol_var(atom.symbol);
    case DimAtom::Kind::floor_div:
      return floor_div(arg(0), arg(1));
    case DimAtom::Kind::floor_mod:
      return floor_mod(arg(0), arg(1));
    case DimAtom::Kind::min:
      return min(arg(0), arg(1));
    case DimAtom::Kind::max:
      return max(arg(0), arg(1));
  }
  DLCC_UNREACHABLE("atom of kind {}", static_cast<int>(atom.kind));
}

Expr::Expr(const Dim& dim) : Expr(0) {
  DLCC_CHECK(!dim.is_overflow(), "a dimension overflows int64");
  for (const Dim::Term& term : dim.terms()) {
    bool subtract = term.coefficient < 0 && term.coefficient != INT64_MIN && !constant_integer(*this);
    Expr product = subtract ? -term.coefficient : term.coefficient;
    for (const auto& atom : term.atoms) product = product * expr_of(*atom);
    *this = subtract ? *this - product : *this + product;
  }
}

DType Expr::type() const { return node_->type; }

Expr literal(DType type, int64_t value) {
  if (is_float(type)) return literal(type, static_cast<double>(value));
  return make(type, Literal{.integer = wrap(type, value)});
}

Expr literal(DType type, double value) {
  if (is_float(type)) return make(type, Literal{.number = type == dtype::f64 ? value : static_cast<float>(value)});
  if (type == dtype::u64 && value >= 9223372036854775808.0)
    return make(type, Literal{.integer = static_cast<int64_t>(static_cast<uint64_t>(value))});
  return literal(type, static_cast<int64_t>(value));
}

Expr lowest(DType type) {
  if (is_float(type)) return literal(type, -std::numeric_limits<double>::infinity());
  if (!is_signed(type)) return literal(type, int64_t{0});
  return literal(type, bits(type) == 64 ? INT64_MIN : -(int64_t{1} << (bits(type) - 1)));
}

Expr highest(DType type) {
  if (is_float(type)) return literal(type, std::numeric_limits<double>::infinity());
  if (is_bool(type)) return literal(type, int64_t{1});
  if (is_signed(type)) return literal(type, bits(type) == 64 ? INT64_MAX : (int64_t{1} << (bits(type) - 1)) - 1);
  return literal(type, int64_t{-1});  // wraps to all ones
}

std::optional<int64_t> constant_integer(const Expr& e) {
  const Literal* l = as<Literal>(e);
  return l && !is_float(e.type()) ? std::optional(l->integer) : std::nullopt;
}

bool is_literal(const Expr& e, double value) {
  const Literal* l = as<Literal>(e);
  return l && (is_float(e.type()) ? l->number == value : static_cast<double>(l->integer) == value);
}

// ---- operations

Expr unary(UnaryOp op, Expr a) {
  DType type = a.type();
  if (op == UnaryOp::is_nan || op == UnaryOp::is_inf) type = dtype::boolean;
  if (op == UnaryOp::logical_not) {
    DLCC_CHECK(is_bool(type), "not of {}", name(type));
    if (auto value = constant_integer(a)) return literal(type, int64_t{!*value});
  }
  return make(type, Unary{op, std::move(a)});
}

Expr binary(BinaryOp op, Expr a, Expr b) {
  DLCC_CHECK(a.type() == b.type(), "operands of types {} and {}: {} and {}", name(a.type()), name(b.type()), print(a),
             print(b));
  DType type = is_comparison(op) ? dtype::boolean : a.type();
  if (a.type() == dtype::i64 || is_bool(a.type())) {
    auto x = constant_integer(a), y = constant_integer(b);
    if (x && y)
      if (auto value = fold(op, *x, *y)) return literal(type, *value);
    bool integer = a.type() == dtype::i64;
    if (integer && op == BinaryOp::add && x == 0) return b;
    if (integer && (op == BinaryOp::add || op == BinaryOp::sub) && y == 0) return a;
    if (integer && op == BinaryOp::mul && (x == 0 || y == 0)) return literal(type, int64_t{0});
    if (integer && op == BinaryOp::mul && x == 1) return b;
    if (integer && (op == BinaryOp::mul || op == BinaryOp::floor_div || op == BinaryOp::div) && y == 1) return a;
    if (integer && (op == BinaryOp::floor_mod || op == BinaryOp::rem) && y == 1) return literal(type, int64_t{0});
    if (op == BinaryOp::logical_and && (x == 1 || y == 0)) return b;
    if (op == BinaryOp::logical_and && (y == 1 || x == 0)) return a;
    if (op == BinaryOp::logical_or && (x == 0 || y == 1)) return b;
    if (op == BinaryOp::logical_or && (y == 0 || x == 1)) return a;
  }
  return make(type, Binary{op, std::move(a), std::move(b)});
}

Expr fma(Expr a, Expr b, Expr c) {
  DType type = a.type();
  DLCC_CHECK(is_float(type) && b.type() == type && c.type() == type, "fma of {}, {}, {}", name(type), name(b.type()),
             name(c.type()));
  return make(type, Fma{std::move(a), std::move(b), std::move(c)});
}

Expr select(Expr condition, Expr a, Expr b) {
  DLCC_CHECK(is_bool(condition.type()) && a.type() == b.type(), "select between {} and {}", name(a.type()),
             name(b.type()));
  if (auto known = constant_integer(condition)) return *known ? a : b;
  DType type = a.type();
  return make(type, Select{std::move(condition), std::move(a), std::move(b)});
}

namespace {

// The number is an element of the float type.
bool represents(DType type, double number) {
  const auto single = static_cast<float>(number);
  if (type == dtype::f16) return half_to_float(float_to_half(single)) == number;
  if (type == dtype::bf16) return bfloat16_to_float(float_to_bfloat16(single)) == number;
  return type == dtype::f64 || (type == dtype::f32 && single == number);
}

}  // namespace

Expr cast(DType type, Expr a, bool saturate) {
  if (a.type() == type) return a;
  if (const Literal* l = as<Literal>(a); l && is_float(a.type()) && is_float(type) && represents(type, l->number))
    return literal(type, l->number);
  if (auto value = constant_integer(a); value && !is_float(type) && a.type() != dtype::u64)
    return literal(type, *value);
  return make(type, Cast{std::move(a), saturate});
}

Expr bitcast(DType type, Expr a) {
  DLCC_CHECK(bits(type) == bits(a.type()), "bitcast of {} to {}", name(a.type()), name(type));
  return a.type() == type ? a : make(type, Bitcast{std::move(a)});
}

Expr load(Buffer buffer, std::vector<Expr> indices, Expr otherwise) {
  DLCC_CHECK(static_cast<int>(indices.size()) == buffer->rank(), "{} indices into {} of rank {}", indices.size(),
             buffer->name, buffer->rank());
  DLCC_CHECK(!otherwise || otherwise.type() == buffer->type, "load of {} or {}", name(buffer->type),
             name(otherwise.type()));
  DType type = buffer->type;
  return make(type, Load{std::move(buffer), std::move(indices), std::move(otherwise)});
}

Expr operator+(Expr a, Expr b) { return binary(BinaryOp::add, std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return binary(BinaryOp::sub, std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return binary(BinaryOp::mul, std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return binary(BinaryOp::div, std::move(a), std::move(b)); }
Expr operator-(Expr a) { return unary(UnaryOp::negate, std::move(a)); }
Expr operator<(Expr a, Expr b) { return binary(BinaryOp::lt, std::move(a), std::move(b)); }
Expr operator<=(Expr a, Expr b) { return binary(BinaryOp::le, std::move(a), std::move(b)); }
Expr operator>(Expr a, Expr b) { return binary(BinaryOp::gt, std::move(a), std::move(b)); }
Expr operator>=(Expr a, Expr b) { return binary(BinaryOp::ge, std::move(a), std::move(b)); }
Expr logical_and(Expr a, Expr b) { return binary(BinaryOp::logical_and, std::move(a), std::move(b)); }
Expr logical_or(Expr a, Expr b) { return binary(BinaryOp::logical_or, std::move(a), std::move(b)); }
Expr logical_not(Expr a) { return unary(UnaryOp::logical_not, std::move(a)); }
Expr equal(Expr a, Expr b) { return binary(BinaryOp::eq, std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return binary(BinaryOp::min, std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return binary(BinaryOp::max, std::move(a), std::move(b)); }
Expr floor_div(Expr a, Expr b) { return binary(BinaryOp::floor_div, std::move(a), std::move(b)); }
Expr floor_mod(Expr a, Expr b) { return binary(BinaryOp::floor_mod, std::move(a), std::move(b)); }

// Variables are compared by address, so that all expressions must share the variable of a symbol. The table only grows,
// and it is never iterated.
static Var variable_of_symbol(const std::string& name, bool make) {
  static std::mutex mutex;
  static std::map<std::string, Var> variables;
  std::lock_guard lock(mutex);
  auto it = variables.find(name);
  if (it == variables.end() && make) it = variables.emplace(name, make_var(name)).first;
  return it == variables.end() ? nullptr : it->second;
}

Expr symbol_var(const Symbol& symbol) { return scalar_of(symbol); }
Var scalar_of(const Symbol& symbol) { return variable_of_symbol(symbol.name, true); }
bool is_symbol_var(const Var& v) { return variable_of_symbol(v->name, false) == v; }

// ---- comparison

namespace {

bool equal_nodes(const ExprNode& a, const ExprNode& b);
bool equal_exprs(const Expr& a, const Expr& b) { return a.get() == b.get() || (a && b && equal_nodes(*a, *b)); }

bool equal_nodes(const ExprNode& a, const ExprNode& b) {
  if (a.type != b.type || a.v.index() != b.v.index()) return false;
  return std::visit(
      overloaded{
          [&](const Literal& x) {
            const Literal& y = std::get<Literal>(b.v);
            // By bits, so that -0 differs from 0 and NaN equals itself.
            return x.integer == y.integer && std::bit_cast<uint64_t>(x.number) == std::bit_cast<uint64_t>(y.number);
          },
          [&](const VarRef& x) { return x.var == std::get<VarRef>(b.v).var; },
          [&](const Unary& x) { return x.op == std::get<Unary>(b.v).op && equal_exprs(x.a, std::get<Unary>(b.v).a); },
          [&](const Binary& x) {
            const Binary& y = std::get<Binary>(b.v);
            return x.op == y.op && equal_exprs(x.a, y.a) && equal_exprs(x.b, y.b);
          },
          [&](const Fma& x) {
            const Fma& y = std::get<Fma>(b.v);
            return equal_exprs(x.a, y.a) && equal_exprs(x.b, y.b) && equal_exprs(x.c, y.c);
          },
          [&](const Select& x) {
            const Select& y = std::get<Select>(b.v);
            return equal_exprs(x.condition, y.condition) && equal_exprs(x.a, y.a) && equal_exprs(x.b, y.b);
          },
          [&](const Cast& x) {
            return x.saturate == std::get<Cast>(b.v).saturate && equal_exprs(x.a, std::get<Cast>(b.v).a);
          },
          [&](const Bitcast& x) { return equal_exprs(x.a, std::get<Bitcast>(b.v).a); },
          [&](const Load& x) {
            const Load& y = std::get<Load>(b.v);
            return x.buffer == y.buffer && std::ranges::equal(x.indices, y.indices, equal_exprs) &&
                   equal_exprs(x.otherwise, y.otherwise);
          },
      },
      a.v);
}

}  // namespace

bool structurally_equal(const Expr& a, const Expr& b) { return equal_exprs(a, b); }

// Whether the result is the same if the identity is combined several times.
static bool may_repeat_identity(const Reduction& r, BinaryOp op) {
  if (op != BinaryOp::add && op != BinaryOp::mul) return true;  // nothing changes if a value is combined twice
  return structurally_equal(r.identity.at(0), literal(r.left[0]->type, int64_t{op == BinaryOp::mul}));
}

ReducerKind reducer_kind(const Reduction& r) {
  if (r.combined.size() != 1) return ReducerKind::other;
  const Binary* op = as<Binary>(r.combined[0]);
  if (!op) return ReducerKind::other;
  bool plain = (is_var(op->a, r.left[0]) && is_var(op->b, r.right[0])) ||
               (is_var(op->a, r.right[0]) && is_var(op->b, r.left[0]));
  if (!plain || !may_repeat_identity(r, op->op)) return ReducerKind::other;
  switch (op->op) {
#define REDUCER(kind, op, identity) \
  case BinaryOp::op:                \
    return ReducerKind::kind;
#include "tensor/reducers.def"
#undef REDUCER
    default:
      return ReducerKind::other;
  }
}

// ---- statements

Stmt make_stmt(decltype(StmtNode::v) v) { return std::make_shared<const StmtNode>(StmtNode{std::move(v)}); }

Stmt for_loop(Var var, Expr extent, LoopKind kind, Stmt body) {
  if (!body) return nullptr;
  if (constant_integer(extent) == 1) return substitute(body, {{var, Expr(0)}});
  return make_stmt(For{std::move(var), std::move(extent), kind, std::move(body)});
}

Stmt sequence(std::vector<Stmt> body) {
  std::vector<Stmt> flat;
  for (Stmt& s : body) {
    if (!s) continue;
    if (const Sequence* inner = as<Sequence>(s))
      flat.insert(flat.end(), inner->body.begin(), inner->body.end());
    else
      flat.push_back(std::move(s));
  }
  if (flat.empty()) return nullptr;
  return flat.size() == 1 ? flat[0] : make_stmt(Sequence{std::move(flat)});
}

Stmt store(Buffer buffer, std::vector<Expr> indices, Expr value) {
  DLCC_CHECK(static_cast<int>(indices.size()) == buffer->rank(), "{} indices into {} of rank {}", indices.size(),
             buffer->name, buffer->rank());
  DLCC_CHECK(value.type() == buffer->type, "store of {} into {} of {}", name(value.type()), buffer->name,
             name(buffer->type));
  return make_stmt(Store{std::move(buffer), std::move(indices), std::move(value)});
}

Stmt let(Var var, Expr value, Stmt body) {
  DLCC_CHECK(var->type == value.type(), "let {} of {} is {}", var->name, name(var->type), name(value.type()));
  return body ? make_stmt(Let{std::move(var), std::move(value), std::move(body)}) : nullptr;
}

Stmt allocate(Buffer buffer, Stmt body) {
  return body ? make_stmt(Allocate{std::move(buffer), std::move(body)}) : nullptr;
}

Stmt if_then(Expr condition, Stmt then_body, Stmt else_body) {
  if (auto known = constant_integer(condition)) return *known ? then_body : else_body;
  if (!then_body && !else_body) return nullptr;
  if (!then_body) return if_then(logical_not(std::move(condition)), std::move(else_body));
  return make_stmt(IfThen{std::move(condition), std::move(then_body), std::move(else_body)});
}

Stmt outline(Stmt body) { return body ? make_stmt(Outline{std::move(body)}) : nullptr; }

Stmt require(Expr condition, Status status) { return make_stmt(Require{std::move(condition), status}); }

}  // namespace dlcc::tensor
