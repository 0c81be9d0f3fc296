// Values that are no numeric tensors: sequences, optionals and tensors of strings. The importer resolves them at
// compile time, so that Relay has only the tensors of which they consist.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/builder.h"
#include "frontends/onnx/schema_forward.h"

namespace dlcc::frontends::onnx {

struct Structure {
  enum class Kind { sequence, optional, strings };
  Kind kind = Kind::sequence;
  Values elements = {};                 // of a sequence; of an optional that is present: one
  std::vector<int64_t> shape = {};      // of a tensor of strings
  std::vector<std::string> texts = {};  // the elements of a tensor of strings
};

Value sequence_of(Values elements);
Value optional_of(Values element);  // one value; none: absent
Value strings_of(std::vector<int64_t> shape, std::vector<std::string> texts);

// The value of a tensor of strings; empty for other tensors.
std::optional<Value> strings_in(const schema::TensorProto&);

bool is_sequence(const Value&);
bool is_optional(const Value&);
bool is_strings(const Value&);

// "float32 [2, 3]", "a sequence of 3 tensors", "an absent optional", "a tensor of strings"
std::string describe(const Value&);

// The tensors that the values consist of, in order.
Values tensors_in(const Values&);

// Whether two values consist of the same structures; tensors may differ.
bool same_structure(const Value&, const Value&);

// The value with each tensor, in order, replaced by a result of `next`.
Value with_tensors(const Value&, const std::function<Value()>& next);

}  // namespace dlcc::frontends::onnx
