// dlcc ops lists the operators, dlcc targets the targets.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "driver/commands.h"
#include "driver/options.h"
#include "pipeline/operator_support.h"
#include "relay/operator.h"
#include "targets/target.h"
#include "tensor/text.h"

namespace dlcc::driver {
namespace {

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
  nlohmann::json item = {
      {"name", op.name}, {"summary", op.summary}, {"arguments", op.arguments}, {"attributes", nlohmann::json::array()}};
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
  std::cout << list.dump(1) << "\n";
  return 0;
}

}  // namespace

int ops_command(CommandLine& line) {
  bool json = false;
  std::string target;
  line.describe(
      "Lists the operators of the Relay language with their attributes; with --target, the element types that the "
      "target supports for each of them.");
  add_json_option(line, json);
  line.add({"--target", "NAME", "A target; 'dlcc targets' lists them", store_text(target)});
  add_common_options(line);
  if (auto status = line.parse()) return *status;
  if (line.has("--target")) return print_support(target, json, line.reporting());
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, op] : relay::operators().all()) {
    if (json)
      list.push_back(operator_json(*op));
    else
      std::cout << signature(*op) << "\n    " << op->summary << "\n";
  }
  if (json) std::cout << list.dump(1) << "\n";
  return 0;
}

int targets_command(CommandLine& line) {
  bool json = false;
  line.describe("Lists the targets and the CPUs that -mcpu= accepts.");
  add_json_option(line, json);
  add_common_options(line);
  if (auto status = line.parse()) return *status;
  nlohmann::json list = nlohmann::json::array();
  for (const targets::TargetInfo& t : targets::list_targets()) {
    if (json) {
      list.push_back({{"name", t.name}, {"summary", t.summary}, {"cpus", t.cpus}});
      continue;
    }
    std::string cpus;
    for (const std::string& c : t.cpus) cpus += " " + c;
    std::cout << fmt::format("{:12} {}\n            {}\n", t.name, t.summary, cpus);
  }
  if (json) std::cout << list.dump(1) << "\n";
  return 0;
}

}  // namespace dlcc::driver
