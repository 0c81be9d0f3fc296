// Programs with results of a hardware simulation (DLCC_TEST_DATA/relay/calyx): the interpreter and all engines give
// equal integers, and fixed-point numbers within 2^-10. The power in lrn is an approximation there: it differs from the formula in float64 by up to 0.0075.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "pipeline/run.h"
#include "pipeline/verification.h"
#include "relay/evaluate.h"
#include "text_file.h"

namespace dlcc {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The numbers in nested lists, of numbers or of their decimal texts.
std::vector<double> numbers(const json& list) {
  std::vector<double> all;
  std::function<void(const json&)> visit = [&](const json& item) {
    if (item.is_array())
      for (const json& inner : item) visit(inner);
    else
      all.push_back(item.is_string() ? std::stod(item.get<std::string>()) : item.get<double>());
  };
  visit(list);
  return all;
}

Constant tensor(const json& list, const relay::TensorType& type) {
  std::vector<int64_t> shape;
  for (const Dim& d : type.shape) shape.push_back(d.value());
  const std::vector<double> values = numbers(list);
  if (type.dtype == dtype::i32)
    return Constant::of<int32_t>(dtype::i32, shape, std::vector<int32_t>(values.begin(), values.end()));
  REQUIRE(type.dtype == dtype::f32);
  return Constant::of<float>(dtype::f32, shape, std::vector<float>(values.begin(), values.end()));
}

// The memory of the simulation that is no argument.
json result_in(const json& memories, const relay::Function& main) {
  std::set<std::string> params;
  for (const relay::Var& p : main.params) params.insert(p->name);
  json result;
  for (const auto& [name, contents] : memories.items()) {
    if (params.contains(name)) continue;
    CHECK_MESSAGE(result.is_null(), "two results");
    result = contents;
  }
  return result;
}

void check(const Constant& found, const std::vector<double>& expected, double tolerance) {
  REQUIRE(found.count() == static_cast<int64_t>(expected.size()));
  for (int64_t k = 0; k < found.count(); ++k)
    CHECK_MESSAGE(std::fabs(found.number_at(k) - expected[static_cast<size_t>(k)]) <= tolerance,
                  "element " << k << ": " << found.number_at(k) << ", expected " << expected[static_cast<size_t>(k)]);
}

void check(const fs::path& folder) {
  const std::string name = folder.filename().string();
  CAPTURE(name);
  Diagnostics d;
  Compiler compiler({.model = (folder / (name + ".relay")).string()}, d);
  const std::vector<std::string> engines(std::begin(engine_names), std::end(engine_names));
  auto model = prepare_verification(compiler, engines);
  auto module = compiler.import();
  REQUIRE_MESSAGE((model && module), d.str());
  const relay::Function& main = module->functions.at("main");
  const json data = json::parse(read_text(folder / (name + ".relay.data")));
  std::vector<Constant> args;
  for (const relay::Var& p : main.params)
    args.push_back(tensor(data.at(p->name).at("data"), *relay::as<relay::TensorType>(p->type)));
  const auto expected = numbers(result_in(json::parse(read_text(folder / (name + ".expect"))), main));
  auto interpreted = relay::evaluate(*module, args, tensor::Precision::specified, d);
  REQUIRE_MESSAGE(interpreted, d.str());
  REQUIRE(interpreted->results.size() == 1);
  const double tolerance = name == "lrn" ? 0x1p-7 : is_float(interpreted->results[0].dtype()) ? 0x1p-10 : 0;
  check(interpreted->results[0], expected, tolerance);
  for (const std::string& engine : engines) {
    CAPTURE(engine);
    auto results = make_engine(engine, compiler, *model)(args, d);
    REQUIRE_MESSAGE(results, d.str());
    check(results->at(0), expected, tolerance);
  }
}

}  // namespace

TEST_CASE("programs give the results of a hardware simulation") {
  fs::path folder = fs::path(DLCC_TEST_DATA) / "relay" / "calyx";
  if (std::string(DLCC_TEST_DATA).empty() || !fs::exists(folder)) {
    MESSAGE("skipped: DLCC_TEST_DATA names no folder with relay programs");
    return;
  }
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    check(entry.path());
    ++count;
  }
  CHECK(count == 14);
}

}  // namespace dlcc
