#include "tensor/byte_products.h"

namespace dlcc::tensor {
namespace {

constexpr int64_t bytes_of_vector = 16;  // of Helium

// The dot product of k bytes; element(j) is the byte j of the data.
Intrinsic dot_product(int64_t lanes, const char* types, const Buffer& data, int64_t k,
                      const std::function<Expr(int64_t j)>& element) {
  Buffer weights = make_operand("weights", dtype::i8, {lanes, k}, {k, 1}, Scope::global),
         acc = make_operand("acc", dtype::i32, {lanes}, {1}, Scope::reg);
  Var lane = make_var("lane");
  Expr sum;
  for (int64_t j = 0; j < k; ++j) {
    Expr product = cast(dtype::i32, element(j)) * cast(dtype::i32, load(weights, {lane, Expr(j)}));
    sum = sum ? sum + product : product;
  }
  return {.name = fmt::format("dot{}.{}.x{}", k, types, lanes),
          .operands = {{data, Access::read}, {weights, Access::read}, {acc, Access::write}},
          .body = for_loop(lane, lanes, LoopKind::vector, store(acc, {lane}, load(acc, {lane}) + sum)),
          .required_features = {},
          .emission = byte_products_emission};
}

Intrinsic byte_product(int64_t lanes, DType data_type = dtype::u8, int64_t k = least_bytes_of_product) {
  Buffer data = make_operand("data", data_type, {k}, {1}, Scope::global);
  return dot_product(lanes, data_type == dtype::u8 ? "u8s8" : "s8s8", data, k,
                     [&](int64_t j) { return load(data, {Expr(j)}); });
}

Intrinsic widened_product(int64_t lanes) {
  constexpr int64_t k = least_bytes_of_product;
  Buffer data = make_operand("data", dtype::u16, {2, k / 2}, {widened_half, 1}, Scope::local);
  return dot_product(lanes, "u16s8", data, k, [&](int64_t j) { return load(data, {Expr(j % 2), Expr(j / 2)}); });
}

}  // namespace

Intrinsic widening_of_data(const char* name, Scope of_words) {
  Buffer bytes = make_operand("bytes", dtype::u8, {widened_bytes}, {1}, Scope::global),
         words = make_operand("words", dtype::u16, {2, widened_half}, {widened_half, 1}, of_words);
  Var lane = make_var("lane");
  Stmt each = store(words, {floor_mod(lane, Expr(2)), floor_div(lane, Expr(2))}, cast(dtype::u16, load(bytes, {lane})));
  return {.name = name,
          .operands = {{bytes, Access::read}, {words, Access::write}},
          .body = for_loop(lane, widened_bytes, LoopKind::vector, each),
          .required_features = {},
          .emission = widened_bytes_emission};
}

int64_t bytes_of_product_in(ByteProducts b, int64_t k) {
  return b == ByteProducts::scalar_dot && k % bytes_of_vector == 0 ? bytes_of_vector : least_bytes_of_product;
}

bool is_scalar(ByteProducts b) { return b == ByteProducts::scalar_pairs || b == ByteProducts::scalar_dot; }

bool multiplies_widened_data(ByteProducts b) { return b == ByteProducts::pairs; }

DType data_of_byte_products(ByteProducts b) {
  const bool is_signed =
      b == ByteProducts::signed_dot || b == ByteProducts::signed_pairs || b == ByteProducts::scalar_dot;
  return is_signed ? dtype::i8 : dtype::u8;
}

std::span<const Intrinsic* const> byte_products(ByteProducts b) {
  static const Intrinsic of_1 = byte_product(1), of_4 = byte_product(4), of_8 = byte_product(8),
                         of_16 = byte_product(16), signed_of_4 = byte_product(4, dtype::i8),
                         signed_of_1 = byte_product(1, dtype::i8),
                         long_of_1 = byte_product(1, dtype::i8, bytes_of_vector), widened_of_4 = widened_product(4),
                         widened_of_8 = widened_product(8), widened_of_16 = widened_product(16),
                         widen = widening_of_data("widen.u8.x16", Scope::local);
  static const Intrinsic* const scalar[] = {&of_1};
  static const Intrinsic* const vectors[] = {&of_4, &of_8, &of_16};
  static const Intrinsic* const in_pairs[] = {&of_4,         &of_8,          &of_16, &widened_of_4,
                                              &widened_of_8, &widened_of_16, &widen};
  static const Intrinsic* const of_signed[] = {&signed_of_4};
  static const Intrinsic* const scalar_of_signed[] = {&long_of_1, &signed_of_1};
  switch (b) {
    case ByteProducts::none:
      return {};
    case ByteProducts::scalar_pairs:
      return scalar;
    case ByteProducts::signed_dot:
    case ByteProducts::signed_pairs:
      return of_signed;
    case ByteProducts::scalar_dot:
      return scalar_of_signed;
    case ByteProducts::pairs:
      return in_pairs;
    case ByteProducts::dot:
      break;
  }
  return vectors;
}

}  // namespace dlcc::tensor
