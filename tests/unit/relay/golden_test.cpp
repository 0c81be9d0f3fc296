// Golden tests (golden.h) of the Relay language and its passes. Commands: parse; infer; passes a,b,c; error;
// passes-without-vectors a,b,c, for a machine with dot products of bytes in general registers; passes-scalar-dot a,b,c,
// for one whose dot products add sixteen signed bytes to a general register; and passes-without-fpu a,b,c, for one
// without vectors and without a floating-point unit.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "frontends/frontend.h"
#include "frontends/relay/metadata.h"
#include "frontends/relay/parser.h"
#include "golden.h"
#include "relay/passes/passes.h"
#include "tensor/byte_products.h"

namespace dlcc {
namespace {

// The values of the constants that the text refers to.
std::string constants_text(const relay::Module& module) {
  std::string text, printed = relay::print(module, true), mark = "#[metadata]";
  size_t at = printed.find(mark);
  if (at == std::string::npos) return "";
  Diagnostics d;
  auto metadata = frontends::relay_text::parse_metadata(std::string_view(printed).substr(at + mark.size()), {}, d);
  REQUIRE_MESSAGE(metadata, d.str());
  for (size_t i = 0; i < metadata->constants.size(); ++i) {
    const Constant& c = metadata->constants[i];
    text += fmt::format("meta[relay.Constant][{}]: {} =", i, relay::str(relay::tensor_type(c.shape(), c.dtype())));
    for (int64_t k = 0; k < std::min<int64_t>(c.count(), 16); ++k) text += fmt::format(" {}", c.number_at(k));
    text += c.count() > 16 ? " ...\n" : "\n";
  }
  return text;
}

std::string show(const relay::Module& module) { return relay::print(module, false) + constants_text(module); }

// print(parse(print(m))) == print(m), with and without inference between.
void check_round_trip(const relay::Module& module, bool inferred) {
  std::string text = relay::print(module);
  Diagnostics d;
  auto again = frontends::relay_text::parse(text, {}, d);
  REQUIRE_MESSAGE(again, d.str() << text);
  if (inferred) {
    CHECK_MESSAGE(relay::infer_types(*again, d), d.str() << text);
    CHECK_MESSAGE(relay::verify(*again, d), d.str() << text);
  }
  CHECK(relay::print(*again) == text);
}

std::string run_passes(relay::Module module, const std::string& names, tensor::ByteProducts products, bool has_fpu) {
  std::stringstream list(names);
  Diagnostics d;
  for (std::string name; std::getline(list, name, ',');) {
    auto passes = relay::all_passes();
    auto pass = std::ranges::find(passes, name, &relay::PassInfo::name);
    REQUIRE_MESSAGE(pass != passes.end(), "no pass " << name);
    const bool vectors = !tensor::is_scalar(products);
    relay::PassContext context{
        .diagnostics = &d,
        .channel_block = vectors ? 16 : 1,
        .machine = {.has_fpu = has_fpu, .byte_products = products, .memory_is_scarce = !vectors}};
    module = pass->run(std::move(module), context);
    if (d.has_errors()) return d.str();
    CHECK_MESSAGE(relay::verify(module, d), "after " << name << ":\n" << d.str() << relay::print(module, false));
    CHECK_MESSAGE(relay::infer_types(module, d), "after " << name << ":\n" << d.str() << relay::print(module, false));
  }
  check_round_trip(module, true);
  return show(module);
}

std::string outcome(const std::string& run, const std::string& text, const std::string& file) {
  Diagnostics d;
  if (run == "parse") {
    auto module = frontends::relay_text::parse(text, {.file = file, .outside_constant = {}}, d);
    if (!module) return d.str();
    check_round_trip(*module, false);
    return show(*module);
  }
  frontends::ImportOptions options;
  options.file = file;
  auto module = frontends::import_relay(text, options, d);
  if (run == "error") CHECK_MESSAGE(!module, "no error was found");
  if (!module) return d.str();
  using enum tensor::ByteProducts;
  for (const auto& [command, products] : {std::pair<std::string, tensor::ByteProducts>("passes ", dot),
                                          {"passes-without-vectors ", scalar_pairs},
                                          {"passes-without-fpu ", scalar_pairs},
                                          {"passes-scalar-dot ", scalar_dot}})
    if (run.starts_with(command))
      return run_passes(std::move(*module), run.substr(command.size()), products, command != "passes-without-fpu ");
  CHECK_MESSAGE((run == "infer" || run == "error"), "unknown RUN: " << run);
  check_round_trip(*module, true);
  return show(*module);
}

}  // namespace

TEST_CASE("golden texts of Relay programs, passes and errors") {
  check_golden_folder(DLCC_GOLDEN_FOLDER, ".rly", outcome);
}

}  // namespace dlcc
