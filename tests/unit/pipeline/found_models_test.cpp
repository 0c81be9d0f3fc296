// Programs reduced from failures of random models (tests/random_models) and fuzzing, in all engines.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "engines.h"

using namespace dlcc;

namespace {

void check_engines_agree(const std::string& body, const std::vector<RandomInput>& inputs) {
  const std::string text = "#[version = \"0.0.5\"]\ndef @main(" + body;
  for (unsigned seed = 0; seed < 4; ++seed) CHECK_MESSAGE(difference_of_engines(seed, text, inputs) == "", text);
}

}  // namespace

TEST_CASE("the maximum of a magnitude and 0 is the magnitude in every type") {
  for (DType type : {dtype::f32, dtype::f64})
    check_engines_agree(
        fmt::format("%x: Tensor[(3, 5), {0}]) {{ maximum(abs(%x), cast(0f, dtype=\"{0}\")) }}\n", name(type)),
        {{type, {3, 5}}});
  for (const char* type : {"float16", "bfloat16"})
    check_engines_agree(fmt::format("%x: Tensor[(3, 5), float32]) {{ maximum(abs(cast(%x, dtype=\"{0}\")), cast(0f, "
                                    "dtype=\"{0}\")) }}\n",
                                    type),
                        {{dtype::f32, {3, 5}}});
}

TEST_CASE("slices of an empty tensor are empty, wherever they begin") {
  check_engines_agree(
      "%x: Tensor[(4, 0, 3), float32]) {\n"
      "  (strided_slice(%x, begin=[1, 0, 1], end=[3, 0, 3]), split(%x, indices_or_sections=[1], axis=0))\n}\n",
      {{dtype::f32, {4, 0, 3}}});
}

TEST_CASE("a padded tensor of 4-bit elements may be empty") {
  check_engines_agree(
      "%x: Tensor[(n - 1), int4], %y: Tensor[(n), float32]) {\n"
      "  (cast(nn.pad(cast(%x, dtype=\"int8\"), 7, pad_width=[[0, 3]]), dtype=\"int32\"), %y + 1f)\n}\n",
      {{DType::int4_, {0}}, {dtype::f32, {1}}});
}

TEST_CASE("an empty tensor with a symbolic size is not folded to a constant") {
  check_engines_agree("%x: Tensor[(n, 4), float32]) { (full(1f, shape=[0, n, 4], dtype=\"float32\"), abs(%x)) }\n",
                      {{dtype::f32, {5, 4}}});
}

TEST_CASE("a loop writes one row of a larger tensor into each slice of its output") {
  for (const char* row : {"take(%x, 0i64, axis=0)", "take(%x, 3i64, axis=0)"})
    check_engines_agree(fmt::format(R"(%x: Tensor[(5, 8), float32], %ys: Tensor[(4, 8), float32]) {{
  let %loop = fn (%t: int64, %all: Tensor[(4, 8), float32]) -> Tensor[(4, 8), float32] {{
    if (less(%t, 4i64)) {{
      %loop(%t + 1i64, dynamic_update_slice(%all, {}, %t))
    }} else {{
      %all
    }}
  }};
  %loop(0i64, %ys)
}}
)",
                                    row),
                        {{dtype::f32, {5, 8}}, {dtype::f32, {4, 8}}});
}

TEST_CASE("a slice of symbolic axes may end far beyond them") {
  check_engines_agree(R"(%x: Tensor[(2, h, w), float32]) {
  strided_slice(%x, begin=[0, 0, 1], end=[2, 1000000000, 1000000000])
}
)",
                      {{dtype::f32, {2, 8, 9}}});
}

TEST_CASE("a fused operator keeps the sizes that inference found from values") {
  check_engines_agree(
      "%x: Tensor[(2, 3), float32], %i: int64) {\n"
      "  let %columns = take(full(3i64, shape=[1], dtype=\"int64\"), %i, axis=0, mode=\"clip\");\n"
      "  let %rows = full(2i64, shape=[1], dtype=\"int64\");\n"
      "  reshape(%x, concatenate((%rows, expand_dims(%columns, axis=0))))\n}\n",
      {{dtype::f32, {2, 3}}, {dtype::i64, {}}});
}

TEST_CASE("a power of converted integers computes each square once") {
  check_engines_agree(
      "%x: Tensor[(3, 5), int32], %y: Tensor[(5), int64]) { cast(power(cast(%x, dtype=\"int64\"), %y), "
      "dtype=\"int32\") }\n",
      {{dtype::i32, {3, 5}}, {dtype::i64, {5}}});
}

TEST_CASE("a long expression over elements at computed positions is evaluated once") {
  check_engines_agree(
      "%x: Tensor[(n, 4), float64], %y: Tensor[(n, 4), float64]) {\n"
      "  take(mod(%x, %y), Tensor[(3), int64]{-1, 1, -3}, axis=1, mode=\"strict\")\n}\n",
      {{dtype::f64, {3, 4}}, {dtype::f64, {3, 4}}});
}
