// Conditions on operands that determine a shape at run time.
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay {

Failure check_list_operand(const TensorType& type, const char* what) {
  if (auto e = first_of({check_type(type, what, types::index), check_rank(type, what, 1)})) return e;
  const std::optional<int64_t> length = type.shape[0].constant();
  if (!length)
    return TypeError{DiagnosticId::dynamic_shape, fmt::format("the length of {} must be known at compile time", what),
                     ""};
  if (*length > 1024) return shape_error(fmt::format("{} has {} elements, more than any rank", what, *length));
  return std::nullopt;
}

Checked<PartialList> list_value(const Operands& in, size_t k, const std::vector<Dim>& attribute, const char* what) {
  if (k >= in.size()) return PartialList(attribute.begin(), attribute.end());
  if (auto e = check_list_operand(in[k], what)) return *e;
  if (in[k].value) return in[k].value->elements;
  return PartialList(static_cast<size_t>(in[k].shape[0].value()));
}

TypeResult filled_result(const Operands& in, size_t k, const std::vector<Dim>& attribute, DType type) {
  Checked<PartialList> sizes = list_value(in, k, attribute, "shape");
  if (auto* e = std::get_if<TypeError>(&sizes)) return *e;
  Shape shape;
  for (const auto& size : std::get<PartialList>(sizes)) shape.push_back(size.value_or(unknown_dim()));
  return tensor_result(shape, type);
}

std::vector<Expr> elements_of(const Tensor& list) {
  std::vector<Expr> elements;
  for (int64_t k = 0; k < list.extent(0).value(); ++k) elements.push_back(integer_at(list, k));
  return elements;
}

Expr bounded_element(const Tensor& list, int64_t k) {
  const Expr most(2 * tensor::max_elements);
  return max(min(integer_at(list, k), most), Expr(0) - most);
}

void require_shape_next(Definition& d, const Operands& in, size_t k, const Shape& result) {
  if (k >= in.size()) return;
  Tensor sizes = d.input("shape", in[k].dtype, in[k].shape);
  d.require_next(
      [=](Index) {
        std::vector<Expr> same;
        for (size_t j = 0; j < result.size(); ++j)
          same.push_back(equal(integer_at(sizes, static_cast<int64_t>(j)), Expr(result[j])));
        return all_of(same);
      },
      tensor::Status::shape_mismatch);
}

void require_equal_next(Definition& d, const Dim& a, const Dim& b) {
  if (!(a == b)) d.require_next([a, b](Index) { return equal(Expr(a), Expr(b)); }, tensor::Status::shape_mismatch);
}

void require_element_next(Definition& d, const Dim& size, const Shape& result, tensor::Status status) {
  if (provably_le(1, size)) return;
  d.require_next(
      [size, count = product(result)](Index) { return logical_or(Expr(0) < Expr(size), equal(Expr(count), Expr(0))); },
      status);
}

std::vector<Expr> marked_axes(const Tensor& axes, int rank) {
  std::vector<Expr> marked;
  for (int k = 0; k < rank; ++k) {
    std::vector<Expr> named;
    for (int64_t j = 0; j < axes.extent(0).value(); ++j) {
      Expr axis = integer_at(axes, j);
      named.push_back(logical_or(equal(axis, Expr(k)), equal(axis, Expr(k - rank))));
    }
    marked.push_back(any_of(named));
  }
  return marked;
}

Expr drops_to(const std::vector<Expr>& marked, const Shape& data, const Shape& result) {
  std::vector<Expr> conditions;
  Expr position(0);  // in the result, of the next axis that is not removed
  for (size_t k = 0; k < data.size(); ++k) {
    std::vector<Expr> fits;  // axes of the result that axis k may be
    for (size_t p = 0; p < result.size(); ++p)
      if (data[k] == result[p]) fits.push_back(equal(position, Expr(static_cast<int64_t>(p))));
    Expr removable = tensor::literal(dtype::boolean, int64_t{data[k] == Dim(1)});
    conditions.push_back(select(marked[k], removable, any_of(fits)));
    position = position + cast(dtype::i64, logical_not(marked[k]));
  }
  conditions.push_back(equal(position, Expr(static_cast<int64_t>(result.size()))));
  return all_of(conditions);
}

Expr axes_valid(const Tensor& axes, const std::vector<Expr>& marked) {
  // The number of marked axes equals the number of elements.
  Expr count(0);
  for (const Expr& m : marked) count = count + cast(dtype::i64, m);
  return equal(count, Expr(axes.extent(0)));
}

}  // namespace dlcc::relay
