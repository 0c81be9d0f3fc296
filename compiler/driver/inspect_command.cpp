// dlcc inspect MODEL: shows the interface, kernels and memory of the compiled model without generating code.
#include <iostream>
#include <nlohmann/json.hpp>

#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/options.h"
#include "driver/report/report.h"
#include "driver/report/step_table.h"
#include "shape/caller_sizes.h"

namespace dlcc::driver {
namespace {

// "1.50 MiB (1572864 bytes)"
std::string amount(int64_t bytes) {
  bool large = bytes >= 1 << 20;
  return fmt::format("{:.2f} {} ({} bytes)", static_cast<double>(bytes) / (large ? 1 << 20 : 1 << 10),
                     large ? "MiB" : "KiB", bytes);
}

// The bytes of the arena, or that they are no constant.
std::string arena_text(const Planned& planned) {
  const emit::Interface& i = planned.interface;
  if (!i.arena_bytes) return fmt::format("depends on the sizes: {}_plan computes it", i.prefix);
  return fmt::format("{}; lower bound {} bytes", amount(*i.arena_bytes), planned.plan.live_bound);
}

void print_tensors(const char* what, const emit::Interface& interface,
                   const std::vector<emit::TensorInterface>& tensors) {
  for (const emit::TensorInterface& t : tensors) {
    Shape shape = t.shape;
    for (Dim& d : shape) d = interface.for_people(d);
    std::cout << fmt::format("{:8} {:24} {} {}\n", what, t.name, name(t.type), str(shape));
  }
}

void print_interface(const emit::Interface& interface) {
  for (const emit::DimInterface& d : interface.dims)
    std::cout << fmt::format("{:8} {:24} {}\n", "size", d.name, bounds_of(d));
  print_tensors("input", interface, interface.inputs);
  print_tensors("output", interface, interface.outputs);
}

nlohmann::json inspect_json(const Planned& planned, const ModelContents& contents, const targets::ObjectSizes& sizes,
                            const std::vector<lower::StepCost>& steps) {
  const emit::Interface& i = planned.interface;
  nlohmann::json inputs = tensors_json(i, i.inputs), arena, ram;
  for (size_t k = 0; k < i.inputs.size(); ++k) inputs[k]["decides_sizes"] = i.inputs[k].decides_sizes;
  if (i.arena_bytes) arena = *i.arena_bytes, ram = *i.arena_bytes + i.stack_bytes;
  nlohmann::json out = {{"prefix", i.prefix},
                        {"dynamic", i.is_dynamic()},
                        {"arena_bytes", arena},
                        {"arena_align", i.arena_alignment},
                        {"weights_bytes", i.weights_bytes},
                        {"code_bytes", sizes.code_bytes},
                        {"data_bytes", sizes.data_bytes},
                        {"flash_bytes", sizes.code_bytes + sizes.data_bytes},
                        {"stack_bytes", i.stack_bytes},
                        {"ram_bytes", ram},
                        {"macs", i.macs},
                        {"parameters", contents.parameters},
                        {"operators", contents.operators},
                        {"live_bound_bytes", planned.plan.live_bound},
                        {"dims", dims_json(i)},
                        {"inputs", inputs},
                        {"outputs", tensors_json(i, i.outputs)},
                        {"target", planned.target.name}};
  if (i.weights_file) out["weights_file_bytes"] = i.weights_file->bytes;
  for (const lower::StepCost& s : steps) out["calls"].push_back(step_json(s));
  return out;
}

}  // namespace

int inspect_command(CommandLine& line) {
  CompileOptions options;
  bool json = false;
  line.describe("Compiles a model and shows its inputs, outputs, operators, memory and kernels; writes nothing.");
  add_compile_options(line, options);
  add_input_option(line, options);
  add_json_option(line, json);
  if (auto status = line.parse()) return *status;
  Diagnostics diagnostics;
  CommandCompiler compiler(options, diagnostics);
  auto planned = compiler.compile();
  if (!planned) return report(diagnostics, line.reporting());
  const emit::Interface& i = planned->interface;
  const ModelContents& contents = compiler.contents();
  const std::vector<lower::StepCost> steps = lower::step_costs(planned->program);
  const targets::ObjectSizes sizes = compiler.generate(*planned).sizes();  // sets the interface's stack_bytes, too
  if (json) {
    std::cout << printed(inspect_json(*planned, contents, sizes, steps));
    return report(diagnostics, line.reporting());
  }
  print_interface(i);
  std::string operators;
  for (const auto& [name, count] : contents.operators) operators += fmt::format(" {}*{}", count, name);
  std::cout << fmt::format("model    {} parameters; operators in Relay:{}\n", contents.parameters, operators);
  std::string where = i.weights_file ? fmt::format(", in a file of {} bytes", i.weights_file->bytes) : "";
  std::cout << fmt::format("weights  {}{}\n", amount(i.weights_bytes), where);
  std::cout << fmt::format("arena    {}\n", arena_text(*planned));
  std::cout << fmt::format("stack    {} bytes\n", i.stack_bytes);
  std::cout << fmt::format("flash    {}: {} of code, {} of weights and tables\n",
                           amount(sizes.code_bytes + sizes.data_bytes), sizes.code_bytes, sizes.data_bytes);
  if (i.arena_bytes)
    std::cout << fmt::format("RAM      {}: the arena and the stack, without inputs and outputs\n",
                             amount(*i.arena_bytes + i.stack_bytes));
  std::cout << fmt::format("MACs     {:.3f} million ({})\n\n", static_cast<double>(i.macs) * 1e-6, i.macs);
  std::cout << step_table(steps);
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver
