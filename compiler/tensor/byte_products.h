// The dot product of four or sixteen bytes as an intrinsic: acc[lane] += the sum over j of data[j] * weights[lane, j],
// for unsigned or signed data and signed weights, in int32 and without saturation. Of four unsigned bytes, x86 has it
// as `vpdpbusd`; without VNNI, the code generator multiplies 16-bit numbers, which is exact, too. So does ARM's DSP
// extension in general registers, with two `smlad` for one lane. AArch64 has `usdot` (i8mm), and `sdot` (dotprod) for
// signed data; without them, the code generator multiplies 16-bit numbers here, too
// (targets/llvm/emit_byte_products.cpp). Helium multiplies sixteen signed bytes and adds the products to one lane,
// `vmladava`.
#pragma once

#include <span>

#include "tensor/intrinsic.h"
#include "tensor/machine.h"

namespace dlcc::tensor {

// The least number of K indices that a dot product adds up. K must be a multiple of it.
inline constexpr int64_t least_bytes_of_product = 4;

// The number of K indices that the longest dot product of the machine adds up which divides k, a multiple of
// least_bytes_of_product.
int64_t bytes_of_product_in(ByteProducts, int64_t k);

// The emission rules of these intrinsics (Intrinsic::emission).
inline constexpr const char* byte_products_emission = "byte products";
inline constexpr const char* widened_bytes_emission = "widened bytes";

// Bytes of a row of data that are widened together, and the 16-bit numbers of its even or odd bytes.
inline constexpr int64_t widened_bytes = 16, widened_half = widened_bytes / 2;

// The intrinsic that stores sixteen unsigned bytes in words: the even ones, then the odd ones.
Intrinsic widening_of_data(const char* name, Scope of_words);

// Whether the machine multiplies unsigned data in vectors by 16-bit numbers, for which a schedule may widen it.
bool multiplies_widened_data(ByteProducts);

// Whether the accumulators are in general registers, each of one lane.
bool is_scalar(ByteProducts);

// The type of the data of a machine's products: signed bytes for ByteProducts::signed_dot, signed_pairs and scalar_dot,
// else unsigned bytes.
DType data_of_byte_products(ByteProducts);

// The intrinsics of a machine: "dot4.u8s8.x4", ".x8" and ".x16" for accumulators of 4, 8 and 16 lanes, and
// "dot4.u16s8.x4", ".x8" and ".x16" with "widen.u8.x16" for widened data; "dot4.u8s8.x1" for accumulators in general
// registers, "dot4.s8s8.x4" for signed data, "dot16.s8s8.x1" and "dot4.s8s8.x1" for ByteProducts::scalar_dot; none for
// ByteProducts::none.
std::span<const Intrinsic* const> byte_products(ByteProducts);

}  // namespace dlcc::tensor
