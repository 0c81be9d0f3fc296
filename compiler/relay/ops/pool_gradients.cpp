// nn.max_pool2d_grad, nn.avg_pool2d_grad: the gradient of the data of a pooling from that of its result.
#include "relay/op_support/composition.h"
#include "relay/op_support/gradients.h"
#include "relay/op_support/indices.h"
#include "relay/op_support/windows.h"

namespace dlcc::relay::ops {

namespace {

struct PoolGradientAttrs {
  std::vector<int64_t> pool_size, strides = {1, 1}, dilation = {1, 1}, padding = {0, 0};
  std::string layout = "NCHW", out_layout;
  bool ceil_mode = false, count_include_pad = false;
};

// The windows of the pooling, whose result must have the shape of the gradient.
std::vector<Window> checked_windows(const PoolGradientAttrs& a, const Composition& c) {
  const Value grad = c.operand(0), x = c.operand(1);
  c.require(first_of({check_type(x.type, "data", types::real), check_same_type(x.type, "data", grad.type, "grad"),
                      check_rank(x.type, "data", 4), check_rank(grad.type, "grad", 4),
                      check_layout("layout", a.layout, "NCHW"),
                      check_layout("out_layout", a.out_layout.empty() ? a.layout : a.out_layout, "NCHW")}));
  const std::vector<int64_t> size = a.pool_size.size() == 1 ? std::vector<int64_t>(2, a.pool_size[0]) : a.pool_size;
  if (size.size() != 2) c.fail(attribute_error("pool_size must have 2 numbers"));
  const auto windows = make_windows(size, a.strides, a.dilation, a.padding);
  if (auto* e = std::get_if<TypeError>(&windows)) c.fail(*e);
  for (int k = 0; k < 4; ++k) {
    Checked<Dim> expected = x.shape()[k];
    if (k >= 2) expected = window_count(x.shape()[k], std::get<0>(windows)[k - 2], a.ceil_mode, k - 2);
    if (auto* e = std::get_if<TypeError>(&expected)) c.fail(*e);
    c.require(check_equal(grad.shape()[k], fmt::format("axis {} of grad", k), std::get<Dim>(expected),
                          "that of the pooling's result"));
  }
  return std::get<0>(windows);
}

// The sum over the windows with an element of their share of the gradient. Tap r of a window reads the element.
using Share = std::function<Expr(const std::vector<Tensor>&, Index i, const std::vector<Expr>& window)>;
Value sum_of_shares(Composition& c, const std::vector<Window>& windows, const std::vector<Value>& args,
                    const Share& share) {
  const Value x = c.operand(1);
  const Shape counts = {c.operand(0).shape()[2], c.operand(0).shape()[3]};
  const DType type = tensor::compute_type(x.dtype());
  return c.sum(x.dtype(), x.shape(), {windows[0].size, windows[1].size}, args,
               [=](const std::vector<Tensor>& tensors, Index i, Index r) {
                 std::vector<Expr> window = {i[0], i[1]}, valid;
                 for (size_t k = 0; k < 2; ++k) {
                   const Expr start = i[k + 2] + Expr(windows[k].before) - r[k] * Expr(windows[k].dilation);
                   const Expr at = floor_div(start, Expr(windows[k].stride)), last = Expr(counts[k]) - Expr(1);
                   valid.push_back(equal(at * Expr(windows[k].stride), start));
                   valid.push_back(at >= Expr(0));
                   valid.push_back(at <= last);
                   window.push_back(max(min(at, last), Expr(0)));
                 }
                 return select(all_of(valid), share(tensors, i, window), number(type, 0));
               });
}

Value max_gradient(const PoolGradientAttrs& a, Composition& c) {
  const std::vector<Window> windows = checked_windows(a, c);
  const Value largest = c.call("nn.max_pool_indices", {c.operand(1)},
                               {{"pool_size", a.pool_size},
                                {"strides", a.strides},
                                {"dilation", a.dilation},
                                {"padding", a.padding},
                                {"ceil_mode", a.ceil_mode}});
  const Shape shape = c.operand(1).shape();
  return sum_of_shares(c, windows, {c.operand(0), largest},
                       [shape](const std::vector<Tensor>& args, Index i, const std::vector<Expr>& window) {
                         const Expr gradient = args[0](window);
                         const Expr is_largest = equal(args[1](window), flatten_index(shape, i));
                         return select(is_largest, gradient, number(gradient.type(), 0));
                       });
}

Value average_gradient(const PoolGradientAttrs& a, Composition& c) {
  const std::vector<Window> windows = checked_windows(a, c);
  const Shape shape = c.operand(1).shape();
  return sum_of_shares(
      c, windows, {c.operand(0)}, [=](const std::vector<Tensor>& args, Index, const std::vector<Expr>& window) {
        const Expr gradient = args[0](window);
        return gradient / cast(gradient.type(), counted_taps(windows, shape, a.count_include_pad, window));
      });
}

// ---- their own gradients: both are linear in `grad`, and neither changes with the data but where windows have others
// that are the largest

void gradient_of_max_gradient(CallGradient& g) {
  Attrs attrs = g.attrs();
  attrs.erase("layout");
  attrs.erase("out_layout");
  const Shape windows = g.operands()[0].type.shape;
  const Term largest = g.operand(1).map("nn.max_pool_indices", attrs).reshaped({product(windows)});
  const Term elements = g.gradient().reshaped({product(g.gradient().shape())});
  g.add(0, g.code().call("take", {elements, largest}, {{"axis", 0}}).reshaped(windows));
}

void gradient_of_average_gradient(CallGradient& g) { g.add(0, g.gradient().map("nn.avg_pool2d", g.attrs())); }

}  // namespace

void pool_gradients(OperatorTable& table) {
  using A = PoolGradientAttrs;
  std::vector<Field<A>> fields = {
      {"pool_size", &A::pool_size, "taps of a window, per spatial axis", true},
      {"strides", &A::strides, "step between windows"},
      {"dilation", &A::dilation, "step between the taps of a window"},
      {"padding", &A::padding, "around the data: one number, one per axis, or all before and then all after"},
      {"layout", &A::layout, "order of the data's axes"},
      {"out_layout", &A::out_layout, "order of the result's axes; the data's if empty"},
      {"ceil_mode", &A::ceil_mode, "also count windows that reach beyond the padding, if they begin before it"}};
  const std::vector<std::vector<int64_t>> shapes = {{1, 2, 3, 3}, {1, 2, 4, 4}};
  const Attrs sample = {{"pool_size", std::vector<int64_t>{2, 2}}};
  table.add(composed<A>({.name = "nn.max_pool2d_grad",
                         .summary = "the gradient of a window goes to its first largest element",
                         .attributes = fields,
                         .arguments = {"grad", "data"},
                         .gradient = [](const A&, CallGradient& g) { gradient_of_max_gradient(g); },
                         .sample_shapes = shapes,
                         .sample_attrs = sample},
                        max_gradient));
  fields.push_back({"count_include_pad", &A::count_include_pad, "divide by the number of taps in data and padding"});
  table.add(composed<A>({.name = "nn.avg_pool2d_grad",
                         .summary = "the gradient of a window is shared by its elements",
                         .attributes = fields,
                         .arguments = {"grad", "data"},
                         .gradient = [](const A&, CallGradient& g) { gradient_of_average_gradient(g); },
                         .sample_shapes = shapes,
                         .sample_attrs = sample},
                        average_gradient));
}

}  // namespace dlcc::relay::ops
