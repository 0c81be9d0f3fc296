#include "tensor/type_rules.h"

#include "tensor/text.h"

namespace dlcc::tensor {
namespace {

bool is_storage_only(DType t) { return bits(t) < 8 || (is_float(t) && bits(t) < 32); }

class TypeRules {
 public:
  explicit TypeRules(const Report& report) : report_(report) {}

  void node(const Expr& e);
  void indices(const Buffer& b, const std::vector<Expr>& list);

 private:
  template <class... A>
  void expect(bool holds, fmt::format_string<A...> format, A&&... args) {
    if (!holds) report_(fmt::format(format, std::forward<A>(args)...));
  }
  void operation(const Expr& e, const Unary& x);
  void operation(const Expr& e, const Binary& x);

  const Report& report_;
};

void TypeRules::node(const Expr& e) {
  std::visit(
      overloaded{
          [&](const Literal&) {},
          [&](const VarRef& x) { expect(x.var->type == e.type(), "a reference to {} has another type", x.var->name); },
          [&](const Unary& x) { operation(e, x); },
          [&](const Binary& x) { operation(e, x); },
          [&](const Fma& x) {
            bool fits = is_float(e.type()) && !is_storage_only(e.type());
            for (const Expr& c : {x.a, x.b, x.c}) fits &= c.type() == e.type();
            expect(fits, "operands of fma are not floats of one type: {}", print(e));
          },
          [&](const Select& x) {
            expect(is_bool(x.condition.type()), "a condition has type {}", name(x.condition.type()));
            expect(x.a.type() == e.type() && x.b.type() == e.type(), "arms of {} have different types", print(e));
          },
          [&](const Cast&) {},
          [&](const Bitcast& x) {
            expect(bits(x.a.type()) == bits(e.type()), "a bitcast from {} to {}", name(x.a.type()), name(e.type()));
          },
          [&](const Load& x) {
            indices(x.buffer, x.indices);
            expect(e.type() == x.buffer->type, "a load from {} has type {}", x.buffer->name, name(e.type()));
            if (x.otherwise)
              expect(x.otherwise.type() == e.type(), "the alternative of a load from {} has type {}", x.buffer->name,
                     name(x.otherwise.type()));
          },
      },
      e->v);
}

void TypeRules::operation(const Expr& e, const Unary& x) {
  DType t = x.a.type();
  bool fits = !is_storage_only(t);
  switch (x.op) {
    case UnaryOp::is_nan:
    case UnaryOp::is_inf:
      fits &= is_bool(e.type()) && !is_bool(t);
      break;
    case UnaryOp::logical_not:
      fits = is_bool(t) && is_bool(e.type());
      break;
    case UnaryOp::bit_not:
      fits &= is_integer(t) && e.type() == t;
      break;
    case UnaryOp::negate:
    case UnaryOp::abs:
      fits &= !is_bool(t) && e.type() == t;
      break;
    case UnaryOp::floor:
    case UnaryOp::ceil:
    case UnaryOp::trunc:
    case UnaryOp::round_even:
      fits &= !is_bool(t) && e.type() == t;
      break;
    default:
      fits &= is_float(t) && e.type() == t;
      break;
  }
  expect(fits, "{} of {} as {}", text_of(x.op), name(t), name(e.type()));
}

void TypeRules::operation(const Expr& e, const Binary& x) {
  DType t = x.a.type();
  if (x.b.type() != t) return expect(false, "operands of types {} and {}: {}", name(t), name(x.b.type()), print(e));
  bool fits = !is_storage_only(t);
  if (x.op >= BinaryOp::eq && x.op <= BinaryOp::ge) {
    fits &= is_bool(e.type());
  } else {
    fits &= e.type() == t;
    switch (x.op) {
      case BinaryOp::logical_and:
      case BinaryOp::logical_or:
      case BinaryOp::logical_xor:
        fits &= is_bool(t);
        break;
      case BinaryOp::bit_and:
      case BinaryOp::bit_or:
      case BinaryOp::bit_xor:
        fits &= !is_float(t);
        break;
      case BinaryOp::shl:
      case BinaryOp::shr:
        fits &= is_integer(t);
        break;
      default:
        fits &= !is_bool(t);
        break;
    }
  }
  expect(fits, "'{}' of {} as {}", text_of(x.op), name(t), name(e.type()));
}

void TypeRules::indices(const Buffer& b, const std::vector<Expr>& list) {
  expect(static_cast<int>(list.size()) == b->rank(), "{} indices into {} of rank {}", list.size(), b->name, b->rank());
  for (const Expr& i : list)
    expect(i && i.type() == dtype::i64, "an index into {} has type {}", b->name, i ? name(i.type()) : "none");
}

}  // namespace

void check_types(const Expr& node, const Report& report) { TypeRules(report).node(node); }

void check_indices(const Buffer& b, const std::vector<Expr>& indices, const Report& report) {
  TypeRules(report).indices(b, indices);
}

}  // namespace dlcc::tensor
