// The halo that a function's schedule reads around a parameter.
#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/schedules/schedule.h"
#include "tensor/schedules/winograd.h"
#include "tensor/slices.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

std::vector<Range> wanted_halo(const TensorFunction& f, size_t k, const std::vector<bool>& constant,
                               const ScheduleOptions& options, const Machine& machine) {
  if (auto slices = find_slices(f)) return wanted_halo(slices->slice, k, constant, options, machine);
  std::vector<Range> wanted;
  if (!symbols_of(f).empty()) return wanted;
  if (int64_t tile = winograd_tile(f, constant, options, machine);
      tile && find_contraction(f, constant)->data.buffer == f.params[k])
    wanted = winograd_reads(f, constant, tile);
  for (const Stage& stage : f.stages) {
    if (!stage.reduction) continue;
    for (const Expr& v : stage.values)
      for (const Load& l : loads_of(v)) {
        if (l.buffer != f.params[k] || !l.otherwise || !is_literal(l.otherwise, 0)) continue;
        std::vector<Range> read = ranges_read(l, ranges_of(stage));
        if (wanted.empty()) wanted = read;
        for (size_t d = 0; d < read.size(); ++d)
          wanted[d] = {std::min(wanted[d].low, read[d].low), std::max(wanted[d].high, read[d].high)};
      }
  }
  int64_t stored = 1, count = 1;
  for (size_t d = 0; d < wanted.size(); ++d) {
    int64_t extent = f.params[k]->shape[d].value();
    wanted[d] = {std::min<int64_t>(wanted[d].low, 0), std::max(wanted[d].high, extent - 1)};
    stored *= wanted[d].high - wanted[d].low + 1, count *= extent;
    if (stored > machine.max_halo_growth * count) return {};
  }
  return stored == count ? std::vector<Range>() : wanted;
}

}  // namespace dlcc::tensor
