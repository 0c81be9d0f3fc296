// What schedules know about a CPU: every number that they decide by and that another CPU would have another value of.
// Part of a target's table (targets/llvm/x86.cpp, aarch64.cpp), where the values of each CPU stand with their sources;
// nothing here is read from the host. What no table says has the value here, measured on Emerald Rapids and Zen 5.
//
// Kernels of several machines in one object share the storage of their operands. What concerns storage (minimal
// filtering, packed panels, scratch) is therefore decided once, by the last of the machines; what concerns registers
// and the order of loops by each for itself.
#pragma once

#include <cstdint>
#include <vector>

namespace dlcc::tensor {

struct Machine {
  int vector_bytes = 16;  // one vector register
  int vector_registers = 16;
  int general_registers = 16;  // with the stack's pointer
  bool has_fma = true;

  // Independent accumulators that hide the latency of an addition: arithmetic units times cycles of latency. Two units
  // of four cycles are what x86 has had since Skylake and Zen 2, and ARM's large cores since the Cortex-A76.
  int accumulators_in_flight = 8;
  // What a register tile costs for each term beside its products, in multiply-adds of one vector: the factors' loads,
  // and what each of the tile's rows but the first adds, since they lie far from each other.
  double tile_overhead = 1.5, tile_row_overhead = 0.25;
  int64_t k_unroll = 4;  // of a sum, between which there is no branch; divides 16

  // Operations of 32-bit floats that one core does in the time in which a byte arrives from memory, at the best of
  // both.
  double machine_balance = 16;
  // Such operations in the time in which minimal filtering transforms one point of one channel's tile: loads and
  // stores, most of them.
  double winograd_transform_cost = 40;

  // A call of a function that keeps its caller's registers, in operations of one lane: ten nanoseconds.
  double call_cost = 1 << 10;

  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20;  // the caches of one core
  // What the input tiles that minimal filtering transforms together may fill, with the products of a panel. Every such
  // block reads all weights again, so it may be somewhat more than the cache.
  int64_t winograd_block_bytes = 5 << 18;
  int64_t tiles_per_m_block = 16;  // register tiles that use what was read for all of them

  int lanes(int element_bits) const { return vector_bytes * 8 / element_bits; }

  // Operands of more than this are fetched ahead of the loads.
  int64_t prefetch_threshold() const { return 4 * l1_bytes; }
  // Shares of the second-level cache.
  int64_t l2_budget() const { return l2_bytes / 2; }       // an operand that stays there while others pass by
  int64_t l2_reuse_limit() const { return l2_bytes / 4; }  // an operand of more is not there when it is read again
};

// Decides what all share.
inline const Machine& deciding(const std::vector<Machine>& machines) { return machines.back(); }

}  // namespace dlcc::tensor
