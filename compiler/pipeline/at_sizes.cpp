#include "pipeline/at_sizes.h"

#include "lower/instantiate.h"
#include "lower/largest_size.h"
#include "lower/steps.h"

namespace dlcc {

Planned at_sizes(Planned planned, const std::map<std::string, int64_t>& symbols) {
  if (!lower::has_symbols(planned.program)) return planned;
  planned.plan = lower::lay_out_arena(planned.plan, symbols);
  planned.program = lower::instantiate(planned.program, lower::with_largest_data_sizes(planned.program, symbols));
  planned.plan.live_bound = lower::plan_storage(planned.program).live_bound;
  planned.interface.macs = lower::total_macs(planned.program);
  for (emit::DimInterface& d : planned.interface.dims) d.typical = d.multiple * symbols.at(d.symbol.name);
  return planned;
}

}  // namespace dlcc
