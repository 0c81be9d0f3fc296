// A nominal machine, for which the times of steps are estimated without a measurement: the numbers of a CPU level in
// tensor/machine.h at an assumed clock frequency.
#pragma once

#include <string>

#include "lower/steps.h"
#include "targets/target.h"

namespace dlcc::driver {

struct NominalMachine {
  std::string cpu_level;
  int cores = 1;                // one for each thread of the model
  double clock_hz = 3e9;        // an assumption: tables of targets have no clock frequency
  double flops_per_cycle = 0;   // of one core, in float32
  double flops_per_second = 0;  // of all cores
  double bytes_per_second = 0;  // from and to memory; every core adds its share
};

// The best CPU level of the target, with a core for each of the threads. A core has Machine::fma_units, each of
// which multiplies or adds if it has no FMA. The bandwidth is the peak divided by Machine::machine_balance.
NominalMachine nominal_machine(const targets::Target&, int threads);

// The floor of the roofline model: the larger of FLOPs / peak and bytes / bandwidth.
double estimated_seconds(const NominalMachine&, const lower::StepCost&);

}  // namespace dlcc::driver
