// Decides how a vector loop is executed: in vectors, if its control flow is uniform and no lane depends on another
// lane's store; distributed into one vector loop per statement, if only different statements depend on each other
// across lanes; else as a scalar loop.
#include <algorithm>

#include "targets/llvm/kernel_emitter.h"
#include "tensor/independent_lanes.h"
#include "tensor/visit.h"

namespace dlcc::targets {

using namespace tensor;

namespace {

class LoopAnalysis {
 public:
  explicit LoopAnalysis(const For& loop) : loop_(loop), varying_{loop.var.get()} { visit(loop.body); }

  VectorPlan plan() const {
    VectorPlan result;
    bool conflict = std::any_of(written_.begin(), written_.end(), [&](auto* b) { return crosses_lanes(b); });
    result.distribute = conflict && as<Sequence>(loop_.body);
    result.possible = possible_ && !conflict;
    result.element_bits = element_bits_;
    return result;
  }

 private:
  void visit(const Stmt& s) {
    std::visit(overloaded{
                   [&](const For& x) {
                     if (x.kind == LoopKind::vector || varies(x.extent)) possible_ = false;
                     visit(x.body);
                   },
                   [&](const Sequence& x) {
                     for (const Stmt& b : x.body) visit(b);
                   },
                   [&](const Store& x) { visit_store(x); },
                   [&](const Let& x) {
                     visit_value(x.value);
                     if (varies(x.value)) varying_.insert(x.var.get());
                     visit(x.body);
                   },
                   [&](const Allocate& x) {
                     per_lane_.insert(x.buffer.get());
                     visit(x.body);
                   },
                   [&](const IfThen& x) {
                     if (varies(x.condition)) possible_ = false;
                     visit_value(x.condition);
                     visit(x.then_body);
                     if (x.else_body) visit(x.else_body);
                   },
                   [&](const Require& x) { visit_value(x.condition); },
                   [&](const Prefetch&) {},
                   [&](const IntrinsicCall&) { possible_ = false; },
               },
               s->v);
  }

  void visit_store(const Store& x) {
    visit_value(x.value);
    for (const Expr& i : x.indices) visit_loads(i);
    widen(bits(x.buffer->type));
    bool index_varies = any_varies(x.indices);
    if (per_lane_.count(x.buffer.get())) {
      if (index_varies) possible_ = false;
      return;
    }
    if (!index_varies || bits(x.buffer->type) < 8) possible_ = false;
    written_.insert(x.buffer.get());
    accesses_.emplace_back(x.buffer.get(), x.indices);
  }

  void visit_value(const Expr& e) {
    visit_loads(e);
    for_each_expr(e, [&](const Expr& node) {  // not int64 index arithmetic, which is mostly scalar
      if (as<Load>(node) || as<Cast>(node) || is_float(node.type())) widen(bits(node.type()));
    });
  }

  void visit_loads(const Expr& e) {
    for (const Load& load : loads_of(e)) {
      bool index_varies = any_varies(load.indices);
      bool is_private = per_lane_.count(load.buffer.get());
      if (index_varies && (is_private || bits(load.buffer->type) < 8)) possible_ = false;
      if (!is_private) accesses_.emplace_back(load.buffer.get(), load.indices);
    }
  }

  void widen(int bits) { element_bits_ = std::max(element_bits_, bits); }

  bool varies(const Expr& e) const {
    bool result = false;
    for_each_expr(e, [&](const Expr& node) {
      if (const VarRef* ref = as<VarRef>(node)) result |= varying_.count(ref->var.get()) > 0;
      if (const Load* load = as<Load>(node)) result |= per_lane_.count(load->buffer.get()) > 0;
    });
    return result;
  }
  bool any_varies(const std::vector<Expr>& list) const {
    return std::any_of(list.begin(), list.end(), [&](const Expr& e) { return varies(e); });
  }

  // Whether a lane may access an element of the buffer that another lane accesses. It cannot if any two accesses have
  // the same index in every dimension whose index varies between lanes, or if in some such dimension their indices are
  // further apart than the loop's lanes reach.
  bool crosses_lanes(const BufferNode* buffer) const {
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
  std::set<const VarNode*> varying_;
  std::set<const BufferNode*> per_lane_;
  std::vector<std::pair<const BufferNode*, std::vector<Expr>>> accesses_;
  std::set<const BufferNode*> written_;
  bool possible_ = true;
  int element_bits_ = 8;
};

}  // namespace

VectorPlan plan_vector_loop(const For& loop) { return LoopAnalysis(loop).plan(); }

}  // namespace dlcc::targets
