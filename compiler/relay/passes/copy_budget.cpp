#include "relay/passes/copy_budget.h"

#include <fmt/format.h>

#include <utility>

#include "relay/visit.h"

namespace dlcc::relay {

bool CopyBudget::may_copy(const Function& f, const SourceLocation& location) {
  const int64_t before = std::exchange(copied_, copied_ + 1 + count_operations(f.body));
  if (before <= most_operations && copied_ > most_operations && diagnostics_)
    diagnostics_->error(DiagnosticId::too_large, location,
                        fmt::format("{} more than {} operations", what_, most_operations), {}, help_);
  return copied_ <= most_operations;
}

}  // namespace dlcc::relay
