// Reductions over axes: ReduceSum, ReduceMean, ReduceMax, ReduceMin, ArgMax, ArgMin.
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// Since operator set 20 extrema of bool are defined: `any` and `all`.
std::string reduction_of(const Node& n, const std::string& op) {
  if (!is_bool(n.in(0).type.dtype)) return op;
  return op == "max" ? "any" : op == "min" ? "all" : op;
}

Values reduce(Node& n, const std::string& op, const ListArgument& axes) {
  const Value& x = n.in(0);
  bool keep = n.flag("keepdims", true), noop = n.flag("noop_with_empty_axes", false);
  if (axes.dynamic()) return {n.call(reduction_of(n, op), {x, n.in(1)}, {{"keepdims", keep}})};
  bool none = !axes.given || axes.known->empty();
  if (none && noop) return {x};
  relay::Attrs attrs = {{"keepdims", keep}};
  if (!none) attrs["axis"] = *axes.known;
  return {n.call(reduction_of(n, op), {x}, attrs)};
}

Converter reduction_by_attribute(const char* op) {
  return [op](Node& n) { return reduce(n, op, list_attribute(n, "axes")); };
}
Converter reduction(const char* op) {
  return [op](Node& n) { return reduce(n, op, list_input(n, 1)); };
}

Converter arg_reduction(const char* op) {
  return [op](Node& n) -> Values {
    relay::Attrs attrs = {
        {"axis", relay::AttrList{n.integer("axis", 0)}}, {"keepdims", n.flag("keepdims", true)}, {"dtype", "int64"}};
    if (n.flag("select_last_index", false)) attrs["select_last_index"] = true;
    return {n.call(op, {n.in(0)}, attrs)};
  };
}

}  // namespace

void add_reductions(Table& table) {
  table.add({
      {"ReduceSum", 1, "data", 1, 1, 1, reduction_by_attribute("sum")},
      {"ReduceSum", 13, "data axes", 1, 2, 1, reduction("sum")},
      {"ReduceMean", 1, "data", 1, 1, 1, reduction_by_attribute("mean")},
      {"ReduceMean", 18, "data axes", 1, 2, 1, reduction("mean")},
      {"ReduceMax", 1, "data", 1, 1, 1, reduction_by_attribute("max")},
      {"ReduceMax", 18, "data axes", 1, 2, 1, reduction("max")},
      {"ReduceMin", 1, "data", 1, 1, 1, reduction_by_attribute("min")},
      {"ReduceMin", 18, "data axes", 1, 2, 1, reduction("min")},
      {"ArgMax", 1, "data", 1, 1, 1, arg_reduction("argmax")},
      {"ArgMin", 1, "data", 1, 1, 1, arg_reduction("argmin")},
  });
}

}  // namespace dlcc::frontends::onnx
