// Parses a model and checks its IR version, operator sets and functions. Importing checks the graphs.
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

// Empty if the bytes contain no graph. After other problems, which are reported, importing can go on to find more.
std::optional<Model> read_model(std::span<const std::byte> bytes, const std::string& file, Diagnostics&);

Opsets read_opsets(const google::protobuf::RepeatedPtrField<schema::OperatorSetIdProto>&, const SourceLocation&,
                   Diagnostics&);

}  // namespace dlcc::frontends::onnx
