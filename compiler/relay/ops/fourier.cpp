// dft, stft: the discrete Fourier transform by its definition, of whole rows and of windows along them.
#include <cmath>

#include "relay/call_gradient.h"
#include "relay/op_support/composition.h"

namespace dlcc::relay::ops {

namespace {

struct DftAttrs {
  bool inverse = false;
};
struct StftAttrs {
  int64_t n_fft = 1, hop_length = 1, win_length = 1;
  bool normalized = false, onesided = true;
};

// The cosine or the sine of 2 pi * product / size. The product is reduced modulo the size, so that it stays exact.
Expr of_turn(bool cosine, const Expr& product, const Expr& size, DType type) {
  const Expr turn = cast(dtype::f64, floor_mod(product, size)) / cast(dtype::f64, size);
  const Expr angle = turn * number(dtype::f64, 2 * std::acos(-1.0));
  return cast(type, unary(cosine ? tensor::UnaryOp::cos : tensor::UnaryOp::sin, angle));
}

std::vector<Value> dft(const DftAttrs& a, Composition& c) {
  const Value re = c.operand(0), im = c.operand(1);
  c.require(
      first_of({check_type(re.type, "re_data", types::real), check_same_type(re.type, "re_data", im.type, "im_data"),
                check_rank(im.type, "im_data", re.rank())}));
  if (re.rank() == 0) c.fail(shape_error("the data must have an axis"));
  for (int k = 0; k < re.rank(); ++k)
    c.require(check_equal(im.shape()[k], fmt::format("axis {} of im_data", k), re.shape()[k],
                          fmt::format("axis {} of re_data", k)));
  const Dim size = re.shape().back();
  const DType type = tensor::compute_type(re.dtype());
  std::vector<Value> results;
  for (bool real : {true, false}) {
    const Value total =
        c.sum(type, re.shape(), {size}, {re, im}, [=](const std::vector<Tensor>& args, Index i, Index r) {
          std::vector<Expr> at = i;
          at.back() = r[0];
          const Expr product = i.back() * r[0];
          const Expr cosine = of_turn(true, product, Expr(size), type),
                     sine = of_turn(false, product, Expr(size), type);
          const Expr forward = a.inverse ? sine : -sine;  // e^(i angle) or e^(-i angle)
          const Expr x = args[0](at), y = args[1](at);
          return real ? x * cosine - y * forward : x * forward + y * cosine;
        });
    results.push_back(c.compute(re.dtype(), re.shape(), {total}, [=](const std::vector<Tensor>& args, Index i) {
      return a.inverse ? args[0](i) / cast(type, Expr(size)) : args[0](i);
    }));
  }
  return results;
}

// By the conjugate of the transform's matrix: the transform in the other direction, but for the factor of the inverse.
void gradient_of_dft(const DftAttrs& a, CallGradient& g) {
  const Term gradient = g.gradient();
  const Term share = g.code().inverse_of_size(gradient.dtype(), gradient.shape().back());
  const std::vector<Term> other =
      g.code().call_all(*op("dft"), {g.gradient(0), g.gradient(1)}, {{"inverse", !a.inverse}});
  for (size_t k : {0, 1}) g.add(k, a.inverse ? other[k] * share : other[k] / share);
}

Dim frame_count(const StftAttrs& a, const Shape& data) {
  return floor_div(data.back() - Dim(a.n_fft), Dim(a.hop_length)) + Dim(1);
}

Value stft(const StftAttrs& a, Composition& c) {
  const Value x = c.operand(0), window = c.operand(1);
  c.require(first_of({check_type(x.type, "data", types::real), check_same_type(x.type, "data", window.type, "window"),
                      check_rank(window.type, "window", 1), check_positive("n_fft", {a.n_fft}),
                      check_positive("hop_length", {a.hop_length}), check_positive("win_length", {a.win_length})}));
  c.require(check_equal(window.shape()[0], "the size of the window", a.win_length, "win_length"));
  if (x.rank() != 1 && x.rank() != 2)
    c.fail(shape_error(fmt::format("data must have 1 or 2 dimensions, found {}", x.rank())));
  if (a.win_length > a.n_fft) c.fail(attribute_error("win_length must be at most n_fft"));
  if (const Dim length = x.shape().back(); provably_lt(length, a.n_fft))
    c.fail(
        out_of_range_error(fmt::format("a window has {} elements, a sequence of the data {}", a.n_fft, length.str())));
  Shape shape(x.shape().begin(), x.shape().end() - 1);
  shape.insert(shape.end(), {Dim(a.onesided ? a.n_fft / 2 + 1 : a.n_fft), frame_count(a, x.shape()), Dim(2)});
  const DType type = tensor::compute_type(x.dtype());
  return c.sum(x.dtype(), shape, {a.win_length}, {x, window}, [=](const std::vector<Tensor>& args, Index i, Index r) {
    const size_t first = i.size() - 3;  // the frequency
    std::vector<Expr> at(i.begin(), i.begin() + static_cast<ptrdiff_t>(first));
    at.push_back(i[first + 1] * Expr(a.hop_length) + r[0]);
    Expr value = args[1](r[0]) * args[0](at);
    if (a.normalized) value = value / number(type, std::sqrt(static_cast<double>(a.n_fft)));
    const Expr product = i[first] * r[0], size(a.win_length);
    return value * select(equal(i[first + 2], Expr(0)), of_turn(true, product, size, type),
                          -of_turn(false, product, size, type));
  });
}

}  // namespace

void fourier(OperatorTable& table) {
  table.add(composed<DftAttrs>({.name = "dft",
                                .summary = "the discrete Fourier transform of the rows: real and imaginary parts",
                                .attributes = {{"inverse", &DftAttrs::inverse, "the inverse transform"}},
                                .arguments = {"re_data", "im_data"},
                                .gradient = gradient_of_dft,
                                .tolerance = 1e-6},
                               dft));
  using S = StftAttrs;
  OperatorSpec<S> transforms = composed<S>(
      {.name = "stft",
       .summary = "the discrete Fourier transforms of windows: (frequency, window, real and imaginary part)",
       .attributes = {{"n_fft", &S::n_fft, "the size of a transform", true},
                      {"hop_length", &S::hop_length, "the step between windows", true},
                      {"win_length", &S::win_length, "the size of a window", true},
                      {"normalized", &S::normalized, "divide by sqrt(n_fft)"},
                      {"onesided", &S::onesided, "only the frequencies up to n_fft / 2"}},
       .arguments = {"data", "window"},
       .tolerance = 1e-6,
       .sample_shapes = {{8}, {4}},
       .sample_attrs = {{"n_fft", 4}, {"hop_length", 2}, {"win_length", 4}}},
      stft);
  transforms.positive_sizes = [](const S& a, const Operands& in) -> std::vector<Dim> {
    return {frame_count(a, in[0].shape)};
  };
  table.add(std::move(transforms));
}

}  // namespace dlcc::relay::ops
