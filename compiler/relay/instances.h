// Polymorphism of functions whose types are not written out. Such a function is inferred again at each of its uses, as
// a copy with its own holes: the use of a function that `let` or `def` binds means the same as the function itself
// (Damas and Milner, "Principal Type-Schemes for Functional Programs", POPL 1982: a let-bound variable has every type
// that its value has). So the type relations of its operators are solved for the types of each use, and shapes and
// element types are as polymorphic as types. In the end, equal instances are one function, which stands where the
// function stood. Internal to Inference.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

struct Template;

struct Instance {
  Template* of;
  Atom name;                       // GlobalRef or Var
  Function* function;              // in the module, or `local`
  Boxed<Function> local;           // an instance that a variable names, before replace()
  int use_scope, scope;            // of the use, and of the instance's body
  SourceLocation use;              // where it is used
  Type result_of_value = nullptr;  // the hole for its result's type in a call that has the instance as an argument
  bool is_settled = false, is_inferred = false;
  Instance* same_as = nullptr;  // an earlier instance that is used in place of this one
};

// A function that is inferred at each use.
struct Template {
  Atom name;
  Function text;                 // before inference
  int64_t operations;            // in the text, at least 1
  int scope;                     // of the body that was inferred first, with no use in mind
  bool declared;                 // has variables of shapes or element types
  std::set<int> type_variables;  // of the functions around the definition
  Function* function;            // as it was inferred first; null if it was not
  bool is_replaced = false;      // by its instances
  std::vector<std::unique_ptr<Instance>> instances = {};
  std::map<std::string, std::vector<Instance*>> inferred = {};  // instances by the texts of their parameters' types
};

// Relations belong to the scope in which they arise: the body of one function or instance. Those of a body that does
// not remain in the module need no solution.
class Scopes {
 public:
  int open(int parent) {
    parents_.push_back({parent});
    dropped_.push_back(false);
    return static_cast<int>(parents_.size()) - 1;
  }
  // An instance that is used in a further scope remains if one of its uses does.
  void add_parent(int scope, int parent) { parents_[static_cast<size_t>(scope)].push_back(parent); }
  void drop(int scope) { dropped_[static_cast<size_t>(scope)] = true; }
  bool is_live(int scope) const { return reaches(scope, 0, dropped_); }
  // Whether the scopes are the same, or the other one is around the first.
  bool is_within(int scope, int other) const { return reaches(scope, other, std::vector<bool>(dropped_.size())); }

 private:
  bool reaches(int scope, int other, const std::vector<bool>& without) const;

  std::vector<std::vector<int>> parents_ = {{}};  // scope 0 is the module
  std::vector<bool> dropped_ = {false};           // by scope
};

bool names_same(const Atom&, const Atom&);  // whether both are the same variable or global function

// The variables of local functions and other syntactic values that have several uses, or one in another function than
// their binding, of functions that have none, and the variables of which those are made: only these can be needed at
// several types. Also those of values, not functions, that have other names or of which a field is taken.
std::set<int> repeatedly_used_values(const Function&);

std::set<int> called_variables(const Function&);  // those that calls in the function have as callees

// The instances by which functions that are inferred at each use are replaced.
struct InstanceReplacements {
  std::map<std::string, std::string> globals;       // names of instances to those that they have at the end
  std::map<int, Var> variables;                     // variables of instances to those that remain
  std::map<int, std::vector<Instance*>> functions;  // variables of local functions to their instances
  // Instances whose types have type variables that are not visible where the function is defined. Each is bound before
  // the operation that uses it.
  std::map<std::string, Instance*> globals_at_use;
  std::map<int, Instance*> variables_at_use;
};

void replace(Block&, InstanceReplacements&);

// Replaces names of global functions.
void rename_globals(Block&, const std::map<std::string, std::string>& names);

}  // namespace dlcc::relay
