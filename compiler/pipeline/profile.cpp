#include "pipeline/profile.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>

#include "pipeline/at_sizes.h"
#include "pipeline/probes.h"
#include "pipeline/run.h"

namespace dlcc {

namespace {

// The CPU's name for people. Linux has it on x86 only; for AArch64, LLVM has the names of the cores.
std::string cpu_name(const targets::Target& target) {
  Diagnostics ignored;
  auto native = targets::find_target(target.name, "native", "", ignored);
  std::string known = native ? native->levels.back().cpu : target.name;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return fmt::format("{} ({})", line.substr(line.find(':') + 2), known);
  return known;
}

std::string utc_now() {
  std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// In bytes; 2 MiB where the system does not tell the size.
int64_t second_level_cache() {
  long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : int64_t{2} << 20;
}

// Bytes of the buffer whose reading measures the bandwidth: as many as the model uses, but more than the second-level
// cache holds, and not so many that a reading takes longer than a call of most models.
int64_t reading_buffer(const Planned& planned) {
  int64_t working_set = planned.interface.weights_bytes + planned.plan.arena_bytes;
  return std::clamp(working_set, 4 * second_level_cache(), int64_t{256} << 20);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

using Calls = std::vector<std::vector<double>>;  // [call][step]

// The calls of all rounds.
Calls all_calls(const std::vector<targets::ProfileRound>& rounds, Calls targets::ProfileRound::*numbers) {
  Calls all;
  for (const targets::ProfileRound& r : rounds) all.insert(all.end(), (r.*numbers).begin(), (r.*numbers).end());
  return all;
}

double bandwidth(const std::vector<targets::ProfileRound>& rounds, const ProbeModel& reading) {
  std::vector<double> seconds;
  for (const targets::ProfileRound& r : rounds) seconds.push_back(r.probe_seconds[0]);
  return reading.work / median(std::move(seconds));
}

// The peak rate by the median of the probe's times between the steps.
double peak(const Calls& seconds, const Calls& probes, const ProbeModel& arithmetic) {
  std::vector<double> of_probe;
  for (size_t call = 0; call < seconds.size(); ++call)
    for (size_t step = 0; step < seconds[call].size(); ++step)
      if (probes[call][step] > 0) of_probe.push_back(seconds[call][step] / probes[call][step]);
  return of_probe.empty() ? 0 : arithmetic.work / median(std::move(of_probe));
}

StepProfile profile_of(lower::StepCost cost, const Calls& seconds, const Calls& probes, double flops_of_probe,
                       double bandwidth) {
  auto step = static_cast<size_t>(cost.number);
  std::vector<double> times, of_floor;
  for (size_t call = 0; call < seconds.size(); ++call) {
    double time = seconds[call][step];
    times.push_back(time);
    if (time <= 0) continue;
    double of_peak = static_cast<double>(cost.flops) / (flops_of_probe * probes[call][step]);
    of_floor.push_back(std::max(of_peak, static_cast<double>(cost.bytes()) / (bandwidth * time)));
  }
  double shortest = *std::ranges::min_element(times);
  return {std::move(cost), median(std::move(times)), shortest, median(std::move(of_floor))};
}

}  // namespace

double Profile::step_seconds() const {
  double total = 0;
  for (const StepProfile& s : steps) total += s.seconds;
  return total;
}

double Profile::floor_seconds() const {
  double total = 0;
  for (const StepProfile& s : steps) total += s.seconds * s.of_floor;
  return total;
}

double Profile::gflops() const {
  double flops = 0;
  for (const StepProfile& s : steps)
    if (s.seconds > 0) flops += static_cast<double>(s.cost.flops);
  return flops > 0 ? flops / step_seconds() * 1e-9 : 0;
}

double Profile::of_floor() const { return step_seconds() > 0 ? floor_seconds() / step_seconds() : 0; }

std::optional<Profile> profile(const Planned& planned, std::span<const std::byte> object, const RandomInputs& inputs,
                               int runs, bool steps, Diagnostics& diagnostics) {
  targets::RunRequest request{.object = object,
                              .interface = &planned.interface,
                              .inputs = inputs.values,
                              .repeat = runs,
                              .profile = {},
                              .weights = planned.weights_file.bytes()};
  Profile result{.cpu = cpu_name(planned.target), .date = utc_now()};
  const Planned at_inputs = at_sizes(planned, inputs.symbols);
  result.roof.buffer_bytes = reading_buffer(at_inputs);
  std::optional<ProbeModel> arithmetic, reading;
  if (steps) {
    arithmetic = arithmetic_probe(planned.target, planned.program.threads);
    reading = reading_probe(planned.target, result.roof.buffer_bytes, planned.program.threads);
    request.profile = {.probes = {reading->probe()},
                       .between = arithmetic->probe(),
                       .rounds = std::clamp(runs / 4, 3, 25),
                       .calls = 4,
                       .steps = lower::count_steps(planned.program)};
  }
  auto run = targets::run_object(request, diagnostics);
  if (!run || !returned_ok(run->status, diagnostics)) return std::nullopt;
  result.seconds = std::move(run->seconds);
  std::ranges::sort(result.seconds);
  if (!steps) return result;
  Calls seconds = all_calls(run->profile, &targets::ProfileRound::step_seconds),
        probes = all_calls(run->profile, &targets::ProfileRound::step_probes);
  result.calls = static_cast<int>(seconds.size());
  result.roof.peak = peak(seconds, probes, *arithmetic);
  result.roof.bandwidth = bandwidth(run->profile, *reading);
  for (lower::StepCost& cost : lower::step_costs(at_inputs.program))
    if (cost.number >= 0)
      result.steps.push_back(profile_of(std::move(cost), seconds, probes, arithmetic->work, result.roof.bandwidth));
  return result;
}

std::optional<Profile> profile_foreign(const Planned& planned, std::span<const std::byte> object,
                                       const RandomInputs& inputs, int runs, ForeignRunner& runner,
                                       Diagnostics& diagnostics) {
  auto run = runner.run({.object = object,
                         .interface = &planned.interface,
                         .inputs = inputs.values,
                         .repeat = runs,
                         .weights = planned.weights_file.bytes()},
                        diagnostics);
  if (!run || !returned_ok(run->status, diagnostics)) return std::nullopt;
  Profile result{.cpu = planned.target.levels.back().cpu, .date = utc_now(), .seconds = std::move(run->seconds)};
  std::ranges::sort(result.seconds);
  return result;
}

}  // namespace dlcc
