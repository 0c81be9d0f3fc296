// External tensor data: files in the model's folder. Each file is mapped once for all its tensors. Only regular files
// whose resolved path is in that folder are read.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "support/diagnostics.h"

namespace dlcc::frontends::onnx {

// Bytes and the owner that keeps them alive.
struct ByteView {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

class ExternalFiles {
 public:
  // If `files_read` is not null, it receives the paths of the opened files.
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
