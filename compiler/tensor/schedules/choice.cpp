#include "tensor/schedules/choice.h"

#include <fmt/format.h>

namespace dlcc::tensor {

std::span<const ChoiceParameter> choice_parameters() {
  static const std::vector<ChoiceParameter> all = {
#define CHOICE(name, about, ...) {#name, about, &Choice::name, {__VA_ARGS__}},
#include "tensor/schedules/choice.def"
#undef CHOICE
  };
  return all;
}

std::string str(const Choice& choice) {
  std::string text;
  for (const ChoiceParameter& p : choice_parameters())
    if (auto value = choice.*p.value) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", p.name, *value);
  return text;
}

Machine with_choice(Machine machine, const Choice& choice) {
  machine.filter_block_bytes = choice.filter_block ? *choice.filter_block << 10 : machine.filter_block_bytes;
  machine.terms_of_step = choice.step.value_or(machine.terms_of_step);
  machine.accumulators_in_flight = static_cast<int>(choice.accumulators.value_or(machine.accumulators_in_flight));
  return machine;
}

}  // namespace dlcc::tensor
