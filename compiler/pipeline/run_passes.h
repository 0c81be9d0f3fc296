// Runs graph passes by name, and the two lists of passes that every compilation runs.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline/stage_timer.h"
#include "relay/ir.h"
#include "relay/passes/passes.h"
#include "support/verify_builds.h"

namespace dlcc {

// The passes up to fusion, which see logical shapes; then the passes that assign storage layouts.
std::vector<std::string> graph_passes();
std::vector<std::string> storage_passes();

// What happens between passes: the module is printed or verified, or the work ends.
struct PassRunOptions {
  std::set<std::string> dump_after;      // passes after which the module is printed to stderr; "all": after each
  std::string stop_after;                // pass after which the module is printed to stdout and the work ends
  bool verify_each = verify_every_pass;  // check the rules of relay/verify.cpp and the types after each pass
};

// Runs the passes in order. Empty when a pass has an unknown name or fails (with diagnostics), or when the pass
// `stop_after` has run. Throws InternalError when verification fails.
std::optional<relay::Module> run_passes(relay::Module, const std::vector<std::string>& names, relay::PassContext,
                                        const PassRunOptions&, StageTimer&);

}  // namespace dlcc
