// DFT and STFT, and the constants that go with them: windows and MelWeightMatrix. A short transform is the product with
// a constant matrix; a long one of length a * b is b transforms of length a, a multiplication with twiddle factors, and
// a transforms of length b (Cooley and Tukey, "An Algorithm for the Machine Calculation of Complex Fourier Series",
// 1965). Complex numbers are pairs along the last axis.
#include <cmath>

#include "frontends/onnx/operators/axes.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

constexpr int64_t longest_product = 64;   // longer transforms are factored if possible
constexpr int64_t longest_matrix = 2048;  // bounds the size of constants, for lengths with large prime factors

struct Transform {
  int64_t length;
  bool inverse = false;
};

Value constant_of(DType type, std::vector<int64_t> shape, const std::vector<double>& numbers) {
  if (type == dtype::f64) return Value::of(Constant::of(type, std::move(shape), numbers));
  return Value::of(Constant::of(type, std::move(shape), std::vector<float>(numbers.begin(), numbers.end())));
}

// exp(-2 pi i k / length), or its conjugate for the inverse; exact for multiples of a quarter turn.
std::pair<double, double> root_of_unity(const Transform& t, int64_t k) {
  const int64_t at = k % t.length;
  const double turn = 2 * std::acos(-1.0) * static_cast<double>(at) / static_cast<double>(t.length);
  double cosine = std::cos(turn), sine = std::sin(turn);
  if (4 * at % t.length == 0) {
    cosine = std::round(cosine);
    sine = std::round(sine);
  }
  return {cosine, t.inverse ? sine : -sine};
}

// [length * parts, columns * 2]: the transform of real (parts = 1) or complex (2) numbers.
Value matrix_of(DType type, const Transform& t, int64_t parts, int64_t columns) {
  std::vector<double> m;
  for (int64_t row = 0; row < t.length; ++row)
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t column = 0; column < columns; ++column) {
        const auto [c, s] = root_of_unity(t, row * column);
        m.push_back(part == 0 ? c : -s);
        m.push_back(part == 0 ? s : c);
      }
  return constant_of(type, {t.length * parts, columns * 2}, m);
}

// The divisor of the length that is nearest to its square root from below.
int64_t divisor_of(int64_t length) {
  for (int64_t d = static_cast<int64_t>(std::sqrt(static_cast<double>(length))); d > 1; --d)
    if (length % d == 0) return d;
  return 1;
}

Value transposed(Node& n, const Value& x, const std::vector<int64_t>& order) {
  return n.call("transpose", {x}, {{"axes", order}});
}

Value transformed(Node& n, const Value& x, const Transform& t, int64_t columns);

// x [rows, length, parts] as x [rows, a, b, parts]: position b * p + q and frequency a * r + k.
Value transformed_in_parts(Node& n, const Value& x, const Transform& t, int64_t a) {
  const int64_t b = t.length / a;
  const Dim rows = x.type.shape[0], parts = x.type.shape[2];
  Value columns = transposed(n, n.reshape(x, {rows, a, b, parts}), {0, 2, 1, 3});
  columns = transformed(n, n.reshape(columns, {rows * Dim(b), a, parts}), {a, t.inverse}, a);  // [rows * b, a, 2]
  std::vector<double> cosines, sines;  // of the twiddle factors, for real and imaginary parts
  for (int64_t q = 0; q < b; ++q)
    for (int64_t k = 0; k < a; ++k) {
      const auto [c, s] = root_of_unity(t, q * k);
      cosines.insert(cosines.end(), {c, c});
      sines.insert(sines.end(), {-s, s});
    }
  const DType type = x.type.dtype;
  Value turned = n.reshape(columns, {rows, b, a, 2});
  Value swapped = n.call("take", {turned, integers({1, 0})}, {{"axis", 3}});
  turned = n.call("add", {n.call("multiply", {turned, constant_of(type, {b, a, 2}, cosines)}),
                          n.call("multiply", {swapped, constant_of(type, {b, a, 2}, sines)})});
  Value second = n.reshape(transposed(n, turned, {0, 2, 1, 3}), {rows * Dim(a), b, 2});
  second = n.reshape(transformed(n, second, {b, t.inverse}, b), {rows, a, b, 2});
  return n.reshape(transposed(n, second, {0, 2, 1, 3}), {rows, t.length, 2});
}

// The first `columns` frequencies of [rows, length, parts], as [rows, columns, 2], not divided by the length.
Value transformed(Node& n, const Value& x, const Transform& t, int64_t columns) {
  if (x.poisoned) return x;
  const Dim rows = x.type.shape[0];
  constexpr int64_t longest = int64_t{1} << 24;  // constants have as many elements as the transform
  if (!n.check(t.length <= longest, DiagnosticId::too_large,
               fmt::format("a transform of length {} is too long: at most {}", t.length, longest)))
    return Value::poison();
  const int64_t parts = x.type.shape[2].value(), a = divisor_of(t.length);
  if (t.length > longest_product && a > 1) {
    Value all = transformed_in_parts(n, x, t, a);
    if (columns == t.length) return all;
    return n.call("strided_slice", {all},
                  {{"begin", relay::AttrList{0}}, {"end", relay::AttrList{columns}}, {"axes", relay::AttrList{1}}});
  }
  if (!n.check(t.length <= longest_matrix, DiagnosticId::unsupported_attribute,
               fmt::format("a transform of length {} is not supported: its largest prime factor exceeds {}", t.length,
                           longest_matrix),
               "choose a length with small prime factors"))
    return Value::poison();
  Value flat = n.reshape(x, {rows, t.length * parts});
  return n.reshape(n.call("nn.matmul", {flat, matrix_of(x.type.dtype, t, parts, columns)}), {rows, columns, 2});
}

// [rows, length, parts] with `length` elements along axis 1: cropped, or filled up with zeros.
Value with_length(Node& n, const Value& x, int64_t length) {
  const int64_t have = x.type.shape[1].value();
  if (have == length) return x;
  const relay::AttrList widths = {relay::AttrList{0, 0}, relay::AttrList{0, length - have}, relay::AttrList{0, 0}};
  return n.call("nn.pad", {x, n.scalar(x.type.dtype, 0)}, {{"pad_width", widths}});
}

// The whole spectrum of a real signal from its first half: element length - k is the conjugate of element k.
Value whole_spectrum(Node& n, const Value& half, int64_t length) {
  const int64_t kept = half.type.shape[1].value();
  std::vector<int64_t> mirrored;
  for (int64_t k = kept; k < length; ++k) mirrored.push_back(length - k);
  if (mirrored.empty()) return half;
  Value rest = n.call("take", {half, integers(mirrored)}, {{"axis", 1}});
  rest = n.call("multiply", {rest, constant_of(half.type.dtype, {2}, {1, -1})});
  return n.call("concatenate", {half, rest}, {{"axis", 1}});
}

// The transform of [rows, any length, parts].
Value transform_rows(Node& n, Value x, const Transform& t, bool onesided) {
  const double share = 1 / static_cast<double>(t.length);
  if (!t.inverse) {
    const int64_t columns = onesided ? t.length / 2 + 1 : t.length;
    return transformed(n, with_length(n, x, t.length), t, columns);
  }
  if (onesided) x = whole_spectrum(n, with_length(n, x, t.length / 2 + 1), t.length);
  Value y = transformed(n, onesided ? x : with_length(n, x, t.length), t, t.length);
  if (y.poisoned) return y;
  y = n.call("multiply", {y, n.scalar(y.type.dtype, share)});
  if (!onesided) return y;
  return n.call("strided_slice", {y},
                {{"begin", relay::AttrList{0}}, {"end", relay::AttrList{1}}, {"axes", relay::AttrList{2}}});
}

constexpr const char* fixed_input = "for an input of the model: --input NAME=value:1";

// The only element of an optional input, which must be known; `otherwise` if the node does not have it.
std::optional<int64_t> known_number(Node& n, int input, int64_t otherwise) {
  if (!n.has(input)) return otherwise;
  auto list = n.integers_in(input);
  if (n.failed()) return std::nullopt;
  if (!n.check(list && list->size() == 1, DiagnosticId::dynamic_shape,
               fmt::format("{} must be one number that is known at compile time", n.in(input).role), fixed_input))
    return std::nullopt;
  return list->front();
}

bool check_signal(Node& n, const Value& x) {
  const Dim parts = x.type.shape.back();
  return n.check(
      x.rank() >= 2 && (parts == Dim(1) || parts == Dim(2)), DiagnosticId::shape_mismatch,
      fmt::format("the last axis of {} must have size 1 (real) or 2 (complex), found {}", x.role, describe(x.type)));
}

bool check_length_is_known(Node& n, const Dim& length) {
  return n.check(length.is_constant(), DiagnosticId::dynamic_shape, "the length of the transformed axis must be known",
                 "give the size with --dim NAME=VALUE");
}

Values dft(Node& n, std::optional<int64_t> axis) {
  const Value& x = n.in(0);
  const bool inverse = n.flag("inverse", false), onesided = n.flag("onesided", false);
  if (axis) axis = n.axis_of(*axis, x.rank());
  if (!axis || !check_signal(n, x) || !check_length_is_known(n, x.type.shape[static_cast<size_t>(*axis)])) return {};
  n.check(*axis < x.rank() - 1, DiagnosticId::bad_attribute, "the last axis holds real and imaginary parts");
  const int64_t have = x.type.shape[static_cast<size_t>(*axis)].value();
  auto length = known_number(n, 1, inverse && onesided ? 2 * (have - 1) : have);
  if (n.failed() || !length) return {};
  if (!n.check(*length >= 1, DiagnosticId::bad_attribute, fmt::format("the length of the transform is {}", *length)))
    return {};
  const DType type = x.type.dtype, precise = type == dtype::f64 ? type : dtype::f32;
  Value moved = n.cast(with_axis_moved(n, x, *axis, x.rank() - 2), precise);
  if (moved.poisoned) return {};
  Shape shape = moved.type.shape;
  const Shape outer(shape.begin(), shape.end() - 2);
  Value rows = n.reshape(moved, {product(outer), have, shape.back()});
  if (inverse && shape.back() == Dim(1))
    rows =
        n.call("nn.pad", {rows, n.scalar(precise, 0)},
               {{"pad_width", relay::AttrList{relay::AttrList{0, 0}, relay::AttrList{0, 0}, relay::AttrList{0, 1}}}});
  Value result = transform_rows(n, rows, {*length, inverse}, onesided);
  if (result.poisoned) return {};
  shape[shape.size() - 2] = result.type.shape[1];
  shape.back() = result.type.shape[2];
  return {n.cast(with_axis_moved(n, n.reshape(result, shape), x.rank() - 2, *axis), type)};
}

Values convert_dft_by_attribute(Node& n) { return dft(n, n.integer("axis", 1)); }

// Along an axis that is known at run time only: all axes are transformed, and one of the results is taken.
Values dft_of_any_axis(Node& n) {
  const Value& x = n.in(0);
  n.check(!n.flag("onesided", false) && !n.has(1), DiagnosticId::dynamic_shape,
          "axis must be known at compile time if the transform changes the size of that axis", fixed_input);
  const Value axis = n.reshape(n.cast(n.in(2), dtype::i64), {});
  Value result;
  for (int64_t k = 0; k + 1 < x.rank() && !n.failed(); ++k) {
    Values own = dft(n, k);
    if (own.empty()) return {};
    Value named =
        n.call("logical_or", {n.call("equal", {axis, n.scalar(dtype::i64, static_cast<double>(k))}),
                              n.call("equal", {axis, n.scalar(dtype::i64, static_cast<double>(k - x.rank()))})});
    result = k == 0 ? own[0] : n.call("where", {named, own[0], result});
  }
  return {result};
}

Values convert_dft(Node& n) {
  if (n.has(2) && !n.in(2).constant()) return dft_of_any_axis(n);
  return dft(n, known_number(n, 2, -2));
}

// ---- STFT ---------------------------------------------------------------------------------------------------------

Values convert_stft(Node& n) {
  const Value& x = n.in(0);
  const bool onesided = n.flag("onesided", true);
  if (!n.check(x.rank() == 3, DiagnosticId::shape_mismatch, "signal must have the axes batch, length and 1 or 2") ||
      !check_signal(n, x))
    return {};
  const Dim available = x.type.shape[1];
  const Dim window = n.has(2) ? n.in(2).type.shape[0] : available;
  if (!n.has(3) && !check_length_is_known(n, window)) return {};
  auto step = known_number(n, 1, 1), length = known_number(n, 3, window.constant().value_or(1));
  if (!step || !length) return {};
  n.check(*step >= 1 && *length >= 1 && !provably_lt(available, *length), DiagnosticId::bad_attribute,
          fmt::format("frames of {} elements, {} apart, do not fit a signal of {}", *length, *step, available.str()));
  n.check(!n.has(2) || window == Dim(*length), DiagnosticId::shape_mismatch,
          "window must have as many elements as a frame");
  if (n.failed()) return {};
  const DType type = x.type.dtype, precise = type == dtype::f64 ? type : dtype::f32;
  const Dim parts = x.type.shape[2];
  Value frames = n.call("sliding_window", {n.cast(x, precise)},
                        {{"axis", 1},
                         {"window_shape", relay::AttrList{*length, parts.value()}},
                         {"strides", relay::AttrList{*step, parts.value()}}});
  if (frames.poisoned) return {};
  const Dim batch = frames.type.shape[0], count = frames.type.shape[1];
  frames = n.reshape(frames, {batch * count, *length, parts});
  if (n.has(2)) frames = n.call("multiply", {frames, n.reshape(n.cast(n.in(2), precise), {*length, 1})});
  Value rows = transform_rows(n, frames, {*length}, onesided);
  if (rows.poisoned) return {};
  return {n.cast(n.reshape(rows, {batch, count, rows.type.shape[1], 2}), type)};
}

// ---- constants ----------------------------------------------------------------------------------------------------

std::optional<DType> output_type(Node& n) { return n.element_type("output_datatype", n.integer("output_datatype", 1)); }

// constant - first * cos(t) + second * cos(2 t)
Converter cosine_window(double constant, double first, double second) {
  return [=](Node& n) -> Values {
    auto type = output_type(n);
    const bool periodic = n.flag("periodic", true);
    if (!type) return {};
    return {n.call("cosine_window", {n.reshape(n.in(0), {1})},
                   {{"constant", constant},
                    {"first", first},
                    {"second", second},
                    {"periodic", periodic},
                    {"dtype", dtype_attr(*type)}})};
  };
}

Values convert_mel_weight_matrix(Node& n) {
  auto type = output_type(n);
  if (!type) return {};
  Values args;
  for (int k = 2; k < 5; ++k) args.push_back(n.reshape(n.in(k), {}));
  for (int k = 0; k < 2; ++k) args.push_back(n.reshape(n.in(k), {1}));
  return {n.call("mel_weight_matrix", args, {{"dtype", dtype_attr(*type)}})};
}

}  // namespace

void add_dft(Table& table) {
  table.add({
      {"DFT", 17, "input dft_length", 1, 2, 1, convert_dft_by_attribute},
      {"DFT", 20, "input dft_length axis", 1, 3, 1, convert_dft},
      {"STFT", 17, "signal frame_step window frame_length", 2, 4, 1, convert_stft},
      {"HannWindow", 17, "size", 1, 1, 1, cosine_window(0.5, 0.5, 0)},
      {"HammingWindow", 17, "size", 1, 1, 1, cosine_window(25.0 / 46, 21.0 / 46, 0)},
      {"BlackmanWindow", 17, "size", 1, 1, 1, cosine_window(0.42, 0.5, 0.08)},
      {"MelWeightMatrix", 17, "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz", 5, 5, 1,
       convert_mel_weight_matrix},
  });
  table.only_if(
      "DFT", "the length of the axis is known at compile time, at most 2^24, and its prime factors are at most 2048");
  table.only_if("STFT", "frame_step and the length of a frame are known at compile time");
}

}  // namespace dlcc::frontends::onnx
