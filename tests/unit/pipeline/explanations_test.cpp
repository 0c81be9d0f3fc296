// The examples of `dlcc explain` cause the diagnostics that they explain.
#include "support/explanations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "pipeline/compile.h"

using namespace dlcc;

namespace {

bool is_relay(std::string_view example) { return example.starts_with("def ") || example.starts_with("tensor "); }

std::vector<DiagnosticId> errors_of(std::string_view program) {
  std::vector<std::byte> bytes(program.size());
  std::memcpy(bytes.data(), program.data(), program.size());
  CompileOptions options;
  options.model = "example.rly";
  options.model_bytes = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  Diagnostics diagnostics;
  Compiler(options, diagnostics).compile();
  std::vector<DiagnosticId> ids;
  for (const Diagnostic& d : diagnostics.list()) ids.push_back(d.id);
  return ids;
}

}  // namespace

TEST_CASE("the Relay examples of dlcc explain cause the diagnostics that they explain") {
  size_t programs = 0;
  for (DiagnosticId id : all_diagnostics()) {
    std::string_view example = explanation(id).example;
    if (!is_relay(example)) continue;
    CAPTURE(diagnostic_name(id));
    const std::vector<DiagnosticId> found = errors_of(example);
    CHECK(!found.empty());
    for (DiagnosticId other : found) CHECK(diagnostic_name(other) == diagnostic_name(id));
    ++programs;
  }
  CHECK(programs == 15);
}

TEST_CASE("every explanation is complete and fits a terminal") {
  for (DiagnosticId id : all_diagnostics()) {
    const std::string text = explain(id);
    CAPTURE(text);
    CHECK(text.starts_with(diagnostic_name(id) + ": "));
    const Explanation& e = explanation(id);
    for (std::string_view part : {e.meaning, e.remedy}) {
      CHECK(part.ends_with('.'));
      for (size_t at = 0; at < part.size(); at = std::min(part.find('\n', at), part.size() - 1) + 1)
        CHECK(std::min(part.find('\n', at), part.size()) - at <= 100);
    }
    CHECK(!e.example.empty());
  }
}
