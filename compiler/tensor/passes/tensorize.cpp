#include "tensor/passes/tensorize.h"

#include <algorithm>
#include <map>
#include <utility>

#include "support/row_major.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Matches the body of an intrinsic, a vector loop with one store, with a vector loop of a kernel, and finds the boxes
// of the operands.
class Matcher {
 public:
  Matcher(const Intrinsic& intrinsic, const For& own, const For& other)
      : intrinsic_(intrinsic), own_(own), other_(other) {}

  std::optional<IntrinsicCall> run() {
    const Store *a = as<Store>(own_.body), *b = as<Store>(other_.body);
    if (!a || !b || !equal(a->value, b->value) || !access(a->buffer, a->indices, b->buffer, b->indices))
      return std::nullopt;
    IntrinsicCall call{&intrinsic_, {}};
    for (const Intrinsic::Operand& o : intrinsic_.operands) {
      auto box = boxes_.find(o.buffer);
      if (box == boxes_.end()) return std::nullopt;
      call.operands.push_back(box->second);
    }
    return call;
  }

 private:
  bool equal(const Expr& a, const Expr& b) {
    if (a.type() != b.type() || a->v.index() != b->v.index()) return false;
    if (const Load* x = as<Load>(a)) {
      const Load* y = as<Load>(b);
      return !x->otherwise && !y->otherwise && access(x->buffer, x->indices, y->buffer, y->indices);
    }
    if (const Binary* x = as<Binary>(a)) {
      const Binary* y = as<Binary>(b);
      return x->op == y->op && equal(x->a, y->a) && equal(x->b, y->b);
    }
    if (const Cast* x = as<Cast>(a)) return x->saturate == as<Cast>(b)->saturate && equal(x->a, as<Cast>(b)->a);
    return structurally_equal(a, b);
  }

  // An element of an operand at `inside` is the element of `buffer` at `at`: the box begins at the difference.
  bool access(const Buffer& operand, const std::vector<Expr>& inside, const Buffer& buffer, std::vector<Expr> at) {
    if (!fits(*operand, *buffer)) return false;
    const size_t leading = at.size() - inside.size();
    for (size_t d = 0; d < at.size(); ++d) {
      if (d >= leading) at[d] = at[d] - substitute(inside[d - leading], {{own_.var, Expr(other_.var)}});
      at[d] = simplify(at[d]);
      if (uses(at[d], other_.var)) return false;
    }
    auto [box, is_new] = boxes_.emplace(operand, Region{buffer, at});
    return is_new || (box->second.buffer == buffer && std::ranges::equal(box->second.begin, at, structurally_equal));
  }

  static bool fits(const BufferNode& operand, const BufferNode& buffer) {
    if (operand.type != buffer.type || operand.scope != buffer.scope || operand.rank() > buffer.rank()) return false;
    if (operand.strides.empty()) return true;
    std::vector<int64_t> strides = buffer.strides;
    if (strides.empty() && is_static(buffer.shape)) strides = row_major_strides(static_shape(buffer.shape));
    return std::cmp_equal(strides.size(), buffer.rank()) &&
           std::equal(operand.strides.begin(), operand.strides.end(), strides.end() - operand.rank());
  }

  const Intrinsic& intrinsic_;
  const For &own_, &other_;
  std::map<Buffer, Region> boxes_;  // by operand
};

}  // namespace

Stmt tensorize(const Stmt& s, std::span<const Intrinsic* const> known) {
  return rewrite(s, {}, [&](const Stmt& x) {
    const For* loop = as<For>(x);
    if (!loop || loop->kind != LoopKind::vector) return x;
    for (const Intrinsic* i : known) {
      const For* body = as<For>(i->body);
      if (!body || body->kind != LoopKind::vector || !structurally_equal(body->extent, loop->extent)) continue;
      if (auto call = Matcher(*i, *body, *loop).run()) return make_stmt(std::move(*call));
    }
    return x;
  });
}

}  // namespace dlcc::tensor
