// cosine_window, mel_weight_matrix: constants of signal processing, whose sizes may be known at run time only.
#include <cmath>

#include "relay/op_support/shape_operands.h"

namespace dlcc::relay::ops {

namespace {

struct WindowAttrs {
  std::vector<Dim> size;
  double constant = 0.5, first = 0.5, second = 0;
  bool periodic = true;
  DType dtype = dtype::f32;
};
struct MelAttrs {
  std::vector<Dim> num_mel_bins, dft_length;
  DType dtype = dtype::f32;
};

constexpr DType exact = dtype::f64;  // the type of all arithmetic; results are rounded once

// ---- cosine_window ------------------------------------------------------------------------------------------------

TypeResult type_of_window(const WindowAttrs& a, const Operands& in) {
  if (auto e = check_type({{}, a.dtype}, "dtype", types::number)) return *e;
  Checked<PartialList> size = list_value(in, 0, a.size, "size");
  if (auto* e = std::get_if<TypeError>(&size)) return *e;
  if (std::get<PartialList>(size).size() != 1) return shape_error("size must have one element");
  return tensor_result({std::get<PartialList>(size)[0].value_or(unknown_dim())}, a.dtype);
}

TensorFunction define_window(const WindowAttrs& a, const Operands& in, const Shape& result) {
  Definition d("cosine_window");
  if (!in.empty()) {
    Tensor size = d.input("size", in[0].dtype, in[0].shape);
    d.require_next([=](Index) { return equal(integer_at(size, 0), Expr(result[0])); }, tensor::Status::shape_mismatch);
  }
  auto c = [](double value) { return number(exact, value); };
  d.result("result", a.dtype, result, [&](Index i) {
    const Expr steps = max(Expr(result[0] - Dim(a.periodic ? 0 : 1)), Expr(1));
    const Expr turn = c(2 * std::acos(-1.0)) * cast(exact, i[0]) / cast(exact, steps);
    auto cosine = [&](const Expr& angle) { return unary(tensor::UnaryOp::cos, angle); };
    const Expr value = c(a.constant) - c(a.first) * cosine(turn);
    return a.second == 0 ? value : value + c(a.second) * cosine(c(2) * turn);
  });
  return d.finish();
}

// ---- mel_weight_matrix --------------------------------------------------------------------------------------------

enum MelOperand { rate, lowest, highest, bands, length };

TypeResult type_of_mel(const MelAttrs& a, const Operands& in) {
  const char* names[] = {"sample_rate", "lower_edge_hertz", "upper_edge_hertz"};
  for (size_t k = 0; k < 3; ++k)
    if (auto e = first_of(
            {check_type(in[k], names[k], k == rate ? types::index : types::real), check_rank(in[k], names[k], 0)}))
      return *e;
  if (auto e = check_type({{}, a.dtype}, "dtype", types::number)) return *e;
  Checked<PartialList> count = list_value(in, bands, a.num_mel_bins, "num_mel_bins");
  Checked<PartialList> samples = list_value(in, length, a.dft_length, "dft_length");
  for (auto* list : {&count, &samples}) {
    if (auto* e = std::get_if<TypeError>(list)) return *e;
    if (std::get<PartialList>(*list).size() != 1) return shape_error("num_mel_bins and dft_length have one element");
  }
  const auto &columns = std::get<PartialList>(count)[0], &signal = std::get<PartialList>(samples)[0];
  return tensor_result({signal ? floor_div(*signal, 2) + Dim(1) : unknown_dim(), columns.value_or(unknown_dim())},
                       a.dtype);
}

TensorFunction define_mel(const MelAttrs& a, const Operands& in, const Shape& result) {
  Definition d("mel_weight_matrix");
  std::vector<Tensor> p;
  for (const char* name : {"sample_rate", "lower_edge_hertz", "upper_edge_hertz", "num_mel_bins", "dft_length"})
    if (p.size() < in.size()) p.push_back(d.input(name, in[p.size()].dtype, in[p.size()].shape));
  const bool known = in.size() == 3;
  const Expr count = known ? Expr(a.num_mel_bins[0]) : integer_at(p[bands], 0);
  const Expr samples = known ? Expr(a.dft_length[0]) : integer_at(p[length], 0);
  auto real = [&](int k) { return cast(exact, scalar(p[static_cast<size_t>(k)])); };
  auto c = [](double value) { return number(exact, value); };
  constexpr double mel_factor = 2595, corner = 700;  // mel = 2595 log10(1 + hertz / 700)
  const double per_log = mel_factor / std::log(10.0);
  auto mel = [&](const Expr& hertz) { return c(per_log) * log(c(1) + hertz / c(corner)); };
  const Expr low = mel(real(lowest)), step = (mel(real(highest)) - low) / (cast(exact, count) + c(2));
  // The bin of the spectrum that contains edge `k` of the bands.
  auto bin = [&](const Expr& k) {
    const Expr hertz = c(corner) * (exp((low + cast(exact, k) * step) / c(per_log)) - c(1));
    return floor((cast(exact, samples) + c(1)) * hertz / real(rate));
  };
  d.require_next(
      [&](Index) {
        return logical_and(equal(count, Expr(result[1])),
                           equal(floor_div(samples, Expr(2)) + Expr(1), Expr(result[0])));
      },
      tensor::Status::shape_mismatch);
  d.result("result", a.dtype, result, [&](Index i) {
    const Expr at = cast(exact, i[0]);
    const Expr left = bin(i[1]), centre = bin(i[1] + Expr(1)), right = bin(i[1] + Expr(2));
    const Expr rising = select(equal(centre, left), c(1), (at - left) / max(centre - left, c(1)));
    const Expr falling = (right - at) / max(right - centre, c(1));
    const Expr on_left = logical_and(at >= left, at <= centre), on_right = logical_and(at >= centre, at < right);
    return select(on_right, falling, select(on_left, rising, c(0)));
  });
  return d.finish();
}

}  // namespace

void signal(OperatorTable& table) {
  using A = WindowAttrs;
  table.add<A>({
      .name = "cosine_window",
      .summary = "constant - first * cos(t) + second * cos(2 t), for t from 0 to 2 pi",
      .attributes = {{"size", &A::size, "a list of one number: the elements of the window", true},
                     {"constant", &A::constant, "the first coefficient"},
                     {"first", &A::first, "the coefficient of cos(t)"},
                     {"second", &A::second, "the coefficient of cos(2 t)"},
                     {"periodic", &A::periodic, "t = 2 pi one element after the last, else at the last element"},
                     {"dtype", &A::dtype, "the element type of the result"}},
      .arguments = {},
      .values = {"size"},
      .type = type_of_window,
      .compute_as = define_window,
      .sizes = [](const A&, const Operands&, const std::vector<Tensor>& v, Definition&) { return elements_of(v[0]); },
      .sizes_suffice = true,
      .tolerance = 1e-6,
  });
  table.add<MelAttrs>({
      .name = "mel_weight_matrix",
      .summary = "the weights that sum the bins of a spectrum to overlapping bands of equal width on the mel scale",
      .attributes = {{"num_mel_bins", &MelAttrs::num_mel_bins, "a list of one number: the bands", true},
                     {"dft_length", &MelAttrs::dft_length, "a list of one number: the samples of the signal", true},
                     {"dtype", &MelAttrs::dtype, "the element type of the result"}},
      .arguments = {"sample_rate", "lower_edge_hertz", "upper_edge_hertz"},
      .values = {"num_mel_bins", "dft_length"},
      .type = type_of_mel,
      .compute_as = define_mel,
      .sizes =
          [](const MelAttrs&, const Operands&, const std::vector<Tensor>& v, Definition&) {
            return std::vector{floor_div(integer_at(v[1], 0), Expr(2)) + Expr(1), integer_at(v[0], 0)};
          },
      .tolerance = 1e-6,
  });
}

}  // namespace dlcc::relay::ops
