#include "tensor/passes/strip_mine_vector_loops.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "tensor/byte_lookups.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The widest type of the values that the statement computes or stores, of 8 bits at least. Arithmetic of indices does
// not count: most of it is scalar.
int widest_value_bits(const Stmt& body, bool has_byte_lookups) {
  int widest = 8;
  auto add = [&](const Expr& value) {
    std::set<const ExprNode*> unused;
    if (has_byte_lookups) unused = conversions_to_lookup_indices(value);
    for_each_expr(value, [&](const Expr& e) {
      if ((as<Load>(e) || as<Cast>(e) || is_float(e.type())) && !unused.contains(e.get()))
        widest = std::max(widest, bits(e.type()));
    });
  };
  for_each_stmt(body, [&](const Stmt& s) {
    if (const Store* x = as<Store>(s)) widest = std::max(widest, bits(x->buffer->type)), add(x->value);
    if (const Let* x = as<Let>(s)) add(x->value);
    if (const IfThen* x = as<IfThen>(s)) add(x->condition);
    if (const Require* x = as<Require>(s)) add(x->condition);
  });
  return widest;
}

bool allocates(const Stmt& body) {
  bool result = false;
  for_each_stmt(body, [&](const Stmt& s) { result |= as<Allocate>(s) != nullptr; });
  return result;
}

Stmt note(StatementOrigins* origins, Stmt made, const Stmt& original) {
  if (origins && made && made != original) origins->emplace(made.get(), original);
  return made;
}

// Copies a vector loop for some of its iterations: one, or a vector of them.
class Strip {
 public:
  // `index` is the value of the loop's variable. `lanes` is the extent of a vector loop over `lane`.
  Strip(const Stmt& loop, const Expr& index, int64_t lanes, Var lane, StatementOrigins* origins)
      : loop_(loop),
        var_(as<For>(loop)->var),
        index_(index),
        lanes_(lanes),
        lane_(std::move(lane)),
        origins_(origins) {}

  Stmt run() {
    Stmt body = copy(as<For>(loop_)->body);
    if (lanes_ == 1) return body;
    Stmt result = note(make_stmt(For{lane_, Expr(lanes_), LoopKind::vector, body}), loop_);
    for (; !privatized_.empty(); privatized_.pop_back())
      result = note(allocate(privatized_.back().second, result), privatized_.back().first);
    return result;
  }

 private:
  Stmt copy(const Stmt& s) {
    if (!s) return s;
    if (const Allocate* x = as<Allocate>(s)) return allocation(s, *x);
    if (const For* x = as<For>(s)) return note(make_stmt(For{x->var, expr(x->extent), x->kind, copy(x->body)}), s);
    if (const Let* x = as<Let>(s)) return note(let(x->var, expr(x->value), copy(x->body)), s);
    if (const IfThen* x = as<IfThen>(s))
      return note(if_then(expr(x->condition), copy(x->then_body), copy(x->else_body)), s);
    if (as<Sequence>(s)) return map_nested(s, [&](const Stmt& part) { return copy(part); });
    const auto on_expr = [&](const Expr& e) { return replaced(e); };
    return note(rewrite(s, on_expr, [&](const Stmt& x) { return replaced(x); }), s);
  }

  Stmt allocation(const Stmt& s, const Allocate& x) {
    BufferNode own = *x.buffer;
    if (lanes_ > 1) {
      own.shape.push_back(lanes_);
      for (int64_t& stride : own.strides) stride *= lanes_;
      if (!own.strides.empty()) own.strides.push_back(1);
    }
    Buffer buffer = private_[x.buffer] = std::make_shared<const BufferNode>(std::move(own));
    if (lanes_ == 1) return note(allocate(buffer, copy(x.body)), s);
    privatized_.emplace_back(s, buffer);
    return copy(x.body);
  }

  Stmt note(Stmt made, const Stmt& original) const { return tensor::note(origins_, std::move(made), original); }

  Expr expr(const Expr& e) {
    return rewrite(e, [&](const Expr& x) { return replaced(x); });
  }
  Expr replaced(const Expr& e) {
    if (is_var(e, var_)) return index_;
    const Load* x = as<Load>(e);
    const auto known = x ? private_.find(x->buffer) : private_.end();
    return known == private_.end() ? e : load(known->second, in_lane(x->indices), x->otherwise);
  }
  Stmt replaced(const Stmt& s) {
    const Store* x = as<Store>(s);
    const auto known = x ? private_.find(x->buffer) : private_.end();
    return known == private_.end() ? s : store(known->second, in_lane(x->indices), x->value);
  }
  std::vector<Expr> in_lane(std::vector<Expr> indices) const {
    if (lanes_ > 1) indices.emplace_back(lane_);
    return indices;
  }

  const Stmt loop_;
  const Var var_;
  const Expr index_;
  const int64_t lanes_;
  const Var lane_;
  StatementOrigins* const origins_;
  std::map<Buffer, Buffer> private_;                 // the strip's own buffers, by those of the loop
  std::vector<std::pair<Stmt, Buffer>> privatized_;  // those with a dimension for lanes, and their allocations
};

class StripMiner {
 public:
  StripMiner(const Stmt& body, const Machine& machine, bool has_byte_lookups, StatementOrigins* origins)
      : machine_(machine),
        has_byte_lookups_(has_byte_lookups),
        origins_(origins),
        register_indices_(register_index_variables(body)) {}

  Stmt run(const Stmt& s) {
    if (const For* x = as<For>(s); x && x->kind == LoopKind::vector) return vector_loop(s, *x);
    return map_nested(s, [&](const Stmt& nested) { return run(nested); });
  }

 private:
  Stmt vector_loop(const Stmt& s, const For& x) {
    const auto extent = constant_integer(x.extent);
    const bool in_registers = register_indices_.contains(x.var);
    const int64_t most = machine_.lanes(widest_value_bits(x.body, has_byte_lookups_));
    const auto lanes = extent && *extent > 0 ? power_of_two(std::min(*extent, most)) : 1;
    if (lanes == 1)
      return make_stmt(For{x.var, x.extent, in_registers ? LoopKind::unrolled : LoopKind::serial, x.body});
    if (lanes == extent && !allocates(x.body)) return s;
    int64_t done = *extent / lanes * lanes;
    std::vector<Stmt> all = {full_vectors(s, done / lanes, lanes, in_registers)};
    while (done < *extent) {
      const int64_t rest = power_of_two(*extent - done);
      all.push_back(strip(s, Expr(done), rest));
      done += rest;
    }
    return sequence(std::move(all));
  }

  Stmt full_vectors(const Stmt& s, int64_t count, int64_t lanes, bool in_registers) {
    if (count == 1) return strip(s, Expr(0), lanes);
    const std::string& name = as<For>(s)->var->name;
    const Var vector = make_var(name), begin = make_var(name);
    const Expr first = Expr(lanes) * Expr(vector);
    const Stmt body = in_registers ? strip(s, first, lanes) : let(begin, first, strip(s, Expr(begin), lanes));
    const LoopKind kind = in_registers ? LoopKind::unrolled : LoopKind::serial;
    return note(origins_, make_stmt(For{vector, Expr(count), kind, body}), s);
  }

  Stmt strip(const Stmt& s, const Expr& begin, int64_t lanes) {
    const Var lane = make_var("lane");
    return Strip(s, lanes == 1 ? begin : begin + Expr(lane), lanes, lane, origins_).run();
  }

  static int64_t power_of_two(int64_t most) {
    return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  }

  const Machine& machine_;
  const bool has_byte_lookups_;
  StatementOrigins* const origins_;
  const std::set<Var> register_indices_;
};

}  // namespace

Stmt strip_mine_vector_loops(const Stmt& body, const Machine& machine, bool has_byte_lookups,
                             StatementOrigins* origins) {
  return body ? StripMiner(body, machine, has_byte_lookups, origins).run(body) : body;
}

}  // namespace dlcc::tensor
