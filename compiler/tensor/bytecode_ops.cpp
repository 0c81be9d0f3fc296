// The instructions of the evaluator's bytecode: arithmetic, casts and comparisons, one typed loop each.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "support/float_formats.h"
#include "tensor/bytecode.h"
#include "tensor/bytecode_access.h"

namespace dlcc::tensor::bytecode {
namespace {

// ---- the meaning of scalar operations (semantics in ir.h) -----------------------------------------------------------

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
T wrapping(BinaryOp op, T a, T b) {
  // In the unsigned type of at least int's width, so that nothing is promoted to a signed type that could overflow.
  using U = std::conditional_t<(sizeof(T) < 4), uint32_t, Unsigned<T>>;
  U x = static_cast<U>(a), y = static_cast<U>(b);
  switch (op) {
    case BinaryOp::add:
      return static_cast<T>(x + y);
    case BinaryOp::sub:
      return static_cast<T>(x - y);
    default:
      return static_cast<T>(x * y);
  }
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return x != x;
  return false;
}

template <class T>
T quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a / b;
  else if (b == 0)
    return 0;
  else if constexpr (std::is_signed_v<T>)
    return b == -1 ? wrapping<T>(BinaryOp::sub, 0, a) : static_cast<T>(a / b);
  else
    return static_cast<T>(a / b);
}

template <class T>
T remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(a, b);
  else if (b == 0)
    return 0;
  else if constexpr (std::is_signed_v<T>)
    return b == -1 ? 0 : static_cast<T>(a % b);
  else
    return static_cast<T>(a % b);
}

template <class T>
T floor_remainder(T a, T b) {
  T r = remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
}

template <class T>
T floor_quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::floor(a / b);
  else {
    T q = quotient(a, b), r = remainder(a, b);
    return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(q - 1) : q;
  }
}

template <class T>
T shift_left(T a, T b) {
  if (b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8) return 0;
  return static_cast<T>(static_cast<uint64_t>(a) << b);
}

template <class T>
T shift_right(T a, T b) {
  if (b < 0 || static_cast<uint64_t>(b) >= sizeof(T) * 8) return a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> b);
}

template <class T>
T power(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::pow(a, b);
  else {
    if (b < 0) return a == 1 ? 1 : a == static_cast<T>(-1) ? static_cast<T>(b & 1 ? -1 : 1) : 0;
    T result = 1;
    for (Unsigned<T> n = static_cast<Unsigned<T>>(b); n; n >>= 1) {
      if (n & 1) result = wrapping(BinaryOp::mul, result, a);
      a = wrapping(BinaryOp::mul, a, a);
    }
    return result;
  }
}

// The sum rounded to odd: inexact results get an odd last bit, so that rounding once more to a format with at least two
// bits less gives what a single rounding would (Boldo and Melquiond, 2008).
double add_to_odd(double a, double b) {
  double s = a + b, t = s - a, error = (a - (s - t)) + (b - t);
  uint64_t bits = std::bit_cast<uint64_t>(s);
  if (error == 0 || s != s || std::isinf(s) || bits & 1) return s;
  // An even last bit: step towards the exact value.
  bool away = (error > 0) == (s > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

float fma_of(float a, float b, float c) {
  double product = static_cast<double>(a) * b;  // exact
  return static_cast<float>(add_to_odd(product, c));
}
double fma_of(double a, double b, double c) { return std::fma(a, b, c); }

// float64 to float32, rounded to odd.
float narrow_to_odd(double x) {
  float f = static_cast<float>(x);
  if (f != f || static_cast<double>(f) == x) return f;
  uint32_t bits = std::bit_cast<uint32_t>(f);
  if (std::isinf(f)) return std::isinf(x) ? f : std::bit_cast<float>(bits - 1);  // the largest finite value is odd
  if (std::abs(static_cast<double>(f)) > std::abs(x)) --bits;                    // now truncated
  return std::bit_cast<float>(bits | 1);
}

template <class To, class From>
To cast_value(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    constexpr From lowest = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From above = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
    if (x <= lowest) return std::numeric_limits<To>::min();
    if (x >= above) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// ---- loops over lanes -----------------------------------------------------------------------------------------------

template <class T, class R, class F>
void over(Frame& f, const Instruction& i, F op) {
  const T* a = reg<T>(f, i.a);
  R* d = reg<R>(f, i.dst);
  int64_t n = i.vector ? f.lanes : 1;
  if (i.a_scalar) {
    R r = op(*a);
    for (int64_t l = 0; l < n; ++l) d[l] = r;
    return;
  }
#pragma GCC ivdep
  for (int64_t l = 0; l < n; ++l) d[l] = op(a[l]);
}

template <class T, class R, class F>
void over2(Frame& f, const Instruction& i, F op) {
  const T *a = reg<T>(f, i.a), *b = reg<T>(f, i.b);
  R* d = reg<R>(f, i.dst);
  int64_t n = i.vector ? f.lanes : 1;
  if (i.a_scalar) {
    T x = *a;
    int step = i.b_scalar ? 0 : 1;
    if (step) {
#pragma GCC ivdep
      for (int64_t l = 0; l < n; ++l) d[l] = op(x, b[l]);
    } else {
      R r = op(x, *b);
      for (int64_t l = 0; l < n; ++l) d[l] = r;
    }
  } else if (i.b_scalar) {
    T y = *b;
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l], y);
  } else {
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l], b[l]);
  }
}

template <class T, class F>
void over3(Frame& f, const Instruction& i, F op) {
  const T *a = reg<T>(f, i.a), *b = reg<T>(f, i.b), *c = reg<T>(f, i.c);
  T* d = reg<T>(f, i.dst);
  int64_t n = i.vector ? f.lanes : 1;
  if (!i.a_scalar && i.b_scalar && !i.c_scalar) {
    T y = *b;
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l], y, c[l]);
  } else if (i.a_scalar && !i.b_scalar && !i.c_scalar) {
    T x = *a;
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(x, b[l], c[l]);
  } else if (!i.a_scalar && !i.b_scalar && !i.c_scalar) {
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l], b[l], c[l]);
  } else {
    int64_t p = !i.a_scalar, q = !i.b_scalar, r = !i.c_scalar;
    for (int64_t l = 0; l < n; ++l) d[l] = op(a[l * p], b[l * q], c[l * r]);
  }
}

template <UnaryOp op, class T>
T apply(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case UnaryOp::negate:
        return -x;
      case UnaryOp::abs:
        return std::fabs(x);
      case UnaryOp::floor:
        return std::floor(x);
      case UnaryOp::ceil:
        return std::ceil(x);
      case UnaryOp::trunc:
        return std::trunc(x);
      case UnaryOp::round_even:
        return std::nearbyint(x);
      case UnaryOp::sqrt:
        return std::sqrt(x);
      case UnaryOp::exp:
        return std::exp(x);
      case UnaryOp::log:
        return std::log(x);
      case UnaryOp::tanh:
        return std::tanh(x);
      case UnaryOp::erf:
        return std::erf(x);
      case UnaryOp::sigmoid:
        return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
      case UnaryOp::sin:
        return std::sin(x);
      case UnaryOp::cos:
        return std::cos(x);
      default:
        DLCC_UNREACHABLE("not an operation of floats");
    }
  } else {
    switch (op) {
      case UnaryOp::negate:
        return wrapping<T>(BinaryOp::sub, 0, x);
      case UnaryOp::abs:
        return x < 0 ? wrapping<T>(BinaryOp::sub, 0, x) : x;
      case UnaryOp::bit_not:
        return static_cast<T>(~x);
      case UnaryOp::floor:
      case UnaryOp::ceil:
      case UnaryOp::trunc:
      case UnaryOp::round_even:
        return x;
      default:
        DLCC_UNREACHABLE("not an operation of integers");
    }
  }
}

template <BinaryOp op, class T>
auto apply(T a, T b) {
  if constexpr (op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul) {
    if constexpr (std::is_floating_point_v<T>)
      return op == BinaryOp::add ? a + b : op == BinaryOp::sub ? a - b : a * b;
    else
      return wrapping<T>(op, a, b);
  } else if constexpr (op == BinaryOp::div)
    return quotient(a, b);
  else if constexpr (op == BinaryOp::rem)
    return remainder(a, b);
  else if constexpr (op == BinaryOp::floor_div)
    return floor_quotient(a, b);
  else if constexpr (op == BinaryOp::floor_mod)
    return floor_remainder(a, b);
  else if constexpr (op == BinaryOp::max)
    return is_nan(a) ? a : a > b ? a : b;
  else if constexpr (op == BinaryOp::min)
    return is_nan(a) ? a : a < b ? a : b;
  else if constexpr (op == BinaryOp::pow)
    return power(a, b);
  else if constexpr (op == BinaryOp::eq)
    return a == b;
  else if constexpr (op == BinaryOp::ne)
    return a != b;
  else if constexpr (op == BinaryOp::lt)
    return a < b;
  else if constexpr (op == BinaryOp::le)
    return a <= b;
  else if constexpr (op == BinaryOp::gt)
    return a > b;
  else if constexpr (op == BinaryOp::ge)
    return a >= b;
  else if constexpr (op == BinaryOp::bit_and)
    return static_cast<T>(a & b);
  else if constexpr (op == BinaryOp::bit_or)
    return static_cast<T>(a | b);
  else if constexpr (op == BinaryOp::bit_xor)
    return static_cast<T>(a ^ b);
  else if constexpr (op == BinaryOp::shl)
    return shift_left(a, b);
  else
    return shift_right(a, b);
}

template <UnaryOp op, class T>
void execute_unary(Frame& f, const Instruction& i) {
  over<T, T>(f, i, [](T x) { return apply<op, T>(x); });
}

template <BinaryOp op, class T>
void execute_binary(Frame& f, const Instruction& i) {
  using R = decltype(apply<op, T>(T{}, T{}));
  over2<T, R>(f, i, [](T a, T b) { return apply<op, T>(a, b); });
}

template <BinaryOp op>
void execute_bool(Frame& f, const Instruction& i) {
  over2<bool, bool>(f, i, [](bool a, bool b) -> bool {
    switch (op) {
      case BinaryOp::logical_and:
      case BinaryOp::bit_and:
      case BinaryOp::mul:
      case BinaryOp::min:
        return a & b;
      case BinaryOp::logical_or:
      case BinaryOp::bit_or:
      case BinaryOp::add:
      case BinaryOp::max:
        return a | b;
      case BinaryOp::logical_xor:
      case BinaryOp::bit_xor:
      case BinaryOp::ne:
        return a != b;
      case BinaryOp::eq:
        return a == b;
      case BinaryOp::lt:
        return a < b;
      case BinaryOp::le:
        return a <= b;
      case BinaryOp::gt:
        return a > b;
      case BinaryOp::ge:
        return a >= b;
      default:
        DLCC_UNREACHABLE("not an operation of bools");
    }
  });
}

template <UnaryOp op>
Execute unary_for(Kind kind) {
  return with_kind(kind, [](auto x) -> Execute {
    using T = decltype(x);
    if constexpr (op == UnaryOp::logical_not) {
      return [](Frame& f, const Instruction& i) { over<bool, bool>(f, i, [](bool v) { return !v; }); };
    } else if constexpr (op == UnaryOp::is_nan) {
      return [](Frame& f, const Instruction& i) { over<T, bool>(f, i, [](T v) { return is_nan(v); }); };
    } else if constexpr (op == UnaryOp::is_inf) {
      return [](Frame& f, const Instruction& i) {
        over<T, bool>(f, i, [](T v) {
          if constexpr (std::is_floating_point_v<T>)
            return v == std::numeric_limits<T>::infinity() || v == -std::numeric_limits<T>::infinity();
          return false;
        });
      };
    } else if constexpr (std::is_same_v<T, bool>) {
      DLCC_UNREACHABLE("not an operation of bools");
    } else {
      return &execute_unary<op, T>;
    }
  });
}

template <BinaryOp op>
Execute binary_for(Kind kind) {
  constexpr bool logical = op == BinaryOp::logical_and || op == BinaryOp::logical_or || op == BinaryOp::logical_xor;
  constexpr bool of_bits = op == BinaryOp::bit_and || op == BinaryOp::bit_or || op == BinaryOp::bit_xor ||
                           op == BinaryOp::shl || op == BinaryOp::shr;
  return with_kind(kind, [](auto x) -> Execute {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, bool>)
      return &execute_bool<op>;
    else if constexpr (logical || (of_bits && std::is_floating_point_v<T>))
      DLCC_UNREACHABLE("operand type");
    else
      return &execute_binary<op, T>;
  });
}

template <class T>
void over_select(Frame& f, const Instruction& i) {
  const bool* c = reg<bool>(f, i.a);
  const T *a = reg<T>(f, i.b), *b = reg<T>(f, i.c);
  T* d = reg<T>(f, i.dst);
  int64_t n = i.vector ? f.lanes : 1, p = !i.a_scalar, q = !i.b_scalar, r = !i.c_scalar;
  if (i.a_scalar) {
    const T* from = *c ? a : b;
    int64_t step = *c ? q : r;
    for (int64_t l = 0; l < n; ++l) d[l] = from[l * step];
  } else if (q && r) {
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = c[l] ? a[l] : b[l];
  } else {
    for (int64_t l = 0; l < n; ++l) d[l] = c[l * p] ? a[l * q] : b[l * r];
  }
}

}  // namespace

Execute unary_instruction(UnaryOp op, Kind kind) {
  switch (op) {
#define UNARY(name, text) \
  case UnaryOp::name:     \
    return unary_for<UnaryOp::name>(kind);
#define BINARY(name, text, infix)
#include "tensor/ops.def"
#undef UNARY
#undef BINARY
  }
  DLCC_UNREACHABLE("unary operation {}", static_cast<int>(op));
}

Execute binary_instruction(BinaryOp op, Kind kind) {
  switch (op) {
#define UNARY(name, text)
#define BINARY(name, text, infix) \
  case BinaryOp::name:            \
    return binary_for<BinaryOp::name>(kind);
#include "tensor/ops.def"
#undef UNARY
#undef BINARY
  }
  DLCC_UNREACHABLE("binary operation {}", static_cast<int>(op));
}

#if defined(__x86_64__)
namespace {

double hardware_fma(double a, double b, double c) __attribute__((target("avx2,fma"), always_inline));
float hardware_fma(float a, float b, float c) __attribute__((target("avx2,fma"), always_inline));
inline double hardware_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float hardware_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// The same values from the host's instruction, where it has one.
template <class T>
__attribute__((target("avx2,fma"))) void execute_hardware_fma(Frame& f, const Instruction& i) {
  const T *a = reg<T>(f, i.a), *b = reg<T>(f, i.b), *c = reg<T>(f, i.c);
  T* d = reg<T>(f, i.dst);
  int64_t n = i.vector ? f.lanes : 1;
  if (i.a_scalar && !i.b_scalar && !i.c_scalar) {
    T x = *a;
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = hardware_fma(x, b[l], c[l]);
  } else if (!i.a_scalar && !i.b_scalar && !i.c_scalar) {
#pragma GCC ivdep
    for (int64_t l = 0; l < n; ++l) d[l] = hardware_fma(a[l], b[l], c[l]);
  } else {
    int64_t p = !i.a_scalar, q = !i.b_scalar, r = !i.c_scalar;
    for (int64_t l = 0; l < n; ++l) d[l] = hardware_fma(a[l * p], b[l * q], c[l * r]);
  }
}

}  // namespace
#endif

Execute fma_instruction(Kind kind) {
#if defined(__x86_64__)
  static const bool hardware = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (hardware) return kind == Kind::f64 ? &execute_hardware_fma<double> : &execute_hardware_fma<float>;
#endif
  if (kind == Kind::f64)
    return [](Frame& f, const Instruction& i) {
      over3<double>(f, i, [](double a, double b, double c) { return fma_of(a, b, c); });
    };
  return [](Frame& f, const Instruction& i) {
    over3<float>(f, i, [](float a, float b, float c) { return fma_of(a, b, c); });
  };
}

Execute mul_add_instruction(Kind kind) {
  return with_kind(kind, [](auto x) -> Execute {
    using T = decltype(x);
    if constexpr (std::is_same_v<T, bool>)
      DLCC_UNREACHABLE("multiply-add of bools");
    else
      return [](Frame& f, const Instruction& i) {
        over3<T>(f, i, [](T a, T b, T c) { return apply<BinaryOp::add, T>(apply<BinaryOp::mul, T>(a, b), c); });
      };
  });
}

Execute select_instruction(Kind kind) {
  return with_kind(kind, [](auto x) -> Execute {
    using T = decltype(x);
    return [](Frame& f, const Instruction& i) { over_select<T>(f, i); };
  });
}

Execute copy_instruction(Kind kind) {
  return with_kind(kind, [](auto x) -> Execute {
    using T = decltype(x);
    return [](Frame& f, const Instruction& i) { over<T, T>(f, i, [](T v) { return v; }); };
  });
}

Execute cast_instruction(Kind from, Kind to) {
  return with_kind(from, [to](auto x) -> Execute {
    using From = decltype(x);
    return with_kind(to, [](auto y) -> Execute {
      using To = decltype(y);
      return
          [](Frame& f, const Instruction& i) { over<From, To>(f, i, [](From v) { return cast_value<To, From>(v); }); };
    });
  });
}

Execute round_instruction(DType type, Kind kind, bool saturate) {
  switch (type) {
    case DType::float16_:
      return [](Frame& f, const Instruction& i) {
        over<float, float>(f, i, [](float v) { return half_to_float(float_to_half(v)); });
      };
    case DType::bfloat16_:
      return [](Frame& f, const Instruction& i) {
        over<float, float>(f, i, [](float v) { return bfloat16_to_float(float_to_bfloat16(v)); });
      };
#define FLOAT8(t)                                                                                                  \
  case DType::t:                                                                                                   \
    if (saturate)                                                                                                  \
      return [](Frame& f, const Instruction& i) {                                                                  \
        over<float, float>(f, i,                                                                                   \
                           [](float v) { return float8_to_float(DType::t, float_to_float8(DType::t, v, true)); }); \
      };                                                                                                           \
    return [](Frame& f, const Instruction& i) {                                                                    \
      over<float, float>(f, i,                                                                                     \
                         [](float v) { return float8_to_float(DType::t, float_to_float8(DType::t, v, false)); });  \
    };
      FLOAT8(float8_e4m3fn_)
      FLOAT8(float8_e4m3fnuz_)
      FLOAT8(float8_e5m2_)
      FLOAT8(float8_e5m2fnuz_)
#undef FLOAT8
    case DType::int4_:
      if (kind == Kind::f32 || kind == Kind::f64) break;
      // From int8: saturating when the source was a float, else wrapping.
      if (saturate)
        return [](Frame& f, const Instruction& i) {
          over<int8_t, int8_t>(f, i, [](int8_t v) { return v < -8 ? int8_t{-8} : v > 7 ? int8_t{7} : v; });
        };
      return [](Frame& f, const Instruction& i) {
        over<int8_t, int8_t>(f, i, [](int8_t v) { return static_cast<int8_t>(static_cast<int8_t>(v << 4) >> 4); });
      };
    case DType::uint4_:
      if (kind == Kind::f32 || kind == Kind::f64) break;
      if (saturate)
        return [](Frame& f, const Instruction& i) {
          over<uint8_t, uint8_t>(f, i, [](uint8_t v) { return v > 15 ? uint8_t{15} : v; });
        };
      return [](Frame& f, const Instruction& i) {
        over<uint8_t, uint8_t>(f, i, [](uint8_t v) { return static_cast<uint8_t>(v & 15); });
      };
    default:
      break;
  }
  DLCC_UNREACHABLE("rounding to {}", name(type));
}

Execute odd_instruction() {
  return [](Frame& f, const Instruction& i) { over<double, float>(f, i, [](double v) { return narrow_to_odd(v); }); };
}

namespace {

// The stored bits of a register value, and back.
template <DType type, class R>
auto to_bits(R v) {
  if constexpr (type == DType::float16_)
    return float_to_half(static_cast<float>(v));
  else if constexpr (type == DType::bfloat16_)
    return float_to_bfloat16(static_cast<float>(v));
  else if constexpr (type == DType::float32_)
    return std::bit_cast<uint32_t>(static_cast<float>(v));
  else if constexpr (type == DType::float64_)
    return std::bit_cast<uint64_t>(static_cast<double>(v));
  else if constexpr (std::is_same_v<R, bool>)
    return static_cast<uint8_t>(v);
  else
    return static_cast<std::make_unsigned_t<R>>(v);
}

template <DType type, class R, class U>
R from_bits(U v) {
  if constexpr (type == DType::float16_)
    return static_cast<R>(half_to_float(static_cast<uint16_t>(v)));
  else if constexpr (type == DType::bfloat16_)
    return static_cast<R>(bfloat16_to_float(static_cast<uint16_t>(v)));
  else if constexpr (type == DType::float32_)
    return static_cast<R>(std::bit_cast<float>(static_cast<uint32_t>(v)));
  else if constexpr (type == DType::float64_)
    return static_cast<R>(std::bit_cast<double>(static_cast<uint64_t>(v)));
  else
    return static_cast<R>(v);
}

template <DType from, class A, DType to, class R>
Execute bitcast_between() {
  return [](Frame& f, const Instruction& i) {
    over<A, R>(f, i, [](A v) { return from_bits<to, R>(to_bits<from, A>(v)); });
  };
}

// Calls f with the type and a register value of it; types that bitcast knows.
template <class F>
Execute with_type(DType type, Precision precision, F&& f) {
  bool wide = precision == Precision::float64;
#define TYPE(t, c) \
  case DType::t:   \
    return f.template operator()<DType::t, c>();
#define FLOAT(t, c) \
  case DType::t:    \
    return wide ? f.template operator()<DType::t, double>() : f.template operator()<DType::t, c>();
  switch (type) {
    TYPE(int8_, int8_t)
    TYPE(int16_, int16_t)
    TYPE(int32_, int32_t)
    TYPE(int64_, int64_t) TYPE(uint8_, uint8_t) TYPE(uint16_, uint16_t) TYPE(uint32_, uint32_t) TYPE(uint64_, uint64_t)
        TYPE(bool_, bool) FLOAT(float16_, float) FLOAT(bfloat16_, float) FLOAT(float32_, float)
            FLOAT(float64_, double) default : DLCC_UNREACHABLE("bitcast of {}", name(type));
  }
#undef TYPE
#undef FLOAT
}

}  // namespace

Execute bitcast_instruction(DType from, DType to, Precision precision) {
  return with_type(from, precision, [&]<DType source, class A>() {
    return with_type(to, precision, [&]<DType target, class R>() { return bitcast_between<source, A, target, R>(); });
  });
}

Execute scaled_add_instruction() {
  return [](Frame& f, const Instruction& i) {
    uint64_t k = static_cast<uint64_t>(i.imm);
    over2<uint64_t, uint64_t>(f, i, [k](uint64_t a, uint64_t b) { return a + b * k; });
  };
}

Execute in_range_instruction() {
  return [](Frame& f, const Instruction& i) {
    uint64_t extent = static_cast<uint64_t>(i.imm);
    over<uint64_t, bool>(f, i, [extent](uint64_t a) { return a < extent; });
  };
}

Execute check_instruction() {
  return [](Frame& f, const Instruction& i) {
    const int64_t* a = reg<int64_t>(f, i.a);
    const bool* mask = reg<bool>(f, i.b);
    int64_t n = i.vector ? f.lanes : 1, p = !i.a_scalar, q = !i.b_scalar;
    for (int64_t l = 0; l < n; ++l)
      DLCC_CHECK(!mask[l * q] || (a[l * p] >= 0 && a[l * p] < i.imm), "index {} into {} of extent {}", a[l * p],
                 f.program->names[i.memory], i.imm);
  };
}

Execute require_instruction() {
  return [](Frame& f, const Instruction& i) {
    const bool *a = reg<bool>(f, i.a), *mask = reg<bool>(f, i.b);
    int64_t n = i.vector ? f.lanes : 1, p = !i.a_scalar, q = !i.b_scalar;
    for (int64_t l = 0; l < n; ++l)
      if (!a[l * p] && mask[l * q]) {
        f.status = static_cast<Status>(i.imm);
        f.pc = f.end;
        return;
      }
  };
}

Execute maximum_instruction() {
  return [](Frame& f, const Instruction& i) {
    const int64_t* a = reg<int64_t>(f, i.a);
    const bool* mask = reg<bool>(f, i.b);
    int64_t largest = 0, p = !i.a_scalar, q = !i.b_scalar;
    for (int64_t l = 0; l < f.lanes; ++l)
      if (mask[l * q] && a[l * p] > largest) largest = a[l * p];
    *reg<int64_t>(f, i.dst) = largest;
  };
}

}  // namespace dlcc::tensor::bytecode
