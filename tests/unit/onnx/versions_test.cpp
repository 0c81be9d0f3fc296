// Single operators, mainly their differences between operator sets.
#include "support.h"

using namespace dlcc::frontends::onnx;

TEST_CASE("Softmax flattens the axes from 'axis' on before operator set 13") {
  CHECK(ImportedNode{"Softmax", 13}.result() == "  nn.softmax(%x)\n");
  CHECK(ImportedNode{"Softmax", 11, {"x"}, integer("axis", 2)}.result() == "  nn.softmax(%x, axis=2)\n");
  CHECK(ImportedNode{"Softmax", 11}.result() ==
        "  let %reshape: Tensor[(2, 12), float32] = reshape(%x, newshape=[2, 12]);\n"
        "  let %softmax: Tensor[(2, 12), float32] = nn.softmax(%reshape, axis=1);\n"
        "  reshape(%softmax, newshape=[2, 3, 4])\n");
}

TEST_CASE("axes and other attributes that became inputs are read in both forms") {
  CHECK(ImportedNode{"Squeeze", 11, {"x"}, ints("axes", {0})}.result().find("axis 0 has size 2") != std::string::npos);
  CHECK(ImportedNode{"Unsqueeze", 11, {"x"}, ints("axes", {0, -1})}.result() ==
        "  let %expand_dims: Tensor[(1, 2, 3, 4), float32] = expand_dims(%x, axis=0);\n  expand_dims(%expand_dims, "
        "axis=4)\n");
  CHECK(ImportedNode{"Unsqueeze", 13, {"x", "a"}, "", list("a", {1, 2})}.result() ==
        "  expand_dims(%x, axis=1, num_newaxis=2)\n");
  CHECK(ImportedNode{"ReduceSum", 11, {"x"}, ints("axes", {1})}.result() == "  sum(%x, axis=[1], keepdims=True)\n");
  CHECK(ImportedNode{"ReduceSum", 13, {"x", "a"}, integer("keepdims", 0), list("a", {-1})}.result() ==
        "  sum(%x, axis=[-1])\n");
  CHECK(ImportedNode{"ReduceMean", 18, {"x"}, integer("noop_with_empty_axes", 1)}.result() == "  %x\n");
  CHECK(ImportedNode{"Slice", 1, {"x"}, ints("starts", {1}) + ints("ends", {9}) + ints("axes", {2})}.result() ==
        "  strided_slice(%x, begin=[1], end=[9], axes=[2])\n");
  // If an axis occurs twice, its last bounds count.
  CHECK(ImportedNode{"Slice", 1, {"x"}, ints("starts", {0, 1, 2}) + ints("ends", {1, 9, 3}) + ints("axes", {2, 1, 2})}
            .result() == "  strided_slice(%x, begin=[1, 2], end=[9, 3], axes=[1, 2])\n");
  CHECK(ImportedNode{"Slice",
                     10,
                     {"x", "a", "b", "c", "d"},
                     "",
                     list("a", {-1}) + list("b", {-9}) + list("c", {1}) + list("d", {-1})}
            .result() == "  strided_slice(%x, begin=[-1], end=[-9], strides=[-1], axes=[1])\n");
  CHECK(ImportedNode{"Clip", 6, {"x"}, number("min", -1)}.result() ==
        "  clip(%x, a_min=-1f, a_max=3.4028234663852886e+38f)\n");
  CHECK(ImportedNode{"Clip", 5, {"x"}, number("min", -1)}.result() == "  clip(%x, a_min=-1f, a_max=inff)\n");
  CHECK(ImportedNode{"Reshape", 1, {"x"}, ints("shape", {0, -1})}.result() == "  reshape(%x, newshape=[0, -1])\n");
}

TEST_CASE("Pad of operator sets 2 and 18") {
  CHECK(ImportedNode{"Pad", 2, {"x"}, ints("pads", {1, 0, 0, 0, 0, 2}) + text("mode", "edge")}.result() ==
        "  nn.pad(%x, 0f, pad_width=[[1, 0], [0, 0], [0, 2]], pad_mode=\"edge\")\n");
  CHECK(ImportedNode{"Pad", 18, {"x", "a", "", "b"}, "", list("a", {2, -1}) + list("b", {-1})}.result() ==
        "  nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [2, -1]])\n");
}

TEST_CASE("Split into parts needs a divisible axis before operator set 18") {
  std::vector<std::string> two = {"y", "z"};
  CHECK(ImportedNode{"Split", 13, {"x"}, integer("axis", 2), "", two}.result().starts_with(
      "  let %split: (Tensor[(2, 3, 2), float32], Tensor[(2, 3, 2), float32]) = split(%x, indices_or_sections=[2], "
      "axis=2);\n"));
  CHECK(ImportedNode{"Split", 13, {"x"}, integer("axis", 1), "", two}.result().find(
            "3 elements cannot be split into 2 equal pieces") != std::string::npos);
  CHECK(ImportedNode{"Split", 18, {"x"}, integer("axis", 1) + integer("num_outputs", 2), "", two}.result().find(
            "indices_or_sections=[2], axis=1") != std::string::npos);
}

TEST_CASE("before operator set 7 the second operand is broadcast from 'axis' on") {
  std::string three = "initializer { name: 'a' data_type: 1 dims: 3 float_data: [1, 2, 3] } ";
  CHECK(ImportedNode{"Add", 6, {"x", "a"}, integer("broadcast", 1) + integer("axis", 1), three}.result() ==
        "  add(%x, meta[relay.Constant][0])\n");
  CHECK(ImportedNode{"Add", 6, {"x", "a"}, "", three}.result().find("without attribute broadcast=1") !=
        std::string::npos);
}

TEST_CASE("Dropout does nothing at inference") {
  CHECK(ImportedNode{"Dropout", 1, {"x"}, integer("is_test", 0) + number("ratio", 0.5f)}.result() == "  %x\n");
  std::string training = "initializer { name: 't' data_type: 9 int32_data: 1 } ";
  CHECK(ImportedNode{"Dropout", 13, {"x", "", "t"}, integer("seed", 5), training}.result().find("where(") !=
        std::string::npos);
}

TEST_CASE("auto_pad determines the padding of a window") {
  auto pool = [](const char* mode) {
    return ImportedNode{"MaxPool", 12, {"x"}, ints("kernel_shape", {2}) + ints("strides", {1}) + text("auto_pad", mode)}
        .result();
  };
  CHECK(pool("SAME_UPPER") == "  nn.max_pool1d(%x, pool_size=[2], padding=[0, 1])\n");
  CHECK(pool("SAME_LOWER") == "  nn.max_pool1d(%x, pool_size=[2], padding=[1, 0])\n");
  CHECK(pool("VALID") == "  nn.max_pool1d(%x, pool_size=[2], padding=[0, 0])\n");
  CHECK(pool("BOTH").find("error[bad-attribute]: auto_pad is 'BOTH'") != std::string::npos);
}

TEST_CASE("MatMul of a vector is a squeezed product, of stacks a batch_matmul") {
  std::string vector = "initializer { name: 'a' data_type: 1 dims: 4 float_data: [1, 2, 3, 4] } ";
  std::string text = ImportedNode{"MatMul", 13, {"x", "a"}, "", vector}.result();
  CHECK(text.find("nn.matmul(%x, ") != std::string::npos);
  CHECK(text.find("squeeze(%matmul, axis=[-1])") != std::string::npos);
  std::string stack =
      "initializer { name: 'a' data_type: 1 dims: 2 dims: 4 dims: 1 float_data: [1, 2, 3, 4, 5, 6, 7, 8] } ";
  CHECK(ImportedNode{"MatMul", 13, {"x", "a"}, "", stack}.result() ==
        "  nn.batch_matmul(%x, meta[relay.Constant][0])\n");
}

TEST_CASE("operators exist from their first operator set on") {
  CHECK(ImportedNode{"HardSwish", 13}.result() ==
        "errors:\nm: node 'y' (HardSwish): error[unsupported-operator]: operator HardSwish does not exist in operator "
        "set 13\n    help: operator sets from 14 have it\n");
}
