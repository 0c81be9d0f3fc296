// The bytecode's arithmetic, comparisons and checks, each a typed loop over the lanes.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "support/float_formats.h"
#include "tensor/bytecode.h"
#include "tensor/bytecode_access.h"
#include "tensor/bytecode_lanes.h"
#include "tensor/bytecode_scalars.h"

namespace dlcc::tensor::bytecode {
namespace {

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

// Fused multiply-add by the host's instruction where it has one, with the same results.
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
