#include "lower/share_kernels.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "lower/walk.h"
#include "tensor/passes/bind_sizes.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::lower {

namespace {

using tensor::Buffer, tensor::Expr, tensor::Kernel, tensor::Stmt;

// A kernel with a symbol for each extent of a loop, dimension of a parameter, and number in an index or condition.
// Kernels of like shape have equal texts then. values[k]: the number at the place of symbol k.
class GeneralKernel {
 public:
  explicit GeneralKernel(const Kernel& original) : kernel_(original) {
    kernel_.name.clear();
    for (tensor::Parameter& p : kernel_.params) p.buffer = buffers_[p.buffer] = general(*p.buffer);
    kernel_.body = tensor::rewrite(kernel_.body, {}, [&](const Stmt& s) { return general(s); });
  }

  const Kernel& kernel() const { return kernel_; }
  const std::vector<int64_t>& values() const { return values_; }

  static std::string symbol(size_t k) { return fmt::format("_{:06}", k); }

 private:
  Dim position(int64_t value) {
    values_.push_back(value);
    return Dim::symbol({symbol(values_.size() - 1)});
  }

  Buffer general(const tensor::BufferNode& b) {
    tensor::BufferNode result = b;
    for (Dim& d : result.shape) d = position(d.value());
    return std::make_shared<const tensor::BufferNode>(std::move(result));
  }

  // Indices of buffers in registers stay constant.
  void access(Buffer& b, std::vector<Expr>& indices) {
    if (b->scope == tensor::Scope::reg) return;
    for (Expr& i : indices) i = general(i);
    if (const auto it = buffers_.find(b); it != buffers_.end()) b = it->second;
  }

  Expr general(const Expr& e) {
    if (const auto* x = tensor::as<tensor::Literal>(e)) return e.type() == dtype::i64 ? Expr(position(x->integer)) : e;
    if (const auto it = known_.find(e.get()); it != known_.end()) return it->second;
    Expr result;
    if (const auto* x = tensor::as<tensor::Load>(e)) {
      tensor::Load load = *x;
      access(load.buffer, load.indices);
      result = tensor::load(load.buffer, load.indices, x->otherwise ? general(x->otherwise) : Expr());
    } else {
      result = tensor::map_operands(e, [&](const Expr& operand) { return general(operand); });
    }
    kept_.push_back(e);
    return known_[e.get()] = result;
  }

  // The nested statements are general already.
  Stmt general(const Stmt& s) {
    auto node = s->v;
    std::visit(overloaded{[&](tensor::For& x) {
                            if (x.kind == tensor::LoopKind::serial) x.extent = general(x.extent);
                          },
                          [&](tensor::Store& x) {
                            access(x.buffer, x.indices);
                            x.value = general(x.value);
                          },
                          [&](tensor::Let& x) { x.value = general(x.value); },
                          [&](tensor::IfThen& x) { x.condition = general(x.condition); },
                          [&](tensor::Require& x) { x.condition = general(x.condition); },
                          [&](tensor::Prefetch& x) { access(x.buffer, x.indices); },
                          [&](tensor::IntrinsicCall& x) {
                            for (tensor::Region& r : x.operands) access(r.buffer, r.begin);
                          },
                          [](const auto&) {}},
               node);
    return tensor::make_stmt(std::move(node));
  }

  Kernel kernel_;
  std::vector<int64_t> values_;
  std::map<Buffer, Buffer> buffers_;
  std::map<const tensor::ExprNode*, Expr> known_;
  std::vector<Expr> kept_;  // the keys of known_
};

// Kernels with equal general texts.
struct Group {
  std::optional<GeneralKernel> general;      // of the first one
  std::vector<int> kernels;                  // their indices
  std::vector<std::vector<int64_t>> values;  // of each
};

// The symbols of a shared kernel, and the numbers that replace those of its general form.
struct SharedSizes {
  std::vector<std::vector<int64_t>> symbols;  // the values of each in the kernels of the group
  std::map<std::string, Dim> replacements;
};

std::string size_name(size_t k) { return fmt::format("size{:02}", k); }

// Empty if a number that differs among the kernels is negative, or if there are many.
std::optional<SharedSizes> shared_sizes(const Group& group) {
  constexpr size_t most_symbols = 16;
  SharedSizes result;
  std::map<std::vector<int64_t>, size_t> known;
  for (size_t k = 0; k < group.values[0].size(); ++k) {
    std::vector<int64_t> values;
    for (const auto& of_kernel : group.values) values.push_back(of_kernel[k]);
    Dim& replacement = result.replacements[GeneralKernel::symbol(k)];
    replacement = values[0];
    if (std::ranges::count(values, values[0]) == std::ssize(values)) continue;
    const auto [low, high] = std::ranges::minmax(values);
    if (low < 0) return std::nullopt;
    const int64_t factor = std::accumulate(values.begin(), values.end(), int64_t{0}, std::gcd<int64_t, int64_t>);
    for (int64_t& v : values) v /= factor;
    const auto [it, is_new] = known.emplace(values, result.symbols.size());
    if (is_new) result.symbols.push_back(values);
    replacement = Dim(factor) * Dim::symbol({size_name(it->second), low / factor, high / factor});
  }
  return result.symbols.size() <= most_symbols ? std::optional(std::move(result)) : std::nullopt;
}

// The statements of the code: those in unrolled loops as often as they are repeated.
int64_t statements(const Stmt& s) {
  int64_t within = 0;
  tensor::map_nested(s, [&](const Stmt& nested) {
    within += statements(nested);
    return nested;
  });
  const auto* loop = tensor::as<tensor::For>(s);
  const bool is_repeated = loop && loop->kind == tensor::LoopKind::unrolled;
  return is_repeated ? within * tensor::constant_integer(loop->extent).value_or(1) : within + 1;
}

// Whether one kernel is estimated to be smaller. On a Cortex-M4, a statement takes about 16 bytes, the argument of a
// call 8, and each call of a kernel has all scalars as arguments.
bool is_smaller(const Kernel& kernel, size_t kernels, size_t scalars) {
  constexpr int64_t statement_bytes = 16, argument_bytes = 8;
  return static_cast<int64_t>(kernels - 1) * statements(kernel.body) * statement_bytes >
         static_cast<int64_t>(kernels * scalars) * argument_bytes;
}

bool can_share(const KernelVariants& kernel) {
  if (kernel.variants.size() != 1) return false;
  const Kernel& k = kernel.variants[0];
  return std::ranges::none_of(k.scalars, tensor::is_symbol_var) && std::ranges::all_of(k.params, [](const auto& p) {
           return is_static(p.buffer->shape) && p.buffer->strides.empty();
         });
}

}  // namespace

void share_kernels(Program& program) {
  std::map<std::string, Group> groups;
  for (int k = 0; k < std::ssize(program.kernels); ++k) {
    const KernelVariants& kernel = program.kernels[static_cast<size_t>(k)];
    if (!can_share(kernel)) continue;
    GeneralKernel general(kernel.variants[0]);
    Group& group = groups[tensor::print(general.kernel())];
    group.kernels.push_back(k);
    group.values.push_back(general.values());
    if (!group.general) group.general.emplace(std::move(general));
  }
  struct Shared {
    int kernel;
    std::vector<Expr> sizes;
  };
  std::map<int, Shared> shared;  // by the kernel that it replaces
  for (const auto& [text, group] : groups) {
    if (group.kernels.size() < 2) continue;
    const std::optional<SharedSizes> sizes = shared_sizes(group);
    if (!sizes) continue;
    const int first = group.kernels[0];
    Kernel& kernel = program.kernels[static_cast<size_t>(first)].variants[0];
    if (!is_smaller(kernel, group.kernels.size(), sizes->symbols.size())) continue;
    const std::string name = kernel.name;
    kernel = tensor::bind_sizes(group.general->kernel(), sizes->replacements);
    kernel.name = name;
    tensor::verify_after("share_kernels", kernel);
    for (size_t k = 0; k < group.kernels.size(); ++k) {
      Shared& s = shared[group.kernels[k]] = {first, {}};
      for (const std::vector<int64_t>& values : sizes->symbols) s.sizes.emplace_back(values[k]);
    }
  }
  for_each_function(program, [&](Function& f) {
    for_each_call(f.body, [&](Invoke& call) {
      const auto it = shared.find(call.kernel);
      if (it == shared.end()) return;
      call.kernel = it->second.kernel;
      call.scalars.insert(call.scalars.end(), it->second.sizes.begin(), it->second.sizes.end());
    });
  });
}

}  // namespace dlcc::lower
