// Reductions of rows whose number is symbolic, in all engines: rows shorter than a vector, whose lanes are rows, and
// longer ones; sums of sequences in tiles of a symbolic batch; rows that are scattered. At sizes around those of vectors
// and tiles.
#include <doctest/doctest.h>

#include <string>

#include "engines.h"

using namespace dlcc;

namespace {

void check_at_sizes(const std::string& result, const std::string& type, int64_t columns) {
  const std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[" + type + ", float32]) {\n  " + result + "\n}\n";
  unsigned seed = 0;
  for (int64_t rows : {1, 2, 7, 15, 16, 17, 67})
    CHECK_MESSAGE(difference_of_engines(seed++, text, {{dtype::f32, {rows, columns}}}) == "", text);
}

}  // namespace

TEST_CASE("reductions of a symbolic number of short rows") {
  for (int64_t columns : {2, 3, 5, 8, 15, 21}) {
    const std::string type = "(n, " + std::to_string(columns) + ")";
    for (const char* result : {"nn.softmax(%x)", "argmax(%x, axis=[1])", "max(%x, axis=[1])",
                               "sum(multiply(%x, %x), axis=[1])"})
      check_at_sizes(result, type, columns);
  }
}

TEST_CASE("functions that reduce short rows several times keep nothing for each row") {
  const char* functions[] = {"nn.log_softmax(%x)", "nn.softmax(%x)", "argmin(%x, axis=[1])", "logsumexp(%x, axis=[1])",
                             "divide(%x, sqrt(sum(multiply(%x, %x), axis=[1], keepdims=True)))"};
  unsigned seed = 0;
  for (const char* function : functions)
    for (int64_t rows : {1, 127, 128, 129, 300})
      for (const char* count : {"n", ""}) {
        const std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(" +
                                 (*count ? count : std::to_string(rows)) + ", 5), float32]) { " + function + " }\n";
        CHECK_MESSAGE(difference_of_engines(seed++, text, {{dtype::f32, {rows, 5}}}) == "", text);
      }
}

TEST_CASE("reductions of narrow columns of symbolic length") {
  for (int64_t columns : {3, 5, 7, 13})
    for (const char* result : {"sum(%x, axis=[0])", "max(%x, axis=[0])", "nn.softmax(%x, axis=0)"})
      check_at_sizes(result, "(n, " + std::to_string(columns) + ")", columns);
}

TEST_CASE("sums of sequences of a symbolic batch") {
  unsigned seed = 0;
  const std::string text =
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(b, t, 20), float32]) { sum(%x, axis=[1]) }\n";
  for (int64_t batch : {1, 2, 3, 4, 6, 7, 8, 9, 15, 16, 17})
    CHECK(difference_of_engines(seed++, text, {{dtype::f32, {batch, 5, 20}}}) == "");
}

TEST_CASE("a symbolic number of updates that are added to rows") {
  unsigned seed = 0;
  for (int64_t columns : {1, 3, 16, 37})
    for (const char* mode : {"update", "add", "max"}) {
      const std::string width = std::to_string(columns);
      const std::string text = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(n, " + width +
                               "), float32], %p: Tensor[(n, m), float32], %u: Tensor[(m, " + width +
                               "), float32]) {\n  scatter_nd(%x, argmax(%p, axis=[0], keepdims=True, " +
                               "dtype=\"int64\"), %u, mode=\"" + mode + "\")\n}\n";
      for (auto [rows, updates] : {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {13, 1}, {5, 29}})
        CHECK_MESSAGE(difference_of_engines(seed++, text,
                                            {{dtype::f32, {rows, columns}},
                                             {dtype::f32, {rows, updates}},
                                             {dtype::f32, {updates, columns}}}) == "",
                      text);
    }
}
