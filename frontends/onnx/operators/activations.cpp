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

// The function of a name in any case; null, with an error, if there is none.
const Definition* find_or_report(Node& n, const std::string& name) {
  const Definition* d = find(lower_case(name));
  n.check(d, DiagnosticId::bad_attribute, fmt::format("there is no activation function '{}'", name),
          "it is Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign or "
          "Softplus");
  return d;
}

}  // namespace

std::vector<Activation> read_activations(Node& n, size_t directions, const std::vector<std::string>& defaults) {
  std::vector<std::string> names;
  for (size_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  size_t expected = names.size();
  names = n.texts("activations").value_or(names);
  n.check(names.size() == expected, DiagnosticId::bad_attribute,
          fmt::format("attribute 'activations' must have {} functions, found {}", expected, names.size()));
  std::vector<float> alphas = n.numbers("activation_alpha").value_or(std::vector<float>{});
  std::vector<float> betas = n.numbers("activation_beta").value_or(std::vector<float>{});
  size_t alpha = 0, beta = 0;
  std::vector<Activation> list;
  for (const std::string& given : names) {
    Activation a{lower_case(given)};
    const Definition* d = find_or_report(n, given);
    if (d && d->alpha) a.alpha = alpha < alphas.size() ? alphas[alpha++] : *d->alpha;
    if (d && d->beta) a.beta = beta < betas.size() ? betas[beta++] : *d->beta;
    n.check(
        !std::isnan(a.alpha) && !std::isnan(a.beta), DiagnosticId::bad_attribute,
        fmt::format("the activation function '{}' needs a number of activation_alpha and of activation_beta", given));
    list.push_back(a);
  }
  return list;
}

std::optional<Activation> read_activation(Node& n) {
  const Definition* d = find_or_report(n, n.text("activation", ""));
  if (!d) return std::nullopt;
  return Activation{d->name, n.number("activation_alpha", d->alpha.value_or(0)),
                    n.number("activation_beta", d->beta.value_or(0))};
}

Value activate(Node& n, const Activation& a, const Value& x) { return find(a.name)->apply(n, x, a); }

}  // namespace dlcc::frontends::onnx
