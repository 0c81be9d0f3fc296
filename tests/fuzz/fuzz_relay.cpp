// Fuzz target: Relay text that is read must print to text that reads back to the same module; type inference and
// verification must not crash on it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frontends/relay/parser.h"

using namespace dlcc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Diagnostics d;
  auto module = frontends::relay_text::parse({reinterpret_cast<const char*>(data), size}, {}, d);
  if (!module) {
    if (!d.any()) std::abort();  // refused without a reason
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
