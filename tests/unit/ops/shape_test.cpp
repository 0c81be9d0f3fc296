// Operators that move elements: reshape, transpose, slices, padding, concatenation, taking by index, filling.
#include "operators.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::relay;
using tensor::Status;

namespace {

// The index at which a data-moving definition reads its first operand.
std::string read_index(const std::string& name, const Attrs& attrs, const Operands& types) {
  tensor::TensorFunction f = op(name)->compute(attrs, types);
  std::vector<tensor::Load> loads = tensor::loads_of(f.stages[0].values[0]);
  std::string text;
  for (const tensor::Expr& index : loads.at(0).indices) text += (text.empty() ? "" : ", ") + tensor::print(index);
  return text;
}

}  // namespace

TEST_CASE("reshape keeps the order of elements") {
  Constant x = floats({2, 3, 4}, counting(24));
  for (auto shape :
       std::vector<std::vector<int64_t>>{{24}, {4, 6}, {6, 4}, {2, 12}, {2, 2, 3, 2}, {1, 2, 3, 1, 4}, {3, 8}, {8, 3}})
    check_values(apply("reshape", {{"newshape", list(shape)}}, {x}), shape, counting(24));
  check_values(apply("reshape", {{"newshape", list({0, -1})}}, {x}), {2, 12}, counting(24));
  check_values(apply("reshape", {{"newshape", list({-1})}}, {floats({}, {5})}), {1}, {5});
  check_values(apply("reshape", {{"newshape", AttrList{}}}, {floats({1, 1}, {5})}), {}, {5});
  check_values(apply("reshape", {{"newshape", list({3, 0})}, {"allowzero", true}}, {floats({0, 7}, {})}), {3, 0}, {});
  check_values(apply("reshape", {{"newshape", list({0, -1})}}, {floats({2, 0}, {})}), {2, 0}, {});
  check_values(apply("nn.batch_flatten", {}, {x}), {2, 12}, counting(24));
}

TEST_CASE("reshape with TVM's codes for axes of the data") {
  const Constant x = floats({2, 3, 4}, counting(24));
  auto shape_of_result = [&](std::vector<int64_t> newshape, std::vector<int64_t> expected) {
    check_values(apply("reshape", {{"newshape", list(std::move(newshape))}}, {x}), std::move(expected), counting(24));
  };
  shape_of_result({-2}, {2, 3, 4});
  shape_of_result({2, -2}, {2, 3, 4});
  shape_of_result({-2, 1, 1}, {2, 3, 4, 1, 1});
  shape_of_result({-3, 4}, {6, 4});
  shape_of_result({0, -3}, {2, 12});
  shape_of_result({-4, 1, 2, -2}, {1, 2, 3, 4});
  shape_of_result({2, -4, -1, 3, -2}, {2, 1, 3, 4});
  shape_of_result({-3, -1}, {6, 4});
  CHECK(error_of("reshape", {{"newshape", list({0, 0, -3})}}, types_of({x})) ==
        "bad-attribute: newshape[2] is -3, but the data has only 3 dimensions");
  CHECK(error_of("reshape", {{"newshape", list({-2, -4, 2})}}, types_of({x})) ==
        "bad-attribute: newshape[1] is -4, but the data has only 3 dimensions");
  CHECK(error_of("reshape", {{"newshape", list({-4, 2})}}, types_of({x})) ==
        "bad-attribute: newshape[0] is -4, behind which two sizes must be");
}

TEST_CASE("reshape keeps the index of unchanged dimensions without division") {
  CHECK(read_index("reshape", {{"newshape", list({2, 12, 5})}}, {f32({2, 3, 4, 5})}) ==
        "i0, floordiv(i1, 4), floormod(i1, 4), i2");
  CHECK(read_index("reshape", {{"newshape", list({2, 3, 4, 5})}}, {f32({2, 12, 5})}) == "i0, i1 * 4 + i2, i3");
  CHECK(read_index("reshape", {{"newshape", list({1, 2, 1, 3})}}, {f32({2, 3, 1})}) == "i1, i3, 0");
}

TEST_CASE("reshape of symbolic sizes divides a dimension into those that it is at least") {
  const Dim h = Dim::symbol({"h", 1}), w = Dim::symbol({"w", 1});
  auto index = [&](const Shape& from, const Shape& to) {
    return read_index("reshape", {{"newshape", sizes_attribute(to)}}, {f32(from)});
  };
  const Dim rows = floor_div(h, 2), columns = floor_div(w, 7);
  CHECK(index({3, h, w}, {3, rows, 2, columns, 7}) == "i0, i1 * 2 + i2, i3 * 7 + i4.1");
  CHECK(index({3, h, w, 5}, {3, 2, rows, columns, 7, 5}) == "i0, i1 * floordiv(h, 2) + i2, i3 * 7 + i4.1, i5");
  CHECK(index({rows, 2, columns, 7}, {h, w}) == "floordiv(i0, 2), floormod(i0, 2), floordiv(i1, 7), floormod(i1, 7)");
  // The first is at most, the second at least the other shape's: neither need be equal.
  CHECK(index({rows, w}, {h, columns}).starts_with("floordiv(i0 * "));
  CHECK(index({h, w}, {rows, columns, 14}).starts_with("floordiv("));  // more than w at the end
}

TEST_CASE("type relation of reshape") {
  Dim n = Dim::symbol({"n"});
  CHECK(type_of("reshape", {{"newshape", list({0, -1})}}, {f32({n, 3, 4})}) == "Tensor[(n, 12), float32]");
  CHECK(type_of("reshape", {{"newshape", list({-1, 12})}}, {f32({n, 3, 4})}) == "Tensor[(n, 12), float32]");
  CHECK(type_of("reshape", {{"newshape", list({-1, 2})}}, {f32({n, 4})}) == "Tensor[(2 * n, 2), float32]");
  CHECK(error_of("reshape", {{"newshape", list({5})}}, {f32({2, 3})}) ==
        "shape-mismatch: the element count of (5) must equal that of (2, 3), found 5 and 6");
  CHECK(error_of("reshape", {{"newshape", list({4, -1})}}, {f32({2, 3})})
            .starts_with("shape-mismatch: no size in place of -1 fits"));
  CHECK(error_of("reshape", {{"newshape", list({-1, -1})}}, {f32({2, 3})}) == "bad-attribute: newshape holds -1 twice");
  CHECK(error_of("reshape", {{"newshape", list({0, 0, 0})}}, {f32({2, 3})})
            .starts_with("bad-attribute: newshape[2] is 0"));
  CHECK(error_of("reshape", {{"newshape", list({-7})}}, {f32({2, 3})}) == "unsupported-attribute: newshape[0] is -7");
  CHECK(error_of("reshape", {{"newshape", list({0, -1})}, {"allowzero", true}}, {f32({0, 3})})
            .starts_with("bad-attribute: -1 cannot"));
}

TEST_CASE("squeeze removes and expand_dims inserts axes of size 1") {
  Constant x = floats({1, 2, 1}, {1, 2});
  check_values(apply("squeeze", {}, {x}), {2}, {1, 2});
  check_values(apply("squeeze", {{"axis", list({-1})}}, {x}), {1, 2}, {1, 2});
  check_values(apply("expand_dims", {{"axis", -1}}, {x}), {1, 2, 1, 1}, {1, 2});
  check_values(apply("expand_dims", {{"axis", 0}, {"num_newaxis", 2}}, {floats({}, {3})}), {1, 1}, {3});
  CHECK(error_of("squeeze", {{"axis", 1}}, {f32({1, 2})}) == "shape-mismatch: axis 1 has size 2 and cannot be removed");
  CHECK(error_of("expand_dims", {{"axis", 3}}, {f32({2})}) == "bad-attribute: axis must be in [-2, 1], found 3");
}

TEST_CASE("transpose permutes axes; broadcast_to repeats along axes of size 1") {
  Constant x = floats({2, 3}, counting(6));
  check_values(apply("transpose", {}, {x}), {3, 2}, {0, 3, 1, 4, 2, 5});
  check_values(apply("transpose", {{"axes", list({0, 2, -2})}}, {floats({1, 2, 2}, {1, 2, 3, 4})}), {1, 2, 2},
               {1, 3, 2, 4});
  check_values(apply("transpose", {}, {tensor_of(dtype::f16, {1, 2}, {NaN, 2})}), {2, 1}, {NaN, 2});
  CHECK(error_of("transpose", {{"axes", list({0, 0})}}, {f32({2, 3})}) == "bad-attribute: axes names axis 0 twice");
  CHECK(error_of("transpose", {{"axes", list({0})}}, {f32({2, 3})})
            .starts_with("bad-attribute: axes must name all 2 axes"));
  check_values(apply("broadcast_to", {{"shape", list({2, 2, 2})}}, {floats({2, 1}, {1, 2})}), {2, 2, 2},
               {1, 1, 2, 2, 1, 1, 2, 2});
  CHECK(error_of("broadcast_to", {{"shape", list({2})}}, {f32({3})}) ==
        "shape-mismatch: shape (3) cannot be broadcast to (2)");
}

TEST_CASE("concatenate joins and split divides tensors along an axis") {
  Constant a = floats({2, 1}, {1, 2}), b = floats({2, 2}, {3, 4, 5, 6}), none = floats({2, 0}, {});
  check_values(apply("concatenate", {{"axis", -1}}, {a, none, b}), {2, 3}, {1, 3, 4, 2, 5, 6});
  check_values(apply("concatenate", {}, {a}), {2, 1}, {1, 2});
  CHECK(error_of("concatenate", {}, {f32({1, 2}), f32({1, 3})}) ==
        "shape-mismatch: axis 1 of field 1 must equal axis 1 of field 0, found 3 and 2");
  CHECK(error_of("concatenate", {}, {}) == "wrong-arity: there is nothing to concatenate");
  CHECK(type_of("concatenate", {}, {f32({Dim::symbol({"n"})}), f32({2})}) == "Tensor[(n + 2), float32]");

  Constant x = floats({4}, counting(4));
  auto halves = apply_all("split", {{"indices_or_sections", 2}}, {x});
  check_values(halves.at(0), {2}, {0, 1});
  check_values(halves.at(1), {2}, {2, 3});
  auto pieces = apply_all("split", {{"indices_or_sections", list({1, 1})}}, {x});
  check_values(pieces.at(0), {1}, {0});
  check_values(pieces.at(1), {0}, {});
  check_values(pieces.at(2), {3}, {1, 2, 3});
  CHECK(apply_all("split", {{"indices_or_sections", 1}}, {x}).size() == 1);
  CHECK(apply_all("split", {{"indices_or_sections", AttrList{}}}, {x}).size() == 1);
  CHECK(error_of("split", {{"indices_or_sections", 3}}, {f32({4})}) ==
        "shape-mismatch: 4 elements cannot be split into 3 equal sections");
  CHECK(error_of("split", {{"indices_or_sections", INT64_MAX}}, {f32({0})}) ==
        "too-large: a split has at most 65534 pieces, found 9223372036854775807");
  CHECK(error_of("split", {{"indices_or_sections", list({3, 2})}}, {f32({4})}) ==
        "bad-attribute: index 2 is not between 3 and 4");
  CHECK(
      error_of("split", {{"indices_or_sections", "2"}}, {f32({4})}).starts_with("bad-attribute: indices_or_sections"));
}

TEST_CASE("strided_slice clamps as numpy does") {
  Constant x = floats({5}, counting(5));
  auto slice = [&](int64_t begin, int64_t end, int64_t stride) {
    return apply("strided_slice", {{"begin", list({begin})}, {"end", list({end})}, {"strides", list({stride})}}, {x});
  };
  check_values(slice(1, 4, 1), {3}, {1, 2, 3});
  check_values(slice(-3, INT64_MAX, 2), {2}, {2, 4});
  check_values(slice(-100, 100, 3), {2}, {0, 3});
  check_values(slice(3, 3, 1), {0}, {});
  check_values(slice(4, 1, 1), {0}, {});
  check_values(slice(-1, INT64_MIN, -1), {5}, {4, 3, 2, 1, 0});
  check_values(slice(100, 0, -2), {2}, {4, 2});
  check_values(slice(0, INT64_MAX, INT64_MAX), {1}, {0});
  Constant y = floats({2, 3}, counting(6));
  check_values(apply("strided_slice", {{"begin", list({1})}, {"end", list({3})}, {"axes", list({-1})}}, {y}), {2, 2},
               {1, 2, 4, 5});
  check_values(apply("strided_slice", {{"begin", list({0, 1})}, {"end", list({1, -1})}, {"slice_mode", "size"}}, {y}),
               {1, 2}, {1, 2});
  CHECK(error_of("strided_slice", {{"begin", list({0})}, {"end", list({1})}, {"strides", list({0})}}, {f32({5})}) ==
        "bad-attribute: a stride must not be 0");
  CHECK(error_of("strided_slice", {{"begin", list({0})}, {"end", list({1, 2})}}, {f32({5, 5})})
            .starts_with("bad-attribute: begin and end"));
  CHECK(type_of("strided_slice", {{"begin", list({1})}, {"end", list({INT64_MAX})}},
                {f32({Dim::symbol({"n", 4, 9})})}) == "Tensor[(n - 1), float32]");
}

TEST_CASE("nn.pad with each mode, negative widths and errors") {
  Constant x = floats({3}, {1, 2, 3}), zero = floats({}, {0});
  auto padded = [&](const char* mode, int64_t before, int64_t after) {
    return apply("nn.pad", {{"pad_width", AttrList{list({before, after})}}, {"pad_mode", mode}}, {x, zero});
  };
  check_values(padded("constant", 1, 2), {6}, {0, 1, 2, 3, 0, 0});
  check_values(padded("edge", 1, 2), {6}, {1, 1, 2, 3, 3, 3});
  check_values(padded("reflect", 2, 2), {7}, {3, 2, 1, 2, 3, 2, 1});
  check_values(padded("reflect", 3, 5), {11}, {2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2});
  check_values(padded("symmetric", 2, 4), {9}, {2, 1, 1, 2, 3, 3, 2, 1, 1});
  check_values(padded("wrap", 1, 4), {8}, {3, 1, 2, 3, 1, 2, 3, 1});
  check_values(padded("constant", -1, 1), {3}, {2, 3, 0});
  check_values(padded("edge", -1, -1), {1}, {2});
  check_values(padded("wrap", -1, 2), {4}, {2, 3, 2, 3});
  check_values(padded("wrap", 2, -1), {4}, {1, 2, 1, 2});
  check_values(padded("symmetric", 3, -1), {5}, {2, 2, 1, 1, 2});
  check_values(
      apply("nn.pad", {{"pad_width", AttrList{list({0, 1}), list({1, 0})}}}, {floats({1, 1}, {5}), floats({}, {9})}),
      {2, 2}, {9, 5, 9, 9});
  check_values(
      apply("nn.pad", {{"pad_width", AttrList{list({2, 1})}}, {"pad_mode", "reflect"}}, {floats({1}, {4}), zero}), {4},
      {4, 4, 4, 4});
  CHECK(error_of("nn.pad", {{"pad_width", list({1, 1})}}, {f32({3}), f32({})})
            .starts_with("bad-attribute: pad_width must be a list"));
  CHECK(error_of("nn.pad", {{"pad_width", AttrList{list({-2, -2})}}}, {f32({3}), f32({})})
            .starts_with("shape-mismatch: the result would"));
  CHECK(error_of("nn.pad", {{"pad_width", AttrList{list({1, 1})}}, {"pad_mode", "mirror"}}, {f32({3}), f32({})})
            .starts_with("bad-attribute: pad_mode"));
  CHECK(error_of("nn.pad", {{"pad_width", AttrList{list({1, 1})}}, {"pad_mode", "edge"}}, {f32({0}), f32({})})
            .starts_with("shape-mismatch: axis 0 is empty"));
  CHECK(error_of("nn.pad", {{"pad_width", AttrList{list({-3, 1})}}, {"pad_mode", "edge"}}, {f32({3}), f32({})})
            .starts_with("shape-mismatch: axis 0 is cropped to nothing"));
}

TEST_CASE("take gathers along an axis with each out-of-range mode") {
  Constant x = floats({3, 2}, counting(6));
  Constant indices = ints({2, 2}, {0, 2, -1, 1});
  check_values(apply("take", {{"axis", 0}, {"mode", "strict"}}, {x, indices}), {2, 2, 2}, {0, 1, 4, 5, 4, 5, 2, 3});
  check_values(apply("take", {{"axis", 1}, {"mode", "strict"}}, {x, ints({}, {-1})}), {3}, {1, 3, 5});
  check_values(apply("take", {{"axis", 0}}, {x, ints({-5, 9})}), {2, 2}, {0, 1, 4, 5});
  check_values(apply("take", {{"axis", 0}, {"mode", "wrap"}}, {x, ints({-1, 4})}), {2, 2}, {4, 5, 2, 3});
  check_values(apply("take", {}, {x, tensor_of(dtype::i32, {2}, {5, 1})}), {2}, {5, 1});
  for (double wrong : {3.0, -4.0})
    CHECK(status_of("take", {{"axis", 0}, {"mode", "strict"}}, {x, ints({0, wrong})}) == Status::index_out_of_range);
  CHECK(error_of("take", {{"mode", "raise"}}, {f32({2}), i64({1})}).starts_with("bad-attribute: mode must be"));
  CHECK(error_of("take", {{"axis", 0}}, {f32({2}), f32({1})}).starts_with("unsupported-type: indices"));
  CHECK(error_of("take", {{"axis", 0}}, {f32({0}), i64({1})}) == "shape-mismatch: there is no element to take");
  // There may be no index, either.
  const Dim count = Dim::symbol({"k", 0});
  CHECK(error_of("take", {{"axis", 0}}, {f32({0}), i64({count})}) == "");
  CHECK(error_of("gather", {{"axis", 0}}, {f32({0}), i64({count})}) == "");
}

TEST_CASE("take along an axis behind those that data and indices share") {
  const Constant x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  check_values(apply("take", {{"axis", 1}, {"batch_dims", 1}}, {x, ints({2, 2}, {2, 0, 1, 1})}), {2, 2}, {2, 0, 4, 4});
  check_values(apply("take", {{"axis", 1}, {"batch_dims", 1}}, {x, ints({2}, {2, 0})}), {2}, {2, 3});
  check_values(apply("take", {{"axis", 2}, {"batch_dims", -1}, {"mode", "wrap"}},
                     {floats({2, 1, 3}, {0, 1, 2, 3, 4, 5}), ints({2, 2}, {5, -3, 1, 2})}),
               {2, 1, 2}, {2, 0, 4, 5});
  CHECK(error_of("take", {{"axis", 1}, {"batch_dims", 2}}, {f32({2, 3}), i64({2, 3})}) ==
        "bad-attribute: batch_dims is 2: the data's axes before axis 1 and those of the indices can be shared");
  CHECK(error_of("take", {{"axis", 1}, {"batch_dims", 1}}, {f32({2, 3}), i64({4})}) ==
        "shape-mismatch: the size of the indices along axis 0 must equal the data's, found 4 and 2");
}

TEST_CASE("dynamic_update_slice replaces one slice; an index out of range is a status") {
  const Constant x = floats({3, 2}, {0, 1, 2, 3, 4, 5});
  auto at = [](double index) { return ints({}, {index}); };
  check_values(apply("dynamic_update_slice", {}, {x, floats({2}, {8, 9}), at(1)}), {3, 2}, {0, 1, 8, 9, 4, 5});
  check_values(apply("dynamic_update_slice", {{"axis", -1}}, {x, floats({3}, {7, 8, 9}), at(0)}), {3, 2},
               {7, 1, 8, 3, 9, 5});
  check_values(apply("dynamic_update_slice", {}, {ints({1, 2, 3}), ints({}, {9}), tensor_of(dtype::u8, {}, {2})}), {3},
               {1, 2, 9});
  check_values(apply("dynamic_update_slice", {{"axis", 1}}, {floats({2, 1, 0}, {}), floats({2, 0}, {}), at(0)}),
               {2, 1, 0}, {});
  for (DType type : {dtype::boolean, dtype::f16, dtype::bf16, dtype::f64})
    check_values(apply("dynamic_update_slice", {}, {tensor_of(type, {2}, {0, 0}), tensor_of(type, {}, {1}), at(1)}),
                 {2}, {0, 1});
  for (double outside : {-1.0, 3.0, 9e18})
    CHECK(status_of("dynamic_update_slice", {}, {x, floats({2}, {8, 9}), at(outside)}) == Status::index_out_of_range);
  auto error = [](const Operands& types, int64_t axis = 0) {
    return error_of("dynamic_update_slice", {{"axis", axis}}, types);
  };
  CHECK(error({f32({3, 2}), f32({3}), i64({})}) ==
        "shape-mismatch: update must have the shape (2) of a slice, found (3)");
  CHECK(error({f32({3, 2}), i64({2}), i64({})}).starts_with("type-mismatch: "));
  CHECK(error({f32({3, 2}), f32({2}), i64({1})}).starts_with("shape-mismatch: index"));
  CHECK(error({f32({3, 2}), f32({2}), f32({})}).starts_with("unsupported-type: index"));
  CHECK(error({f32({3, 2}), f32({2}), i64({})}, 2).starts_with("bad-attribute: axis"));
  CHECK(error({f32({}), f32({}), i64({})}).starts_with("bad-attribute: axis"));
}

TEST_CASE("full, zeros and ones fill tensors; shape_of gives sizes") {
  check_values(apply("full", {{"shape", list({2})}}, {floats({}, {1.5})}), {2}, {1.5, 1.5});
  check_values(apply("full", {{"shape", list({2})}, {"dtype", "int8"}}, {floats({}, {1.5})}), {2}, {1, 1});
  check_values(apply("zeros", {{"shape", list({2})}, {"dtype", "float16"}}, {}), {2}, {0, 0});
  check_values(apply("ones", {{"shape", AttrList{}}, {"dtype", "bool"}}, {}), {}, {1});
  check_values(apply("zeros_like", {}, {floats({2, 1}, {5, NaN})}), {2, 1}, {0, 0});
  check_values(apply("ones_like", {}, {tensor_of(dtype::f16, {2}, {5, 6})}), {2}, {1, 1});
  check_values(apply("shape_of", {{"dtype", "int64"}}, {floats({2, 0, 3}, {})}), {3}, {2, 0, 3});
  check_values(apply("shape_of", {}, {floats({}, {1})}), {0}, {});
  CHECK(error_of("zeros", {{"shape", list({-1})}, {"dtype", "bool"}}, {})
            .starts_with("shape-mismatch: the result would have"));
  CHECK(error_of("zeros", {{"shape", list({int64_t{1} << 62})}, {"dtype", "float32"}}, {}).starts_with("too-large"));
}

TEST_CASE("layout_transform stores axes in blocks, with zeros beyond their ends") {
  auto transform = [](const char* from, const char* to, const Constant& x) {
    return apply("layout_transform", {{"src_layout", from}, {"dst_layout", to}}, {x});
  };
  const Constant image = floats({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6});
  check_values(transform("NCHW", "NHWC", image), {1, 1, 2, 3}, {1, 3, 5, 2, 4, 6});
  check_values(transform("NCHW", "NCHW2c", image), {1, 2, 1, 2, 2}, {1, 3, 2, 4, 5, 0, 6, 0});
  check_values(transform("NCHW2c", "NCHW", floats({1, 2, 1, 1, 2}, {1, 2, 3, 4})), {1, 4, 1, 1}, {1, 2, 3, 4});
  check_values(transform("NC2c", "NC4c", floats({1, 3, 2}, {1, 2, 3, 4, 5, 6})), {1, 2, 4}, {1, 2, 3, 4, 5, 6, 0, 0});
  check_values(transform("C", "C4c2c", floats({9}, counting(9))), {2, 4, 2},
               {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0});
  auto error = [](const char* from, const char* to) {
    return error_of("layout_transform", {{"src_layout", from}, {"dst_layout", to}}, {f32({1, 8, 2, 4})});
  };
  CHECK(error("NCHW", "NCHWc") == "bad-attribute: dst_layout=\"NCHWc\": block c needs a size and its axis before it");
  CHECK(error("NCHW", "NCHD") == "bad-attribute: NCHW and NCHD have different axes");
  CHECK(error("NCHW", "NCH") == "bad-attribute: NCHW and NCH have different axes");
  CHECK(error("NCH", "NCH") == "shape-mismatch: layout NCH has 3 axes, the data 4");
  CHECK(error("NCH8c", "NCH") == "shape-mismatch: axis 3 must equal its block, found 4 and 8");
  CHECK(error("NCNW", "NCHW").starts_with("bad-attribute: src_layout=\"NCNW\": axis N appears twice"));
  CHECK(error("NCH4", "NCHW").starts_with("bad-attribute: src_layout=\"NCH4\": a number is followed by no axis"));
  const std::string huge = "NCHW1048576c1048576c1048576c";
  CHECK(error("NCHW", huge.c_str()) ==
        "bad-attribute: dst_layout=\"" + huge + "\": a block of axis C has too many elements");
  CHECK(error("N-CH", "NCHW").starts_with("bad-attribute: src_layout=\"N-CH\": '-' is no axis"));
}

TEST_CASE("annotations of devices are the identity") {
  for (const char* name : {"on_device", "device_copy"})
    check_values(apply(name, {}, {tensor_of(dtype::f16, {2}, {1, 2})}), {2}, {1, 2});
}

TEST_CASE("pad converts a pad_value of another number type") {
  const Attrs widths = {{"pad_width", AttrList{list({1, 0})}}};
  check_values(apply("nn.pad", widths, {floats({1}, {5}), tensor_of(dtype::i32, {}, {2})}), {2}, {2, 5});
  check_values(apply("nn.pad", widths, {tensor_of(dtype::i8, {1}, {5}), floats({}, {2.5})}), {2}, {2, 5});
  CHECK(error_of("nn.pad", widths, {Operand(Shape{1}, dtype::boolean), f32({})}) ==
        "type-mismatch: data and pad_value must have one element type, found bool and float32");
}
