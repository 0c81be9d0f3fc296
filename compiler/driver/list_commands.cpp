// dlcc targets lists the targets, dlcc explain the diagnostics; dlcc help describes a command.
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "driver/commands.h"
#include "driver/help.h"
#include "driver/options.h"
#include "support/explanations.h"
#include "support/similar_names.h"
#include "targets/target.h"

namespace dlcc::driver {
namespace {

std::vector<std::string> names_of_diagnostics() {
  std::vector<std::string> names;
  for (DiagnosticId id : all_diagnostics()) names.push_back(diagnostic_name(id));
  return names;
}

// The identifier in a text that may be the beginning of a message: "bad-data" in "error[bad-data]".
std::string identifier_in(const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  return open < close && close != text.npos ? text.substr(open + 1, close - open - 1) : text;
}

// An error that lists the unknown identifiers.
Problem check_diagnostics(const std::vector<std::string>& wanted) {
  std::vector<std::string> unknown, remedies;
  for (const std::string& name : wanted) {
    if (diagnostic_named(name)) continue;
    unknown.push_back("'" + name + "'");
    if (std::string meant = did_you_mean(name, names_of_diagnostics()); !meant.empty()) remedies.push_back(meant);
  }
  if (unknown.empty()) return {};
  if (remedies.empty()) remedies.push_back("'dlcc explain' lists the diagnostics");
  return {fmt::format("there is no diagnostic {}", fmt::join(unknown, " and no ")),
          fmt::format("{}", fmt::join(remedies, " "))};
}

std::vector<std::string> names_of_commands() {
  std::vector<std::string> names;
  for (const Command& c : commands()) names.push_back(c.name);
  return names;
}

}  // namespace

int targets_command(CommandLine& line) {
  bool json = false, features = false;
  line.describe("Lists the targets and the CPUs that -mcpu= accepts.");
  line.add({"--features", "", "List the CPU features that -mattr= accepts, too", store_true(features)});
  add_json_option(line, json);
  add_common_options(line, false);
  if (auto status = line.parse()) return *status;
  nlohmann::json list = nlohmann::json::array();
  for (const targets::TargetInfo& t : targets::list_targets()) {
    if (json) {
      list.push_back({{"name", t.name}, {"summary", t.summary}, {"cpus", t.cpus}, {"features", t.features}});
      continue;
    }
    std::cout << fmt::format("{:12} {}\n             {}\n", t.name, t.summary, fmt::join(t.cpus, " "));
    if (features) std::cout << fmt::format("  features:  {}\n", fmt::join(t.features, " "));
  }
  if (json) std::cout << printed(list);
  return 0;
}

int explain_command(CommandLine& line) {
  std::vector<std::string> wanted;
  line.describe("Explains a diagnostic: what it means, an example, what to do. Without an ID, lists all of them.");
  line.add(Positional{"ID", "The identifier in brackets of a message, such as shape-mismatch",
                      store_by([&wanted](const std::string& text) { wanted.push_back(identifier_in(text)); }), true,
                      true, names_of_diagnostics});
  add_common_options(line, false);
  line.after_values([&] { return check_diagnostics(wanted); });
  if (auto status = line.parse()) return *status;
  for (const std::string& name : wanted) std::cout << explain(*diagnostic_named(name));
  if (wanted.empty())
    for (DiagnosticId id : all_diagnostics()) std::cout << fmt::format("{:24} {}\n", diagnostic_name(id), summary(id));
  return 0;
}

int help_command(CommandLine& line) {
  std::string wanted;
  line.describe("Prints the help of a command, as 'dlcc COMMAND --help' does. Without COMMAND, that of dlcc.");
  line.add(Positional{"COMMAND", "One of the commands that 'dlcc --help' lists",
                      [&wanted](const std::string& name) -> Problem {
                        wanted = name;
                        const std::vector<std::string> names = names_of_commands();
                        if (std::ranges::count(names, name)) return {};
                        return {fmt::format("there is no command '{}'", name), suggest_names(name, names)};
                      },
                      false, true, names_of_commands});
  add_common_options(line, false);
  if (auto status = line.parse()) return *status;
  for (const CommandLine& described : describe_commands())
    if (described.name() == wanted) std::cout << help_text(described);
  return 0;
}

}  // namespace dlcc::driver
