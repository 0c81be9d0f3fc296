#include "engines.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "pipeline/run.h"
#include "pipeline/verification.h"
#include "relay/evaluate.h"

namespace dlcc {
namespace {

Constant random_input(const RandomInput& v, std::mt19937& random) {
  auto count = static_cast<size_t>(product(shape_of(v.shape)).value());
  auto values = [&](auto of) {
    std::vector<decltype(of(0u))> list(count);
    for (auto& x : list) x = of(random());
    return Constant::of(v.type, v.shape, list);
  };
  if (v.type == dtype::f32) return values([](auto r) { return static_cast<float>(r % 4001) / 1000 - 2; });
  if (v.type == dtype::f64) return values([](auto r) { return static_cast<double>(r % 4001) / 1000 - 2; });
  if (v.type == dtype::i32) return values([](auto r) { return static_cast<int32_t>(r % 17) - 8; });
  if (v.type == dtype::i64) return values([](auto r) { return static_cast<int64_t>(r % 6); });
  if (v.type == dtype::boolean) return values([](auto r) { return static_cast<uint8_t>(r % 2); });
  return values([](auto r) { return static_cast<uint8_t>(r); });
}

CompileOptions options_of(unsigned seed, const std::string& text) {
  auto raw = std::as_bytes(std::span(text));
  CompileOptions o{.model = "random.rly", .prefix = "m"};
  o.model_bytes = std::make_shared<const std::vector<std::byte>>(raw.begin(), raw.end());
  o.mcpu = seed % 2 ? "x86-64-v3" : __builtin_cpu_supports("avx512vl") ? "x86-64-v4" : "x86-64-v2";
  o.schedule.strict = seed % 5 == 1;
  o.schedule.small = seed % 7 == 2;
  o.schedule.threads = seed % 3 == 2 ? 2 : 1;
  o.passes.verify_each = true;
  return o;
}

// The numbers of a float64 evaluation as a tensor of type `type`.
Constant rounded(const Constant& c, DType type) {
  if (type != dtype::f32 || c.dtype() != dtype::f64) return c;
  std::vector<float> numbers;
  for (int64_t i = 0; i < c.count(); ++i) numbers.push_back(static_cast<float>(c.number_at(i)));
  return Constant::of(type, c.shape(), numbers);
}

// Compares with a tolerance relative to the largest finite element.
Comparison compare_scaled(const Constant& result, const Constant& expected) {
  double scale = 1;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (double v = std::abs(expected.number_at(i)); std::isfinite(v)) scale = std::max(scale, v);
  return compare(result, expected, {.rtol = 1e-4, .atol = 1e-4 * scale});
}

std::string difference(unsigned seed, const std::string& text, const std::vector<RandomInput>& random_inputs) {
  Diagnostics d;
  std::mt19937 random(seed);
  std::vector<Constant> inputs;
  for (const RandomInput& v : random_inputs) inputs.push_back(random_input(v, random));
  auto module = frontends::import_relay(text, {}, d);
  auto expected = module ? relay::evaluate(*module, inputs, tensor::Precision::specified, d) : std::nullopt;
  if (!expected) return "no definition: " + d.str();
  std::optional<relay::Evaluation> exact;  // in float64, where it is needed
  const bool on_arm = seed % 4 == 3;       // where objects cannot run
  CompileOptions options = options_of(seed, text);
  if (on_arm) options.target = "aarch64", options.mcpu = "";
  Compiler compiler(options, d);
  const std::vector<std::string> engines(std::begin(engine_names), std::end(engine_names));
  auto model = prepare_verification(compiler, engines);
  if (!model) return "not compiled: " + d.str();
  for (const std::string& name : engines) {
    if (on_arm && name == "object") continue;
    auto got = make_engine(name, compiler, *model)(inputs, d);
    if (!got) {
      // A size that every run refuses is out of the bounds of the compiled model.
      const bool is_refused = d.str().find("the model returned status") != std::string::npos ||
                              d.str().find("but it is declared as") != std::string::npos;
      if (expected->status == tensor::Status::ok || !is_refused) return fmt::format("{}: {}", name, d.str());
      d = Diagnostics();
      continue;
    }
    if (expected->status != tensor::Status::ok) {
      // That sizes are equal is required at the points of a result: not at all if it is empty.
      if (std::ranges::any_of(*got, [](const Constant& c) { return c.count() == 0; })) continue;
      return fmt::format("{}: no failure", name);
    }
    for (size_t k = 0; k < got->size(); ++k) {
      Comparison c = compare_scaled((*got)[k], expected->results[k]);
      if (c.ok) continue;
      // The definition adds all numbers of a sum one after another; a kernel's order may round less.
      if (!exact) exact = relay::evaluate(*module, inputs, tensor::Precision::float64, d);
      const bool is_exact = exact && exact->results.size() == got->size() &&
                            compare_scaled((*got)[k], rounded(exact->results[k], (*got)[k].dtype())).ok;
      if (!is_exact) return fmt::format("{}: output {}: {}", name, k, c.what);
    }
  }
  return "";
}

// The status that an engine returned, according to its error.
std::string returned_status(const Diagnostics& d) {
  const std::string text = d.str(), before = "the model returned status ";
  const size_t at = text.find(before);
  return at == std::string::npos ? text : std::to_string(std::stoi(text.substr(at + before.size())));
}

}  // namespace

std::string difference_of_engines(unsigned seed, const std::string& text, const std::vector<RandomInput>& inputs) {
  try {
    return difference(seed, text, inputs);
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
}

std::string status_of_engines(const std::string& text, const std::vector<Constant>& inputs) {
  Diagnostics d;
  auto module = frontends::import_relay(text, {}, d);
  auto interpreted = module ? relay::evaluate(*module, inputs, tensor::Precision::specified, d) : std::nullopt;
  if (!interpreted) return "not interpreted: " + d.str();
  Compiler compiler(options_of(0, text), d);
  const std::vector<std::string> engines(std::begin(engine_names), std::end(engine_names));
  auto model = prepare_verification(compiler, engines);
  if (!model) return "not compiled: " + d.str();
  const std::string status = std::to_string(static_cast<int>(interpreted->status));
  std::string all = "interpreter " + status;
  bool are_equal = true;
  for (const std::string& name : engines) {
    Diagnostics problems;
    const bool is_ok = make_engine(name, compiler, *model)(inputs, problems).has_value();
    const std::string found = is_ok ? "0" : returned_status(problems);
    are_equal = are_equal && found == status;
    all += fmt::format(", {} {}", name, found);
  }
  return are_equal ? status : all;
}

}  // namespace dlcc
