// The values that symbols have in estimates. The cost models of schedules assume 224 for the height and width of an
// image and 64 for any other symbol; what a user gives with --dim NAME@SIZE changes reports and the arena only.
#pragma once

#include <cstdint>

namespace dlcc {

inline constexpr int64_t typical_image_side = 224;  // most networks for images are made for 224 x 224 pixels
inline constexpr int64_t typical_size = 64;         // such as the length of a sequence

}  // namespace dlcc
