// The data types that take the place of types of functions in closure conversion: for each type of functions a data
// type with one constructor for each function that is a value, and a function that applies its values
// (convert_closures.cpp).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

class FunctionTypes {
 public:
  explicit FunctionTypes(Module&);

  // The type with data types in place of functions.
  Type convert(const Type&);

  // Whether the type has a reference to a tensor whose sizes data do not have: such a reference cannot be in data.
  bool has_sized_reference(const Type&) const;

  // A constructor for the values of a function whose captured variables have these types.
  std::string add_constructor(const Type&, const std::string& function, const std::vector<Var>& captured);

  // The function that applies values of this type.
  GlobalRef apply(const Type& type) { return {entry(type).apply}; }

  // Converts the types of the module, and adds the data types and the functions that apply them.
  void define();

 private:
  struct Entry {
    Type type;  // of the functions, without sizes
    std::string name, apply;
    std::vector<ConstructorDef> constructors;
    std::vector<std::string> functions;  // the global of each constructor
  };

  Entry& entry(const Type& function);
  Type without_sizes(const Type&) const;
  Function application(const Entry&);

  Module& module_;
  bool erases_numbers_;
  std::map<std::string, bool> constructors_;  // the names that are taken
  std::map<std::string, size_t> index_;       // by type as text
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace dlcc::relay
