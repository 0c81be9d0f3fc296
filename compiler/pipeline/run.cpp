#include "pipeline/run.h"

#include "dlcc/dlcc.h"
#include "targets/llvm/loader.h"

namespace dlcc {

std::optional<std::vector<Constant>> run_once(const Planned& planned, std::span<const std::byte> object,
                                              const std::vector<Constant>& inputs, ForeignRunner* runner,
                                              Diagnostics& diagnostics) {
  targets::RunRequest request{
      .object = object, .interface = &planned.interface, .inputs = inputs, .weights = planned.weights_file.bytes()};
  auto result = runner ? runner->run(request, diagnostics) : targets::run_object(request, diagnostics);
  if (!result || !returned_ok(result->status, diagnostics)) return std::nullopt;
  return std::move(result->outputs);
}

bool returned_ok(int status, Diagnostics& diagnostics, const SourceLocation& location) {
  if (status == DLCC_OK) return true;
  diagnostics.error(
      DiagnosticId::run_failed, location,
      fmt::format("the model returned status {}: {}", status, dlcc_status_string(static_cast<dlcc_status>(status))), {},
      location.str().empty() ? "'dlcc run --interpret' with the same inputs names the operation" : "");
  return false;
}

}  // namespace dlcc
