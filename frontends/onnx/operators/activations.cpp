#include "frontends/onnx/operators/activations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "frontends/onnx/operators/arithmetic.h"
#include "support/ascii.h"

namespace dlcc::frontends::onnx {
namespace {

// A parameter without default.
constexpr float required = std::numeric_limits<float>::quiet_NaN();

// An activation function, with the defaults of its parameters: the defaults of the ONNX operator of this name.
struct Definition {
  const char* name;
  std::optional<float> alpha, beta;
  Value (*apply)(Node&, const Value& x, const Activation&);
};

Value thresholded_relu(Node& n, const Value& x, const Activation& a) {
  return n.call("where", {n.call("greater_equal", {x, constant_like(n, x, a.alpha)}), x, constant_like(n, x, 0)});
}

const std::array definitions = {
    Definition{"relu", {}, {}, [](Node& n, const Value& x, const Activation&) { return n.call("nn.relu", {x}); }},
    Definition{"tanh", {}, {}, [](Node& n, const Value& x, const Activation&) { return n.call("tanh", {x}); }},
    Definition{"sigmoid", {}, {}, [](Node& n, const Value& x, const Activation&) { return n.call("sigmoid", {x}); }},
    Definition{"affine", required, required,
               [](Node& n, const Value& x, const Activation& a) { return plus(n, times(n, x, a.alpha), a.beta); }},
    Definition{"leakyrelu",
               0.01f,
               {},
               [](Node& n, const Value& x, const Activation& a) {
                 return n.call("nn.leaky_relu", {x}, {{"alpha", a.alpha}});
               }},
    Definition{"thresholdedrelu", 1.0f, {}, thresholded_relu},
    Definition{"scaledtanh", required, required,
               [](Node& n, const Value& x, const Activation& a) {
                 return times(n, n.call("tanh", {times(n, x, a.beta)}), a.alpha);
               }},
    Definition{"hardsigmoid", 0.2f, 0.5f,
               [](Node& n, const Value& x, const Activation& a) {
                 return n.call("clip", {plus(n, times(n, x, a.alpha), a.beta)}, {{"a_min", 0.0}, {"a_max", 1.0}});
               }},
    Definition{"elu", 1.0f, {}, [](Node& n, const Value& x, const Activation& a) { return elu(n, x, a.alpha); }},
    Definition{"softsign",
               {},
               {},
               [](Node& n, const Value& x, const Activation&) {
                 return n.call("divide", {x, plus(n, n.call("abs", {x}), 1)});
               }},
    Definition{"softplus", {}, {}, [](Node& n, const Value& x, const Activation&) { return softplus(n, x); }},
};

const Definition* find(const std::string& name) {
  auto it = std::ranges::find_if(definitions, [&](const Definition& d) { return d.name == name; });
  return it == definitions.end() ? nullptr : &*it;
}

// The first number of a list, which is removed from it; the default if there is none.
float next(std::span<const float>& list, float otherwise) {
  if (list.empty()) return otherwise;
  const float first = list.front();
  list = list.subspan(1);
  return first;
}

}  // namespace

std::vector<Activation> read_activations(Node& n, size_t directions, const std::vector<std::string>& defaults) {
  std::vector<std::string> names;
  for (size_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  size_t expected = names.size();
  names = n.texts("activations").value_or(names);
  n.check(names.size() == expected, DiagnosticId::bad_attribute,
          fmt::format("attribute 'activations' must have {} functions, found {}", expected, names.size()));
  const std::vector<float> alpha = n.numbers("activation_alpha").value_or(std::vector<float>{});
  const std::vector<float> beta = n.numbers("activation_beta").value_or(std::vector<float>{});
  std::span<const float> alphas = alpha, betas = beta;
  std::vector<Activation> list;
  for (const std::string& name : names) list.push_back(find_activation(n, name, alphas, betas).value_or(Activation{}));
  return list;
}

std::optional<Activation> find_activation(Node& n, const std::string& name, std::span<const float>& alphas,
                                          std::span<const float>& betas) {
  const Definition* d = find(lower_case(name));
  if (!n.check(d, DiagnosticId::bad_attribute, fmt::format("there is no activation function '{}'", name),
               "it is Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign "
               "or Softplus"))
    return std::nullopt;
  Activation a{d->name};
  if (d->alpha) a.alpha = next(alphas, *d->alpha);
  if (d->beta) a.beta = next(betas, *d->beta);
  if (!n.check(!std::isnan(a.alpha) && !std::isnan(a.beta), DiagnosticId::bad_attribute,
               fmt::format("the activation function '{}' needs the numbers alpha and beta", name)))
    return std::nullopt;
  return a;
}

Value activate(Node& n, const Activation& a, const Value& x) { return find(a.name)->apply(n, x, a); }

}  // namespace dlcc::frontends::onnx
