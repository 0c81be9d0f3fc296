#include "pipeline/verification.h"

#include <algorithm>
#include <cmath>

#include "lower/evaluate.h"
#include "pipeline/describe_interface.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"
#include "relay/evaluate.h"
#include "targets/llvm/match_inputs.h"

namespace dlcc {

Comparison compare(const Constant& got, const Constant& expected, const Tolerance& t) {
  Comparison c;
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape()) {
    c.ok = false;
    c.what = fmt::format("{} {} instead of {} {}", name(got.dtype()), str(shape_of(got.shape())),
                         name(expected.dtype()), str(shape_of(expected.shape())));
    return c;
  }
  for (int64_t i = 0; i < got.count(); ++i) {
    bool same;
    double difference = 0;
    if (is_float(got.dtype())) {
      double a = got.number_at(i), b = expected.number_at(i);
      difference = std::abs(a - b);
      same = (std::isnan(a) && std::isnan(b)) || a == b ||
             (std::isfinite(b) && difference <= t.atol + t.rtol * std::abs(b));
      if (std::isnan(difference) || std::isinf(difference)) difference = same ? 0 : INFINITY;
    } else {
      same = got.integer_at(i) == expected.integer_at(i);
      difference = std::abs(static_cast<double>(got.integer_at(i)) - static_cast<double>(expected.integer_at(i)));
    }
    c.largest = std::max(c.largest, difference);
    if (!same && c.ok) {
      c.ok = false;
      c.what = fmt::format("element {}: {:g} instead of {:g}", i, got.number_at(i), expected.number_at(i));
    }
  }
  return c;
}

static std::optional<std::vector<Constant>> checked(tensor::Status status, std::vector<Constant> outputs,
                                                    Diagnostics& diagnostics, const SourceLocation& location = {}) {
  return returned_ok(static_cast<int>(status), diagnostics, location) ? std::optional(std::move(outputs))
                                                                      : std::nullopt;
}

static std::vector<int64_t> shape_at(const Shape& shape, const std::map<std::string, int64_t>& symbols) {
  std::vector<int64_t> numbers;
  for (const Dim& d : shape) numbers.push_back(d.evaluate(symbols).value());
  return numbers;
}

Engine make_engine(const std::string& kind, Compiler& compiler, Verifiable& model, ForeignRunner* runner) {
  if (kind == "definitions")
    return [&module = model.fused](const std::vector<Constant>& inputs,
                                   Diagnostics& d) -> std::optional<std::vector<Constant>> {
      auto r = relay::evaluate(module, inputs, tensor::Precision::specified, d);
      return r ? checked(r->status, std::move(r->results), d, r->location) : std::nullopt;
    };
  Planned& planned = *model.planned;
  if (kind == "schedules")
    return [&planned](const std::vector<Constant>& inputs, Diagnostics& d) -> std::optional<std::vector<Constant>> {
      const auto symbols = targets::match_inputs(planned.interface, inputs, d);
      if (!symbols) return std::nullopt;
      auto r = lower::evaluate(planned.program, inputs, planned.target.levels.size() - 1);
      for (size_t k = 0; k < r.results.size(); ++k)
        r.results[k] = r.results[k].reshaped(shape_at(planned.interface.outputs[k].shape, r.sizes));
      return checked(r.status, std::move(r.results), d);
    };
  auto object = std::make_shared<std::vector<std::byte>>(compiler.generate(planned).bytes());
  return [&planned, object, runner](const std::vector<Constant>& inputs,
                                    Diagnostics& d) -> std::optional<std::vector<Constant>> {
    return run_once(planned, *object, inputs, runner, d);
  };
}

std::optional<Verifiable> prepare_verification(Compiler& compiler, std::span<const std::string> engines) {
  auto fused = compiler.import_and_fuse();
  bool native = std::ranges::any_of(engines, [](const std::string& name) { return name != "definitions"; });
  if (fused && !native) {
    emit::Interface interface = describe_tensors(*fused);
    return Verifiable{std::move(*fused), std::move(interface), compiler.arguments(), std::nullopt};
  }
  auto module = fused ? compiler.run_passes(*fused, storage_passes()) : std::nullopt;
  auto planned = module ? compiler.plan(*module) : std::nullopt;
  if (!planned) return std::nullopt;
  emit::Interface interface = planned->interface;
  return Verifiable{std::move(*fused), std::move(interface), compiler.arguments(), std::move(planned)};
}

static std::string errors_in_one_line(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics.list()) {
    if (d.severity != Severity::error) continue;
    text += (text.empty() ? "" : "; ") + (d.location.str().empty() ? "" : d.location.str() + ": ") + d.message;
    if (!d.help.empty()) text += " (" + d.help + ")";
  }
  return text;
}

Verdict verify_data_set(const std::string& path, const Engine& engine, const Verifiable& model,
                        const Tolerance& tolerance, Diagnostics& diagnostics) {
  const emit::Interface& interface = model.interface;
  Diagnostics problems;
  auto data = read_data_set(path, interface, model.arguments, problems);
  std::optional<std::vector<Constant>> got;
  if (data && fits(data->inputs, interface, problems)) got = engine(data->inputs, problems);
  if (!got) {
    for (const Diagnostic& d : problems.list()) diagnostics.add(d);
    return {.what = errors_in_one_line(problems)};
  }
  Verdict verdict{.ok = true, .compared = true};
  for (size_t k = 0; k < got->size(); ++k) {
    Comparison c = compare((*got)[k], data->outputs[k], tolerance);
    verdict.largest = std::max(verdict.largest, c.largest);
    if (!c.ok && verdict.ok) verdict.what = fmt::format("{}: {}", interface.outputs[k].name, c.what);
    verdict.ok &= c.ok;
  }
  return verdict;
}

}  // namespace dlcc
