// A sum of two convolutions is one convolution, of the channels of both:
//
//   conv(a, v) + conv(b, w)  =  conv(concatenate(a, b), concatenate(v, w))
//
// Neither result is stored to be read again, and the sums are longer. What is joined must have as few channels as the
// result, so that even where it is copied, less is moved than was. Convolutions with 1x1 taps may have different
// strides: the image is sliced, which its next reader would do pixel by pixel.
#include <algorithm>

#include "relay/passes/block_rewriter.h"
#include "relay/passes/passes.h"

namespace dlcc::relay {

namespace {

// A convolution with constant weights, and the constant bias of its channels if it has one.
struct Summand {
  Call conv;
  std::optional<Atom> bias;
};

std::vector<int64_t> integers(const Call& call, const char* name, int64_t otherwise, size_t count) {
  auto it = call.attrs.find(name);
  const AttrList* list = it == call.attrs.end() ? nullptr : std::get_if<AttrList>(&it->second.v);
  if (!list) return std::vector<int64_t>(count, otherwise);
  std::vector<int64_t> values;
  for (const AttrValue& v : *list) values.push_back(std::get<int64_t>(v.v));
  return values;
}

std::optional<Summand> summand(const BlockRewriter& r, const Atom& value) {
  if (!r.used_once(value)) return std::nullopt;
  if (const Call* biased = r.call_of(value, "nn.bias_add")) {
    auto inner = r.is_constant(biased->args[1]) ? summand(r, biased->args[0]) : std::nullopt;
    if (!inner || inner->bias) return std::nullopt;
    inner->bias = biased->args[1];
    return inner;
  }
  const Call* conv = r.call_of(value, "nn.conv2d");
  if (!conv || !r.is_constant(conv->args[1])) return std::nullopt;
  if (r.tensor(conv->args[0]).shape[1] != r.tensor(conv->args[1]).shape[1]) return std::nullopt;
  return Summand{*conv, std::nullopt};
}

bool is_projection(const BlockRewriter& r, const Call& conv) {
  Shape weights = r.tensor(conv.args[1]).shape;
  auto padding = integers(conv, "padding", 0, 4);
  return weights[2] == Dim(1) && weights[3] == Dim(1) && std::ranges::all_of(padding, [](int64_t p) { return p == 0; });
}

// The pixels that a projection reads.
Atom pixels(BlockRewriter& r, const Call& conv) {
  auto strides = integers(conv, "strides", 1, 2);
  if (strides == std::vector<int64_t>{1, 1}) return conv.args[0];
  return r.emit("strided_slice", {conv.args[0]},
                {{"begin", std::vector<int64_t>{0, 0}},
                 {"end", std::vector<int64_t>{INT64_MAX, INT64_MAX}},
                 {"strides", strides},
                 {"axes", std::vector<int64_t>{2, 3}}});
}

std::optional<Atom> join(BlockRewriter& r, const Binding& b) {
  const Call* sum = std::get_if<Call>(&b.op);
  const OperatorRef* callee = sum ? std::get_if<OperatorRef>(&sum->callee) : nullptr;
  if (!callee || callee->op->name != "add") return std::nullopt;
  Atom left = sum->args[0], right = sum->args[1];
  auto x = summand(r, left), y = summand(r, right);
  if (!x || !y || r.tensor(left).shape != r.tensor(right).shape) return std::nullopt;
  if (!is_projection(r, x->conv) || !is_projection(r, y->conv)) return std::nullopt;
  Shape v = r.tensor(x->conv.args[1]).shape, w = r.tensor(y->conv.args[1]).shape;
  if (!is_static(v) || !is_static(w)) return std::nullopt;
  int64_t channels = v[0].value(), joined = v[1].value() + w[1].value();
  if (joined > channels) return std::nullopt;
  Atom data = r.emit("concatenate", {pixels(r, x->conv), pixels(r, y->conv)}, {{"axis", int64_t{1}}});
  Atom weight = r.emit("concatenate", {x->conv.args[1], y->conv.args[1]}, {{"axis", int64_t{1}}});
  Atom result = r.emit("nn.conv2d", {data, weight}, {{"channels", channels}, {"kernel_size", std::vector<int64_t>{1, 1}}, {"padding", std::vector<int64_t>{0, 0, 0, 0}}});
  if (!x->bias && !y->bias) return result;
  Atom bias = x->bias && y->bias ? r.emit("add", {*x->bias, *y->bias}) : x->bias ? *x->bias : *y->bias;
  return r.emit("nn.bias_add", {result, bias});
}

}  // namespace

Module join_sums(Module module, PassContext&) {
  for (auto& [name, f] : module.functions) BlockRewriter(module, join).run(f.body);
  return module;
}

}  // namespace dlcc::relay
