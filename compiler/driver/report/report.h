// The report of a compilation as JSON: totals, steps with estimated times, the arena over time and, after a
// measurement, the measured times. docs/REPORTS.md describes the keys.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "pipeline/compile.h"
#include "pipeline/profile.h"
#include "targets/llvm/object_file.h"

namespace dlcc::driver {

struct ReportInput {
  const Planned& planned;  // at the sizes that the report assumes (pipeline/at_sizes.h)
  const ModelContents& contents;
  targets::ObjectSizes sizes;        // of the object
  const Profile* profile = nullptr;  // null: not measured
};

// Equal inputs give equal reports: only a profile has a date.
nlohmann::json report_json(const ReportInput&);

// Tensors of the interface: [{"name", "identifier", "dtype", "shape"}]. An axis is a number, the name of a size that
// the caller gives, an expression over such names, or "?name" if it is known after the run only.
nlohmann::json tensors_json(const emit::Interface&, const std::vector<emit::TensorInterface>&);

// The sizes that the caller gives: [{"name", "identifier", "low", "high", "multiple"}]; high is null without a bound.
nlohmann::json dims_json(const emit::Interface&);

}  // namespace dlcc::driver
