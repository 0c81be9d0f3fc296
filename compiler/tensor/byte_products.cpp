#include "tensor/byte_products.h"

namespace dlcc::tensor {
namespace {

Intrinsic byte_product(int64_t lanes) {
  const int64_t k = bytes_of_product;
  auto operand = [](const char* name, DType type, Shape shape, std::vector<int64_t> strides, Scope scope) {
    return std::make_shared<const BufferNode>(BufferNode{name, type, std::move(shape), scope, std::move(strides)});
  };
  Buffer data = operand("data", dtype::u8, {k}, {1}, Scope::global),
         weights = operand("weights", dtype::i8, {lanes, k}, {k, 1}, Scope::global),
         acc = operand("acc", dtype::i32, {lanes}, {1}, Scope::reg);
  Var lane = make_var("lane");
  Expr sum;
  for (int64_t j = 0; j < k; ++j) {
    Expr product = cast(dtype::i32, load(data, {Expr(j)})) * cast(dtype::i32, load(weights, {lane, Expr(j)}));
    sum = sum ? sum + product : product;
  }
  return {.name = fmt::format("dot4.u8s8.x{}", lanes),
          .operands = {{data, Access::read}, {weights, Access::read}, {acc, Access::write}},
          .body = for_loop(lane, lanes, LoopKind::vector, store(acc, {lane}, load(acc, {lane}) + sum)),
          .required_features = {},
          .emission = byte_products_emission};
}

}  // namespace

const std::array<const Intrinsic*, 3>& byte_products() {
  static const Intrinsic of_4 = byte_product(4), of_8 = byte_product(8), of_16 = byte_product(16);
  static const std::array<const Intrinsic*, 3> all = {&of_4, &of_8, &of_16};
  return all;
}

const std::array<const Intrinsic*, 1>& scalar_byte_products() {
  static const Intrinsic of_1 = byte_product(1);
  static const std::array<const Intrinsic*, 1> all = {&of_1};
  return all;
}

}  // namespace dlcc::tensor
