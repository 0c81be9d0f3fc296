// Bytes to a model whose header is checked: IR version, operator sets, functions. Graphs are checked while they are
// imported.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "frontends/onnx/schema.h"
#include "support/diagnostics.h"

namespace dlcc::frontends::onnx {

using Opsets = std::map<std::string, int64_t>;                          // version by canonical domain
using FunctionKey = std::tuple<std::string, std::string, std::string>;  // canonical domain, name, overload

struct Model {
  std::shared_ptr<schema::ModelProto> proto;
  Opsets opsets;
  std::map<FunctionKey, const schema::FunctionProto*> functions;
};

// Empty when the bytes hold no graph. Other problems are reported and the model is returned, so that more can be found.
std::optional<Model> read_model(std::span<const std::byte> bytes, const std::string& file, Diagnostics&);

Opsets read_opsets(const google::protobuf::RepeatedPtrField<schema::OperatorSetIdProto>&, const SourceLocation&,
                   Diagnostics&);

}  // namespace dlcc::frontends::onnx
