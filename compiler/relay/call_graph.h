// The call graph of a module's global functions.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// The names of global functions that the block refers to, nested blocks included. A name appears once per reference.
std::vector<std::string> globals_in(const Block&);

// The names of the functions that can be reached from `roots`, each after the functions that it calls, except in
// recursion. callees_of(name): the names of the callees; empty if there is no such function.
using CalleesOf = std::function<std::optional<std::vector<std::string>>(const std::string& name)>;
std::vector<std::string> callees_first(const std::vector<std::string>& roots, const CalleesOf& callees_of);

// The names of all functions of a module in this order.
std::vector<std::string> callees_first(const Module&);

// The names of the functions that @main reaches; of all functions in a module without @main, which is a library.
std::set<std::string> functions_in_use(const Module&);

}  // namespace dlcc::relay
