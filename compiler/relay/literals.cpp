// Literals of Relay's text format.
#include <cmath>

#include "relay/metadata.h"
#include "support/float_formats.h"

namespace dlcc::relay {

// The literal of a scalar; empty when the format has none.
std::string literal_text(const Constant& c) {
  if (c.rank() != 0) return "";
  auto number = [](double value, std::string shortest, const char* suffix) {
    std::string text = std::isnan(value) ? "nan" : std::isinf(value) ? (value < 0 ? "-inf" : "inf") : shortest;
    return text + suffix;
  };
  // The sign and payload of a NaN have no text.
  auto plain_nan = [&](double value, uint64_t bits, uint64_t nan) { return !std::isnan(value) || bits == nan; };
  switch (c.dtype()) {
    case dtype::boolean:
      return c.integer_at(0) ? "True" : "False";
    case dtype::i16:
      return fmt::format("{}i16", c.integer_at(0));
    case dtype::i32:
      return fmt::format("{}", c.integer_at(0));
    case dtype::i64:
      return fmt::format("{}i64", c.integer_at(0));
    case dtype::f16: {
      float value = half_to_float(c.as<uint16_t>()[0]);
      return plain_nan(value, c.as<uint16_t>()[0], 0x7e00) ? number(value, fmt::format("{}", value), "f16") : "";
    }
    case dtype::f32: {
      float value = c.as<float>()[0];
      return plain_nan(value, c.as<uint32_t>()[0], 0x7fc00000) ? number(value, fmt::format("{}", value), "f") : "";
    }
    case dtype::f64: {
      double value = c.as<double>()[0];
      return plain_nan(value, c.as<uint64_t>()[0], 0x7ff8000000000000) ? number(value, fmt::format("{}", value), "f64")
                                                                       : "";
    }
    default:
      return "";
  }
}

}  // namespace dlcc::relay
