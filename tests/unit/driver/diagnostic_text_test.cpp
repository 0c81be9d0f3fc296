// Diagnostics as text: grouped, with source lines, and with colour only where it belongs.
#include "driver/diagnostic_text.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "driver/reporting.h"

using namespace dlcc;
using driver::diagnostic_text;

namespace {

std::string text_of(const Diagnostics& diagnostics, bool colour = false) {
  return diagnostic_text(diagnostics.list(), colour);
}

// The text of one error at columns of a source line.
std::string snippet(const std::string& line, int column, int end = 0) {
  Diagnostics diagnostics;
  diagnostics.keep_text("f", "\n" + line + "\nlast");
  diagnostics.error(DiagnosticId::syntax_error, {"f", 2, column, "", end}, "m");
  std::string text = text_of(diagnostics), head = fmt::format("f:2:{}: error[syntax-error]: m\n", column);
  REQUIRE(text.starts_with(head));
  return text.substr(head.size());
}

}  // namespace

TEST_CASE("repeated problems are one entry of the text") {
  Diagnostics diagnostics;
  for (const char* op : {"Foo", "Bar"})
    for (int k = 0; k < 5; ++k)
      diagnostics.error(DiagnosticId::unsupported_operator,
                        {.file = "m", .node = fmt::format("node '{0}{1}' ({0})", op, k)},
                        fmt::format("operator {} is not supported", op), {fmt::format("detail {}", k)}, "write it");
  diagnostics.warning(DiagnosticId::unused_input, {.file = "m", .node = "input 'x'"}, "nothing uses it");
  diagnostics.warning(DiagnosticId::unused_input, {.file = "m", .node = "input 'y'"}, "nothing uses it");
  CHECK(text_of(diagnostics) ==
        "m: node 'Foo0' (Foo): error[unsupported-operator]: operator Foo is not supported\n"
        "    detail 0\n"
        "    and 4 more: node 'Foo1', node 'Foo2', node 'Foo3', ...\n"
        "    help: write it\n"
        "m: node 'Bar0' (Bar): error[unsupported-operator]: operator Bar is not supported\n"
        "    detail 0\n"
        "    and 4 more: node 'Bar1', node 'Bar2', node 'Bar3', ...\n"
        "m: input 'x': warning[unused-input]: nothing uses it\n"
        "    and 1 more: input 'y'\n");
}

TEST_CASE("a problem that is found several times at one location is listed once") {
  Diagnostics diagnostics;
  for (int column : {4, 4, 9, 4, 9, 2}) diagnostics.error(DiagnosticId::dynamic_shape, {"f", 2, column, ""}, "m");
  CHECK(text_of(diagnostics) == "f:2:4: error[dynamic-shape]: m\n    and 2 more: 2:9, 2:2\n");
}

TEST_CASE("problems of different files, severities, identifiers or messages are different entries") {
  Diagnostics diagnostics;
  diagnostics.error(DiagnosticId::bad_option, {}, "m");
  diagnostics.error(DiagnosticId::bad_option, {}, "m");
  diagnostics.error(DiagnosticId::bad_option, {}, "n");
  diagnostics.error(DiagnosticId::bad_option, {.file = "f"}, "m");
  diagnostics.error(DiagnosticId::too_large, {}, "m");
  diagnostics.warning(DiagnosticId::bad_option, {}, "m");
  CHECK(text_of(diagnostics) ==
        "dlcc: error[bad-option]: m\n    and 1 more\ndlcc: error[bad-option]: n\nf: error[bad-option]: m\ndlcc: "
        "error[too-large]: m\n"
        "dlcc: warning[bad-option]: m\n");
}

TEST_CASE("an error shows the source line and a caret under the column") {
  CHECK(snippet("  let %x = 1;", 3) ==
        "    2 |   let %x = 1;\n"
        "      |   ^\n");
  CHECK(snippet("abc", 4) ==
        "    2 | abc\n"
        "      |    ^\n");
  CHECK(snippet("\ta\tb", 4) ==
        "    2 |         a       b\n"
        "      |                 ^\n");
  CHECK(snippet("\"Größe\" x", 11) ==
        "    2 | \"Größe\" x\n"
        "      |         ^\n");
  CHECK(snippet("\"層\" x", 7) ==
        "    2 | \"層\" x\n"
        "      |      ^\n");
  CHECK(snippet("abc\r", 2) ==
        "    2 | abc\n"
        "      |  ^\n");
  CHECK(snippet("\033[31mred", 6) ==
        "    2 | ?[31mred\n"
        "      |      ^\n");
}

TEST_CASE("a range of columns is underlined up to the end of the line") {
  CHECK(snippet("  let %x = 1;", 7, 9) ==
        "    2 |   let %x = 1;\n"
        "      |       ^~\n");
  CHECK(snippet("f(a,", 1, TextRange::end_of_line) ==
        "    2 | f(a,\n"
        "      | ^~~~\n");
  CHECK(snippet("\ta\tb", 2, 5) ==
        "    2 |         a       b\n"
        "      |         ^~~~~~~~~\n");
  CHECK(snippet("\"Größe\" x", 1, 10) ==
        "    2 | \"Größe\" x\n"
        "      | ^~~~~~~\n");
  CHECK(snippet("abc", 4, 4) ==
        "    2 | abc\n"
        "      |    ^\n");
}

TEST_CASE("a long source line is cut around the column") {
  const std::string before(300, 'a'), after(300, 'b');
  const std::string text = snippet(before + "x" + after, 301);
  const std::string line = text.substr(0, text.find('\n')), caret = text.substr(text.find('\n') + 1);
  CHECK(line.size() < 120);
  CHECK(line.find("| ...aaa") != std::string::npos);
  CHECK(line.ends_with("bbb..."));
  CHECK(line[caret.find('^')] == 'x');
}

TEST_CASE("a repeated problem of Relay text lists its locations") {
  Diagnostics diagnostics;
  for (int line : {1, 2, 9}) diagnostics.error(DiagnosticId::syntax_error, {"f", line, 4, ""}, "m");
  CHECK(text_of(diagnostics) == "f:1:4: error[syntax-error]: m\n    and 2 more: 2:4, 9:4\n");
}

TEST_CASE("only severities have a colour, and control characters are not printed") {
  Diagnostics diagnostics;
  diagnostics.error(DiagnosticId::syntax_error, {"error[1].rly", 1, 1, ""}, "expected error[x], found \033[31m\n");
  diagnostics.warning(DiagnosticId::unused_input, {}, "m");
  CHECK(text_of(diagnostics, true) ==
        "error[1].rly:1:1: \033[1;31merror\033[0m[syntax-error]: expected error[x], found ?[31m?\n"
        "dlcc: \033[1;35mwarning\033[0m[unused-input]: m\n");
}

TEST_CASE("warnings are errors on request, or ignored") {
  Diagnostics diagnostics;
  diagnostics.remark(DiagnosticId::tuning_records, {}, "m");
  CHECK(!driver::is_failure(diagnostics, {.warnings_are_errors = true}));
  diagnostics.warning(DiagnosticId::unused_input, {}, "m");
  CHECK(!driver::is_failure(diagnostics, {}));
  CHECK(driver::is_failure(diagnostics, {.warnings_are_errors = true}));
  CHECK(!driver::is_failure(diagnostics, {.warnings_are_errors = true, .no_warnings = true}));
  diagnostics.error(DiagnosticId::too_large, {}, "m");
  CHECK(driver::is_failure(diagnostics, {.no_warnings = true}));
}
