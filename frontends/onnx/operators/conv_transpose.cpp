// ConvTranspose, as an ordinary convolution (Shi et al., "Real-Time Single Image and Video Super-Resolution Using an
// Efficient Sub-Pixel Convolutional Neural Network", CVPR 2016). Elements of the result whose positions are equal
// modulo the strides form a phase. Each phase is a convolution of stride 1 with every stride-th tap of the mirrored
// kernel. All phases are channels of one convolution, or of one for each phase if the phases have different numbers of
// taps; the channels are then interleaved.
#include <algorithm>

#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/operators/windows.h"

namespace dlcc::frontends::onnx {
namespace {

// One spatial axis: element y of the result sums data[q] * weight[t] over q * stride + t * dilation = y + before.
struct TransposedAxis {
  Dim in, out;
  int64_t taps, stride, dilation;
  int64_t before = 0;  // elements that the padding removes from the start of the full result

  int64_t taps_of(int64_t phase) const { return (taps - phase + stride - 1) / stride; }
  int64_t taps_per_phase() const { return taps_of(0); }  // of the phase that has most
  int64_t first() const { return before >= 0 ? before / stride : -((-before + stride - 1) / stride); }
  Dim windows() const { return floor_div(Dim(before) + out - Dim(1), stride) + Dim(1 - first()); }
};

struct Transposed {
  std::vector<TransposedAxis> axes;
  int64_t groups, phases = 1;
  Dim batch;
  int64_t inputs, outputs;  // channels
};

// Sets the padding with which the result has the size that output_shape or auto_pad specifies.
void pad_to_shape(Node& n, TransposedAxis& axis, const Dim& full, const std::string& auto_pad) {
  const Dim excess = full - axis.out;
  if (!n.check(excess.is_constant(), DiagnosticId::dynamic_shape,
               fmt::format("a size of {} elements needs a padding that is known at compile time", axis.out.str()),
               "give the sizes with --dim NAME=VALUE"))
    return;
  const int64_t total = std::max<int64_t>(excess.value(), 0);
  axis.before = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
}

std::optional<Transposed> read_transposed(Node& n) {
  const Value &data = n.in(0), &weight = n.in(1);
  if (!n.check(data.rank() >= 3 && data.rank() <= 5, DiagnosticId::shape_mismatch,
               fmt::format("X must have 1 to 3 spatial axes after batch and channels, found {} axes", data.rank())) ||
      !n.check(weight.rank() == data.rank() && is_static(weight.type.shape), DiagnosticId::shape_mismatch,
               "W must have as many axes as X, all of known size"))
    return std::nullopt;
  const size_t rank = static_cast<size_t>(data.rank()) - 2;
  const std::vector<int64_t> shape = static_shape(weight.type.shape), taps(shape.begin() + 2, shape.end());
  check_kernel_shape(n, weight, taps);
  const auto strides = n.integers("strides", rank, 1), dilations = n.integers("dilations", rank, 1),
             pads = n.integers("pads", 2 * rank, 0), extra = n.integers("output_padding", rank, 0);
  auto sizes = n.integers("output_shape");
  if (sizes && sizes->size() == rank + 2) sizes->erase(sizes->begin(), sizes->begin() + 2);
  const std::string auto_pad = n.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  n.check(same || auto_pad == "NOTSET" || auto_pad == "VALID" || auto_pad.empty(), DiagnosticId::bad_attribute,
          fmt::format("auto_pad is '{}'", auto_pad), "it is NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  n.check(!sizes || sizes->size() == rank, DiagnosticId::bad_attribute,
          fmt::format("attribute 'output_shape' must have {} numbers", rank));
  Transposed t{{}, n.integer("group", 1), 1, data.type.shape[0], shape[0], 0};
  n.check(t.groups >= 1 && t.inputs % std::max<int64_t>(t.groups, 1) == 0, DiagnosticId::bad_attribute,
          fmt::format("{} channels of W cannot be divided into {} groups", t.inputs, t.groups));
  Shape with_channels = data.type.shape;
  with_channels[1] = Dim(t.inputs);
  n.check(n.require_shape(0, with_channels), DiagnosticId::shape_mismatch,
          fmt::format("W is for {} channels, X has {}", t.inputs, data.type.shape[1].str()));
  for (size_t k = 0; k < rank; ++k) {
    n.check(taps[k] >= 1 && strides[k] >= 1 && dilations[k] >= 1, DiagnosticId::bad_attribute,
            "strides, dilations and the sizes of W must be at least 1");
    for (int64_t size : {taps[k], strides[k], dilations[k], pads[k], pads[k + rank], extra[k], t.phases})
      n.check(size > INT32_MIN && size <= INT32_MAX, DiagnosticId::too_large,
              "the result extends beyond the address space");
    if (n.failed()) return std::nullopt;
    TransposedAxis axis{data.type.shape[k + 2], 0, taps[k], strides[k], dilations[k]};
    const Dim full = Dim(axis.stride) * (axis.in - Dim(1)) + Dim((axis.taps - 1) * axis.dilation + 1 + extra[k]);
    if (sizes || same) {
      axis.out = sizes ? Dim((*sizes)[k]) : axis.in * Dim(axis.stride);
      pad_to_shape(n, axis, full, auto_pad);
    } else {
      const bool none = auto_pad == "VALID";
      axis.before = none ? 0 : pads[k];
      axis.out = full - Dim(none ? 0 : pads[k] + pads[k + rank]);
    }
    n.check(!provably_lt(axis.out, 1), DiagnosticId::shape_mismatch,
            fmt::format("spatial axis {} of the result would have {} elements", k, axis.out.str()));
    t.phases *= axis.stride;
    t.axes.push_back(axis);
  }
  t.outputs = shape[1] * t.groups;
  return n.failed() ? std::nullopt : std::optional(t);
}

// A list of pairs (before, after) for nn.pad.
Value padded(Node& n, const Value& x, const std::vector<std::pair<int64_t, int64_t>>& widths) {
  relay::AttrList list;
  bool any = false;
  for (const auto& [before, after] : widths) {
    list.push_back(relay::AttrList{before, after});
    any = any || before != 0 || after != 0;
  }
  return any ? n.call("nn.pad", {x, n.scalar(x.type.dtype, 0)}, {{"pad_width", list}}) : x;
}

// Zeros between the taps of axes with a dilation and a stride, which then have dilation 1.
Value without_dilation(Node& n, Value weight, Transposed& t) {
  for (size_t k = 0; k < t.axes.size(); ++k) {
    TransposedAxis& axis = t.axes[k];
    if (axis.dilation == 1 || axis.stride == 1) continue;
    Shape shape = weight.type.shape, split = shape;
    split.insert(split.begin() + static_cast<ptrdiff_t>(k) + 3, Dim(1));
    std::vector<std::pair<int64_t, int64_t>> widths(split.size(), {0, 0});
    widths[k + 3] = {0, axis.dilation - 1};
    shape[k + 2] = axis.taps * axis.dilation;
    weight = n.reshape(padded(n, n.reshape(weight, split), widths), shape);
    axis.taps = axis.taps * axis.dilation;  // the last zeros are taps, too
    axis.dilation = 1;
  }
  return weight;
}

// From [inputs, outputs / groups, taps...] to [outputs * phases, inputs / groups, taps per phase...], mirrored.
Value phase_weights(Node& n, Value weight, const Transposed& t) {
  const auto rank = static_cast<int64_t>(t.axes.size());
  std::vector<std::pair<int64_t, int64_t>> widths(2, {0, 0});
  Shape split = {t.groups, t.inputs / t.groups, t.outputs / t.groups};
  Shape result = {t.outputs * t.phases, t.inputs / t.groups};
  std::vector<int64_t> order = {0, 2};
  for (int64_t k = 0; k < rank; ++k) {
    const TransposedAxis& axis = t.axes[static_cast<size_t>(k)];
    widths.emplace_back(0, axis.taps_per_phase() * axis.stride - axis.taps);
    split.insert(split.end(), {axis.taps_per_phase(), axis.stride});
    result.emplace_back(axis.taps_per_phase());
    order.push_back(4 + 2 * k);
  }
  order.push_back(1);
  for (int64_t k = 0; k < rank; ++k) order.push_back(3 + 2 * k);
  weight = n.reshape(padded(n, weight, widths), split);
  for (int64_t k = 0; k < rank; ++k) {
    const int64_t taps = t.axes[static_cast<size_t>(k)].taps_per_phase();
    if (taps > 1)
      weight = n.call("strided_slice", {weight},
                      {{"begin", relay::AttrList{taps - 1}},
                       {"end", relay::AttrList{-taps - 1}},
                       {"strides", relay::AttrList{-1}},
                       {"axes", relay::AttrList{3 + 2 * k}}});
  }
  return n.reshape(n.call("transpose", {weight}, {{"axes", order}}), result);
}

// The weight of one phase: from [inputs, outputs / groups, taps...] to [outputs, inputs / groups, taps of the
// phase...], mirrored. `phase` has a number for each axis.
Value weight_of_phase(Node& n, Value weight, const Transposed& t, const std::vector<int64_t>& phase) {
  relay::AttrList begin, end, strides;
  std::vector<int64_t> axes, order = {0, 2, 1};
  Shape split = {t.groups, t.inputs / t.groups, t.outputs / t.groups}, result = {t.outputs, t.inputs / t.groups};
  for (size_t k = 0; k < t.axes.size(); ++k) {
    const TransposedAxis& axis = t.axes[k];
    const int64_t taps = axis.taps_of(phase[k]);
    begin.emplace_back(phase[k] + (taps - 1) * axis.stride);
    end.emplace_back(-axis.taps - 1);
    strides.emplace_back(-axis.stride);
    axes.push_back(static_cast<int64_t>(k) + 2);
    order.push_back(static_cast<int64_t>(k) + 3);
    split.emplace_back(taps);
    result.emplace_back(taps);
  }
  weight = n.call("strided_slice", {weight}, {{"begin", begin}, {"end", end}, {"strides", strides}, {"axes", axes}});
  return n.reshape(n.call("transpose", {n.reshape(weight, split)}, {{"axes", order}}), result);
}

// The convolution of X with the weight of one phase or of all, for all windows. Empty after an error.
std::optional<Value> convolved(Node& n, const Value& weight, const Transposed& t) {
  std::vector<std::pair<int64_t, int64_t>> crop(2, {0, 0});
  std::vector<int64_t> before, after, dilation, taps = static_shape(weight.type.shape);
  taps.erase(taps.begin(), taps.begin() + 2);
  for (size_t k = 0; k < t.axes.size(); ++k) {
    const TransposedAxis& axis = t.axes[k];
    const int64_t first = (taps[k] - 1) * axis.dilation - axis.first();
    const Dim last = axis.windows() - axis.in + Dim(axis.first());
    if (!n.check(
            last.is_constant(), DiagnosticId::dynamic_shape,
            "a transposed convolution of symbolic size needs a result whose size is a multiple of it, and a number",
            "give the sizes with --dim NAME=VALUE"))
      return std::nullopt;
    crop.emplace_back(std::min<int64_t>(first, 0), std::min<int64_t>(last.value(), 0));
    before.push_back(std::max<int64_t>(first, 0));
    after.push_back(std::max<int64_t>(last.value(), 0));
    dilation.push_back(axis.dilation);
  }
  before.insert(before.end(), after.begin(), after.end());
  return n.call(fmt::format("nn.conv{}d", t.axes.size()), {padded(n, n.in(0), crop), weight},
                {{"padding", before},
                 {"dilation", dilation},
                 {"groups", t.groups},
                 {"channels", weight.type.shape[0].value()},
                 {"kernel_size", taps}});
}

// The phases of [batch, outputs * phases, windows...], interleaved, without the elements that the padding removes.
// `phases_first`: the channels are those of the first phase, then of the second, ..; else the phases of each output are
// next to each other.
Value interleave(Node& n, Value phases, const Transposed& t, bool phases_first) {
  const auto rank = static_cast<int64_t>(t.axes.size());
  Shape split = {t.batch}, whole = {t.batch, t.outputs};
  std::vector<int64_t> order = {0, phases_first ? 1 + rank : 1}, axes;
  relay::AttrList begin;
  Shape end;
  bool crops = false;
  if (!phases_first) split.emplace_back(t.outputs);
  for (const TransposedAxis& axis : t.axes) split.emplace_back(axis.stride);
  if (phases_first) split.emplace_back(t.outputs);
  for (int64_t k = 0; k < rank; ++k) {
    const TransposedAxis& axis = t.axes[static_cast<size_t>(k)];
    const int64_t skipped = axis.before - axis.first() * axis.stride;
    split.push_back(axis.windows());
    whole.push_back(axis.windows() * Dim(axis.stride));
    order.insert(order.end(), {2 + rank + k, (phases_first ? 1 : 2) + k});
    axes.push_back(2 + k);
    begin.emplace_back(skipped);
    end.push_back(Dim(skipped) + axis.out);
    crops = crops || skipped != 0 || !(end.back() == whole.back());
  }
  if (t.phases > 1) phases = n.reshape(n.call("transpose", {n.reshape(phases, split)}, {{"axes", order}}), whole);
  if (!crops) return phases;
  return n.call("strided_slice", {phases}, {{"begin", begin}, {"end", relay::sizes_attribute(end)}, {"axes", axes}});
}

// The bias of each output channel for all its phases.
Value phase_bias(Node& n, const Value& bias, const Transposed& t) {
  if (t.phases == 1) return bias;
  Value column = n.reshape(bias, {t.outputs, 1});
  Value all = n.call("broadcast_to", {column}, {{"shape", relay::AttrList{t.outputs, t.phases}}});
  return n.reshape(all, {t.outputs * t.phases});
}

// Whether each phase is a convolution of its own: as channels of one convolution, the phases with fewer taps would be
// multiplied by many zeros. Small convolutions take less time than calls of several, and many calls would read the
// image again and again. The bounds are estimates.
bool prefers_separate_phases(const Transposed& t) {
  constexpr int64_t fewest_weights = 1024, most_phases = 16;  // of a tap; convolutions
  int64_t taps = 1, with_zeros = 1;
  for (const TransposedAxis& axis : t.axes) {
    if (axis.taps < axis.stride) return false;  // a phase has no tap
    taps *= axis.taps;
    with_zeros *= axis.taps_per_phase() * axis.stride;
  }
  return t.phases <= most_phases && 4 * with_zeros >= 5 * taps && t.inputs * (t.outputs / t.groups) >= fewest_weights;
}

// One convolution for each phase. Empty after an error.
std::optional<Value> separate_phases(Node& n, const Value& weight, const Transposed& t) {
  std::vector<Value> all;
  std::vector<int64_t> phase(t.axes.size(), 0);
  for (int64_t number = 0; number < t.phases; ++number) {
    for (int64_t k = static_cast<int64_t>(phase.size()) - 1, rest = number; k >= 0; --k) {
      const int64_t stride = t.axes[static_cast<size_t>(k)].stride;
      phase[static_cast<size_t>(k)] = rest % stride;
      rest /= stride;
    }
    auto result = convolved(n, weight_of_phase(n, weight, t, phase), t);
    if (!result) return std::nullopt;
    all.push_back(n.has(2) ? n.call("nn.bias_add", {*result, n.in(2)}, {{"axis", 1}}) : *result);
  }
  return n.call("concatenate", all, {{"axis", 1}});
}

Values convert_conv_transpose(Node& n) {
  auto t = read_transposed(n);
  if (!t) return {};
  const Value weight = without_dilation(n, n.in(1), *t);
  const bool is_separate = prefers_separate_phases(*t);
  auto result = is_separate ? separate_phases(n, weight, *t) : convolved(n, phase_weights(n, weight, *t), *t);
  if (!result) return {};
  if (n.has(2) && !is_separate) result = n.call("nn.bias_add", {*result, phase_bias(n, n.in(2), *t)}, {{"axis", 1}});
  return {interleave(n, *result, *t, is_separate)};
}

}  // namespace

void add_conv_transpose(Table& table) {
  table.add({{"ConvTranspose", 1, "X W B", 2, 3, 1, convert_conv_transpose}});
  table.only_if("ConvTranspose",
                "there are one to three spatial axes, the padding is known at compile time, and the size of a result "
                "of symbolic size is a multiple of the stride");
}

}  // namespace dlcc::frontends::onnx
