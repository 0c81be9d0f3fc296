// Golden tests (golden.h) of lowered programs, of single kernels and of kernels after the passes before code
// generation. The command for a program with its storage plan, or for all of its kernels as they are emitted, is TARGET
// [CPU] [--accuracy=strict] [-Os] [--threads=N], for a kernel KERNEL and the same.
#include "golden.h"

#include "lower/check_plan.h"
#include "lower/parse_program.h"
#include "pipeline/compile.h"
#include "tensor/known_intrinsics.h"
#include "tensor/parse.h"

namespace dlcc {
namespace {

CompileOptions options_of(const std::string& command) {
  std::stringstream words(command);
  CompileOptions options;
  words >> options.target;
  const std::string threads = "--threads=";
  for (std::string word; words >> word;) {
    if (word == "--accuracy=strict")
      options.schedule.strict = true;
    else if (word == "-Os")
      options.schedule.small = true;
    else if (word.starts_with(threads))
      options.schedule.threads = std::stoi(word.substr(threads.size()));
    else
      options.mcpu = word;
  }
  return options;
}

CompileOptions options_of(const std::string& command, const std::string& input, const std::string& file,
                          bool verify_each) {
  CompileOptions options = options_of(command);
  options.passes.verify_each = verify_each;
  options.model = file;
  auto bytes = std::as_bytes(std::span(input));
  options.model_bytes = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return options;
}

Planned planned_program(const std::string& command, const std::string& input, const std::string& file,
                        bool verify_each = verify_every_pass) {
  const CompileOptions options = options_of(command, input, file, verify_each);
  Diagnostics diagnostics;
  auto planned = Compiler(options, diagnostics).compile();
  REQUIRE_MESSAGE(planned, diagnostics.str());
  return std::move(*planned);
}

// Checks that the text with the kernels' bodies parses and prints to the same text, and that the checker accepts its
// plan.
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
  const std::string text = lower::print_with_lines(planned.program, planned.plan).text;
  check_that_text_parses(text);
  for (bool verify_each : {false, true}) {  // verification changes nothing
    const Planned again = planned_program(command, input, file, verify_each);
    CHECK(lower::print_with_lines(again.program, again.plan).text == text);
  }
  return lower::print(planned.program, &planned.plan);
}

std::string kernel(const std::string& command, const std::string& input, const std::string& file) {
  const size_t blank = command.find(' ');
  const Planned planned = planned_program(command.substr(blank + 1), input, file, true);
  const std::string program = lower::print_with_lines(planned.program, planned.plan).text;
  check_that_text_parses(program);
  const std::string begin = "\n\nkernel @" + command.substr(0, blank);  // with its body
  size_t at = program.find(begin + "(");
  if (at == std::string::npos) at = program.find(begin + "<");  // with symbols
  REQUIRE_MESSAGE(at != std::string::npos, program);
  const size_t from = at + 2, to = program.find("\n}\n", from);
  REQUIRE_MESSAGE(to != std::string::npos, program);
  return program.substr(from, to + 3 - from);
}

std::string legalized_kernels(const std::string& command, const std::string& input, const std::string& file) {
  Diagnostics diagnostics;
  Compiler compiler(options_of(command, input, file, true), diagnostics);
  const auto planned = compiler.compile();
  REQUIRE_MESSAGE(planned, diagnostics.str());
  const std::string text = compiler.listing(*planned, targets::Listing::tensor_ir);
  const auto parsed = tensor::parse(text, file, diagnostics, tensor::known_intrinsics());
  REQUIRE_MESSAGE(parsed, diagnostics.str() << text);
  CHECK(std::ranges::all_of(parsed->kernels, [&](const tensor::Kernel& kernel) {
    return text.find(tensor::print(kernel)) != std::string::npos;
  }));
  return text;
}

}  // namespace

TEST_CASE("golden texts of lowered programs") {
  check_golden_folder(DLCC_GOLDEN_FOLDER "/program", ".rly", lowered_program);
}

TEST_CASE("golden kernels of each schedule") { check_golden_folder(DLCC_GOLDEN_FOLDER "/kernels", ".rly", kernel); }

TEST_CASE("golden kernels after the passes before code generation") {
  check_golden_folder(DLCC_GOLDEN_FOLDER "/legalized", ".rly", legalized_kernels);
}

}  // namespace dlcc
