// Optionals: whether one is present is known at compile time.
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/schema.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

Values convert_optional(Node& n) {
  n.ignore("type");
  n.check(n.has(0) || n.has_attr("type"), DiagnosticId::bad_attribute,
          "an optional without an element needs attribute 'type'");
  return {n.has(0) ? optional_of({n.in(0)}) : optional_of({})};
}

Values convert_has_element(Node& n) {
  const bool present = n.has(0) && (!is_optional(n.in(0)) || !n.in(0).structure->elements.empty());
  return {Value::of(Constant::of<uint8_t>(dtype::boolean, {}, {present}))};
}

Values convert_get_element(Node& n) {
  if (!is_optional(n.in(0))) return {n.in(0)};  // since operator set 18
  const Values& element = n.in(0).structure->elements;
  if (!n.check(!element.empty(), DiagnosticId::undefined_value, "the optional is absent",
               "ask OptionalHasElement in the condition of an If, or compile the model with the optional present"))
    return {};
  return {element[0]};
}

}  // namespace

void add_optionals(Table& table) {
  table.add_with_structures({
      {"Optional", 15, "input", 0, 1, 1, convert_optional},
      {"OptionalHasElement", 15, "input", 1, 1, 1, convert_has_element},
      {"OptionalHasElement", 18, "input", 0, 1, 1, convert_has_element},
      {"OptionalGetElement", 15, "input", 1, 1, 1, convert_get_element},
  });
  table.only_if("OptionalHasElement", "whether the optional is present is known at compile time");
}

}  // namespace dlcc::frontends::onnx
