// The dot product of four bytes as an intrinsic: acc[lane] += the sum over j < 4 of data[j] * weights[lane, j], for
// unsigned data and signed weights, in int32 and without saturation. x86 has it as `vpdpbusd`; without VNNI, the code
// generator multiplies 16-bit numbers, which is exact, too. So does ARM's DSP extension in general registers, with two
// `smlad` for one lane. AArch64 has `usdot` (i8mm), and `sdot` (dotprod) for signed data; without them, the code
// generator multiplies 16-bit numbers here, too (targets/llvm/emit_byte_products.cpp).
#pragma once

#include <span>

#include "tensor/intrinsic.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

inline constexpr int64_t bytes_of_product = 4;  // K indices that one dot product adds up

// The emission rule of these intrinsics (Intrinsic::emission).
inline constexpr const char* byte_products_emission = "byte products";

// The type of the data of a machine's products: signed bytes for ByteProducts::signed_dot and signed_pairs, else
// unsigned bytes.
DType data_of_byte_products(ByteProducts);

// The intrinsics of a machine: "dot4.u8s8.x4", ".x8" and ".x16" for accumulators of 4, 8 and 16 lanes, "dot4.u8s8.x1"
// for accumulators in general registers, "dot4.s8s8.x4" for signed data; none for ByteProducts::none.
std::span<const Intrinsic* const> byte_products(ByteProducts);

}  // namespace dlcc::tensor
