#include "driver/report/step_table.h"

namespace dlcc::driver {

namespace {

double mega(int64_t count) { return static_cast<double>(count) * 1e-6; }
double kib(int64_t bytes) { return static_cast<double>(bytes) / 1024; }

std::string note(const lower::StepCost& c) {
  std::string text = remark(c);
  return text.empty() ? "" : "  [" + text + "]";
}

}  // namespace

std::string remark(const lower::StepCost& c) {
  if (!c.scratch.empty()) return fmt::format("scratch {:.0f} KiB: {}", kib(c.scratch_bytes), c.scratch);
  return c.only_moves ? "only moves data" : "";
}

std::string step_table(const std::vector<lower::StepCost>& steps) {
  std::string text =
      fmt::format("{:>4} {:>10} {:>10} {:>10}  {:40} {}\n", "step", "MFLOP", "read KiB", "write KiB", "kernel", "node");
  for (const lower::StepCost& c : steps)
    text +=
        fmt::format("{:>4} {:>10.3f} {:>10.1f} {:>10.1f}  {:40} {}{}\n", c.number < 0 ? "" : std::to_string(c.number),
                    mega(c.flops), kib(c.bytes_read), kib(c.bytes_written), c.kernel, c.node, note(c));
  return text;
}

nlohmann::json step_json(const lower::StepCost& c) {
  return {{"step", c.number},           {"node", c.node},
          {"kernel", c.kernel},         {"flops", c.flops},
          {"bytes_read", c.bytes_read}, {"bytes_written", c.bytes_written},
          {"bytes", c.bytes()},         {"scratch_bytes", c.scratch_bytes},
          {"remark", remark(c)}};
}

std::string profile_table(const Profile& p) {
  std::string text = fmt::format(
      "Peak {:.1f} GFLOP/s: multiply-adds in registers. Bandwidth {:.1f} GB/s: reading {:.0f} MiB, more than the "
      "level-2 cache holds.\nFloor: max(FLOPs / peak, bytes / bandwidth); bytes are operands, weights and results.\n"
      "Times: medians of {} calls. Of floor: floor / time, by the peak before and after the step.\n"
      "Above 100 %: data in a cache, or fewer operations than the definition has (Winograd).\n\n",
      p.roof.peak * 1e-9, p.roof.bandwidth * 1e-9, static_cast<double>(p.roof.buffer_bytes) / (1 << 20), p.calls);
  text += fmt::format("{:>4} {:>9} {:>6} {:>10} {:>10} {:>9} {:>7} {:>8}  {}\n", "step", "us", "time", "MFLOP", "KiB",
                      "GFLOP/s", "GB/s", "of floor", "node");
  for (const StepProfile& s : p.steps)
    text += fmt::format("{:>4} {:>9.2f} {:>5.1f}% {:>10.3f} {:>10.1f} {:>9.1f} {:>7.1f} {:>7.1f}%  {}{}\n",
                        s.cost.number, s.seconds * 1e6, 100 * p.share_of_time(s), mega(s.cost.flops),
                        kib(s.cost.bytes()), s.gflops(), s.gigabytes(), 100 * s.of_floor, s.cost.node, note(s.cost));
  text += fmt::format("{:>4} {:>9.2f} {:>44.1f} {:>16.1f}%\n", "all", p.step_seconds() * 1e6, p.gflops(),
                      100 * p.of_floor());
  return text;
}

nlohmann::json profile_json(const Profile& p) {
  nlohmann::json out = {{"cpu", p.cpu},
                        {"date", p.date},
                        {"peak_gflops", p.roof.peak * 1e-9},
                        {"bandwidth_gbs", p.roof.bandwidth * 1e-9},
                        {"bandwidth_buffer_bytes", p.roof.buffer_bytes},
                        {"profiled_calls", p.calls},
                        {"floor_ms", p.floor_seconds() * 1e3},
                        {"layers", nlohmann::json::array()}};
  for (const StepProfile& s : p.steps) {
    nlohmann::json row = step_json(s.cost);
    row["us"] = s.seconds * 1e6;
    row["min_us"] = s.shortest * 1e6;
    row["gflops"] = s.gflops();
    row["percent_of_floor"] = 100 * s.of_floor;
    out["layers"].push_back(std::move(row));
  }
  return out;
}

}  // namespace dlcc::driver
