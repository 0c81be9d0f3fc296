// What was measured to be faster than the estimate, in a file: JSON, one record for each function and CPU. A record
// speaks of a function by the hash of its schedule's request, so that it holds in every model that has the same
// function. A compilation that follows records measures nothing: equal files give equal objects.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "support/diagnostics.h"
#include "support/version.h"
#include "tensor/schedules/tuning_config.h"

namespace dlcc {

// What a record concerns.
struct TuningKey {
  std::string target, cpu;  // "x86-64", and the CPU of the object's best level: "x86-64-v4"
  uint64_t request = 0;     // hash
  auto operator<=>(const TuningKey&) const = default;
};

struct TuningRecord {
  std::string function;         // its name, for people
  tensor::TuningConfig config;  // empty: nothing was clearly faster than the estimate
  double seconds = 0;           // of all its calls in the network, at best;
  double by_estimate = 0;       // and as the estimate has it
};

struct TuningRecords {
  std::string dlcc = version;  // that measured; records of another version do not apply, and are not read
  std::map<TuningKey, TuningRecord> records;

  void add(const TuningRecords& newer);  // which replace older ones
  std::string str() const;               // the file's text
};

// Reports, with its place, whatever is not as str() writes it: nothing of such a file is used.
std::optional<TuningRecords> parse_tuning_records(std::string_view text, const std::string& path, Diagnostics&);

// Reads and parses a file. Empty, with diagnostics, when that is not possible.
std::optional<TuningRecords> read_tuning_records(const std::string& path, Diagnostics&);

}  // namespace dlcc
