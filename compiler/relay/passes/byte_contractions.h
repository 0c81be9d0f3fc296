// Convolutions and matrix products of bytes, for the pass integer_contractions: sums of products of data and signed
// constant weights, as instructions compute them (tensor/byte_products.h). The zero point z of the data is a correction
// of the sums:
//
//   sum((x - z) * w) = sum(x * w) - z * sum(w)
//
// So is an offset o of weights whose range is not that of signed bytes, such as uint8 minus a zero point:
//
//   sum((x - z) * (w + o)) = sum(x * w) + o * sum(x) - z * sum(w + o)
//
// Most instructions take unsigned data; signed data is stored with an offset of 128 for them, and unsigned data with an
// offset of -128 for those that take signed data. Where padded data has a zero point other than 0, the padding is an
// operation of its own; without vectors, a convolution of an image pads the rows that it reads. The last axis of a
// kernel over few channels gets taps of weight 0, so that their number is a multiple of four.
//
// A depthwise convolution, of one input channel a group, has no four neighbouring products to add. Its data is widened:
// without vectors to int32, and with vectors to float32, if float32 is proved to have all sums of its products exactly.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/attr_structs.h"
#include "relay/passes/block_rewriter.h"
#include "tensor/machine.h"

namespace dlcc::relay {

// The value of a constant, or of a few operators applied to constants. Computing it takes time if it has many elements;
// is_known tells whether there is one, unless it cannot be computed.
std::optional<Constant> known(const BlockRewriter&, const Atom&);
bool is_known(const BlockRewriter&, const Atom&, int depth = 0);

// The value of all elements of a constant; empty if they differ.
std::optional<double> single(const BlockRewriter&, const Atom&);

// Data that is bytes minus a zero point.
struct ByteData {
  Atom stored;  // uint8 or int8
  Atom zero;    // int32, of one element

  bool is_centred() const;  // whether the zero point is known to be 0
};

// From bytes of type `from` to bytes of type `to`: 128 from int8 to uint8, -128 from uint8 to int8.
int offset_between(DType from, DType to);

// Bytes with that offset, as bytes of type `to`.
Atom with_offset(BlockRewriter&, const Atom& stored, DType to);

// The sum of bytes along an axis, in int32; the axis stays, with size 1.
Atom sum_of_bytes(BlockRewriter&, const Atom& stored, int64_t axis);

// Weights: signed bytes plus an offset, which is 0 if the weights are in [-128, 127].
struct SignedBytes {
  Constant bytes;
  int32_t offset = 0;
};
// The integers minus a zero point. Empty if their range is not that of bytes.
std::optional<SignedBytes> signed_bytes(const Constant& integers, int64_t zero = 0);

// A convolution that can be computed on bytes.
struct ByteConvolution {
  std::string name;
  ConvAttrs conv;
  Attrs attrs;
  std::vector<int64_t> weights, padding;  // the shape of the weights; the padding before each axis, then after each
  bool pads_rows = false;                 // whether it pads with zero points other than 0
  DType sums = dtype::i32;                // float32 where a depthwise convolution adds exactly in it

  bool is_depthwise() const { return conv.groups > 1 && weights[1] == 1; }  // one input channel a group
  int64_t depth() const;                                                    // the number of products in a sum
};
std::optional<ByteConvolution> byte_convolution(const std::string& name, const Call&, const SignedBytes&,
                                                tensor::ByteProducts);

// A matrix product that can be computed on bytes.
struct ByteProduct {
  std::string name;
  Attrs attrs;
  size_t n_axis = 0;  // of the weights
};
std::optional<ByteProduct> byte_product(BlockRewriter&, const std::string& name, const Call&, const SignedBytes&);

// sum((x - z) * w), of a type that has all sums exactly: int32, or ByteConvolution::sums if z is a constant byte.
Atom exact_sums(BlockRewriter&, const ByteConvolution&, const ByteData&, const SignedBytes&, DType type);
Atom integer_sums(BlockRewriter&, const ByteProduct&, const ByteData&, const SignedBytes&);

// sum((x - a) * (w - b)) of two tensors that are not constant, in int32, for a call of a matrix product of the two. The
// zero points a and b are constants, and x is of the machine's type of data. Nothing if sums may not fit in int32, the
// sizes are not known, or there are so few rows or columns that sums of floats are as fast.
std::optional<Atom> product_of_data(BlockRewriter&, const std::string& name, const Call& call, ByteData x, ByteData w);

// A contraction of int32 whose data is bytes minus a zero point and whose weights are constant, computed on bytes of
// the machine's type of data. Nothing if `call` is no such contraction.
std::optional<Atom> contraction_of_integers(BlockRewriter&, const std::string& name, const Call& call,
                                            tensor::ByteProducts);

}  // namespace dlcc::relay
