// Runs a compiled model once.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pipeline/compile.h"
#include "pipeline/foreign_runner.h"
#include "support/constant.h"

namespace dlcc {

// Runs the object generated from `planned`, on this machine or by the runner, and returns its outputs. Empty, with a
// diagnostic, when the object cannot run or returns a status other than ok.
std::optional<std::vector<Constant>> run_once(const Planned& planned, std::span<const std::byte> object,
                                              const std::vector<Constant>& inputs, ForeignRunner*, Diagnostics&);

// Whether `status`, a dlcc_status, is ok; reports any other, at the operation that returned it where that is known.
bool returned_ok(int status, Diagnostics&, const SourceLocation& = {});

}  // namespace dlcc
