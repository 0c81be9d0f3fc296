// The operators of the table, for people.
#include "frontends/frontend.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends {

std::vector<OnnxOperator> onnx_operators() {
  const onnx::Table& table = onnx::operator_table();
  std::vector<OnnxOperator> list;
  for (const std::string& name : table.names()) {
    const std::vector<int64_t> versions = table.versions(name);
    list.push_back({name, versions, onnx::inputs_text(*table.find(name, versions.back())), table.only_if(name)});
  }
  return list;
}

}  // namespace dlcc::frontends
