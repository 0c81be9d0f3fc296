#include "tensor/word_products.h"

#include "tensor/byte_products.h"

namespace dlcc::tensor {
namespace {

// The words of one lane are next to each other.
Buffer words_of_weights(int64_t lanes) {
  return make_operand("weights", dtype::i16, {2, 2 * lanes}, {2 * lanes, 1}, Scope::local);
}

Intrinsic inner_product(int64_t lanes) {
  Buffer data = make_operand("data", dtype::u16, {2, 2}, {widened_half, 1}, Scope::global),
         weights = words_of_weights(lanes), acc = make_operand("acc", dtype::i32, {lanes}, {1}, Scope::reg);
  Var lane = make_var("lane");
  auto word_of_data = [&](int64_t odd, int64_t j) { return load(data, {Expr(odd), Expr(j)}); };
  auto word_of_weights = [&](int64_t odd, int64_t j) {
    return load(weights, {Expr(odd), Expr(lane) * Expr(2) + Expr(j)});
  };
  return {
      .name = fmt::format("inner4.u16s16.x{}", lanes),
      .operands = {{data, Access::read}, {weights, Access::read}, {acc, Access::write}},
      .body = for_loop(lane, lanes, LoopKind::vector,
                       store(acc, {lane}, load(acc, {lane}) + inner_product_of_words(word_of_data, word_of_weights))),
      .required_features = {},
      .emission = word_products_emission};
}

Intrinsic widening_of_weights(int64_t lanes) {
  constexpr int64_t k = least_bytes_of_product;
  Buffer bytes = make_operand("bytes", dtype::i8, {lanes, k}, {k, 1}, Scope::global), words = words_of_weights(lanes);
  Var byte = make_var("byte");
  const Expr lane = floor_div(byte, Expr(k)), in_lane = floor_mod(byte, Expr(k));
  Stmt each = store(words, {floor_mod(byte, Expr(2)), floor_div(byte, Expr(2))},
                    cast(dtype::i16, load(bytes, {lane, in_lane})));
  return {.name = fmt::format("widen.s8.x{}", lanes),
          .operands = {{bytes, Access::read}, {words, Access::write}},
          .body = for_loop(byte, lanes * k, LoopKind::vector, each),
          .required_features = {},
          .emission = widened_bytes_emission};
}

Intrinsic products_of_pairs(const char* name, const Buffer& words) {
  const int64_t lanes = words->shape[1].value() / 2;
  Buffer acc = make_operand("acc", dtype::i32, {lanes}, {1}, Scope::reg);
  Var lane = make_var("lane");
  auto word = [&](int64_t odd, int64_t j) { return load(words, {Expr(odd), Expr(lane) * Expr(2) + Expr(j)}); };
  return {.name = fmt::format("{}.x{}", name, lanes),
          .operands = {{words, Access::read}, {acc, Access::write}},
          .body = for_loop(lane, lanes, LoopKind::vector,
                           store(acc, {lane}, load(acc, {lane}) + products_of_neighbouring_words(word))),
          .required_features = {},
          .emission = word_products_emission};
}

}  // namespace

Expr inner_product_of_words(const WordOfLane& data, const WordOfLane& weights) {
  auto term = [&](int64_t j) {
    return (cast(dtype::i32, data(0, j)) + cast(dtype::i32, weights(1, j))) *
           (cast(dtype::i32, data(1, j)) + cast(dtype::i32, weights(0, j)));
  };
  return term(0) + term(1);
}

Expr products_of_neighbouring_words(const WordOfLane& word) {
  auto term = [&](int64_t j) { return cast(dtype::i32, word(0, j)) * cast(dtype::i32, word(1, j)); };
  return term(0) + term(1);
}

const std::vector<const Intrinsic*>& word_products() {
  static const std::vector<Intrinsic> all = [] {
    std::vector<Intrinsic> list = {widening_of_data("widen.u8.x16.global", Scope::global)};
    list.push_back(products_of_pairs(
        "pairs.u16", make_operand("data", dtype::u16, {2, widened_half}, {widened_half, 1}, Scope::global)));
    for (const int64_t lanes : {4, 8, 16}) {
      list.push_back(inner_product(lanes));
      list.push_back(widening_of_weights(lanes));
      list.push_back(products_of_pairs("pairs.s16", words_of_weights(lanes)));
    }
    return list;
  }();
  static const std::vector<const Intrinsic*> pointers = [] {
    std::vector<const Intrinsic*> list;
    for (const Intrinsic& i : all) list.push_back(&i);
    return list;
  }();
  return pointers;
}

}  // namespace dlcc::tensor
