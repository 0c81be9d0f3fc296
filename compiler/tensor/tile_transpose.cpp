#include "tensor/tile_transpose.h"

#include <algorithm>

namespace dlcc::tensor {
namespace {

Shape shape_of_tile(int64_t size, int between) {
  Shape shape(static_cast<size_t>(between) + 2, Dim(1));
  shape.front() = shape.back() = size;
  return shape;
}

std::vector<Expr> element(const Expr& row, const Expr& column, int between) {
  std::vector<Expr> index(static_cast<size_t>(between) + 2, Expr(0));
  index.front() = row, index.back() = column;
  return index;
}

std::string name_of(DType type, int64_t size, int from_between, int to_between) {
  return fmt::format("transpose.{}.x{}.{}.{}", type == dtype::f32 ? "f32" : "i32", size, from_between, to_between);
}

Intrinsic make(DType type, int64_t size, int from_between, int to_between) {
  const Buffer from = make_buffer("from", type, shape_of_tile(size, from_between), Scope::global);
  const Buffer to = make_buffer("to", type, shape_of_tile(size, to_between), Scope::global);
  const Var row = make_var("row"), column = make_var("column");
  const Expr value = load(from, element(column, row, from_between));
  const Stmt one_row = for_loop(column, size, LoopKind::vector, store(to, element(row, column, to_between), value));
  return {.name = name_of(type, size, from_between, to_between),
          .operands = {{from, Access::read}, {to, Access::write}},
          .body = for_loop(row, size, LoopKind::serial, one_row),
          .required_features = {},
          .emission = tile_transpose_emission};
}

}  // namespace

const std::vector<Intrinsic>& tile_transposes() {
  static const std::vector<Intrinsic> all = [] {
    std::vector<Intrinsic> made;
    for (DType type : {dtype::f32, dtype::i32})
      for (int64_t size : {4, 8})
        for (int from = 0; from <= max_dims_between; ++from)
          for (int to = 0; to <= max_dims_between; ++to) made.push_back(make(type, size, from, to));
    return made;
  }();
  return all;
}

const Intrinsic* tile_transpose(DType type, int64_t size, int from_between, int to_between) {
  if (type != dtype::f32 && type != dtype::i32) return nullptr;
  auto found = std::ranges::find(tile_transposes(), name_of(type, size, from_between, to_between), &Intrinsic::name);
  return found == tile_transposes().end() ? nullptr : &*found;
}

}  // namespace dlcc::tensor
