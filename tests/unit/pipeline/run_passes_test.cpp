// Running passes by name, and the checks between them.
#include "pipeline/run_passes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "frontends/frontend.h"

using namespace dlcc;

namespace {

relay::Module imported(const std::string& text) {
  Diagnostics diagnostics;
  auto module = frontends::import_relay(text, {}, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str());
  return std::move(*module);
}

const char* const two_layers = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(exp(%x)) }";

std::optional<relay::Module> run(const std::vector<std::string>& names, const PassRunOptions& options,
                                 relay::Module module, Diagnostics& diagnostics) {
  StageTimer timer({});
  return run_passes(std::move(module), names, {.diagnostics = &diagnostics}, options, timer);
}

}  // namespace

TEST_CASE("each default pass is in the list of passes once") {
  std::vector<std::string> names = graph_passes();
  for (const std::string& name : storage_passes()) names.push_back(name);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(std::ranges::count(relay::all_passes(), name, &relay::PassInfo::name) == 1);
  }
}

TEST_CASE("an empty list of passes changes nothing") {
  Diagnostics diagnostics;
  relay::Module module = imported(two_layers);
  auto result = run({}, {}, module, diagnostics);
  REQUIRE(result);
  CHECK(relay::print(*result) == relay::print(module));
}

TEST_CASE("an unknown pass is an error that lists the passes") {
  Diagnostics diagnostics;
  CHECK_FALSE(run({"fuse", "fold"}, {}, imported(two_layers), diagnostics));
  CHECK(diagnostics.str().starts_with("dlcc: error[bad-option]: there is no pass 'fold'\n    help: passes: "));
}

TEST_CASE("an invalid module after a pass is an internal error") {
  relay::Module module = imported(two_layers);
  module.functions.at("main").body.result = module.fresh("undefined", module.functions.at("main").result_type);
  Diagnostics diagnostics;
  CHECK_THROWS_AS(run({"eliminate-dead-code"}, {.verify_each = true}, module, diagnostics), InternalError);
  if (verify_every_pass) CHECK_THROWS_AS(run({"eliminate-dead-code"}, {}, module, diagnostics), InternalError);
}

TEST_CASE("the progress callback and the table of times have each stage") {
  std::vector<std::string> told;
  StageTimer timer([&](const std::string& stage) { told.push_back(stage); });
  Diagnostics diagnostics;
  run_passes(imported(two_layers), {"fold-constants", "fuse"}, {.diagnostics = &diagnostics}, {}, timer);
  CHECK(told == std::vector<std::string>{"fold-constants", "", "fuse", ""});
  CHECK(timer.table().find("  fuse\n") != std::string::npos);
  CHECK(timer.table().ends_with("  total\n"));
}
