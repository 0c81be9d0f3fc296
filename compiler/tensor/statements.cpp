#include "tensor/statements.h"

#include <utility>

#include "tensor/text.h"

namespace dlcc::tensor {

Tensor Statements::local(std::string name, DType type, const std::vector<int64_t>& shape) {
  Buffer buffer = make_buffer(std::move(name), type, shape_of(shape), Scope::local);
  Block& here = open_.back();
  here.declarations.push_back({std::move(here.statements), nullptr, {}, buffer});
  here.statements.clear();
  return Tensor(buffer);
}

Expr Statements::let(std::string name, Expr value) {
  Var var = make_var(std::move(name), value.type());
  Block& here = open_.back();
  here.declarations.push_back({std::move(here.statements), var, std::move(value), nullptr});
  here.statements.clear();
  return var;
}

void Statements::store(const Tensor& target, const std::vector<Expr>& index, Expr value) {
  open_.back().statements.push_back(tensor::store(target.buffer(), index, cast(target.type(), std::move(value))));
}

void Statements::loop(std::string name, Expr extent, const LoopBody& body, LoopKind kind) {
  Var var = make_var(std::move(name));
  Stmt inner = block([&] { body(var); });
  if (inner) open_.back().statements.push_back(for_loop(var, std::move(extent), kind, inner));
}

void Statements::loops(const Shape& extents, const std::function<void(Index)>& body, LoopKind kind) {
  std::vector<Expr> index;
  std::function<void()> next = [&] {
    const size_t d = index.size();
    if (d == extents.size()) return body(index);
    loop(
        "i" + std::to_string(d), Expr(extents[d]),
        [&](const Expr& i) {
          index.push_back(i);
          next();
          index.pop_back();
        },
        kind);
  };
  next();
}

void Statements::if_then(Expr condition, const Body& then_body, const Body& else_body) {
  Stmt yes = block(then_body), no = else_body ? block(else_body) : nullptr;
  if (Stmt s = tensor::if_then(std::move(condition), yes, no)) open_.back().statements.push_back(s);
}

void Statements::require(Expr condition, Status status) {
  open_.back().statements.push_back(tensor::require(std::move(condition), status));
}

Stmt Statements::finish() {
  DLCC_CHECK(open_.size() == 1, "{} blocks are open", open_.size() - 1);
  return close(std::exchange(open_.back(), Block{}));
}

Stmt Statements::block(const Body& body) {
  open_.emplace_back();
  body();
  Block done = std::move(open_.back());
  open_.pop_back();
  return close(std::move(done));
}

Stmt Statements::close(Block b) {
  Stmt rest = sequence(std::move(b.statements));
  for (; !b.declarations.empty(); b.declarations.pop_back()) {
    Declaration& d = b.declarations.back();
    if (rest) rest = d.local ? allocate(d.local, rest) : tensor::let(d.var, d.value, rest);
    if (rest) d.before.push_back(rest);
    rest = sequence(std::move(d.before));
  }
  return rest;
}

}  // namespace dlcc::tensor
