// Random numbers: RandomUniform, RandomNormal, their Like forms, Bernoulli, Multinomial; Dropout in training mode.
//
// The attribute `seed` is the generator's seed. Without it the seed is 0, and each node of the model has a sequence of
// its own. A model gives the same numbers in every run.
#include "frontends/onnx/operators/random.h"

#include <bit>

#include "frontends/onnx/operators/arithmetic.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// A call of a generator for a shape of known or symbolic sizes. The attribute `seed` is a float, but an integer in
// Dropout.
Value generate(Node& n, const char* generator, const Shape& shape, DType type, bool integer_seed = false) {
  relay::Attrs attrs = {{"shape", relay::sizes_attribute(shape)}, {"dtype", dtype_attr(type)}};
  if (!n.has_attr("seed"))
    attrs["stream"] = n.context().random_sequences++;
  else if (integer_seed)
    attrs["seed"] = n.integer("seed", 0);
  else
    attrs["seed"] = static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(n.number("seed", 0))));
  return n.call(generator, {}, attrs);
}

// The element type that the attribute `dtype` names.
std::optional<DType> type_attribute(Node& n, DType otherwise) {
  return n.element_type("dtype", n.integer("dtype", onnx_number(otherwise)));
}

// low + (high - low) u, or mean + scale z, computed in float32 for 16-bit floats.
Value distributed(Node& n, bool is_normal, const Shape& shape, DType type) {
  const DType computed = bits(type) == 16 ? dtype::f32 : type;
  const double offset = is_normal ? n.number("mean", 0) : n.number("low", 0);
  const double factor = is_normal ? n.number("scale", 1) : n.number("high", 1) - offset;
  const Value numbers = generate(n, is_normal ? "random.philox_normal" : "random.philox_uniform", shape, computed);
  return n.cast(plus(n, times(n, numbers, factor), offset), type);
}

Converter random(bool is_normal) {
  return [=](Node& n) -> Values {
    const auto sizes = n.integers("shape");
    const auto type = type_attribute(n, dtype::f32);
    n.check(sizes.has_value(), DiagnosticId::bad_attribute, "attribute 'shape' is missing");
    if (n.failed()) return {};
    return {distributed(n, is_normal, Shape(sizes->begin(), sizes->end()), *type)};
  };
}

Converter random_like(bool is_normal) {
  return [=](Node& n) -> Values {
    const auto type = type_attribute(n, n.in(0).type.dtype);
    if (n.failed()) return {};
    return {distributed(n, is_normal, n.in(0).type.shape, *type)};
  };
}

// Each element is 1 with the probability that is the input's element.
Values convert_bernoulli(Node& n) {
  const auto type = type_attribute(n, n.in(0).type.dtype);
  if (n.failed()) return {};
  const DType computed = n.in(0).type.dtype == dtype::f64 ? dtype::f64 : dtype::f32;
  const Value numbers = generate(n, "random.philox_uniform", n.in(0).type.shape, computed);
  return {n.cast(n.call("less", {numbers, n.cast(n.in(0), computed)}), *type)};
}

// Classes by unnormalized log probabilities [batch, classes]: the largest sum of a log probability and a number of the
// Gumbel distribution, -log(-log u) (Gumbel, "Statistical Theory of Extreme Values", 1954).
Values convert_multinomial(Node& n) {
  const auto type = type_attribute(n, dtype::i32);
  const int64_t samples = n.integer("sample_size", 1);
  const Value& input = n.in(0);
  n.check(input.rank() == 2, DiagnosticId::shape_mismatch,
          fmt::format("input must have axes for batch and classes, found {}", describe(input.type)));
  n.check(samples >= 1, DiagnosticId::bad_attribute,
          fmt::format("attribute 'sample_size' must be at least 1, found {}", samples));
  if (n.failed()) return {};
  const DType computed = input.type.dtype == dtype::f64 ? dtype::f64 : dtype::f32;
  const Value scores = n.call("expand_dims", {n.cast(input, computed)}, {{"axis", 1}});
  const Value numbers =
      generate(n, "random.philox_uniform", {input.type.shape[0], samples, input.type.shape[1]}, computed);
  // 1 - u is in (0, 1], where the logarithm is finite.
  auto minus_log = [&](const Value& x) { return n.call("negative", {n.call("log", {x})}); };
  const Value exponential = minus_log(subtract(n, constant_like(n, numbers, 1), numbers));
  const Value sums = add(n, scores, minus_log(exponential));
  return {n.call("argmax", {sums}, {{"axis", relay::AttrList{2}}, {"dtype", dtype_attr(*type)}})};
}

}  // namespace

Values drop_elements(Node& n, const Value& x, const Value& ratio, const Value& trains) {
  const DType type = x.type.dtype, computed = type == dtype::f64 ? dtype::f64 : dtype::f32;
  const Value share = n.cast(n.reshape(ratio, {}), computed);
  const Value numbers = generate(n, "random.philox_uniform", x.type.shape, computed, true);
  const Value inference = n.call("logical_not", {n.reshape(trains, {})});
  const Value kept = n.call("logical_or", {n.call("greater_equal", {numbers, share}), inference});
  const Value one = constant_like(n, share, 1), zero = constant_like(n, share, 0);
  const Value factor = n.call("where", {inference, one, divide(n, one, subtract(n, one, share))});
  const Value scaled = multiply(n, n.cast(x, computed), factor);
  return {n.cast(n.call("where", {kept, scaled, zero}), type), kept};
}

void add_random(Table& table) {
  table.add({
      {"Bernoulli", 15, "input", 1, 1, 1, convert_bernoulli, true},
      {"Multinomial", 7, "input", 1, 1, 1, convert_multinomial},
      {"RandomNormal", 1, "", 0, 0, 1, random(true)},
      {"RandomNormalLike", 1, "input", 1, 1, 1, random_like(true), true},
      {"RandomUniform", 1, "", 0, 0, 1, random(false)},
      {"RandomUniformLike", 1, "input", 1, 1, 1, random_like(false), true},
  });
}

}  // namespace dlcc::frontends::onnx
