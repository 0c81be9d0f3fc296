// The constructors of a module by name, for traversals that look up many.
#pragma once

#include <unordered_map>

#include "relay/ir.h"

namespace dlcc::relay {

// Refers to the module, whose data types must stay as they are.
class Constructors {
 public:
  explicit Constructors(const Module& module) {
    for (const auto& [name, def] : module.data_types)
      for (const ConstructorDef& c : def.constructors) by_name_.emplace(c.name, Entry{&def, &c});
  }

  struct Entry {
    const DataTypeDef* type;
    const ConstructorDef* definition;
  };
  const Entry* find(const std::string& name) const {
    auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<std::string, Entry> by_name_;
};

// The generic function type of a constructor.
inline Type type_of(const Constructors::Entry& constructor) {
  std::vector<Type> args;
  for (const TypeVariable& v : constructor.type->params) args.push_back(variable_type(v));
  return function_type(constructor.definition->fields, data_type(constructor.type->name, args),
                       constructor.type->params);
}

}  // namespace dlcc::relay
