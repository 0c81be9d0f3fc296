// The conditions on packings that tests check.
#pragma once

#include <algorithm>
#include <vector>

#include "lower/pack_buffers.h"

namespace dlcc::lower {

// Offsets are aligned, buffers are inside the packing and those that are live at the same time do not overlap.
inline bool is_valid(const std::vector<LiveBuffer>& buffers, const Packing& packing) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const LiveBuffer& a = buffers[i];
    const int64_t at = packing.offsets[i];
    if (at < 0 || at % a.alignment != 0 || (a.lower < a.upper && at + a.size > packing.bytes)) return false;
    for (size_t j = 0; j < i; ++j) {
      const LiveBuffer& b = buffers[j];
      const bool meet = std::max(a.lower, b.lower) < std::min(a.upper, b.upper);
      if (meet && at < packing.offsets[j] + b.size && packing.offsets[j] < at + a.size) return false;
    }
  }
  return true;
}

}  // namespace dlcc::lower
