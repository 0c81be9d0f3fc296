// A transformer with four unknown operators has a short text, not one entry for each of its nodes.
#include <algorithm>

#include "driver/diagnostic_text.h"
#include "onnx/support.h"

using namespace dlcc;
using namespace dlcc::frontends::onnx;

TEST_CASE("a model with four unknown operators in each of its layers has a short error text") {
  constexpr int layers = 24;
  std::string graph = value("input", "h0", 1, {"16", "64"}) + value("output", "done", 1, {"16", "64"});
  for (int k = 0; k < layers; ++k) {
    auto name = [k](const std::string& stem) { return fmt::format("layer{}_{}", k, stem); };
    const std::string before = k == 0 ? "h0" : fmt::format("layer{}_out", k - 1);
    graph += node("ImageDecoder", {before}, {name("norm")}) + node("RegexFullMatch", {name("norm")}, {name("scores")}) +
             node("Softmax", {name("scores")}, {name("weights")}) +
             node("StringNormalizer", {name("weights")}, {name("masked")}) +
             node("StringConcat", {name("masked")}, {name("mlp")}) + node("Add", {before, name("mlp")}, {name("out")});
  }
  graph += node("Identity", {fmt::format("layer{}_out", layers - 1)}, {"done"});
  Diagnostics diagnostics;
  frontends::ImportOptions options;
  options.file = "transformer.onnx";
  CHECK(!frontends::import_onnx(graph_bytes(graph), options, diagnostics));
  CHECK(diagnostics.error_count() == 4 * layers);
  const std::string text = driver::diagnostic_text(diagnostics.list(), false);
  CAPTURE(text);
  CHECK(std::ranges::count(text, '\n') <= 12);
  for (const char* op : {"ImageDecoder", "RegexFullMatch", "StringNormalizer", "StringConcat"})
    CHECK(text.find(fmt::format("operator {} is not supported\n    and 23 more: ", op)) != std::string::npos);
}
