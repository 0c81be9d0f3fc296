#include "driver/report/nominal_machine.h"

#include <algorithm>

namespace dlcc::driver {

NominalMachine nominal_machine(const targets::Target& target, int threads) {
  constexpr int float_bits = 32;
  const targets::CodeLevel& level = target.levels.back();
  NominalMachine m{.cpu_level = level.name, .cores = threads};
  m.flops_per_cycle = level.machine.lanes(float_bits) * level.machine.fma_units * (level.machine.has_fma ? 2 : 1);
  m.flops_per_second = m.cores * m.clock_hz * m.flops_per_cycle;
  m.bytes_per_second = m.flops_per_second / level.machine.machine_balance;
  return m;
}

double estimated_seconds(const NominalMachine& m, const lower::StepCost& cost) {
  return std::max(static_cast<double>(cost.flops) / m.flops_per_second,
                  static_cast<double>(cost.bytes()) / m.bytes_per_second);
}

}  // namespace dlcc::driver
