// Diagnostics as values: their order, their count, the lines they point to.
#include <doctest/doctest.h>

#include "support/diagnostics.h"

using namespace dlcc;

TEST_CASE("every identifier has a name that finds it") {
  for (DiagnosticId id : all_diagnostics()) {
    CAPTURE(diagnostic_name(id));
    CHECK(diagnostic_named(diagnostic_name(id)) == id);
    CHECK(!summary(id).empty());
  }
  CHECK(diagnostic_name(DiagnosticId::shape_mismatch) == "shape-mismatch");
  CHECK(diagnostic_named("shape_mismatch") == std::nullopt);
}

TEST_CASE("only errors count as errors; all diagnostics keep their order") {
  Diagnostics diagnostics;
  diagnostics.remark(DiagnosticId::tuning_records, {}, "a");
  diagnostics.warning(DiagnosticId::unused_input, {}, "b", {"detail"}, "remove it");
  CHECK(!diagnostics.has_errors());
  diagnostics.error(DiagnosticId::too_large, {}, "c");
  diagnostics.warning(DiagnosticId::unused_input, {}, "d");
  CHECK(diagnostics.error_count() == 1);
  CHECK(diagnostics.str() ==
        "dlcc: remark[tuning-records]: a\n"
        "dlcc: warning[unused-input]: b\n    detail\n    help: remove it\n"
        "dlcc: error[too-large]: c\n"
        "dlcc: warning[unused-input]: d\n");
}

TEST_CASE("a diagnostic has the source line of its location") {
  Diagnostics diagnostics;
  auto line_at = [&](const char* file, int line) {
    diagnostics.error(DiagnosticId::syntax_error, {file, line, 1, ""}, "m");
    return diagnostics.list().back().source_line;
  };
  diagnostics.keep_text("f", "first\r\n\nthird");
  CHECK(line_at("f", 1) == "first");
  CHECK(line_at("f", 2).empty());
  CHECK(line_at("f", 3) == "third");
  CHECK(line_at("f", 4).empty());
  CHECK(line_at("f", 0).empty());
  CHECK(line_at("g", 1).empty());
}
