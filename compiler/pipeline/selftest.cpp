#include "pipeline/selftest.h"

#include "emit/selftest.h"
#include "pipeline/at_sizes.h"
#include "pipeline/random_inputs.h"
#include "relay/evaluate.h"

namespace dlcc {

std::optional<std::string> make_selftest(const relay::Module& module, const Planned& planned,
                                         Diagnostics& diagnostics) {
  const emit::Interface& interface = planned.interface;
  auto fail = [&](std::string message, std::string help) -> std::optional<std::string> {
    diagnostics.error(DiagnosticId::bad_option, {}, "--emit=selftest: " + std::move(message), {}, std::move(help));
    return std::nullopt;
  };
  if (!planned.program.data_sizes.empty())
    return fail("sizes of this model depend on data", "'dlcc verify' compares such a model with a data set");
  if (interface.weights_file)
    return fail("the program would need the file of weights", "leave out --weights external=FILE for the test");
  auto random = random_inputs(planned, {}, diagnostics);
  if (!random) return std::nullopt;
  auto expected = relay::evaluate(module, random->values, tensor::Precision::specified, diagnostics);
  if (!expected) return std::nullopt;
  if (expected->status != tensor::Status::ok)
    return fail("the model refuses inputs that are drawn at random", "'dlcc verify' compares it with a data set");
  emit::SelfTestData data{.inputs = random->values, .outputs = expected->results};
  for (const emit::DimInterface& d : interface.dims)
    data.sizes.push_back(d.multiple * random->symbols.at(d.symbol.name));
  data.arena_bytes = at_sizes(planned, random->symbols).plan.arena_bytes;
  return emit::make_selftest(interface, data);
}

}  // namespace dlcc
