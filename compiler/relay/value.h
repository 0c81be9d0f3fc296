// The values of interpreted programs (interpret.h), of every type of the language. A value is immutable but for the
// contents of references, shared, and null in no finished evaluation. Lists and other nested data may have any length:
// nothing here recurses over it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "relay/actual_sizes.h"
#include "relay/ir.h"

namespace dlcc::relay {

struct ValueNode;
using Value = std::shared_ptr<ValueNode>;

struct TupleValue {
  std::vector<Value> fields;
};
struct DataValue {  // a constructor applied to its fields; refers to the module's definition
  const ConstructorDef* constructor;
  std::vector<Value> fields;
};
// The values of the symbols of one function activation, and of its enclosing activations.
struct ActivationSizes {
  explicit ActivationSizes(std::shared_ptr<const ActivationSizes> outer)
      : outer(std::move(outer)), sizes(this->outer ? &this->outer->sizes : nullptr) {}
  std::shared_ptr<const ActivationSizes> outer;
  ActualSizes sizes;
};
struct ClosureValue {  // a function of the module, and the values of its captured variables
  const Function* function;
  std::vector<Value> captured;
  std::shared_ptr<const ActivationSizes> sizes;
};
struct ConstructorValue {  // a constructor as a function
  const ConstructorDef* constructor;
};
struct RefValue {
  Value contents;
};

struct ValueNode {
  std::variant<Constant, TupleValue, DataValue, ClosureValue, ConstructorValue, RefValue> v;

  template <class T>
  explicit ValueNode(T value) : v(std::move(value)) {}
  ~ValueNode();  // frees nested values without recursion
  ValueNode(const ValueNode&) = delete;
  ValueNode& operator=(const ValueNode&) = delete;
};

template <class T>
Value make_value(T value) {
  return std::make_shared<ValueNode>(std::move(value));
}
inline Value tensor_value(Constant c) { return make_value(std::move(c)); }

template <class T>
const T* as(const Value& value) {
  return std::get_if<T>(&value->v);
}

// The values that a value refers to. A null one is a function that captures itself.
std::span<const Value> parts_of(const ValueNode&);

// The value as Relay text where the text format has one: `Cons(1, Nil)`, `(2f, True)`, `ref(3)`. Other tensors are
// written as their type and elements, `Tensor[(2), float32]{1, 2}`, functions as `<function>`. A reference within its
// own contents is `ref(...)`. A text of more than `most` characters is cut and ends with "...": shared parts of data
// may make it exponentially longer than the data are large.
std::string str(const Value&, size_t most = SIZE_MAX);

}  // namespace dlcc::relay
