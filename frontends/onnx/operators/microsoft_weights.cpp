// Quantized weights in the domain com.microsoft: MatMulNBits, MatMulBnb4, GatherBlockQuantized, DynamicQuantizeMatMul.
#include <algorithm>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/quantization.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// ---- MatMulNBits --------------------------------------------------------------------------------------------------

std::optional<DType> packed_type(int64_t bits) {
  if (bits == 2) return DType::uint2_;
  if (bits == 4) return dtype::u4;
  return bits == 8 ? std::optional(dtype::u8) : std::nullopt;
}

Value first_columns(Node& n, const Value& x, int64_t columns) {
  if (x.poisoned || x.type.shape[1] == Dim(columns)) return x;
  return n.call("strided_slice", {x},
                {{"begin", relay::AttrList{0}}, {"end", relay::AttrList{columns}}, {"axes", relay::AttrList{1}}});
}

// The numbers that are packed in the bytes of a constant, the first in the lowest bits: `columns` of them in each of
// `rows` rows, of which each begins with a byte.
Value unpacked(Node& n, const Value& packed, DType type, int64_t rows, int64_t columns) {
  const Constant* bytes = packed.constant();
  if (!n.check(bytes, DiagnosticId::unsupported_attribute, fmt::format("{} must be a constant", packed.role)))
    return Value::poison();
  const int64_t per_byte = 8 / bits(type), row_bytes = (columns + per_byte - 1) / per_byte;
  if (!n.check(bytes->dtype() == dtype::u8 && bytes->count() == rows * row_bytes, DiagnosticId::shape_mismatch,
               fmt::format("{} must have {} bytes, found {}", packed.role, rows * row_bytes, describe(packed.type))))
    return Value::poison();
  const std::span<const std::byte> data = bytes->bytes();
  Value all = Value::of(Constant(type, {rows, row_bytes * per_byte}, std::vector<std::byte>(data.begin(), data.end())));
  if (row_bytes * per_byte == columns) return all;
  return n.cast(first_columns(n, n.cast(all, dtype::u8), columns), type);
}

// The weights [N, blocks * block], for zero points of the type of the packed numbers. The object stores the packed
// numbers, and kernels dequantize them.
Value stored_weights(Node& n, const Value& numbers, const Value& scales, const Value& zero, int64_t block) {
  return n.call("qnn.dequantize", {numbers, scales, zero}, {{"axis", 1}, {"block_size", block}});
}

// The weights [N, blocks * block], for zero points that are real numbers.
Value centred_weights(Node& n, const Value& numbers, const Value& scales, const Value& zero, int64_t block) {
  if (numbers.poisoned) return numbers;
  const Shape whole = numbers.type.shape, blocks = {whole[0], scales.type.shape[1], Dim(block)};
  auto per_block = [&](const Value& x) { return n.reshape(x, {blocks[0], blocks[1], Dim(1)}); };
  Value real = n.reshape(n.cast(numbers, scales.type.dtype), blocks);
  return n.reshape(multiply(n, subtract(n, real, per_block(zero)), per_block(scales)), whole);
}

// The weights [N, K], where column k has the scale and the zero point of group groups[k]: real numbers.
Value grouped_weights(Node& n, const Value& numbers, const Value& scales, const Value& zero,
                      const std::vector<int64_t>& groups) {
  if (numbers.poisoned) return numbers;
  const DType type = scales.type.dtype;
  const Value index = integers(groups);
  auto per_column = [&](const Value& x) {
    const Value real = n.cast(x, type);
    return x.rank() == 0 ? real : n.call("take", {real, index}, {{"axis", 1}, {"mode", "strict"}});
  };
  Value real = first_columns(n, n.cast(numbers, type), static_cast<int64_t>(groups.size()));
  return multiply(n, subtract(n, real, per_column(zero)), per_column(scales));
}

// The order of columns in which those of each group are one block; empty if a group does not fill its block.
std::optional<std::vector<int64_t>> order_of_groups(const std::vector<int64_t>& groups, int64_t block) {
  std::vector<int64_t> order(groups.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int64_t>(k);
  auto group = [&](int64_t k) { return groups[static_cast<size_t>(k)]; };
  std::ranges::stable_sort(order, {}, group);
  for (size_t k = 0; k < order.size(); ++k)
    if (group(order[k]) != static_cast<int64_t>(k) / block) return std::nullopt;
  return order;
}

// Columns of quantized numbers in this order; those behind it stay.
Value in_order(Node& n, const Value& numbers, std::vector<int64_t> order) {
  if (numbers.poisoned) return numbers;
  for (int64_t k = static_cast<int64_t>(order.size()); k < numbers.type.shape[1].value(); ++k) order.push_back(k);
  Value wide = n.cast(numbers, dtype::u8);  // no gather of elements of less than 8 bits
  return n.cast(n.call("take", {wide, integers(order)}, {{"axis", 1}, {"mode", "strict"}}), numbers.type.dtype);
}

// The group of each of `depth` columns; empty without the input.
std::optional<std::vector<int64_t>> groups_of_columns(Node& n, int input, int64_t depth, int64_t blocks) {
  if (!n.has(input)) return std::nullopt;
  auto groups = n.integers_in(input);
  n.check(groups.has_value(), DiagnosticId::unsupported_attribute, "g_idx must be a constant");
  if (n.failed() || !groups) return std::nullopt;
  const bool fits = static_cast<int64_t>(groups->size()) >= depth &&
                    std::ranges::all_of(*groups, [&](int64_t g) { return g >= 0 && g < blocks; });
  n.check(fits, DiagnosticId::shape_mismatch, fmt::format("g_idx must have {} numbers in [0, {}]", depth, blocks - 1));
  if (!fits) return std::nullopt;
  groups->resize(static_cast<size_t>(depth));
  return groups;
}

// A * W' + bias, where W [N, K] is quantized in blocks along K, or in groups of columns.
Values convert_matmul_nbits(Node& n) {
  enum { a, b, scales, zero_points, g_idx, bias };
  const int64_t columns = n.required_integer("N"), depth = n.required_integer("K"), width = n.integer("bits", 4),
                block = n.required_integer("block_size");
  n.ignore("accuracy_level");  // the product is computed in the type of A
  const auto type = packed_type(width);
  n.check(type.has_value(), DiagnosticId::unsupported_attribute, fmt::format("bits is {}", width), "it is 2, 4 or 8");
  n.check(n.integer("weight_prepacked", 0) == 0, DiagnosticId::unsupported_attribute,
          "weight_prepacked must be 0: the layout is that of another device");
  constexpr int64_t most = int64_t{1} << 30;
  auto in_range = [](int64_t v) { return v >= 1 && v <= most; };
  n.check(in_range(columns) && in_range(depth) && in_range(block) && block * width % 8 == 0,
          DiagnosticId::bad_attribute,
          fmt::format("N, K and block_size must be in [1, {}], and a block a number of bytes", most));
  if (n.failed()) return {};
  Shape rows = n.in(a).type.shape;
  if (!rows.empty()) rows.back() = Dim(depth);
  n.check(!rows.empty() && n.require_shape(a, rows), DiagnosticId::shape_mismatch,
          fmt::format("the last axis of A must have {} elements, as K says, found {}", depth, describe(n.in(a).type)));
  const int64_t blocks = (depth + block - 1) / block;
  const Shape per_block = {Dim(columns), Dim(blocks)};
  Value numbers = unpacked(n, n.in(b), *type, columns, blocks * block), scale = n.reshape(n.in(scales), per_block);
  Value zero = n.scalar(*type, static_cast<double>(int64_t{1} << (width - 1)));
  const bool real_zero = n.has(zero_points) && is_float(n.in(zero_points).type.dtype);
  if (real_zero)
    zero = n.reshape(n.in(zero_points), per_block);
  else if (n.has(zero_points))
    zero = unpacked(n, n.in(zero_points), *type, columns, blocks);
  const auto groups = groups_of_columns(n, g_idx, depth, blocks);
  if (n.failed() || scale.poisoned) return {};
  Value data = n.in(a), weights;
  const auto order = groups ? order_of_groups(*groups, block) : std::nullopt;
  if (order && !std::ranges::is_sorted(*order)) {
    data = n.call("take", {data, integers(*order)}, {{"axis", -1}, {"mode", "strict"}});
    numbers = in_order(n, numbers, *order);
  }
  weights =
      groups && !order
          ? grouped_weights(n, numbers, scale, zero, *groups)
          : first_columns(n, (real_zero ? centred_weights : stored_weights)(n, numbers, scale, zero, block), depth);
  Value y = n.call("nn.matmul", {data, weights}, {{"transpose_b", true}});
  return {n.has(bias) ? add(n, y, n.in(bias)) : y};
}

// ---- MatMulBnb4 ---------------------------------------------------------------------------------------------------

// The numbers that 4 bits stand for, in parts of the largest magnitude of their block.
std::optional<std::vector<float>> table_of_bnb4(int64_t type) {
  if (type == 0) {  // a sign, 2 bits of exponent and 1 of mantissa
    std::vector<float> table = {0, 0.005208333f, 2 / 3.0f, 1, 1 / 3.0f, 0.5f, 1 / 6.0f, 0.25f};
    for (size_t k = 0; k < 8; ++k) table.push_back(-table[k]);
    return table;
  }
  if (type != 1) return std::nullopt;
  // NormalFloat4 (Dettmers et al., "QLoRA", 2023, appendix E): quantiles of the normal distribution.
  return std::vector<float>{
      -1,          -0.69619280f, -0.52507305f, -0.39491749f, -0.28444138f, -0.18477343f, -0.09105004f, 0,
      0.07958030f, 0.16093020f,  0.24611230f,  0.33791524f,  0.44070983f,  0.56261700f,  0.72295684f,  1};
}

// A constant whose bytes have their halves exchanged: the first number of a byte is then in the lowest bits.
std::optional<Value> with_exchanged_halves(const Value& packed) {
  const Constant* constant = packed.constant();
  if (!constant || constant->dtype() != dtype::u8) return std::nullopt;
  std::vector<std::byte> data(constant->bytes().begin(), constant->bytes().end());
  for (std::byte& b : data) b = b << 4 | b >> 4;
  Value exchanged = Value::of(Constant(dtype::u8, constant->shape(), std::move(data)));
  exchanged.role = packed.role;
  return exchanged;
}

// A * W', or A * W, where the elements of W [N, K] are 4 bits in blocks of row-major order, each with a scale.
Values convert_matmul_bnb4(Node& n) {
  enum { a, b, absmax };
  const int64_t rows = n.required_integer("N"), columns = n.required_integer("K"),
                block = n.required_integer("block_size"), kind = n.required_integer("quant_type");
  const bool transposed = n.flag("transB", true);
  n.ignore("training_mode");  // whether onnxruntime computes gradients, too
  const auto table = table_of_bnb4(kind);
  n.check(table.has_value(), DiagnosticId::bad_attribute, fmt::format("quant_type is {}", kind),
          "it is 0 (FP4) or 1 (NF4)");
  constexpr int64_t most = int64_t{1} << 30;
  auto in_range = [](int64_t v) { return v >= 1 && v <= most; };
  n.check(in_range(rows) && in_range(columns) && in_range(block), DiagnosticId::bad_attribute,
          fmt::format("N, K and block_size must be in [1, {}]", most));
  if (n.failed()) return {};
  const int64_t count = rows * columns, blocks = (count + block - 1) / block;
  n.check(n.require_shape(absmax, {Dim(blocks)}), DiagnosticId::shape_mismatch,
          fmt::format("absmax must have one number for each of the {} blocks, found {}", blocks,
                      describe(n.in(absmax).type)));
  Value numbers = unpacked(n, with_exchanged_halves(n.in(b)).value_or(n.in(b)), dtype::u4, 1, count);
  if (n.failed()) return {};
  const DType type = n.in(a).type.dtype;
  Value parts = n.call("take", {n.cast(floats(*table), type), n.cast(numbers, dtype::u8)}, {{"axis", 0}});
  if (count != blocks * block)
    parts = n.call("nn.pad", {parts, n.scalar(type, 0)},
                   {{"pad_width", relay::AttrList{relay::AttrList{0, 0}, relay::AttrList{0, blocks * block - count}}}});
  Value weights = multiply(n, n.reshape(parts, {Dim(blocks), Dim(block)}),
                           n.call("expand_dims", {n.cast(n.in(absmax), type)}, {{"axis", 1}}));
  weights = first_columns(n, n.reshape(weights, {Dim(1), Dim(blocks * block)}), count);
  return {n.call("nn.matmul", {n.in(a), n.reshape(weights, {Dim(rows), Dim(columns)})}, {{"transpose_b", transposed}})};
}

// ---- GatherBlockQuantized -----------------------------------------------------------------------------------------

// Constant numbers that are packed along the last axis, in a tensor of this shape.
Value unpacked(Node& n, const Value& packed, DType type, const std::vector<int64_t>& shape) {
  int64_t rows = 1;
  for (size_t k = 0; k + 1 < shape.size(); ++k) rows *= shape[k];
  const Value numbers = unpacked(n, packed, type, rows, shape.back());
  if (numbers.poisoned || shape.size() == 2) return numbers;
  return n.cast(n.reshape(n.cast(numbers, dtype::u8), shape_of(shape)), type);  // no reshape of less than 8 bits
}

// Slices of data that is quantized in blocks along an axis. Data of bytes may hold several numbers in each.
Values convert_gather_block_quantized(Node& n) {
  enum { data, indices, scales, zero_points };
  const Value& given = n.in(data);
  const auto gathered = n.axis_of(n.integer("gather_axis", 0), given.rank());
  const auto quantized = n.axis_of(n.integer("quantize_axis", 1), given.rank());
  const int64_t width = n.integer("bits", 4), block = n.integer("block_size", 128);
  const auto type = packed_type(width);
  n.check(type.has_value(), DiagnosticId::unsupported_attribute, fmt::format("bits is {}", width), "it is 2, 4 or 8");
  n.check(is_static(given.type.shape) && is_static(n.in(scales).type.shape), DiagnosticId::dynamic_shape,
          "the sizes of data and scales must be known at compile time");
  if (n.failed() || !gathered || !quantized) return {};
  const bool packed = given.type.dtype == dtype::u8;
  std::vector<int64_t> shape = static_shape(given.type.shape);
  if (packed) shape.back() *= 8 / width;
  const Value numbers = packed ? unpacked(n, given, *type, shape) : given;
  Value zero = n.scalar(packed ? *type : given.type.dtype, packed ? static_cast<double>(int64_t{1} << (width - 1)) : 0);
  if (n.has(zero_points))
    zero = packed ? unpacked(n, n.in(zero_points), *type, static_shape(n.in(scales).type.shape)) : n.in(zero_points);
  if (n.failed()) return {};
  const Value real =
      n.call("qnn.dequantize", {numbers, n.in(scales), zero}, {{"axis", *quantized}, {"block_size", block}});
  return {n.call("take", {real, n.in(indices)}, {{"axis", *gathered}, {"mode", "strict"}})};
}

// ---- DynamicQuantizeMatMul ----------------------------------------------------------------------------------------

// A, quantized to uint8 by its range, times the integers B, as a number of float32.
Values convert_dynamic_quantize_matmul(Node& n) {
  enum { a, b, b_scale, b_zero, bias };
  const Values dynamic = dynamically_quantized(n, n.in(a));
  Value left = centred(n, dynamic[0], dynamic[2]), right = centred(n, n.in(b), n.optional_in(b_zero));
  if (n.failed() || right.poisoned) return {};
  Value sums = n.call(n.in(b).rank() == 2 ? "nn.matmul" : "nn.batch_matmul", {left, right});
  if (sums.poisoned) return {};
  Value y = multiply(n, n.cast(sums, dtype::f32), multiply(n, dynamic[1], n.in(b_scale)));
  return {n.has(bias) ? add(n, y, n.in(bias)) : y};
}

}  // namespace

void add_microsoft_weights(Table& table) {
  table.add({
      {"com.microsoft.MatMulNBits", 1, "A B scales zero_points g_idx bias", 3, 6, 1, convert_matmul_nbits},
      {"com.microsoft.MatMulBnb4", 1, "A B absmax", 3, 3, 1, convert_matmul_bnb4},
      {"com.microsoft.GatherBlockQuantized", 1, "data indices scales zero_points", 3, 4, 1,
       convert_gather_block_quantized},
      {"com.microsoft.DynamicQuantizeMatMul", 1, "A B b_scale b_zero_point bias", 3, 5, 1,
       convert_dynamic_quantize_matmul},
  });
  table.only_if("com.microsoft.MatMulBnb4", "B is a constant");
  table.only_if("com.microsoft.GatherBlockQuantized",
                "bits is 2, 4 or 8, and data of bytes and its zero_points are constants");
  table.only_if("com.microsoft.MatMulNBits", "bits is 2, 4 or 8, and B, integer zero_points and g_idx are constants");
}

}  // namespace dlcc::frontends::onnx
