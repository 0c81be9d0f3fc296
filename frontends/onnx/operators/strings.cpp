// Comparisons of strings that are known at compile time.
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

// The positions of the strings in a list, as a tensor of their shape: equal strings have equal positions.
Value positions(const Structure& strings, std::vector<std::string>& list) {
  std::vector<int64_t> found;
  for (const std::string& text : strings.texts) {
    size_t at = 0;
    while (at < list.size() && list[at] != text) ++at;
    if (at == list.size()) list.push_back(text);
    found.push_back(static_cast<int64_t>(at));
  }
  return Value::of(Constant::of(dtype::i64, strings.shape, found));
}

Values convert_equal(Node& n) {
  const Value &a = n.in(0), &b = n.in(1);
  if (!a.structure && !b.structure) return {n.call("equal", {a, b})};
  n.check(is_strings(a) && is_strings(b), DiagnosticId::type_mismatch,
          fmt::format("{} and {} cannot be compared", describe(a), describe(b)));
  if (n.failed()) return {};
  std::vector<std::string> list;
  return {n.call("equal", {positions(*a.structure, list), positions(*b.structure, list)})};
}

}  // namespace

void add_strings(Table& table) {
  table.add_with_structures({{"Equal", 7, "A B", 2, 2, 1, convert_equal}});
  table.only_if("Equal", "strings are constants");
}

}  // namespace dlcc::frontends::onnx
