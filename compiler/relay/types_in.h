// The types that functions name: of parameters, results, variables, patterns and casts.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "relay/ir.h"

namespace dlcc::relay {

// Calls `visit` once for every type in the function or block, nested functions included. It may replace the type. A
// type that is not known yet is null.
void for_each_type(Function&, const std::function<void(Type&)>& visit);
void for_each_type(Block&, const std::function<void(Type&)>& visit);

// The limits for the types of a module, which grow with it: beyond those of an empty program, types may have a level
// and a part for each operation, and the levels and parts of the types in it.
TypeLimits limits_of_types(Module&);

// Calls `visit` for every dimension that is named in the block apart from types: in attributes, bounds of sizes
// and required sizes.
void for_each_dim(const Block&, const std::function<void(const Dim&)>& visit);

// The least k for which no type in the module has a symbol "?k" or one of a larger number.
int unused_symbol_number(Module&);

// Calls `visit` for every symbol that define_sizes defines in the block, nested functions included.
void for_each_defined_symbol(const Block&, const std::function<void(const Symbol&)>& visit);

// Adds the symbols of a type whose values have these sizes. A function does not have those in its type.
void add_symbols(const Type&, std::set<std::string>& names);

// Replaces symbols by sizes, in types, attributes, definitions and bounds of sizes, and required sizes. A symbol
// that define_sizes defines must become another symbol.
void substitute_sizes(Block&, const std::map<std::string, Dim>& sizes);

// A copy with fresh variables. `renamed` is that of clone() and gets the parameters, too.
Function copy_function(Module&, const Function&, std::map<int, Atom>& renamed);

// A copy whose functions share no variable with the module's: type inference writes the types of variables.
Module copy_with_own_variables(const Module&);

// Whether type inference finds no error in the module, which stays as it is.
bool can_infer_types(const Module&);

// Calls `visit` for every variable that a pattern binds, from left to right.
void for_each_variable(const Pattern&, const std::function<void(const Var&)>& visit);

}  // namespace dlcc::relay
