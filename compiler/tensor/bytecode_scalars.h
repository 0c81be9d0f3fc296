// The scalar operations of tensor IR (semantics in ir.h) as functions of C++ values.
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tensor/ir.h"

namespace dlcc::tensor::bytecode {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
T wrapping(BinaryOp op, T a, T b) {
  // In an unsigned type at least as wide as int: narrower ones would be promoted to int, which can overflow.
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

// The sum rounded to odd: an inexact result gets an odd last bit. Rounding it once more, to a format with at least two
// bits less, gives the correctly rounded sum (Boldo and Melquiond, "Emulation of FMA and Correctly Rounded Sums: Proved
// Algorithms Using Rounding to Odd", 2008).
inline double add_to_odd(double a, double b) {
  double s = a + b, t = s - a, error = (a - (s - t)) + (b - t);
  uint64_t bits = std::bit_cast<uint64_t>(s);
  if (error == 0 || s != s || std::isinf(s) || bits & 1) return s;
  // The last bit is even: the neighbour toward the exact sum has an odd one.
  bool away = (error > 0) == (s > 0);
  return std::bit_cast<double>(away ? bits + 1 : bits - 1);
}

inline float fma_of(float a, float b, float c) {
  double product = static_cast<double>(a) * b;  // exact
  return static_cast<float>(add_to_odd(product, c));
}
inline double fma_of(double a, double b, double c) { return std::fma(a, b, c); }

// float64 to float32, rounded to odd.
inline float narrow_to_odd(double x) {
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
      case UnaryOp::expm1:
        return std::expm1(x);
      case UnaryOp::log1p:
        return std::log1p(x);
      case UnaryOp::tan:
        return std::tan(x);
      case UnaryOp::asin:
        return std::asin(x);
      case UnaryOp::acos:
        return std::acos(x);
      case UnaryOp::atan:
        return std::atan(x);
      case UnaryOp::sinh:
        return std::sinh(x);
      case UnaryOp::cosh:
        return std::cosh(x);
      case UnaryOp::asinh:
        return std::asinh(x);
      case UnaryOp::acosh:
        return std::acosh(x);
      case UnaryOp::atanh:
        return std::atanh(x);
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

}  // namespace dlcc::tensor::bytecode
