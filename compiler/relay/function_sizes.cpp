#include "relay/function_sizes.h"

#include <map>

namespace dlcc::relay {

namespace {

// Where the sizes of a signature occur.
class Occurrences {
 public:
  void add(const Type& type) { add(type, outside, false); }

  std::set<std::string> sizes_of_functions() const {
    std::set<std::string> names;
    for (const auto& [name, of] : functions_)
      if (of.size() == 1 && !of.contains(outside) && in_params_.contains(name)) names.insert(name);
    return names;
  }

 private:
  static constexpr int outside = 0;  // of function types; these have the numbers 1, 2, ...

  void add(const Type& type, int function, bool in_params) {
    if (!type) return;
    if (const TupleType* t = as<TupleType>(type)) {
      for (const Type& field : t->fields) add(field, function, in_params);
    } else if (const FunctionType* f = as<FunctionType>(type)) {
      const int number = function == outside ? ++count_ : function;
      for (const Type& param : f->params) add(param, number, true);
      add(f->result, number, in_params);
    } else {
      // A size in data is none of a function's: all functions in data have one type.
      const bool is_tensor = as<TensorType>(type) != nullptr;
      for_each_symbol(type, [&](const Symbol& s) {
        functions_[s.name].insert(is_tensor ? function : outside);
        if (in_params) in_params_.insert(s.name);
      });
    }
  }

  int count_ = 0;
  std::map<std::string, std::set<int>> functions_;  // in which a size occurs
  std::set<std::string> in_params_;
};

}  // namespace

std::set<std::string> sizes_of_function_values(const std::vector<Type>& signature) {
  Occurrences occurrences;
  for (const Type& type : signature) occurrences.add(type);
  std::set<std::string> names = occurrences.sizes_of_functions();
  names.erase("?");
  return names;
}

Type map_function_values(const Type& type, const std::function<Type(const Type&)>& map) {
  if (as<FunctionType>(type)) return map(type);
  const TupleType* tuple = as<TupleType>(type);
  if (!tuple) return type;
  std::vector<Type> fields;
  for (const Type& field : tuple->fields) fields.push_back(map_function_values(field, map));
  return fields == tuple->fields ? type : tuple_type(std::move(fields));
}

}  // namespace dlcc::relay
