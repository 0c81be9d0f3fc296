#include "support/scalar_constant.h"

#include <algorithm>
#include <cmath>

#include "support/float_formats.h"

namespace dlcc {

Constant scalar_constant(DType type, double value) {
  constexpr double most = 9.2e18;  // int64 has slightly more
  auto of = [&](auto v) { return Constant::of<decltype(v)>(type, {}, {v}); };
  const auto whole = static_cast<int64_t>(std::isnan(value) ? 0 : std::clamp(value, -most, most));
  switch (type) {
    case DType::float64_:
      return of(value);
    case DType::float32_:
      return of(static_cast<float>(value));
    case DType::float16_:
      return of(float_to_half(static_cast<float>(value)));
    case DType::bfloat16_:
      return of(float_to_bfloat16(static_cast<float>(value)));
    case DType::int64_:
    case DType::uint64_:
      return of(whole);
    case DType::int32_:
    case DType::uint32_:
      return of(static_cast<int32_t>(whole));
    case DType::int16_:
    case DType::uint16_:
      return of(static_cast<int16_t>(whole));
    default:
      return of(static_cast<int8_t>(whole));
  }
}

}  // namespace dlcc
