// relay.op.annotation.simulated_quantize: the real numbers that a quantized tensor would have, which TVM's quantizer
// inserts (Jacob et al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
// Inference", CVPR 2018, section 3).
#include "relay/op_support/composition.h"

namespace dlcc::relay::ops {

namespace {

struct SimulatedQuantizeAttrs {
  int64_t kind = 0, axis = -1;
  bool sign = true;
  std::string rounding = "round";
};

constexpr int64_t identity_kind = 0;  // of an input that is not quantized

Value simulated(const SimulatedQuantizeAttrs& a, Composition& c) {
  const Value x = c.operand(0);
  const char* names[] = {"dom_scale", "clip_min", "clip_max"};
  c.require(check_type(x.type, "data", types::real));
  for (size_t k = 1; k < 4; ++k)
    c.require(first_of({check_same_type(x.type, "data", c.operand(k).type, names[k - 1]),
                        check_rank(c.operand(k).type, names[k - 1], 0)}));
  if (a.kind == identity_kind) return x;
  const Value scale = c.operand(1), rounded = c.call("round", {c.call("divide", {x, scale})});
  const Value clipped = c.call("minimum", {c.call("maximum", {rounded, c.operand(2)}), c.operand(3)});
  return c.call("multiply", {clipped, scale});
}

}  // namespace

void simulated_quantize(OperatorTable& table) {
  using A = SimulatedQuantizeAttrs;
  table.add(composed<A>({.name = "relay.op.annotation.simulated_quantize",
                         .summary = "data / dom_scale, rounded and clipped, times dom_scale",
                         .attributes = {{"kind", &A::kind, "the role in the quantizer; 0: x itself", true},
                                        {"axis", &A::axis, "the axis of the channels; without meaning"},
                                        {"sign", &A::sign, "whether the integers have a sign; clip_min tells"},
                                        {"rounding", &A::rounding, "the rounding of TVM's integers; ignored"}},
                         .arguments = {"data", "dom_scale", "clip_min", "clip_max"},
                         .sample_shapes = {{2}, {}},
                         .sample_attrs = {{"kind", 1}}},
                        simulated));
}

}  // namespace dlcc::relay::ops
