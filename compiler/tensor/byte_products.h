// The dot product of four bytes as an intrinsic: acc[lane] += the sum over j < 4 of data[j] * weights[lane, j], for
// unsigned data and signed weights, in int32 and without saturation. x86 has it as `vpdpbusd`; without VNNI, the code
// generator multiplies 16-bit numbers, which is exact, too. So does ARM's DSP extension in general registers, with two
// `smlad` for one lane (targets/llvm/emit_byte_products.cpp).
#pragma once

#include <array>

#include "tensor/intrinsic.h"

namespace dlcc::tensor {

inline constexpr int64_t bytes_of_product = 4;  // K indices that one dot product adds up

// The emission rule of these intrinsics (Intrinsic::emission).
inline constexpr const char* byte_products_emission = "byte products";

// "dot4.u8s8.x4", ".x8" and ".x16": for accumulators of 4, 8 and 16 lanes.
const std::array<const Intrinsic*, 3>& byte_products();

// "dot4.u8s8.x1": for accumulators in general registers (ByteProducts::scalar_pairs).
const std::array<const Intrinsic*, 1>& scalar_byte_products();

}  // namespace dlcc::tensor
