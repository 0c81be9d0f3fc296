// Programs of other projects (DLCC_TEST_DATA/relay): programs that TVM accepts are parsed, printed, parsed again, and
// have the types that TVM printed; programs that it rejects are rejected. corpus_exceptions.txt lists the exceptions
// with their reasons. The text of ONNX networks (DLCC_TEST_DATA/onnx/models) determines the types in it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "frontends/frontend.h"
#include "frontends/relay/parser.h"
#include "relay/passes/passes.h"
#include "relay/structural_equality.h"
#include "support/files.h"
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

// With its types, a module is the program of its text.
std::string problem_of_typed_text(const relay::Module& module) {
  Diagnostics d;
  auto again = frontends::relay_text::parse(relay::print(module), {}, d);
  if (!again || !relay::infer_types(*again, d)) return "the text with types has none: " + d.str();
  return relay::structurally_equal(module, *again) ? "" : "the text with types is another program";
}

// The types that TVM printed in comments /* ty=... */, by the line on which they end. Only the last one of a line: it
// is that of the line's outermost operation.
std::map<int, std::string> printed_types(const std::string& text) {
  const std::string mark = "/* ty=";
  std::map<int, std::string> types;
  std::stringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t begin = line.rfind(mark), end = line.find_first_of("*", begin + mark.size());
    if (begin == std::string::npos || line.find_first_not_of("*/; )", end) != std::string::npos) continue;
    std::string type = line.substr(begin + mark.size(), end - begin - mark.size());
    if (const size_t span = type.find(" span="); span != std::string::npos) type.resize(span);
    while (type.ends_with(' ')) type.pop_back();
    types[number] = type;
  }
  return types;
}

// Compares the types of the bindings with the printed ones. Of the bindings of one line the last one is outermost.
void compare_types(const relay::Block& block, std::map<int, std::string>& expected, std::string& problem) {
  for (const relay::Binding& b : block.bindings) {
    relay::for_each_block(b.op, [&](const relay::Block& inner) { compare_types(inner, expected, problem); });
    const bool is_last = &b == &block.bindings.back() || (&b + 1)->location.line != b.location.line;
    auto type = expected.find(b.location.line);
    if (!is_last || type == expected.end()) continue;
    if (relay::str(b.var->type) != type->second)
      problem += fmt::format("line {}: {} is inferred, {} was printed\n", b.location.line, relay::str(b.var->type),
                             type->second);
    expected.erase(type);
  }
}

// Removes the types that inference finds.
void remove_types(relay::Block& block) {
  for (relay::Binding& b : block.bindings) {
    b.var->type = nullptr;
    if (auto* made = std::get_if<relay::MakeFunction>(&b.op)) made->function->result_type = nullptr;
    relay::for_each_block(b.op, [](relay::Block& inner) { remove_types(inner); });
  }
}

// A module without types of variables and results has the same ones after inference. A generic function's result is
// kept: it may be a function of which nothing in the body tells whether it is generic.
std::string problem_without_types(relay::Module& module) {
  const std::string printed = relay::print(module);
  for (auto& [name, f] : module.functions) {
    if (f.type_params.empty()) f.result_type = nullptr;
    remove_types(f.body);
  }
  Diagnostics d;
  if (!relay::infer_types(module, d)) return "without types: " + d.str();
  return relay::print(module) == printed ? "" : "without types, others are inferred:\n" + relay::print(module, false);
}

// Infers the types. A reference to an object outside of the text has an unknown type.
std::string type_problems(const std::string& text) {
  Diagnostics d;
  auto module = frontends::relay_text::parse(text, {.file = "t", .allows_missing_metadata = true}, d);
  if (!module) return d.str();
  const bool is_complete = !module->functions.contains("");
  if (!relay::infer_types(*module, d)) return is_complete || d.has_errors() ? d.str() : "";
  std::map<int, std::string> expected = printed_types(text);
  std::string problem;
  for (const auto& [name, f] : module->functions) compare_types(f.body, expected, problem);
  if (problem.empty() && is_complete) problem = problem_of_typed_text(*module);
  return problem.empty() ? problem_without_types(*module) : problem;
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
  for (const fs::path& file : files) {
    const std::string text = read_text(file);
    std::string problem = round_trip(text);
    if (problem.empty()) problem = type_problems(text);
    programs.count(file.stem().string(), problem);
  }
  MESSAGE("programs: " << programs.good << " read, printed and of the printed types, " << programs.excepted
                       << " exceptions");
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

TEST_CASE("the texts of networks have the types that they had without them") {
  const fs::path folder = fs::path(DLCC_TEST_DATA) / "onnx" / "models";
  if (std::string(DLCC_TEST_DATA).empty() || !fs::exists(folder)) {
    MESSAGE("skipped: DLCC_TEST_DATA names no folder with ONNX networks");
    return;
  }
  constexpr uintmax_t largest = 20'000'000;  // bytes of a model
  int networks = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path model = entry.path() / "model.onnx";
    if (!fs::exists(model) || fs::file_size(model) > largest) continue;
    Diagnostics d;
    const auto bytes = read_file(model.string(), d);
    auto module = bytes ? frontends::import_onnx(*bytes, {}, d) : std::nullopt;
    REQUIRE_MESSAGE(module, model << ": " << d.str());
    auto again = frontends::relay_text::parse(relay::print(*module), {}, d);
    REQUIRE_MESSAGE((again && relay::infer_types(*again, d)), model << ": " << d.str());
    const std::string problem = problem_without_types(*again);
    CHECK_MESSAGE(problem.empty(), model << ": " << problem);
    ++networks;
  }
  MESSAGE("networks: " << networks);
  CHECK(networks > 10);
}

TEST_CASE("passes give what TVM's passes give") {
  struct Pair {
    const char *pass, *before, *after;
  };
  static constexpr Pair pairs[] = {
      {"eliminate-dead-code", "dead_code_elimination__test_dead_let__L48", "dead_code_elimination__test_dead_let__L55"},
      {"eliminate-dead-code", "dead_code_elimination__test_nested_let__L84", "dead_code_elimination__test_nested_let__L92"},
      {"eliminate-dead-code", "dead_code_elimination__test_add_with_let__L164", "dead_code_elimination__test_add_with_let__L171"},
      {"eliminate-dead-code", "dead_code_elimination__test_tuple_get_item__L184", "dead_code_elimination__test_tuple_get_item__L192"},
      {"eta-expand", "eta_expand__test_eta_expand_global_var__L29", "eta_expand__test_eta_expand_global_var__L43"},
  };
  const fs::path folder = fs::path(DLCC_TEST_DATA) / "relay" / "tvm";
  if (std::string(DLCC_TEST_DATA).empty() || !fs::exists(folder)) {
    MESSAGE("skipped: DLCC_TEST_DATA names no folder with relay programs");
    return;
  }
  for (const Pair& pair : pairs) {
    Diagnostics d;
    auto typed = [&](const char* name) {
      auto module = frontends::relay_text::parse(read_text(folder / (std::string("test_pass_") + name + ".relay")), {}, d);
      REQUIRE_MESSAGE((module && relay::infer_types(*module, d)), name << ": " << d.str());
      return std::move(*module);
    };
    const auto pass = std::ranges::find(relay::all_passes(), std::string(pair.pass), &relay::PassInfo::name);
    REQUIRE(pass != relay::all_passes().end());
    relay::PassContext context{.diagnostics = &d};
    relay::Module found = pass->run(typed(pair.before), context);
    REQUIRE_MESSAGE((!d.has_errors() && relay::infer_types(found, d)), d.str());
    const relay::Module expected = typed(pair.after);
    CHECK_MESSAGE(relay::structurally_equal(found, expected), pair.before << ":\n" << relay::print(found));
    CHECK_FALSE(relay::structurally_equal(typed(pair.before), expected));
  }
}

}  // namespace dlcc
