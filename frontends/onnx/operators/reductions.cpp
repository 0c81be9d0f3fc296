// Reductions over axes: ReduceSum, ReduceMean, ReduceL2, ..., ArgMax, ArgMin; CumSum, CumProd.
#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// The axes that a node reduces, and whether they remain with size 1.
struct Axes {
  ListArgument list;
  bool keep, noop;  // with `noop`, no given axes mean that none is reduced

  bool none() const { return !list.dynamic() && (!list.given || list.known->empty()); }
};

// A Relay reduction over the node's axes. Since operator set 20 extrema of bool are defined: `any` and `all`.
Value reduce(Node& n, std::string op, const Value& x, const Axes& axes) {
  if (axes.none() && axes.noop) return x;
  if (is_bool(x.type.dtype)) op = op == "max" ? "any" : op == "min" ? "all" : op;
  relay::Attrs attrs = {{"keepdims", axes.keep}};
  if (axes.list.dynamic()) return n.with_declared_sizes(n.call(op, {x, n.in(1)}, attrs));
  if (!axes.none()) attrs["axis"] = *axes.list.known;
  return n.call(op, {x}, attrs);
}

// ---- formulas -----------------------------------------------------------------------------------------------------

// A formula over the elements, of a type that has its arithmetic.
using Formula = Value (*)(Node&, const Value& x, const Axes&);

Value sum_of_magnitudes(Node& n, const Value& x, const Axes& axes) {
  return reduce(n, "sum", n.call("abs", {x}), axes);
}
Value sum_of_squares(Node& n, const Value& x, const Axes& axes) { return reduce(n, "sum", multiply(n, x, x), axes); }
Value root_of_squares(Node& n, const Value& x, const Axes& axes) {
  return n.call("sqrt", {sum_of_squares(n, x, axes)});
}
Value log_of_sum(Node& n, const Value& x, const Axes& axes) { return n.call("log", {reduce(n, "sum", x, axes)}); }

Value log_of_sum_of_powers(Node& n, const Value& x, const Axes& axes) { return reduce(n, "logsumexp", x, axes); }

// ---- converters ---------------------------------------------------------------------------------------------------

Axes axes_of(Node& n, bool by_input) {
  ListArgument list = by_input ? list_input(n, 1) : list_attribute(n, "axes");
  return {list, n.flag("keepdims", true), n.flag("noop_with_empty_axes", false)};
}

Converter reduction(const char* op, bool by_input) {
  return [=](Node& n) -> Values { return {reduce(n, op, n.in(0), axes_of(n, by_input))}; };
}

// 16-bit floats are computed in float32.
Converter formula(Formula f, bool by_input) {
  return [=](Node& n) -> Values {
    const Axes axes = axes_of(n, by_input);
    return {in_float32(n, n.in(0), [&](const Value& x) { return f(n, x, axes); })};
  };
}

// Integers are computed in float64; the result is truncated.
Converter real_formula(Formula f, bool by_input) {
  return [=](Node& n) -> Values {
    const DType type = n.in(0).type.dtype;
    const Axes axes = axes_of(n, by_input);
    if (is_integer(type)) return {n.cast(f(n, n.cast(n.in(0), dtype::f64), axes), type)};
    return {in_float32(n, n.in(0), [&](const Value& x) { return f(n, x, axes); })};
  };
}

Converter arg_reduction(const char* op) {
  return [op](Node& n) -> Values {
    relay::Attrs attrs = {
        {"axis", relay::AttrList{n.integer("axis", 0)}}, {"keepdims", n.flag("keepdims", true)}, {"dtype", "int64"}};
    if (n.flag("select_last_index", false)) attrs["select_last_index"] = true;
    return {n.call(op, {n.in(0)}, attrs)};
  };
}

Converter cumulative(const char* op) {
  return [op](Node& n) -> Values {
    return {n.call(op, {n.in(0), n.reshape(n.in(1), {})},
                   {{"exclusive", n.flag("exclusive", false)}, {"reverse", n.flag("reverse", false)}})};
  };
}

}  // namespace

void add_reductions(Table& table) {
  // The axes are an attribute, from operator set `by_input` on an input.
  auto add = [&table](const char* op, int64_t by_input, const auto& converter) {
    table.add({{op, 1, "data", 1, 1, 1, converter(false)}, {op, by_input, "data axes", 1, 2, 1, converter(true)}});
  };
  auto relay = [](const char* op) { return [op](bool by_input) { return reduction(op, by_input); }; };
  auto any = [](Formula f) { return [f](bool by_input) { return formula(f, by_input); }; };
  auto real = [](Formula f) { return [f](bool by_input) { return real_formula(f, by_input); }; };
  add("ReduceSum", 13, relay("sum"));
  add("ReduceMean", 18, relay("mean"));
  add("ReduceMax", 18, relay("max"));
  add("ReduceMin", 18, relay("min"));
  add("ReduceProd", 18, relay("prod"));
  add("ReduceL1", 18, any(sum_of_magnitudes));
  add("ReduceSumSquare", 18, any(sum_of_squares));
  add("ReduceL2", 18, real(root_of_squares));
  add("ReduceLogSum", 18, real(log_of_sum));
  add("ReduceLogSumExp", 18, real(log_of_sum_of_powers));
  table.add({
      {"ArgMax", 1, "data", 1, 1, 1, arg_reduction("argmax")},
      {"ArgMin", 1, "data", 1, 1, 1, arg_reduction("argmin")},
      {"CumSum", 11, "x axis", 2, 2, 1, cumulative("cumsum")},
      {"CumProd", 26, "x axis", 2, 2, 1, cumulative("cumprod")},
  });
}

}  // namespace dlcc::frontends::onnx
