#include "lower/walk.h"

namespace dlcc::lower {
namespace {

// `AnyRegion` is Region or const Region.
template <class AnyRegion, class Visit>
void walk(AnyRegion& region, const Visit& visit) {
  for (auto& step : region.steps) {
    visit(step);
    if (auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) {
      walk<AnyRegion>((*branch)->then_region, visit);
      walk<AnyRegion>((*branch)->else_region, visit);
    }
    if (auto* loop = std::get_if<std::shared_ptr<Repeat>>(&step)) walk<AnyRegion>((*loop)->body, visit);
  }
}

}  // namespace

void for_each_step(const Region& region, const std::function<void(const Step&)>& visit) { walk(region, visit); }

void for_each_call(const Region& region, const std::function<void(const Invoke&)>& visit) {
  walk(region, [&](const Step& step) {
    if (const auto* call = std::get_if<Invoke>(&step)) visit(*call);
  });
}

void for_each_call(Region& region, const std::function<void(Invoke&)>& visit) {
  walk(region, [&](Step& step) {
    if (auto* call = std::get_if<Invoke>(&step)) visit(*call);
  });
}

void for_each_value(Region& region, const std::function<void(ValueId&)>& visit) {
  walk(region, [&](Step& step) {
    std::visit(overloaded{
                   [&](Invoke& s) {
                     for (ValueId& id : s.operands) visit(id);
                   },
                   [&](Copy& s) { visit(s.from), visit(s.to); },
                   [&](auto& branch_or_loop) { visit(branch_or_loop->condition); },
               },
               step);
  });
}

}  // namespace dlcc::lower
