#include "targets/llvm/step_timer.h"

#include <utility>

namespace dlcc::targets {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

LoadedProbe::LoadedProbe(const Probe& probe) : object_(probe.object), run_(object_.find_run(*probe.interface)) {
  DLCC_CHECK(run_, "a probe cannot be loaded: {}", object_.errors());
  for (const Constant& c : probe.inputs) inputs_.push_back(c.bytes().data());
  for (const emit::TensorInterface& t : probe.interface->outputs)
    outputs_.emplace_back(static_cast<size_t>(storage_bytes(t.type, product(t.shape).value())));
  for (auto& bytes : outputs_) output_pointers_.push_back(bytes.data());
}

double LoadedProbe::seconds() {
  auto start = Clock::now();
  run_(inputs_.data(), output_pointers_.data(), nullptr, 0, nullptr);
  return seconds_since(start);
}

StepTimer::StepTimer(LoadedProbe* between) : between_(between) {
  profiler_.self = this;
  profiler_.begin = [](void* self, int32_t, const char*) {
    static_cast<StepTimer*>(self)->starts_.push_back(Clock::now());
  };
  profiler_.end = [](void* self, int32_t step, const char*) { static_cast<StepTimer*>(self)->end_step(step); };
}

void StepTimer::end_step(int32_t step) {
  double seconds = seconds_since(starts_.back());
  starts_.pop_back();
  seconds_[step] += seconds;
  if (!between_) return;
  double before = std::exchange(last_probe_, between_->seconds());
  probes_[step] += seconds / ((before + last_probe_) / 2);
}

const dlcc_profiler* StepTimer::adding_to(double* seconds, double* probes) {
  seconds_ = seconds, probes_ = probes;
  if (between_) last_probe_ = between_->seconds();
  return &profiler_;
}

}  // namespace dlcc::targets
