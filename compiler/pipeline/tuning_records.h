// Tuning records: the fastest measured configuration of each function and CPU, in a JSON file. A record names a
// function by the hash of its schedule request, so that it applies to every model with the same function. Compiling
// with records measures nothing: equal files give equal objects.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "support/diagnostics.h"
#include "support/version.h"
#include "tensor/schedules/tuning_config.h"

namespace dlcc {

// The function and CPU of a record.
struct TuningKey {
  std::string target, cpu;  // "x86-64", and the CPU of the object's best level: "x86-64-v4"
  uint64_t request = 0;     // tensor::hash_of the schedule request
  auto operator<=>(const TuningKey&) const = default;
};

struct TuningRecord {
  std::string function;         // its name, for people
  tensor::TuningConfig config;  // empty: no candidate was faster than the default
  double seconds = 0;           // of all calls in the network, with `config`
  double by_estimate = 0;       // seconds of the same calls with the default configuration
};

struct TuningRecords {
  std::string dlcc = version;  // the version that measured; records of another one are not read
  std::map<TuningKey, TuningRecord> records;

  void add(const TuningRecords& newer);  // replaces records of equal keys
  std::string str() const;               // the text of the file
};

// Parses the text of a file. Empty, with a located diagnostic, when it is not as str() writes it.
std::optional<TuningRecords> parse_tuning_records(std::string_view text, const std::string& path, Diagnostics&);

// Reads and parses a file. Empty, with a diagnostic, when it cannot be read or is malformed.
std::optional<TuningRecords> read_tuning_records(const std::string& path, Diagnostics&);

}  // namespace dlcc
