#include "tensor/schedules/padded_copy.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"

namespace dlcc::tensor {

std::optional<PaddedCopy> plan_padded_copy(const Load& l, const Stage& stage, int64_t phases) {
  const Expr outside = l.otherwise ? l.otherwise : literal(l.buffer->type, int64_t{0});
  if (!as<Literal>(outside)) return std::nullopt;
  PaddedCopy copy{l.buffer, {}, {}, outside, phases};
  Shape shape;
  for (size_t d = 0; d < l.indices.size(); ++d) {
    const auto read = indices_read(l, d, stage);
    if (!read) return std::nullopt;
    copy.first.push_back(read->first);
    shape.push_back(read->count);
  }
  if (phases > 1) {
    const Dim quotients = floor_div(shape.back() + Dim(phases - 1), phases);
    shape.back() = Dim(phases);
    shape.push_back(quotients);
  }
  copy.padded = make_buffer("padded", l.buffer->type, shape, Scope::global, storage_alignment);
  return copy;
}

bool are_equal(const PaddedCopy& a, const PaddedCopy& b) {
  return a.operand == b.operand && a.first == b.first && a.phases == b.phases && a.padded->shape == b.padded->shape &&
         structurally_equal(a.outside, b.outside);
}

Expr load_from(const PaddedCopy& copy, const Load& l, const Var& x) {
  std::vector<Expr> index;
  for (size_t d = 0; d < l.indices.size(); ++d) index.push_back(l.indices[d] - Expr(copy.first[d]));
  if (copy.phases > 1) {
    const Expr of_first = simplify(index.back() - Expr(x) * Expr(copy.phases));  // the column for x = 0
    index.back() = floor_mod(of_first, Expr(copy.phases));
    index.push_back(floor_div(of_first, Expr(copy.phases)) + Expr(x));
  }
  return load(copy.padded, std::move(index));
}

// A loop over the elements of a row, in vectors that may overlap.
static Stmt in_vectors_of(const Dim& count, const std::function<Stmt(const Expr& i)>& element) {
  auto vector = [&](const Expr& first, int64_t lanes) {
    Var i = make_var("i");
    return for_loop(i, lanes, LoopKind::vector, element(first + Expr(i)));
  };
  if (!count.is_constant()) return overlapping_vectors(0, count, channel_block, vector);
  return in_row_tiles(count, 1, channel_block, Repetition::allowed,
                      [&](const RowVectors& row) { return vector(row.left, row.lanes); });
}

// A row outside of the operand has one value. A row inside is a part before the operand, a copy of its elements, and a
// part after it. So no lane needs a test.
Stmt fill(const PaddedCopy& copy) {
  const StorageLoops loops = storage_loops({}, copy.padded->shape);
  const size_t row = copy.operand->shape.size() - 1, last = loops.vars.size() - 1;
  const Dim &width = copy.padded->shape[last], &inside = copy.operand->shape[row];
  const int64_t phases = copy.phases;

  // The operand's index of the row. Dimensions that can be outside have variables, whose ranges the condition gives.
  std::vector<Expr> source;
  std::vector<std::pair<Var, Expr>> tested;
  Expr is_inside = literal(dtype::boolean, int64_t{1});
  for (size_t d = 0; d < row; ++d) {
    const Expr index = loops.index[d] + Expr(copy.first[d]);
    const Dim& extent = copy.operand->shape[d];
    const bool is_whole = copy.first[d] == 0 && copy.padded->shape[d] == extent;
    source.push_back(is_whole ? index : Expr(tested.emplace_back(make_var("at"), index).first));
    if (!is_whole) is_inside = logical_and(is_inside, logical_and(source[d] >= Expr(0), source[d] < Expr(extent)));
  }

  auto column = [&](int64_t phase, const Expr& i, const Expr& value) {
    std::vector<Expr> at = loops.index;
    if (phases > 1) at[row] = Expr(phase);
    at[last] = i;
    return store(copy.padded, at, value);
  };
  auto outside = [&](int64_t phase, const Dim& from, const Dim& to) -> Stmt {
    if (from == to) return nullptr;
    return in_vectors_of(to - from, [&](const Expr& i) { return column(phase, i + Expr(from), copy.outside); });
  };
  auto elements = [&](int64_t phase, const Dim& from, const Dim& to) -> Stmt {
    if (from == to) return nullptr;
    auto element = [&](const Expr& i) {
      std::vector<Expr> index = source;
      index.push_back((i + Expr(from)) * Expr(phases) + Expr(phase + copy.first[row]));
      return column(phase, i + Expr(from), load(copy.operand, std::move(index)));
    };
    return in_vectors_of(to - from, element);
  };

  std::vector<Stmt> of_inside, of_outside;
  for (int64_t phase = 0; phase < phases; ++phase) {
    const int64_t first = copy.first[row] + phase;
    Dim begin = ceil_div(std::max<int64_t>(-first, 0), phases),
        end = floor_div(inside - Dim(first - phases + 1), phases);
    if (width.is_constant()) {
      begin = std::min(begin.value(), width.value());
      end = std::clamp(end.value(), begin.value(), width.value());
    }
    for (const Stmt& s : {outside(phase, 0, begin), elements(phase, begin, end), outside(phase, end, width)})
      of_inside.push_back(s);
    of_outside.push_back(outside(phase, 0, width));
  }
  Stmt body = sequence(std::move(of_inside));
  if (!tested.empty()) body = if_then(is_inside, body, sequence(std::move(of_outside)));
  for (const auto& [var, index] : tested) body = let(var, index, body);
  return loops.wrap(body, 0, row);
}

}  // namespace dlcc::tensor
