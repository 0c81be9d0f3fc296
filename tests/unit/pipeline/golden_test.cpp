// Golden tests (golden.h) of lowered programs: the command is a target and its CPU, the output is the program with its
// storage plan after all default passes.
#include "golden.h"

#include "pipeline/compile.h"

namespace dlcc {
namespace {

std::string lowered_program(const std::string& command, const std::string& input, const std::string& file) {
  std::stringstream words(command);
  CompileOptions options;
  options.model = file;
  words >> options.target >> options.mcpu;
  auto bytes = std::as_bytes(std::span(input));
  options.model_bytes = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  Diagnostics diagnostics;
  auto planned = Compiler(options, diagnostics).compile();
  REQUIRE_MESSAGE(planned, diagnostics.str());
  return lower::print(planned->program, &planned->plan);
}

}  // namespace

TEST_CASE("golden programs") { check_golden_folder(DLCC_GOLDEN_FOLDER, ".rly", lowered_program); }

}  // namespace dlcc
