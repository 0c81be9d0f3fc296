#include "tensor/passes/legalize_vector_loops.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tensor/independent_lanes.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// What the iterations of a vector loop, its lanes, have in common.
class LoopAnalysis {
 public:
  explicit LoopAnalysis(const For& loop) : loop_(loop), varying_{loop.var} { visit(loop.body); }

  // Whether a lane may access an element that another lane writes.
  bool has_conflict() const {
    return std::ranges::any_of(written_, [&](const Buffer& b) { return crosses_lanes(b); });
  }
  // Whether the loop is legal if it has no conflict.
  bool is_uniform() const { return is_uniform_; }

 private:
  void visit(const Stmt& s) {
    std::visit(overloaded{
                   [&](const For& x) {
                     if (x.kind == LoopKind::vector || varies(x.extent)) is_uniform_ = false;
                     visit(x.body);
                   },
                   [&](const Sequence& x) {
                     for (const Stmt& b : x.body) visit(b);
                   },
                   [&](const Store& x) { visit_store(x); },
                   [&](const Let& x) {
                     visit_loads(x.value);
                     if (varies(x.value)) varying_.insert(x.var);
                     visit(x.body);
                   },
                   [&](const Allocate& x) {
                     if (bits(x.buffer->type) < 8) is_uniform_ = false;
                     private_.insert(x.buffer);
                     visit(x.body);
                   },
                   [&](const IfThen& x) {
                     if (varies(x.condition)) is_uniform_ = false;
                     visit_loads(x.condition);
                     if (x.then_body) visit(x.then_body);
                     if (x.else_body) visit(x.else_body);
                   },
                   [&](const Require& x) { visit_loads(x.condition); },
                   [&](const Prefetch&) {},
                   [&](const IntrinsicCall&) { is_uniform_ = false; },
                   [&](const Outline& x) {
                     is_uniform_ = false;
                     visit(x.body);
                   },
               },
               s->v);
  }

  void visit_store(const Store& x) {
    visit_loads(x.value);
    for (const Expr& i : x.indices) visit_loads(i);
    const bool index_varies = any_varies(x.indices);
    if (private_.contains(x.buffer)) {
      if (index_varies) is_uniform_ = false;
      return;
    }
    if (!index_varies || bits(x.buffer->type) < 8) is_uniform_ = false;
    written_.insert(x.buffer);
    accesses_.emplace_back(x.buffer, x.indices);
  }

  void visit_loads(const Expr& e) {
    for (const Load& load : loads_of(e)) {
      const bool is_private = private_.contains(load.buffer);
      if (any_varies(load.indices) && (is_private || bits(load.buffer->type) < 8)) is_uniform_ = false;
      if (!is_private) accesses_.emplace_back(load.buffer, load.indices);
    }
  }

  bool varies(const Expr& e) const {
    bool result = false;
    for_each_expr(e, [&](const Expr& node) {
      if (const VarRef* ref = as<VarRef>(node)) result |= varying_.contains(ref->var);
      if (const Load* load = as<Load>(node)) result |= private_.contains(load->buffer);
    });
    return result;
  }
  bool any_varies(const std::vector<Expr>& list) const {
    return std::ranges::any_of(list, [&](const Expr& e) { return varies(e); });
  }

  // Whether a lane may access an element of the buffer that another lane accesses. It cannot if any two accesses have
  // the same index in every dimension whose index varies between lanes, or if in some such dimension their indices are
  // further apart than the loop's lanes reach.
  bool crosses_lanes(const Buffer& buffer) const {
    std::vector<const std::vector<Expr>*> different;  // no two of them have the same varying indices
    for (const auto& [accessed, indices] : accesses_) {
      if (accessed != buffer) continue;
      bool is_new = true;
      for (const std::vector<Expr>* other : different) {
        bool same = true, disjoint = false;
        for (size_t d = 0; d < indices.size(); ++d) {
          if (!varies(indices[d]) && !varies((*other)[d])) continue;
          same &= structurally_equal(indices[d], (*other)[d]);
          disjoint |= are_out_of_reach(loop_, indices[d], (*other)[d]);
        }
        if (!same && !disjoint) return true;
        is_new &= !same;
      }
      if (is_new) different.push_back(&indices);
    }
    return false;
  }

  const For& loop_;
  std::set<Var> varying_;
  std::set<Buffer> private_;  // allocated in the loop: each lane has its own
  std::vector<std::pair<Buffer, std::vector<Expr>>> accesses_;
  std::set<Buffer> written_;
  bool is_uniform_ = true;
};

class Legalizer {
 public:
  explicit Legalizer(const Stmt& body) : register_indices_(register_index_variables(body)) {}

  Stmt run(const Stmt& s) {
    if (const For* x = as<For>(s); x && x->kind == LoopKind::vector) return vector_loop(s, *x);
    return map_nested(s, [&](const Stmt& nested) { return run(nested); });
  }

 private:
  Stmt vector_loop(const Stmt& s, const For& x) {
    const LoopAnalysis lanes(x);
    const bool has_conflict = lanes.has_conflict();
    if (const Sequence* list = as<Sequence>(x.body); list && has_conflict) return distributed(x, *list);
    if (lanes.is_uniform() && !has_conflict) return s;
    const LoopKind kind = register_indices_.contains(x.var) ? LoopKind::unrolled : LoopKind::serial;
    return make_stmt(For{x.var, x.extent, kind, run(x.body)});
  }

  Stmt distributed(const For& x, const Sequence& list) {
    std::vector<Stmt> loops;
    for (const Stmt& part : list.body) loops.push_back(run(make_stmt(For{x.var, x.extent, x.kind, part})));
    return sequence(std::move(loops));
  }

  const std::set<Var> register_indices_;
};

}  // namespace

Stmt legalize_vector_loops(const Stmt& body) { return body ? Legalizer(body).run(body) : body; }

}  // namespace dlcc::tensor
