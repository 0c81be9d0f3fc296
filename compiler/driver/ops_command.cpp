// dlcc ops [NAME...]: lists the operators of Relay, or those of ONNX.
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "driver/commands.h"
#include "driver/operator_signature.h"
#include "driver/options.h"
#include "frontends/frontend.h"
#include "pipeline/operator_support.h"
#include "relay/operator.h"
#include "support/similar_names.h"
#include "tensor/text.h"

namespace dlcc::driver {
namespace {

nlohmann::json operator_json(const relay::Operator& op) {
  nlohmann::json item = {{"name", op.name},
                         {"summary", op.summary},
                         {"arguments", op.arguments},
                         {"values", op.values},
                         {"type_only", !op.has_definition()},
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

// Whether an operator is to be listed: without names, all are.
bool is_wanted(const std::string& op, const std::vector<std::string>& names) {
  return names.empty() || std::ranges::count(names, op) > 0;
}

std::vector<std::string> names_of_relay() {
  std::vector<std::string> names;
  for (const auto& [name, op] : relay::operators().all()) names.push_back(name);
  return names;
}

std::vector<std::string> names_of_onnx() {
  std::vector<std::string> names;
  for (const frontends::OnnxOperator& op : frontends::onnx_operators()) names.push_back(op.name);
  return names;
}

// An error for the first unknown name of an operator.
Problem check_names(const std::vector<std::string>& wanted, bool onnx) {
  const std::vector<std::string> known = onnx ? names_of_onnx() : names_of_relay();
  const std::vector<std::string> others = onnx ? names_of_relay() : names_of_onnx();
  const auto unknown = std::ranges::find_if(wanted, [&](const auto& name) { return !is_wanted(name, known); });
  if (unknown == wanted.end()) return {};
  const std::string message =
      fmt::format("{} has no operator '{}'", onnx ? "ONNX as dlcc reads it" : "Relay", *unknown);
  if (std::ranges::count(others, *unknown))
    return {message, onnx ? fmt::format("it is an operator of Relay: dlcc ops {}", *unknown)
                          : fmt::format("it is an operator of ONNX: dlcc ops --onnx {}", *unknown)};
  const std::string meant = did_you_mean(*unknown, known);
  return {message, !meant.empty() ? meant : fmt::format("'dlcc ops{}' lists the operators", onnx ? " --onnx" : "")};
}

int print_support(const std::string& target, const std::vector<std::string>& names, bool json,
                  const Reporting& reporting) {
  Diagnostics diagnostics;
  auto table = operator_support(target, diagnostics);
  if (!table) return report(diagnostics, reporting);
  std::erase_if(*table, [&](const OperatorSupport& row) { return !is_wanted(row.op->name, names); });
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

int print_onnx_operators(const std::vector<std::string>& names, bool json) {
  nlohmann::json list = nlohmann::json::array();
  for (const frontends::OnnxOperator& op : frontends::onnx_operators()) {
    if (!is_wanted(op.name, names)) continue;
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

// Operators that were named are printed with a line for each attribute.
int print_relay_operators(const std::vector<std::string>& names, bool json) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, op] : relay::operators().all()) {
    if (!is_wanted(name, names)) continue;
    if (json) {
      list.push_back(operator_json(*op));
      continue;
    }
    std::cout << operator_signature(*op) << "\n    " << op->summary << "\n";
    if (!op->has_definition()) std::cout << "    type only: it cannot be compiled\n";
    for (const auto& a : op->attributes)
      if (!names.empty()) std::cout << fmt::format("    {}: {}\n", a.name, a.doc);
  }
  if (json) std::cout << printed(list);
  return 0;
}

}  // namespace

int ops_command(CommandLine& line) {
  bool json = false, onnx = false;
  std::string target;
  std::vector<std::string> names;
  line.describe(fmt::format(
      "Lists the operators of the Relay language, with their inputs and attributes. Operators marked 'type only' can "
      "be "
      "read, checked and printed, but not compiled. With --target, lists the element "
      "types that the target supports for each of them. With --onnx, lists the operators of ONNX's default domain. "
      "The numbers after a name are the operator sets that changed the operator's meaning: each applies up to the next "
      "one, the last one up to operator set {}. Then follow the inputs: '?' marks an input that may be omitted, '...' "
      "a list of inputs. The operators take every element type that the standard allows, except complex numbers; "
      "strings must be constants. A line 'only if' gives a restriction of dlcc that the standard does not have.",
      frontends::newest_opset));
  line.add(Positional{"NAME", "An operator; without names, all are listed",
                      store_by([&names](const std::string& name) { names.push_back(name); }), true, true,
                      names_of_relay});
  add_json_option(line, json);
  line.add({"--target", "NAME", "A target; 'dlcc targets' lists them", store_text(target)});
  line.last_option().examples = target_names;
  line.add({"--onnx", "", "List the operators of ONNX", store_true(onnx)});
  add_common_options(line, false);
  line.after_values([&] {
    return onnx && line.has("--target") ? Problem{"--onnx excludes --target",
                                                  "the operators of ONNX are translated to those of Relay, whose types "
                                                  "'dlcc ops --target NAME' lists"}
                                        : check_names(names, onnx);
  });
  if (auto status = line.parse()) return *status;
  if (onnx) return print_onnx_operators(names, json);
  if (line.has("--target")) return print_support(target, names, json, line.reporting());
  return print_relay_operators(names, json);
}

}  // namespace dlcc::driver
