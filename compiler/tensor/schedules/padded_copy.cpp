#include "tensor/schedules/padded_copy.h"

#include <algorithm>
#include <functional>

#include "tensor/analysis.h"
#include "tensor/schedules/image_rows.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// The index without its multiple of the axis.
Expr rest_of(const Expr& index, const Var& axis, int64_t stride) { return simplify(index - Expr(axis) * Expr(stride)); }

// The indices of a load in one dimension, if they are multiples of one axis, by more than 1, and a rest of bounded
// range.
struct StridedIndices {
  PaddedCopy::Dimension dimension;
  int64_t rests = 0;
};
std::optional<StridedIndices> strided_indices(const Expr& index, const Axis& axis, const Stage& stage) {
  const int64_t stride = uses(index, axis.var) ? stride_along(index, axis.var).value_or(1) : 1;
  if (stride <= 1) return std::nullopt;
  const Expr rest = rest_of(index, axis.var, stride);
  const auto range = range_of(rest, ranges_of(stage));
  if (!range || uses(rest, axis.var)) return std::nullopt;
  const int64_t rests = range->high - range->low + 1;
  return StridedIndices{{range->low, stride, std::min(rests, stride), axis.var}, rests};
}

using Elements = std::function<Stmt(const Expr& i)>;

Stmt vector_of(const Expr& first, int64_t lanes, const Elements& element) {
  Var i = make_var("i");
  return for_loop(i, lanes, LoopKind::vector, element(first + Expr(i)));
}

// A loop over the elements of a row, in vectors that may overlap.
Stmt in_vectors_of(const Dim& count, const Elements& element) {
  auto vector = [&](const Expr& first, int64_t lanes) { return vector_of(first, lanes, element); };
  if (!count.is_constant()) return overlapping_vectors(0, count, channel_block, vector);
  return in_row_tiles(count, 1, channel_block, Repetition::allowed,
                      [&](const RowVectors& row) { return vector(row.left, row.lanes); });
}

// The same with less code: vectors of one length, or single elements where there are fewer. For the rows above and
// below an image and the columns beside it.
Stmt in_few_vectors_of(const Dim& count, const Elements& element) {
  if (count.is_constant()) return in_vectors_of(count, element);
  Var i = make_var("i");
  const Stmt single = for_loop(i, Expr(count), LoopKind::serial, element(Expr(i)));
  if (provably_lt(count, channel_block)) return single;
  return with_overlap(
      0, count, channel_block, [&](const Expr& first) { return vector_of(first, channel_block, element); }, single);
}

}  // namespace

std::optional<PaddedCopy> plan_padded_copy(const Load& l, const Stage& stage, const Var& x, bool in_phases) {
  PaddedCopy copy{l.buffer, {}, {}, l.otherwise ? l.otherwise : literal(l.buffer->type, int64_t{0})};
  if (!as<Literal>(copy.outside)) return std::nullopt;
  Shape shape;
  for (size_t d = 0; d < l.indices.size(); ++d) {
    const auto read = indices_read(l, d, stage);
    if (!read) return std::nullopt;
    PaddedCopy::Dimension& dimension = copy.dimensions.emplace_back();
    dimension.first = read->first;
    shape.push_back(read->count);
    const bool is_row = d + 1 == l.indices.size();
    if (is_row && !in_phases) continue;
    for (const Axis& axis : stage.axes) {
      const auto strided = strided_indices(l.indices[d], axis, stage);
      if (!strided) continue;
      const auto& [first, stride, kept, var] = strided->dimension;
      if (is_row && var == x) {
        dimension = strided->dimension;
        shape.back() = axis.extent + Dim((strided->rests - 1) / stride);
        if (kept > 1) shape.insert(shape.end() - 1, Dim(kept));
      } else if (!is_row && kept < stride) {
        dimension = strided->dimension;
        shape.back() = axis.extent * Dim(kept);
      }
    }
  }
  copy.padded = make_buffer("padded", l.buffer->type, shape, Scope::global, storage_alignment);
  return copy;
}

bool are_equal(const PaddedCopy& a, const PaddedCopy& b) {
  auto equal = [](const PaddedCopy::Dimension& p, const PaddedCopy::Dimension& q) {
    return p.first == q.first && p.stride == q.stride && p.kept == q.kept;
  };
  return a.operand == b.operand && a.padded->shape == b.padded->shape && structurally_equal(a.outside, b.outside) &&
         std::ranges::equal(a.dimensions, b.dimensions, equal);
}

Expr load_from(const PaddedCopy& copy, const Load& l) {
  std::vector<Expr> index;
  for (size_t d = 0; d < l.indices.size(); ++d) {
    const auto& [first, stride, kept, axis] = copy.dimensions[d];
    if (stride == 1) {
      index.push_back(l.indices[d] - Expr(first));
      continue;
    }
    const Expr rest = rest_of(l.indices[d], axis, stride) - Expr(first);
    if (!copy.is_row(d)) {
      index.push_back(Expr(axis) * Expr(kept) + rest);
      continue;
    }
    if (kept > 1) index.push_back(floor_mod(rest, Expr(stride)));
    index.push_back(floor_div(rest, Expr(stride)) + Expr(axis));
  }
  return load(copy.padded, std::move(index));
}

// A row outside of the operand has one value. A row inside is a part before the operand, a copy of its elements, and a
// part after it. So no lane needs a test.
Stmt fill(const PaddedCopy& copy) {
  const StorageLoops loops = storage_loops({}, copy.padded->shape);
  const size_t row = copy.operand->shape.size() - 1, last = loops.vars.size() - 1;
  const Dim &width = copy.padded->shape[last], &inside = copy.operand->shape[row];
  const int64_t stride = copy.dimensions[row].stride, phases = copy.dimensions[row].kept;

  // The operand's index of the row. Indices that can be outside are variables, whose ranges the condition gives.
  std::vector<Expr> source;
  std::vector<std::pair<Var, Expr>> tested;
  Expr is_inside = literal(dtype::boolean, int64_t{1});
  for (size_t d = 0; d < row; ++d) {
    const PaddedCopy::Dimension& own = copy.dimensions[d];
    const Expr& i = loops.index[d];
    const Expr index = floor_div(i, Expr(own.kept)) * Expr(own.stride) + floor_mod(i, Expr(own.kept)) + Expr(own.first);
    const Dim& extent = copy.operand->shape[d];
    const bool is_whole = own.first == 0 && own.stride == 1 && copy.padded->shape[d] == extent;
    source.push_back(is_whole ? i : Expr(tested.emplace_back(make_var("at"), index).first));
    if (!is_whole) is_inside = logical_and(is_inside, logical_and(source[d] >= Expr(0), source[d] < Expr(extent)));
  }

  auto store_at = [&](int64_t phase, const Expr& i, const Expr& value) {
    std::vector<Expr> at = loops.index;
    if (phases > 1) at[row] = Expr(phase);
    at[last] = i;
    return store(copy.padded, at, value);
  };
  auto outside = [&](int64_t phase, const Dim& from, const Dim& to) -> Stmt {
    if (from == to) return nullptr;
    return in_few_vectors_of(to - from, [&](const Expr& i) { return store_at(phase, i + Expr(from), copy.outside); });
  };
  auto elements = [&](int64_t phase, const Dim& from, const Dim& to) -> Stmt {
    if (from == to) return nullptr;
    return in_vectors_of(to - from, [&](const Expr& i) {
      std::vector<Expr> index = source;
      index.push_back((i + Expr(from)) * Expr(stride) + Expr(phase + copy.dimensions[row].first));
      return store_at(phase, i + Expr(from), load(copy.operand, std::move(index)));
    });
  };

  std::vector<Stmt> of_inside, of_outside;
  for (int64_t phase = 0; phase < phases; ++phase) {
    const int64_t first = copy.dimensions[row].first + phase;
    Dim begin = ceil_div(std::max<int64_t>(-first, 0), stride),
        end = floor_div(inside - Dim(first - stride + 1), stride);
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
  return simplify(loops.wrap(body, 0, row), {});
}

}  // namespace dlcc::tensor
