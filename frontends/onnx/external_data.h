// Tensor data that lies in files beside the model. A file is mapped once and shared by the tensors in it. Only regular
// files inside the model's folder are read, wherever links point.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "support/diagnostics.h"

namespace dlcc::frontends::onnx {

// Bytes and who keeps them alive.
struct ByteView {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

class ExternalFiles {
 public:
  // `files_read` may be null; else the paths of the files that were opened are added to it.
  explicit ExternalFiles(std::string folder, std::set<std::string>* files_read = nullptr)
      : folder_(std::move(folder)), files_read_(files_read) {}

  // The whole file at `location`, relative to the folder. Reports external_data.
  std::optional<ByteView> open(const std::string& location, const SourceLocation&, Diagnostics&);

 private:
  std::string folder_;
  std::set<std::string>* files_read_;
  std::map<std::string, ByteView> files_;
};

}  // namespace dlcc::frontends::onnx
