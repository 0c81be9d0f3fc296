// Visits the steps of a program in the order of its text: the test of a loop before its body, both arms of a branch.
#pragma once

#include <functional>

#include "lower/program.h"

namespace dlcc::lower {

void for_each_step(const Region&, const std::function<void(const Step&)>& visit);
void for_each_call(const Region&, const std::function<void(const Invoke&)>& visit);
void for_each_call(Region&, const std::function<void(Invoke&)>& visit);
void for_each_function_call(const Region&, const std::function<void(const Call&)>& visit);

// The program, then its functions in their order.
void for_each_function(const Program&, const std::function<void(const Function&)>& visit);
void for_each_function(Program&, const std::function<void(Function&)>& visit);

// Every occurrence of a value in a step.
void for_each_value(Region&, const std::function<void(ValueId&)>& visit);
void for_each_value(const Step&, const std::function<void(ValueId)>& visit);  // without the regions within

// The expressions over scalars in a step, without those in the regions of a branch or loop.
void for_each_scalar_expr(const Step&, const std::function<void(const tensor::Expr&)>& visit);

// The scalars that a step defines for the steps after it.
void for_each_definition(const Step&, const std::function<void(const tensor::Var&)>& visit);

// The definition of a scalar, if the expression is a scalar that a step of the region computes; else the expression
// itself.
tensor::Expr definition_in(const Region&, const tensor::Expr&);

// The `limit` for which the condition of the loop is, or implies, `scalar < limit`; empty if there is none.
std::optional<tensor::Expr> upper_limit(const Loop&, const tensor::Var& scalar);

// The expression, over these symbols alone, as a dim; empty if it depends on other scalars.
std::optional<Dim> as_dim(const tensor::Expr&, const std::vector<Symbol>&);

// Whether each iteration adds 1 to the carried scalar.
bool counts_by_one(const Loop&, const tensor::Var&);

// The number of iterations of a loop, if `counter` counts by 1 from a literal to a number or a size, and nothing else
// ends the loop.
std::optional<Dim> trip_count(const Loop&, const tensor::Var& counter, const std::vector<Symbol>&);

// The trip count by any counter of the loop, if it is a number.
std::optional<int64_t> constant_trip_count(const Loop&);

}  // namespace dlcc::lower
