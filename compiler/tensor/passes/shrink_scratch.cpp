#include "tensor/passes/shrink_scratch.h"

#include <algorithm>
#include <set>

#include "tensor/passes/row_accesses.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

bool is_operand_of_intrinsic(const Stmt& s, const Buffer& b) {
  bool found = false;
  for_each_stmt(s, [&](const Stmt& x) {
    if (const IntrinsicCall* call = as<IntrinsicCall>(x))
      found |= std::ranges::any_of(call->operands, [&](const Region& r) { return r.buffer == b; });
  });
  return found;
}

// The only statement of the list that accesses the buffer; the end of the list if several do, or an intrinsic.
std::vector<Stmt>::iterator only_user(std::vector<Stmt>& list, const Buffer& b) {
  const auto user = std::ranges::find_if(list, [&](const Stmt& s) { return accesses(s, b); });
  const bool is_only = user != list.end() && !is_operand_of_intrinsic(*user, b) &&
                       std::none_of(user + 1, list.end(), [&](const Stmt& s) { return accesses(s, b); });
  return is_only ? user : list.end();
}

// The body with the buffer local to the outermost loop in which its row has at most `max_bytes`; null if there is no
// such loop. `fixed`: the dimensions whose indices are the variables of the loops around `body`.
Stmt contracted(const Stmt& body, const Buffer& b, int64_t max_bytes, std::set<size_t> fixed = {}) {
  std::vector<Stmt> list = statements_of(body);
  const auto user = only_user(list, b);
  if (user == list.end()) return nullptr;
  const For* loop = as<For>(*user);
  const auto d = loop && loop->kind == LoopKind::parallel
                     ? row_dimension(accesses_in(loop->body).indices.at(b), loop->var)
                     : std::nullopt;
  if (!d) return nullptr;
  fixed.insert(*d);
  Shape row = b->shape;
  for (size_t k : fixed) row[k] = 1;
  const auto elements = product(row).constant();
  if (!elements) return nullptr;
  if (*elements > max_bytes * 8 / bits(b->type)) {
    const Stmt inside = contracted(loop->body, b, max_bytes, fixed);
    if (!inside) return nullptr;
    *user = for_loop(loop->var, loop->extent, loop->kind, inside);
    return sequence(std::move(list));
  }
  const Buffer local = make_buffer(b->name, b->type, row, Scope::local, b->alignment);
  const Stmt inside = rewrite_accesses(loop->body, [&](Buffer& accessed, std::vector<Expr>& indices) {
    if (accessed != b) return;
    accessed = local;
    for (size_t k : fixed) indices[k] = Expr(0);
  });
  *user = for_loop(loop->var, loop->extent, loop->kind, allocate(local, inside));
  return sequence(std::move(list));
}

// The body in which the nested loops around all accesses of the buffer, each of whose iterations accesses one row of
// it, are serial. `fixed` gets the dimensions whose indices are the variables of these loops.
Stmt serial_rows(const Stmt& body, const Buffer& b, std::set<size_t>& fixed) {
  std::vector<Stmt> list = statements_of(body);
  const auto user = only_user(list, b);
  if (user == list.end()) return body;
  const For* loop = as<For>(*user);
  const bool in_turn = loop && (loop->kind == LoopKind::parallel || loop->kind == LoopKind::serial);
  const auto d = in_turn ? row_dimension(accesses_in(loop->body).indices.at(b), loop->var) : std::nullopt;
  if (!d || !fixed.insert(*d).second) return body;
  *user = for_loop(loop->var, loop->extent, LoopKind::serial, serial_rows(loop->body, b, fixed));
  return sequence(std::move(list));
}

// Whether the statement accesses the two buffers only where it stores an element of `to` that depends on the element of
// `from` at the same index. Schedules store an element once, unless they also load it: a sum in memory.
bool is_elementwise(const Stmt& s, const Buffer& from, const Buffer& to) {
  size_t stores = 0, loads = 0;
  for_each_stmt(s, [&](const Stmt& x) {
    const Store* store = as<Store>(x);
    if (!store || store->buffer != to) return;
    ++stores;
    for (const Load& l : loads_of(store->value))
      loads += l.buffer == from && std::ranges::equal(l.indices, store->indices, structurally_equal);
  });
  Accesses all = accesses_in(s);
  return all.indices[to].size() == stores && all.indices[from].size() == loads;
}

// Whether each element of `to` is stored after the last access of the element of `from` at the same index, or as a
// function of that element.
bool is_stored_after(const Stmt& s, const Buffer& from, const Buffer& to) {
  if (!accesses(s, from) || !accesses(s, to) || is_elementwise(s, from, to)) return true;
  if (const Sequence* list = as<Sequence>(s)) {
    // The statements from the first that accesses `to` to the last that accesses `from`.
    const auto first = std::ranges::find_if(list->body, [&](const Stmt& x) { return accesses(x, to); });
    auto last = list->body.end();
    while (last != first && !accesses(*(last - 1), from)) --last;
    if (last - first <= 1) return last == first || is_stored_after(*first, from, to);
    return std::all_of(first, last, [&](const Stmt& x) { return is_elementwise(x, from, to); });
  }
  if (const Allocate* local = as<Allocate>(s)) return is_stored_after(local->body, from, to);
  const For* loop = as<For>(s);
  if (!loop) return false;
  Accesses all = accesses_in(loop->body);
  std::vector<std::vector<Expr>>& indices = all.indices[from];
  indices.insert(indices.end(), all.indices[to].begin(), all.indices[to].end());
  return row_dimension(indices, loop->var) && is_stored_after(loop->body, from, to);
}

// Stores the buffer in the memory of the other one, if that is possible.
bool share(std::vector<Stmt>& bodies, const Buffer& from, const Buffer& to) {
  const bool can_share =
      from->type == to->type && from->shape == to->shape && std::ranges::all_of(bodies, [&](const Stmt& body) {
        return body && !is_operand_of_intrinsic(body, from) && !is_operand_of_intrinsic(body, to) &&
               is_stored_after(body, from, to);
      });
  if (!can_share) return false;
  for (Stmt& body : bodies)
    body = rewrite_accesses(body, [&](Buffer& accessed, std::vector<Expr>&) {
      if (accessed == from) accessed = to;
    });
  return true;
}

}  // namespace

void contract_scratch(std::vector<Stmt>& bodies, std::vector<Buffer>& scratch, int64_t max_bytes) {
  std::erase_if(scratch, [&](const Buffer& b) {
    std::vector<Stmt> changed;
    for (const Stmt& body : bodies) {
      Stmt one = body ? contracted(body, b, max_bytes) : nullptr;
      if (!one) return false;
      changed.push_back(std::move(one));
    }
    bodies = std::move(changed);
    return true;
  });
}

std::vector<Buffer> share_memory(std::vector<Stmt>& bodies, std::vector<Buffer>& scratch,
                                 const std::vector<Buffer>& results) {
  std::vector<Buffer> taken;
  std::erase_if(scratch, [&](const Buffer& b) {
    const auto result = std::ranges::find_if(results, [&](const Buffer& to) { return share(bodies, b, to); });
    if (result != results.end()) taken.push_back(*result);
    return result != results.end();
  });
  for (size_t k = 0; k < scratch.size(); ++k) {
    const Buffer b = scratch[k];
    const bool is_shared =
        std::ranges::any_of(scratch, [&](const Buffer& to) { return to != b && share(bodies, b, to); });
    if (is_shared) scratch.erase(scratch.begin() + static_cast<std::ptrdiff_t>(k--));
  }
  return taken;
}

void reuse_rows(std::vector<Stmt>& bodies, std::vector<Buffer>& scratch) {
  for (Buffer& b : scratch) {
    std::vector<Stmt> serial;
    std::vector<std::set<size_t>> rows;
    for (const Stmt& body : bodies) {
      std::set<size_t>& fixed = rows.emplace_back();
      serial.push_back(body ? serial_rows(body, b, fixed) : body);
    }
    if (rows.empty() || rows[0].empty() || std::ranges::count(rows, rows[0]) != std::ssize(rows)) continue;
    Shape shape = b->shape;
    for (size_t k : rows[0]) shape[k] = 1;
    const Buffer row = make_buffer(b->name, b->type, shape, b->scope, b->alignment);
    for (size_t k = 0; k < bodies.size(); ++k)
      bodies[k] = rewrite_accesses(serial[k], [&](Buffer& accessed, std::vector<Expr>& indices) {
        if (accessed != b) return;
        accessed = row;
        for (size_t d : rows[0]) indices[d] = Expr(0);
      });
    b = row;
  }
}

}  // namespace dlcc::tensor
