// The halo that a function's schedule reads around a parameter.
#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/index_facts.h"
#include "tensor/schedules/schedule.h"
#include "tensor/schedules/winograd.h"
#include "tensor/slices.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

void extend(std::vector<Halo>& all, const std::vector<Halo>& by) {
  if (all.empty()) all = by;
  for (size_t d = 0; d < by.size(); ++d)
    all[d] = {std::max(all[d].before, by[d].before), std::max(all[d].after, by[d].after)};
}

// Whether the storage with these halos exceeds Machine::max_halo_growth times that without. False for a symbolic shape,
// whose growth is not known.
bool grows_too_much(const std::vector<Halo>& halos, const Shape& shape, const Machine& machine) {
  int64_t stored = 1, count = 1;
  for (size_t d = 0; d < halos.size() && is_static(shape); ++d) {
    stored *= shape[d].value() + halos[d].before + halos[d].after, count *= shape[d].value();
    if (stored > machine.max_halo_growth * count) return true;
  }
  return false;
}

}  // namespace

std::vector<Halo> wanted_halo(const TensorFunction& f, size_t k, const std::vector<bool>& constant,
                              const ScheduleOptions& options, const Machine& machine) {
  if (auto slices = find_slices(f)) return wanted_halo(slices->slice, k, constant, options, machine);
  std::vector<Halo> wanted;
  const Shape& shape = f.params[k]->shape;
  if (int64_t tile = winograd_tile(f, constant, options, machine);
      tile && find_contraction(f, constant)->data.buffer == f.params[k])
    wanted = winograd_halo(f, constant, tile);
  for (const Stage& stage : f.stages) {
    if (!stage.reduction) continue;
    for (const Expr& v : stage.values)
      for (const Load& l : loads_of(v))
        if (l.buffer == f.params[k] && l.otherwise && is_literal(l.otherwise, 0)) extend(wanted, halo_read(l, stage));
  }
  for (Halo& h : wanted) h = {std::max<int64_t>(h.before, 0), std::max<int64_t>(h.after, 0)};
  const bool is_empty = std::ranges::all_of(wanted, [](const Halo& h) { return h.before == 0 && h.after == 0; });
  return is_empty || grows_too_much(wanted, shape, machine) ? std::vector<Halo>() : wanted;
}

}  // namespace dlcc::tensor
