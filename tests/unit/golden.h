// Golden files: an input and its expected output, which is written as comments of the input's language.
//
//   // RUN: COMMAND
//   input
//   // OUTPUT:
//   //| expected output
//
// A file with several commands has their outputs one after the other, each after its command. With DLCC_BLESS=1 in the
// environment, the output part is rewritten.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "text_file.h"

namespace dlcc {

// Computes the output of an input; `command` is the text after RUN, `file` the name of the file.
using GoldenOutput =
    std::function<std::string(const std::string& command, const std::string& input, const std::string& file)>;

inline void check_golden_file(const std::filesystem::path& path, const GoldenOutput& output_of) {
  const std::string text = read_text(path), mark = "// OUTPUT:\n", run_mark = "// RUN: ";
  const size_t end = text.find(mark);
  const std::string input = text.substr(0, end);
  std::vector<std::string> commands;
  for (size_t at = input.find(run_mark); at != std::string::npos; at = input.find(run_mark, at + 1)) {
    const size_t begin = at + run_mark.size();
    commands.push_back(input.substr(begin, input.find('\n', begin) - begin));
  }
  REQUIRE(!commands.empty());
  std::string output;
  for (const std::string& command : commands) {
    if (commands.size() > 1) output += "//| RUN: " + command + "\n";
    std::stringstream lines(output_of(command, input, path.filename().string()));
    for (std::string line; std::getline(lines, line);) output += line.empty() ? "//|\n" : "//| " + line + "\n";
  }
  const bool bless = std::getenv("DLCC_BLESS");
  if (bless) std::ofstream(path, std::ios::binary) << input << mark << output;
  const std::string expected = end == std::string::npos ? "" : text.substr(end + mark.size());
  CHECK_MESSAGE((bless || output == expected), "expected\n" << expected << "\nfound\n" << output);
}

// Checks every file of a folder with this suffix (".rly"), in the order of their names.
inline void check_golden_folder(const std::filesystem::path& folder, const std::string& suffix,
                                const GoldenOutput& output_of) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == suffix) files.push_back(entry.path());
  std::ranges::sort(files);
  CHECK(!files.empty());
  for (const std::filesystem::path& file : files) {
    CAPTURE(file.filename().string());
    check_golden_file(file, output_of);
  }
}

}  // namespace dlcc
