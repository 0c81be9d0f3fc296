// Golden tests: every file in tests/golden/relay has a program, the command to run on it and the expected output.
//
//   // RUN: infer                      parse | infer | passes a,b,c | error
//   def @main(...) { ... }
//   // OUTPUT:
//   //| def @main(...) ...
//
// With DLCC_BLESS=1 in the environment the output part is rewritten.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "frontends/frontend.h"
#include "frontends/relay/metadata.h"
#include "frontends/relay/parser.h"
#include "relay/passes/passes.h"
#include "text_file.h"

namespace dlcc {
namespace {

namespace fs = std::filesystem;

// The values of the constants that the text refers to.
std::string constants_text(const relay::Module& module) {
  std::string text, printed = relay::print(module, true), mark = "#[metadata]";
  size_t at = printed.find(mark);
  if (at == std::string::npos) return "";
  Diagnostics d;
  auto constants = frontends::relay_text::parse_metadata(std::string_view(printed).substr(at + mark.size()), {}, d);
  REQUIRE_MESSAGE(constants, d.str());
  for (size_t i = 0; i < constants->size(); ++i) {
    const Constant& c = (*constants)[i];
    text += fmt::format("meta[relay.Constant][{}]: {} =", i, relay::str(relay::tensor_type(c.shape(), c.dtype())));
    for (int64_t k = 0; k < std::min<int64_t>(c.count(), 16); ++k) text += fmt::format(" {}", c.number_at(k));
    text += c.count() > 16 ? " ...\n" : "\n";
  }
  return text;
}

std::string show(const relay::Module& module) { return relay::print(module, false) + constants_text(module); }

// print(parse(print(m))) == print(m), with and without inference between.
void check_round_trip(const relay::Module& module, bool inferred) {
  std::string text = relay::print(module);
  Diagnostics d;
  auto again = frontends::relay_text::parse(text, {}, d);
  REQUIRE_MESSAGE(again, d.str() << text);
  if (inferred) {
    CHECK_MESSAGE(relay::infer_types(*again, d), d.str() << text);
    CHECK_MESSAGE(relay::verify(*again, d), d.str() << text);
  }
  CHECK(relay::print(*again) == text);
}

std::string run_passes(relay::Module module, const std::string& names) {
  std::stringstream list(names);
  Diagnostics d;
  for (std::string name; std::getline(list, name, ',');) {
    auto passes = relay::all_passes();
    auto pass = std::ranges::find(passes, name, &relay::PassInfo::name);
    REQUIRE_MESSAGE(pass != passes.end(), "no pass " << name);
    relay::PassContext context{.diagnostics = &d, .channel_block = 16};
    module = pass->run(std::move(module), context);
    CHECK_MESSAGE(relay::verify(module, d), "after " << name << ":\n" << d.str() << relay::print(module, false));
    CHECK_MESSAGE(relay::infer_types(module, d), "after " << name << ":\n" << d.str() << relay::print(module, false));
  }
  check_round_trip(module, true);
  return show(module);
}

std::string outcome(const std::string& run, const std::string& text, const std::string& file) {
  Diagnostics d;
  if (run == "parse") {
    auto module = frontends::relay_text::parse(text, {.file = file, .outside_constant = {}}, d);
    if (!module) return d.str();
    check_round_trip(*module, false);
    return show(*module);
  }
  frontends::ImportOptions options;
  options.file = file;
  auto module = frontends::import_relay(text, options, d);
  if (run == "error") CHECK_MESSAGE(!module, "no error was found");
  if (!module) return d.str();
  if (run.starts_with("passes ")) return run_passes(std::move(*module), run.substr(7));
  CHECK_MESSAGE((run == "infer" || run == "error"), "unknown RUN: " << run);
  check_round_trip(*module, true);
  return show(*module);
}

std::string as_comment(const std::string& text) {
  std::string out;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += line.empty() ? "//|\n" : "//| " + line + "\n";
  return out;
}

void run_file(const fs::path& path) {
  std::string text = read_text(path), mark = "// OUTPUT:\n", run_mark = "// RUN: ";
  size_t end = text.find(mark), run = text.find(run_mark);
  REQUIRE(run != std::string::npos);
  std::string input = text.substr(0, end);
  run += run_mark.size();
  std::string command = text.substr(run, text.find('\n', run) - run);
  std::string output = as_comment(outcome(command, input, path.filename().string()));
  if (std::getenv("DLCC_BLESS")) std::ofstream(path, std::ios::binary) << input << mark << output;
  std::string expected = end == std::string::npos ? "" : text.substr(end + mark.size());
  CHECK_MESSAGE((output == expected || std::getenv("DLCC_BLESS")), "expected\n" << expected << "\nfound\n" << output);
}

}  // namespace

TEST_CASE("golden programs") {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(DLCC_GOLDEN_FOLDER))
    if (entry.path().extension() == ".rly") files.push_back(entry.path());
  std::ranges::sort(files);
  CHECK(!files.empty());
  for (const fs::path& file : files) {
    CAPTURE(file.filename().string());
    run_file(file);
  }
}

}  // namespace dlcc
