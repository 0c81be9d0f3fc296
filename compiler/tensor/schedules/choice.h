// What a schedule may do otherwise than the target's table suggests, while all others find every value stored as
// before: only constants, scratch and the order of the work differ. What a definition, its layouts or the options do
// not admit is not done, whatever was chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/machine.h"

namespace dlcc::tensor {

// Empty: as estimated.
struct Choice {
#define CHOICE(name, about, ...) std::optional<int64_t> name;
#include "tensor/schedules/choice.def"
#undef CHOICE
  bool operator==(const Choice&) const = default;
};

struct ChoiceParameter {
  const char* name;
  const char* about;
  std::optional<int64_t> Choice::* value;
  std::vector<int64_t> values;  // that it may have
};
std::span<const ChoiceParameter> choice_parameters();

std::string str(const Choice&);  // "panel 48, step 8"; empty when nothing is chosen

// The machine, with those of its numbers replaced that are chosen.
Machine with_choice(Machine, const Choice&);

}  // namespace dlcc::tensor
