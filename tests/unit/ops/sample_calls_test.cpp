// Sample applications of operators, which `dlcc ops --target` lowers.
#include "relay/sample_calls.h"

#include "operators.h"

namespace dlcc::relay {

TEST_CASE("every operator has a sample, which its type relation accepts and whose definition is right") {
  for (const auto& [name, op] : operators().all()) {
    CAPTURE(name);
    auto samples = sample_calls(*op);
    CHECK(!samples.empty());
    for (const auto& [type, call] : samples) {
      CHECK(std::holds_alternative<Type>(op->type(call.attrs, call.operands)));
      Diagnostics diagnostics;
      CHECK_MESSAGE(tensor::verify(op->compute(call.attrs, call.operands), diagnostics), diagnostics.str());
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
  CHECK(types("exp") == "float16 bfloat16 float32 float64");
  CHECK(types("logical_and") == "bool");
  CHECK(types("bitwise_and") == "int8 int16 int32 int64 uint8 uint16 uint32 uint64");
  CHECK(sample_calls(*op("cast")).size() == 23);
}

}  // namespace dlcc::relay
