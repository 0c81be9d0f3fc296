#include "tensor/passes/fuse_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

struct Accesses {
  std::map<Buffer, std::vector<std::vector<Expr>>> indices;  // of each access of a buffer
  std::set<Buffer> written;
};

// The accesses of the buffers that the statement does not allocate itself.
Accesses accesses_in(const Stmt& s) {
  const Free free = free_in(s);
  const std::set<Buffer> outer(free.buffers.begin(), free.buffers.end());
  Accesses found;
  rewrite_accesses(s, [&](Buffer& b, std::vector<Expr>& indices) {
    if (outer.contains(b)) found.indices[b].push_back(indices);
  });
  for_each_stmt(s, [&](const Stmt& x) {
    if (const Store* store = as<Store>(x)) found.written.insert(store->buffer);
    if (const IntrinsicCall* call = as<IntrinsicCall>(x))
      for (const Region& r : call->operands) found.written.insert(r.buffer);
  });
  return found;
}

// The first dimension whose index is the variable in every access; empty if there is none.
std::optional<size_t> row_dimension(const std::vector<std::vector<Expr>>& accesses, const Var& v) {
  for (size_t d = 0; d < accesses.front().size(); ++d)
    if (std::ranges::all_of(accesses, [&](const std::vector<Expr>& indices) { return is_var(indices[d], v); }))
      return d;
  return std::nullopt;
}

// Whether iterations of the two loop bodies depend on each other only where they are the same iteration, and some do.
bool share_rows(const Stmt& a, const Stmt& b, const Var& v) {
  Accesses first = accesses_in(a);
  const Accesses second = accesses_in(b);
  bool any = false;
  for (const auto& [buffer, indices] : second.indices) {
    auto other = first.indices.find(buffer);
    const bool is_written = first.written.contains(buffer) || second.written.contains(buffer);
    if (other == first.indices.end() || !is_written) continue;
    std::vector<std::vector<Expr>> all = other->second;
    all.insert(all.end(), indices.begin(), indices.end());
    if (!row_dimension(all, v)) return false;
    any = true;
  }
  return any;
}

std::vector<Stmt> statements_of(const Stmt& s) {
  const Sequence* list = as<Sequence>(s);
  return list ? list->body : std::vector{s};
}

bool accesses(const Stmt& s, const Buffer& b) {
  const Free free = free_in(s);
  return std::ranges::count(free.buffers, b) > 0;
}

bool is_operand_of_intrinsic(const Stmt& s, const Buffer& b) {
  bool found = false;
  for_each_stmt(s, [&](const Stmt& x) {
    if (const IntrinsicCall* call = as<IntrinsicCall>(x))
      found |= std::ranges::any_of(call->operands, [&](const Region& r) { return r.buffer == b; });
  });
  return found;
}

// The body with the buffer local to the outermost loop in which its row has at most `max_bytes`; null if there is no
// such loop. `fixed`: the dimensions whose indices are the variables of the loops around `body`.
Stmt contracted(const Stmt& body, const Buffer& b, int64_t max_bytes, std::set<size_t> fixed = {}) {
  std::vector<Stmt> list = statements_of(body);
  auto user = std::ranges::find_if(list, [&](const Stmt& s) { return accesses(s, b); });
  if (user == list.end() || std::any_of(user + 1, list.end(), [&](const Stmt& s) { return accesses(s, b); }))
    return nullptr;
  if (is_operand_of_intrinsic(*user, b)) return nullptr;
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

}  // namespace

Stmt fuse_rows(const Stmt& a, const Stmt& b) {
  const For *first = as<For>(a), *second = as<For>(b);
  const bool are_loops = first && second && first->kind == LoopKind::parallel && second->kind == LoopKind::parallel;
  if (!are_loops || !structurally_equal(first->extent, second->extent)) return nullptr;
  const Stmt after = substitute(second->body, {{second->var, Expr(first->var)}});
  if (!share_rows(first->body, after, first->var)) return nullptr;
  std::vector<Stmt> body = statements_of(first->body);
  if (Stmt both = fuse_rows(body.back(), after))
    body.back() = std::move(both);
  else
    body.push_back(after);
  return for_loop(first->var, first->extent, LoopKind::parallel, sequence(std::move(body)));
}

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

}  // namespace dlcc::tensor
