// The report of a program: the arena over time, the estimated times, and the texts of the report.
#include "driver/report/report.h"

#include <doctest/doctest.h>

#include "driver/report/arena_map.h"
#include "driver/report/nominal_machine.h"
#include "driver/report/report_page.h"
#include "lower/program_builder.h"
#include "targets/target.h"

using namespace dlcc;
using namespace dlcc::driver;
using lower::ValueId;

namespace {

// input -> a (with scratch) -> b, which takes over the memory of a -> output, and a copy of the output's bytes.
struct Example {
  lower::ProgramBuilder builder;
  ValueId in, out, a, b, scratch, again;

  Example() {
    in = builder.input(64), out = builder.output(64);
    a = builder.temporary(64), b = builder.temporary(64), scratch = builder.temporary(100),
    again = builder.temporary(64);
    builder.program.values[static_cast<size_t>(a)].name = "a";
    lower::Invoke first = builder.call({in, builder.constant(1000)}, {a}, {scratch});
    first.macs = 500;
    first.node = "first";
    builder.program.body.steps = {first, builder.call({a}, {b}, {}, {{b, a}}), lower::Copy{b, again},
                                  builder.call({again}, {out})};
  }

  Planned planned() const {
    Planned result{*targets::find_target("x86-64", "x86-64-v4", "", ignored()), builder.program, {}, {}, {}};
    result.plan = lower::plan_storage(result.program);
    result.interface.prefix = "example";
    result.interface.inputs = {{"in", "in", dtype::u8, {64}}};
    result.interface.outputs = {{"out", "out", dtype::u8, {64}}};
    result.interface.arena_bytes = result.plan.arena_bytes;
    result.interface.stack_bytes = 96;
    return result;
  }

 private:
  static Diagnostics& ignored() {
    static Diagnostics diagnostics;
    return diagnostics;
  }
};

Profile measured_profile(const Planned& planned) {
  Profile profile{.cpu = "a CPU", .date = "2026-01-31T23:59:59Z"};
  for (int i = 1; i <= 100; ++i) profile.seconds.push_back(i * 1e-3);
  profile.roof = {1e9, 1e9, 1 << 20};
  profile.calls = 3;
  for (const lower::StepCost& cost : lower::step_costs(planned.program))
    if (cost.number >= 0) profile.steps.push_back({cost, (cost.number + 1) * 1e-6, 1e-6, 0.5});
  return profile;
}

}  // namespace

TEST_CASE("the arena over time: scratch has its name in the kernel, a result takes over its operand's memory") {
  Example e;
  ArenaMap map = arena_map(e.builder.program, lower::plan_storage(e.builder.program));
  CHECK(map.positions == 4);
  REQUIRE(map.buffers.size() == 4);
  CHECK(map.buffers[0].name == "a");
  CHECK(map.buffers[0].live.first == 0);
  CHECK(map.buffers[0].live.last == 1);
  CHECK(map.buffers[0].in_place_of == -1);
  CHECK(map.buffers[1].value == e.b);
  CHECK(map.buffers[1].in_place_of == 0);
  CHECK(map.buffers[1].offset == map.buffers[0].offset);
  CHECK(map.buffers[2].scratch);
  CHECK(map.buffers[2].name == "p3");
  CHECK(map.buffers[3].in_place_of == -1);
  CHECK(map.peak_position == 0);
  CHECK(map.peak_bytes == 164);
}

TEST_CASE("an operand and the result in its place count once at the peak of the arena") {
  lower::ProgramBuilder b;
  ValueId in = b.input(8), out = b.output(8), a = b.temporary(64), r = b.temporary(64), small = b.temporary(50);
  b.program.body.steps = {b.call({in}, {a}), b.call({a}, {r}, {}, {{r, a}}), b.call({r}, {small}),
                          b.call({small}, {out})};
  ArenaMap map = arena_map(b.program, lower::plan_storage(b.program));
  CHECK(map.peak_bytes == 114);
  CHECK(map.peak_position == 2);
}

TEST_CASE("a nominal machine multiplies units, lanes and clock; a step takes the longer of arithmetic and memory") {
  Diagnostics ignored;
  NominalMachine wide = nominal_machine(*targets::find_target("x86-64", "x86-64-v4", "", ignored), 1);
  CHECK(wide.cpu_level == "x86-64-v4");
  CHECK(wide.flops_per_second == doctest::Approx(192e9));  // 16 lanes, 2 units, 2 operations, 3 GHz
  CHECK(wide.bytes_per_second == doctest::Approx(12e9));
  NominalMachine no_fma = nominal_machine(*targets::find_target("x86-64", "x86-64-v2", "", ignored), 3);
  CHECK(no_fma.flops_per_second == doctest::Approx(3 * 24e9));
  CHECK(estimated_seconds(wide, {.flops = 192, .bytes_read = 1}) == doctest::Approx(1e-9));
  CHECK(estimated_seconds(wide, {.flops = 192, .bytes_read = 20, .bytes_written = 4}) == doctest::Approx(2e-9));
}

TEST_CASE("a report without a measurement has the totals, steps and estimates") {
  Planned planned = Example().planned();
  ModelContents contents{.operators = {{"nn.conv2d", 2}}, .parameters = 1000};
  nlohmann::json r = report_json({planned, contents, {300, 1000}});
  CHECK(r["model"] == "example");
  CHECK(r["operators"]["nn.conv2d"] == 2);
  CHECK(r["totals"]["parameters"] == 1000);
  CHECK(r["totals"]["weights_file_bytes"].is_null());
  CHECK(r["totals"]["stack_bytes"] == 96);
  CHECK(r["totals"]["code_bytes"] == 300);
  CHECK(r["totals"]["flash_bytes"] == 1300);
  CHECK_FALSE(r.contains("measured"));
  CHECK(r["inputs"][0]["first_position"] == 0);
  CHECK(r["outputs"][0]["last_position"] == 3);
  REQUIRE(r["steps"].size() == 4);
  CHECK(r["steps"][0]["macs"] == 500);
  CHECK(r["steps"][0]["reads"][1]["storage"] == "constant");
  CHECK(r["steps"][0]["writes"][0]["storage"] == "arena");
  CHECK(r["steps"][2]["step"].is_null());
  CHECK(r["steps"][3]["step"] == 2);
  CHECK(r["steps"][3]["position"] == 3);
  CHECK(r["arena"]["buffers"][1]["in_place_of"] == 0);
  double total = 0;
  for (const auto& step : r["steps"]) total += step["estimated_us"].get<double>();
  CHECK(r["totals"]["estimated_us"].get<double>() == doctest::Approx(total));
  CHECK(report_json({planned, contents, {300, 1000}}).dump() == r.dump());
}

TEST_CASE("a report with a measurement has the measured times of its steps") {
  Planned planned = Example().planned();
  Profile profile = measured_profile(planned);
  nlohmann::json r = report_json({planned, {}, {}, &profile});
  CHECK(r["measured"]["cpu"] == "a CPU");
  CHECK(r["measured"]["date"] == "2026-01-31T23:59:59Z");
  CHECK(r["measured"]["median_ms"].get<double>() == doctest::Approx(50));
  int counted = 0;
  for (const auto& count : r["measured"]["histogram"]["counts"]) counted += count.get<int>();
  CHECK(counted == 100);
  CHECK(r["steps"][0]["measured"]["percent"].get<double>() == doctest::Approx(100.0 / 6));
  CHECK_FALSE(r["steps"][2].contains("measured"));  // a copy
  CHECK(r["steps"][3]["measured"]["median_us"].get<double>() == doctest::Approx(3));
  CHECK(r["steps"][3]["measured"]["percent_of_floor"].get<double>() == doctest::Approx(50));
}

TEST_CASE("a name in the model cannot end the script element with the page's data") {
  nlohmann::json report = {{"model", "</script><b>\"&'"}, {"broken", "\xff"}};
  std::string page = report_page(report);
  CHECK(page.find("</script><b>") == std::string::npos);
  std::string begin = "<script type=\"application/json\" id=\"report\">";
  size_t from = page.find(begin) + begin.size();
  nlohmann::json read = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  CHECK(read["model"] == "</script><b>\"&'");
  CHECK(read["broken"] == "\xef\xbf\xbd");
}

TEST_CASE("the suffix of a report's file selects its form") {
  CHECK(check_report_path("a.html") == "");
  CHECK(check_report_path("a.json") == "");
  CHECK(check_report_path("a.txt").find("'a.txt'") != std::string::npos);
  CHECK(report_text("a.html", {{"model", "m"}}).starts_with("<!doctype html>"));
  CHECK(report_text("a.json", {{"model", "m"}}) == "{\n \"model\": \"m\"\n}\n");
}
