// arange: the numbers from a start to a stop, every step-th. The size of the result is known if the three are known.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

// TVM repeats the operands as attributes.
struct ArangeAttrs {
  AttrValue start, stop, step;
  DType dtype = dtype::f32;
};

// The value of an operand, as far as an attribute or its value at compile time tells: an integer, a float or None.
AttrValue known_number(const AttrValue& attribute, const Operand& operand) {
  double number = 0;
  if (detail::from_value(attribute, number)) return attribute;
  if (!operand.value || operand.value->elements.size() != 1) return {};
  const std::optional<Dim>& element = operand.value->elements[0];
  return element && element->is_constant() ? AttrValue(element->value()) : AttrValue();
}

// The number of elements for a step that is not 0; that of integers is exact.
Checked<Dim> count_between(const AttrValue& start, const AttrValue& stop, const AttrValue& step) {
  double count = 0, numbers[3] = {};
  int64_t integers[3] = {};
  const AttrValue* values[] = {&start, &stop, &step};
  bool exact = true;
  for (size_t k = 0; k < 3; ++k) {
    detail::from_value(*values[k], numbers[k]);
    exact = detail::from_value(*values[k], integers[k]) && exact;
  }
  if (exact) {
    using Wide = __int128;
    const Wide distance = Wide{integers[1]} - integers[0], each = integers[2];
    const Wide rounded_up = (distance + each - (each > 0 ? 1 : -1)) / each;
    if ((distance > 0) != (each > 0) || distance == 0) return Dim(0);
    if (rounded_up < Wide{1} << 62) return Dim(static_cast<int64_t>(rounded_up));
  } else {
    count = std::max(std::ceil((numbers[1] - numbers[0]) / numbers[2]), 0.0);
    if (count < 0x1p62) return Dim(static_cast<int64_t>(count));
  }
  return shape_error("the result has too many elements");
}

// The number of elements if the operands are integers, of which the start and the stop may be expressions of sizes.
std::optional<Dim> count_by_sizes(const Operands& in) {
  std::vector<Dim> values;
  for (const Operand& x : in) {
    if (!is_integer(x.dtype) || !x.value || x.value->elements.size() != 1 || !x.value->elements[0]) return std::nullopt;
    values.push_back(*x.value->elements[0]);
  }
  const auto step = values[2].constant();
  if (!step || *step == 0 || *step == INT64_MIN) return std::nullopt;
  const Dim distance = *step > 0 ? values[1] - values[0] : values[0] - values[1];
  const Dim count = max(floor_div(distance + Dim(std::abs(*step) - 1), std::abs(*step)), 0);
  return count.is_overflow() ? std::nullopt : std::optional(count);
}

TypeResult type_of_arange(const ArangeAttrs& a, const Operands& in) {
  const char* names[] = {"start", "stop", "step"};
  for (size_t k = 0; k < 3; ++k)
    if (auto e = first_of({check_type(in[k], names[k], types::number), check_rank(in[k], names[k], 0)})) return *e;
  if (auto e = check_type({{}, a.dtype}, "dtype", types::number)) return *e;
  const AttrValue start = known_number(a.start, in[0]), stop = known_number(a.stop, in[1]),
                  step = known_number(a.step, in[2]);
  double distance = 1;
  if (detail::from_value(step, distance) && distance == 0) return attribute_error("step must not be 0");
  if (start.is_none() || stop.is_none() || step.is_none())
    return tensor_result({count_by_sizes(in).value_or(unknown_dim())}, a.dtype);
  const Checked<Dim> count = count_between(start, stop, step);
  if (auto* e = std::get_if<TypeError>(&count)) return *e;
  return tensor_result({std::get<Dim>(count)}, a.dtype);
}

// The number of integers in a range as uint64, in which no distance of two int64 wraps. For step 0, any number.
Expr count_of_integers(const Expr& start, const Expr& stop, const Expr& step) {
  const Expr zero = cast(step.type(), Expr(0)), one = tensor::literal(dtype::u64, int64_t{1});
  const Expr rises = step > zero, low = select(rises, start, stop), high = select(rises, stop, start);
  const Expr each = max(cast(dtype::u64, select(rises, step, zero - step)), one);
  const Expr last = cast(dtype::u64, high) - cast(dtype::u64, low) - one;
  return select(low < high, floor_div(last, each) + one, one - one);
}

// The number of elements as int64; -1 if there is none: for step 0, a NaN, and more elements than a tensor may have.
Expr count_of(const Expr& start, const Expr& stop, const Expr& step) {
  const Expr none = tensor::literal(dtype::i64, int64_t{-1});
  if (is_integer(start.type()) && is_integer(stop.type()) && is_integer(step.type())) {
    const bool is_wide =
        std::ranges::all_of(std::vector{start, stop, step}, [](const Expr& x) { return x.type() == dtype::u64; });
    const DType type = is_wide ? dtype::u64 : dtype::i64;
    const Expr count = count_of_integers(cast(type, start), cast(type, stop), cast(type, step));
    const Expr most = tensor::literal(dtype::u64, tensor::max_elements);
    return select(logical_or(equal(step, number(step.type(), 0)), most < count), none, cast(dtype::i64, count));
  }
  auto wide = [](const Expr& x) { return cast(dtype::f64, x); };
  const Expr count = ceil((wide(stop) - wide(start)) / wide(step)), zero = number(dtype::f64, 0);
  const Expr most = number(dtype::f64, static_cast<double>(tensor::max_elements));
  const Expr valid = logical_and(not_equal(wide(step), zero), count <= most);  // not for a NaN
  return select(valid, cast(dtype::i64, max(count, zero)), none);
}

TensorFunction define_arange(const ArangeAttrs& a, const Operands& in, const Shape& result) {
  Definition d("arange");
  const Tensor start = d.input("start", in[0].dtype, {}), stop = d.input("stop", in[1].dtype, {}),
               step = d.input("step", in[2].dtype, {});
  d.require_next([&](Index) { return equal(count_of(scalar(start), scalar(stop), scalar(step)), Expr(result[0])); },
                 tensor::Status::shape_mismatch);
  const bool integral = is_integer(in[0].dtype) && is_integer(in[2].dtype) && is_integer(a.dtype);
  const DType type = integral ? dtype::i64 : dtype::f64;
  d.result("result", a.dtype, result,
           [&](Index i) { return cast(type, scalar(start)) + cast(type, i[0]) * cast(type, scalar(step)); });
  return d.finish();
}

std::vector<Expr> sizes_of_arange(const ArangeAttrs&, const Operands&, const std::vector<Tensor>& operands,
                                  Definition&) {
  return {count_of(scalar(operands[0]), scalar(operands[1]), scalar(operands[2]))};
}

}  // namespace

void arange(OperatorTable& table) {
  using A = ArangeAttrs;
  table.add<A>({
      .name = "arange",
      .summary = "the numbers start, start + step, ... before stop",
      .attributes = {{"start", &A::start, "the operand start, if it is known"},
                     {"stop", &A::stop, "the operand stop, if it is known"},
                     {"step", &A::step, "the operand step, if it is known"},
                     {"dtype", &A::dtype, "the element type", true}},
      .arguments = {"start", "stop", "step"},
      .type = type_of_arange,
      .compute_as = define_arange,
      .sizes = sizes_of_arange,
      .sample_shapes = {{}},
      .sample_attrs = {{"start", 0}, {"stop", 3}, {"step", 1}},
  });
}

}  // namespace dlcc::relay::ops
