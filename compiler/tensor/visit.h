// Traversal and rewriting of tensor IR, shared by all passes.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Calls `visit` on the expression and all sub-expressions, children first, shared nodes once.
void for_each_expr(const Expr&, const std::function<void(const Expr&)>& visit);

// Calls `visit` on every top-level expression of a statement, its nested statements included (not on sub-expressions).
void for_each_root_expr(const Stmt&, const std::function<void(const Expr&)>& visit);

// Calls `visit` on the statement and its nested statements, outermost first.
void for_each_stmt(const Stmt&, const std::function<void(const Stmt&)>& visit);

// What a statement mentions and does not bind or allocate itself, in order of first appearance.
struct Free {
  std::vector<Var> variables;
  std::vector<Buffer> buffers;
};
Free free_in(const Stmt&);

// Calls `visit` on the direct sub-expressions of a node.
template <class Visit>
void for_each_operand(const ExprNode& node, Visit&& visit) {
  std::visit(overloaded{
                 [&](const Literal&) {},
                 [&](const VarRef&) {},
                 [&](const Unary& e) { visit(e.a); },
                 [&](const Binary& e) { visit(e.a), visit(e.b); },
                 [&](const Fma& e) { visit(e.a), visit(e.b), visit(e.c); },
                 [&](const Select& e) { visit(e.condition), visit(e.a), visit(e.b); },
                 [&](const Cast& e) { visit(e.a); },
                 [&](const Bitcast& e) { visit(e.a); },
                 [&](const Load& e) {
                   for (const Expr& i : e.indices) visit(i);
                   if (e.otherwise) visit(e.otherwise);
                 },
             },
             node.v);
}

// The expression with each operand replaced by what `f` gives for it; the same node when nothing changes.
Expr map_operands(const Expr&, const std::function<Expr(const Expr&)>& f);

// Rebuilds an expression bottom-up: `rewrite` sees a node whose children were rewritten and returns its replacement
// (the node itself to keep it). Shared nodes are rewritten once; an unchanged expression is returned as the same node.
Expr rewrite(const Expr&, const std::function<Expr(const Expr&)>& rewrite);

// The same on all expressions of a statement, then on the statements, bottom-up. Either function may be empty.
Stmt rewrite(const Stmt&, const std::function<Expr(const Expr&)>& on_expr,
             const std::function<Stmt(const Stmt&)>& on_stmt = {});

// Replaces variables. Loops and lets bind unique variables, so capture cannot occur.
using Substitution = std::map<Var, Expr>;
Expr substitute(const Expr&, const Substitution&);
Stmt substitute(const Stmt&, const Substitution&);

// Rewrites all expressions of a stage: its values and requirements.
void rewrite_stage(Stage&, const std::function<Expr(const Expr&)>& rewrite);

// The same statement with every loop, let and allocation binding a variable or buffer of its own, so that a piece of
// code may stand in several places.
Stmt with_unique_names(const Stmt&);

bool uses(const Expr&, const Var&);

// The expression is the variable itself.
bool is_var(const Expr&, const Var&);

// All loads of the expression, in order of first appearance.
std::vector<Load> loads_of(const Expr&);

}  // namespace dlcc::tensor
