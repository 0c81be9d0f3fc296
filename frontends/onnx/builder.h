// Builds Relay blocks while a model is imported: every call is typed at once by the operator's relation, and evaluated
// at once by its definition when its operands are small constants, so that shapes which a model computes are known in
// time to choose attributes.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "relay/operator.h"

namespace dlcc::frontends::onnx {

// A tensor while importing. A poisoned one stands for a result of a node that was rejected; what depends on it is
// skipped without further messages.
struct Value {
  relay::Atom atom;
  relay::TensorType type;
  bool poisoned = false;

  static Value poison();
  static Value of(Constant);
  const Constant* constant() const { return std::get_if<Constant>(&atom); }
  int rank() const { return static_cast<int>(type.shape.size()); }
};
using Values = std::vector<Value>;

class BlockBuilder {
 public:
  explicit BlockBuilder(relay::Module& module) : module_(module) {}

  void open();
  // The block of all bindings since the matching open(). One result is its value, several are a tuple.
  relay::Block close(const Values& results, const SourceLocation&);
  void discard();  // closes without a result

  relay::Var parameter(const std::string& name, const relay::TensorType&);
  relay::Var bind(relay::Operation, relay::Type, const std::string& name, const SourceLocation&);
  // The first `count` fields of a tuple.
  Values fields(const relay::Var& tuple, size_t count, const std::string& name, const SourceLocation&);

  // Applies an operator to values that are not poisoned. For an operator whose result is a tuple: its first `results`
  // fields.
  std::variant<Values, relay::TypeError> call(const std::string& op, const Values& args, const relay::Attrs& attrs,
                                              size_t results, const SourceLocation&);

 private:
  relay::Module& module_;
  std::vector<relay::Block> open_;
};

// A name as a variable's hint: an identifier of Relay's text format.
std::string variable_name(const std::string& name);

}  // namespace dlcc::frontends::onnx
