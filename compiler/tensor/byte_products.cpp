#include "tensor/byte_products.h"

namespace dlcc::tensor {
namespace {

constexpr int64_t bytes_of_vector = 16;  // of Helium

Intrinsic byte_product(int64_t lanes, DType data_type = dtype::u8, int64_t k = least_bytes_of_product) {
  auto operand = [](const char* name, DType type, Shape shape, std::vector<int64_t> strides, Scope scope) {
    return std::make_shared<const BufferNode>(BufferNode{name, type, std::move(shape), scope, std::move(strides)});
  };
  Buffer data = operand("data", data_type, {k}, {1}, Scope::global),
         weights = operand("weights", dtype::i8, {lanes, k}, {k, 1}, Scope::global),
         acc = operand("acc", dtype::i32, {lanes}, {1}, Scope::reg);
  Var lane = make_var("lane");
  Expr sum;
  for (int64_t j = 0; j < k; ++j) {
    Expr product = cast(dtype::i32, load(data, {Expr(j)})) * cast(dtype::i32, load(weights, {lane, Expr(j)}));
    sum = sum ? sum + product : product;
  }
  return {.name = fmt::format("dot{}.{}s8.x{}", k, data_type == dtype::u8 ? "u8" : "s8", lanes),
          .operands = {{data, Access::read}, {weights, Access::read}, {acc, Access::write}},
          .body = for_loop(lane, lanes, LoopKind::vector, store(acc, {lane}, load(acc, {lane}) + sum)),
          .required_features = {},
          .emission = byte_products_emission};
}

}  // namespace

int64_t bytes_of_product_in(ByteProducts b, int64_t k) {
  return b == ByteProducts::scalar_dot && k % bytes_of_vector == 0 ? bytes_of_vector : least_bytes_of_product;
}

bool is_scalar(ByteProducts b) { return b == ByteProducts::scalar_pairs || b == ByteProducts::scalar_dot; }

DType data_of_byte_products(ByteProducts b) {
  const bool is_signed =
      b == ByteProducts::signed_dot || b == ByteProducts::signed_pairs || b == ByteProducts::scalar_dot;
  return is_signed ? dtype::i8 : dtype::u8;
}

std::span<const Intrinsic* const> byte_products(ByteProducts b) {
  static const Intrinsic of_1 = byte_product(1), of_4 = byte_product(4), of_8 = byte_product(8),
                         of_16 = byte_product(16), signed_of_4 = byte_product(4, dtype::i8),
                         signed_of_1 = byte_product(1, dtype::i8),
                         long_of_1 = byte_product(1, dtype::i8, bytes_of_vector);
  static const Intrinsic* const scalar[] = {&of_1};
  static const Intrinsic* const vectors[] = {&of_4, &of_8, &of_16};
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
    case ByteProducts::dot:
      break;
  }
  return vectors;
}

}  // namespace dlcc::tensor
