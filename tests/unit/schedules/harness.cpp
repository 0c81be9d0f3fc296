#include "harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/float_formats.h"
#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/evaluate.h"
#include "tensor/layout.h"
#include "tensor/parse.h"
#include "tensor/passes/bind_sizes.h"
#include "tensor/passes/compose.h"
#include "tensor/passes/legalize_vector_loops.h"
#include "tensor/passes/outline_loop_nests.h"

namespace dlcc::test {

using namespace tensor;

namespace {

Constant random_constant(DType type, const Shape& shape, uint32_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(type, product(shape).value())));
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < product(shape).value(); ++i) {
    state = state * 1664525u + 1013904223u;
    int64_t small = static_cast<int64_t>(state >> 24) - 128;
    auto put = [&](auto v) { std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof v, &v, sizeof v); };
    if (type == dtype::f32) put(static_cast<float>(small) / 64.0f);
    if (type == dtype::f64) put(static_cast<double>(small) / 64.0);
    if (type == dtype::f16) put(float_to_half(static_cast<float>(small) / 64.0f));
    if (type == dtype::bf16) put(float_to_bfloat16(static_cast<float>(small) / 64.0f));
    if (type == dtype::i8) put(static_cast<int8_t>(small));
    if (type == dtype::u8) put(static_cast<uint8_t>(small));
    if (type == dtype::i32) put(static_cast<int32_t>(small));
    if (type == dtype::i64) put(small);
  }
  return Constant(type, static_shape(shape), std::move(bytes));
}

// The error that another order of operations may cause, relative to the largest value; 0 for integers.
double tolerance(DType type) {
  return type == dtype::bf16 ? 1.0 / 128 : type == dtype::f16 ? 1.0 / 1024 : is_float(type) ? 1e-5 : 0;
}

// The logical elements of a stored tensor.
Constant unpack(const Constant& stored, const Layout& layout, const std::vector<int64_t>& shape) {
  if (layout.is_dense()) return stored.reshaped(shape);
  // Packed positions give the stored position of each element.
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < product(shape_of(shape)).value(); ++i) positions.push_back(i + 1);
  Constant where = pack(Constant::of(dtype::i64, shape, positions), layout);
  size_t size = static_cast<size_t>(bits(stored.dtype()) / 8);
  std::vector<std::byte> bytes(positions.size() * size);
  for (int64_t i = 0; i < where.count(); ++i)
    if (int64_t p = where.integer_at(i))
      std::memcpy(&bytes[static_cast<size_t>(p - 1) * size], &stored.bytes()[static_cast<size_t>(i) * size], size);
  return Constant(stored.dtype(), shape, std::move(bytes));
}

// Checks that stored results have the values of the expected ones, which are dense.
void check_results(const std::vector<Constant>& got, const std::vector<Constant>& expected,
                   const std::vector<Layout>& layouts) {
  for (size_t r = 0; r < expected.size(); ++r) {
    Constant value = unpack(got[r], layouts[r], expected[r].shape());
    double scale = 1;
    int64_t wrong = 0;
    for (int64_t i = 0; i < value.count(); ++i) scale = std::max(scale, std::abs(expected[r].number_at(i)));
    for (int64_t i = 0; i < value.count(); ++i)  // NaN is wrong
      wrong += !(std::abs(value.number_at(i) - expected[r].number_at(i)) <= tolerance(value.dtype()) * scale);
    CHECK(wrong == 0);
  }
}

// Checks that the kernel is valid, and returns what code generation makes of it if a function may have two nested loops
// and calls cost nothing, which is also valid.
Kernel check_kernel(Kernel kernel) {
  Diagnostics broken;
  verify(kernel, broken);
  Machine machine;
  machine.call_cost = 0;
  kernel.body = outline_loop_nests(legalize_vector_loops(kernel.body), 2, 2, machine);
  verify(kernel, broken);
  CHECK(broken.str() == "");
  return kernel;
}

}  // namespace

void check_schedule(const TensorFunction& f, std::vector<bool> constant, std::vector<Layout> layouts,
                    ScheduleOptions options, const std::vector<Machine>& machines, const TuningConfig& config) {
  layouts.resize(f.params.size() + f.results.size());
  std::vector<Constant> args;
  for (const Buffer& p : f.params)
    args.push_back(random_constant(p->type, p->shape, static_cast<uint32_t>(args.size() + 1)));
  EvaluationResult expected = evaluate(f, args);
  REQUIRE(expected.status == Status::ok);
  ScheduledFunction s = schedule({f, constant, layouts, machines, options, config});
  std::vector<Constant> stored;
  for (size_t k = 0; k < args.size(); ++k) stored.push_back(s.packing[k](args[k]));
  const std::vector<Layout> results(layouts.begin() + static_cast<std::ptrdiff_t>(args.size()), layouts.end());
  for (const Kernel& kernel : s.variants) {
    CAPTURE(print(kernel));
    const Kernel emitted = check_kernel(kernel);
    std::vector<Constant> as_params;
    for (size_t k = 0; k < stored.size(); ++k) {
      REQUIRE(product(kernel.params[k].buffer->shape) == Dim(stored[k].count()));
      as_params.push_back(stored[k].reshaped(static_shape(kernel.params[k].buffer->shape)));
    }
    EvaluationResult got = evaluate(kernel, as_params);
    REQUIRE(got.status == Status::ok);
    check_results(got.results, expected.results, results);
    const EvaluationResult same = evaluate(emitted, as_params);
    for (size_t r = 0; r < got.results.size(); ++r) CHECK(same.results[r].same_as(got.results[r]));
  }
}

namespace {

// The values of each symbol in the runs of a test: all sizes in turn, rotated by one for each symbol.
std::vector<Sizes> size_samples(const std::vector<Symbol>& symbols, const std::vector<int64_t>& sizes) {
  std::vector<Sizes> samples;
  for (size_t k = 0; k < sizes.size(); ++k) {
    Sizes sample;
    for (size_t j = 0; j < symbols.size(); ++j) {
      int64_t size = sizes[(k + 2 * j) % sizes.size()];
      sample[symbols[j].name] = std::clamp(size, symbols[j].low, symbols[j].high);
    }
    samples.push_back(sample);
  }
  return samples;
}

Layout at_sizes(Layout layout, const Sizes& sizes) {
  const std::map<std::string, Dim> numbers(sizes.begin(), sizes.end());
  for (Layout::Part& part : layout.parts) part.extent = part.extent.substitute(numbers);
  return layout;
}

}  // namespace

void check_symbolic_schedule(const TensorFunction& f, std::vector<bool> constant, std::vector<Layout> layouts,
                             ScheduleOptions options, const std::vector<int64_t>& sizes,
                             const std::vector<Machine>& machines) {
  constant.resize(f.params.size(), false);
  layouts.resize(f.params.size() + f.results.size());
  ScheduledFunction s = schedule({f, constant, layouts, machines, options});
  std::vector<CompiledKernel> kernels;
  for (const Kernel& kernel : s.variants) {
    CAPTURE(print(kernel));
    check_kernel(kernel);
    kernels.emplace_back(kernel);
  }
  for (const Sizes& sample : size_samples(symbols_of(f), sizes)) {
    TensorFunction at = bind_sizes(f, {sample.begin(), sample.end()});
    std::vector<Constant> args, stored;
    std::vector<Layout> results;
    for (size_t k = 0; k < f.params.size(); ++k) {
      args.push_back(random_constant(at.params[k]->type, at.params[k]->shape, static_cast<uint32_t>(k + 1)));
      stored.push_back(constant[k] ? s.packing[k](args[k]) : pack(args[k], at_sizes(layouts[k], sample)));
    }
    for (size_t r = 0; r < f.results.size(); ++r) results.push_back(at_sizes(layouts[f.params.size() + r], sample));
    EvaluationResult expected = evaluate(at, args);
    REQUIRE(expected.status == Status::ok);
    for (const auto& [name, size] : sample) stored.push_back(Constant::of<int64_t>(dtype::i64, {}, {size}));
    for (size_t k = 0; k < kernels.size(); ++k) {
      CAPTURE(print(s.variants[k]));
      CAPTURE(sample.begin()->second);
      EvaluationResult got = kernels[k].run(stored);
      REQUIRE(got.status == Status::ok);
      check_results(got.results, expected.results, results);
    }
  }
}

Shape convolved_shape(const Conv& p) {
  auto out = [&](const Dim& size) {
    return floor_div(size + Dim(2 * p.pad - (p.k - 1) * p.dilation - 1), p.stride) + Dim(1);
  };
  return {p.n, p.o, out(p.h), out(p.w)};
}

Tensor convolution_sums(Definition& d, const Tensor& x, const Tensor& w, const Conv& p, DType sums) {
  const int64_t group_inputs = p.c / p.groups, group_outputs = p.o / p.groups;
  return d.reduce("a", convolved_shape(p), sum_of(sums), {group_inputs, p.k, p.k}, [&](Index i, Index r) {
    Expr group = p.groups == 1 ? Expr(0) : floor_div(i[1], Expr(group_outputs)) * Expr(group_inputs);
    auto pixel = [&](const Expr& y, const Expr& tap) {
      return y * Expr(p.stride) + tap * Expr(p.dilation) - Expr(p.pad);
    };
    std::vector<Expr> at = {i[0], group + r[0], pixel(i[2], r[1]), pixel(i[3], r[2])};
    const DType type = compute_type(x.type());
    Expr outside = is_float(type) ? literal(type, 0.0) : literal(type, int64_t{0});
    Expr value = p.pad ? x.at_or(at, outside) : x(at);
    return cast(sums, value) * cast(sums, w(i[1], r[0], r[1], r[2]));
  });
}

TensorFunction convolution(const Conv& p) {
  Definition d("conv");
  Tensor x = d.input("x", dtype::f32, {p.n, p.c, p.h, p.w});
  Tensor w = d.input("w", dtype::f32, {p.o, p.c / p.groups, p.k, p.k});
  const Shape shape = convolved_shape(p);
  Tensor bias, skip;
  if (p.epilogue) bias = d.input("b", dtype::f32, {p.o}), skip = d.input("skip", dtype::f32, shape);
  Tensor y = convolution_sums(d, x, w, p, dtype::f32);
  if (p.epilogue)
    d.result("y", dtype::f32, shape, [&](Index i) {
      Expr sum = y(i) + bias(i[1]) + skip(i);
      return p.smooth ? sum * sigmoid(sum) : max(literal(dtype::f32, 0.0), sum);
    });
  else
    d.mark_result(y);
  return d.finish();
}

TensorFunction depthwise(const Depthwise& p, DepthwiseEpilogue epilogue) {
  auto out = [&](const Dim& size) {
    return floor_div(size + Dim(2 * p.pad - (p.k - 1) * p.dilation - 1), p.stride) + Dim(1);
  };
  auto at = [&](const Expr& i, const Expr& r) { return i * Expr(p.stride) + r * Expr(p.dilation) - Expr(p.pad); };
  Shape shape = {p.n, p.c, out(p.h), out(p.w)};
  Definition d("depthwise");
  Tensor x = d.input("x", dtype::f32, {p.n, p.c, p.h, p.w}), w = d.input("w", dtype::f32, {p.c, 1, p.k, p.k});
  Tensor bias = d.input("b", dtype::f32, {p.c}), skip = d.input("skip", dtype::f32, shape);
  Tensor y = d.reduce("a", shape, sum_of(dtype::f32), {1, p.k, p.k}, [&](Index i, Index r) {
    std::vector<Expr> index = {i[0], i[1] + r[0], at(i[2], r[1]), at(i[3], r[2])};
    return (p.pad ? x.at_or(index, literal(dtype::f32, 0.0)) : x(index)) * w(i[1], r[0], r[1], r[2]);
  });
  auto value = [&](Index i) {
    Expr sum = y(i) + bias(i[1]);
    if (epilogue == DepthwiseEpilogue::sigmoid) return sum * sigmoid(sum);
    if (epilogue == DepthwiseEpilogue::residual) return y(i) + skip(i);
    return min(literal(dtype::f32, 6.0), max(literal(dtype::f32, 0.0), sum));
  };
  if (epilogue == DepthwiseEpilogue::nothing)
    d.mark_result(y);
  else
    d.result("y", dtype::f32, shape, value);
  return d.finish();
}

TensorFunction chain(const TensorFunction& first, const TensorFunction& second) {
  std::vector<Buffer> params;
  std::vector<Part> parts = {{first, {}}, {second, {{0, 0}}}};
  auto add = [&](Part& part, const Buffer& like) {
    part.operands.push_back({-1, static_cast<int>(params.size())});
    params.push_back(make_buffer("p" + std::to_string(params.size()), like->type, like->shape));
  };
  for (const Buffer& p : first.params) add(parts[0], p);
  for (size_t k = 1; k < second.params.size(); ++k) add(parts[1], second.params[k]);
  return compose("chain", params, parts, {{1, 0}});
}

std::vector<bool> weights_constant(const TensorFunction& f) {
  std::vector<bool> constant(f.params.size(), false);
  constant[1] = true;
  return constant;
}

Layout channels16(const TensorFunction& f, size_t which) {
  const Buffer& b = which < f.params.size() ? f.params[which] : f.results[which - f.params.size()];
  return blocked_layout(b->shape, 1, 16, Layout::Tail::unspecified);
}

std::vector<Layout> halo_layouts(const TensorFunction& f, const std::vector<bool>& constant,
                                 const ScheduleOptions& options, const Machine& machine) {
  std::vector<Layout> layouts(f.params.size() + 1);
  layouts[0] = with_halo(channels16(f, 0), f.params[0]->shape, wanted_halo(f, 0, constant, options, machine));
  Layout& result = layouts.back() = channels16(f, f.params.size());
  auto widen = [](Layout::Part& part, int64_t halo, int64_t by) {
    part.halo = halo, part.extent = part.extent + Dim(by);
  };
  widen(result.parts[2], 1, 3), widen(result.parts[3], 2, 2);
  if (f.params.size() > 3) layouts[3] = result;
  return layouts;
}

TensorFunction parse_function(const std::string& text) {
  Diagnostics d;
  auto parsed = parse(text, "t.tir", d);
  REQUIRE_MESSAGE(parsed, d.str());
  return parsed->functions.at(0);
}

}  // namespace dlcc::test
