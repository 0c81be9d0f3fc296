// Fuzz target: Relay text that is read must print to text that reads back to the same module; type inference and
// verification must not crash on it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frontends/frontend.h"
#include "frontends/relay/parser.h"

using namespace dlcc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Diagnostics d;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  auto module = frontends::relay_text::parse(input, {}, d);
  if (!module) {
    if (!d.has_errors()) std::abort();      // refused without a reason
    frontends::import_relay(input, {}, d);  // type inference with unknown names
    return 0;
  }
  std::string text = relay::print(*module);
  auto again = frontends::relay_text::parse(text, {}, d);
  if (!again || relay::print(*again) != text) std::abort();
  if (!relay::infer_types(*module, d)) return 0;
  relay::verify(*module, d);
  relay::print(*module);
  return 0;
}
