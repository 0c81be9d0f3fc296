// dlcc ops, dlcc targets: what there is.
#include <iostream>
#include <nlohmann/json.hpp>

#include "driver/commands.h"
#include "driver/options.h"
#include "relay/operator.h"

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

}  // namespace

int ops_command(std::vector<std::string> args) {
  bool json = false;
  CLI::App app("Lists the operators of the Relay language with their attributes.", "dlcc ops");
  app.add_flag("--json", json, "Print JSON");
  if (auto status = parse(app, std::move(args))) return *status;
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, op] : relay::operators().all()) {
    if (!json) {
      std::cout << signature(*op) << "\n    " << op->summary << "\n";
      continue;
    }
    nlohmann::json item = {{"name", name},
                           {"summary", op->summary},
                           {"arguments", op->arguments},
                           {"attributes", nlohmann::json::array()}};
    for (const auto& a : op->attributes)
      item["attributes"].push_back({{"name", a.name},
                                    {"type", a.type},
                                    {"default", relay::str(a.default_value)},
                                    {"required", a.required},
                                    {"about", a.doc}});
    list.push_back(std::move(item));
  }
  if (json) std::cout << list.dump(1) << "\n";
  return 0;
}

int targets_command(std::vector<std::string> args) {
  bool json = false;
  CLI::App app("Lists the targets and the CPUs that -mcpu= accepts.", "dlcc targets");
  app.add_flag("--json", json, "Print JSON");
  if (auto status = parse(app, std::move(args))) return *status;
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
