// Random inputs of models with symbolic sizes, and the models at these sizes.
#include "pipeline/random_inputs.h"

#include <doctest/doctest.h>

#include "lower/steps.h"
#include "pipeline/at_sizes.h"

using namespace dlcc;

namespace {

Planned planned_model(std::map<std::string, SizeRange> dims) {
  const std::string text =
      "def @main(%x: Tensor[(n, 3), float32], %w: Tensor[(m, 3), float32]) { nn.relu(nn.dense(%x, %w)) }";
  auto bytes = std::as_bytes(std::span(text));
  CompileOptions options{.model = "m",
                         .model_bytes = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end()),
                         .dims = std::move(dims)};
  Diagnostics diagnostics;
  auto planned = Compiler(options, diagnostics).compile();
  REQUIRE_MESSAGE(planned, diagnostics.str());
  return std::move(*planned);
}

SizeRange range(const std::string& text) {
  std::string problem;
  return parse_size_range(text, problem).value();
}

std::string errors(const Planned& planned, const std::map<std::string, int64_t>& sizes) {
  Diagnostics diagnostics;
  CHECK(!random_inputs(planned, sizes, diagnostics));
  return diagnostics.str();
}

}  // namespace

TEST_CASE("random inputs have the sizes that the user gives, else the typical ones") {
  const Planned planned = planned_model({{"n", range("4..64:4@8")}, {"m", range("1..20")}});
  Diagnostics diagnostics;
  auto inputs = random_inputs(planned, {{"n", 12}, {"m", 5}}, diagnostics);
  REQUIRE_MESSAGE(inputs, diagnostics.str());
  CHECK(inputs->values.at(0).shape() == std::vector<int64_t>{12, 3});
  CHECK(inputs->values.at(1).shape() == std::vector<int64_t>{5, 3});
  CHECK(inputs->symbols == std::map<std::string, int64_t>{{"n_by_4", 3}, {"m", 5}});
  inputs = random_inputs(planned, {}, diagnostics);
  REQUIRE_MESSAGE(inputs, diagnostics.str());
  CHECK(inputs->values.at(0).shape() == std::vector<int64_t>{8, 3});
  CHECK(inputs->values.at(1).shape() == std::vector<int64_t>{20, 3});
}

TEST_CASE("sizes that are misspelled or not allowed are refused") {
  const Planned planned = planned_model({{"n", range("4..64:4")}});
  CHECK(errors(planned, {{"k", 1}}) ==
        "dlcc: error[bad-option]: --size k=1: no input has a symbolic size of this name\n    help: there are: n, m\n");
  for (int64_t n : {0, 6, 68})
    CHECK(errors(planned, {{"n", n}}) ==
          fmt::format("dlcc: error[bad-option]: --size n={}: the size must be in [4, 64] and a multiple of 4\n", n));
  for (int64_t m : {int64_t{1} << 40, INT64_MAX})
    CHECK(errors(planned, {{"m", m}}) ==
          fmt::format("dlcc: error[bad-option]: input 'w' would have the shape ({}, 3), more than the memory of this "
                      "machine\n    help: measure smaller sizes: --size NAME=N\n",
                      m));
}

TEST_CASE("a model at given sizes has numbers in place of symbols") {
  const Planned planned = planned_model({});
  const Planned at = at_sizes(planned, {{"n", 7}, {"m", 11}});
  CHECK(at.interface.macs == 7 * 11 * 3);
  CHECK(at.interface.dims.at(0).typical == 7);
  CHECK(at.program.dims.empty());
  CHECK(!at.plan.is_stacked());
  int64_t written = 0;
  for (const lower::StepCost& step : lower::step_costs(at.program)) written += step.bytes_written;
  CHECK(written >= 7 * 11 * 4);
  const Planned fixed = planned_model({{"n", 2}, {"m", 3}});
  CHECK(at_sizes(fixed, {}).plan.offsets == fixed.plan.offsets);
}
