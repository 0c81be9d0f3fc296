// Operands that determine sizes. Operands with known values become attributes. Otherwise the definition is for a result
// of declared shape, and operands that give another shape end the run with status shape_mismatch.
#include "operators.h"
#include "relay/call_type.h"

using namespace dlcc;
using namespace dlcc::relay;
using tensor::Status;

namespace {

// Checks a call whose operands give the result the shape `result`.
tensor::EvaluationResult evaluate_as(const std::string& name, const std::vector<int64_t>& result, const Attrs& attrs,
                                     const std::vector<Constant>& args) {
  const Operands types = types_of(args);
  const Type type = type_of_call(name, attrs, types);
  return evaluate_definition(op(name)->compute_as(attrs, types, tensor_type(result, as<TensorType>(type)->dtype)),
                             args);
}

void check_as(const std::string& name, const std::vector<int64_t>& result, const Attrs& attrs,
              const std::vector<Constant>& args, const Values& expected) {
  auto r = evaluate_as(name, result, attrs, args);
  CHECK(r.status == Status::ok);
  check_values(r.results.at(0), result, expected);
}

Status status_as(const std::string& name, const std::vector<int64_t>& result, const Attrs& attrs,
                 const std::vector<Constant>& args) {
  return evaluate_as(name, result, attrs, args).status;
}

KnownValue known(std::vector<std::optional<Dim>> elements) {
  auto value = std::make_shared<tensor::SymbolicTensor>();
  value->shape = {static_cast<int64_t>(elements.size())};
  value->elements = std::move(elements);
  return value;
}

// The type of a call with a list operand of this value, and the attributes that replace the operand.
std::string typed(const std::string& name, const Attrs& attrs, const TensorType& data,
                  std::vector<std::optional<Dim>> elements) {
  const auto length = static_cast<int64_t>(elements.size());
  auto call = type_call(*op(name), attrs, {data, {i64({length}), known(std::move(elements))}});
  if (auto* e = std::get_if<TypeError>(&call)) return e->message;
  const TypedCall& c = std::get<TypedCall>(call);
  std::string text = str(c.type);
  if (c.operands == 1)
    for (const auto& [key, value] : c.attrs) text += fmt::format(" {}={}", key, str(value));
  return text;
}

const Dim n = size_symbol("n"), m = size_symbol("m"), unknown = size_symbol("?1");

// The sizes of all axes of the result, computed from the operands after the first `arguments`.
Values sizes_of(const std::string& name, const Attrs& attrs, const std::vector<Constant>& args, size_t arguments = 1) {
  Operands types;
  for (const Constant& c : args) types.push_back({shape_of(c.shape()), c.dtype()});
  const TypeResult type = op(name)->type(attrs, types);
  std::vector<size_t> axes;
  for (size_t k = 0; k < as<TensorType>(std::get<Type>(type))->shape.size(); ++k) axes.push_back(k);
  const tensor::TensorFunction f = op(name)->sizes(attrs, types, axes);
  Diagnostics diagnostics;
  CHECK_MESSAGE(tensor::verify(f, diagnostics), diagnostics.str());
  auto r = tensor::evaluate(f, std::span(args).subspan(arguments));
  CHECK(r.status == Status::ok);
  Values sizes;
  for (int64_t k = 0; k < r.results[0].count(); ++k) sizes.push_back(r.results[0].integer_at(k));
  return sizes;
}

}  // namespace

TEST_CASE("reshape with an operand as shape: results, and shape_mismatch for other shapes") {
  Constant x = floats({2, 3}, counting(6));
  for (Values sizes : std::vector<Values>{{2, 1, 3}, {0, 1, 3}, {-1, 1, 3}, {2, 1, -1}, {0, -1, 3}})
    check_as("reshape", {2, 1, 3}, {}, {x, ints(sizes)}, counting(6));
  for (Values sizes : std::vector<Values>{{1, 2, 3}, {2, 0, 3}, {-1, -1, 3}, {2, 1, 0}})
    CHECK(status_as("reshape", {2, 1, 3}, {}, {x, ints(sizes)}) == Status::shape_mismatch);
  CHECK(status_as("reshape", {2, 1, 3}, {}, {x, ints({-2, 1, 3})}) == Status::dimension_out_of_range);
  CHECK(status_as("reshape", {2, 4}, {}, {x, ints({2, 4})}) == Status::shape_mismatch);
  CHECK(error_of("reshape", {}, {f32({2, 3}), i64({})}) == "shape-mismatch: newshape must have 1 dimension, found 0");
  CHECK(error_of("reshape", {}, {f32({2, 3}), i64({n})}) ==
        "dynamic-shape: the length of newshape must be known at compile time");
  CHECK(error_of("reshape", {}, {f32({2, 3})}) == "bad-attribute: attribute 'newshape' is missing");
  CHECK(error_of("reshape", {{"newshape", list({6})}}, {f32({2, 3}), i64({1})}) ==
        "bad-attribute: 'newshape' is given as an operand and as an attribute");
}

TEST_CASE("only the attribute of reshape has codes for axes of the data") {
  CHECK(str(type_of_call("reshape", {{"newshape", list({-3, 1})}}, {f32({4, 6})})) == "Tensor[(24, 1), float32]");
  CHECK(typed("reshape", {}, f32({4, 6}), {Dim(-3), Dim(1)}) ==
        "newshape[0] is -3, but the least value in an operand is -1");
}

TEST_CASE("a shape operand of reshape with known elements becomes the attribute") {
  CHECK(typed("reshape", {}, f32({n, 768}), {n, 12, 64}) == "Tensor[(n, 12, 64), float32] newshape=[n, 12, 64]");
  CHECK(typed("reshape", {}, f32({n * m, 768}), {n, m, -1}) == "Tensor[(n, m, 768), float32] newshape=[n, m, -1]");
  CHECK(typed("reshape", {}, f32({n, 6}), {-1, 4}) == "Tensor[(floor_div(3 * n, 2), 4), float32] newshape=[-1, 4]");
  CHECK(typed("reshape", {}, f32({n, 6}), {m, 6}) == "Tensor[(m, 6), float32] newshape=[m, 6]");
  CHECK(typed("reshape", {}, f32({n, 6}), {{}, 3}) == "Tensor[(2 * n, 3), float32]");
  CHECK(typed("reshape", {}, f32({n, 6}), {{}, {}, 3}) == "Tensor[(?, ?, 3), float32]");
  // A size that may be 0 may stand for the data's size.
  CHECK(typed("reshape", {}, f32({n, 6}), {unknown, 2, 3}) == "Tensor[(n, 2, 3), float32] newshape=[?1, 2, 3]");
  CHECK(typed("reshape", {}, f32({n, 6}), {unknown, m, 3}) ==
        "Tensor[(floor_div(2 * n, m), m, 3), float32] newshape=[?1, m, 3]");
  CHECK(typed("reshape", {}, f32({unknown, 6}), {unknown, 2, 3}) == "Tensor[(?1, 2, 3), float32] newshape=[?1, 2, 3]");
  CHECK(typed("reshape", {{"allowzero", true}}, f32({n, 6}), {unknown, m, 3}) ==
        "Tensor[(?1, m, 3), float32] allowzero=True newshape=[?1, m, 3]");
  // With allowzero, a symbolic dim of the attribute is a size, not -1: here the number of windows in n elements.
  const Dim windows = floor_div(n - Dim(8), 3) + Dim(1);
  const TensorType pairs_of_windows = f32({windows * windows, 8});
  CHECK(typed("reshape", {{"allowzero", true}}, pairs_of_windows, {windows, windows, 8}).starts_with("Tensor[(floor"));
  // Without it, too, unless the other sizes tell it: a run in which it is 0 or -1 is rejected.
  CHECK(typed("reshape", {}, pairs_of_windows, {windows, windows, 8}).starts_with("Tensor[(floor_div"));
  CHECK(typed("reshape", {}, f32({unknown * 12}), {unknown, 3, 4}) ==
        "Tensor[(?1, 3, 4), float32] newshape=[?1, 3, 4]");
  CHECK(typed("reshape", {}, f32({n, unknown * n}), {unknown, n, n}) ==
        "Tensor[(?1, n, n), float32] newshape=[?1, n, n]");
  CHECK(typed("reshape", {}, f32({n, 6}), {n + 1, 6}).starts_with("the element count of (n + 1, 6) must equal"));
  CHECK(typed("reshape", {}, f32({4}), {3, -1}).starts_with("no size in place of -1 fits"));
}

TEST_CASE("a reshape of symbolic sizes requires equal numbers of elements") {
  Constant x = floats({2, 6}, counting(12));
  tensor::TensorFunction f = op("reshape")->compute({{"newshape", list({-1, 4})}}, {f32({n, 6})});
  REQUIRE(f.stages[0].requirements.size() == 1);
  CHECK(print(f.stages[0].requirements[0].condition) == "4 * floordiv(3 * n, 2) == 6 * n");
}

TEST_CASE("a symbolic size of reshape that is 0 must be the size of the data, which 0 means") {
  const Dim k = Dim::symbol({"k"});
  const auto conditions = [&](const Shape& data, const Shape& sizes) {
    AttrList newshape(sizes.size());
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      newshape[axis].v = sizes[axis];
      if (sizes[axis].is_constant()) newshape[axis].v = sizes[axis].value();
    }
    tensor::TensorFunction f = op("reshape")->compute({{"newshape", newshape}}, {f32(data)});
    std::string texts;
    for (const tensor::Requirement& r : f.stages[0].requirements) texts += print(r.condition) + ";";
    return texts;
  };
  CHECK(conditions({k, 12}, {k, 3, 4}) == "");
  CHECK(conditions({n, k * 3}, {n, k, 3}) == "k != 0 or 3 * k == k;");
  CHECK(conditions({n * k, 4}, {n, k, 4}) == "k != 0 or 4 == k;");
  CHECK(conditions({n * k}, {n, k}) == "k != 0;");
}

TEST_CASE("squeeze and expand_dims with the axes as operand") {
  Constant x = floats({1, 3, 1}, {1, 2, 3});
  check_as("squeeze", {3, 1}, {}, {x, ints({0})}, {1, 2, 3});
  check_as("squeeze", {3, 1}, {}, {x, ints({-3})}, {1, 2, 3});
  check_as("squeeze", {3}, {}, {x, ints({2, 0})}, {1, 2, 3});
  CHECK(status_as("squeeze", {3, 1}, {}, {x, ints({2})}) == Status::shape_mismatch);
  CHECK(status_as("squeeze", {3, 1}, {}, {x, ints({1})}) == Status::shape_mismatch);
  CHECK(status_as("squeeze", {3}, {}, {x, ints({2, -1})}) == Status::shape_mismatch);
  CHECK(status_as("squeeze", {3, 1}, {}, {x, ints({7})}) == Status::shape_mismatch);
  CHECK(type_of("squeeze", {}, {f32({1, n, 1}), i64({1})}) == "Tensor[(?, ?), float32]");
  CHECK(error_of("squeeze", {}, {f32({1}), i64({2})}) == "shape-mismatch: axis names more than the 1 axes of the data");
  CHECK(typed("squeeze", {}, f32({1, n, 1}), {0, -1}) == "Tensor[(n), float32] axis=[0, -1]");

  Constant y = floats({3}, {1, 2, 3});
  check_as("expand_dims", {1, 3, 1}, {}, {y, ints({0, -1})}, {1, 2, 3});
  CHECK(status_as("expand_dims", {1, 3, 1}, {}, {y, ints({0, 1})}) == Status::shape_mismatch);
  CHECK(status_as("expand_dims", {1, 3, 1}, {}, {y, ints({0, 0})}) == Status::shape_mismatch);
  CHECK(type_of("expand_dims", {}, {f32({1}), i64({1})}) == "Tensor[(1, 1), float32]");
  CHECK(type_of("expand_dims", {}, {f32({n}), i64({1})}) == "Tensor[(?, ?), float32]");
  CHECK(typed("expand_dims", {}, f32({n, 2}), {0, 2}) == "Tensor[(1, n, 1, 2), float32] axis=[0, 2]");
  check_values(apply("expand_dims", {{"axis", list({-1, 0})}}, {y}), {1, 3, 1}, {1, 2, 3});
  CHECK(error_of("expand_dims", {{"axis", list({0, 3})}}, {f32({2})}) ==
        "bad-attribute: axis must be in [-3, 2], found 3");
  for (const char* name : {"expand_dims", "squeeze"})
    CHECK(error_of(name, {}, {f32({2}), i64({2'000'000'000})}) ==
          "shape-mismatch: axis has 2000000000 elements, more than any rank");
}

TEST_CASE("broadcast_to and full with the shape as operand") {
  Constant x = floats({2, 1}, {1, 2});
  for (Values sizes : std::vector<Values>{{2, 2}, {1, 2}, {2}})
    check_as("broadcast_to", {2, 2}, {}, {x, ints(sizes)}, {1, 1, 2, 2});
  CHECK(status_as("broadcast_to", {2, 2}, {}, {x, ints({2, 1})}) == Status::shape_mismatch);
  CHECK(status_as("broadcast_to", {2, 2}, {}, {x, ints({3, 2})}) == Status::shape_mismatch);
  check_values(apply("broadcast_to", {{"shape", list({1, 2})}}, {x}), {2, 2}, {1, 1, 2, 2});
  CHECK(typed("broadcast_to", {}, f32({n, 1}), {1, m, 1}) == "Tensor[(1, max(m, n), 1), float32] shape=[1, m, 1]");
  CHECK(typed("broadcast_to", {}, f32({n, 1}), {n, m}) == "Tensor[(n, m), float32] shape=[n, m]");
  CHECK(typed("broadcast_to", {}, f32({n, 5}), {{}, {}}) == "Tensor[(?, 5), float32]");
  CHECK(typed("broadcast_to", {}, f32({3, 1}), {2, 2}) == "shape (3, 1) cannot be broadcast to (2, 2)");

  check_as("full", {2, 2}, {}, {floats({}, {7}), ints({2, 2})}, {7, 7, 7, 7});
  CHECK(status_as("full", {2, 2}, {}, {floats({}, {7}), ints({2, 1})}) == Status::shape_mismatch);
  check_as("zeros", {2}, {{"dtype", "float32"}}, {ints({2})}, {0, 0});
  CHECK(typed("full", {}, f32({}), {n, 2}) == "Tensor[(n, 2), float32] shape=[n, 2]");
  CHECK(typed("full", {}, f32({}), {{}, 2}) == "Tensor[(?, 2), float32]");
}

TEST_CASE("strided_slice with its bounds as operands") {
  Constant x = floats({5}, counting(5));
  auto slice = [&](int64_t count, double begin, double end, double stride) {
    return evaluate_as("strided_slice", {count}, {}, {x, ints({begin}), ints({end}), ints({stride})});
  };
  auto min = static_cast<double>(INT64_MIN), max = 9e18;
  check_values(slice(3, 1, 4, 1).results.at(0), {3}, {1, 2, 3});
  check_values(slice(2, -3, max, 2).results.at(0), {2}, {2, 4});
  check_values(slice(5, -1, min, -1).results.at(0), {5}, {4, 3, 2, 1, 0});
  check_values(slice(2, 100, 0, -2).results.at(0), {2}, {4, 2});
  check_values(slice(1, 0, max, max).results.at(0), {1}, {0});
  check_values(slice(1, -1, min, min).results.at(0), {1}, {4});
  CHECK(slice(3, 1, 3, 1).status == Status::shape_mismatch);
  CHECK(slice(3, 4, 1, 1).status == Status::shape_mismatch);
  CHECK(slice(3, 1, 4, 0).status == Status::shape_mismatch);
  Constant y = floats({2, 3}, counting(6));
  Attrs last = {{"axes", list({-1})}};
  check_as("strided_slice", {2, 1}, last, {y, ints({2}), ints({3}), ints({1})}, {2, 5});
  CHECK(status_as("strided_slice", {1, 1}, last, {y, ints({2}), ints({3}), ints({1})}) == Status::shape_mismatch);
  CHECK(error_of("strided_slice", last, {f32({2, 3}), i64({n}), i64({1}), i64({1})}) ==
        "dynamic-shape: the length of begin must be known at compile time");
}

TEST_CASE("the size of a slice with symbolic bounds") {
  auto slice = [](const Dim& extent, std::optional<Dim> begin, std::optional<Dim> end, std::optional<Dim> stride = 1) {
    auto bound = [](std::optional<Dim> value) { return Operand(i64({1}), known({std::move(value)})); };
    auto call = type_call(*op("strided_slice"), {}, {f32({extent}), bound(begin), bound(end), bound(stride)});
    return str(std::get<TypedCall>(call).type);
  };
  CHECK(slice(n, 0, INT64_MAX) == "Tensor[(n), float32]");
  CHECK(slice(n, 0, INT32_MAX) == "Tensor[(n), float32]");
  CHECK(slice(n, INT64_MAX, INT64_MIN, -1) == "Tensor[(n), float32]");
  CHECK(slice(n, 1, INT64_MAX) == "Tensor[(n - 1), float32]");
  CHECK(slice(n, 0, -1) == "Tensor[(n - 1), float32]");
  CHECK(slice(n, 0, n) == "Tensor[(n), float32]");
  CHECK(slice(n + m, n, n + m) == "Tensor[(m), float32]");
  CHECK(slice(512, 0, n) == "Tensor[(min(n, 512)), float32]");
  CHECK(slice(n * 2, 0, INT64_MAX, 2) == "Tensor[(n), float32]");
  CHECK(slice(unknown, 1, INT64_MAX) == "Tensor[(max(0, ?1 - 1)), float32]");
  CHECK(slice(unknown, 0, -1) == "Tensor[(max(0, ?1 - 1)), float32]");
  CHECK(slice(unknown, 1, -2) == "Tensor[(max(0, ?1 - 3)), float32]");
  CHECK(slice(max(unknown - 3, 0), 1, -2) == "Tensor[(max(0, ?1 - 6)), float32]");
  CHECK(slice(max(unknown - 3, 1), 1, -2) == "Tensor[(max(0, max(?1 - 3, 1) - 3)), float32]");
  CHECK(slice(n, {}, INT64_MAX) == "Tensor[(?), float32]");
  CHECK(slice(n, n - 3, INT64_MAX) == "Tensor[(?), float32]");  // n - 3 may count from the end
  CHECK(slice(n, -1, INT64_MAX) == "Tensor[(1), float32]");
  CHECK(slice(unknown, -1, INT64_MAX) == "Tensor[(min(?1, 1)), float32]");
  CHECK(slice(unknown, -3, INT64_MAX) == "Tensor[(min(?1, 3)), float32]");
  CHECK(slice(unknown, unknown - 1, unknown) == "Tensor[(min(?1, 1)), float32]");
  CHECK(slice(unknown, -1, -2, -1) == "Tensor[(min(?1, 1)), float32]");
}

TEST_CASE("the size of a slice of an axis that may be empty, and its bound, agree with the definition") {
  const auto bounds = [](int64_t k) { return std::vector<Dim>{k, unknown + k, INT64_MAX, INT64_MIN}; };
  const auto check = [](const Dim& begin, const Dim& end, int64_t stride) {
    const std::string name = fmt::format("[{}:{}:{}]", begin.str(), end.str(), stride);
    CAPTURE(name);
    const Attrs attrs = {{"begin", sizes_attribute({begin})},
                         {"end", sizes_attribute({end})},
                         {"strides", sizes_attribute({stride})}};
    const Operands data = {f32({unknown})};
    const Dim size = as<TensorType>(type_of_call("strided_slice", attrs, data))->shape[0];
    const Dim largest = op("strided_slice")->largest_sizes(attrs, data)[0];
    for (int64_t extent = 0; extent < 6; ++extent) {
      CAPTURE(extent);
      const std::map<std::string, int64_t> at = {{"?1", extent}};
      const Attrs numbers = {{"begin", list({*begin.evaluate(at)})},
                             {"end", list({*end.evaluate(at)})},
                             {"strides", list({stride})}};
      const Dim expected = as<TensorType>(type_of_call("strided_slice", numbers, {f32({extent})}))->shape[0];
      CHECK(expected.value() <= *largest.evaluate(at));
      if (!(size == unknown_dim())) CHECK(expected.value() == *size.evaluate(at));
    }
  };
  for (int64_t first = -3; first < 4; ++first)
    for (int64_t last = -3; last < 4; ++last)
      for (const Dim& begin : bounds(first))
        for (const Dim& end : bounds(last))
          for (int64_t stride : {1, 2, -1, -3}) check(begin, end, stride);
}

TEST_CASE("nn.pad with the widths as operand") {
  Constant x = floats({1, 2}, {1, 2}), zero = floats({}, {0});
  check_as("nn.pad", {1, 5}, {}, {x, zero, ints({2, 2}, {0, 0, 1, 2})}, {0, 1, 2, 0, 0});
  check_as("nn.pad", {1, 5}, {}, {x, zero, ints({2, 2}, {0, 0, -1, 4})}, {2, 0, 0, 0, 0});
  CHECK(status_as("nn.pad", {1, 5}, {}, {x, zero, ints({2, 2}, {0, 0, 1, 1})}) == Status::shape_mismatch);
  CHECK(status_as("nn.pad", {1, 5}, {}, {x, zero, ints({2, 2}, {1, -1, 1, 2})}) == Status::ok);
  Attrs mode = {{"pad_mode", "edge"}};
  check_as("nn.pad", {1, 5}, mode, {x, zero, ints({2, 2}, {0, 0, 2, 1})}, {1, 1, 1, 2, 2});
  mode["pad_mode"] = "reflect";
  check_as("nn.pad", {1, 5}, mode, {x, zero, ints({2, 2}, {0, 0, 2, 1})}, {1, 2, 1, 2, 1});
  mode["pad_mode"] = "wrap";
  const Constant three = floats({1, 3}, {1, 2, 3});
  check_as("nn.pad", {1, 4}, mode, {three, zero, ints({2, 2}, {0, 0, -1, 2})}, {2, 3, 2, 3});
  check_as("nn.pad", {1, 4}, mode, {three, zero, ints({2, 2}, {0, 0, 2, -1})}, {1, 2, 1, 2});
  CHECK(status_as("nn.pad", {1, 4}, mode, {three, zero, ints({2, 2}, {0, 0, -3, 4})}) == Status::shape_mismatch);
  CHECK(error_of("nn.pad", {}, {f32({1, 2}), f32({}), i64({3})}) ==
        "shape-mismatch: pad_width must have shape (2, 2), found (3)");
  CHECK(type_of("nn.pad", {}, {f32({n}), f32({}), i64({1, 2})}) == "Tensor[(?), float32]");
  auto widths = std::make_shared<tensor::SymbolicTensor>();
  widths->shape = {1, 2};
  widths->elements = {m, 1};
  auto call = type_call(*op("nn.pad"), {}, {f32({n}), f32({}), {i64({1, 2}), widths}});
  CHECK(str(std::get<TypedCall>(call).type) == "Tensor[(m + n + 1), float32]");
  CHECK(str(std::get<TypedCall>(call).attrs.at("pad_width")) == "[[m, 1]]");
}

TEST_CASE("an axis that is empty in the run has no elements for a result that is not") {
  // The status for a number of elements of the axes of size `unknown`.
  auto status = [](const std::string& name, const Attrs& attrs, const Operands& types, std::vector<Constant> args,
                   double size) {
    args.push_back(ints({}, {size}));
    return evaluate_definition(op(name)->compute(attrs, types), args).status;
  };
  const Constant zero = floats({}, {0}), none = floats({0}, {}), two = floats({2}, {1, 2});
  for (const char* mode : {"edge", "wrap", "reflect", "symmetric"}) {
    const Attrs widths = {{"pad_width", AttrList{list({1, 1})}}, {"pad_mode", mode}};
    CHECK(status("nn.pad", widths, {f32({unknown}), f32({})}, {none, zero}, 0) == Status::shape_mismatch);
    CHECK(status("nn.pad", widths, {f32({unknown}), f32({})}, {two, zero}, 2) == Status::ok);
    const Attrs rows = {{"pad_width", AttrList{list({1, 1}), list({0, 0})}}, {"pad_mode", mode}};  // without elements
    CHECK(status("nn.pad", rows, {f32({unknown, 0}), f32({})}, {floats({0, 0}, {}), zero}, 0) == Status::ok);
  }
  for (const char* method : {"linear", "nearest_neighbor"}) {
    const Attrs size = {{"size", list({4, 4})}, {"method", method}},
                none = {{"size", list({0, 2})}, {"method", method}};
    CHECK(status("image.resize", size, {f32({2, unknown})}, {floats({2, 0}, {})}, 0) == Status::shape_mismatch);
    CHECK(status("image.resize", size, {f32({2, unknown})}, {floats({2, 1}, {1, 2})}, 1) == Status::ok);
    CHECK(status("image.resize", none, {f32({unknown, 2})}, {floats({0, 2}, {})}, 0) == Status::ok);
  }
  const Operands line = {f32({1, 1, unknown}), f32({1, 1, 2})};
  const std::vector<Constant> samples = {floats({1, 1, 0}, {}), floats({1, 1, 2}, {0, 5})};
  CHECK(status("image.grid_sample", {{"padding_mode", "border"}}, line, samples, 0) == Status::shape_mismatch);
  CHECK(status("image.grid_sample", {{"padding_mode", "zeros"}}, line, samples, 0) == Status::ok);
  const std::vector<Constant> boxes = {floats({1, 1, 2, 0}, {}), floats({1, 4}, {0, 0, 1, 1}), ints({0})};
  for (int samples_of_bin : {0, 1}) {
    const Attrs bins = {{"pooled_size", list({1, 1})}, {"sample_ratio", samples_of_bin}};
    CHECK(status("vision.roi_align_indexed", bins, {f32({1, 1, 2, unknown}), f32({1, 4}), i64({1})}, boxes, 0) ==
          Status::shape_mismatch);
  }
}

TEST_CASE("reductions with the axes as operand") {
  Constant x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  Attrs keep = {{"keepdims", true}};
  check_as("sum", {1, 3}, keep, {x, ints({0})}, {5, 7, 9});
  check_as("mean", {1, 3}, keep, {x, ints({-2})}, {2.5, 3.5, 4.5});
  CHECK(status_as("sum", {1, 3}, keep, {x, ints({1})}) == Status::shape_mismatch);
  CHECK(status_as("sum", {1, 3}, keep, {x, ints({5})}) == Status::shape_mismatch);
  CHECK(status_as("sum", {7}, {}, {x, ints({1})}) == Status::shape_mismatch);
  check_as("max", {2}, {}, {x, ints({1})}, {3, 6});
  check_as("min", {}, {}, {x, ints({1, 0})}, {1});
  CHECK(status_as("min", {}, {}, {x, ints({1, -1})}) == Status::shape_mismatch);
  check_as("sum", {2}, {{"exclude", true}}, {x, ints({0})}, {6, 15});

  Constant square = floats({2, 2}, {1, 2, 3, 4});  // two sets of axes give the same shape
  check_as("sum", {2}, {}, {square, ints({0})}, {4, 6});
  check_as("sum", {2}, {}, {square, ints({1})}, {3, 7});
  Constant y = floats({1, 1, 2}, {1, 2});  // two sets of axes give the same values
  check_as("sum", {1, 2}, {}, {y, ints({0})}, {1, 2});
  check_as("sum", {1, 2}, {}, {y, ints({1})}, {1, 2});
  CHECK(status_as("sum", {1, 2}, {}, {y, ints({2})}) == Status::shape_mismatch);
  CHECK(type_of("sum", keep, {f32({n, 1}), i64({1})}) == "Tensor[(?, 1), float32]");
  CHECK(error_of("sum", {}, {f32({3, 3}), f32({1})}).starts_with("unsupported-type: axis must be"));
  CHECK(typed("sum", {}, f32({n, 4}), {-1}) == "Tensor[(n), float32] axis=[-1]");
}

static Dim broadcast_size(const Dim& a, const Dim& b) {
  return as<TensorType>(std::get<Type>(op("add")->type({}, {f32({a}), f32({b})})))->shape[0];
}

TEST_CASE("broadcasting of symbolic sizes that may be 1") {
  auto sum = [](const Dim& a, const Dim& b) { return type_of("add", {}, {f32({a}), f32({b})}); };
  CHECK(sum(n, 1) == "Tensor[(n), float32]");
  CHECK(sum(n, 7) == "Tensor[(7), float32]");
  CHECK(sum(n, m) == "Tensor[(max(m, n)), float32]");
  CHECK(sum(unknown, m) == "Tensor[(min(?1, 1) * max(?1, m)), float32]");
  CHECK(sum(n - 2, max(0, n - 2)) == "Tensor[(n - 2), float32]");
  CHECK(sum(max(0, n - 2), n - 2) == "Tensor[(n - 2), float32]");
  CHECK(op("add")->compute({}, {f32({n - 2}), f32({max(0, n - 2)})}).stages[0].requirements.empty());
  const Dim a = Dim::symbol({"a", 0}), b = Dim::symbol({"b", 0});
  CHECK(sum(a, n) == "Tensor[(min(a, 1) * max(a, n)), float32]");
  const Dim both = broadcast_size(a, b);
  for (const auto& [x, y, size] :
       {std::array{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 1}, {1, 4, 4}, {4, 1, 4}, {4, 4, 4}})
    CHECK(both.evaluate({{"a", x}, {"b", y}}) == size);
  CHECK(sum(n + 1, n + 2).starts_with("shapes (n + 1) and (n + 2) cannot be broadcast"));
  tensor::TensorFunction f = op("add")->compute({}, {f32({n}), f32({m})});
  REQUIRE(f.stages[0].requirements.size() == 2);
  CHECK(print(f.stages[0].requirements[0].condition) == "n == 1 or n == max(m, n)");
  CHECK(print(f.stages[0].values[0]) == "lhs[min(i0, n - 1)] + rhs[min(i0, m - 1)]");
}

TEST_CASE("operators compute the sizes of their results from elements of operands, without overflow") {
  constexpr double far = 0x1p62;
  const Constant x = floats({2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(sizes_of("reshape", {}, {x, ints({3, -1})}) == Values{3, 4});
  CHECK(sizes_of("reshape", {}, {x, ints({0, 2, -1})}) == Values{2, 2, 3});
  CHECK(sizes_of("reshape", {{"allowzero", true}}, {x, ints({0, 2})}) == Values{0, 2});
  CHECK(sizes_of("reshape", {}, {x, ints({far, -1})}) == Values{far, 0});
  CHECK(sizes_of("broadcast_to", {}, {x, ints({4, 1, 1})}) == Values{4, 2, 6});
  CHECK(sizes_of("broadcast_to", {}, {x, ints({6})}) == Values{2, 6});
  CHECK(sizes_of("tile", {}, {x, ints({2, 0})}) == Values{4, 0});
  CHECK(sizes_of("tile", {}, {x, ints({3, 1, 2})}) == Values{3, 2, 12});
  CHECK(sizes_of("tile", {}, {x, ints({-5, far})})[0] < 0);
  CHECK(sizes_of("tile", {}, {x, ints({-5, far})})[1] > int64_t{1} << 40);
  const Constant zero = floats({}, {0});
  CHECK(sizes_of("nn.pad", {}, {x, zero, Constant::of<int64_t>(dtype::i64, {2, 2}, {1, 2, -1, -2})}, 2) ==
        Values{5, 3});
  const Constant huge = Constant::of<int64_t>(dtype::i64, {2, 2}, {INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN});
  CHECK(sizes_of("nn.pad", {}, {x, zero, huge}, 2)[0] > int64_t{1} << 40);
  CHECK(sizes_of("nn.pad", {}, {x, zero, huge}, 2)[1] < 0);
  auto slice = [&](const Values& begin, const Values& end, const Values& strides) {
    return sizes_of("strided_slice", {}, {x, ints(begin), ints(end), ints(strides)});
  };
  CHECK(slice({0, 1}, {1, 5}, {1, 2}) == Values{1, 2});
  CHECK(slice({-1, -2}, {far, -far}, {1, -1}) == Values{1, 5});
  CHECK(slice({5, 0}, {9, 9}, {1, 100}) == Values{0, 1});
  CHECK(slice({-far, 0}, {far, 9}, {far, 0})[0] == 1);
  CHECK(sizes_of("full", {}, {zero, ints({4, 0, -7})}) == Values{4, 0, -7});
  CHECK(sizes_of("iota", {{"dtype", "int64"}}, {ints({5})}, 0) == Values{5});
  CHECK(sizes_of("prefix", {}, {x, ints({1})}) == Values{1, 6});
  CHECK(sizes_of("image.resize", {}, {x, ints({4, 3})}) == Values{4, 3});
  CHECK(sizes_of("nn.col2im", {}, {floats({1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), ints({2, 3}), ints({2, 2})}) ==
        Values{1, 1, 2, 3});
}
