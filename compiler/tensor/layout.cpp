// Index maps of layouts, and the packing of constants. Packing writes the storage sequentially; where the source is
// contiguous along the innermost dimension too, it copies whole rows.
#include "tensor/layout.h"

#include <algorithm>
#include <cstring>

#include "support/integers.h"
#include "support/row_major.h"

namespace dlcc::tensor {
namespace {

// Whether the part has the largest divisor of its axis, so that its index needs no `mod extent`.
bool is_outermost(const Layout& layout, const Layout::Part& part) {
  for (const Layout::Part& other : layout.parts)
    if (other.axis == part.axis && other.divisor > part.divisor) return false;
  return true;
}

// Copies a logical array into its storage, which is zero-initialized.
class Packer {
 public:
  Packer(const Layout& layout, const std::vector<int64_t>& shape) : extents_(shape), at_(shape.size(), 0) {
    std::vector<int64_t> strides = row_major_strides(shape);
    for (const Layout::Part& p : layout.parts)
      loops_.push_back({p.axis, p.divisor, p.extent.value(), strides[p.axis] * p.divisor, 1});
    for (size_t d = loops_.size(); d-- > 1;) loops_[d - 1].to = loops_[d].to * loops_[d].extent;
    for (size_t d = 0; d < loops_.size(); ++d) first_ += layout.parts[d].halo * loops_[d].to;
  }

  template <class T>
  void run(const T* from, T* to) {
    copy(0, from, to + first_);
  }

 private:
  struct Loop {
    int axis;
    int64_t divisor, extent;
    int64_t from, to;  // strides in the source and in the storage
  };

  // The number of iterations of the loop that stay inside the logical axis.
  int64_t steps_inside(const Loop& l) const {
    int64_t left = extents_[l.axis] - at_[l.axis];
    return std::clamp<int64_t>(ceil_div(left, l.divisor), 0, l.extent);
  }

  template <class T>
  void copy(size_t d, const T* from, T* to) {
    if (d == loops_.size()) {
      *to = *from;
      return;
    }
    const Loop& l = loops_[d];
    int64_t n = steps_inside(l);
    if (d + 1 == loops_.size()) {
      if (l.from == 1)
        std::memcpy(to, from, n * sizeof(T));
      else
        for (int64_t i = 0; i < n; ++i) to[i] = from[i * l.from];
      return;
    }
    for (int64_t i = 0; i < n; ++i, at_[l.axis] += l.divisor) copy(d + 1, from + i * l.from, to + i * l.to);
    at_[l.axis] -= n * l.divisor;
  }

  std::vector<int64_t> extents_, at_;  // of each logical axis: its extent, the index that the outer loops have reached
  std::vector<Loop> loops_;            // one per physical dimension
  int64_t first_ = 0;                  // the offset of logical index 0 in the storage
};

template <class T>
void pack_as(Packer& packer, std::span<const std::byte> from, std::vector<std::byte>& to) {
  packer.run(reinterpret_cast<const T*>(from.data()), reinterpret_cast<T*>(to.data()));
}

// Unpacks elements of `width` bits, 2 or 4, to one byte each.
std::vector<std::byte> unpack_bits(std::span<const std::byte> packed, int64_t count, int width) {
  const int64_t per_byte = 8 / width;
  const auto mask = static_cast<std::byte>((1 << width) - 1);
  std::vector<std::byte> bytes(count);
  for (int64_t i = 0; i < count; ++i) bytes[i] = packed[i / per_byte] >> i % per_byte * width & mask;
  return bytes;
}

std::vector<std::byte> pack_bits(const std::vector<std::byte>& bytes, int width) {
  const size_t per_byte = 8 / static_cast<size_t>(width);
  std::vector<std::byte> packed((bytes.size() + per_byte - 1) / per_byte);
  for (size_t i = 0; i < bytes.size(); ++i)
    packed[i / per_byte] |= bytes[i] << i % per_byte * static_cast<size_t>(width);
  return packed;
}

}  // namespace

Shape physical_shape(const Layout& layout, const Shape& logical) {
  if (layout.is_dense()) return logical;
  Shape shape;
  for (const Layout::Part& p : layout.parts) shape.push_back(p.extent);
  return shape;
}

std::vector<Expr> physical_index(const Layout& layout, const std::vector<Expr>& logical, const Ranges& ranges) {
  std::vector<Expr> index;
  if (layout.is_dense()) {
    for (const Expr& e : logical) index.push_back(simplify(e, ranges));
    return index;
  }
  for (const Layout::Part& p : layout.parts) {
    Expr e = floor_div(logical[p.axis], Expr(p.divisor)) + Expr(p.halo);
    if (!is_outermost(layout, p)) e = floor_mod(e, Expr(p.extent));
    index.push_back(simplify(e, ranges));
  }
  return index;
}

std::vector<Expr> logical_index(const Layout& layout, int logical_rank, const std::vector<Expr>& physical) {
  if (layout.is_dense()) return physical;
  std::vector<Expr> index(logical_rank, Expr(0));
  for (size_t d = 0; d < layout.parts.size(); ++d) {
    const Layout::Part& p = layout.parts[d];
    index[p.axis] = index[p.axis] + (physical[d] - Expr(p.halo)) * Expr(p.divisor);
  }
  return index;
}

Layout layout_with_last(const Shape& shape, int axis) {
  Layout layout;
  for (int a = 0; a < static_cast<int>(shape.size()); ++a)
    if (a != axis) layout.parts.push_back({a, 1, shape[a]});
  layout.parts.push_back({axis, 1, shape[axis]});
  return layout;
}

Layout blocked_layout(const Shape& shape, int axis, int64_t block, Layout::Tail tail) {
  Layout layout;
  const int64_t extent = shape[axis].value();
  for (int a = 0; a < static_cast<int>(shape.size()); ++a) {
    if (a == axis)
      layout.parts.push_back({a, block, ceil_div(extent, block)});
    else
      layout.parts.push_back({a, 1, shape[a]});
  }
  layout.parts.push_back({axis, 1, block});
  layout.tail = extent % block ? tail : Layout::Tail::none;
  return layout;
}

bool has_halo(const Layout::Part& part, const Dim& extent) {
  if (part.halo > 0 || part.divisor != 1) return part.halo > 0;
  return part.extent.is_constant() ? part.extent.value() > extent.value() : part.extent != extent;
}

bool has_halo(const Layout& layout, const Shape& logical) {
  return std::ranges::any_of(layout.parts, [&](const Layout::Part& p) { return has_halo(p, logical[p.axis]); });
}

Layout explicit_layout(Layout layout, const Shape& logical) {
  if (layout.is_dense())
    for (int a = 0; a < static_cast<int>(logical.size()); ++a) layout.parts.push_back({a, 1, logical[a]});
  return layout;
}

// The number of stored elements after the last index of an axis that is stored as a whole.
static int64_t stored_after(const Layout::Part& part, const Dim& extent) {
  return (part.extent - Dim(part.halo) - extent).value();
}

Halo beyond(const Range& range, int64_t extent) { return {-range.low, range.high + 1 - extent}; }

Layout with_halo(Layout layout, const Shape& logical, const std::vector<Halo>& wanted) {
  if (wanted.empty()) return layout;
  layout = explicit_layout(std::move(layout), logical);
  for (Layout::Part& part : layout.parts) {
    if (std::ranges::count(layout.parts, part.axis, &Layout::Part::axis) > 1) continue;
    const Dim& extent = logical[part.axis];
    const Halo& h = wanted[part.axis];
    const int64_t before = std::max(h.before, part.halo), after = std::max(h.after, stored_after(part, extent));
    part.halo = before, part.extent = Dim(before) + extent + Dim(after);
  }
  return normalized(layout, logical);
}

bool is_stored(const Layout& layout, int axis, const Dim& extent, const Halo& halo) {
  bool inside = halo.before <= 0 && halo.after <= 0;
  return inside || std::ranges::any_of(layout.parts, [&](const Layout::Part& p) {
           return p.axis == axis && has_halo(p, extent) && halo.before <= p.halo &&
                  halo.after <= stored_after(p, extent);
         });
}

Layout normalized(const Layout& layout, const Shape& logical) {
  if (layout.is_dense()) return {};
  if (product(physical_shape(layout, logical)) != product(logical)) return layout;
  // Row-major: from the last part to the first, axes decrease, and the divisors of one axis increase.
  int axis = static_cast<int>(logical.size());
  int64_t divisor = 0;
  for (size_t k = layout.parts.size(); k-- > 0;) {
    const Layout::Part& part = layout.parts[k];
    if (part.extent == Dim(1)) continue;
    if (part.axis > axis || (part.axis == axis && part.divisor < divisor)) return layout;
    axis = part.axis, divisor = part.divisor;
  }
  return {};
}

Constant pack(const Constant& c, const Layout& layout) {
  if (layout.is_dense()) return c;
  std::vector<int64_t> shape = static_shape(physical_shape(layout, shape_of(c.shape())));
  int64_t count = element_count(shape);
  Packer packer(layout, c.shape());
  if (const int width = bits(c.dtype()); width < 8) {
    std::vector<std::byte> bytes(count);
    pack_as<uint8_t>(packer, unpack_bits(c.bytes(), c.count(), width), bytes);
    return Constant(c.dtype(), std::move(shape), pack_bits(bytes, width));
  }
  std::vector<std::byte> bytes(storage_bytes(c.dtype(), count));
  if (count > 0 && c.count() > 0) {
    switch (bits(c.dtype())) {
      case 8:
        pack_as<uint8_t>(packer, c.bytes(), bytes);
        break;
      case 16:
        pack_as<uint16_t>(packer, c.bytes(), bytes);
        break;
      case 32:
        pack_as<uint32_t>(packer, c.bytes(), bytes);
        break;
      case 64:
        pack_as<uint64_t>(packer, c.bytes(), bytes);
        break;
      default:
        DLCC_UNREACHABLE("element of {} bits", bits(c.dtype()));
    }
  }
  return Constant(c.dtype(), std::move(shape), std::move(bytes));
}

}  // namespace dlcc::tensor
