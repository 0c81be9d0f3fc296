// The operators of the table, for people.
#include <algorithm>
#include <sstream>

#include "frontends/frontend.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends {
namespace {

// The names of the inputs; '?' marks those that may be omitted, "..." a list.
std::string inputs_text(const onnx::Row& row) {
  std::istringstream names(row.inputs);
  std::string text, name;
  for (int k = 0; names >> name; ++k) {
    const bool is_list = row.max_inputs == onnx::any_number && k == onnx::inputs_before_list(row);
    text += (text.empty() ? "" : " ") + name + (is_list ? "..." : k >= row.min_inputs ? "?" : "");
  }
  return text;
}

}  // namespace

std::vector<OnnxOperator> onnx_operators() {
  const onnx::Table& table = onnx::operator_table();
  std::vector<OnnxOperator> list;
  for (const std::string& name : table.names()) {
    const std::vector<int64_t> versions = table.versions(name);
    list.push_back({name, versions, inputs_text(*table.find(name, versions.back())), table.only_if(name)});
  }
  return list;
}

}  // namespace dlcc::frontends
