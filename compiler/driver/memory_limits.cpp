#include "driver/memory_limits.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "driver/report/arena_map.h"
#include "lower/steps.h"
#include "pipeline/at_sizes.h"

namespace dlcc::driver {

namespace {

constexpr size_t most_details = 3;  // largest buffers or steps in an error

// Stores a number of bytes: 65536, 64K or 1M.
Store store_bytes(std::optional<int64_t>& variable) {
  return [&variable](const std::string& value) -> Problem {
    int64_t number = -1;
    const char* const last = value.data() + value.size();
    const auto [end, error] = std::from_chars(value.data(), last, number);
    const std::string_view unit(end, static_cast<size_t>(last - end));
    const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : -1;
    constexpr int64_t largest = int64_t{1} << 40;  // 2^40 MiB, in bytes, fit int64
    if (error != std::errc() || number < 0 || number > largest || shift < 0)
      return {fmt::format("expected a number of bytes such as 65536, 64K or 1M, found '{}'", value)};
    variable = number << shift;
    return {};
  };
}

std::string text_of(const lower::StepCost& step) {
  return fmt::format("step {}, {} ({})", step.number, step.kernel, step.node);
}

// The model at its largest sizes, which are bounded.
Planned at_largest_sizes(const Planned& planned) {
  std::map<std::string, int64_t> largest;
  for (const Symbol& s : lower::entry_symbols(planned.program)) largest[s.name] = s.high;
  return at_sizes(planned, largest);
}

// The step at the peak of the arena, and the largest buffers that are live there.
std::vector<std::string> arena_details(const Planned& at_any_sizes) {
  const Planned planned = at_largest_sizes(at_any_sizes);
  const ArenaMap map = arena_map(planned.program, planned.plan);
  std::vector<std::string> details;
  for (const lower::StepCost& step : lower::step_costs(planned.program)) {
    if (step.position != map.peak_position || step.function >= 0) continue;
    details.push_back(fmt::format("most bytes of the arena are live, {}, in {}", map.peak_bytes, text_of(step)));
    break;
  }
  std::vector<ArenaBuffer> live;
  for (const ArenaBuffer& b : map.buffers)
    if (b.live.first <= map.peak_position && map.peak_position <= b.live.last) live.push_back(b);
  std::ranges::stable_sort(live, std::greater(), &ArenaBuffer::bytes);
  for (size_t k = 0; k < std::min(live.size(), most_details); ++k) {
    const ArenaBuffer& b = live[k];
    std::string& text = details.emplace_back(fmt::format("{} bytes: {} {}", b.bytes, name(b.type), str(b.shape)));
    if (!b.name.empty()) text += ", " + b.name;
    if (b.scratch) text += ", scratch of the step";
  }
  return details;
}

// The steps that read most weights.
std::vector<std::string> weights_details(const Planned& planned) {
  std::vector<std::pair<int64_t, std::string>> steps;
  for (const lower::StepCost& step : lower::step_costs(planned.program)) {
    if (step.function >= 0) continue;
    int64_t bytes = 0;
    for (lower::ValueId v : step.reads) {
      const lower::Value& value = planned.program.values[static_cast<size_t>(v)];
      if (value.storage == lower::Storage::constant) bytes += value.bytes.constant().value_or(0);
    }
    if (bytes > 0) steps.emplace_back(bytes, text_of(step));
  }
  std::ranges::stable_sort(steps, std::greater(), &std::pair<int64_t, std::string>::first);
  std::vector<std::string> details;
  for (size_t k = 0; k < std::min(steps.size(), most_details); ++k)
    details.push_back(fmt::format("{} bytes of weights: {}", steps[k].first, steps[k].second));
  return details;
}

}  // namespace

void add_memory_limits(CommandLine& line, MemoryLimits& limits) {
  auto add = [&line](Option option) {
    option.group = Group::output;
    line.add(std::move(option));
  };
  add({"--max-ram", "BYTES", "Fail if arena and stack need more than this: 65536, 64K, 1M", store_bytes(limits.ram)});
  add({"--max-flash", "BYTES", "Fail if the object's code and constants need more than this",
       store_bytes(limits.flash)});
}

bool check_memory_limits(const MemoryLimits& limits, const Planned& planned, const targets::ObjectSizes& sizes,
                         Diagnostics& diagnostics) {
  const emit::Interface& i = planned.interface;
  const std::string reports = "'dlcc inspect' lists the steps; --report FILE.html draws the arena over time";
  bool fits = true;
  auto fail = [&](std::string message, std::vector<std::string> details, std::string help) {
    fits = false;
    diagnostics.error(DiagnosticId::too_large, {}, std::move(message), std::move(details), std::move(help));
  };
  if (limits.ram && !i.arena_bytes)
    fail("--max-ram: the size of the arena depends on the sizes of a run", {},
         "--dim h=1..64 gives the size 'h' a bound, --bound a data-dependent one; with all bounds the arena is "
         "constant");
  else if (limits.ram && *i.arena_bytes + i.stack_bytes > *limits.ram)
    fail(fmt::format("the model needs {} bytes of RAM, and --max-ram allows {}: {} of arena, {} of stack",
                     *i.arena_bytes + i.stack_bytes, *limits.ram, *i.arena_bytes, i.stack_bytes),
         arena_details(planned), reports);
  const int64_t flash = sizes.code_bytes + sizes.data_bytes;
  if (limits.flash && flash > *limits.flash)
    fail(fmt::format("the model needs {} bytes of flash, and --max-flash allows {}: {} of code, {} of weights and "
                     "tables",
                     flash, *limits.flash, sizes.code_bytes, sizes.data_bytes),
         weights_details(planned), "'dlcc inspect' lists the steps; -Os makes code and weights smaller");
  return fits;
}

}  // namespace dlcc::driver
