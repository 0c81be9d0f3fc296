// Runs kernels on constants: allocates memory, converts arguments and results, compiles to bytecode and runs it.
#include "tensor/evaluate.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "support/row_major.h"
#include "tensor/bytecode.h"
#include "tensor/bytecode_access.h"
#include "tensor/passes/bind_sizes.h"
#include "tensor/passes/expand_math.h"
#include "tensor/schedules/naive.h"
#include "tensor/simplify.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

using bytecode::Memory;

// The number of elements of a buffer's storage, gaps between strides included.
int64_t storage_count(const BufferNode& b) {
  std::vector<int64_t> shape = static_shape(b.shape);
  int64_t count = element_count(shape), last = 0;
  if (b.strides.empty() || count == 0) return count;
  for (size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * b.strides[d];
  return last + 1;
}

// Calls f(row-major index, storage index) for each element of a strided buffer.
template <class F>
void for_each_element(const BufferNode& b, F&& f) {
  std::vector<int64_t> shape = static_shape(b.shape), at(shape.size(), 0);
  int64_t count = element_count(shape);
  for (int64_t k = 0; k < count; ++k) {
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d) position += at[d] * b.strides[d];
    f(k, position);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

// Converts one element from one stored type to another, by value.
template <class From, class To>
void convert(const std::byte* from, int64_t i, std::byte* to, int64_t j) {
  To::set(to, j, static_cast<typename To::Value>(From::get(from, i)));
}

void convert_all(DType from_type, const std::byte* from, DType to_type, std::byte* to, int64_t count) {
  bytecode::with_access(from_type, [&](auto a) {
    bytecode::with_access(to_type, [&](auto b) {
      for (int64_t i = 0; i < count; ++i) convert<decltype(a), decltype(b)>(from, i, to, i);
    });
  });
}

void move_elements(DType type, const BufferNode& b, const std::byte* from, std::byte* to, bool gather) {
  bytecode::with_access(type, [&](auto a) {
    for_each_element(b, [&](int64_t dense, int64_t position) {
      gather ? convert<decltype(a), decltype(a)>(from, position, to, dense)
             : convert<decltype(a), decltype(a)>(from, dense, to, position);
    });
  });
}

// Memory of unspecified contents is filled with a pattern that is not a plausible value of any type (8e37 as float32),
// so that tests detect reads of it.
std::vector<std::byte> fresh_bytes(DType type, int64_t count) {
  return std::vector<std::byte>(storage_bytes(type, count), std::byte{0x7E});
}

// The memory of a kernel's locals, and of arguments and results that are not stored as constants are.
class Memories {
 public:
  Memory fresh(DType type, int64_t count) {
    owned_.push_back(fresh_bytes(type, count));
    return {owned_.back().data(), count};
  }

 private:
  std::vector<std::vector<std::byte>> owned_;
};

}  // namespace

// As CompiledKernel::iterations, for the loops of a statement; in float64, which does not overflow.
static double iterations_of(const Stmt& s, Ranges& ranges) {
  if (!s) return 0;
  return std::visit(overloaded{[&](const For& loop) {
                                 const auto extent = range_of(loop.extent, ranges);
                                 const int64_t most = extent ? std::max<int64_t>(extent->high, 0) : 1;
                                 if (most > 0) ranges[loop.var] = {0, most - 1};
                                 return static_cast<double>(most) * (1 + iterations_of(loop.body, ranges));
                               },
                               [&](const Sequence& list) {
                                 double sum = 0;
                                 for (const Stmt& each : list.body) sum += iterations_of(each, ranges);
                                 return sum;
                               },
                               [&](const Let& let) { return iterations_of(let.body, ranges); },
                               [&](const Allocate& allocate) { return iterations_of(allocate.body, ranges); },
                               [&](const IfThen& branch) {
                                 return iterations_of(branch.then_body, ranges) +
                                        iterations_of(branch.else_body, ranges);
                               },
                               [&](const Outline& nest) { return iterations_of(nest.body, ranges); },
                               [](const auto&) { return 0.0; }},
                    s->v);
}

static int64_t iterations_of(const Kernel& kernel) {
  Ranges ranges;
  return static_cast<int64_t>(std::min(iterations_of(kernel.body, ranges), 0x1p62));
}

// The kernel with a read parameter of rank 0 in place of each scalar parameter, after the other read parameters.
static Kernel with_scalars_in_memory(Kernel kernel) {
  auto first_write = std::ranges::find_if(kernel.params, [](const Parameter& p) { return p.access != Access::read; });
  std::vector<Parameter> scalars;
  for (const Var& v : kernel.scalars) scalars.push_back({make_buffer(v->name, v->type, {}), Access::read});
  for (size_t k = scalars.size(); k-- > 0;)
    kernel.body = let(kernel.scalars[k], load(scalars[k].buffer, {}), kernel.body);
  kernel.params.insert(first_write, scalars.begin(), scalars.end());
  kernel.scalars.clear();
  return kernel;
}

struct CompiledKernel::Cache {
  std::mutex mutex;
  std::map<std::vector<int64_t>, Static> by_sizes;  // only grows: references stay valid
};

CompiledKernel::CompiledKernel(const Kernel& kernel, Precision precision)
    : kernel_(kernel), precision_(precision), cache_(std::make_shared<Cache>()) {
  for (const Var& v : kernel.scalars)
    if (is_symbol_var(v)) symbols_.push_back(v);
  if (symbols_.empty()) only_ = &compiled_for({});
}

CompiledKernel::CompiledKernel(const TensorFunction& f, Precision precision)
    : CompiledKernel(naive_schedule(f), precision) {}

CompiledKernel::Static CompiledKernel::compile(Kernel kernel) const {
  if (!kernel.scalars.empty()) kernel = with_scalars_in_memory(std::move(kernel));
  if (precision_ == Precision::specified) {
    kernel.body = expand_math(kernel.body);
    verify_after("expand_math", kernel);
  }
  Static compiled{
      {}, 0, 0, std::make_shared<bytecode::Program>(bytecode::compile(kernel, precision_)), iterations_of(kernel)};
  for (const Parameter& p : kernel.params) {
    const BufferNode& b = *p.buffer;
    std::vector<int64_t> shape = static_shape(b.shape);
    const int64_t elements = element_count(shape);
    compiled.arguments += p.access == Access::read;
    compiled.results += p.access == Access::write;
    compiled.params.push_back(
        {p.buffer, p.access, bytecode::storage_type(b.type, precision_), std::move(shape), elements, storage_count(b)});
  }
  return compiled;
}

const CompiledKernel::Static& CompiledKernel::compiled_for(const std::vector<int64_t>& sizes) const {
  std::lock_guard lock(cache_->mutex);
  auto known = cache_->by_sizes.find(sizes);
  if (known != cache_->by_sizes.end()) return known->second;
  Sizes by_name;
  for (size_t k = 0; k < sizes.size(); ++k) by_name.emplace(symbols_[k]->name, sizes[k]);
  Static compiled = compile(sizes.empty() ? kernel_ : bind_sizes(kernel_, by_name));
  return cache_->by_sizes.emplace(sizes, std::move(compiled)).first->second;
}

// The memory of an argument: its own if it has the stored type and no strides.
static Memory memory_of(const Constant& c, const BufferNode& b, DType type, int64_t elements, int64_t stored,
                        Memories& memories) {
  DLCC_CHECK(c.dtype() == b.type || c.dtype() == type, "argument {} has type {} instead of {}", b.name, name(c.dtype()),
             name(b.type));
  DLCC_CHECK(c.count() == elements, "argument {} has {} elements instead of {}", b.name, c.count(), elements);
  auto bytes = const_cast<std::byte*>(c.bytes().data());  // never written: access is `read`
  if (c.dtype() != type) {
    Memory m = memories.fresh(type, elements);
    convert_all(c.dtype(), bytes, type, m.data, elements);
    bytes = m.data;
  }
  if (b.strides.empty()) return {bytes, stored};
  Memory spread = memories.fresh(type, stored);
  move_elements(type, b, bytes, spread.data, false);
  return spread;
}

const CompiledKernel::Static& CompiledKernel::compiled_for_run(std::span<const Constant>& args) const {
  DLCC_CHECK(args.size() >= symbols_.size(), "{}: {} arguments are too few", kernel_.name, args.size());
  std::vector<int64_t> sizes;
  for (const Constant& c : args.last(symbols_.size())) sizes.push_back(c.integer_at(0));
  args = args.first(args.size() - symbols_.size());
  return only_ ? *only_ : compiled_for(sizes);
}

int64_t CompiledKernel::iterations(std::span<const Constant> args) const { return compiled_for_run(args).iterations; }

EvaluationResult CompiledKernel::run(std::span<const Constant> args) const {
  const Static& compiled = compiled_for_run(args);
  DLCC_CHECK(args.size() == compiled.arguments, "{}: {} arguments instead of {}", kernel_.name, args.size(),
             compiled.arguments);
  Memories memories;
  std::vector<Memory> list;
  list.reserve(compiled.params.size() + compiled.program->locals.size());
  EvaluationResult result;
  result.results.reserve(compiled.results);
  size_t next = 0;
  for (const Place& p : compiled.params) {
    const bool is_result = p.access == Access::write;
    if (p.access == Access::read) {
      list.push_back(memory_of(args[next++], *p.buffer, p.type, p.elements, p.stored, memories));
    } else if (is_result && p.buffer->strides.empty()) {  // the kernel writes to the memory of the result
      const Constant& c = result.results.emplace_back(p.type, p.shape, fresh_bytes(p.type, p.stored));
      list.push_back({const_cast<std::byte*>(c.bytes().data()), p.stored});
    } else {
      if (is_result) result.results.emplace_back();
      list.push_back(memories.fresh(p.type, p.stored));
    }
  }
  for (const auto& local : compiled.program->locals) list.push_back(memories.fresh(local.type, local.count));
  result.status = bytecode::run(*compiled.program, list);
  next = 0;
  for (size_t k = 0; k < compiled.params.size(); ++k) {
    const Place& p = compiled.params[k];
    if (p.access != Access::write) continue;
    Constant& c = result.results[next++];
    if (p.buffer->strides.empty()) continue;
    std::vector<std::byte> dense(storage_bytes(p.type, p.elements));
    move_elements(p.type, *p.buffer, list[k].data, dense.data(), true);
    c = Constant(p.type, p.shape, std::move(dense));
  }
  return result;
}

// The kernel that stores the value of an expression over scalar parameters.
static Kernel kernel_of(const Expr& e, const std::vector<Var>& variables) {
  Buffer result = make_buffer("result", e.type(), {});
  return {"scalar", {{result, Access::write}}, store(result, {}, e), variables};
}

// Orders scalar parameters as kernels do: the symbols last.
static std::vector<Var> with_symbols_last(std::vector<Var> variables) {
  std::ranges::stable_partition(variables, [](const Var& v) { return !is_symbol_var(v); });
  return variables;
}

CompiledScalar::CompiledScalar(const Expr& e)
    : variables_(with_symbols_last(variables_in(e))), kernel_(kernel_of(e, variables_)) {}

EvaluationResult evaluate(const Kernel& kernel, std::span<const Constant> args, Precision precision) {
  return CompiledKernel(kernel, precision).run(args);
}

EvaluationResult evaluate(const TensorFunction& f, std::span<const Constant> args, Precision precision) {
  return CompiledKernel(f, precision).run(args);
}

}  // namespace dlcc::tensor
