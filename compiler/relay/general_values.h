// Values of data that `let` makes polymorphic: `let %none = Nil; ...` has a type for each use of %none. Which values
// these are, and what becomes of their copies after inference (infer_values.cpp). Internal to Inference.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// A value whose type has holes of its own. Each use gets a copy, whose holes the use fills.
struct GeneralValue {
  Var var;
  Binding text;                   // before inference
  int scope;                      // of the relations of the first inference, which had no use in mind
  std::set<int> type_variables;   // those of the functions around the value
  std::vector<Var> copies = {};   // one for each use, in the order of uses
  bool is_used_uncopied = false;  // because there are too many copies
};

// Whether the operation has no effect and only puts atoms together: an applied constructor, a tuple, another name. The
// values that `let` generalizes are those and functions (Wright, "Simple Imperative Polymorphism", 1995).
bool is_syntactic_value(const Operation&);

// Removes the unused bindings that may be removed, and then those that only these used.
void remove_unused(Block&, const std::function<bool(const Var&)>& may_remove);

// Replaces each copy of a value by an earlier copy that is visible, and has the same type and the same operation.
// `values` has the variable of the value for that of each copy; `resolve` gives the types that are known.
void merge_equal_copies(Block&, const std::map<int, int>& values, const std::function<Type(const Type&)>& resolve);

}  // namespace dlcc::relay
