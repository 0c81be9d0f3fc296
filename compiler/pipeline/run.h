// Running a compiled model once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pipeline/compile.h"
#include "support/constant.h"

namespace dlcc {

// The outputs of the object that was generated of `planned`. Empty, with a diagnostic, when it could not run or
// returned a status other than ok.
std::optional<std::vector<Constant>> run_once(const Planned& planned, std::span<const std::byte> object,
                                              const std::vector<Constant>& inputs, Diagnostics&);

// Whether a run returned ok; else reports the status (dlcc_status).
bool returned_ok(int status, Diagnostics&);

}  // namespace dlcc
