#include "pipeline/profile.h"

#include <unistd.h>

#include <algorithm>

#include "pipeline/probes.h"
#include "pipeline/run.h"

namespace dlcc {

namespace {

int64_t second_level_cache() {
  long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : int64_t{2} << 20;
}

int64_t reading_buffer(const emit::Interface& interface) {
  int64_t working_set = interface.weights_bytes + interface.arena_bytes;
  return std::clamp(working_set, 4 * second_level_cache(), int64_t{256} << 20);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Those whose first probe took at most 1/0.95 of the shortest time.
std::vector<targets::ProfileRound> rounds_at_full_clock(const std::vector<targets::ProfileRound>& rounds) {
  double best = rounds.front().probe_seconds[0];
  for (const targets::ProfileRound& r : rounds) best = std::min(best, r.probe_seconds[0]);
  std::vector<targets::ProfileRound> kept;
  for (const targets::ProfileRound& r : rounds)
    if (r.probe_seconds[0] * 0.95 <= best) kept.push_back(r);
  return kept;
}

double median_of_probe(const std::vector<targets::ProfileRound>& rounds, size_t probe) {
  std::vector<double> values;
  for (const targets::ProfileRound& r : rounds) values.push_back(r.probe_seconds[probe]);
  return median(std::move(values));
}

std::vector<double> times_of_step(const std::vector<targets::ProfileRound>& rounds, int step) {
  std::vector<double> values;
  for (const targets::ProfileRound& r : rounds)
    for (const std::vector<double>& call : r.step_seconds) values.push_back(call[static_cast<size_t>(step)]);
  return values;
}

// On a machine that is hardly ever at full clock, all rounds count.
bool is_steady(size_t at_full_clock, size_t rounds) { return at_full_clock * 5 >= rounds; }

}  // namespace

std::vector<targets::ProfileRound> rounds_that_count(const std::vector<targets::ProfileRound>& rounds) {
  std::vector<targets::ProfileRound> kept = rounds_at_full_clock(rounds);
  return is_steady(kept.size(), rounds.size()) ? kept : rounds;
}

double Roof::floor(const lower::StepCost& cost) const {
  return std::max(static_cast<double>(cost.flops) / peak, static_cast<double>(cost.bytes()) / bandwidth);
}

std::string Profile::basis() const {
  bool steady = is_steady(static_cast<size_t>(rounds_at_full_clock), static_cast<size_t>(rounds));
  return fmt::format("medians of the calls of {} rounds{}", steady ? rounds_at_full_clock : rounds,
                     steady ? fmt::format(", those of {} at full clock", rounds)
                            : fmt::format("; {} of them at full clock", rounds_at_full_clock));
}

double Profile::step_seconds() const {
  double total = 0;
  for (const StepProfile& s : steps) total += s.seconds;
  return total;
}

double Profile::floor_seconds() const {
  double total = 0;
  for (const StepProfile& s : steps)
    if (s.seconds > 0) total += roof.floor(s.cost);
  return total;
}

double Profile::gflops() const {
  double flops = 0;
  for (const StepProfile& s : steps)
    if (s.seconds > 0) flops += static_cast<double>(s.cost.flops);
  return flops / step_seconds() * 1e-9;
}

std::optional<Profile> profile(const Planned& planned, std::span<const std::byte> object,
                               const std::vector<Constant>& inputs, int runs, bool steps, Diagnostics& diagnostics) {
  targets::RunRequest request{.object = object,
                              .interface = &planned.interface,
                              .inputs = inputs,
                              .repeat = runs,
                              .profile = {},
                              .weights = planned.weights_file};
  Profile result;
  result.roof.buffer_bytes = reading_buffer(planned.interface);
  std::vector<ProbeModel> probes;
  if (steps) {
    probes.push_back(arithmetic_probe(planned.target, planned.program.threads));
    probes.push_back(reading_probe(planned.target, result.roof.buffer_bytes, planned.program.threads));
    request.profile = {
        .probes = {}, .rounds = std::clamp(runs / 4, 3, 25), .calls = 4, .steps = lower::count_steps(planned.program)};
    for (const ProbeModel& p : probes) request.profile.probes.push_back({p.object, &p.interface, p.inputs});
  }
  auto run = targets::run_object(request, diagnostics);
  if (!run || !returned_ok(run->status, diagnostics)) return std::nullopt;
  result.seconds = std::move(run->seconds);
  std::ranges::sort(result.seconds);
  if (!steps) return result;
  result.rounds = static_cast<int>(run->profile.size());
  result.rounds_at_full_clock = static_cast<int>(rounds_at_full_clock(run->profile).size());
  std::vector<targets::ProfileRound> kept = rounds_that_count(run->profile);
  result.roof.peak = probes[0].work / median_of_probe(kept, 0);
  result.roof.bandwidth = probes[1].work / median_of_probe(kept, 1);
  for (lower::StepCost& cost : lower::step_costs(planned.program))
    if (cost.number >= 0) {
      std::vector<double> times = times_of_step(kept, cost.number);
      double shortest = *std::ranges::min_element(times);
      result.steps.push_back({std::move(cost), median(std::move(times)), shortest});
    }
  return result;
}

}  // namespace dlcc
