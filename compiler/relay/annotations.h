// Which bindings of a printed program need their types written out, so that inference finds the same types again.
#pragma once

#include <map>
#include <string>

#include "relay/ir.h"

namespace dlcc::relay {

class Annotations {
 public:
  explicit Annotations(const Module*);  // null for a block without a module

  // Named sizes need an annotation to keep their names, and types that no use decides to be found at all.
  bool are_needed(const Binding&) const;

  // Whether branches meet in a size that only the type of the variable names.
  static bool defines_unknown_size(const Binding&);

 private:
  bool operands_tell_type(const Binding&) const;
  bool is_generic(const Atom&) const;
  bool params_tell_result(const Atom& callee) const;

  const Module* module_;
  std::map<std::string, bool> generic_constructors_;  // whether the fields tell the type
};

}  // namespace dlcc::relay
