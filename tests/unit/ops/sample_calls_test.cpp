// Sample applications of operators, which `dlcc ops --target` lowers.
#include "relay/sample_calls.h"

#include "operators.h"

namespace dlcc::relay {

TEST_CASE(
    "every operator with a definition has a sample, which its type relation accepts and whose definition is right") {
  for (const auto& [name, op] : operators().all()) {
    CAPTURE(name);
    auto samples = sample_calls(*op);
    CHECK(samples.empty() != op->has_definition());
    for (const auto& [type, call] : samples) {
      CHECK(std::holds_alternative<Type>(op->type(call.attrs, call.operands)));
      Diagnostics diagnostics;
      CHECK_MESSAGE(tensor::verify(op->compute(call.attrs, call.operands), diagnostics), diagnostics.str());
    }
  }
}

TEST_CASE("type relations accept or refuse operands of any ranks") {
  const std::vector<Shape> shapes = {{}, {1}, {5}, {0}, {2, 3}, {2, 5}, {1, 2, 4}, {1, 2, 4, 4}, {2, 1, 3, 4, 5}};
  for (const auto& [name, op] : operators().all()) {
    CAPTURE(name);
    const auto samples = sample_calls(*op);
    const Attrs attrs = samples.empty() ? op->sample_attrs : samples.begin()->second.attrs;
    std::vector<DType> types;
    if (!samples.empty())
      for (const Operand& o : samples.begin()->second.operands) types.push_back(o.dtype);
    types.resize(std::max(types.size(), op->variadic ? 2 : op->arguments.size()), dtype::f32);
    for (size_t candidate = 0; candidate < shapes.size() * shapes.size() * shapes.size(); ++candidate) {
      Operands operands;
      size_t rest = candidate;
      for (DType type : types) {
        operands.push_back({shapes[rest % shapes.size()], type});
        rest = rest / shapes.size() + (rest % 7);
      }
      TypeResult result = op->type(attrs, operands);
      if (const Type* type = std::get_if<Type>(&result); type && op->has_definition() && is_static(*type))
        CHECK_NOTHROW(op->compute(attrs, operands));
    }
  }
}

TEST_CASE("samples exist for exactly the element types that an operator accepts") {
  auto types = [](const char* name) {
    std::string text;
    for (const auto& [type, call] : sample_calls(*op(name)))
      text += (text.empty() ? "" : " ") + std::string(dlcc::name(type));
    return text;
  };
  CHECK(types("nn.softmax") == "float16 bfloat16 float32 float64");
  CHECK(types("logical_and") == "bool");
  CHECK(types("bitwise_and") == "int8 int16 int32 int64 uint8 uint16 uint32 uint64");
  CHECK(sample_calls(*op("cast")).size() == 23);
}

}  // namespace dlcc::relay
