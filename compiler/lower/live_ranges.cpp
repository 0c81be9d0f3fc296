#include "lower/live_ranges.h"

#include <algorithm>

namespace dlcc::lower {
namespace {

class Numbering {
 public:
  explicit Numbering(const Function& function) : function_(function) {
    timeline_.ranges.resize(function.values.size());
  }

  Timeline run() {
    number(function_.body);
    for (const LiveRange& loop : timeline_.loops)
      for (LiveRange& value : timeline_.ranges) extend_over(loop, value);
    timeline_.length = next_;
    return std::move(timeline_);
  }

 private:
  void number(const Region& region) {
    for (const Step& step : region.steps) std::visit([&](const auto& s) { number(s); }, step);
  }
  void number(const Invoke& call) {
    const int64_t at = timeline_.positions.emplace_back(next_++);
    for (ValueId v : call.operands) occurs(v, at);
    timeline_.calls.emplace_back(at, &call);
  }
  void number(const Copy& copy) {
    const int64_t at = timeline_.positions.emplace_back(next_++);
    occurs(copy.from, at);
    occurs(copy.to, at);
  }
  void number(const Read& read) { occurs(read.from, next_++); }
  void number(const Write& write) { occurs(write.to, next_++); }
  void number(const Compute&) {}
  void number(const Require&) {}
  void number(const CheckSize&) {}
  void number(const Call& call) {
    const int64_t at = next_++;
    for (ValueId v : call.operands) occurs(v, at);
    for (ValueId v : call.results) occurs(v, at);
    timeline_.function_calls.emplace_back(at, &call);
  }
  void number(const std::shared_ptr<Branch>& branch) {
    number(branch->then_region);
    number(branch->else_region);
  }
  void number(const std::shared_ptr<Loop>& loop) {
    LiveRange range;
    range.add(next_++);
    number(loop->test);
    number(loop->body);
    range.add(next_++);
    timeline_.loops.push_back(range);
  }

  void occurs(ValueId v, int64_t at) {
    const Value& value = function_.values[v];
    timeline_.ranges[value.storage == Storage::view ? value.base : v].add(at);
  }

  static void extend_over(const LiveRange& loop, LiveRange& value) {
    const bool meets = !value.empty() && value.first <= loop.last && loop.first <= value.last;
    const bool inside = loop.first < value.first && value.last < loop.last;
    if (!meets || inside) return;
    value.add(loop.first);
    value.add(loop.last);
  }

  const Function& function_;
  int64_t next_ = 0;
  Timeline timeline_;
};

}  // namespace

void LiveRange::add(int64_t at) {
  first = empty() ? at : std::min(first, at);
  last = std::max(last, at);
}

Timeline timeline_of(const Function& function) { return Numbering(function).run(); }

}  // namespace dlcc::lower
