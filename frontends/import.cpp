// Selects the frontend by a model's first bytes.
#include <algorithm>

#include "frontends/frontend.h"
#include "support/file_kind.h"

namespace dlcc::frontends {

// Text has no control characters but white space. A serialized ONNX model has one in its first fields.
bool is_text(std::span<const std::byte> bytes) {
  constexpr size_t enough = 4096;  // bytes
  return std::ranges::all_of(bytes.first(std::min(bytes.size(), enough)), [](std::byte b) {
    char c = static_cast<char>(b);
    return std::to_integer<uint8_t>(b) >= 0x20 || c == '\t' || c == '\n' || c == '\r';
  });
}

std::optional<relay::Module> import_model(std::span<const std::byte> bytes, const ImportOptions& options,
                                          Diagnostics& diagnostics) {
  if (bytes.empty()) {
    diagnostics.error(DiagnosticId::malformed_model, {options.file}, "the file is empty", {},
                      "copy, download or export the file again");
    return std::nullopt;
  }
  if (report_wrong_kind(bytes, FileUse::model, {options.file}, diagnostics)) return std::nullopt;
  if (!is_text(bytes)) return import_onnx(bytes, options, diagnostics);
  for (const auto& [name, form] : options.inputs)
    diagnostics.error(DiagnosticId::bad_option, {options.file},
                      fmt::format("--input {}: the inputs of a Relay program are tensors", name), {},
                      "leave out the option");
  if (!options.inputs.empty()) return std::nullopt;
  return import_relay({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, options, diagnostics);
}

}  // namespace dlcc::frontends
