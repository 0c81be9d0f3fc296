// Data-dependent sizes and sizes computed from inputs, in all engines.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "engines.h"

using namespace dlcc;

namespace {

// Checks random inputs of several seeds, so that conditions are true and false.
void check_engines(const std::string& text, const std::vector<RandomInput>& inputs) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    CHECK(difference_of_engines(seed, text, inputs) == "");
  }
}

}  // namespace

TEST_CASE("branches whose arms differ in shape agree in all engines") {
  check_engines(R"(def @main(%c: bool, %x: Tensor[(6, 4), float32], %w: Tensor[(4, 40), float32]) {
    let %r = if (%c) { nn.relu(%x) } else { strided_slice(%x, begin=[1], end=[3]) };
    (%r, nn.matmul(%r, %w))
  })",
                {{dtype::boolean, {}}, {dtype::f32, {6, 4}}, {dtype::f32, {4, 40}}});
}

TEST_CASE("branches whose arms have symbolic shapes agree in all engines") {
  const std::string text = R"(def @main(%c: bool, %x: Tensor[(n, 4), float32], %y: Tensor[(m, 4), float32]) {
    let %r = if (%c) { concatenate((%x, %x), axis=0) } else { exp(%y) };
    (sum(%r, axis=[0]), nn.softmax(%r), %r)
  })";
  for (int64_t n : {1, 3, 20}) check_engines(text, {{dtype::boolean, {}}, {dtype::f32, {n, 4}}, {dtype::f32, {7, 4}}});
}

TEST_CASE("branches on sizes whose arms differ in shape") {
  const std::string begin = R"(def @main(%x: Tensor[(n, 2), float32], %y: Tensor[(m, 2), float32]) {
    let %n = take(shape_of(%x, dtype="int64"), 0i64);
    let %m = take(shape_of(%y, dtype="int64"), 0i64);
    let %few = )";
  for (const char* condition : {"%n < 5i64", "%n == %m", "logical_and(%n < 5i64, %m > 1i64)",
                                "take(shape_of(nonzero(%x > 0f).0, dtype=\"int64\"), 0i64) < 5i64"})
    for (int64_t n : {1, 4, 9})
      check_engines(begin + condition + R"(;
        let %r = if (%few) { concatenate((%x, %x)) } else { exp(%x) };
        let %s = if (logical_not(%few)) { nn.softmax(%r) } else { strided_slice(%r, begin=[0], end=[1]) };
        (%r, nn.softmax(%s, axis=0)) })",
                    {{dtype::f32, {n, 2}}, {dtype::f32, {4, 2}}});
}

TEST_CASE("sizes computed from other sizes where a reshape may copy one") {
  for (const char* sizes : {"%n / 2i64, -1i64", "-1i64, %n / 2i64", "%n / 2i64, 2i64, -1i64", "%n - 1i64, -1i64"}) {
    const std::string text = R"(def @main(%x: Tensor[(n, 4), float32]) {
      let %n = take(shape_of(%x, dtype="int64"), 0i64);
      let %z = stack(()" + std::string(sizes) +
                             R"(), axis=0);
      reshape(%x, %z)
    })";
    for (int64_t n : {2, 4}) check_engines(text, {{dtype::f32, {n, 4}}});
  }
}

TEST_CASE("a tensor function whose result has a data-dependent size that no operand has") {
  const std::string text = R"(tensor @count<_1>(x: f32[]) -> (result: f32[_1]) {
    result[i < _1] = x[] * f32(i)
  }
  def @main(%x: Tensor[(7), float32]) {
    let %found = nonzero(nn.relu(%x));
    let %size = reshape(%found.1, newshape=[1]);
    define_sizes(%size, (?1), (7));
    let %counted: Tensor[(?1), float32] = call_tensor(@count, 2f);
    (%counted, exp(%counted))
  })";
  check_engines(text, {{dtype::f32, {7}}});
}

TEST_CASE("the last elements of an axis that may be empty") {
  for (const char* slice : {"begin=[-1], end=[9223372036854775807]", "begin=[-3], end=[9223372036854775807]",
                            "begin=[-2], end=[-1]", "begin=[-1], end=[-4], strides=[-2]"})
    for (int64_t n : {1, 2, 5})
      check_engines(fmt::format(R"(def @main(%x: Tensor[(n), float32]) {{
        let %found = nonzero(nn.relu(%x));
        strided_slice(prefix(%found.0, %found.1), {}, axes=[0])
      }})",
                                slice),
                    {{dtype::f32, {n}}});
}

TEST_CASE("a branch with an arm of data-dependent size") {
  check_engines(R"(def @main(%c: bool, %x: Tensor[(5, 4), float32]) {
    let %r = if (%c) {
      let %found = nonzero(nn.relu(%x));
      prefix(%found.0, %found.1)
    } else {
      nonzero(strided_slice(%x, begin=[1], end=[2])).0
    };
    (%r, sum(%r, axis=[0]))
  })",
                {{dtype::boolean, {}}, {dtype::f32, {5, 4}}});
}

// The form in which the importer writes a carried value to which every iteration appends: a row, or a column.
TEST_CASE("a loop whose iterations append to a tensor agrees in all engines") {
  check_engines(R"(def @main(%x: Tensor[(5, 4), float32], %w: Tensor[(4, 4), float32], %count: int64) {
    let %loop = fn (%i: int64, %all: Tensor[(5, 4), float32], %length: int64) {
      if (less(%i, minimum(%count, 5i64))) {
        let %d = define_sizes(reshape(%length, newshape=[1]), (?1), (5));
        let %before: Tensor[(?1, 4), float32] = prefix(%all, length=[?1]);
        let %row = expand_dims(take(%x, %i, axis=0), axis=0);
        let %after = concatenate((%before, nn.matmul(%row, %w)), axis=0);
        let %scores = nn.softmax(nn.matmul(%row, transpose(%after)));
        let %next = %after + nn.matmul(%scores, %after);
        %loop(%i + 1i64, nn.pad(%next, 0f, pad_width=[[0, 4 - ?1], [0, 0]]), take(shape_of(%next, dtype="int64"), 0i64))
      } else {
        (%all, %length)
      }
    };
    let %r = %loop(0i64, full(0f, shape=[5, 4]), 0i64);
    let %d = define_sizes(reshape(%r.1, newshape=[1]), (?2), (5));
    (prefix(%r.0, length=[?2]), %r.1)
  })",
                {{dtype::f32, {5, 4}}, {dtype::f32, {4, 4}}, {dtype::i64, {}}});
  const std::string columns = R"(def @main(%x: Tensor[(4, n), float32], %count: int64) {
    let %loop = fn (%i: int64, %all: Tensor[(4, n + 5), float32], %length: int64) {
      if (less(%i, minimum(%count, 5i64))) {
        let %d = define_sizes(reshape(%length, newshape=[1]), (?1), (n + 5));
        let %before: Tensor[(4, ?1), float32] = prefix(%all, length=[?1], axis=1);
        let %next = concatenate((%before, mean(%before, axis=[1], keepdims=True)), axis=1);
        %loop(%i + 1i64, nn.pad(%next, 0f, pad_width=[[0, 0], [0, n + 4 - ?1]]), %length + 1i64)
      } else {
        (%all, %length)
      }
    };
    let %first = take(shape_of(%x, dtype="int64"), 1i64);
    let %r = %loop(0i64, nn.pad(%x, 0f, pad_width=[[0, 0], [0, 5]]), %first);
    let %d = define_sizes(reshape(%r.1, newshape=[1]), (?2), (n + 5));
    prefix(%r.0, length=[?2], axis=1)
  })";
  for (int64_t n : {1, 3, 20}) check_engines(columns, {{dtype::f32, {4, n}}, {dtype::i64, {}}});
}

TEST_CASE("a slice whose end is negative at some sizes") {
  const std::string text = R"(def @main(%x: Tensor[(n, 4), float32]) {
    let %rows = take(shape_of(%x, dtype="int64"), full(0i64, shape=[1]), axis=0);
    let %part = strided_slice(%x, full(0i64, shape=[1]), %rows - 3i64, full(1i64, shape=[1]), axes=[0]);
    (%part, sum(%part, axis=[0]))
  })";
  for (int64_t n : {1, 2, 3, 4, 20}) check_engines(text, {{dtype::f32, {n, 4}}});
}

// Elements of int64 inputs are in [0, 6).
TEST_CASE("sizes computed from elements of inputs agree in all engines") {
  const RandomInput image = {dtype::f32, {6, 4}}, one = {dtype::i64, {1}}, two = {dtype::i64, {2}};
  check_engines("def @main(%n: Tensor[(2), int64]) { full(1f, %n) }", {two});
  check_engines("def @main(%x: Tensor[(6, 4), float32], %r: Tensor[(2), int64]) { nn.softmax(tile(%x, %r)) }",
                {image, two});
  check_engines("def @main(%x: Tensor[(6, 4), float32], %w: Tensor[(2, 2), int64]) { exp(nn.pad(%x, 1f, %w)) }",
                {image, {dtype::i64, {2, 2}}});
  check_engines(R"(def @main(%x: Tensor[(6, 4), float32], %b: Tensor[(1), int64], %e: Tensor[(1), int64]) {
    let %rows = strided_slice(%x, %b, %e + 2i64, full(1i64, shape=[1]));
    (nn.matmul(%rows, full(2f, shape=[4, 9])), shape_of(%rows, dtype="int64"))
  })",
                {image, one, one});
  check_engines(R"(def @main(%x: Tensor[(6, 4), float32], %s: Tensor[(2), int64]) {
    reshape(nn.relu(%x), maximum(%s - 3i64, -1i64))
  })",
                {image, two});
  check_engines(R"(def @main(%x: Tensor[(1, 2, 4, 4), float32], %s: Tensor[(2), int64]) {
    let %size = concatenate((full(1i64, shape=[1]), full(2i64, shape=[1]), %s + 1i64));
    image.resize(%x, %size, method="linear")
  })",
                {{dtype::f32, {1, 2, 4, 4}}, two});
}

TEST_CASE("sizes computed from inputs together with symbolic sizes") {
  const std::string text = R"(def @main(%x: Tensor[(n, 4), float32], %r: Tensor[(2), int64]) {
    let %y = tile(%x, %r + 1i64);
    (sum(%y, axis=[0]), nn.softmax(%y), strided_slice(%y, %r, %r + 3i64, full(1i64, shape=[2])))
  })";
  for (int64_t n : {1, 3, 20}) check_engines(text, {{dtype::f32, {n, 4}}, {dtype::i64, {2}}});
}

TEST_CASE("sizes computed from inputs within an arm") {
  check_engines(R"(def @main(%c: bool, %x: Tensor[(8), float32], %n: Tensor[(1), int64]) {
    let %r = if (%c) { exp(strided_slice(%x, full(0i64, shape=[1]), %n, full(1i64, shape=[1]))) } else { %x };
    (%r, sum(%r))
  })",
                {{dtype::boolean, {}}, {dtype::f32, {8}}, {dtype::i64, {1}}});
}

TEST_CASE("a branch selects the arm whose operators admit the sizes") {
  const std::string symbolic = R"(def @main(%x: Tensor[(1, 2, h, w), float32]) {
    let %rows = take(shape_of(%x, dtype="int64"), 2i64);
    let %columns = take(shape_of(%x, dtype="int64"), 3i64);
    let %pooled = if (logical_and(%rows >= 5i64, %columns >= 4i64)) {
      sum(exp(nn.max_pool2d(%x, pool_size=[5, 4])), axis=[2, 3])
    } else {
      max(%x, axis=[2, 3])
    };
    nn.relu(%pooled)
  })";
  for (auto [height, width] : {std::pair<int64_t, int64_t>{1, 1}, {4, 9}, {9, 3}, {5, 4}, {30, 17}})
    check_engines(symbolic, {{dtype::f32, {1, 2, height, width}}});
  const std::string of_input = R"(def @main(%x: Tensor[(1, 1, 6, 3), float32], %n: Tensor[(1), int64]) {
    let %one = full(0i64, shape=[1]);
    let %image = strided_slice(%x, %one, %n + 1i64, full(1i64, shape=[1]), axes=[2]);
    if (take(%n, 0i64) >= 3i64) { nn.avg_pool2d(%image, pool_size=[4, 2]) } else { %image }
  })";
  check_engines(of_input, {{dtype::f32, {1, 1, 6, 3}}, {dtype::i64, {1}}});
}

// Sums have elements also where their operands are empty, so that the engines compare statuses.
TEST_CASE("an image without any window ends the run") {
  check_engines(R"(def @main(%x: Tensor[(6, 3), float32], %n: Tensor[(1), int64]) {
    sum(nn.max_pool2d(reshape(prefix(%x, %n), newshape=[1, 1, -1, 3]), pool_size=[3, 2]))
  })",
                {{dtype::f32, {6, 3}}, {dtype::i64, {1}}});
  check_engines(R"(def @main(%x: Tensor[(6, 3), float32]) {
    let %found = nonzero(%x);
    let %rows = prefix(%found.0, %found.1);
    (argmax(%rows, axis=[0]), sum(nn.max_pool1d(reshape(%rows, newshape=[1, -1, 2]), pool_size=[2])))
  })",
                {{dtype::f32, {6, 3}}});
}

TEST_CASE("elements of an axis that may be empty") {
  const char* const results[] = {
      "nn.pad(%p, 0f, pad_width=[[1, 1]], pad_mode=\"edge\")",
      "nn.mirror_pad(%p, pad_width=[[1, 1]])",
      "image.resize(%p, size=[5])",
      "image.resize(%p, size=[5], method=\"nearest_neighbor\")",
      "image.grid_sample(reshape(%p, newshape=[1, 1, -1]), %grid, padding_mode=\"border\")",
      "image.crop_and_resize(reshape(%p, newshape=[1, 1, 1, -1]), %boxes, %first, crop_size=[1, 2])",
  };
  for (const char* result : results)
    check_engines(fmt::format(R"(def @main(%x: Tensor[(2), float32], %n: Tensor[(1), int64]) {{
      let %p = prefix(%x, %n);
      let %grid = ones(shape=[1, 1, 2], dtype="float32");
      let %boxes = zeros(shape=[1, 4], dtype="float32");
      let %first = zeros(shape=[1], dtype="int32");
      {}
    }})",
                              result),
                  {{dtype::f32, {2}}, {dtype::i64, {1}}});
}

TEST_CASE("a function relies on the lower bound of its size") {
  check_engines(R"(def @first(%p: Tensor[(n), float32]) {
    strided_slice(cumsum(%p, axis=0), begin=[0], end=[1], strides=[1])
  }
  def @main(%x: Tensor[(4), float32], %c: Tensor[(1), int64]) { @first(prefix(%x, %c)) })",
                {{dtype::f32, {4}}, {dtype::i64, {1}}});
}

TEST_CASE("sizes that a call makes numbers are required like others") {
  const std::string pool =
      "def @f(%x: Tensor[(k, 3), float32]) { sum(nn.max_pool1d(reshape(%x, newshape=[1, 3, -1]), pool_size=[5])) }\n";
  for (int64_t rows : {3, 7}) {
    const std::string x = "%x: Tensor[(" + std::to_string(rows) + ", 3), float32]";
    check_engines(pool + "def @main(" + x + ") { @f(%x) }", {{dtype::f32, {rows, 3}}});
    check_engines(pool + "def @main(" + x + ", %c: bool) { if (%c) { @f(%x) } else { 1f } }",
                  {{dtype::f32, {rows, 3}}, {dtype::boolean, {}}});
  }
}

TEST_CASE("an arm that needs larger sizes takes no memory at others") {
  const std::string outer_product = R"({
    let %p = reshape(nn.max_pool2d(%x, pool_size=[9000, 9000]), newshape=[-1, 1]);
    sum(nn.softmax(%p * reshape(%p, newshape=[1, -1])))
  })";
  const std::string x = "%x: Tensor[(1, 1, h, h), float32]";
  for (int64_t h : {1, 4}) {
    const std::vector<RandomInput> inputs = {{dtype::f32, {1, 1, h, h}}, {dtype::boolean, {}}};
    check_engines("def @main(" + x + ", %c: bool) { if (%c) " + outer_product + " else { 1f } }", inputs);
    check_engines("def @main(" + x + ", %c: bool) { if (%c) { if (%c) " + outer_product +
                      " else { 2f } } else { sum(nn.max_pool2d(%x, pool_size=[3, 3])) } }",
                  inputs);
    std::string function = "def @f(" + x + ") {\n  let %r0 = " + outer_product + ";\n";
    for (int k = 0; k < 16; ++k)
      function += "  let %r" + std::to_string(k + 1) + " = nn.softmax(tanh(expand_dims(%r" + std::to_string(k) +
                  ", axis=0)));\n";
    check_engines(
        function + "  sum(%r16)\n}\ndef @main(" + x + ", %c: bool) { if (%c) { @f(%x) + @f(tanh(%x)) } else { 1f } }",
        inputs);
    // The size is a quotient, or a minimum, of a product that is positive where both factors are negative.
    for (const std::string end : {"9223372036854775807], strides=[2]", "1000000], strides=[1]"})
      check_engines("def @main(" + x + R"(, %c: bool) {
        let %r = if (%c) {
          let %p = reshape(nn.max_pool2d(%x, pool_size=[2000, 2000]), newshape=[-1, 1]);
          strided_slice(reshape(%p * reshape(%p, newshape=[1, -1]), newshape=[-1]), begin=[0], end=[)" +
                        end + R"()
        } else { reshape(%x, newshape=[-1]) };
        sum(nn.softmax(%r))
      })",
                    inputs);
    // The checks are made before the calls of a function.
    std::string callee = "def @f(%x: Tensor[(q), float32]) {\n  let %r0 = %x;\n";
    for (int k = 0; k < 16; ++k)
      callee += "  let %r" + std::to_string(k + 1) + " = nn.softmax(tanh(%r" + std::to_string(k) + "));\n";
    callee += "  sum(nn.softmax(reshape(%r16, newshape=[-1, 1]) * reshape(%r16, newshape=[1, -1])))\n}\n";
    check_engines(callee + "def @main(" + x + R"(, %c: bool) {
      if (%c) {
        let %p = reshape(nn.max_pool2d(%x, pool_size=[2000, 2000]), newshape=[-1]);
        @f(%p) + @f(tanh(%p))
      } else { sum(%x) }
    })",
                  inputs);
  }
}

TEST_CASE("arms that check sizes, and functions that they call, are planned together") {
  const std::string x = "%x: Tensor[(1, 1, h, w), float32]", image = "%x: Tensor[(1, 1, k, m), float32]";
  const std::string flat = "reshape(nn.max_pool2d(%x, pool_size=[9000, 9000]), newshape=[-1])";
  std::string chain = "let %z0 = nn.softmax(%x);\n";  // of a function that is not inlined
  for (int k = 1; k < 9; ++k)
    chain += "let %z" + std::to_string(k) + " = nn.softmax(tanh(%z" + std::to_string(k - 1) + "));\n";
  const std::string programs[] = {
      // values of two arms in one block
      "def @main(" + x + R"(, %c: bool, %d: bool) {
        if (%c) {
          let %q = nn.softmax(tanh(reshape(nn.max_pool2d(%x, pool_size=[9, 9]), newshape=[-1])));
          let %k = nn.max_pool2d(%x, pool_size=[11, 12]);
          sum(nn.softmax(tanh(%q))) + sum(%k)
        } else { 1f }
      })",
      // the result of a branch
      "def @main(" + x + R"(, %c: bool, %d: bool) {
        let %r = if (%c) {
          let %p = reshape(nn.max_pool2d(%x, pool_size=[2000, 2000]), newshape=[-1, 1]);
          reshape(%p * reshape(%p, newshape=[1, -1]), newshape=[-1])
        } else { reshape(%x, newshape=[-1]) };
        sum(nn.softmax(%r))
      })",
      // a function whose input has no elements at some sizes
      "def @f(" + image + ") {\n" + chain + "%z8\n}\ndef @main(" + x + R"(, %c: bool, %d: bool) {
        if (%c) {
          let %y = nn.max_pool2d(%x, pool_size=[5, 5]);
          sum(@f(tanh(%y))) + sum(@f(nn.softmax(tanh(%y))))
        } else { 1f }
      })",
      // checks of both arms
      "def @main(" + x + ", %c: bool, %d: bool) {\n if (%c) {\n let %r = if (%d) { nn.softmax(" + flat +
          ") } else { tanh(" + flat + ") };\n sum(nn.softmax(%r))\n } else { 1f }\n}",
      // a function that checks its result in each arm
      "def @f(" + image + ", %d: bool) {\n" + chain + R"(
        if (%d) { nn.softmax(reshape(nn.max_pool2d(%z8, pool_size=[5, 5]), newshape=[-1])) }
        else { nn.softmax(tanh(reshape(nn.max_pool2d(%z8, pool_size=[5, 5]), newshape=[-1]))) }
      }
      def @main()" +
          x + R"(, %c: bool, %d: bool) {
        if (%c) { sum(@f(%x, %d)) + sum(@f(tanh(%x), %d)) } else { 1f }
      })",
      // a function that uses its input only after a check
      "def @f(" + image + ", %d: bool) {\n" + chain + R"(
        if (%d) { sum(nn.softmax(nn.max_pool2d(%z8, pool_size=[30, 1]))) } else { 1f }
      }
      def @main()" +
          x + R"(, %c: bool, %d: bool) {
        if (%c) {
          let %y = nn.softmax(nn.max_pool2d(%x, pool_size=[3, 1]));
          @f(%y, %d) + @f(nn.softmax(tanh(%y)), %d)
        } else { 2f }
      })",
  };
  for (const std::string& program : programs)
    for (int64_t h : {1, 7, 13})
      check_engines(program, {{dtype::f32, {1, 1, h, h}}, {dtype::boolean, {}}, {dtype::boolean, {}}});
}

TEST_CASE("an arm that needs larger data-dependent sizes takes no memory at others") {
  check_engines(R"(def @main(%x: Tensor[(h, 3), float32], %c: bool) {
    let %found = nonzero(%x);
    let %rows = reshape(cast(prefix(%found.0, %found.1), dtype="float32"), newshape=[1, 1, -1, 2]);
    if (%c) {
      let %p = reshape(nn.max_pool2d(%rows, pool_size=[90000, 1]), newshape=[-1, 1]);
      sum(nn.softmax(reshape(%p * reshape(%p, newshape=[1, -1]), newshape=[-1])))
    } else { sum(%rows) }
  })",
                {{dtype::f32, {6, 3}}, {dtype::boolean, {}}});
}

TEST_CASE("a concatenation with a part that may have a negative size") {
  const std::string parts =
      "nn.softmax(concatenate((nn.softmax(%x), nn.softmax(nn.pad(%y, 0f, pad_width=[[-4, 0], [0, 0]]))), axis=0))";
  for (int64_t rows : {3, 5})
    check_engines("def @f(%x: Tensor[(k, 16), float32], %y: Tensor[(k, 16), float32]) { " + parts + " }\n" +
                      "def @main(%x: Tensor[(" + std::to_string(rows) + ", 16), float32]) { @f(%x, tanh(%x)) }",
                  {{dtype::f32, {rows, 16}}});
  check_engines("def @main(%x: Tensor[(6, 16), float32], %n: Tensor[(1), int64]) {\n  let %y = prefix(%x, %n);\n  " +
                    parts + "\n}",
                {{dtype::f32, {6, 16}}, {dtype::i64, {1}}});
  check_engines("def @main(%x: Tensor[(6, 16), float32]) {\n  let %found = nonzero(%x > 1f);\n" +
                    std::string("  let %y = cast(prefix(%found.0, %found.1), dtype=\"float32\");\n") +
                    "  sum(concatenate((nn.softmax(cast(%found.0, dtype=\"float32\")), nn.softmax(nn.pad(%y, 0f, " +
                    "pad_width=[[-40, 0], [0, 0]]))), axis=0), axis=[0])\n}",
                {{dtype::f32, {6, 16}}});
}

TEST_CASE("a size from an input whose bound is a data-dependent size") {
  check_engines(R"(def @main(%y: Tensor[(3, 4), float32], %length: Tensor[(1), int64]) {
    let %found = nonzero(nn.relu(%y));
    prefix(prefix(%found.0, %found.1), %length)
  })",
                {{dtype::f32, {3, 4}}, {dtype::i64, {1}}});
}

TEST_CASE("a function that only an arm calls refuses sizes at the call") {
  std::string function = "def @f(%x: Tensor[(k, 4), float32]) {\n  let %v0 = nn.softmax(%x);\n";
  for (int k = 1; k < 16; ++k)
    function += "  let %v" + std::to_string(k) + " = nn.softmax(tanh(%v" + std::to_string(k - 1) + "));\n";
  function += "  let %rest = nn.softmax(nn.pad(%x, 0f, pad_width=[[-4, 0], [0, 0]]));\n";
  function += "  sum(nn.softmax(concatenate((%v15, %rest), axis=0)), axis=[0])\n}\n";
  const std::string calls = "@f(%x) + @f(tanh(%x))", otherwise = "sum(%x, axis=[0])";
  for (int64_t rows : {1, 3, 4, 9})
    for (const std::string& size : {std::string("h"), std::to_string(rows)}) {
      const std::string x = "def @main(%x: Tensor[(" + size + ", 4), float32]";
      check_engines(function + x + ", %c: bool) { if (%c) { " + calls + " } else { " + otherwise + " } }",
                    {{dtype::f32, {rows, 4}}, {dtype::boolean, {}}});
      check_engines(function + x + ") { " + calls + " }", {{dtype::f32, {rows, 4}}});
    }
}

TEST_CASE("every second column of rows that data select, in number half of the columns, rounded up") {
  const std::string text = R"(def @main(%x: Tensor[(n, m), float32]) {
    let %found = nonzero(take(nn.relu(%x), 0i64, axis=1));
    let %rows = take(%x, squeeze(prefix(%found.0, %found.1), axis=[1]), axis=0);
    let %half = strided_slice(%rows, begin=[0, 0], end=[n, m], strides=[1, 2]);
    (nn.softmax(tanh(%half)), sum(nn.softmax(%half), axis=[0]))
  })";
  for (int64_t m : {1, 5, 16, 33}) check_engines(text, {{dtype::f32, {9, m}}});
}

// The form in which the importer writes a scan output whose slices have a size that an input decides.
TEST_CASE("a loop writes slices of a size that is computed before it") {
  check_engines(R"(def @main(%h: Tensor[(1, 3), float32], %k: Tensor[(1), int64]) {
    let %size = concatenate((floor_mod(%k, 5i64), full(3i64, shape=[1], dtype="int64")));
    let %before: Tensor[(?1, 3), float32] = broadcast_to(full(0f, shape=[1, 3]), %size);
    let %loop = fn (%i: int64, %state: Tensor[(1, 3), float32], %all: Tensor[(4, 2 * ?1, 3), float32]) {
      if (less(%i, 4i64)) {
        let %row: Tensor[(?2, 3), float32] = broadcast_to(%state, %size);
        let %checked = match_cast(%row, Tensor[(?1, 3), float32]);
        let %both = concatenate((%row, nn.relu(%row)), axis=0);
        let %slice = match_cast(%both, Tensor[(2 * ?1, 3), float32]);
        %loop(%i + 1i64, tanh(%state), dynamic_update_slice(%all, %slice, %i, axis=0))
      } else {
        %all
      }
    };
    %loop(0i64, %h, full(0f, shape=[4, 2 * ?1, 3]))
  })",
                {{dtype::f32, {1, 3}}, {dtype::i64, {1}}});
}

TEST_CASE("a chain of crops along a symbolic axis") {
  std::string text = "def @main(%x: Tensor[(n, t), float32]) {\n  let %y0 = %x;\n";
  for (int k = 0; k < 8; ++k)
    text += fmt::format(
        "  let %y{} = nn.softmax(strided_slice(%y{}, begin=[1], end=[-1], axes=[1])"
        " + strided_slice(%y{}, begin=[2], end=[9223372036854775807], axes=[1]), axis=0);\n",
        k + 1, k, k);
  for (int64_t t : {1, 16, 17, 40}) check_engines(text + "  %y8\n}", {{dtype::f32, {3, t}}});
}

TEST_CASE("crops are added to windows of the same length, and the halves of an axis are put together") {
  std::string windows = "let %x0 = %x;", halves = "let %y0 = %x;";
  for (int k = 0; k < 4; ++k) {
    windows += fmt::format(
        "let %c{0} = nn.conv1d(%x{0}, full(0.5f, shape=[2, 2, 3]), channels=2, kernel_size=[3]);"
        "let %x{1} = strided_slice(%x{0}, begin=[1], end=[-1], axes=[2]) + %c{0};",
        k, k + 1);
    halves += fmt::format(
        "let %a{0} = strided_slice(%y{0}, begin=[0], end=[9223372036854775807], strides=[2], axes=[2]);"
        "let %b{0} = strided_slice(%y{0}, begin=[1], end=[9223372036854775807], strides=[2], axes=[2]);"
        "let %y{1} = concatenate((%a{0}, %b{0}), axis=2);",
        k, k + 1);
  }
  const std::string text =
      "def @main(%x: Tensor[(1, 2, t), float32]) {" + windows + halves + "(%x4, concatenate((%y4, %x), axis=1)) }";
  for (int64_t length : {1, 3, 9, 12, 64})
    CHECK(difference_of_engines(static_cast<unsigned>(length), text, {{dtype::f32, {1, 2, length}}}) == "");
}

TEST_CASE("chains of broadcasts of sizes that may be 0") {
  const std::string text = R"(
    def @rest(%x: Tensor[(k), float32]) { strided_slice(%x, begin=[1], end=[k]) }
    def @main(%a: Tensor[(n), float32], %b: Tensor[(m), float32], %c: Tensor[(p), float32], %d: Tensor[(q), float32],
              %e: Tensor[(r), float32]) {
      ((@rest(%a) + @rest(%b)) * @rest(%c) - @rest(%d)) + @rest(%e)
    }
  )";
  for (const auto& sizes : std::vector<std::vector<int64_t>>{
           {3, 1, 3, 3, 1}, {1, 1, 1, 1, 5}, {0, 1, 0, 1, 1}, {1, 1, 1, 0, 1}, {20, 1, 20, 1, 20}, {1, 1, 1, 1, 1}}) {
    std::vector<RandomInput> inputs;
    for (const int64_t size : sizes) inputs.push_back({dtype::f32, {size + 1}});
    for (unsigned seed = 0; seed < 3; ++seed) CHECK(difference_of_engines(seed, text, inputs) == "");
  }
}
