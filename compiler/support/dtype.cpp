#include "support/dtype.h"

#include <array>

namespace dlcc {
namespace {

struct Row {
  std::string_view name;
  int bits;
  DTypeKind kind;
  std::string_view c_type;
  int onnx;
};

constexpr std::array rows = {
#define DTYPE(name, bits, kind, ctype, onnx) Row{#name, bits, DTypeKind::kind, ctype, onnx},
#include "support/dtype.def"
#undef DTYPE
};

const Row& row(DType t) { return rows[static_cast<size_t>(t)]; }

template <class Predicate>
std::optional<DType> find(Predicate matches) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (matches(rows[i])) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace

std::string_view name(DType t) { return row(t).name; }
int bits(DType t) { return row(t).bits; }
DTypeKind kind(DType t) { return row(t).kind; }
std::string_view c_type(DType t) { return row(t).c_type; }
int onnx_number(DType t) { return row(t).onnx; }

std::optional<DType> dtype_named(std::string_view name) {
  return find([&](const Row& r) { return r.name == name; });
}
std::optional<DType> dtype_of_onnx(int number) {
  return find([&](const Row& r) { return r.onnx == number; });
}

}  // namespace dlcc
