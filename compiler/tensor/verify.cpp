// The rules of tensor IR; type_rules.h has those for the types of expressions.
//
// Expressions
//   * Each variable is in scope. No variable is bound twice in nested scopes.
//   * Scalar parameters are in scope everywhere.
// Buffers
//   * Strides, unless empty, are one positive number per dimension. Local and register buffers have static shapes.
// Definitions
//   * A stage has one axis per dimension of its results, and one value per result, of the result's type.
//   * Without origin, the axes have the extents of the results. With origin, the box is inside the results. The boxes
//     of one buffer are disjoint.
//   * A stage reads parameters and results of earlier stages only.
//   * An index that is a sum of axes is in range, unless a selection, an `else` or a requirement decides whether the
//     element is read.
//   * A reduction has, for each value, a left variable, a right variable, a combined value and an identity, all of the
//     value's type. The combined values depend on these variables only.
//   * Each element of each result is written. This is checked for static shapes; a stage with a body is assumed to
//     write all elements that no other stage writes.
//   * The symbols of a definition are those of its shapes and of its expressions; they are known before it runs.
//   * A stage with a body has no index expression: its only other members are the results. The body follows the rules
//     of kernels. It stores to these results only, and reads them, parameters and results of earlier stages. The
//     iterations of its vector loops do not access elements that other iterations write. It outlines no loop nest.
// Kernels
//   * Parameters are global: inputs, then outputs, then scratch. Inputs are not written; each output is.
//   * The symbols in the shapes of parameters are scalar parameters.
//   * Each buffer is declared once, before its uses.
//   * Extents and indices are int64. A stored value has the buffer's type.
//   * Indices of register buffers depend on variables of unrolled and vector loops only.
//   * An operand of an intrinsic call has the type, scope and strides of the intrinsic's operand.
//   * Its rank is at least that of the intrinsic's operand.
//   * An outlined loop nest is in no vector loop. It contains no requirement and uses no register buffer that is
//   declared
//     outside of it.
#include "tensor/verify.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tensor/analysis.h"
#include "tensor/independent_lanes.h"
#include "tensor/intrinsic.h"
#include "tensor/reads_in_range.h"
#include "tensor/text.h"
#include "tensor/type_rules.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Verifier {
 public:
  Verifier(const std::string& where, Diagnostics& diagnostics)
      : report_([where, &diagnostics](std::string what) {
          diagnostics.error(DiagnosticId::invalid_ir, {.node = where}, std::move(what));
        }) {}

  void function(const TensorFunction&);
  void kernel(const Kernel&);

 private:
  template <class... A>
  void fail(fmt::format_string<A...> format, A&&... args) {
    report_(fmt::format(format, std::forward<A>(args)...));
  }
  template <class... A>
  void expect(bool holds, fmt::format_string<A...> format, A&&... args) {
    if (!holds) fail(format, std::forward<A>(args)...);
  }

  void root(const Expr& e, const char* what);
  void indices(const Buffer& b, const std::vector<Expr>& list) { check_indices(b, list, report_); }
  void typed_root(const Expr& e, DType type, const char* what) {
    root(e, what);
    if (e) expect(e.type() == type, "{} has type {} instead of {}: {}", what, name(e.type()), name(type), print(e));
  }
  void bind(const Var& v);
  void unbind(const Var& v) { scope_.erase(v); }
  void buffer(const Buffer& b);
  void symbols_of(const Shape& shape) {
    for (const Dim& d : shape)
      for (const Symbol& s : d.symbols()) scope_.insert(scalar_of(s));
  }

  void stage(const Stage&);
  void body(const Stage&);
  void reduction(const Stage&);
  void coverage(const TensorFunction&);

  void stmt(const Stmt&);
  void written(const Buffer& b);
  void register_indices(const Buffer& b, const std::vector<Expr>& list);
  void intrinsic(const IntrinsicCall&);
  void outlined(const Outline&);

  const Report report_;
  std::set<Var> scope_;
  bool has_checked_requirements_ = false;  // of the function
  std::set<Buffer> readable_;              // declared, and in definitions computed
  std::set<const ExprNode*> checked_;
  std::vector<Expr> kept_;  // keeps checked nodes alive

  std::map<Buffer, Access> access_;
  std::set<Buffer> written_;
  std::set<Var> constant_;  // variables of unrolled and vector loops
  int vector_loops_ = 0;    // around the current statement
};

// ---- expressions ----------------------------------------------------------------------------------------------------

void Verifier::root(const Expr& e, const char* what) {
  if (!e) return fail("{} is missing", what);
  kept_.push_back(e);
  for_each_expr(e, [&](const Expr& x) {
    if (const VarRef* ref = as<VarRef>(x)) {
      expect(scope_.count(ref->var) > 0, "variable {} is not in scope", ref->var->name);
    } else if (const Load* l = as<Load>(x)) {
      expect(readable_.count(l->buffer) > 0, "buffer {} is read before it is declared or computed", l->buffer->name);
      if (l->buffer->scope == Scope::reg) register_indices(l->buffer, l->indices);
    }
    if (checked_.insert(x.get()).second) check_types(x, report_);
  });
}

void Verifier::bind(const Var& v) { expect(scope_.insert(v).second, "variable {} is bound twice", v->name); }

void Verifier::buffer(const Buffer& b) {
  if (!b->strides.empty()) {
    bool fits = static_cast<int>(b->strides.size()) == b->rank();
    for (int64_t s : b->strides) fits &= s > 0;
    expect(fits, "strides of {} are not one positive number per dimension", b->name);
  }
  expect(b->scope == Scope::global || is_static(b->shape), "the shape of {} is not static", b->name);
  for (const Dim& d : b->shape) expect(!d.is_constant() || d.value() >= 0, "{} has a negative extent", b->name);
}

// ---- definitions ----------------------------------------------------------------------------------------------------

void Verifier::function(const TensorFunction& f) {
  has_checked_requirements_ = f.has_checked_requirements;
  for (const Var& v : f.scalars) bind(v);
  for (const Symbol& s : tensor::symbols_of(f)) symbols_of({Dim::symbol(s)});
  std::set<Buffer> known;
  for (const Buffer& b : f.params) {
    expect(known.insert(b).second, "{} is a parameter twice", b->name);
    buffer(b), symbols_of(b->shape);
    readable_.insert(b);
  }
  for (const Buffer& b : f.results) {
    expect(known.insert(b).second, "{} is a result twice, or also a parameter", b->name);
    buffer(b), symbols_of(b->shape);
  }
  std::set<Buffer> params(f.params.begin(), f.params.end());
  for (const Stage& s : f.stages) {
    for (const Buffer& b : s.results) expect(!params.count(b), "the parameter {} is written", b->name);
    stage(s);
    readable_.insert(s.results.begin(), s.results.end());
  }
  coverage(f);
}

void Verifier::stage(const Stage& s) {
  if (s.results.empty()) return fail("a stage without result");
  if (s.body) return body(s);
  const std::string& name = s.results[0]->name;
  expect(s.values.size() == s.results.size(), "{} has {} values for {} results", name, s.values.size(),
         s.results.size());
  expect(s.origin.empty() || s.origin.size() == s.axes.size(), "the origin of {} has another rank", name);
  for (const Buffer& b : s.results) {
    buffer(b), symbols_of(b->shape);
    if (static_cast<size_t>(b->rank()) != s.axes.size())
      return fail("{} has rank {}, its stage {} axes", b->name, b->rank(), s.axes.size());
    for (size_t d = 0; d < s.axes.size(); ++d) {
      const Dim& extent = s.axes[d].extent;
      if (s.origin.empty()) {
        expect(extent == b->shape[d], "axis {} of {} has extent {} instead of {}", d, b->name, extent.str(),
               b->shape[d].str());
      } else if (d < s.origin.size()) {
        expect(provably_le(Dim(0), s.origin[d]) && provably_le(s.origin[d] + extent, b->shape[d]),
               "the box of a stage is out of range of {} along axis {}", b->name, d);
      }
    }
  }
  for (const Axis& a : s.axes) symbols_of({a.extent}), bind(a.var);
  for (const Requirement& q : s.requirements) typed_root(q.condition, dtype::boolean, "a requirement");
  if (s.reduction) {
    reduction(s);
  } else {
    for (size_t k = 0; k < std::min(s.values.size(), s.results.size()); ++k)
      typed_root(s.values[k], s.results[k]->type, "a stage's value");
  }
  if (auto wrong = has_checked_requirements_ ? std::nullopt : read_out_of_range(s)) fail("{}", *wrong);
  for (const Axis& a : s.axes) unbind(a.var);
}

void Verifier::body(const Stage& s) {
  const std::string& name = s.results[0]->name;
  expect(s.axes.empty() && s.origin.empty() && s.values.empty() && s.requirements.empty() && !s.reduction,
         "the stage of {} has a body and an index expression", name);
  for (const Buffer& b : s.results) buffer(b), symbols_of(b->shape);
  access_.clear();
  for (const Buffer& b : readable_) access_[b] = Access::read;
  for (const Buffer& b : s.results) access_[b] = Access::write, readable_.insert(b);
  stmt(s.body);
  for_each_stmt(s.body, [&](const Stmt& x) {
    expect(!as<Outline>(x), "the stage of {} outlines a loop nest, as only kernels do", name);
    const For* loop = as<For>(x);
    if (const Buffer shared = loop && loop->kind == LoopKind::vector ? shared_between_iterations(*loop) : nullptr)
      fail(
          "iterations of the vector loop over {} may access the same elements of {}, which it writes; 'for' executes "
          "them one after the other",
          loop->var->name, shared->name);
  });
}

void Verifier::reduction(const Stage& s) {
  const Reduction& r = *s.reduction;
  for (const Axis& a : r.axes) symbols_of({a.extent}), bind(a.var);
  for (const Expr& v : s.values) root(v, "a stage's value");
  for (const Axis& a : r.axes) unbind(a.var);
  size_t n = s.values.size();
  if (r.left.size() != n || r.right.size() != n || r.combined.size() != n || r.identity.size() != n)
    return fail("the reduction of {} lacks a left or right variable, a combined value or an identity",
                s.results[0]->name);
  std::set<Var> outside = scope_;
  std::set<Buffer> buffers = std::exchange(readable_, {});
  for (const Axis& a : s.axes) unbind(a.var);
  for (const Expr& e : r.identity) root(e, "an identity");
  for (const Var& v : r.left) bind(v);
  for (const Var& v : r.right) bind(v);
  for (size_t k = 0; k < n; ++k) {
    DType t = r.left[k]->type;
    root(r.combined[k], "a combined value");
    bool fits = r.right[k]->type == t && r.identity[k] && r.identity[k].type() == t && r.combined[k] &&
                r.combined[k].type() == t && s.values[k] && s.values[k].type() == t;
    if (k < s.results.size()) fits &= s.results[k]->type == t;
    expect(fits, "the variables and values of the reduction of {} have different types", s.results[0]->name);
  }
  scope_ = std::move(outside);
  readable_ = std::move(buffers);
}

// Checks that the boxes that stages write in one buffer are disjoint, and that those of a result cover it.
void Verifier::coverage(const TensorFunction& f) {
  struct Box {
    Shape begin, extent;
  };
  std::map<Buffer, std::vector<Box>> boxes;
  std::set<Buffer> by_statements;
  for (const Stage& s : f.stages)
    for (const Buffer& b : s.results) {
      if (s.body) {
        by_statements.insert(b);
        continue;
      }
      Box box{s.origin, {}};
      for (const Axis& a : s.axes) box.extent.push_back(a.extent);
      box.begin.resize(s.axes.size());
      boxes[b].push_back(std::move(box));
    }
  auto apart = [](const Box& a, const Box& b) {
    if (!is_static(a.begin) || !is_static(a.extent) || !is_static(b.begin) || !is_static(b.extent)) return true;
    for (size_t d = 0; d < std::min(a.begin.size(), b.begin.size()); ++d)
      if (provably_le(a.begin[d] + a.extent[d], b.begin[d]) || provably_le(b.begin[d] + b.extent[d], a.begin[d]))
        return true;
    return product(a.extent) == Dim(0) || product(b.extent) == Dim(0);
  };
  std::set<Buffer> results(f.results.begin(), f.results.end()), seen;
  for (const Stage& s : f.stages)
    for (const Buffer& b : s.results) {
      if (!seen.insert(b).second) continue;
      const std::vector<Box>& list = boxes[b];
      Dim points = 0;
      for (size_t i = 0; i < list.size(); ++i) {
        points = points + product(list[i].extent);
        for (size_t j = 0; j < i; ++j) expect(apart(list[i], list[j]), "two stages write the same part of {}", b->name);
      }
      bool whole =
          by_statements.contains(b) || !is_static(b->shape) || !points.is_constant() || points == product(b->shape);
      expect(!results.erase(b) || whole, "a part of the result {} is not written", b->name);
    }
  for (const Buffer& b : f.results) expect(!results.count(b), "the result {} is not written", b->name);
}

// ---- kernels --------------------------------------------------------------------------------------------------------

void Verifier::kernel(const Kernel& k) {
  for (const Var& v : k.scalars) bind(v);
  Access last = Access::read;
  for (const Parameter& p : k.params) {
    expect(access_.emplace(p.buffer, p.access).second, "{} is a parameter twice", p.buffer->name);
    expect(p.buffer->scope == Scope::global, "the parameter {} is not global", p.buffer->name);
    expect(p.access >= last, "the parameter {} is not in the order inputs, outputs, scratch", p.buffer->name);
    last = p.access;
    buffer(p.buffer);
    for (const Dim& d : p.buffer->shape)
      for (const Symbol& s : d.symbols())
        expect(scope_.contains(scalar_of(s)), "the symbol {} is not a scalar parameter", s.name);
    readable_.insert(p.buffer);
  }
  stmt(k.body);
  for (const Parameter& p : k.params) {
    bool empty = provably_le(product(p.buffer->shape), 0);
    expect(p.access != Access::write || empty || written_.count(p.buffer), "the parameter {} is never written",
           p.buffer->name);
  }
}

void Verifier::written(const Buffer& b) {
  expect(readable_.count(b) > 0, "buffer {} is written before it is declared", b->name);
  auto it = access_.find(b);
  expect(it == access_.end() || it->second != Access::read, "the parameter {} is read-only but written", b->name);
  written_.insert(b);
}

void Verifier::register_indices(const Buffer& b, const std::vector<Expr>& list) {
  for (const Expr& i : list) {
    if (!i) continue;
    for_each_expr(i, [&](const Expr& e) {
      const VarRef* ref = as<VarRef>(e);
      expect((!ref || constant_.count(ref->var)) && !as<Load>(e),
             "an index of the register buffer {} depends on more than unrolled and vector loops", b->name);
    });
  }
}

void Verifier::intrinsic(const IntrinsicCall& x) {
  if (!x.intrinsic) return fail("a call without an intrinsic");
  const auto& operands = x.intrinsic->operands;
  if (operands.size() != x.operands.size())
    return fail("{} takes {} operands, not {}", x.intrinsic->name, operands.size(), x.operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    const Region& r = x.operands[k];
    const BufferNode &want = *operands[k].buffer, &got = *r.buffer;
    for (const Expr& e : r.begin) typed_root(e, dtype::i64, "a region's begin");
    indices(r.buffer, r.begin);
    expect(readable_.count(r.buffer) > 0, "buffer {} is used before it is declared", got.name);
    expect(fits_operand(got, want), "{} does not fit operand {} of {}", got.name, k, x.intrinsic->name);
    if (operands[k].access == Access::write) written(r.buffer);
  }
}

void Verifier::outlined(const Outline& x) {
  expect(vector_loops_ == 0, "a loop nest in a vector loop is outlined");
  expect(!can_fail(x.body), "an outlined loop nest contains a requirement");
  for (const Buffer& b : free_in(x.body).buffers)
    expect(b->scope != Scope::reg, "an outlined loop nest uses the register buffer {} of its caller", b->name);
  stmt(x.body);
}

void Verifier::stmt(const Stmt& s) {
  if (!s) return;
  std::visit(overloaded{
                 [&](const For& x) {
                   typed_root(x.extent, dtype::i64, "a loop's extent");
                   bind(x.var);
                   expect(x.var->type == dtype::i64, "the loop variable {} is not int64", x.var->name);
                   if (x.kind == LoopKind::unrolled || x.kind == LoopKind::vector) constant_.insert(x.var);
                   vector_loops_ += x.kind == LoopKind::vector;
                   stmt(x.body);
                   vector_loops_ -= x.kind == LoopKind::vector;
                   constant_.erase(x.var);
                   unbind(x.var);
                 },
                 [&](const Sequence& x) {
                   for (const Stmt& b : x.body) stmt(b);
                 },
                 [&](const Store& x) {
                   for (const Expr& i : x.indices) root(i, "an index");
                   indices(x.buffer, x.indices);
                   if (x.buffer->scope == Scope::reg) register_indices(x.buffer, x.indices);
                   typed_root(x.value, x.buffer->type, "a stored value");
                   written(x.buffer);
                 },
                 [&](const Let& x) {
                   typed_root(x.value, x.var->type, "a let's value");
                   bind(x.var);
                   stmt(x.body);
                   unbind(x.var);
                 },
                 [&](const Allocate& x) {
                   expect(readable_.insert(x.buffer).second, "{} is declared twice", x.buffer->name);
                   expect(x.buffer->scope != Scope::global, "{} is allocated, but global", x.buffer->name);
                   buffer(x.buffer);
                   stmt(x.body);
                   readable_.erase(x.buffer);
                 },
                 [&](const IfThen& x) {
                   typed_root(x.condition, dtype::boolean, "a condition");
                   stmt(x.then_body), stmt(x.else_body);
                 },
                 [&](const Require& x) { typed_root(x.condition, dtype::boolean, "a requirement"); },
                 [&](const Prefetch& x) {
                   for (const Expr& i : x.indices) root(i, "an index");
                   indices(x.buffer, x.indices);
                   expect(readable_.count(x.buffer) > 0, "buffer {} is used before it is declared", x.buffer->name);
                 },
                 [&](const IntrinsicCall& x) { intrinsic(x); },
                 [&](const Outline& x) { outlined(x); },
             },
             s->v);
}

}  // namespace

bool verify(const TensorFunction& f, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  Verifier("tensor @" + f.name, diagnostics).function(f);
  return diagnostics.error_count() == before;
}

bool verify(const Kernel& k, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  Verifier("kernel @" + k.name, diagnostics).kernel(k);
  return diagnostics.error_count() == before;
}

void check_verified(const TensorFunction& f, std::string_view pass) {
  Diagnostics found;
  DLCC_CHECK(verify(f, found), "after {}:\n{}", pass, found.str());
}

void check_verified(const Kernel& k, std::string_view pass) {
  Diagnostics found;
  DLCC_CHECK(verify(k, found), "after {}:\n{}", pass, found.str());
}

}  // namespace dlcc::tensor
