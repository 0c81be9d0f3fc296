// Golden tests (golden.h) of lowered programs and of single kernels, after all default passes. The command for a
// program with its storage plan is TARGET [CPU], for a kernel KERNEL TARGET [CPU].
#include "golden.h"

#include "lower/check_plan.h"
#include "lower/parse_program.h"
#include "pipeline/compile.h"

namespace dlcc {
namespace {

Planned planned_program(const std::string& command, const std::string& input, const std::string& file) {
  std::stringstream words(command);
  CompileOptions options;
  options.model = file;
  words >> options.target >> options.mcpu;
  auto bytes = std::as_bytes(std::span(input));
  options.model_bytes = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  Diagnostics diagnostics;
  auto planned = Compiler(options, diagnostics).compile();
  REQUIRE_MESSAGE(planned, diagnostics.str());
  return std::move(*planned);
}

// The text with the kernels' bodies prints again as it was, and the checker approves of its plan.
void check_that_text_parses(const std::string& text) {
  Diagnostics diagnostics;
  const auto parsed = lower::parse_program(text, "program", diagnostics);
  REQUIRE_MESSAGE(parsed, diagnostics.str() << text);
  REQUIRE(parsed->plan);
  CHECK(lower::print_with_lines(parsed->program, *parsed->plan).text == text);
  CHECK(lower::check_storage(parsed->program, *parsed->plan) == "");
}

std::string lowered_program(const std::string& command, const std::string& input, const std::string& file) {
  const Planned planned = planned_program(command, input, file);
  check_that_text_parses(lower::print_with_lines(planned.program, planned.plan).text);
  return lower::print(planned.program, &planned.plan);
}

std::string kernel(const std::string& command, const std::string& input, const std::string& file) {
  const size_t blank = command.find(' ');
  const Planned planned = planned_program(command.substr(blank + 1), input, file);
  const std::string program = lower::print_with_lines(planned.program, planned.plan).text;
  check_that_text_parses(program);
  const std::string begin = "\n\nkernel @" + command.substr(0, blank) + "(";  // with its body
  const size_t from = program.find(begin) + 2, to = program.find("\n}\n", from);
  REQUIRE_MESSAGE(to != std::string::npos, program);
  return program.substr(from, to + 3 - from);
}

}  // namespace

TEST_CASE("golden programs") { check_golden_folder(DLCC_GOLDEN_FOLDER "/program", ".rly", lowered_program); }

TEST_CASE("golden kernels of each schedule") { check_golden_folder(DLCC_GOLDEN_FOLDER "/kernels", ".rly", kernel); }

}  // namespace dlcc
