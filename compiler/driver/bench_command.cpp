// dlcc bench MODEL: measures the latency of the object on this machine, and the time of each step relative to its
// floor.
#include <deque>
#include <iostream>
#include <set>

#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/options.h"
#include "driver/outputs.h"
#include "driver/report/report.h"
#include "driver/report/report_page.h"
#include "driver/report/step_table.h"
#include "driver/run_inputs.h"
#include "driver/runner_options.h"
#include "pipeline/at_sizes.h"
#include "pipeline/random_inputs.h"
#include "support/files.h"

namespace dlcc::driver {
namespace {

nlohmann::json latency_json(const Profile& p, int64_t macs) {
  return {{"runs", p.seconds.size()},
          {"min_ms", p.quantile(0) * 1e3},
          {"median_ms", p.quantile(0.5) * 1e3},
          {"p95_ms", p.quantile(0.95) * 1e3},
          {"max_ms", p.quantile(1) * 1e3},
          {"macs", macs},
          {"gflops", 2e-9 * static_cast<double>(macs) / p.quantile(0.5)}};
}

// The quantiles of the latency, in microseconds if the median is below 100 us, else in milliseconds, and the rate.
std::string latency_text(const Profile& p, int64_t macs) {
  const double median = p.quantile(0.5);
  const bool is_short = median < 1e-4;
  const auto time = [&](double quantile) {
    return fmt::format("{:.3f} {}", p.quantile(quantile) * (is_short ? 1e6 : 1e3), is_short ? "us" : "ms");
  };
  return fmt::format("{} runs: min {}, median {}, 95th percentile {}, max {}; {:.1f} GFLOP/s\n", p.seconds.size(),
                     time(0), time(0.5), time(0.95), time(1), 2e-9 * static_cast<double>(macs) / median);
}

// The measured sizes as JSON: {"n": 8}.
nlohmann::json sizes_json(const emit::Interface& interface) {
  nlohmann::json sizes = nlohmann::json::object();
  for (const emit::DimInterface& d : interface.dims) sizes[d.name] = d.typical;
  return sizes;
}

// The measured sizes: "n=8 h=224"; "" without any.
std::string sizes_text(const emit::Interface& interface) {
  std::string text;
  for (const emit::DimInterface& d : interface.dims)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", d.name, d.typical);
  return text;
}

}  // namespace

// The cause of a failed run may be a random number that decides a size or is an index.
static void remark_on_random_inputs(const emit::Interface& interface, const std::map<size_t, Constant>& given,
                                    Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (size_t k = 0; k < interface.inputs.size(); ++k)
    if (!given.contains(k)) names.push_back(fmt::format("'{}'", interface.inputs[k].name));
  const auto is_of_run = [](const Diagnostic& d) { return d.id == DiagnosticId::run_failed; };
  if (names.empty() || std::ranges::none_of(diagnostics.list(), is_of_run)) return;
  diagnostics.remark(DiagnosticId::run_failed, {},
                     fmt::format("random numbers were the inputs: {}; give indices and what decides sizes as data: "
                                 "--input NAME=FILE.npy",
                                 fmt::join(names, ", ")));
}

int bench_command(CommandLine& line) {
  CompileOptions options;
  int runs = 100;
  RunnerOptions runner;
  bool json = false, layers = false;
  std::string page;
  std::vector<std::string> reports, data;
  std::map<std::string, int64_t> sizes;
  line.describe("Compiles a model and measures its latency on random inputs, or on given data.");
  add_compile_options(line, options);
  line.add({"--input", "[NAME=]FILE",
            "Data of an input (.npy or .pb) in place of random numbers, by name or position; may be repeated. "
            "FILE.npz: all inputs. Or NAME=FORM as in 'dlcc --help'",
            append_to_inputs(data, options)});
  line.add({"--runs", "N", fmt::format("Number of timed calls, default {}", runs), store_integer(runs, 2, 1000000)});
  line.add({"--size", "NAME=N",
            "Size of a symbolic dimension in this measurement, default: that of the data, else the size that "
            "--dim NAME=...@N gives for estimates, else 64, or the bound that is nearest to 64. May be repeated",
            store_number(sizes)});
  line.add({"--layers", "", "Time each step, and probe the machine's peak and bandwidth", store_true(layers)});
  line.add({"--json", "", "Print JSON, including the steps", store_true(json)});
  line.add({"--html", "FILE", "Write the report with the measured times, the roofline and the latencies as a page",
            [&page](const std::string& path) -> Problem {
              page = path;
              const bool is_page = path.ends_with(".html") || path.ends_with(".htm") || path.starts_with("/dev/");
              return is_page ? Problem{}
                             : Problem{fmt::format("'{}' does not end in .html", path),
                                       "the report is a page; --report FILE.json writes JSON"};
            }});
  line.add(report_option(reports));
  runner.add_to(line);
  line.after_values([&]() -> Problem {
    for (const char* other : {"--layers", "--json", "--html", "--report"})
      if (runner.is_given() && line.has(other))
        return {fmt::format("--runner excludes {}: it measures no steps", other)};
    return {};
  });
  if (auto status = line.parse()) return *status;
  Diagnostics diagnostics;
  std::vector<std::string> files = reports;
  if (!page.empty()) files.push_back(page);
  if (!can_write(files, diagnostics)) return report(diagnostics, line.reporting());
  CommandCompiler compiler(options, diagnostics);
  auto planned = compiler.compile();
  std::set<std::string> read = compiler.files();
  for (const std::string& option : data) read.insert(file_of(option));
  if (!planned || !differ_from_inputs(files, read, diagnostics)) return report(diagnostics, line.reporting());
  auto given = read_some_inputs(data, planned->interface, diagnostics);
  if (!given || !add_sizes_of(*given, planned->interface, sizes, diagnostics))
    return report(diagnostics, line.reporting());
  auto inputs = random_inputs(*planned, sizes, diagnostics);
  if (!inputs) return report(diagnostics, line.reporting());
  for (auto& [index, value] : *given) inputs->values[index] = std::move(value);
  targets::ObjectFile object = compiler.generate(*planned);
  layers |= json || !files.empty();
  const auto foreign = runner.make_runner(planned->target);
  auto measured = foreign ? profile_foreign(*planned, object.bytes(), *inputs, runs, *foreign, diagnostics)
                          : profile(*planned, object.bytes(), *inputs, runs, layers, diagnostics);
  const Planned model = at_sizes(*planned, inputs->symbols);
  const std::string at = sizes_text(model.interface);
  if (!measured) {
    if (!at.empty())
      diagnostics.remark(DiagnosticId::run_failed, {},
                         fmt::format("the sizes were {}; choose others: --size NAME=N", at));
    remark_on_random_inputs(planned->interface, *given, diagnostics);
    return report(diagnostics, line.reporting());
  }
  if (json) {
    nlohmann::json out = latency_json(*measured, model.interface.macs);
    out["sizes"] = sizes_json(model.interface);
    out.update(profile_json(*measured));
    out["threads"] = options.schedule.threads;
    std::cout << printed(out);
  } else {
    std::cout << (at.empty() ? "" : at + ": ") << latency_text(*measured, model.interface.macs);
    if (layers) std::cout << profile_table(*measured);
  }
  if (!files.empty()) {
    const nlohmann::json result = report_json({model, compiler.contents(), object.sizes(), &*measured});
    std::deque<std::string> texts;
    std::vector<OutputFile> outputs;
    for (const std::string& path : files)
      outputs.push_back({path,
                         {std::as_bytes(std::span(
                             texts.emplace_back(path == page ? report_page(result) : report_text(path, result))))}});
    write_files(outputs, diagnostics);
  }
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver
