// Types as arguments of generic functions and data types: which ones a use has, and what is left when they are put in.
#pragma once

#include <map>
#include <optional>

#include "relay/ir.h"

namespace dlcc::relay {

using TypeArguments = std::map<int, Type>;  // by the id of the type variable

// Adds the types that the variables of `generic` stand for in its instance `type`. The first occurrence of a variable
// decides. Parts that do not fit each other are passed over.
void find_type_arguments(const Type& generic, const Type& type, TypeArguments& arguments);

// The type with arguments in place of its variables. A variable without argument stays.
Type with_arguments(const Type&, const TypeArguments&);

// Adds the sizes of a parameter's symbols: those of the argument where a symbol for which `quantified` holds first
// appears alone. Other occurrences are not compared. A "?" accepts any size.
void find_sizes(const Type& param, const Type& argument, const std::function<bool(const std::string&)>& quantified,
                std::map<std::string, Dim>& sizes);

// The type with the given sizes in place of symbols.
Type substitute(const Type&, const std::map<std::string, Dim>& sizes);

bool has_type_variables(const Type&);

// The types of a constructor's fields in values of type `type`, an instance of `def`; empty when the type has no
// constructor of this name.
std::optional<std::vector<Type>> types_of_fields(const DataTypeDef& def, const std::string& constructor,
                                                 const DataType& type);

}  // namespace dlcc::relay
