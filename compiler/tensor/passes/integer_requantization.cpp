#include "tensor/passes/integer_requantization.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tensor/analysis.h"
#include "tensor/evaluate.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

namespace {

using Known = std::map<Buffer, const Constant*>;

// Bounds of an expression that does not decrease with the sum.
struct Bounds {
  double low, high;
  bool varies = false, has_floats = false;  // depends on the sum; computes floats

  double magnitude() const { return std::max(std::abs(low), std::abs(high)); }
};

bool is_arithmetic_type(DType t) {
  return t == dtype::f32 || t == dtype::i32 || (is_integer(t) && (bits(t) == 8 || bits(t) == 16));
}

// Bounds of integers are exact. Those of floats contain all rounding errors.
std::optional<Bounds> checked(DType type, Bounds b) {
  if (type == dtype::f32) {
    constexpr double relative_error = 0x1p-22, largest = 0x1p126;
    b.low -= std::abs(b.low) * relative_error, b.high += std::abs(b.high) * relative_error;
    b.has_floats = true;
    return b.magnitude() < largest ? std::optional(b) : std::nullopt;
  }
  const IntegerLimits limits = integer_limits(type);
  const bool fits = b.low >= static_cast<double>(limits.low) && b.high <= static_cast<double>(limits.high);
  return fits ? std::optional(b) : std::nullopt;
}

// Derives bounds of expressions over the elements of `sums`, of constants, and of bytes.
class BoundsFinder {
 public:
  BoundsFinder(const Known& known, const BufferNode* sums, double largest_sum)
      : known_(known), sums_(sums), largest_sum_(largest_sum) {}

  // Empty for an expression that may decrease with the sum, overflow or be NaN, or that depends on anything else. A
  // shared expression is visited once.
  std::optional<Bounds> of(const Expr& e) {
    auto [found, is_new] = bounds_.try_emplace(e.get());
    if (is_new) found->second = is_arithmetic_type(e.type()) ? compute(e) : std::nullopt;
    return found->second;
  }

 private:
  std::optional<Bounds> compute(const Expr& e) {
    if (const auto* x = as<Literal>(e)) {
      const double value = is_float(e.type()) ? x->number : static_cast<double>(x->integer);
      return std::isfinite(value) ? std::optional(Bounds{value, value}) : std::nullopt;
    }
    if (const auto* x = as<Load>(e)) return of_load(*x);
    if (const auto* x = as<Cast>(e)) return of_cast(e.type(), x->a);
    if (const auto* x = as<Unary>(e)) return of_rounding(*x);
    if (const auto* x = as<Binary>(e)) return of_binary(e.type(), *x);
    return std::nullopt;
  }

  std::optional<Bounds> of_load(const Load& x) const {
    if (x.buffer.get() == sums_) return Bounds{-largest_sum_, largest_sum_, true};
    const auto it = known_.find(x.buffer);
    if (it == known_.end() || x.otherwise) return std::nullopt;
    Bounds b{INFINITY, -INFINITY};
    for (int64_t k = 0; k < it->second->count(); ++k) {
      const double value =
          is_float(x.buffer->type) ? it->second->number_at(k) : static_cast<double>(it->second->integer_at(k));
      if (!std::isfinite(value)) return std::nullopt;
      b.low = std::min(b.low, value), b.high = std::max(b.high, value);
    }
    return b.low <= b.high ? std::optional(b) : std::nullopt;
  }

  std::optional<Bounds> of_cast(DType to, const Expr& a) {
    std::optional<Bounds> b = of(a);
    if (!b || !is_float(a.type()) || is_float(to)) return b ? checked(to, *b) : b;
    const IntegerLimits limits = integer_limits(to);  // the conversion saturates
    const double low = static_cast<double>(limits.low), high = static_cast<double>(limits.high);
    b->low = std::clamp(std::trunc(b->low), low, high), b->high = std::clamp(std::trunc(b->high), low, high);
    return b;
  }

  std::optional<Bounds> of_rounding(const Unary& x) {
    std::optional<Bounds> b = of(x.a);
    using enum UnaryOp;
    const bool rounds = x.op == floor || x.op == ceil || x.op == trunc || x.op == round_even;
    if (!b || !rounds) return std::nullopt;
    b->low = std::floor(b->low), b->high = std::ceil(b->high);
    return b;
  }

  std::optional<Bounds> of_binary(DType type, const Binary& x) {
    const std::optional<Bounds> a = of(x.a), b = of(x.b);
    if (!a || !b) return std::nullopt;
    Bounds result{0, 0, a->varies || b->varies, a->has_floats || b->has_floats};
    switch (x.op) {
      case BinaryOp::add:
        result.low = a->low + b->low, result.high = a->high + b->high;
        break;
      case BinaryOp::sub:
        if (b->varies) return std::nullopt;
        result.low = a->low - b->high, result.high = a->high - b->low;
        break;
      case BinaryOp::mul: {
        if ((a->varies && b->low < 0) || (b->varies && a->low < 0)) return std::nullopt;
        const auto [low, high] = std::minmax({a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
        result.low = low, result.high = high;
        break;
      }
      case BinaryOp::div: {
        if (!is_float(type) || b->varies || b->low <= 0) return std::nullopt;
        const auto [low, high] = std::minmax({a->low / b->low, a->low / b->high, a->high / b->low, a->high / b->high});
        result.low = low, result.high = high;
        break;
      }
      case BinaryOp::min:
        result.low = std::min(a->low, b->low), result.high = std::min(a->high, b->high);
        break;
      case BinaryOp::max:
        result.low = std::max(a->low, b->low), result.high = std::max(a->high, b->high);
        break;
      default:
        return std::nullopt;
    }
    return checked(type, result);
  }

  const Known& known_;
  const BufferNode* sums_;
  double largest_sum_;
  std::map<const ExprNode*, std::optional<Bounds>> bounds_;
};

// A bound of the magnitude of an integer expression over elements of at most 16 bits.
std::optional<double> largest_magnitude(const Expr& e) {
  if (const auto* x = as<Literal>(e)) return std::abs(static_cast<double>(x->integer));
  if (const auto* x = as<Cast>(e)) return is_integer(x->a.type()) ? largest_magnitude(x->a) : std::nullopt;
  if (as<Load>(e) && is_integer(e.type()) && bits(e.type()) <= 16) {
    const IntegerLimits limits = integer_limits(e.type());
    return static_cast<double>(std::max(-limits.low, limits.high));
  }
  const auto* x = as<Binary>(e);
  const auto a = x ? largest_magnitude(x->a) : std::nullopt, b = x ? largest_magnitude(x->b) : std::nullopt;
  if (!a || !b) return std::nullopt;
  if (x->op == BinaryOp::mul) return *a * *b;
  return x->op == BinaryOp::add || x->op == BinaryOp::sub ? std::optional(*a + *b) : std::nullopt;
}

// A bound of the magnitude of all elements that the stage computes, if it is a sum in int32.
std::optional<int64_t> largest_sum(const Stage& s) {
  if (!s.reduction || s.results.size() != 1 || s.results[0]->type != dtype::i32) return std::nullopt;
  if (reducer_kind(*s.reduction) != ReducerKind::sum) return std::nullopt;
  std::optional<double> bound = largest_magnitude(s.values[0]);
  for (const Axis& axis : s.reduction->axes) {
    if (!axis.extent.is_constant()) return std::nullopt;
    if (bound) *bound *= static_cast<double>(axis.extent.value());
  }
  constexpr double most = (1 << 30) - 2;  // the difference of two sums is an int32
  return bound && *bound <= most ? std::optional(static_cast<int64_t>(*bound)) : std::nullopt;
}

// The expression that is replaced, with the axis that it depends on.
struct Requantizer {
  Expr value;
  int64_t low, high;  // its bounds
  std::optional<Axis> channel;

  int64_t channels() const { return channel ? channel->extent.value() : 1; }
};

class RequantizerFinder {
 public:
  RequantizerFinder(const Stage& epilogue, const Known& known, const BufferNode* sums, int64_t largest_sum)
      : epilogue_(epilogue), bounds_(known, sums, static_cast<double>(largest_sum)), sums_(sums) {}

  // The outermost one in the expression, in the order of operands.
  std::optional<Requantizer> find(const Expr& e) {
    if (!visited_.insert(e.get()).second) return std::nullopt;
    if (auto found = requantizer(e)) return found;
    std::optional<Requantizer> inner;
    for_each_operand(*e, [&](const Expr& operand) {
      if (!inner) inner = find(operand);
    });
    return inner;
  }

 private:
  std::optional<Requantizer> requantizer(const Expr& e) {
    constexpr double most_steps = 255;
    if (!is_integer(e.type())) return std::nullopt;
    const std::optional<Bounds> b = bounds_.of(e);
    if (!b || !b->varies || !b->has_floats || b->high - b->low > most_steps) return std::nullopt;
    Requantizer r{e, static_cast<int64_t>(b->low), static_cast<int64_t>(b->high), {}};
    for (const Load& load : loads_of(e)) {
      if (load.buffer.get() == sums_) continue;
      for (const Expr& index : load.indices) {
        if (as<Literal>(index)) continue;
        const Axis* axis = axis_at(index);
        if (!axis || !axis->extent.is_constant() || (r.channel && r.channel->var != axis->var)) return std::nullopt;
        r.channel = *axis;
      }
    }
    return r;
  }

  const Axis* axis_at(const Expr& index) const {
    const auto it = std::ranges::find_if(epilogue_.axes, [&](const Axis& a) { return is_var(index, a.var); });
    return it == epilogue_.axes.end() ? nullptr : &*it;
  }

  const Stage& epilogue_;
  BoundsFinder bounds_;
  const BufferNode* sums_;
  std::set<const ExprNode*> visited_;
};

// The values of a requantizer for all sums from -largest_sum to largest_sum, for each channel.
struct Values {
  std::vector<Steps> steps;
  int64_t low, high;  // the least and the largest value of all channels
};

class StepFinder {
 public:
  StepFinder(const Requantizer& r, const Known& known, const BufferNode* sums, int64_t largest_sum)
      : r_(r), largest_sum_(largest_sum), thresholds_(r.high - r.low), shape_{r.channels(), r.high - r.low} {
    const Axis channel = r.channel ? *r.channel : Axis{make_var("c"), Dim(1)};
    const Axis threshold{make_var("t"), Dim(thresholds_)};
    const Shape shape = {channel.extent, threshold.extent};
    const Buffer at = make_buffer("at", dtype::i32, shape), values = make_buffer("values", dtype::i32, shape);
    auto at_threshold = [&](const Expr& e) {
      const Load* x = as<Load>(e);
      return x && x->buffer.get() == sums ? load(at, {channel.var, threshold.var}) : e;
    };
    TensorFunction f{"requantize", {at}, {values}, {}};
    std::set<Buffer> read;
    for (const Load& x : loads_of(r.value))
      if (x.buffer.get() != sums && read.insert(x.buffer).second)
        f.params.push_back(x.buffer), constants_.push_back(*known.at(x.buffer));
    f.stages.push_back(
        {{values}, {channel, threshold}, {}, {}, {cast(dtype::i32, rewrite(r.value, at_threshold))}, {}});
    compiled_.emplace(f);
  }

  // For each channel the least sum that has each value above the lowest one, by binary search for all of them together.
  Values find() {
    const size_t count = static_cast<size_t>(r_.channels() * thresholds_);
    std::vector<int32_t> below(count, static_cast<int32_t>(-largest_sum_ - 1)),
        reaching(count, static_cast<int32_t>(largest_sum_ + 1)), middle(count);
    for (int64_t width = 2 * largest_sum_ + 2; width > 1; width = (width + 1) / 2) {
      for (size_t k = 0; k < count; ++k) middle[k] = below[k] + (reaching[k] - below[k]) / 2;
      const Constant values = compiled_->run(arguments(middle)).results[0];
      for (size_t k = 0; k < count; ++k) {
        if (reaching[k] - below[k] <= 1) continue;
        (values.as<int32_t>()[k] >= value_of(k) ? reaching : below)[k] = middle[k];
      }
    }
    return values(below, reaching);
  }

 private:
  int64_t value_of(size_t k) const { return r_.low + 1 + static_cast<int64_t>(k) % thresholds_; }

  std::vector<Constant> arguments(const std::vector<int32_t>& sums) const {
    std::vector<Constant> result = {Constant::of(dtype::i32, shape_, sums)};
    result.insert(result.end(), constants_.begin(), constants_.end());
    return result;
  }

  // Values that all sums of all channels reach, or none, need no bound: the number is clamped.
  Values values(const std::vector<int32_t>& below, const std::vector<int32_t>& reaching) const {
    Values result{std::vector<Steps>(static_cast<size_t>(r_.channels())), r_.high, r_.low};
    for (size_t k = 0; k < below.size(); ++k) {
      if (below[k] >= -largest_sum_) result.low = std::min(result.low, value_of(k) - 1);
      if (reaching[k] <= largest_sum_) result.high = std::max(result.high, value_of(k));
    }
    for (size_t k = 0; k < below.size(); ++k) {
      Steps& s = result.steps[k / static_cast<size_t>(thresholds_)];
      if (value_of(k) <= result.low || value_of(k) > result.high) continue;
      if (reaching[k] <= largest_sum_) s.reaches.push_back({reaching[k], value_of(k)});
      if (below[k] >= -largest_sum_) s.stays_below.push_back({below[k], value_of(k)});
    }
    return result;
  }

  const Requantizer& r_;
  int64_t largest_sum_, thresholds_;
  std::vector<int64_t> shape_;
  std::vector<Constant> constants_;
  std::optional<CompiledKernel> compiled_;
};

// A parameter with an element for each channel, or a literal if there is one channel.
class Factors {
 public:
  Factors(const Requantizer& r, IntegerRequantization& result) : r_(r), result_(result) {}

  Expr operator()(const char* name, const std::vector<int32_t>& values) {
    if (!r_.channel) return literal(dtype::i32, int64_t{values[0]});
    const Buffer b = make_buffer(name, dtype::i32, {r_.channel->extent});
    result_.function.params.push_back(b);
    result_.constants.push_back(Constant::of(dtype::i32, {r_.channels()}, values));
    return load(b, {r_.channel->var});
  }

 private:
  const Requantizer& r_;
  IntegerRequantization& result_;
};

Expr in_integers(const Requantizer& r, const Values& values, const FixedPoint& p, const Expr& sum,
                 IntegerRequantization& result) {
  std::vector<int32_t> multipliers, offsets;
  for (const FixedPointFactors& f : p.factors) multipliers.push_back(f.multiplier), offsets.push_back(f.offset);
  Factors factors(r, result);
  const Expr multiplier = factors("multiplier", multipliers), offset = factors("offset", offsets);
  const Expr number = fixed_point_number(p.format, sum, multiplier, offset);
  const Expr low = literal(dtype::i32, values.low), high = literal(dtype::i32, values.high);
  const Expr rounded = binary(BinaryOp::shr, number, literal(dtype::i32, int64_t{p.format.fraction}));
  return select(is_in_doubt(p.format, number), r.value, cast(r.value.type(), max(min(rounded, high), low)));
}

std::optional<IntegerRequantization> requantize(const TensorFunction& f, const Known& known, size_t sum_stage,
                                                size_t epilogue, const FixedPointLimits& limits) {
  const Stage &s = f.stages[sum_stage], &e = f.stages[epilogue];
  const std::optional<int64_t> largest = largest_sum(s);
  if (!largest || !is_plain(e) || e.reduction || !reads_at_own_index(e, s.results[0].get())) return std::nullopt;
  const BufferNode* sums = s.results[0].get();
  const auto found = RequantizerFinder(e, known, sums, *largest).find(e.values[0]);
  if (!found) return std::nullopt;
  const Values values = StepFinder(*found, known, sums, *largest).find();
  const auto fixed = fit_fixed_point(values.steps, *largest, limits);
  if (!fixed) return std::nullopt;
  IntegerRequantization result{f, {}, fixed->format};
  const std::vector<Load> loads = loads_of(found->value);
  const Load& sum = *std::ranges::find(loads, sums, [](const Load& x) { return x.buffer.get(); });
  const Expr value = in_integers(*found, values, *fixed, load(sum.buffer, sum.indices), result);
  Expr& changed = result.function.stages[epilogue].values[0];
  changed = rewrite(changed, [&](const Expr& x) { return x.same_node(found->value) ? value : x; });
  return result;
}

}  // namespace

std::optional<IntegerRequantization> requantize_in_integers(const TensorFunction& f,
                                                            const std::vector<const Constant*>& known,
                                                            const FixedPointLimits& limits) {
  Known constants;
  for (size_t k = 0; k < known.size(); ++k)
    if (known[k]) constants.emplace(f.params[k], known[k]);
  for (size_t epilogue = 1; epilogue < f.stages.size(); ++epilogue)
    for (size_t sum = 0; sum < epilogue; ++sum)
      if (auto result = requantize(f, constants, sum, epilogue, limits)) return result;
  return std::nullopt;
}

}  // namespace dlcc::tensor
