// Operators on bits: BitShift, BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot, BitCast.
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

Values convert_bit_shift(Node& n) {
  const std::string direction = n.text("direction", "");
  n.check(direction == "LEFT" || direction == "RIGHT", DiagnosticId::bad_attribute,
          fmt::format("attribute 'direction' is '{}'; it must be 'LEFT' or 'RIGHT'", direction));
  return {n.call(direction == "LEFT" ? "left_shift" : "right_shift", {n.in(0), n.in(1)})};
}

Values convert_bit_cast(Node& n) {
  const auto type = n.element_type("to", n.required_integer("to"));
  if (!type || *type == n.in(0).type.dtype) return {n.in(0)};
  return {n.call("reinterpret", {n.in(0)}, {{"dtype", dtype_attr(*type)}})};
}

}  // namespace

void add_bits(Table& table) {
  table.add({
      {"BitCast", 26, "input", 1, 1, 1, convert_bit_cast, true},
      {"BitShift", 11, "X Y", 2, 2, 1, convert_bit_shift},
      {"BitwiseAnd", 18, "A B", 2, 2, 1, direct("bitwise_and")},
      {"BitwiseNot", 18, "X", 1, 1, 1, direct("bitwise_not"), true},
      {"BitwiseOr", 18, "A B", 2, 2, 1, direct("bitwise_or")},
      {"BitwiseXor", 18, "A B", 2, 2, 1, direct("bitwise_xor")},
  });
}

}  // namespace dlcc::frontends::onnx
