#include "relay/op_support/gradients.h"

namespace dlcc::relay {

Term sum_at_positions(const TensorType& type, const Term& positions, const Term& values, int64_t axis) {
  GradientCode& code = values.code();
  return code.call("scatter_elements", {code.full(type.shape, type.dtype, 0), positions, values},
                   {{"axis", axis}, {"reduction", "add"}});
}

void gradient_by_positions(CallGradient& g, std::initializer_list<size_t> data, const Attrs& changed) {
  GradientCode& code = g.code();
  std::vector<Term> args = g.all_operands();
  Dim count = 0;
  std::vector<Dim> first(args.size());
  for (const size_t k : data) {
    const Shape shape = args[k].shape();
    first[k] = count;
    const Dim size = product(shape);
    args[k] = code.call("iota", {}, {{"shape", sizes_attribute({size})}, {"dtype", "int64"}}).reshaped(shape);
    if (!(count == Dim(0))) args[k] = args[k] + code.size(dtype::i64, count);
    count = count + size;
  }
  Attrs attrs = g.attrs();
  for (const auto& [name, value] : changed) attrs[name] = value;
  const std::vector<Term> moved = code.call_all(g.op(), args, attrs);
  // One element more than there are, for the number -1.
  const Shape flat = {product(moved.at(0).shape())};
  const Term all = sum_at_positions({{count + Dim(1)}, g.gradient().dtype()}, moved[0].reshaped(flat),
                                    g.gradient().reshaped(flat), 0);
  for (const size_t k : data) {
    const Shape shape = g.operands().at(k).type.shape;
    if (g.wants(k)) g.add(k, all.sliced(0, first[k], product(shape)).reshaped(shape));
  }
}

Term to_own(const AxisOrder& order, const Term& term) { return term.transposed(order.axes()); }
Term from_own(const AxisOrder& order, const Term& term) { return term.transposed(order.inverse()); }

// ---- windows

namespace {

std::vector<int64_t> list_of(const std::vector<Window>& windows, int64_t Window::*member) {
  std::vector<int64_t> list;
  for (const Window& w : windows) list.push_back(w.*member);
  return list;
}

std::vector<int64_t> padding_of(const std::vector<Window>& windows) {
  std::vector<int64_t> padding = list_of(windows, &Window::before), after = list_of(windows, &Window::after);
  padding.insert(padding.end(), after.begin(), after.end());
  return padding;
}

}  // namespace

Term spread_windows(const Term& values, const Term& weight, const std::vector<Window>& windows, int64_t groups,
                    const Shape& data) {
  std::vector<int64_t> more;
  for (size_t k = 0; k < windows.size(); ++k) {
    const Window& w = windows[k];
    const Dim covered =
        (values.shape()[k + 2] - Dim(1)) * Dim(w.stride) + Dim(w.dilated_size()) - Dim(w.before) - Dim(w.after);
    const Dim rest = data[k + 2] - covered;
    if (!rest.is_constant())
      throw NoGradient{fmt::format("the windows of stride {} leave a part of an axis of {} elements that is not known",
                                   w.stride, data[k + 2].str()),
                       "give the size of the axis: --dim NAME=NUMBER"};
    more.push_back(rest.value());
  }
  return values.code().call(fmt::format("nn.conv{}d_transpose", windows.size()), {values, weight},
                            {{"strides", list_of(windows, &Window::stride)},
                             {"padding", padding_of(windows)},
                             {"dilation", list_of(windows, &Window::dilation)},
                             {"groups", groups},
                             {"output_padding", more}});
}

// With one or two spatial axes an operator computes it. With three it is a convolution of the data, whose batch takes
// the place of the channels, by the values, with stride and dilation exchanged: tap r of window i reads the element i *
// stride + r * dilation in both.
Term gradient_of_taps(const Term& values, const Term& data, const std::vector<Window>& windows, int64_t groups) {
  GradientCode& code = values.code();
  const Dim batch = data.shape()[0], in = floor_div(data.shape()[1], Dim(groups)), out = values.shape()[1],
            group = floor_div(out, Dim(groups));
  Shape taps = {out, in};
  for (const Window& w : windows) taps.emplace_back(w.size);
  if (windows.size() == 1) {  // as images of one row
    auto with_row = [](const Term& t) { return t.reshaped({t.shape()[0], t.shape()[1], 1, t.shape()[2]}); };
    const Window row{.size = 1, .stride = 1, .dilation = 1, .before = 0, .after = 0};
    return gradient_of_taps(with_row(values), with_row(data), {row, windows[0]}, groups).reshaped(taps);
  }
  if (windows.size() == 2)
    return code.call("nn.conv2d_backward_weight", {values, data},
                     {{"strides", list_of(windows, &Window::stride)},
                      {"padding", padding_of(windows)},
                      {"dilation", list_of(windows, &Window::dilation)},
                      {"groups", groups},
                      {"kernel_size", list_of(windows, &Window::size)}});
  auto exchanged = [&](const Term& t, const Dim& channels, bool channels_first) {
    Shape split = {batch, groups, channels}, merged;
    std::vector<int64_t> order = channels_first ? std::vector<int64_t>{2, 1, 0} : std::vector<int64_t>{1, 2, 0};
    if (channels_first)
      merged = {channels, Dim(groups) * batch};
    else
      merged = {Dim(groups) * channels, batch};
    for (size_t k = 2; k < t.shape().size(); ++k) {
      split.push_back(t.shape()[k]);
      merged.push_back(t.shape()[k]);
      order.push_back(static_cast<int64_t>(k) + 1);
    }
    return t.reshaped(split).transposed(order).reshaped(merged);
  };
  Term result = code.call("nn.conv3d", {exchanged(data, in, true), exchanged(values, group, false)},
                          {{"strides", list_of(windows, &Window::dilation)},
                           {"padding", padding_of(windows)},
                           {"dilation", list_of(windows, &Window::stride)},
                           {"groups", groups}});
  for (size_t k = 0; k < windows.size(); ++k) result = result.sliced(static_cast<int64_t>(k) + 2, 0, windows[k].size);
  return result.transposed({1, 0, 2, 3, 4});
}

}  // namespace dlcc::relay
