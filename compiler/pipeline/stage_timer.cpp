#include "pipeline/stage_timer.h"

#include <fmt/format.h>

namespace dlcc {

std::string StageTimer::table() const {
  double total = 0;
  std::string text;
  for (const auto& [stage, seconds] : stages_) {
    text += fmt::format("{:9.1f} ms  {}\n", seconds * 1e3, stage);
    total += seconds;
  }
  return text + fmt::format("{:9.1f} ms  total\n", total * 1e3);
}

}  // namespace dlcc
