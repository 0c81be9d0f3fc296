// Frontends: bytes to Relay module. The kind of input is recognised by its content, not by its name.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "relay/ir.h"
#include "support/diagnostics.h"

namespace dlcc::frontends {

struct ImportOptions {
  std::map<std::string, int64_t> dims;          // --dim name=value: values for symbolic dimensions
  std::string file = "<stdin>";                 // for messages
  std::string folder;                           // external tensor data is read from here and nowhere outside
  std::set<std::string>* files_read = nullptr;  // where the paths of external data files that were used are added
};

// The module in A-normal form with inferred types, or empty with all problems found.
std::optional<relay::Module> import_model(std::span<const std::byte> bytes, const ImportOptions&, Diagnostics&);

// By format. import_relay also reads one expression without a header (bound to @main).
std::optional<relay::Module> import_onnx(std::span<const std::byte> bytes, const ImportOptions&, Diagnostics&);
std::optional<relay::Module> import_relay(std::string_view text, const ImportOptions&, Diagnostics&);

}  // namespace dlcc::frontends
