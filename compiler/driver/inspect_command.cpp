// dlcc inspect MODEL: shows the interface, kernels and memory of the compiled model without generating code.
#include <iostream>
#include <nlohmann/json.hpp>

#include "driver/commands.h"
#include "driver/options.h"
#include "driver/report/report.h"
#include "driver/report/step_table.h"

namespace dlcc::driver {
namespace {

// "1.50 MiB (1572864 bytes)"
std::string amount(int64_t bytes) {
  bool large = bytes >= 1 << 20;
  return fmt::format("{:.2f} {} ({} bytes)", static_cast<double>(bytes) / (large ? 1 << 20 : 1 << 10),
                     large ? "MiB" : "KiB", bytes);
}

}  // namespace

int inspect_command(CommandLine& line) {
  CompileOptions options;
  bool json = false;
  line.describe("Compiles a model and shows its inputs, outputs, operators, memory and kernels; writes nothing.");
  add_compile_options(line, options);
  add_json_option(line, json);
  if (auto status = line.parse()) return *status;
  Diagnostics diagnostics;
  Compiler compiler(options, diagnostics);
  auto planned = compiler.compile();
  if (!planned) return report(diagnostics, line.reporting());
  const emit::Interface& i = planned->interface;
  const ModelContents& contents = compiler.contents();
  const std::vector<lower::StepCost> steps = lower::step_costs(planned->program);
  const targets::ObjectSizes sizes = compiler.generate(*planned).sizes();  // sets the interface's stack_bytes, too
  const int64_t flash = sizes.code_bytes + sizes.data_bytes, ram = i.arena_bytes.value_or(0) + i.stack_bytes;
  if (json) {
    nlohmann::json out = {{"prefix", i.prefix},
                          {"arena_bytes", i.arena_bytes.value_or(0)},
                          {"arena_align", i.arena_alignment},
                          {"weights_bytes", i.weights_bytes},
                          {"code_bytes", sizes.code_bytes},
                          {"data_bytes", sizes.data_bytes},
                          {"flash_bytes", flash},
                          {"stack_bytes", i.stack_bytes},
                          {"ram_bytes", ram},
                          {"macs", i.macs},
                          {"parameters", contents.parameters},
                          {"operators", contents.operators},
                          {"live_bound_bytes", planned->plan.live_bound},
                          {"inputs", tensors_json(i.inputs)},
                          {"outputs", tensors_json(i.outputs)}};
    if (i.weights_file) out["weights_file_bytes"] = i.weights_file->bytes;
    out["target"] = planned->target.name;
    for (const lower::StepCost& s : steps) out["calls"].push_back(step_json(s));
    std::cout << printed(out);
    return report(diagnostics, line.reporting());
  }
  auto print_tensors = [](const char* what, const std::vector<emit::TensorInterface>& tensors) {
    for (const emit::TensorInterface& t : tensors)
      std::cout << fmt::format("{:8} {:24} {} {}\n", what, t.name, name(t.type), str(t.shape));
  };
  print_tensors("input", i.inputs);
  print_tensors("output", i.outputs);
  std::string operators;
  for (const auto& [name, count] : contents.operators) operators += fmt::format(" {}*{}", count, name);
  std::cout << fmt::format("model    {} parameters;{}\n", contents.parameters, operators);
  std::string where = i.weights_file ? fmt::format(", in a file of {} bytes", i.weights_file->bytes) : "";
  std::cout << fmt::format("weights  {}{}\n", amount(i.weights_bytes), where);
  std::cout << fmt::format("arena    {}; lower bound {} bytes\n", amount(i.arena_bytes.value_or(0)),
                           planned->plan.live_bound);
  std::cout << fmt::format("stack    {} bytes\n", i.stack_bytes);
  std::cout << fmt::format("flash    {}: {} of code, {} of weights and tables\n", amount(flash), sizes.code_bytes,
                           sizes.data_bytes);
  std::cout << fmt::format("RAM      {}: the arena and the stack, without inputs and outputs\n", amount(ram));
  std::cout << fmt::format("MACs     {:.3f} million ({})\n\n", static_cast<double>(i.macs) * 1e-6, i.macs);
  std::cout << step_table(steps);
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver
