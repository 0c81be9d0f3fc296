// The bytecode's loads, stores and control flow, and its interpreter.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "tensor/bytecode_access.h"

namespace dlcc::tensor::bytecode {
namespace {

template <class A>
constexpr bool is_plain_word = std::is_same_v<A, Plain<float>> || std::is_same_v<A, Plain<double>> ||
                               std::is_same_v<A, Plain<int32_t>> || std::is_same_v<A, Plain<int64_t>>;

// d[l] = mask[l] ? from[l] : otherwise, in bit operations, which the host's compiler vectorizes.
template <class T>
void blend(const std::byte* from, const bool* mask, T otherwise, T* d, int64_t n) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const Bits* source = reinterpret_cast<const Bits*>(from);
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(mask);
  Bits* target = reinterpret_cast<Bits*>(d);
  Bits other = std::bit_cast<Bits>(otherwise);
#pragma GCC ivdep
  for (int64_t l = 0; l < n; ++l) {
    Bits keep = Bits{0} - Bits{bytes[l]};
    target[l] = (source[l] & keep) | (other & ~keep);
  }
}

// dst = element a + imm + lane * step, or for a gather element a + imm + b[lane]; if masked, d in lanes where c is
// false.
template <class A, bool gather, bool masked>
void execute_load(Frame& f, const Instruction& i) {
  using T = typename A::Value;
  const std::byte* base = f.memories[i.memory].data;
  int64_t first = *reg<int64_t>(f, i.a) + i.imm, n = i.vector ? f.lanes : 1;
  const int64_t* at = reg<int64_t>(f, i.b);
  T* d = reg<T>(f, i.dst);
  if constexpr (masked) {
    const bool* mask = reg<bool>(f, i.c);
    const T* otherwise = reg<T>(f, i.d);
    int64_t p = !i.c_scalar, q = !i.d_scalar;
    bool all_inside = first >= 0 && first + n <= f.memories[i.memory].count;
    if constexpr (is_plain_word<A> && !gather)
      if (i.step == 1 && p == 1 && q == 0 && all_inside) {
        // All elements are in range, those of masked lanes too.
        blend(base + first * static_cast<int64_t>(sizeof(T)), mask, *otherwise, d, n);
        return;
      }
    for (int64_t l = 0; l < n; ++l)
      d[l] = mask[l * p] ? A::get(base, first + (gather ? at[l] : l * i.step)) : otherwise[l * q];
  } else if constexpr (gather) {
    for (int64_t l = 0; l < n; ++l) d[l] = A::get(base, first + at[l]);
  } else if (i.step == 1) {
    for (int64_t l = 0; l < n; ++l) d[l] = A::get(base, first + l);
  } else if (n > 0 && i.step == 0) {
    std::fill_n(d, n, A::get(base, first));
  } else {
    for (int64_t l = 0; l < n; ++l) d[l] = A::get(base, first + l * i.step);
  }
}

template <class A, bool scatter, bool masked>
void execute_store(Frame& f, const Instruction& i) {
  using T = typename A::Value;
  std::byte* base = f.memories[i.memory].data;
  int64_t first = *reg<int64_t>(f, i.a) + i.imm, n = i.vector ? f.lanes : 1, q = !i.d_scalar;
  const int64_t* at = reg<int64_t>(f, i.b);
  const T* v = reg<T>(f, i.d);
  if constexpr (masked) {
    const bool* mask = reg<bool>(f, i.c);
    int64_t p = !i.c_scalar;
    for (int64_t l = 0; l < n; ++l)
      if (mask[l * p]) A::set(base, first + (scatter ? at[l] : l * i.step), v[l * q]);
  } else if constexpr (scatter) {
    for (int64_t l = 0; l < n; ++l) A::set(base, first + at[l], v[l * q]);
  } else if (i.step == 1 && q == 1) {
    for (int64_t l = 0; l < n; ++l) A::set(base, first + l, v[l]);
  } else {
    for (int64_t l = 0; l < n; ++l) A::set(base, first + l * i.step, v[l * q]);
  }
}

// A lane-private array is in registers: element e of lane l is at index e * strip_lanes + l of the array at register c.
// The element is a + imm, or for a gather a + imm + b[lane].
template <class T, bool gather>
void execute_private_load(Frame& f, const Instruction& i) {
  const T* base = reg<T>(f, i.c);
  int64_t first = *reg<int64_t>(f, i.a) + i.imm;
  const int64_t* at = reg<int64_t>(f, i.b);
  T* d = reg<T>(f, i.dst);
  for (int64_t l = 0; l < f.lanes; ++l) {
    // In lanes that are masked off the index may be out of range; it is clamped to the `step` elements.
    int64_t e = std::clamp<int64_t>(first + (gather ? at[l] : 0), 0, i.step - 1);
    d[l] = base[e * strip_lanes + l];
  }
}

template <class T, bool scatter, bool masked>
void execute_private_store(Frame& f, const Instruction& i) {
  T* base = reg<T>(f, i.dst);
  int64_t first = *reg<int64_t>(f, i.a) + i.imm, q = !i.d_scalar, p = !i.c_scalar;
  const int64_t* at = reg<int64_t>(f, i.b);
  const bool* mask = reg<bool>(f, i.c);
  const T* v = reg<T>(f, i.d);
  for (int64_t l = 0; l < f.lanes; ++l)
    if (!masked || mask[l * p]) base[(first + (scatter ? at[l] : 0)) * strip_lanes + l] = v[l * q];
}

// ---- control --------------------------------------------------------------------------------------------------------

void execute_loop_begin(Frame& f, const Instruction& i) {
  *reg<int64_t>(f, i.dst) = 0;
  if (*reg<int64_t>(f, i.a) <= 0) f.pc += i.step;
}

void execute_loop_end(Frame& f, const Instruction& i) {
  if (++*reg<int64_t>(f, i.dst) < *reg<int64_t>(f, i.a)) f.pc -= i.step;
}

// Sets the number of lanes and the variables of the strip that begins at dst; false if no iteration is left.
bool enter_strip(Frame& f, const Instruction& i) {
  int64_t start = *reg<int64_t>(f, i.dst), total = *reg<int64_t>(f, i.a);
  f.lanes = std::min(strip_lanes, total - start);
  if (f.lanes <= 0) return false;
  const Strip& strip = f.program->strips[i.imm];
  int64_t inner = 1;  // the number of iterations of the axes inside this one
  for (size_t k = strip.axes.size(); k-- > 0; inner *= strip.axes[k].extent) {
    const Strip::Axis& axis = strip.axes[k];
    if (!axis.used) continue;
    int64_t* v = reg<int64_t>(f, axis.reg);
    int64_t point = start / inner, left = inner - start % inner;
    if (k > 0) point %= axis.extent;
    for (int64_t l = 0; l < f.lanes; ++l) {
      v[l] = point;
      if (--left == 0) {
        left = inner;
        if (++point == axis.extent && k > 0) point = 0;
      }
    }
  }
  return true;
}

void execute_strip_begin(Frame& f, const Instruction& i) {
  *reg<int64_t>(f, i.dst) = 0;
  if (!enter_strip(f, i)) f.pc += i.step;
}

void execute_strip_end(Frame& f, const Instruction& i) {
  *reg<int64_t>(f, i.dst) += strip_lanes;
  if (enter_strip(f, i)) f.pc -= i.step;
}

void execute_skip(Frame& f, const Instruction& i) {
  const bool* a = reg<bool>(f, i.a);
  int64_t n = i.a_scalar ? 1 : f.lanes;
  if (std::none_of(a, a + n, [](bool x) { return x; })) f.pc += i.step;
}

}  // namespace

Execute load_instruction(DType storage, bool gather, bool masked) {
  return with_access(storage, [&](auto access) -> Execute {
    using A = decltype(access);
    if (gather) return masked ? &execute_load<A, true, true> : &execute_load<A, true, false>;
    return masked ? &execute_load<A, false, true> : &execute_load<A, false, false>;
  });
}

Execute store_instruction(DType storage, bool scatter, bool masked) {
  return with_access(storage, [&](auto access) -> Execute {
    using A = decltype(access);
    if (scatter) return masked ? &execute_store<A, true, true> : &execute_store<A, true, false>;
    return masked ? &execute_store<A, false, true> : &execute_store<A, false, false>;
  });
}

Execute private_load_instruction(Kind kind, bool gather) {
  return with_kind(kind, [&](auto x) -> Execute {
    using T = decltype(x);
    return gather ? &execute_private_load<T, true> : &execute_private_load<T, false>;
  });
}

Execute private_store_instruction(Kind kind, bool scatter, bool masked) {
  return with_kind(kind, [&](auto x) -> Execute {
    using T = decltype(x);
    if (scatter) return masked ? &execute_private_store<T, true, true> : &execute_private_store<T, true, false>;
    return masked ? &execute_private_store<T, false, true> : &execute_private_store<T, false, false>;
  });
}

Execute loop_begin_instruction() { return &execute_loop_begin; }
Execute loop_end_instruction() { return &execute_loop_end; }
Execute strip_begin_instruction() { return &execute_strip_begin; }
Execute strip_end_instruction() { return &execute_strip_end; }
Execute skip_instruction() { return &execute_skip; }

Kind register_kind(DType type, Precision precision) {
  if (is_float(type)) return precision == Precision::float64 || type == dtype::f64 ? Kind::f64 : Kind::f32;
  switch (type) {
    case DType::bool_:
      return Kind::boolean;
    case DType::int2_:
    case DType::int4_:
    case DType::int8_:
      return Kind::i8;
    case DType::int16_:
      return Kind::i16;
    case DType::int32_:
      return Kind::i32;
    case DType::int64_:
      return Kind::i64;
    case DType::uint2_:
    case DType::uint4_:
    case DType::uint8_:
      return Kind::u8;
    case DType::uint16_:
      return Kind::u16;
    case DType::uint32_:
      return Kind::u32;
    case DType::uint64_:
      return Kind::u64;
    default:
      DLCC_UNREACHABLE("type {}", name(type));
  }
}

DType storage_type(DType type, Precision precision) {
  return precision == Precision::float64 && is_float(type) ? dtype::f64 : type;
}

int64_t kind_bytes(Kind kind) {
  switch (kind) {
    case Kind::boolean:
    case Kind::i8:
    case Kind::u8:
      return 1;
    case Kind::i16:
    case Kind::u16:
      return 2;
    case Kind::i32:
    case Kind::u32:
    case Kind::f32:
      return 4;
    case Kind::i64:
    case Kind::u64:
    case Kind::f64:
      return 8;
  }
  DLCC_UNREACHABLE("kind {}", static_cast<int>(kind));
}

Status run(const Program& program, const std::vector<Memory>& memories) {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const size_t lines = static_cast<size_t>(program.register_bytes) / 64 + 1;
  Line few[32];  // registers of small programs: millions of scalar expressions are evaluated without an allocation
  std::vector<Line> many(lines > std::size(few) ? lines : 0);
  if (many.empty()) std::fill_n(few, lines, Line{});
  Line* registers = many.empty() ? few : many.data();
  Frame f;
  f.registers = registers[0].bytes;
  std::copy(program.constants.begin(), program.constants.end(), f.registers);
  f.memories = memories.data();
  f.program = &program;
  f.end = program.code.size();
  while (f.pc < f.end) {
    const Instruction& i = program.code[f.pc++];
    i.execute(f, i);
  }
  return f.status;
}

}  // namespace dlcc::tensor::bytecode
