#include "tensor/schedules/in_place.h"

#include <algorithm>

#include "tensor/analysis.h"

namespace dlcc::tensor {

std::vector<std::pair<int, int>> in_place_pairs(const ScheduleRequest& r, const std::vector<Layout>& layouts) {
  std::vector<std::pair<int, int>> pairs;
  const TensorFunction& f = r.function;
  const Stage& last = f.stages.back();
  if (f.results[0] != last.results[0] || last.results.size() != 1 || f.results.size() != 1 || last.body ||
      last.reduction || !last.origin.empty())
    return pairs;
  for (size_t k = 0; k < f.params.size(); ++k) {
    const Buffer& b = f.params[k];
    bool same = !r.constant[k] && b->type == last.results[0]->type && b->shape == last.results[0]->shape &&
                layouts[k] == layouts[f.params.size()];
    bool earlier =
        std::any_of(f.stages.begin(), f.stages.end() - 1, [&](const Stage& stage) { return reads(stage, b); });
    if (same && !earlier && reads_at_own_index(last, b.get())) pairs.emplace_back(0, static_cast<int>(k));
  }
  return pairs;
}

}  // namespace dlcc::tensor
