#include "tensor/passes/bind_sizes.h"

#include <set>

#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Binder {
 public:
  explicit Binder(const std::map<std::string, Dim>& sizes) : dims_(sizes) {
    for (const auto& [name, size] : sizes) numbers_.emplace(scalar_of({name}), Expr(size));
  }

  const Substitution& numbers() const { return numbers_; }
  Dim dim(const Dim& d) const { return d.substitute(dims_); }

  Buffer buffer(const Buffer& b) {
    if (is_static(b->shape)) return b;
    Buffer& bound = buffers_[b];
    if (bound) return bound;
    BufferNode node = *b;
    for (Dim& d : node.shape) d = dim(d);
    return bound = std::make_shared<const BufferNode>(std::move(node));
  }

  void bind(Stage& stage) {
    for (Buffer& b : stage.results) b = buffer(b);
    for (Axis& a : stage.axes) a.extent = dim(a.extent);
    for (Dim& d : stage.origin) d = dim(d);
    if (stage.reduction)
      for (Axis& a : stage.reduction->axes) a.extent = dim(a.extent);
    auto expr = [&](Expr& e) { e = rewrite_accesses(substitute(e, numbers_), accesses()); };
    for (Expr& v : stage.values) expr(v);
    for (Requirement& r : stage.requirements) expr(r.condition);
    if (stage.body) stage.body = rewrite_accesses(substitute(stage.body, numbers_), accesses());
  }

  MapAccess accesses() {
    return [this](Buffer& b, std::vector<Expr>&) { b = buffer(b); };
  }

 private:
  std::map<std::string, Dim> dims_;
  Substitution numbers_;
  std::map<Buffer, Buffer> buffers_;
};

}  // namespace

Kernel bind_sizes(const Kernel& kernel, const Sizes& sizes) {
  return bind_sizes(kernel, std::map<std::string, Dim>(sizes.begin(), sizes.end()));
}

Kernel bind_sizes(const Kernel& kernel, const std::map<std::string, Dim>& sizes) {
  Binder binder(sizes);
  Kernel result = kernel;
  for (Parameter& p : result.params) p.buffer = binder.buffer(p.buffer);
  result.body = rewrite_accesses(substitute(kernel.body, binder.numbers()), binder.accesses());
  std::erase_if(result.scalars, [](const Var& v) { return is_symbol_var(v); });
  std::set<std::string> symbols;
  for (const auto& [name, size] : sizes)
    for (const Symbol& s : size.symbols()) symbols.insert(s.name);
  for (const std::string& name : symbols) result.scalars.push_back(scalar_of({name}));
  verify_after("bind_sizes", result);
  return result;
}

TensorFunction bind_sizes(const TensorFunction& f, const std::map<std::string, Dim>& sizes) {
  Binder binder(sizes);
  TensorFunction result = f;
  for (Buffer& b : result.params) b = binder.buffer(b);
  for (Buffer& b : result.results) b = binder.buffer(b);
  for (Stage& stage : result.stages) binder.bind(stage);
  verify_after("bind_sizes", result);
  return result;
}

}  // namespace dlcc::tensor
