// The type arguments of generic functions and data types, and the sizes of a callee's symbols: found from a use, and
// substituted.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "relay/ir.h"
#include "shape/match_sizes.h"

namespace dlcc::relay {

using TypeArguments = std::map<int, Type>;  // by the id of the type variable

// Adds the types that the variables of `generic` stand for in its instance `type`: with "?" for the sizes of tensors
// that differ where a variable occurs several times. A function tells only what nothing before it told: it may have its
// own names for sizes. Parts that do not fit each other are passed over.
void find_type_arguments(const Type& generic, const Type& type, TypeArguments& arguments);

// The types that the variables of a generic callee stand for at a call. Those that nothing tells are missing. Functions
// tell only what the other arguments and the result do not, and which sizes are other ones at each call.
TypeArguments type_arguments_at_call(const Module&, const FunctionType& callee, const std::vector<Atom>& args,
                                     const Type& result);

// The type with arguments in place of its variables. A variable without argument stays.
Type with_arguments(const Type&, const TypeArguments&);

// Adds a pair for each dimension of a parameter's type and the corresponding one of the argument's type. Parts that do
// not fit each other are passed over, and "?", which accepts any size.
void add_dim_pairs(const Type& param, const Type& argument, std::vector<DimPair>&);
void add_dim_pairs(const Shape& param, const Shape& argument, std::vector<DimPair>&);

// Of all parameters, without sizes of function values, which no call determines (function_sizes.h).
std::vector<DimPair> dim_pairs(const Module&, const Function& callee, const std::vector<Atom>& args);
void erase_sizes_of_values(const Function& callee, std::vector<DimPair>&);
std::set<std::string> sizes_of_function_values(const Function&);

// The values of the callee's symbols that the arguments determine; all symbols of the parameters are the callee's.
std::map<std::string, Dim> sizes_at_call(const std::vector<DimPair>&);

// The distances of the values of the callee's symbols from their lower bounds, those that are not proved to be at least
// 0. The simplifications of the callee's body rely on the bounds, so that the caller has to require them.
std::vector<Dim> distances_from_lower_bounds(const Module&, const GlobalRef& callee, const std::vector<Atom>& args);
std::vector<Dim> distances_from_lower_bounds(const Function& callee, const std::map<std::string, Dim>& values);

// The type with the given sizes in place of symbols.
Type substitute(const Type&, const std::map<std::string, Dim>& sizes);

// The type with "?" for sizes that are computed from any of those which the predicate names.
Type with_any_sizes(const Type&, const std::function<bool(const std::string&)>& is_any);

bool has_type_variables(const Type&);
bool has_holes(const Type&);

// The types of a constructor's fields in values of type `type`, an instance of `def`; empty when the type has no
// constructor of this name.
std::optional<std::vector<Type>> types_of_fields(const DataTypeDef& def, const std::string& constructor,
                                                 const DataType& type);

}  // namespace dlcc::relay
