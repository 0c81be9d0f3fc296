// Programs of bytes that are not known at compile time: products of two tensors, tables of functions, data movements.
// Kernels and objects must give the results of the definitions, on several CPU levels and with threads.
#include <doctest/doctest.h>

#include "engines.h"

namespace dlcc {
namespace {

constexpr unsigned seeds = 12;  // all targets and options of difference_of_engines

void check_engines(const std::string& text, const std::vector<RandomInput>& inputs) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const std::string difference = difference_of_engines(seed, text, inputs);
    CHECK_MESSAGE(difference.empty(), difference, "\n", text);
  }
}

std::string dequantized(const std::string& x, const std::string& type, int zero) {
  return fmt::format("qnn.dequantize({}, 0.0173f, cast({}, dtype=\"{}\"))", x, zero, type);
}

}  // namespace

TEST_CASE("products of two tensors of bytes") {
  const std::pair<std::string, DType> types[] = {{"uint8", dtype::u8}, {"int8", dtype::i8}};
  for (const auto& [first, x] : types)
    for (const auto& [second, w] : types) {
      const std::string a = dequantized("%x", first, first == "int8" ? -7 : 0);
      auto program = [&](const std::string& w_type, const std::string& product) {
        return fmt::format("def @main(%x: Tensor[(2, 19, 36), {}], %w: Tensor[{}, {}]) {{ {} }}", first, w_type, second,
                           product);
      };
      // [k, n], [n, k], and [n, k] that a transposition made [k, n]; 17 and 40 columns are no multiple of a panel.
      const std::string b = dequantized("%w", second, 3);
      check_engines(program("(2, 36, 17)", fmt::format("nn.batch_matmul({}, {})", a, b)),
                    {{x, {2, 19, 36}}, {w, {2, 36, 17}}});
      check_engines(program("(2, 40, 36)", fmt::format("nn.batch_matmul({}, {}, transpose_b=True)", a, b)),
                    {{x, {2, 19, 36}}, {w, {2, 40, 36}}});
      check_engines(program("(40, 2, 36)", fmt::format("nn.batch_matmul({}, transpose({}, axes=[1, 2, 0]))", a, b)),
                    {{x, {2, 19, 36}}, {w, {40, 2, 36}}});
      check_engines(program("(36, 33)", fmt::format("nn.relu(nn.matmul({}, {}))", a, b)),
                    {{x, {2, 19, 36}}, {w, {36, 33}}});
    }
}

TEST_CASE("tables of functions of bytes") {
  // Rows of one vector, of several vectors and of neither.
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 64}, {2, 5, 37}, {1, 1000}})
    for (const auto& [type, name, zero] : {std::tuple(dtype::u8, "uint8", 101), {dtype::i8, "int8", -12}})
      check_engines(fmt::format("def @main(%x: Tensor[({}), {}]) {{ let %d = {}; "
                                "qnn.quantize(%d * sigmoid(%d), 0.011f, cast({}, dtype=\"{}\")) }}",
                                fmt::join(shape, ", "), name, dequantized("%x", name, zero), zero, name),
                    {{type, shape}});
}

TEST_CASE("quantization after a chain of rows") {
  for (const char* f :
       {"nn.softmax(%x)",
        "nn.standardize(%x, ones(shape=[50], dtype=\"float32\"), zeros(shape=[50], dtype=\"float32\"), axis=[1])"})
    check_engines(fmt::format("def @main(%x: Tensor[(7, 50), float32]) {{ "
                              "qnn.quantize({}, 0.0078125f, cast(20, dtype=\"uint8\")) }}",
                              f),
                  {{dtype::f32, {7, 50}}});
}

}  // namespace dlcc
