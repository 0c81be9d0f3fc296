// What the passes of the calculus must keep in programs that are texts: printed form and results.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>

#include "../../first_order.h"
#include "frontends/frontend.h"
#include "relay/interpret.h"
#include "relay/passes/passes.h"

namespace dlcc::relay {

inline std::optional<Module> import_text(const std::string& text, Diagnostics& d) {
  return frontends::import_relay(text, {}, d);
}

// The module after the passes; empty, with diagnostics, when one refuses it.
inline std::optional<Module> after(Module module, const std::vector<std::string>& names, Diagnostics& d) {
  for (const std::string& name : names) {
    auto pass = std::ranges::find(all_passes(), name, &PassInfo::name);
    REQUIRE_MESSAGE(pass != all_passes().end(), "no pass " << name);
    PassContext context{.diagnostics = &d};
    module = pass->run(std::move(module), context);
    if (d.has_errors()) return std::nullopt;
    CHECK_MESSAGE((verify(module, d) && infer_types(module, d)), "after " << name << ":\n" << d.str() << print(module));
  }
  return module;
}

inline const std::vector<std::string> to_first_order = {"monomorphize", "compile-matches", "convert-closures"};

inline std::string result_of(const std::string& text, const std::vector<std::string>& passes) {
  Diagnostics d;
  auto module = import_text(text, d);
  REQUIRE_MESSAGE(module, d.str());
  auto changed = after(std::move(*module), passes, d);
  REQUIRE_MESSAGE(changed, d.str());
  if (passes == to_first_order) CHECK(first_order_violation(*changed) == "");
  auto result = interpret(*changed, {}, tensor::Precision::specified, d);
  if (!result) return "fails";
  return result->status == tensor::Status::ok ? str(result->value)
                                              : fmt::format("status {}", static_cast<int>(result->status));
}

inline void check_text(const std::string& text) {
  Diagnostics d;
  auto module = import_text(text, d);
  REQUIRE_MESSAGE(module, d.str());
  const std::string printed = print(*module);
  auto again = import_text(printed, d);
  REQUIRE_MESSAGE(again, d.str() << printed);
  CHECK(print(*again) == printed);
}

inline void check_result(const std::string& text, const std::string& expected) {
  check_text(text);
  CHECK(result_of(text, {}) == expected);
  CHECK(result_of(text, to_first_order) == expected);
  CHECK(result_of(text, {"merge-tail-calls"}) == expected);
  CHECK(result_of(text, {"inline-functions", "eliminate-dead-code", "eliminate-dead-data"}) == expected);
}

}  // namespace dlcc::relay
