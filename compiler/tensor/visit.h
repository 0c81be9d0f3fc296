// Traversal and rewriting of tensor IR, shared by all passes.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "tensor/ir.h"

namespace dlcc::tensor {

// Calls `visit` on the expression and all sub-expressions, children first, shared nodes once.
void for_each_expr(const Expr&, const std::function<void(const Expr&)>& visit);

// Calls `visit` on every top-level expression of a statement, its nested statements included (not on sub-expressions).
void for_each_root_expr(const Stmt&, const std::function<void(const Expr&)>& visit);

// The same for the values, requirements and body of a stage.
void for_each_root_expr(const Stage&, const std::function<void(const Expr&)>& visit);

// Calls `visit` on the statement and its nested statements, outermost first.
void for_each_stmt(const Stmt&, const std::function<void(const Stmt&)>& visit);

// The variables of an expression, each once, in order of first use.
std::vector<Var> variables_in(const Expr&);

// The free variables and buffers of a statement: those that it uses and does not itself bind or allocate, in order of
// first use.
struct Free {
  std::vector<Var> variables;
  std::vector<Buffer> buffers;
};
Free free_in(const Stmt&);

// The variables in the indices of register buffers. Such indices are constant in generated code, so that the loops over
// these variables are unrolled.
std::set<Var> register_index_variables(const Stmt&);

bool can_fail(const Stmt&);  // contains a Require; a null statement does not
bool can_fail(const Kernel&);

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

// The expression with each operand replaced by f(operand); the same node if no operand changes.
Expr map_operands(const Expr&, const std::function<Expr(const Expr&)>& f);

// Rewrites an expression bottom-up. `rewrite` gets a node whose operands have been rewritten and returns the node's
// replacement, or the node itself. A shared node is rewritten once. An unchanged expression stays the same node.
Expr rewrite(const Expr&, const std::function<Expr(const Expr&)>& rewrite);

// Rewrites the expressions of a statement with `on_expr`, and its nested statements, bottom-up, with `on_stmt`. Either
// function may be empty.
Stmt rewrite(const Stmt&, const std::function<Expr(const Expr&)>& on_expr,
             const std::function<Stmt(const Stmt&)>& on_stmt = {});

// The statement with each directly nested statement replaced by f(statement), which may be null. The same node if none
// changes; null if nothing is left. For passes that decide on a statement before those within it.
Stmt map_nested(const Stmt&, const std::function<Stmt(const Stmt&)>& f);

// Replaces the buffer and the indices of each access: a load, a store, a prefetch or an operand of an intrinsic call.
using MapAccess = std::function<void(Buffer&, std::vector<Expr>& indices)>;
Expr rewrite_accesses(const Expr&, const MapAccess&);
Stmt rewrite_accesses(const Stmt&, const MapAccess&);

// Replaces variables by expressions. Loops and lets bind unique variables, so that no variable is captured.
using Substitution = std::map<Var, Expr>;
Expr substitute(const Expr&, const Substitution&);
Stmt substitute(const Stmt&, const Substitution&);

// Rewrites all expressions of a stage: its values and requirements, and those of its body.
void rewrite_stage(Stage&, const std::function<Expr(const Expr&)>& rewrite);

// A copy of the statement in which every loop, let and allocation binds a fresh variable or buffer. A schedule that
// uses a statement twice needs it, as no variable is bound twice.
Stmt with_unique_names(const Stmt&);

// Whether the variable occurs in the expression.
bool uses(const Expr&, const Var&);

// Whether the variable occurs in an index of the load.
bool uses(const Load&, const Var&);

// Whether the expression is a reference to the variable.
bool is_var(const Expr&, const Var&);

// All loads of the expression, in order of first appearance.
std::vector<Load> loads_of(const Expr&);

}  // namespace dlcc::tensor
