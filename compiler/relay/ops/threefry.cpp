// random.threefry_generate, random.threefry_split, random.uniform, random.normal, random.multinomial: TVM's generator,
// whose state is a tensor of ten words. They have a type only: random.philox_uniform and random.philox_normal are
// dlcc's generator.
#include "relay/op_support/type_checks.h"

namespace dlcc::relay::ops {

namespace {

struct GenerateAttrs {
  std::vector<Dim> out_shape;
};
struct DistributionAttrs {
  std::vector<Dim> out_shape;
  DType out_dtype = dtype::f32;
};
struct MultinomialAttrs {
  int64_t num_samples = 1;
};

Type key_type() { return tensor_type(Shape{10}, dtype::u64); }

Failure check_key(const TensorType& key) {
  if (key.dtype == dtype::u64 && key.shape == Shape{10}) return std::nullopt;
  return TypeError{
      DiagnosticId::type_mismatch,
      fmt::format("key must have type {}, found {}", str(key_type()), str(tensor_type(key.shape, key.dtype))),
      "it is a result of random.threefry_split or an input"};
}

TypeResult type_of_generate(const GenerateAttrs& a, const Operands& in) {
  if (auto e = check_key(in[0])) return *e;
  TypeResult numbers = tensor_result(a.out_shape, dtype::u64);
  if (std::holds_alternative<TypeError>(numbers)) return numbers;
  return tuple_type({key_type(), std::get<Type>(numbers)});
}

TypeResult type_of_key_split(const NoAttrs&, const Operands& in) {
  if (auto e = check_key(in[0])) return *e;
  return tuple_type({key_type(), key_type()});
}

TypeResult type_of_distribution(const DistributionAttrs& a, const Operands& in) {
  if (auto e = first_of({check_key(in[0]), check_type({{}, a.out_dtype}, "out_dtype", types::real)})) return *e;
  TypeResult numbers = tensor_result(a.out_shape, a.out_dtype);
  if (std::holds_alternative<TypeError>(numbers)) return numbers;
  return tuple_type({key_type(), std::get<Type>(numbers)});
}

TypeResult type_of_multinomial(const MultinomialAttrs& a, const Operands& in) {
  if (auto e = first_of(
          {check_key(in[0]), check_type(in[1], "probs", types::real), check_positive("num_samples", {a.num_samples})}))
    return *e;
  if (in[1].shape.empty()) return shape_error("probs must have an axis");
  Shape shape = in[1].shape;
  shape.back() = a.num_samples;
  return tuple_type({key_type(), tensor_type(shape, dtype::i32)});
}

}  // namespace

void threefry(OperatorTable& table) {
  table.add<GenerateAttrs>({.name = "random.threefry_generate",
                            .summary = "the next key and random words",
                            .attributes = {{"out_shape", &GenerateAttrs::out_shape, "the shape of the words", true}},
                            .arguments = {"key"},
                            .type = type_of_generate});
  table.add<NoAttrs>({.name = "random.threefry_split",
                      .summary = "two independent keys",
                      .arguments = {"key"},
                      .type = type_of_key_split});
  using D = DistributionAttrs;
  for (const bool is_normal : {false, true})
    table.add<D>({.name = is_normal ? "random.normal" : "random.uniform",
                  .summary = is_normal ? "the next key and numbers with a normal distribution"
                                       : "the next key and numbers that are equally distributed in [low, high)",
                  .attributes = {{"out_shape", &D::out_shape, "the shape of the numbers", true},
                                 {"out_dtype", &D::out_dtype, "their element type", true}},
                  .arguments = is_normal ? std::vector<std::string>{"key", "mean", "scale"}
                                         : std::vector<std::string>{"key", "low", "high"},
                  .type = type_of_distribution});
  table.add<MultinomialAttrs>(
      {.name = "random.multinomial",
       .summary = "the next key and random positions along the last axis, by their probabilities",
       .attributes = {{"num_samples", &MultinomialAttrs::num_samples, "positions per row"}},
       .arguments = {"key", "probs"},
       .type = type_of_multinomial});
}

}  // namespace dlcc::relay::ops
