#include "tensor/intrinsic.h"

#include <cstddef>
#include <map>

#include "support/row_major.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

// Replaces loads from and stores to the operands by those of the call's boxes.
class Inliner {
 public:
  explicit Inliner(const IntrinsicCall& call) {
    const auto& operands = call.intrinsic->operands;
    DLCC_CHECK(operands.size() == call.operands.size(), "{} takes {} operands, not {}", call.intrinsic->name,
               operands.size(), call.operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      const Region& box = call.operands[k];
      DLCC_CHECK(static_cast<int>(box.begin.size()) == box.buffer->rank() &&
                     box.buffer->rank() >= operands[k].buffer->rank() && box.buffer->type == operands[k].buffer->type,
                 "{}: operand {} does not fit {}", call.intrinsic->name, k, box.buffer->name);
      boxes_.emplace(operands[k].buffer, box);
    }
  }

  Expr operator()(const Expr& e) const {
    const Load* x = as<Load>(e);
    if (!x || !boxes_.count(x->buffer)) return e;
    return load(boxes_.at(x->buffer).buffer, index(x->buffer, x->indices), x->otherwise);
  }

  Stmt operator()(const Stmt& s) const {
    if (const Store* x = as<Store>(s); x && boxes_.count(x->buffer))
      return store(boxes_.at(x->buffer).buffer, index(x->buffer, x->indices), x->value);
    return s;
  }

 private:
  // The operand's dimensions are the last dimensions of the box's buffer.
  std::vector<Expr> index(const Buffer& operand, const std::vector<Expr>& inside) const {
    std::vector<Expr> at = boxes_.at(operand).begin;
    size_t leading = at.size() - inside.size();
    for (size_t d = 0; d < inside.size(); ++d) at[leading + d] = at[leading + d] + inside[d];
    return at;
  }

  std::map<Buffer, Region> boxes_;
};

// The strides of the buffer's last `rank` dimensions; empty if one of them is not constant.
std::vector<int64_t> inner_strides(const BufferNode& buffer, std::ptrdiff_t rank) {
  if (!buffer.strides.empty()) return {buffer.strides.end() - rank, buffer.strides.end()};
  Shape shape(buffer.shape.end() - rank, buffer.shape.end());
  if (rank > 0) shape[0] = 1;  // a stride is the product of the extents after it
  return is_static(shape) ? row_major_strides(static_shape(shape)) : std::vector<int64_t>();
}

}  // namespace

Buffer make_operand(const char* name, DType type, Shape shape, std::vector<int64_t> strides, Scope scope) {
  return std::make_shared<const BufferNode>(BufferNode{name, type, std::move(shape), scope, std::move(strides)});
}

bool fits_operand(const BufferNode& buffer, const BufferNode& operand) {
  if (buffer.type != operand.type || buffer.scope != operand.scope || buffer.rank() < operand.rank()) return false;
  return operand.strides.empty() || inner_strides(buffer, operand.rank()) == operand.strides;
}

Stmt inline_intrinsic(const IntrinsicCall& call) {
  Inliner inliner(call);
  return rewrite(call.intrinsic->body, std::function<Expr(const Expr&)>(inliner),
                 std::function<Stmt(const Stmt&)>(inliner));
}

}  // namespace dlcc::tensor
