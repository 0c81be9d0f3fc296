// A builder of statements, for the bodies of stages. For example, the positions of the positive elements of x:
//
//   Statements s;
//   Tensor count = s.local("count", dtype::i64);
//   s.store(count, {}, 0);
//   s.loop("i", n, [&](Expr i) {
//     s.if_then(x(i) > zero, [&] {
//       s.store(positions, {count()}, i);
//       s.store(count, {}, count() + 1);
//     });
//   });
//   d.body({positions}, s.finish());
//
// An expression with loads is evaluated at each statement that uses it, after all earlier stores; `let` evaluates it
// once. Names need not be unique.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/builder.h"

namespace dlcc::tensor {

class Statements {
 public:
  using Body = std::function<void()>;
  using LoopBody = std::function<void(Expr)>;

  // A small array on the stack of unspecified contents, visible in the rest of the block.
  Tensor local(std::string name, DType type, const std::vector<int64_t>& shape = {});

  // The value that the expression has here.
  Expr let(std::string name, Expr value);

  // The index must be in range; the value is cast to the tensor's type.
  void store(const Tensor&, const std::vector<Expr>& index, Expr value);

  void loop(std::string name, Expr extent, const LoopBody&, LoopKind = LoopKind::serial);
  // A nest of loops of one kind, one loop for each extent.
  void loops(const Shape& extents, const std::function<void(Index)>&, LoopKind = LoopKind::serial);
  void if_then(Expr condition, const Body& then_body, const Body& else_body = {});
  void require(Expr condition, Status);

  // All statements so far. No block may be open.
  Stmt finish();

 private:
  // A declaration whose scope is the rest of its block, and the statements before it.
  struct Declaration {
    std::vector<Stmt> before;
    Var var;       // of a `let`; null for an array
    Expr value;    // of the `let`
    Buffer local;  // the array; null for a `let`
  };
  struct Block {
    std::vector<Declaration> declarations;
    std::vector<Stmt> statements;
  };
  Stmt block(const Body&);
  static Stmt close(Block);

  std::vector<Block> open_ = {Block{}};
};

}  // namespace dlcc::tensor
