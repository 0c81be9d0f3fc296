// Programs of other projects (DLCC_TEST_DATA/relay): programs that TVM accepts are parsed, printed and parsed again;
// programs that it rejects are rejected. corpus_exceptions.txt lists the exceptions with their reasons.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "frontends/relay/parser.h"
#include "text_file.h"

namespace dlcc {
namespace {

namespace fs = std::filesystem;

// Lines "NAME: reason"; '#' begins a comment.
std::map<std::string, std::string> exceptions() {
  std::map<std::string, std::string> list;
  std::ifstream file(DLCC_CORPUS_EXCEPTIONS);
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (!line.empty() && line[0] != '#' && colon != std::string::npos)
      list[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return list;
}

// Parses, prints, parses and prints again. Returns the problem found, or nothing.
std::string round_trip(const std::string& text) {
  Diagnostics d;
  frontends::relay_text::ParseOptions options;
  options.outside_constant = Constant::of<float>(dtype::f32, {}, {1.0f});  // many refer to a table in a test's code
  auto module = frontends::relay_text::parse(text, options, d);
  if (!module) return d.str();
  std::string printed = relay::print(*module);
  auto again = frontends::relay_text::parse(printed, {}, d);
  if (!again) return "printed text is not read: " + d.str();
  return relay::print(*again) == printed ? "" : "printed text changes when read";
}

struct Tally {
  int good = 0, excepted = 0;
  std::map<std::string, std::string> known = exceptions();

  void count(const std::string& name, const std::string& problem) {
    if (known.contains(name)) {
      ++excepted;
      CHECK_MESSAGE(!problem.empty(), name << " is listed as an exception but works");
    } else {
      good += problem.empty();
      CHECK_MESSAGE(problem.empty(), name << ": " << problem);
    }
  }
};

}  // namespace

TEST_CASE("programs of other projects parse, print and parse again, or are rejected") {
  fs::path folder = fs::path(DLCC_TEST_DATA) / "relay";
  if (std::string(DLCC_TEST_DATA).empty() || !fs::exists(folder)) {
    MESSAGE("skipped: DLCC_TEST_DATA names no folder with relay programs");
    return;
  }
  Tally programs, strings;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".relay") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files)
    if (file.filename().string().find("__doc__") == std::string::npos)  // prose in an informal dialect
      programs.count(file.stem().string(), round_trip(read_text(file)));
  MESSAGE("programs: " << programs.good << " read and printed, " << programs.excepted << " exceptions");
  CHECK(programs.good > 50);

  std::ifstream cases(folder / "tvm" / "ir_parser_cases.jsonl");
  int line_number = 0;
  for (std::string line; std::getline(cases, line);) {
    auto entry = nlohmann::json::parse(line);
    bool should_parse = entry["expect"] == "parse";
    std::string text = entry["text"];
    Diagnostics d;
    bool parsed = frontends::relay_text::parse(text, {}, d).has_value();
    std::string problem = parsed == should_parse ? "" : parsed ? "is accepted" : d.str();
    if (should_parse && parsed) problem = round_trip(text);
    strings.count("ir_parser_cases:" + std::to_string(++line_number), problem);
  }
  MESSAGE("parser cases: " << strings.good << " as expected, " << strings.excepted << " exceptions");
  CHECK(strings.good > 50);
}

}  // namespace dlcc
