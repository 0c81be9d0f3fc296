#include "tensor/tile_transpose.h"

#include <algorithm>

#include "tensor/text.h"

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
  return fmt::format("transpose.{}.x{}.{}.{}", short_name(type), size, from_between, to_between);
}

constexpr DType all_types[] = {
#define DTYPE(name, bits, kind, ctype, onnx) DType::name##_,
#include "support/dtype.def"
#undef DTYPE
};

// The rows of a tile, in elements.
std::vector<int64_t> sizes_of(DType type) {
  if (bits(type) == 32) return {4, 8};
  return bits(type) == 8 || bits(type) == 16 ? std::vector<int64_t>{128 / bits(type)} : std::vector<int64_t>();
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
    for (DType type : all_types)
      for (int64_t size : sizes_of(type))
        for (int from = 0; from <= max_dims_between; ++from)
          for (int to = 0; to <= max_dims_between; ++to) made.push_back(make(type, size, from, to));
    return made;
  }();
  return all;
}

const Intrinsic* tile_transpose(DType type, int64_t size, int from_between, int to_between) {
  auto found = std::ranges::find(tile_transposes(), name_of(type, size, from_between, to_between), &Intrinsic::name);
  return found == tile_transposes().end() ? nullptr : &*found;
}

}  // namespace dlcc::tensor
