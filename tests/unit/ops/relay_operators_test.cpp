// Operators that are calls of other operators: values of small examples, whose results follow from the definitions by
// hand or from numpy's function of the same name.
#include "operators.h"

using namespace dlcc;
using namespace dlcc::relay;

namespace {

Constant scalar_of(double value) { return floats({}, {value}); }
Constant integer(int64_t value) {
  return Constant(dtype::i64, {},
                  std::vector<std::byte>(reinterpret_cast<const std::byte*>(&value),
                                         reinterpret_cast<const std::byte*>(&value + 1)));
}
Constant bytes(std::vector<int64_t> shape, const Values& values) {
  return tensor_of(dtype::i8, std::move(shape), values);
}
AttrList pairs(std::vector<std::vector<int64_t>> rows) {
  AttrList all;
  for (const auto& row : rows) all.emplace_back(list(row));
  return all;
}

}  // namespace

TEST_CASE("operators that take shapes or types from operands") {
  const Constant x = floats({2, 3}, counting(6)), row = floats({3}, {1, 2, 3});
  check_values(apply("broadcast_to_like", {}, {row, x}), {2, 3}, {1, 2, 3, 1, 2, 3});
  check_values(apply("cast_like", {}, {floats({2}, {1.5, -2.5}), ints({0})}), {2}, {1, -2});
  check_values(apply("cast_like", {}, {row, x}), {3}, {1, 2, 3});
  check_values(apply("full_like", {}, {x, scalar_of(7)}), {2, 3}, Values(6, 7));
  check_values(apply("reshape_like", {{"lhs_begin", 1}, {"rhs_begin", -1}}, {floats({2, 1, 3}, counting(6)), row}),
               {2, 3}, counting(6));
  check_values(apply("slice_like", {{"axes", list({1})}}, {x, floats({1, 2}, {0, 0})}), {2, 2}, {0, 1, 3, 4});
  check_values(apply("collapse_sum_like", {}, {x, row}), {3}, {3, 5, 7});
  check_values(apply("collapse_sum_to", {{"shape", list({2, 1})}}, {x}), {2, 1}, {3, 12});
  check_values(apply("ndarray_size", {}, {x}), {}, {6});
  CHECK(error_of("collapse_sum_like", {}, types_of({row, x})) ==
        "shape-mismatch: shape (2, 3) cannot be broadcast to the data's shape (3)");
  CHECK(error_of("slice_like", {}, types_of({row, floats({4}, counting(4))})) ==
        "shape-mismatch: shape_like has size 4 along axis 0, the data only 3");
  CHECK(error_of("collapse_sum_to", {}, {f32({2, 3}), i64({2})}) ==
        "dynamic-shape: the shape must be known at compile time");
}

TEST_CASE("arange") {
  auto range = [](double start, double stop, double step) {
    return Attrs{{"start", start}, {"stop", stop}, {"step", step}, {"dtype", "float32"}};
  };
  auto operands = [](double start, double stop, double step) {
    return std::vector{scalar_of(start), scalar_of(stop), scalar_of(step)};
  };
  check_values(apply("arange", range(1, 2, 0.25), operands(1, 2, 0.25)), {4}, {1, 1.25, 1.5, 1.75});
  check_values(apply("arange", range(3, 0, -2), operands(3, 0, -2)), {2}, {3, 1});
  check_values(apply("arange", range(3, 3, 1), operands(3, 3, 1)), {0}, {});
  CHECK(status_of("arange", range(0, 3, 1), operands(0, 4, 1)) == tensor::Status::shape_mismatch);
  CHECK(error_of("arange", range(0, 3, 0), types_of(operands(0, 3, 0))) == "bad-attribute: step must not be 0");
  CHECK(type_of("arange", {{"dtype", "int32"}}, types_of({ints({}, {0}), ints({}, {3}), ints({}, {1})})) ==
        "Tensor[(?), int32]");
  auto of_sizes = [](const Dim& start, const Dim& stop, int64_t step) {
    Operands in;
    for (const Dim& d : {start, stop, Dim(step)}) {
      auto value = std::make_shared<tensor::SymbolicTensor>();
      value->elements = {d};
      in.push_back({i64({}), value});
    }
    return type_of("arange", {{"dtype", "int64"}}, in);
  };
  const Dim n = size_symbol("n");
  CHECK(of_sizes(0, n, 1) == "Tensor[(n), int64]");
  CHECK(of_sizes(2, n, 3) == "Tensor[(floor_div(n, 3)), int64]");
  CHECK(of_sizes(n, 0, -2) == "Tensor[(floor_div(n + 1, 2)), int64]");
}

TEST_CASE("arange of integers that float64 does not represent") {
  auto range = [&](int64_t start, int64_t stop, int64_t step) {
    const Attrs attrs = {{"start", start}, {"stop", stop}, {"step", step}, {"dtype", "int64"}};
    const Constant result = apply("arange", attrs, {integer(start), integer(stop), integer(step)});
    std::vector<int64_t> elements;
    for (int64_t k = 0; k < result.count(); ++k) elements.push_back(result.integer_at(k));
    return elements;
  };
  const int64_t large = int64_t{1} << 53;
  CHECK(range(large, large + 1, 1) == std::vector{large});
  CHECK(range(large + 3, large, -2) == std::vector{large + 3, large + 1});
  CHECK(range(INT64_MIN, INT64_MAX, INT64_MAX) == std::vector<int64_t>{INT64_MIN, -1, INT64_MAX - 1});
  CHECK(range(INT64_MAX, INT64_MIN, INT64_MIN) == std::vector<int64_t>{INT64_MAX, -1});
  CHECK(range(INT64_MAX, INT64_MIN, 1).empty());
  CHECK(status_of("arange", {{"start", large}, {"stop", large + 1}, {"step", 1}, {"dtype", "int64"}},
                  {integer(large), integer(large + 2), integer(1)}) == tensor::Status::shape_mismatch);
  CHECK(error_of("arange", {{"start", INT64_MIN}, {"stop", INT64_MAX}, {"step", 1}, {"dtype", "int64"}},
                 types_of({integer(0), integer(0), integer(0)})) == "shape-mismatch: the result has too many elements");
}

TEST_CASE("one_hot, stack, adv_index, meshgrid") {
  const Constant on = scalar_of(2), off = scalar_of(-1);
  const Operands vectors = {{{3}, dtype::i64}, {{}, dtype::f32}, {{}, dtype::f32}};
  CHECK(type_of("one_hot", {{"depth", sizes_attribute({Dim::symbol({"n"}) + 1})}, {"axis", 0}}, vectors) ==
        "Tensor[(n + 1, 3), float32]");
  CHECK(error_of("one_hot", {{"depth", 0}}, vectors) == "bad-attribute: depth must be positive, found (0)");
  check_values(apply("one_hot", {{"depth", 3}}, {ints({1, 5, 0}), on, off}), {3, 3},
               {-1, 2, -1, -1, -1, -1, 2, -1, -1});
  check_values(apply("one_hot", {{"depth", 2}, {"axis", 0}, {"dtype", "int8"}}, {ints({1, 0}), on, off}), {2, 2},
               {-1, 2, 2, -1});
  const Constant a = floats({2}, {1, 2}), b = floats({2}, {3, 4});
  check_values(apply("stack", {}, {a, b}), {2, 2}, {1, 2, 3, 4});
  check_values(apply("stack", {{"axis", -1}}, {a, b}), {2, 2}, {1, 3, 2, 4});
  const Constant x = floats({2, 3}, counting(6));
  check_values(apply("adv_index", {}, {x, ints({2, 1}, {0, -1}), ints({2}, {1, 2})}), {2, 2}, {1, 2, 4, 5});
  CHECK(status_of("adv_index", {}, {x, ints({2})}) == tensor::Status::index_out_of_range);
  auto grid = apply_all("meshgrid", {{"indexing", "xy"}}, {floats({3}, {1, 2, 3}), a});
  check_values(grid[0], {2, 3}, {1, 2, 3, 1, 2, 3});
  check_values(grid[1], {2, 3}, {1, 1, 1, 2, 2, 2});
  check_values(apply_all("meshgrid", {}, {floats({3}, {1, 2, 3}), a})[1], {3, 2}, {1, 2, 1, 2, 1, 2});
}

TEST_CASE("repeat, reverse, sliding_window, dilate, mirror_pad, strided_set") {
  const Constant x = floats({2, 3}, counting(6));
  check_values(apply("repeat", {{"repeats", 2}, {"axis", 0}}, {x}), {4, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5});
  check_values(apply("repeat", {{"repeats", 2}}, {floats({2}, {7, 8})}), {4}, {7, 7, 8, 8});
  check_values(apply("reverse", {{"axis", -1}}, {x}), {2, 3}, {2, 1, 0, 5, 4, 3});
  check_values(apply("sliding_window", {{"axis", 1}, {"window_shape", list({2})}, {"strides", list({1})}}, {x}),
               {2, 2, 2}, {0, 1, 1, 2, 3, 4, 4, 5});
  check_values(apply("nn.dilate", {{"strides", list({1, 2})}, {"dilation_value", 9.0}}, {x}), {2, 5},
               {0, 9, 1, 9, 2, 3, 9, 4, 9, 5});
  const Constant v = floats({3}, {1, 2, 3});
  check_values(apply("nn.mirror_pad", {{"pad_width", pairs({{2, 4}})}}, {v}), {9}, {2, 1, 1, 2, 3, 3, 2, 1, 1});
  check_values(apply("nn.mirror_pad", {{"mode", "REFLECT"}, {"pad_width", pairs({{1, 2}})}}, {v}), {6},
               {2, 1, 2, 3, 2, 1});
  const Constant set = floats({2, 2}, {10, 20, 30, 40});
  check_values(apply("strided_set", {}, {x, set, ints({0, 2}), ints({2, -4}), ints({1, -2})}), {2, 3},
               {20, 1, 10, 40, 4, 30});
  CHECK(status_of("strided_set", {}, {x, set, ints({0, 0}), ints({2, 3}), ints({1, 1})}) ==
        tensor::Status::shape_mismatch);
  CHECK(status_of("strided_set", {}, {x, set, ints({0, 0}), ints({2, 2}), ints({1, 0})}) ==
        tensor::Status::shape_mismatch);
}

TEST_CASE("sort, argsort, searchsorted, invert_permutation, unravel_index") {
  const Constant x = floats({2, 3}, {3, 1, 2, NaN, 5, 5});
  check_values(apply("sort", {}, {x}), {2, 3}, {1, 2, 3, 5, 5, NaN});
  check_values(apply("argsort", {}, {x}), {2, 3}, {1, 2, 0, 1, 2, 0});
  check_values(apply("argsort", {{"is_ascend", false}, {"axis", 0}, {"dtype", "float32"}}, {x}), {2, 3},
               {1, 1, 1, 0, 0, 0});
  check_values(apply("topk", {{"k", 2}, {"ret_type", "values"}}, {x}), {2, 2}, {3, 2, NaN, 5});
  check_values(apply("topk", {{"k", 2}, {"ret_type", "indices"}}, {x}), {2, 2}, {0, 2, 0, 1});
  CHECK(type_of("topk", {{"ret_type", "values"}, {"k", 2}}, types_of({x})) == "Tensor[(2, 2), float32]");
  CHECK(error_of("topk", {{"ret_type", "all"}}, types_of({x})).starts_with("bad-attribute: ret_type must be"));
  check_values(apply("sort", {{"dtype", AttrValue()}}, {x}), {2, 3}, {1, 2, 3, 5, 5, NaN});
  CHECK(type_of("argsort", {{"dtype", AttrValue()}}, types_of({x})) == "Tensor[(2, 3), int32]");
  const Constant sorted = floats({4}, {1, 2, 2, 4}), values = floats({2, 2}, {0, 2, 3, 9});
  check_values(apply("searchsorted", {}, {sorted, values}), {2, 2}, {0, 1, 3, 4});
  check_values(apply("searchsorted", {{"right", true}}, {sorted, values}), {2, 2}, {0, 3, 3, 4});
  check_values(apply("invert_permutation", {}, {ints({2, 0, 1})}), {3}, {1, 2, 0});
  check_values(apply("unravel_index", {}, {ints({22, 41}), ints({7, 6})}), {2, 2}, {3, 6, 4, 5});
  CHECK(status_of("unravel_index", {}, {ints({22}), ints({7, 0})}) == tensor::Status::shape_mismatch);
}

TEST_CASE("trilu, matrix_set_diag") {
  const Constant x = floats({3, 3}, counting(9, 1));
  check_values(apply("trilu", {}, {x, ints({}, {1})}), {3, 3}, {0, 2, 3, 0, 0, 6, 0, 0, 0});
  check_values(apply("trilu", {{"upper", false}}, {x, ints({}, {0})}), {3, 3}, {1, 0, 0, 4, 5, 0, 7, 8, 9});
  check_values(apply("trilu", {}, {x, integer(INT64_MAX)}), {3, 3}, Values(9, 0.0));
  check_values(apply("trilu", {}, {x, integer(INT64_MIN)}), {3, 3}, counting(9, 1));
  check_values(apply("matrix_set_diag", {}, {x, floats({3}, {10, 20, 30})}), {3, 3}, {10, 2, 3, 4, 20, 6, 7, 8, 30});
  // Diagonals 1 and 0: the shorter upper one is stored at the right.
  const Constant two = floats({2, 3}, {0, 50, 60, 10, 20, 30});
  check_values(apply("matrix_set_diag", {{"k2", 1}}, {x, two}), {3, 3}, {10, 50, 3, 4, 20, 60, 7, 8, 30});
  const Constant below = floats({2, 3}, {10, 20, 30, 70, 80, 0});
  check_values(apply("matrix_set_diag", {{"k1", -1}}, {x, below}), {3, 3}, {10, 2, 3, 70, 20, 6, 7, 80, 30});
  CHECK(error_of("matrix_set_diag", {{"k2", 3}}, types_of({x, two})) ==
        "bad-attribute: diagonals 0 to 3 are outside of a matrix of shape (3, 3)");
}

TEST_CASE("blocks of pixels, channels and batches") {
  const Constant x = floats({1, 4, 1, 2}, counting(8));
  check_values(apply("nn.depth_to_space", {{"block_size", 2}}, {x}), {1, 1, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7});
  const Constant y = floats({1, 8, 1, 1}, counting(8));
  check_values(apply("nn.depth_to_space", {{"block_size", 2}}, {y}), {1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  check_values(apply("nn.depth_to_space", {{"block_size", 2}, {"mode", "CRD"}}, {y}), {1, 2, 2, 2}, counting(8));
  const Constant image = floats({1, 2, 2, 2}, counting(8));  // two channels, or two pixels of two channels
  check_values(apply("nn.space_to_depth", {{"block_size", 2}}, {image}), {1, 8, 1, 1}, {0, 4, 1, 5, 2, 6, 3, 7});
  check_values(apply("nn.space_to_depth", {{"block_size", 2}, {"layout", "NHWC"}}, {image}), {1, 1, 1, 8}, counting(8));
  const Constant row = floats({1, 4}, {1, 2, 3, 4});
  const Attrs blocks = {{"block_shape", list({3})}, {"paddings", pairs({{1, 1}})}, {"pad_value", 9.0}};
  check_values(apply("nn.space_to_batch_nd", blocks, {row}), {3, 2}, {9, 3, 1, 4, 2, 9});
  const Constant batches = floats({3, 2}, {9, 3, 1, 4, 2, 9});
  check_values(apply("nn.batch_to_space_nd", {{"block_shape", list({3})}, {"crops", pairs({{1, 1}})}}, {batches}),
               {1, 4}, {1, 2, 3, 4});
  check_values(apply("nn.space_to_depth", {{"block_size", 2}, {"mode", ""}}, {image}), {1, 8, 1, 1},
               {0, 4, 1, 5, 2, 6, 3, 7});
  auto error = [](const char* name, const char* widths, const std::vector<std::vector<int64_t>>& rows) {
    return error_of(name, {{"block_shape", list({3})}, {widths, pairs(rows)}}, {f32({3, 4})});
  };
  CHECK(error("nn.space_to_batch_nd", "paddings", {{1, 2, 3}, {1, 1}}) ==
        "bad-attribute: paddings must be a list of 1 pairs (before, after)");
  CHECK(error("nn.space_to_batch_nd", "paddings", {{-1, 0}}) ==
        "bad-attribute: paddings must not be negative, found -1");
  CHECK(error("nn.batch_to_space_nd", "crops", {{6, 6}}) == "");
  CHECK(error("nn.batch_to_space_nd", "crops", {{7, 6}}) ==
        "bad-attribute: crops remove more than the 12 elements of axis 1");
  CHECK(error_of("nn.depth_to_space", {{"block_size", int64_t{1} << 32}}, {f32({1, 4, 2, 2})})
            .starts_with("shape-mismatch: the number of channels must be a multiple of"));
  // Channel c of row y and column x is element (c, 2 y + offset / 2, 2 x + offset % 2) of one channel of 4 by 4.
  check_values(apply("vision.yolo_reorg", {{"stride", 2}}, {floats({1, 4, 2, 2}, counting(16))}), {1, 16, 1, 1},
               {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15});
}

TEST_CASE("normalizations") {
  const Constant x = floats({1, 2, 2}, {1, 3, 5, 9}), gamma = floats({2}, {2, 3}), beta = floats({2}, {10, 20});
  const Attrs exact = {{"epsilon", 0.0}, {"axis", -1}};
  check_values(apply("nn.layer_norm", exact, {x, gamma, beta}), {1, 2, 2}, {8, 23, 8, 23});
  check_values(apply("nn.layer_norm", {{"epsilon", 0.0}, {"center", false}, {"scale", false}}, {x, gamma, beta}),
               {1, 2, 2}, {-1, 1, -1, 1});
  check_values(apply("nn.instance_norm", {{"epsilon", 0.0}}, {x, gamma, beta}), {1, 2, 2}, {8, 12, 17, 23});
  check_values(apply("nn.instance_norm", {}, {floats({1, 2}, {5, 7}), gamma, beta}), {1, 2}, {10, 20});
  check_values(apply("nn.group_norm", {{"epsilon", 0.0}, {"num_groups", 2}}, {x, gamma, beta}), {1, 2, 2},
               {8, 12, 17, 23});
  // One group of 1, 1, 3, 3 has mean 2 and deviation 1.
  check_values(
      apply("nn.group_norm", {{"epsilon", 0.0}, {"num_groups", 1}}, {floats({1, 2, 2}, {1, 1, 3, 3}), gamma, beta}),
      {1, 2, 2}, {8, 8, 23, 23});
  check_values(apply("nn.l2_normalize", {{"eps", 0.0}, {"axis", list({1})}}, {floats({2, 2}, {3, 4, 0, 2})}), {2, 2},
               {0.6, 0.8, 0, 1});
  check_values(apply("nn.l2_normalize", {{"eps", 4.0}}, {floats({1}, {1})}), {1}, {0.5});
  check_values(apply("nn.prelu", {}, {floats({1, 2, 2}, {-1, 2, -3, 4}), gamma}), {1, 2, 2}, {-2, 2, -9, 4});
  check_values(apply("nn.fast_softmax", {}, {floats({1, 2}, {0, std::log(3)})}), {1, 2}, {0.25, 0.75});
  const Constant p = floats({2, 2}, {0.5, 0.25, 1, 0.5}), y = floats({2, 2}, {1, 0, 0, 1});
  check_values(apply("nn.cross_entropy", {}, {p, y}), {}, {std::log(2)});
  check_values(apply("nn.cross_entropy_with_logits", {}, {p, y}), {}, {-0.5});
  const Constant v = floats({2, 2}, {1, 3, 5, 9}), mean = floats({2, 1}, {2, 7});
  check_values(apply("variance", {{"axis", list({1})}}, {v, mean}), {2}, {1, 4});
  check_values(apply("variance", {{"axis", list({1})}, {"unbiased", true}, {"keepdims", true}}, {v, mean}), {2, 1},
               {2, 8});
}

TEST_CASE("adaptive poolings") {
  const Constant x = floats({1, 1, 5}, counting(5));
  // Windows [0, 3) and [2, 5).
  check_values(apply("nn.adaptive_avg_pool1d", {{"output_size", list({2})}}, {x}), {1, 1, 2}, {1, 3});
  check_values(apply("nn.adaptive_max_pool1d", {{"output_size", list({2})}}, {x}), {1, 1, 2}, {2, 4});
  check_values(apply("nn.adaptive_max_pool1d", {{"output_size", list({7})}}, {x}), {1, 1, 7}, {0, 1, 2, 2, 3, 4, 4});
  check_values(apply("nn.adaptive_avg_pool1d", {}, {x}), {1, 1, 5}, counting(5));
  const Constant image = floats({1, 2, 2, 2}, counting(8));
  check_values(apply("nn.adaptive_avg_pool2d", {{"output_size", list({1})}, {"layout", "NHWC"}}, {image}), {1, 1, 1, 2},
               {3, 4});
  check_values(apply("nn.adaptive_avg_pool2d", {{"output_size", list({1, 2})}}, {image}), {1, 2, 1, 2}, {1, 2, 5, 6});
  const Dim h = Dim::symbol({"h", 1});
  CHECK(type_of("nn.adaptive_avg_pool2d", {{"output_size", list({1})}}, {f32({1, 3, h, h})}) ==
        "Tensor[(1, 3, 1, 1), float32]");
  CHECK(error_of("nn.adaptive_avg_pool2d", {{"output_size", list({2})}}, {f32({1, 3, h, h})})
            .starts_with("dynamic-shape"));
}

TEST_CASE("transposed convolutions, gradients, deformable convolution") {
  const Constant x = floats({1, 1, 3}, {1, 2, 3}), w = floats({1, 1, 2}, {1, 10});
  check_values(apply("nn.conv1d_transpose", {}, {x, w}), {1, 1, 4}, {1, 12, 23, 30});
  check_values(apply("nn.conv1d_transpose", {{"strides", list({2})}, {"output_padding", list({1})}}, {x, w}), {1, 1, 7},
               {1, 10, 2, 20, 3, 30, 0});
  check_values(apply("nn.conv1d_transpose", {{"padding", list({1, 0})}}, {x, w}), {1, 1, 3}, {12, 23, 30});
  // TVM's name of the layout: the weight has the channels of the data first in any case.
  const Constant wide = floats({1, 2, 1}, {1, 10});
  check_values(apply("nn.conv1d_transpose", {{"kernel_layout", "OIW"}}, {x, wide}), {1, 2, 3}, {1, 2, 3, 10, 20, 30});
  // Two groups of one channel, each with two results.
  const Constant pixels = floats({1, 2, 1, 1}, {1, 2}), weights = floats({2, 2, 1, 1}, {1, 10, 100, 1000});
  check_values(apply("nn.conv2d_transpose", {{"groups", 2}}, {pixels, weights}), {1, 4, 1, 1}, {1, 10, 200, 2000});
  check_values(apply("nn.conv2d_transpose", {}, {pixels, weights}), {1, 2, 1, 1}, {201, 2010});
  const Constant image = floats({1, 1, 2, 2}, {1, 2, 3, 4}), grad = floats({1, 1, 1, 1}, {10});
  check_values(apply("nn.conv2d_backward_weight", {{"kernel_size", list({2, 2})}}, {grad, image}), {1, 1, 2, 2},
               {10, 20, 30, 40});
  const Attrs window = {{"pool_size", list({2, 2})}};
  check_values(apply("nn.max_pool2d_grad", window, {grad, image}), {1, 1, 2, 2}, {0, 0, 0, 10});
  check_values(apply("nn.avg_pool2d_grad", window, {grad, image}), {1, 1, 2, 2}, {2.5, 2.5, 2.5, 2.5});
  // Windows of one row that overlap: elements 1 and 2 are in two windows; the padding counts only if it is included.
  const Constant line = floats({1, 1, 1, 3}, {1, 5, 2}), two = floats({1, 1, 1, 2}, {1, 10});
  const Attrs pair = {{"pool_size", list({1, 2})}};
  check_values(apply("nn.max_pool2d_grad", pair, {two, line}), {1, 1, 1, 3}, {0, 11, 0});
  check_values(apply("nn.avg_pool2d_grad", pair, {two, line}), {1, 1, 1, 3}, {0.5, 5.5, 5});
  const Attrs padded = {{"pool_size", list({1, 2})}, {"padding", list({0, 1})}, {"strides", list({1, 3})}};
  check_values(apply("nn.avg_pool2d_grad", padded, {two, line}), {1, 1, 1, 3}, {1, 0, 10});
  Attrs included = padded;
  included["count_include_pad"] = true;
  check_values(apply("nn.avg_pool2d_grad", included, {floats({1, 1, 1, 2}, {1, 10}), line}), {1, 1, 1, 3}, {0.5, 0, 5});
  // The second tap is moved down by half a pixel.
  const Constant offsets = floats({1, 4, 2, 1}, {0, 0, 0, 0, 0.5, 0.5, 0, 0}), taps = floats({1, 1, 1, 2}, {1, 100});
  check_values(apply("nn.deformable_conv2d", {}, {image, offsets, taps}), {1, 1, 2, 1}, {301, 203});
}

TEST_CASE("correlation, morphological dilation, crops") {
  const Constant x = floats({1, 1, 1, 3}, {1, 2, 3}), y = floats({1, 1, 1, 3}, {10, 20, 30});
  const Attrs near = {{"max_displacement", 1}, {"padding", list({1, 1})}};
  const Constant moved = apply("nn.correlation", near, {x, y});
  CHECK(moved.shape() == std::vector<int64_t>{1, 9, 1, 3});
  Values middle;  // the displacements (0, -1), (0, 0) and (0, 1)
  for (int64_t k = 9; k < 18; ++k) middle.push_back(moved.number_at(k));
  CHECK(middle == Values{0, 20, 60, 10, 40, 90, 20, 60, 0});
  const Constant weight = floats({1, 1, 2}, {5, 0});
  check_values(apply("image.dilation2d", {{"padding", list({0, 1})}}, {x, weight}), {1, 1, 1, 4}, {5, 6, 7, 8});
  const Constant image = floats({1, 1, 2, 2}, {1, 2, 3, 4}), boxes = floats({2, 4}, {0, 0, 1, 1, 0, 0.5, 0, 2});
  const Constant first = tensor_of(dtype::i32, {2}, {0, 0});
  Attrs crop = {{"crop_size", list({1, 2})}, {"extrapolation_value", -1.0}};
  check_values(apply("image.crop_and_resize", crop, {image, boxes, first}), {2, 1, 1, 2}, {2, 3, 1.5, -1});
  crop["method"] = "nearest_neighbor";
  check_values(
      apply("image.crop_and_resize", crop, {image, floats({1, 4}, {1, 0.25, 1, 1}), tensor_of(dtype::i32, {1}, {0})}),
      {1, 1, 1, 2}, {3, 4});
  const Operands no_images = {f32({0, 1, 4, 4}), f32({2, 4}), tensor_type_of(dtype::i32, {2})};
  CHECK(error_of("image.crop_and_resize", crop, no_images) == "shape-mismatch: the data has no pixels for the boxes");
  const Operands nothing = {f32({0, 1, 4, 4}), f32({0, 4}), tensor_type_of(dtype::i32, {0})};
  CHECK(error_of("image.crop_and_resize", crop, nothing) == "");
  const Dim images = Dim::symbol({"?1"});
  const Operands some = {f32({4, 4, 1, images}), f32({2, 4}), tensor_type_of(dtype::i32, {2})};
  CHECK(op("image.crop_and_resize")->positive_sizes(crop, some) == std::vector<Dim>{4, 1, images});
  crop["layout"] = "NHWC";
  CHECK(op("image.crop_and_resize")->positive_sizes(crop, some) == std::vector<Dim>{4, 4, 1});
}

TEST_CASE("regions of interest with the index of their image") {
  const Constant images = floats({2, 1, 2, 2}, counting(8, 1)), boxes = floats({1, 5}, {1, 0, 0, 1, 1});
  check_values(apply("vision.roi_align", {{"pooled_size", list({1, 1})}, {"sample_ratio", 1}}, {images, boxes}),
               {1, 1, 1, 1}, {6.5});
  Attrs largest = {{"pooled_size", list({1, 1})}, {"sample_ratio", 2}, {"mode", "max"}};  // samples 1.75, 2.25 ... 3.25
  check_values(apply("vision.roi_align", largest, {images, floats({1, 5}, {0, 0, 0, 1, 1})}), {1, 1, 1, 1}, {3.25});
  largest["mode"] = "max_corner";
  CHECK(error_of("vision.roi_align", largest, types_of({images, boxes})) ==
        "bad-attribute: mode must be \"avg\" or \"max\", found \"max_corner\"");
  const Operands no_pixels = {f32({1, 1, 0, 4}), f32({1, 5})}, no_boxes = {f32({1, 1, 0, 4}), f32({0, 5})};
  CHECK(error_of("vision.roi_align", {{"pooled_size", list({1, 1})}}, no_pixels) ==
        "shape-mismatch: an image of the data has no element to sample");
  CHECK(error_of("vision.roi_align", {{"pooled_size", list({1, 1})}}, no_boxes) == "");
}

TEST_CASE("counts of detections are positive") {
  Attrs attrs = {{"max_detections_per_class", 5},
                 {"max_detections", -5},
                 {"num_classes", 2},
                 {"iou_threshold", 0.5},
                 {"score_threshold", 0.5}};
  const Operands operands = {f32({1, 8, 4}), f32({1, 8, 3})};
  CHECK(error_of("vision.regular_non_max_suppression", attrs, operands) ==
        "bad-attribute: max_detections must be at least 1, found -5");
  attrs["max_detections"] = 5;
  CHECK(error_of("vision.regular_non_max_suppression", attrs, operands) == "");
}

TEST_CASE("resizing of spatial axes") {
  const Constant row = floats({1, 1, 2}, {0, 4});
  check_values(apply("image.resize1d", {{"size", list({4})}}, {row}), {1, 1, 4}, {0, 1, 3, 4});
  const Attrs nearest = {
      {"size", list({3})}, {"method", "nearest_neighbor"}, {"coordinate_transformation_mode", "align_corners"}};
  check_values(apply("image.resize1d", nearest, {row}), {1, 1, 3}, {0, 4, 4});  // 0.5 is rounded up
  const Constant bytes = tensor_of(dtype::u8, {1, 1, 2}, {0, 3});
  Attrs resized = {{"size", list({4})}};
  check_values(apply("image.resize1d", resized, {bytes}), {1, 1, 4}, {0, 0, 2, 3});
  resized["out_dtype"] = "float32";
  check_values(apply("image.resize1d", resized, {bytes}), {1, 1, 4}, {0, 0.75, 2.25, 3});
  const Constant image = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  check_values(apply("nn.upsampling", {{"scale_h", 1.0}, {"scale_w", 2.0}}, {image}), {1, 1, 2, 4},
               {1, 1, 2, 2, 3, 3, 4, 4});
  const Attrs corners = {{"scale_h", 1.0}, {"scale_w", 1.5}, {"method", "bilinear"}, {"align_corners", true}};
  check_values(apply("nn.upsampling", corners, {image}), {1, 1, 2, 3}, {1, 1.5, 2, 3, 3.5, 4});
  check_values(apply("nn.upsampling", {{"scale_h", 2.0}, {"scale_w", 1.0}, {"layout", "NHWC"}},
                     {floats({1, 1, 2, 2}, {1, 2, 3, 4})}),
               {1, 2, 2, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  CHECK(error_of("nn.upsampling", {{"scale_h", 1.5}, {"scale_w", 1.0}}, {f32({1, 1, Dim::symbol({"h"}), 2})})
            .starts_with("dynamic-shape: scale_h is 1.5, which is not integral"));
}

TEST_CASE("Fourier transforms, buffers, anchors") {
  const Constant re = floats({4}, {1, 2, 3, 4}), im = floats({4}, {0, 0, 0, 0});
  auto spectrum = apply_all("dft", {}, {re, im});
  CHECK(spectrum[0].number_at(0) == 10);
  CHECK(std::abs(spectrum[0].number_at(1) + 2) < 1e-5);
  CHECK(std::abs(spectrum[1].number_at(1) - 2) < 1e-5);
  auto back = apply_all("dft", {{"inverse", true}}, spectrum);
  for (int64_t k = 0; k < 4; ++k) CHECK(std::abs(back[0].number_at(k) - static_cast<double>(k + 1)) < 1e-5);
  const Constant window = floats({2}, {1, 2});
  const Attrs frames = {{"n_fft", 2}, {"hop_length", 1}, {"win_length", 2}};
  const Constant s = apply("stft", frames, {re, window});  // sums x + 2 y and differences x - 2 y
  CHECK(s.shape() == std::vector<int64_t>{2, 3, 2});
  for (int64_t k = 0; k < 3; ++k) {
    CHECK(s.number_at(2 * k) == doctest::Approx(static_cast<double>(3 * k + 5)));
    CHECK(s.number_at(6 + 2 * k) == doctest::Approx(static_cast<double>(-k - 3)));
    CHECK(std::abs(s.number_at(6 + 2 * k + 1)) < 1e-5);
  }
  check_values(apply("nn.fifo_buffer", {{"axis", 0}}, {floats({1}, {9}), re}), {4}, {2, 3, 4, 9});
  AttrList sizes = {0.5}, ratios = {1.0, 4.0};
  const Attrs anchors = {{"sizes", sizes}, {"ratios", ratios}};
  check_values(apply("vision.multibox_prior", anchors, {floats({1, 1, 1, 2}, {0, 0})}), {1, 4, 4},
               {0.125, 0.25, 0.375, 0.75, 0, 0.375, 0.5, 0.625, 0.625, 0.25, 0.875, 0.75, 0.5, 0.375, 1, 0.625});
  check_values(apply("sparse_to_dense", {{"output_shape", list({2, 2})}},
                     {ints({2, 2}, {0, 1, 1, 0}), floats({2}, {5, 6}), scalar_of(-1)}),
               {2, 2}, {-1, 5, 6, -1});
}

TEST_CASE("fixed point with a factor for each index of an axis") {
  auto i32 = [](const Values& v) { return tensor_of(dtype::i32, {static_cast<int64_t>(v.size())}, v); };
  const Constant x = tensor_of(dtype::i32, {1, 2}, {100, 100});
  const Attrs attrs = {{"axes", list({1})}, {"is_lshift_required", true}, {"is_rshift_required", true}};
  // 100 * 0.5 * 2 = 100 and 100 * 0.25 / 8 = 3.125.
  check_values(apply("fixed_point_multiply_per_axis", attrs, {x, i32({1 << 30, 1 << 29}), i32({1, 0}), i32({0, 3})}),
               {1, 2}, {100, 3});
  check_values(apply("fixed_point_multiply_per_axis", {{"axes", list({1})}},
                     {x, i32({1 << 30, 1 << 29}), i32({1, 0}), i32({0, 3})}),
               {1, 2}, {50, 25});
}

TEST_CASE("operators on quantized tensors") {
  const Constant half = scalar_of(0.5), quarter = scalar_of(0.25);
  auto zero = [](double z) { return tensor_of(dtype::i32, {}, {z}); };
  check_values(apply("qnn.quantize", {{"out_dtype", "int8"}}, {floats({3}, {1, 2, 1000}), half, zero(3)}), {3},
               {5, 7, 127});
  check_values(apply("qnn.dequantize", {}, {bytes({2}, {5, -7}), half, zero(3)}), {2}, {1, -5});
  CHECK(error_of("qnn.quantize", {{"out_dtype", "int8"}}, types_of({half, half, tensor_of(dtype::u8, {}, {0})}))
            .starts_with("type-mismatch: output_zero_point must have type int8 or int32"));
  const std::vector<Constant> numbers = {tensor_of(dtype::i32, {4}, {5, 4, -3, 1000}), half, zero(1), scalar_of(1),
                                         zero(2)};
  check_values(apply("qnn.requantize", {}, numbers), {4}, {4, 4, 0, 127});  // 2, 1.5, -2, 499.5
  std::vector<Constant> negative = numbers;
  negative[0] = tensor_of(dtype::i32, {1}, {-2});  // -1.5
  check_values(apply("qnn.requantize", {}, negative), {1}, {1});
  check_values(apply("qnn.requantize", {{"rounding", "TONEAREST"}}, negative), {1}, {0});
  CHECK(error_of("qnn.requantize", {{"out_dtype", "uint64"}}, types_of(numbers)) ==
        "bad-attribute: out_dtype must be int8, uint8, int16 or int32, found uint64");
  std::vector<Constant> columns = numbers;
  columns[0] = tensor_of(dtype::i32, {1, 2}, {5, 5});
  columns[1] = floats({2}, {0.5, 2});
  check_values(apply("qnn.requantize", {}, columns), {1, 2}, {4, 10});

  const Constant x = bytes({1, 2}, {3, 5}), w = bytes({2, 2}, {1, 2, 3, 4});
  check_values(apply("qnn.dense", {}, {x, w, zero(1), zero(0), half, half}), {1, 2}, {10, 22});
  check_values(apply("qnn.dense", {}, {x, w, zero(1), tensor_of(dtype::i32, {2}, {1, 3}), half, half}), {1, 2}, {4, 4});
  check_values(apply("qnn.batch_matmul", {{"transpose_b", true}},
                     {bytes({1, 1, 2}, {3, 5}), bytes({1, 2, 2}, {1, 2, 3, 4}), zero(1), zero(0), half, half}),
               {1, 1, 2}, {10, 22});
  // The padding has the value 0, so that only (3 - 1) counts.
  const Constant image = bytes({1, 1, 1, 1}, {3}), kernel = bytes({1, 1, 3, 3}, counting(9));
  check_values(apply("qnn.conv2d", {{"padding", list({1, 1})}}, {image, kernel, zero(1), zero(0), half, half}),
               {1, 1, 1, 1}, {8});
  const Constant zeros = tensor_of(dtype::i32, {2}, {1, 2});  // of the channels of the result, the last axis
  check_values(apply("qnn.conv2d", {{"kernel_layout", "HWIO"}},
                     {image, bytes({1, 1, 1, 2}, {5, 7}), zero(1), zeros, half, half}),
               {1, 2, 1, 1}, {8, 10});
  check_values(apply("qnn.conv2d_transpose", {}, {image, bytes({1, 1, 1, 2}, {1, 2}), zero(1), zero(0), half, half}),
               {1, 1, 1, 2}, {2, 4});
  CHECK(error_of("qnn.dense", {{"out_dtype", "int8"}}, types_of({x, w, zero(1), zero(0), half, half})) ==
        "bad-attribute: out_dtype must be \"int32\", found \"int8\"");

  // lhs is 1.5 and 2.5, rhs 0.5 and 1.
  const std::vector<Constant> both = {
      bytes({2}, {4, 6}), bytes({2}, {2, 4}), half, zero(1), quarter, zero(0), half, zero(1)};
  check_values(apply("qnn.add", {}, both), {2}, {5, 8});
  check_values(apply("qnn.subtract", {}, both), {2}, {3, 4});
  check_values(apply("qnn.mul", {}, both), {2}, {3, 6});  // 0.75 / 0.5 = 1.5, to even
  const std::vector<Constant> one = {bytes({3}, {-8, 1, 5}), half, zero(1), half, zero(1)};  // -4.5, 0, 2
  check_values(apply("qnn.abs", {}, one), {3}, {10, 1, 5});
  check_values(apply("qnn.hardswish", {}, one), {3}, {1, 1, 4});                  // 0, 0, 5 / 3
  check_values(apply("qnn.leaky_relu", {{"alpha", 0.5}}, one), {3}, {-3, 1, 5});  // -2.25, 0, 2
  check_values(apply("qnn.sigmoid", {}, {bytes({1}, {0}), half, zero(0), quarter, zero(-3)}), {1}, {-1});
  check_values(apply("qnn.softmax", {}, {bytes({2}, {7, 7}), half, zero(0), quarter, zero(0)}), {2}, {2, 2});
  check_values(apply("qnn.avg_pool2d", {{"pool_size", list({1, 2})}},
                     {bytes({1, 1, 1, 2}, {3, 6}), half, zero(1), quarter, zero(0)}),
               {1, 1, 1, 1}, {7});  // the mean of 1 and 2.5
  const std::vector<Constant> simulated = {floats({3}, {0.6, 0.7, 9}), half, scalar_of(-2), scalar_of(3)};
  check_values(apply("relay.op.annotation.simulated_quantize", {{"kind", 1}}, simulated), {3}, {0.5, 0.5, 1.5});
  check_values(apply("relay.op.annotation.simulated_quantize", {{"kind", 0}}, simulated), {3}, {0.6, 0.7, 9});
}

TEST_CASE("truncating division and logarithms") {
  check_values(apply("trunc_divide", {}, {floats({2}, {7, -7}), floats({2}, {2, 2})}), {2}, {3, -3});
  check_values(apply("trunc_divide", {}, {ints({7, -7}), ints({2, 2})}), {2}, {3, -3});
  check_values(apply("trunc_mod", {}, {ints({7, -7}), ints({2, 2})}), {2}, {1, -1});
  check_values(apply("log2", {}, {floats({2}, {8, 0.25})}), {2}, {3, -2});
  check_values(apply("log10", {}, {floats({2}, {1000, 0.1})}), {2}, {3, -1});
  check_values(apply("fast_exp", {}, {floats({1}, {0})}), {1}, {1});
}

TEST_CASE("a composed operator requires the positive sizes of its calls") {
  const Dim h = Dim::symbol({"h", 1});
  const Operands types = {f32({1, 1, h}), f32({1, 1, 3})};
  const Operator* conv = op("nn.conv1d_transpose");
  REQUIRE(conv->positive_sizes);
  const Attrs attrs = {{"padding", list({2})}};
  REQUIRE(std::holds_alternative<Type>(conv->type(attrs, types)));
  const std::vector<Dim> sizes = conv->positive_sizes(attrs, types);
  REQUIRE(sizes.size() == 1);
  CHECK(sizes[0] == h - Dim(2));
}
