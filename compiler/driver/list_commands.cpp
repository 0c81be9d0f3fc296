// dlcc ops lists the operators, dlcc targets the targets, dlcc explain the diagnostics; dlcc help describes a command.
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "driver/commands.h"
#include "driver/help.h"
#include "driver/options.h"
#include "frontends/frontend.h"
#include "pipeline/operator_support.h"
#include "relay/operator.h"
#include "support/explanations.h"
#include "support/similar_names.h"
#include "targets/target.h"
#include "tensor/text.h"

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

std::vector<std::string> names_of_commands() {
  std::vector<std::string> names;
  for (const Command& c : commands()) names.push_back(c.name);
  return names;
}

std::string signature(const relay::Operator& op) {
  std::string text = op.name + "(";
  for (size_t k = 0; k < op.arguments.size(); ++k)
    text += (k ? ", " : "") + op.arguments[k] + (op.variadic ? "..." : "");
  for (const auto& a : op.attributes)
    text += fmt::format("{}{}={}", text.back() == '(' ? "" : ", ", a.name,
                        a.required ? "<" + a.type + ">" : relay::str(a.default_value));
  return text + ")";
}

nlohmann::json operator_json(const relay::Operator& op) {
  nlohmann::json item = {{"name", op.name},
                         {"summary", op.summary},
                         {"arguments", op.arguments},
                         {"values", op.values},
                         {"attributes", nlohmann::json::array()}};
  for (const auto& a : op.attributes)
    item["attributes"].push_back({{"name", a.name},
                                  {"type", a.type},
                                  {"default", relay::str(a.default_value)},
                                  {"required", a.required},
                                  {"about", a.doc}});
  return item;
}

// A row for each operator, a column for each element type that some operator supports.
std::string support_table(const std::vector<OperatorSupport>& table) {
  std::set<DType> columns;
  size_t widest = 0;
  for (const OperatorSupport& row : table) {
    columns.insert(row.types.begin(), row.types.end());
    widest = std::max(widest, row.op->name.size());
  }
  std::string text = fmt::format("{:{}}", "", widest);
  for (DType type : columns) text += fmt::format(" {}", tensor::short_name(type));
  text += "\n";
  for (const OperatorSupport& row : table) {
    std::string line = fmt::format("{:{}}", row.op->name, widest);
    for (DType type : columns)
      line += fmt::format(" {:^{}}", std::ranges::count(row.types, type) ? "x" : ".", tensor::short_name(type).size());
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

int print_support(const std::string& target, bool json, const Reporting& reporting) {
  Diagnostics diagnostics;
  auto table = operator_support(target, diagnostics);
  if (!table) return report(diagnostics, reporting);
  if (!json) {
    std::cout << support_table(*table);
    return 0;
  }
  nlohmann::json list = nlohmann::json::array();
  for (const OperatorSupport& row : *table) {
    nlohmann::json item = operator_json(*row.op);
    item["types"] = nlohmann::json::array();
    for (DType type : row.types) item["types"].push_back(name(type));
    list.push_back(std::move(item));
  }
  std::cout << printed(list);
  return 0;
}

int print_onnx_operators(bool json) {
  nlohmann::json list = nlohmann::json::array();
  for (const frontends::OnnxOperator& op : frontends::onnx_operators()) {
    if (json) {
      list.push_back({{"name", op.name}, {"versions", op.versions}, {"inputs", op.inputs}, {"only_if", op.only_if}});
      continue;
    }
    const std::string line =
        fmt::format("{:24} {:10} {}", op.name, fmt::format("{}", fmt::join(op.versions, ", ")), op.inputs);
    std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
    if (!op.only_if.empty()) std::cout << "    only if " << op.only_if << "\n";
  }
  if (json) std::cout << printed(list);
  return 0;
}

}  // namespace

int ops_command(CommandLine& line) {
  bool json = false, onnx = false;
  std::string target;
  line.describe(fmt::format(
      "Lists the operators of the Relay language with their attributes; with --target, the element types that the "
      "target supports for each of them. With --onnx, lists the operators of ONNX's default domain, the operator sets "
      "with which their meaning changes, each of which applies up to the next one (the last one up to operator set "
      "{}), "
      "and their inputs: '?' marks those that may be omitted, '...' a list. They take every element type that the "
      "standard allows but complex numbers, and strings only as constants; 'only if' is what a node must keep to "
      "besides the standard.",
      frontends::newest_opset));
  add_json_option(line, json);
  line.add({"--target", "NAME", "A target; 'dlcc targets' lists them", store_text(target)});
  line.last_option().examples = target_names;
  line.add({"--onnx", "", "List the operators of ONNX", store_true(onnx)});
  add_common_options(line);
  line.after_values([&] {
    return onnx && line.has("--target") ? Problem{"--onnx excludes --target",
                                                  "the operators of ONNX are translated to those of Relay, whose types "
                                                  "'dlcc ops --target NAME' lists"}
                                        : Problem{};
  });
  if (auto status = line.parse()) return *status;
  if (onnx) return print_onnx_operators(json);
  if (line.has("--target")) return print_support(target, json, line.reporting());
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, op] : relay::operators().all()) {
    if (json)
      list.push_back(operator_json(*op));
    else
      std::cout << signature(*op) << "\n    " << op->summary << "\n";
  }
  if (json) std::cout << printed(list);
  return 0;
}

int targets_command(CommandLine& line) {
  bool json = false, features = false;
  line.describe("Lists the targets and the CPUs that -mcpu= accepts.");
  line.add({"--features", "", "List the CPU features that -mattr= accepts, too", store_true(features)});
  add_json_option(line, json);
  add_common_options(line);
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
  std::vector<DiagnosticId> ids;
  line.describe("Explains a diagnostic: what it means, an example, what to do. Without an ID, lists all of them.");
  line.add(Positional{"ID", "The identifier in brackets of a message, such as shape-mismatch",
                      [&ids](const std::string& text) -> Problem {
                        const std::string name = identifier_in(text);
                        auto id = diagnostic_named(name);
                        if (!id) {
                          const std::string meant = did_you_mean(name, names_of_diagnostics());
                          return {fmt::format("there is no diagnostic '{}'", name),
                                  meant.empty() ? "'dlcc explain' lists the diagnostics" : meant};
                        }
                        ids.push_back(*id);
                        return {};
                      },
                      true, true, names_of_diagnostics});
  add_common_options(line);
  if (auto status = line.parse()) return *status;
  for (DiagnosticId id : ids) std::cout << explain(id);
  if (ids.empty())
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
  add_common_options(line);
  if (auto status = line.parse()) return *status;
  for (const CommandLine& described : describe_commands())
    if (described.name() == wanted) std::cout << help_text(described);
  return 0;
}

}  // namespace dlcc::driver
