#include "tensor/passes/tensorize.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Matches the body of an intrinsic, a store or a vector loop with one store, with that of a kernel, and finds the boxes
// of the operands.
class Matcher {
 public:
  explicit Matcher(const Intrinsic& intrinsic) : intrinsic_(intrinsic) {}

  std::optional<IntrinsicCall> run(const For& own, const For& other) {
    own_lane_ = own.var, other_lane_ = other.var;
    return run(as<Store>(own.body), as<Store>(other.body));
  }

  std::optional<IntrinsicCall> run(const Store* a, const Store* b) {
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
    if (!fits_operand(*buffer, *operand)) return false;
    const size_t leading = at.size() - inside.size();
    for (size_t d = 0; d < at.size(); ++d) {
      if (d >= leading) at[d] = at[d] - in_other_lanes(inside[d - leading]);
      at[d] = simplify(at[d]);
      if (other_lane_ && uses(at[d], other_lane_)) return false;
    }
    auto [box, is_new] = boxes_.emplace(operand, Region{buffer, at});
    return is_new || (box->second.buffer == buffer && std::ranges::equal(box->second.begin, at, structurally_equal));
  }

  Expr in_other_lanes(const Expr& e) const { return own_lane_ ? substitute(e, {{own_lane_, Expr(other_lane_)}}) : e; }

  const Intrinsic& intrinsic_;
  Var own_lane_, other_lane_;       // null in an intrinsic of one lane
  std::map<Buffer, Region> boxes_;  // by operand
};

// The statements within vector loops.
std::set<Stmt> in_vector_loops(const Stmt& s) {
  std::set<Stmt> inside;
  for_each_stmt(s, [&](const Stmt& x) {
    if (const For* loop = as<For>(x); loop && loop->kind == LoopKind::vector)
      for_each_stmt(loop->body, [&](const Stmt& inner) { inside.insert(inner); });
  });
  return inside;
}

}  // namespace

Stmt tensorize(const Stmt& s, std::span<const Intrinsic* const> known) {
  const std::set<Stmt> inside = in_vector_loops(s);
  return rewrite(s, {}, [&](const Stmt& x) {
    if (const Store* store = as<Store>(x); store && !inside.contains(x))
      for (const Intrinsic* i : known)
        if (auto call = Matcher(*i).run(as<Store>(i->body), store)) return make_stmt(std::move(*call));
    const For* loop = as<For>(x);
    if (!loop || loop->kind != LoopKind::vector) return x;
    for (const Intrinsic* i : known) {
      const For* body = as<For>(i->body);
      if (!body || body->kind != LoopKind::vector || !structurally_equal(body->extent, loop->extent)) continue;
      if (auto call = Matcher(*i).run(*body, *loop)) return make_stmt(std::move(*call));
    }
    return x;
  });
}

}  // namespace dlcc::tensor
