// random.philox_uniform and random.philox_normal: numbers of a counter-based generator. Element i is a function of the
// seed and of i alone, Philox 4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011), so that it
// is the same on every target and in any order of evaluation.
#include <array>
#include <numbers>

#include "relay/op_support/indices.h"
#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct RandomAttrs {
  std::vector<Dim> shape;
  DType dtype = dtype::f32;
  int64_t seed = 0, stream = 0;
};

using Words = std::array<Expr, 4>;  // of type uint64, below 2^32

Expr word(int64_t v) { return tensor::literal(dtype::u64, v); }
Expr low_word(const Expr& v) { return binary(tensor::BinaryOp::bit_and, v, word(0xFFFFFFFF)); }
Expr high_word(const Expr& v) { return binary(tensor::BinaryOp::shr, v, word(32)); }
Expr exclusive_or(const Expr& a, const Expr& b) { return binary(tensor::BinaryOp::bit_xor, a, b); }

// Ten rounds on the counter; the key grows by constants after each.
Words philox(Words counter, uint64_t key) {
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const Expr p0 = counter[0] * word(0xD2511F53), p1 = counter[2] * word(0xCD9E8D57);
    counter = {exclusive_or(exclusive_or(high_word(p1), counter[1]), word(k0)), low_word(p1),
               exclusive_or(exclusive_or(high_word(p0), counter[3]), word(k1)), low_word(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

// The random words of the element at an index: the counter is its row-major position and the stream.
Words words_of(const RandomAttrs& a, const Shape& shape, Index i) {
  const Expr position = cast(dtype::u64, flatten_index(shape, i)), stream = word(a.stream);
  return philox({low_word(position), high_word(position), low_word(stream), high_word(stream)},
                static_cast<uint64_t>(a.seed));
}

// In [0, 1), with as many bits as the type's mantissa has.
Expr uniform(const Words& w, DType type) {
  auto bits_of = [](const Expr& v, int64_t dropped) { return binary(tensor::BinaryOp::shr, v, word(dropped)); };
  if (type != dtype::f64) return cast(type, bits_of(w[0], 8)) * number(type, 0x1p-24);
  return cast(type, bits_of(w[0], 5)) * number(type, 0x1p-27) + cast(type, bits_of(w[1], 6)) * number(type, 0x1p-53);
}

// Box and Muller's transformation, "A Note on the Generation of Random Normal Deviates", 1958.
Expr normal(const Words& w, DType type) {
  const Expr share = (cast(type, w[2]) + number(type, 0.5)) * number(type, 0x1p-32);  // in (0, 1]
  const Expr angle = uniform(w, type) * number(type, 2 * std::numbers::pi);
  return sqrt(number(type, -2) * log(share)) * unary(tensor::UnaryOp::cos, angle);
}

TensorFunction define_random(const char* name, Expr (*distribution)(const Words&, DType), const RandomAttrs& a,
                             const Operands& in, const Shape& result) {
  Definition d(name);
  require_shape_next(d, in, 0, result);
  d.result("result", a.dtype, result,
           [&](Index i) { return distribution(words_of(a, result, i), tensor::compute_type(a.dtype)); });
  return d.finish();
}

void add(OperatorTable& table, const char* name, const char* summary, Expr (*distribution)(const Words&, DType)) {
  table.add<RandomAttrs>({
      .name = name,
      .summary = summary,
      .attributes = {{"shape", &RandomAttrs::shape, "the result's shape", true},
                     {"dtype", &RandomAttrs::dtype, "the element type", true},
                     {"seed", &RandomAttrs::seed, "the key of the generator"},
                     {"stream", &RandomAttrs::stream, "selects one of several sequences of a seed"}},
      .arguments = {},
      .values = {"shape"},
      .type = [](const RandomAttrs& a, const Operands& in) -> TypeResult {
        if (auto e = check_type({{}, a.dtype}, "dtype", types::real)) return *e;
        return filled_result(in, 0, a.shape, a.dtype);
      },
      .compute_as = [=](const RandomAttrs& a, const Operands& in,
                        const Shape& result) { return define_random(name, distribution, a, in, result); },
      .sizes = [](const RandomAttrs&, const Operands&, const std::vector<Tensor>& v,
                  Definition&) { return elements_of(v[0]); },
      .sizes_suffice = true,
      .tolerance = distribution == normal ? 2e-6 : 0,
  });
}

}  // namespace

void random(OperatorTable& table) {
  add(table, "random.philox_uniform", "random numbers in [0, 1), equally distributed", uniform);
  add(table, "random.philox_normal", "random numbers, normally distributed with mean 0 and variance 1", normal);
}

}  // namespace dlcc::relay::ops
