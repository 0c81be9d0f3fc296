// What a tuner needs to know of a request: a name that other compilations find it by, and what else could be done.
#include <fmt/format.h>

#include <set>

#include "tensor/schedules/schedule.h"

namespace dlcc::tensor {
namespace {

std::string text_of(const Machine& m) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", m.vector_bytes, m.vector_registers, m.has_fma,
                     m.accumulators_in_flight, m.overhead_of_tile, m.overhead_of_row, m.terms_of_step,
                     m.flops_per_streamed_byte, m.flops_per_transformed_point, m.l1_bytes, m.l2_bytes,
                     m.filter_block_bytes, m.tiles_of_block);
}

// The deciding machine's kernel; its parameters show how constants are stored.
std::string kernel_text(ScheduleRequest r, const Choice& choice) {
  r.machines = {deciding(r.machines)};
  r.choice = choice;
  return print(schedule(std::move(r)).variants[0]);
}

}  // namespace

uint64_t hash_of(const ScheduleRequest& r) {
  TensorFunction f = r.function;
  f.name = "f";
  std::string text = print(f);
  for (bool constant : r.constant) text += constant ? "constant\n" : "variable\n";
  for (const Layout& layout : r.layouts) text += str(layout) + "\n";
  text += fmt::format("machine {}\n", text_of(deciding(r.machines)));
  text += fmt::format("options {} {} {}\n", r.options.strict, r.options.small, r.options.threads);
  return hash_bytes(std::as_bytes(std::span(text)));
}

std::vector<Choice> alternatives(const ScheduleRequest& r) {
  std::vector<Choice> found;
  std::set<std::string> known = {kernel_text(r, {})};
  for (const ChoiceParameter& p : choice_parameters())
    for (int64_t value : p.values) {
      Choice choice;
      choice.*p.value = value;
      if (known.insert(kernel_text(r, choice)).second) found.push_back(choice);
    }
  return found;
}

}  // namespace dlcc::tensor
