// Convolutions, matrix products, pooling, normalization: values, edge cases of windows, and type relations.
#include "operators.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::relay;

namespace {

// Whether the definition reads operand 0 with a predicate.
bool reads_with_predicate(const std::string& name, const Attrs& attrs, const Operands& types) {
  tensor::TensorFunction f = op(name)->compute(attrs, types);
  bool predicated = false;
  for (const tensor::Stage& stage : f.stages)
    for (const tensor::Expr& value : stage.values)
      for (const tensor::Load& l : tensor::loads_of(value))
        if (l.buffer == f.params[0]) predicated = predicated || l.otherwise;
  return predicated;
}

}  // namespace

TEST_CASE("conv2d with padding, stride and dilation") {
  Constant x = floats({1, 1, 3, 3}, counting(9, 1)), ones = floats({1, 1, 2, 2}, {1, 1, 1, 1});
  check_values(apply("nn.conv2d", {}, {x, ones}), {1, 1, 2, 2}, {12, 16, 24, 28});
  check_values(apply("nn.conv2d", {{"padding", list({1, 1})}, {"strides", list({2, 2})}}, {x, ones}), {1, 1, 2, 2},
               {1, 5, 11, 28});
  check_values(apply("nn.conv2d", {{"dilation", list({2, 2})}}, {x, ones}), {1, 1, 1, 1}, {20});
  // One row above, none below, one column to the right.
  check_values(apply("nn.conv2d", {{"padding", list({1, 0, 0, 1})}}, {x, ones}), {1, 1, 3, 3},
               {3, 5, 3, 12, 16, 9, 24, 28, 15});
  check_values(apply("nn.conv2d", {{"padding", list({1, 1})}, {"strides", list({2, 2})}, {"pad_value", 2}}, {x, ones}),
               {1, 1, 2, 2}, {7, 9, 15, 28});
}

TEST_CASE("conv2d sums over channels, in groups") {
  Constant x = floats({1, 4, 1, 1}, {1, 2, 3, 4});
  Constant w = floats({2, 2, 1, 1}, {10, 1, 100, 1000});
  check_values(apply("nn.conv2d", {{"groups", 2}}, {x, w}), {1, 2, 1, 1}, {12, 4300});
  Constant depthwise = floats({8, 1, 1, 1}, {1, 10, 1, 10, 1, 10, 1, 10});
  check_values(apply("nn.conv2d", {{"groups", 4}}, {x, depthwise}), {1, 8, 1, 1}, {1, 10, 2, 20, 3, 30, 4, 40});
}

TEST_CASE("conv1d and conv3d sum over their windows") {
  check_values(
      apply("nn.conv1d", {{"padding", list({1, 0})}}, {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 2}, {1, 10})}),
      {1, 1, 3}, {10, 21, 32});
  check_values(apply("nn.conv3d", {}, {floats({1, 1, 2, 2, 2}, counting(8)), floats({1, 1, 2, 2, 2}, Values(8, 1))}),
               {1, 1, 1, 1, 1}, {28});
}

TEST_CASE("convolutions of int8 accumulate in int32, of float16 in float32") {
  Constant x = tensor_of(dtype::i8, {1, 1, 1, 3}, {100, 100, 100}),
           w = tensor_of(dtype::i8, {1, 1, 1, 3}, {100, 100, 1});
  check_values(apply("nn.conv2d", {{"out_dtype", "int32"}}, {x, w}), {1, 1, 1, 1}, {20100});
  // float16 sums are computed in float32: 2048 + 1 + 1 is 2050.
  Constant half = tensor_of(dtype::f16, {1, 3, 1, 1}, {2048, 1, 1}),
           one = tensor_of(dtype::f16, {1, 3, 1, 1}, {1, 1, 1});
  check_values(apply("nn.conv2d", {}, {half, one}), {1, 1, 1, 1}, {2050});
}

TEST_CASE("a convolution has predicated loads only if a window reads padding") {
  Operands types = {f32({1, 8, 14, 14}), f32({8, 8, 3, 3})};
  CHECK(reads_with_predicate("nn.conv2d", {{"padding", list({1, 1})}}, types));
  CHECK_FALSE(reads_with_predicate("nn.conv2d", {}, types));
  // The stride never reaches the padding at the end.
  CHECK_FALSE(reads_with_predicate("nn.conv2d", {{"padding", list({0, 0, 1, 1})}, {"strides", list({5, 5})}}, types));
}

TEST_CASE("type relation of convolutions") {
  Dim n = Dim::symbol({"n"}), h = Dim::symbol({"h", 3});
  Operands good = {f32({n, 3, h, 224}), f32({64, 3, 3, 3})};
  CHECK(type_of("nn.conv2d", {{"padding", list({1, 1})}}, good) == "Tensor[(n, 64, h, 224), float32]");
  CHECK(type_of("nn.conv2d", {{"padding", list({1, 1})}, {"strides", list({2, 2})}}, good) ==
        "Tensor[(n, 64, floor_div(h + 1, 2), 112), float32]");
  CHECK(error_of("nn.conv2d", {}, {f32({1, 64, 28, 28}), f32({256, 128, 3, 3})}) ==
        "shape-mismatch: the weight has 128 input channels, the data has 64");
  const Operands unknown_channels = {f32({1, n, 8, 8}), f32({4, 4, 3, 3})};
  CHECK(error_of("nn.conv2d", {{"groups", int64_t{1} << 62}}, unknown_channels) ==
        "too-large: the weight has 4 input channels in each of 4611686018427387904 groups, the data has n: a size does "
        "not fit 63 bits");
  CHECK(error_of("nn.conv2d", {{"groups", 3}}, {f32({1, 6, 8, 8}), f32({4, 2, 3, 3})}) ==
        "shape-mismatch: 4 output channels cannot be divided into 3 groups");
  CHECK(error_of("nn.conv2d", {}, {f32({1, 3, 2, 2}), f32({4, 3, 3, 3})})
            .starts_with("shape-mismatch: the window reaches over 3"));
  CHECK(error_of("nn.conv2d", {}, {f32({1, 3, Dim::symbol({"h", 1, 2}), 9}), f32({4, 3, 3, 3})})
            .starts_with("shape-mismatch: the window reaches over 3 elements of spatial axis 0, but the padded data"));
  const Attrs two_by_two = {{"pool_size", list({3, 3})}, {"strides", list({2, 2})}, {"ceil_mode", true}};
  CHECK(type_of("nn.max_pool2d", two_by_two, {f32({1, 3, 2, 5})}) == "Tensor[(1, 3, 1, 2), float32]");
  CHECK(error_of("nn.max_pool2d", two_by_two, {f32({1, 3, 1, 5})}).starts_with("shape-mismatch: the window reaches"));
  CHECK(error_of("nn.global_max_pool2d", {}, {f32({1, 3, 0, 5})}) ==
        "shape-mismatch: data of shape (1, 3, 0, 5) has no pixel");
  CHECK(error_of("nn.conv2d", {{"pad_value", 256}}, {{Shape{1, 3, 9, 9}, dtype::u8}, {Shape{4, 3, 3, 3}, dtype::u8}}) ==
        "bad-attribute: pad_value is 256, which the type uint8 does not have");
  CHECK(error_of("nn.conv2d", {{"padding", list({1, 1, 1})}}, good) ==
        "bad-attribute: padding must have 1, 2 or 4 numbers, found 3");
  CHECK(error_of("nn.conv2d", {{"padding", list({-1})}}, good)
            .starts_with("bad-attribute: padding must not be negative"));
  CHECK(error_of("nn.conv2d", {{"strides", list({0})}}, good) == "bad-attribute: strides must be at least 1, found 0");
  CHECK(error_of("nn.conv2d", {{"data_layout", "NCHW4c"}}, good) ==
        "unsupported-attribute: data_layout must have the axes of \"NCHW\" in some order, found \"NCHW4c\"");
  CHECK(type_of("nn.conv2d", {{"data_layout", "NHWC"}, {"kernel_layout", "HWIO"}}, {f32({n, h, 9, 3}), f32({3, 3, 3, 8})}) ==
        "Tensor[(n, h - 2, 7, 8), float32]");
  CHECK(error_of("nn.conv2d", {{"kernel_size", list({5, 5})}}, good) ==
        "shape-mismatch: kernel_size is (5, 5), but the weight has (3, 3)");
  CHECK(error_of("nn.conv2d", {{"channels", 3}}, good) ==
        "shape-mismatch: channels is 3, but the weight has 64 output channels");
  CHECK(error_of("nn.conv2d", {}, {f32({1, 3, 8}), f32({4, 3, 3, 3})}) ==
        "shape-mismatch: data must have 4 dimensions, found 3");
  CHECK(error_of("nn.conv1d", {{"padding", list({INT64_MAX})}}, {f32({1, 1, 8}), f32({1, 1, 3})})
            .starts_with("too-large"));
}

// The elements of a tensor in another order of its axes: "NHWC" to "NCHW".
static Constant in_order(const Constant& x, const std::string& from, const std::string& to) {
  AttrList axes;
  for (char axis : to) axes.push_back(static_cast<int64_t>(from.find(axis)));
  return apply("transpose", {{"axes", axes}}, {x});
}

struct Layouts {
  std::string data, kernel, result;  // an empty result is in the order of the data
};

// The result, in the order NCHW, of a convolution whose operands are given in NCHW and `own_kernel` and passed in the
// layouts.
static Constant in_layouts(const Layouts& l, const std::string& op, Attrs attrs, const Constant& x, const Constant& w,
                           const std::string& own_kernel) {
  attrs.merge(Attrs{{"data_layout", l.data}, {"kernel_layout", l.kernel}, {"out_layout", l.result}});
  const Constant y = apply(op, attrs, {in_order(x, "NCHW", l.data), in_order(w, own_kernel, l.kernel)});
  return in_order(y, l.result.empty() ? l.data : l.result, "NCHW");
}

TEST_CASE("convolutions and poolings of every order of axes are those of NCHW") {
  const Constant x = floats({2, 4, 5, 6}, counting(240)), w = floats({6, 2, 3, 2}, counting(72));
  const Attrs conv = {{"strides", list({2, 1})}, {"padding", list({1, 0, 1, 1})}, {"groups", 2}};
  const Constant expected = apply("nn.conv2d", conv, {x, w});
  for (const Layouts& l : {Layouts{"NHWC", "HWIO", ""}, Layouts{"NHWC", "HWOI", "NHWC"},
                           Layouts{"NCHW", "OHWI", "NHWC"}, Layouts{"HWCN", "IOWH", "CNWH"}}) {
    CAPTURE(l.data);
    CHECK(in_layouts(l, "nn.conv2d", conv, x, w, "OIHW").same_as(expected));
  }
  for (const char* op : {"nn.max_pool2d", "nn.avg_pool2d", "nn.sum_pool2d", "nn.global_max_pool2d", "nn.global_avg_pool2d"}) {
    CAPTURE(op);
    Attrs attrs;
    if (!std::string(op).starts_with("nn.global"))
      attrs = {{"pool_size", list({3, 2})}, {"strides", list({2, 2})}, {"padding", list({1, 0})}};
    const Constant pooled = apply(op, attrs, {x});
    attrs["layout"] = "NHWC";
    const Constant last = in_order(x, "NCHW", "NHWC");
    CHECK(in_order(apply(op, attrs, {last}), "NHWC", "NCHW").same_as(pooled));
    attrs["out_layout"] = "CHNW";
    CHECK(in_order(apply(op, attrs, {last}), "CHNW", "NCHW").same_as(pooled));
  }
  for (const char* op : {"nn.adaptive_avg_pool2d", "nn.adaptive_max_pool2d"}) {
    CAPTURE(op);
    const Attrs windows = {{"output_size", list({2, 4})}};
    Attrs attrs = windows;
    attrs.merge(Attrs{{"layout", "WNHC"}, {"out_layout", "NHWC"}});
    const Constant pooled = apply(op, attrs, {in_order(x, "NCHW", "WNHC")});
    CHECK(in_order(pooled, "NHWC", "NCHW").same_as(apply(op, windows, {x})));
  }
  CHECK(type_of("nn.adaptive_avg_pool3d", {{"output_size", list({2})}, {"layout", "NDHWC"}}, {f32({1, 4, 5, 6, 3})}) ==
        "Tensor[(1, 2, 2, 2, 3), float32]");
  CHECK(type_of("nn.conv1d", {{"data_layout", "NWC"}, {"kernel_layout", "WIO"}}, {f32({1, 8, 3}), f32({3, 3, 4})}) ==
        "Tensor[(1, 6, 4), float32]");
  CHECK(type_of("nn.max_pool3d", {{"pool_size", list({2, 2, 2})}, {"layout", "NDHWC"}}, {f32({1, 4, 5, 6, 3})}) ==
        "Tensor[(1, 3, 4, 5, 3), float32]");
}

TEST_CASE("transposed convolutions of every order of axes are those of NCHW") {
  const Constant x = floats({2, 4, 5, 6}, counting(240)), w = floats({4, 3, 3, 2}, counting(72));
  const Attrs conv = {{"strides", list({2, 1})},
                      {"padding", list({1, 0, 0, 1})},
                      {"output_padding", list({1, 0})},
                      {"groups", 2}};
  const Constant expected = apply("nn.conv2d_transpose", conv, {x, w});
  for (const Layouts& l : {Layouts{"NHWC", "IOHW", ""}, Layouts{"NHWC", "HWOI", "NHWC"},
                           Layouts{"NCHW", "OIHW", "NHWC"}, Layouts{"HWCN", "WOHI", "CNWH"}}) {
    CAPTURE(l.data);
    CHECK(in_layouts(l, "nn.conv2d_transpose", conv, x, w, "IOHW").same_as(expected));
  }
  const auto volume = [](const char* kernel) {
    return Attrs{{"strides", list({2, 2, 2})}, {"data_layout", "NDHWC"}, {"kernel_layout", kernel}};
  };
  const Operands operands = {f32({1, 4, 5, 6, 3}), f32({3, 8, 2, 2, 2})};
  CHECK(type_of("nn.conv3d_transpose", volume("OIDHW"), operands) == "Tensor[(1, 8, 10, 12, 8), float32]");
  CHECK(error_of("nn.conv3d_transpose", volume("DHWIO"), operands).starts_with("unsupported-attribute: kernel_layout"));
}

TEST_CASE("bias_add adds along an axis; batch_norm uses the given statistics") {
  check_values(apply("nn.bias_add", {}, {floats({1, 2, 2}, {0, 1, 2, 3}), floats({2}, {10, 20})}), {1, 2, 2},
               {10, 11, 22, 23});
  check_values(apply("nn.bias_add", {{"axis", -1}}, {floats({1, 2, 2}, {0, 1, 2, 3}), floats({2}, {10, 20})}),
               {1, 2, 2}, {10, 21, 12, 23});
  CHECK(error_of("nn.bias_add", {}, {f32({1, 3}), f32({2})}) ==
        "shape-mismatch: the length of the bias must equal the data's size along axis 1, found 2 and 3");

  std::vector<Constant> args = {floats({1, 2, 2}, {1, 3, 5, 7}), floats({2}, {2, 3}), floats({2}, {10, 20}),
                                floats({2}, {1, 5}), floats({2}, {4, 1})};
  auto results = apply_all("nn.batch_norm", {{"epsilon", 0.0}}, args);
  check_values(results[0], {1, 2, 2}, {10, 12, 20, 26});
  check_values(results[1], {2}, {1, 5});
  check_values(results[2], {2}, {4, 1});
  check_values(apply("nn.batch_norm", {{"epsilon", 0.0}, {"scale", false}, {"center", false}}, args), {1, 2, 2},
               {0, 1, 0, 2});
}

TEST_CASE("matmul, dense and batch_matmul with and without transposition") {
  Constant a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {1, 0, 0, 1, 1, 1});
  Values expected = {4, 5, 10, 11};
  check_values(apply("nn.matmul", {}, {a, b}), {2, 2}, expected);
  Constant bt = floats({2, 3}, {1, 0, 1, 0, 1, 1}), at = floats({3, 2}, {1, 4, 2, 5, 3, 6});
  check_values(apply("nn.dense", {{"units", 2}}, {a, bt}), {2, 2}, expected);
  check_values(apply("nn.matmul", {{"transpose_a", true}, {"transpose_b", true}}, {at, bt}), {2, 2}, expected);
  check_values(apply("nn.dense", {}, {floats({3}, {1, 2, 3}), bt}), {2}, {4, 5});
  check_values(apply("nn.dense", {}, {floats({1, 2, 3}, counting(6, 1)), bt}), {1, 2, 2}, expected);
  check_values(apply("nn.matmul", {}, {floats({2, 0}, {}), floats({0, 2}, {})}), {2, 2}, {0, 0, 0, 0});
  check_values(apply("nn.matmul", {}, {tensor_of(dtype::i32, {1, 2}, {3, -4}), tensor_of(dtype::i32, {2, 1}, {5, 6})}),
               {1, 1}, {-9});
}

TEST_CASE("batches of matrix products are broadcast") {
  Constant a = floats({2, 1, 2}, {1, 2, 3, 4}), b = floats({1, 2, 1}, {1, 10});
  check_values(apply("nn.batch_matmul", {}, {a, b}), {2, 1, 1}, {21, 43});
}

TEST_CASE("type relation of matrix products") {
  Dim n = Dim::symbol({"n"});
  CHECK(type_of("nn.dense", {}, {f32({n, 10}), f32({4, 10})}) == "Tensor[(n, 4), float32]");
  CHECK(type_of("nn.batch_matmul", {{"transpose_b", true}}, {f32({n, 5, 10}), f32({1, 4, 10})}) ==
        "Tensor[(n, 5, 4), float32]");
  CHECK(error_of("nn.dense", {}, {f32({1, 10}), f32({4, 9})}) ==
        "shape-mismatch: axis 1 of data must equal axis 1 of weight, found 10 and 9");
  CHECK(error_of("nn.dense", {{"units", 5}}, {f32({1, 10}), f32({4, 10})}) ==
        "shape-mismatch: units is 5, but weight has 4");
  CHECK(error_of("nn.batch_matmul", {}, {f32({2, 3, 4}), f32({3, 4, 5})})
            .starts_with("shape-mismatch: the batch axes (2) of tensor_a and (3) of tensor_b"));
  CHECK(error_of("nn.matmul", {}, {f32({2, 3}), f32({1, 3, 4})}) ==
        "shape-mismatch: tensor_b must have 2 dimensions, found 3");
}

TEST_CASE("max pooling ignores padding and propagates NaN") {
  Constant x = floats({1, 1, 3, 3}, counting(9));
  Attrs window = {{"pool_size", list({2, 2})}};
  check_values(apply("nn.max_pool2d", window, {x}), {1, 1, 2, 2}, {4, 5, 7, 8});
  Attrs padded = {{"pool_size", list({2, 2})}, {"strides", list({2, 2})}, {"padding", list({1, 1})}};
  check_values(apply("nn.max_pool2d", padded, {floats({1, 1, 3, 3}, counting(9, -20))}), {1, 1, 2, 2},
               {-20, -18, -14, -12});
  Attrs dilated = {{"pool_size", list({2})}, {"dilation", list({2})}};
  check_values(apply("nn.max_pool1d", dilated, {floats({1, 1, 4}, {9, 1, NaN, 3})}), {1, 1, 2}, {NaN, 3});
  check_values(apply("nn.max_pool3d", {{"pool_size", list({2, 1, 2})}}, {floats({1, 1, 2, 1, 2}, counting(4))}),
               {1, 1, 1, 1, 1}, {3});
  check_values(apply("nn.max_pool1d", {{"pool_size", list({2})}, {"padding", list({1})}},
                     {tensor_of(dtype::i8, {1, 1, 1}, {-5})}),
               {1, 1, 2}, {-5, -5});
}

TEST_CASE("ceil_mode counts windows that begin inside data or left padding") {
  Constant x = floats({1, 1, 4}, {1, 2, 3, 4});
  Attrs attrs = {{"pool_size", list({3})}, {"strides", list({2})}, {"ceil_mode", true}};
  check_values(apply("nn.max_pool1d", attrs, {x}), {1, 1, 2}, {3, 4});
  // The third window would begin in the padding at the end.
  attrs["padding"] = list({1, 1});
  attrs["strides"] = list({3});
  check_values(apply("nn.max_pool1d", attrs, {floats({1, 1, 2}, {1, 2})}), {1, 1, 1}, {2});
  // A window that ends beyond the padding averages fewer taps, also when the padding is counted.
  Attrs average = {{"pool_size", list({3})}, {"strides", list({2})}, {"ceil_mode", true}};
  check_values(apply("nn.avg_pool1d", average, {x}), {1, 1, 2}, {2, 3.5});
  average["count_include_pad"] = true;
  average["padding"] = list({1, 0});
  check_values(apply("nn.avg_pool1d", average, {x}), {1, 1, 2}, {1, 3});
  average["padding"] = list({0, 1});
  average["strides"] = list({3});
  check_values(apply("nn.avg_pool1d", average, {x}), {1, 1, 2}, {2, 2});
}

TEST_CASE("avg_pool divides by the taps it counts") {
  Constant x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  Attrs attrs = {{"pool_size", list({2, 2})}, {"padding", list({1, 1})}};
  check_values(apply("nn.avg_pool2d", attrs, {x}), {1, 1, 3, 3}, {1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4});
  attrs["count_include_pad"] = true;
  check_values(apply("nn.avg_pool2d", attrs, {x}), {1, 1, 3, 3}, {0.25, 0.75, 0.5, 1, 2.5, 1.5, 0.75, 1.75, 1});
  Attrs dilated = {{"pool_size", list({2})}, {"dilation", list({2})}, {"padding", list({1, 1})}};
  check_values(apply("nn.avg_pool1d", dilated, {floats({1, 1, 3}, {1, 2, 3})}), {1, 1, 3}, {2, 2, 2});
  Constant bytes = tensor_of(dtype::u8, {1, 1, 2}, {200, 201});
  check_values(apply("nn.avg_pool1d", {{"pool_size", list({2})}}, {bytes}), {1, 1, 1}, {200});
  CHECK(error_of("nn.avg_pool1d", {}, {f32({1, 1, 2})}) == "bad-attribute: attribute 'pool_size' is missing");
}

TEST_CASE("global pooling takes the mean or maximum of each channel") {
  Constant x = floats({1, 2, 1, 2}, {1, 2, 30, 40});
  check_values(apply("nn.global_avg_pool2d", {}, {x}), {1, 2, 1, 1}, {1.5, 35});
  check_values(apply("nn.global_max_pool2d", {}, {x}), {1, 2, 1, 1}, {2, 40});
}

TEST_CASE("max_pool_indices are positions in the whole tensor") {
  Constant x = floats({1, 2, 2, 3}, {1, 5, 2, 4, 3, 5, 0, 0, 0, 0, 0, 9});
  Attrs attrs = {{"pool_size", list({2, 2})}, {"strides", list({1, 1})}};
  check_values(apply("nn.max_pool_indices", attrs, {x}), {1, 2, 1, 2}, {1, 1, 6, 11});
  attrs["storage_order"] = 1;
  check_values(apply("nn.max_pool_indices", attrs, {x}), {1, 2, 1, 2}, {2, 2, 6, 11});
  // Padding is never the maximum, not even of -infinity.
  Constant low = floats({1, 1, 2}, {-infinity, -infinity});
  Attrs padded = {{"pool_size", list({2})}, {"padding", list({1, 1})}};
  check_values(apply("nn.max_pool_indices", padded, {low}), {1, 1, 3}, {0, 0, 1});
}

TEST_CASE("softmax does not overflow") {
  Constant x = floats({2, 2}, {1000, 1000, 0, std::log(3.0)});
  check_values(apply("nn.softmax", {}, {x}), {2, 2}, {0.5, 0.5, 0.25, 0.75});
  check_values(apply("nn.log_softmax", {}, {x}), {2, 2},
               {std::log(0.5), std::log(0.5), std::log(0.25), std::log(0.75)});
  check_values(apply("nn.softmax", {{"axis", 0}}, {floats({2, 1}, {0, 0})}), {2, 1}, {0.5, 0.5});
  Constant half = tensor_of(dtype::f16, {1, 2}, {-60000, 60000});
  check_values(apply("nn.softmax", {}, {half}), {1, 2}, {0, 1});
  check_values(apply("nn.softmax", {}, {floats({0, 2}, {})}), {0, 2}, {});
  CHECK(error_of("nn.softmax", {{"axis", 2}}, {f32({2, 2})}) == "bad-attribute: axis must be in [-2, 1], found 2");
  CHECK(error_of("nn.softmax", {}, {f32({})}) == "bad-attribute: axis is -1, but a scalar has no axes");
}

TEST_CASE("the softmax of a row with a NaN is NaN, that of minus infinity 0") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Constant x = floats({2, 3}, {0, -infinity, 0, 1, NAN, 2});
  for (const char* name : {"nn.softmax", "nn.log_softmax"}) {
    const Constant result = apply(name, {}, {x});
    const auto values = result.as<float>();
    const bool is_logarithm = std::string_view(name) == "nn.log_softmax";
    CHECK(values[1] == (is_logarithm ? -infinity : 0));
    for (size_t k = 0; k < 6; ++k) CHECK(std::isnan(values[k]) == (k >= 3));
  }
}

TEST_CASE("dropout does nothing at inference") {
  auto results = apply_all("nn.dropout", {}, {tensor_of(dtype::f16, {2}, {1, 2})});
  check_values(results[0], {2}, {1, 2});
  check_values(results[1], {2}, {1, 1});
}
