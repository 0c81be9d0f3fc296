#include "pipeline/run_passes.h"

#include <algorithm>
#include <iostream>

#include "relay/types_in.h"

namespace dlcc {
namespace {

const relay::PassInfo* find_pass(const std::string& name, Diagnostics& diagnostics) {
  std::span<const relay::PassInfo> all = relay::all_passes();
  auto pass = std::ranges::find(all, name, &relay::PassInfo::name);
  if (pass != all.end()) return &*pass;
  std::string known;
  for (const relay::PassInfo& p : all) known += (known.empty() ? "" : ", ") + p.name;
  diagnostics.error(DiagnosticId::bad_option, {}, fmt::format("there is no pass '{}'", name), {}, "passes: " + known);
  return nullptr;
}

// What is compiled does not depend on the verification, which infers the types of a copy.
void verify_after(const std::string& pass, const relay::Module& verified) {
  relay::Module module = relay::copy_with_own_variables(verified);
  Diagnostics broken;
  bool ok = relay::verify(module, broken) && relay::infer_types(module, broken);
  DLCC_CHECK(ok, "after {}:\n{}", pass, broken.str());
}

}  // namespace

std::vector<std::string> graph_passes() {
  return {"simplify-quantization",  "integer-contractions",
          "fold-constants",         "simplify-inference",
          "fold-constants",         "eliminate-common-subexpressions",
          "eliminate-dead-code",    "fuse",
          "integer-requantization", "fuse-line-buffers",
          "eliminate-dead-code"};
}

std::vector<std::string> storage_passes() { return {"assign-layouts"}; }

std::optional<relay::Module> run_passes(relay::Module module, const std::vector<std::string>& names,
                                        relay::PassContext context, const PassRunOptions& options, StageTimer& timer) {
  for (const std::string& name : names) {
    const relay::PassInfo* pass = find_pass(name, *context.diagnostics);
    if (!pass) return std::nullopt;
    module = timer.run(name, [&] { return pass->run(std::move(module), context); });
    if (context.diagnostics->has_errors()) return std::nullopt;
    if (options.verify_each) verify_after(name, module);
    if (options.dump_after.contains(name) || options.dump_after.contains("all"))
      std::cerr << "// after " << name << "\n" << relay::print(module, false);
    if (options.stop_after == name) {
      std::cout << relay::print(module);
      return std::nullopt;
    }
  }
  return module;
}

}  // namespace dlcc
