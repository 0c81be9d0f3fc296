#include "tensor/passes/compose.h"

#include <algorithm>
#include <map>

#include "tensor/analysis.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

using BufferMap = std::map<Buffer, Buffer>;

void replace_loads(Stage& stage, const BufferMap& map) {
  rewrite_stage(stage, [&](const Expr& e) {
    const Load* l = as<Load>(e);
    auto it = l ? map.find(l->buffer) : map.end();
    return it == map.end() ? e : load(it->second, l->indices, l->otherwise);
  });
}

bool inside(const Load& l, Expr& condition) {
  condition = literal(dtype::boolean, int64_t{1});
  for (size_t k = 0; k < l.indices.size(); ++k)
    condition = logical_and(condition, logical_and(l.indices[k] >= Expr(0), l.indices[k] < Expr(l.buffer->shape[k])));
  return constant_integer(condition) == 1;
}

// Merges structurally equal sub-expressions into one node (hash-consing).
Expr merge_equal_nodes(const Expr& root) {
  std::map<size_t, std::vector<Expr>> merged;  // by a hash of the node's kind and its operands' addresses
  return rewrite(root, [&](const Expr& e) {
    size_t hash = e->v.index();
    for_each_operand(*e, [&](const Expr& o) { hash = hash * 31 + std::hash<const void*>()(o.get()); });
    std::vector<Expr>& nodes = merged[hash];
    auto it = std::ranges::find_if(nodes, [&](const Expr& n) { return structurally_equal(n, e); });
    return it == nodes.end() ? nodes.emplace_back(e) : *it;
  });
}

// Replaces loads of the producer's result by the producer's value at the load's index. Loads at equal indices share one
// copy of the value.
void inline_into(Stage& consumer, const Stage& producer) {
  const Buffer& buffer = producer.results[0];
  std::vector<std::pair<Load, Expr>> done;
  rewrite_stage(consumer, [&](const Expr& e) {
    const Load* l = as<Load>(e);
    if (!l || l->buffer != buffer) return e;
    auto same = [&](const std::pair<Load, Expr>& d) {
      return std::ranges::equal(d.first.indices, l->indices, structurally_equal) &&
             (d.first.otherwise ? l->otherwise && structurally_equal(d.first.otherwise, l->otherwise) : !l->otherwise);
    };
    if (auto it = std::ranges::find_if(done, same); it != done.end()) return it->second;
    Substitution at;
    for (size_t k = 0; k < l->indices.size(); ++k) at[producer.axes[k].var] = l->indices[k];
    Expr value = substitute(producer.values[0], at);
    if (l->otherwise) {
      // If the index is out of range, the producer's own loads may be out of range too: they get predicates.
      Expr condition;
      if (!inside(*l, condition)) {
        value = rewrite(value, [](const Expr& x) {
          const Load* inner = as<Load>(x);
          return inner && !inner->otherwise ? load(inner->buffer, inner->indices, literal(x.type(), int64_t{0})) : x;
        });
        value = select(condition, value, l->otherwise);
      }
    }
    done.emplace_back(*l, value);
    return value;
  });
  if (producer.requirements.empty()) return;
  Substitution own;  // only consumers that read the producer at their own index take over requirements
  for (size_t k = 0; k < producer.axes.size(); ++k) own[producer.axes[k].var] = consumer.axes[k].var;
  std::vector<Requirement> moved;
  for (const Requirement& r : producer.requirements) moved.push_back({substitute(r.condition, own), r.status});
  consumer.requirements.insert(consumer.requirements.begin(), moved.begin(), moved.end());
}

Dim points(const Stage& stage) {
  Dim n = 1;
  for (const Axis& a : stage.axes) n = n * a.extent;
  return n;
}

Dim evaluations(const Stage& stage) {
  Dim n = points(stage);
  if (stage.reduction)
    for (const Axis& a : stage.reduction->axes) n = n * a.extent;
  return n;
}

bool is_plain_load(const Expr& e) {
  if (const Cast* c = as<Cast>(e)) return is_plain_load(c->a);
  return as<Load>(e) != nullptr;
}

// Whether inlining `producer` keeps the consumer recognizable as a contraction: each factor of a sum of products must
// stay a load.
bool keeps_structure(const Stage& producer, const Stage& consumer) {
  if (!consumer.reduction || reducer_kind(*consumer.reduction) != ReducerKind::sum) return true;
  const Binary* product = as<Binary>(consumer.values[0]);
  if (!product || product->op != BinaryOp::mul) return true;
  if (!is_plain_load(producer.values[0])) return false;
  // A load inlined into a predicated load would become a select.
  for (const Load& l : loads_of(consumer.values[0]))
    if (l.buffer == producer.results[0] && l.otherwise) return false;
  return true;
}

bool has_equal_extents(const Stage& a, const Stage& b) {
  return std::ranges::equal(a.axes, b.axes, [](const Axis& x, const Axis& y) { return x.extent == y.extent; });
}

// The requirements of an inlined stage are checked at the points of the consumer, which must be those of the producer.
bool may_inline(const Stage& producer, const Stage& consumer, int readers) {
  if (consumer.body || !keeps_structure(producer, consumer)) return false;
  if (!producer.requirements.empty() && (consumer.reduction || !has_equal_extents(producer, consumer) ||
                                         !reads_at_own_index(consumer, producer.results[0].get()) || readers > 1))
    return false;
  bool repeats = readers > 1 || !provably_le(evaluations(consumer), points(producer));
  return !repeats || !is_expensive(producer.values[0]);
}

}  // namespace

TensorFunction compose(std::string name, std::vector<Buffer> params, std::vector<Part> parts,
                       const std::vector<Source>& results) {
  TensorFunction whole{std::move(name), std::move(params), {}, {}};
  auto buffer_of = [&](const Source& s) {
    return s.part < 0 ? whole.params[s.index] : parts[s.part].function.results[s.index];
  };
  for (Part& part : parts) {
    BufferMap map;
    for (size_t k = 0; k < part.operands.size(); ++k) map[part.function.params[k]] = buffer_of(part.operands[k]);
    for (Stage& stage : part.function.stages) {
      replace_loads(stage, map);
      whole.stages.push_back(std::move(stage));
    }
  }
  for (const Source& s : results) whole.results.push_back(buffer_of(s));
  verify_after("compose", whole);
  return whole;
}

TensorFunction copy_source(const TensorFunction& f) {
  DLCC_CHECK(is_cheap_source(f), "{} is not a cheap source", f.name);
  auto copy_of = [](const Buffer& b) { return make_buffer(b->name, b->type, b->shape); };
  TensorFunction copy = f;
  Substitution variables;
  Stage& stage = copy.stages[0];
  for (Axis& a : stage.axes) {
    const Var own = make_var(a.var->name, a.var->type);
    variables.emplace(a.var, Expr(own));
    a.var = own;
  }
  stage.values[0] = substitute(stage.values[0], variables);
  for (Buffer& p : copy.params) p = copy_of(p);
  copy.results[0] = stage.results[0] = copy_of(f.results[0]);
  return copy;
}

static void remove_dead_stages(TensorFunction& f) {
  std::vector<Buffer> live = f.results;
  for (size_t k = f.stages.size(); k-- > 0;) {
    const Stage& stage = f.stages[k];
    bool used = std::ranges::any_of(stage.results, [&](const Buffer& b) { return std::ranges::count(live, b) > 0; });
    if (!used && stage.requirements.empty() && !can_fail(stage.body)) {
      f.stages.erase(f.stages.begin() + static_cast<std::ptrdiff_t>(k));
      continue;
    }
    for_each_root_expr(stage, [&](const Expr& e) {
      for (const Load& l : loads_of(e)) live.push_back(l.buffer);
    });
  }
}

void inline_stages(TensorFunction& f) {
  remove_dead_stages(f);
  auto is_result = [&](const Stage& s) {
    return std::ranges::any_of(s.results, [&](const Buffer& b) { return std::ranges::count(f.results, b) > 0; });
  };
  auto is_written_once = [&](const Buffer& b) {
    return std::ranges::count_if(f.stages, [&](const Stage& s) { return std::ranges::count(s.results, b) > 0; }) == 1;
  };
  bool copied = false;  // a producer was inlined into several stages
  for (size_t k = 0; k < f.stages.size();) {
    Stage& producer = f.stages[k];
    bool simple = !producer.body && !producer.reduction && producer.results.size() == 1 && producer.origin.empty() &&
                  !is_result(producer) && is_written_once(producer.results[0]);
    std::vector<Stage*> readers;
    if (simple)
      for (size_t r = k + 1; r < f.stages.size(); ++r)
        if (reads(f.stages[r], producer.results[0])) readers.push_back(&f.stages[r]);
    int count = static_cast<int>(readers.size());
    bool all = simple && std::ranges::all_of(readers, [&](const Stage* s) { return may_inline(producer, *s, count); });
    if (!all || (readers.empty() && !producer.requirements.empty())) {
      ++k;
      continue;
    }
    for (Stage* reader : readers) {
      inline_into(*reader, producer);
      // Copies of one producer that are inlined into the same stage are merged. Otherwise every diamond in the data
      // flow would double the expression.
      if (copied)
        for (Expr& v : reader->values) v = merge_equal_nodes(v);
    }
    copied |= readers.size() > 1;
    f.stages.erase(f.stages.begin() + static_cast<std::ptrdiff_t>(k));
  }
  verify_after("inline_stages", f);
}

}  // namespace dlcc::tensor
