// The bytecode compiler, statements: loops, strips, branches, declarations.
#include <algorithm>
#include <set>

#include "support/row_major.h"
#include "tensor/bytecode_compiler.h"
#include "tensor/intrinsic.h"
#include "tensor/visit.h"

namespace dlcc::tensor::bytecode {

// ---- statements -----------------------------------------------------------------------------------------------------

void Compiler::declare(const Buffer& b, bool constant) {
  BufferStorage storage;
  std::vector<int64_t> shape = static_shape(b->shape);
  storage.strides = b->strides.empty() ? row_major_strides(shape) : b->strides;
  storage.count = 1;
  for (size_t d = 0; d < shape.size(); ++d) storage.count = shape[d] == 0 ? 0 : storage.count;
  if (storage.count)
    for (size_t d = 0; d < shape.size(); ++d) storage.count += (shape[d] - 1) * storage.strides[d];
  storage.constant = constant;
  storage.memory = static_cast<uint16_t>(program_.names.size());
  DLCC_CHECK(program_.names.size() < 65535, "too many buffers in one kernel");
  program_.names.push_back(b->name);
  storage_[b] = storage;
}

void Compiler::allocation(const Allocate& x) {
  declare(x.buffer, false);
  BufferStorage& storage = storage_.at(x.buffer);
  if (strip_) {
    storage.lane_private = true;
    Kind kind = register_kind(x.buffer->type, precision_);
    storage.reg = allocate(std::max<int64_t>(storage.count, 1) * strip_lanes * kind_bytes(kind));
  }
  program_.locals.push_back({storage_type(x.buffer->type, precision_), strip_ ? 0 : storage.count});
  statement(x.body);
}

void Compiler::serial_loop(const For& x, const Value& extent) {
  Value counter = fresh(Kind::i64, false, level() + 1);
  if (auto r = range_of(x.extent, ranges_)) ranges_[x.var] = {0, std::max<int64_t>(r->high - 1, 0)};
  indices_[x.var] = {{{counter, 1}}, 0};
  open_scope();
  statement(x.body);
  std::vector<Instruction> body = close_scope();
  Instruction begin, end;
  begin.execute = loop_begin_instruction();
  begin.dst = counter.reg, begin.a = extent.reg, begin.step = static_cast<int64_t>(body.size()) + 1;
  end = begin;
  end.execute = loop_end_instruction();
  end.step = static_cast<int64_t>(body.size()) + 1;
  append(begin), splice(body), append(end);
}

// A loop whose extent differs between lanes runs to the largest extent, with a mask of the active lanes.
void Compiler::divergent_loop(const For& x, const Value& extent) {
  Value mask = mask_ ? *mask_ : all_lanes();
  mark_used(extent), mark_used(mask);
  Value largest = fresh(Kind::i64, false, level());
  Instruction i;
  i.execute = maximum_instruction();
  i.dst = largest.reg, i.a = extent.reg, i.b = mask.reg, i.a_scalar = false, i.b_scalar = !mask.vector, i.vector = true;
  append(i);
  Value counter = fresh(Kind::i64, false, level() + 1);
  if (auto r = range_of(x.extent, ranges_)) ranges_[x.var] = {0, std::max<int64_t>(r->high - 1, 0)};
  indices_[x.var] = {{{counter, 1}}, 0};
  open_scope();
  std::optional<Value> outer = mask_;
  mask_ = conjunction(outer, emit(binary_instruction(BinaryOp::lt, Kind::i64), Kind::boolean, {counter, extent}));
  statement(x.body);
  mask_ = outer;
  std::vector<Instruction> body = close_scope();
  Instruction begin;
  begin.execute = loop_begin_instruction();
  begin.dst = counter.reg, begin.a = largest.reg, begin.step = static_cast<int64_t>(body.size()) + 1;
  Instruction end = begin;
  end.execute = loop_end_instruction();
  append(begin), splice(body), append(end);
}

// Compiles a nest of vector and parallel loops to one strip-mined loop.
void Compiler::strip(const std::vector<const For*>& nest) {
  Value total;
  if (nest.size() == 1) {
    clear_memo();
    total = materialize(affine(nest[0]->extent));
    if (auto r = range_of(nest[0]->extent, ranges_)) ranges_[nest[0]->var] = {0, std::max<int64_t>(r->high - 1, 0)};
  } else {
    int64_t n = 1;
    for (const For* x : nest) n *= *constant_integer(x->extent);
    total = index_constant(n);
  }
  strip_ = program_.strips.size();
  program_.strips.emplace_back();
  strip_start_ = fresh(Kind::i64, false, level() + 1);
  int outer_level = strip_level_;
  strip_level_ = level() + 1;
  for (const For* x : nest) {
    int64_t extent = constant_integer(x->extent).value_or(0);
    Value lane = fresh(Kind::i64, true, level() + 1);
    program_.strips.back().axes.push_back({lane.reg, extent, false});
    indices_[x->var] = {{{lane, 1}}, 0};
    if (nest.size() > 1) ranges_[x->var] = {0, std::max<int64_t>(extent - 1, 0)};
  }
  open_scope();
  statement(nest.back()->body);
  std::vector<Instruction> body = close_scope();
  Instruction begin, end;
  begin.execute = strip_begin_instruction();
  begin.dst = strip_start_.reg, begin.a = total.reg, begin.imm = static_cast<int64_t>(*strip_);
  begin.step = static_cast<int64_t>(body.size()) + 1;
  end = begin;
  end.execute = strip_end_instruction();
  append(begin), splice(body), append(end);
  strip_.reset();
  strip_level_ = outer_level;
}

void Compiler::loop(const For& x) {
  if (constant_integer(x.extent).value_or(1) <= 0) return;
  if (!strip_ && (x.kind == LoopKind::vector || x.kind == LoopKind::parallel)) {
    // A strip may cover more than the vector loop: perfectly nested parallel loops around it and vector loops in it.
    std::vector<const For*> nest{&x};
    size_t first_vector = x.kind == LoopKind::vector ? 0 : SIZE_MAX;
    while (const For* inner = as<For>(nest.back()->body)) {
      bool vector = inner->kind == LoopKind::vector;
      if (!vector && (first_vector != SIZE_MAX || inner->kind != LoopKind::parallel)) break;
      nest.push_back(inner);
      if (vector && first_vector == SIZE_MAX) first_vector = nest.size() - 1;
    }
    if (first_vector != SIZE_MAX) {
      int64_t lanes = 1;
      size_t first = nest.size();
      while (first > 0) {
        auto extent = constant_integer(nest[first - 1]->extent);
        bool fits = extent && *extent > 0 && (lanes * *extent <= strip_lanes || lanes < 32);
        if (first != nest.size() && !fits) break;
        --first;
        if (!extent || *extent <= 0) break;
        lanes *= *extent;
      }
      first = std::min(first, first_vector);
      bool all_constant = true;
      for (size_t k = first; k < nest.size(); ++k) all_constant &= constant_integer(nest[k]->extent).value_or(0) > 0;
      if (!all_constant && first == first_vector) nest.resize(first + 1), all_constant = true;
      if (first == 0 && all_constant) return strip(nest);
    }
  }
  clear_memo();
  Value extent = materialize(affine(x.extent));
  if (extent.vector)
    divergent_loop(x, extent);
  else
    serial_loop(x, extent);
}

void Compiler::branch(const Value& condition, const Stmt& body) {
  if (!body) return;
  std::optional<Value> outer = mask_;
  Value test = condition;
  if (condition.vector || mask_) mask_ = test = conjunction(outer, condition);
  mark_used(test);
  open_scope();
  statement(body);
  std::vector<Instruction> code = close_scope();
  mask_ = outer;
  Instruction skip;
  skip.execute = skip_instruction();
  skip.a = test.reg, skip.a_scalar = !test.vector, skip.step = static_cast<int64_t>(code.size());
  append(skip), splice(code);
}

void Compiler::statement(const Stmt& s) {
  if (!s) return;
  std::visit(overloaded{
                 [&](const For& x) { loop(x); },
                 [&](const Sequence& x) {
                   for (const Stmt& b : x.body) statement(b);
                 },
                 [&](const Store& x) { store(x); },
                 [&](const Let& x) {
                   if (x.var->type == dtype::i64) {
                     clear_memo();
                     Affine a = affine(x.value);
                     if (std::ranges::any_of(a.terms, [](const auto& t) { return t.first.epoch != 0; })) {
                       Value v = materialize(a);
                       a = {};
                       add_term(a, v.epoch ? emit(copy_instruction(Kind::i64), Kind::i64, {v}) : v, 1);
                     }
                     indices_[x.var] = a;
                     if (auto r = range_of(x.value, ranges_)) ranges_[x.var] = *r;
                   } else {
                     Value v = root(x.value);
                     variables_[x.var] = v.epoch ? emit(copy_instruction(v.kind), v.kind, {v}) : v;
                   }
                   statement(x.body);
                 },
                 [&](const Allocate& x) { allocation(x); },
                 [&](const IfThen& x) {
                   Value c = root(x.condition);
                   // A branch may change a register of the condition.
                   if (c.epoch) c = emit(copy_instruction(c.kind), c.kind, {c});
                   branch(c, x.then_body);
                   if (x.else_body)
                     branch(emit(unary_instruction(UnaryOp::logical_not, Kind::boolean), Kind::boolean, {c}),
                            x.else_body);
                 },
                 [&](const Require& x) {
                   Value c = root(x.condition), mask = mask_ ? *mask_ : all_lanes();
                   mark_used(c), mark_used(mask);
                   Instruction i;
                   i.execute = require_instruction();
                   i.a = c.reg, i.b = mask.reg, i.a_scalar = !c.vector, i.b_scalar = !mask.vector;
                   i.vector = c.vector || mask.vector;
                   i.imm = static_cast<int64_t>(x.status);
                   append(i);
                   last_ = {};
                 },
                 [&](const Prefetch&) {},
                 [&](const IntrinsicCall& x) { statement(inline_intrinsic(x)); },
                 [&](const Outline& x) { statement(x.body); },
             },
             s->v);
}

Program Compiler::run() {
  std::set<Buffer> written;
  for_each_stmt(kernel_.body, [&](const Stmt& s) {
    if (const Store* x = as<Store>(s)) written.insert(x->buffer);
    if (const IntrinsicCall* x = as<IntrinsicCall>(s))
      for (const Region& r : x->operands) written.insert(r.buffer);
  });
  scopes_.emplace_back();
  index_constant(0);
  for (const Parameter& p : kernel_.params) {
    declare(p.buffer, p.access == Access::read && !written.count(p.buffer));
    program_.params.push_back(p.buffer);
  }
  statement(kernel_.body);
  program_.code = std::move(scopes_[0].code);
  program_.constants.resize(std::min<int64_t>(program_.constants.size(), program_.register_bytes));
  return std::move(program_);
}

Program compile(const Kernel& kernel, Precision precision) { return Compiler(kernel, precision).run(); }

}  // namespace dlcc::tensor::bytecode
