#include "lower/schedule_kernel.h"

#include <algorithm>
#include <set>

#include "tensor/operation_count.h"
#include "tensor/passes/bind_shared.h"
#include "tensor/passes/branch_around_floats.h"
#include "tensor/passes/expand_math.h"
#include "tensor/passes/expand_quantization.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/passes/serpentine_order.h"
#include "tensor/text.h"
#include "tensor/verify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

using tensor::Machine;

bool are_alike_in_fma(const std::vector<Machine>& machines) {
  return std::ranges::all_of(machines, [&](const Machine& m) { return m.has_fma == machines[0].has_fma; });
}

// Whether the code of a function with few operations would gain little from faster instructions: half of them take as
// long as a call of the kernel, ten nanoseconds, and faster code saves half at most.
bool is_short(const tensor::TensorFunction& f) {
  constexpr double few = 1024;
  return tensor::count_operations(f).value_or(few + 1) <= few;
}

bool has_bytes(const tensor::TensorFunction& f) {
  auto is_byte = [](const tensor::Buffer& b) { return bits(b->type) <= 8; };
  return std::ranges::any_of(f.params, is_byte) ||
         std::ranges::any_of(f.stages, [&](const tensor::Stage& s) { return std::ranges::any_of(s.results, is_byte); });
}

bool differ_in_byte_products_only(const Machine& a, Machine b) {
  b.byte_products = a.byte_products;
  return a == b;
}

// The machines for which a function gets kernels. All levels run the first level's code of a short function; levels
// with and without fused multiply-adds differ in the bits of results. The kernel of a function without bytes is the
// same for a last level that differs in byte products only.
std::vector<Machine> machines_for(const tensor::TensorFunction& f, std::vector<Machine> machines) {
  if (are_alike_in_fma(machines) && is_short(f)) return {machines[0]};
  const bool is_extended = machines.size() > 1 && differ_in_byte_products_only(*(machines.end() - 2), machines.back());
  if (is_extended && !has_bytes(f)) machines.pop_back();
  return machines;
}

// If the loops of one variant can run in serpentine order, gives all variants the further scalar parameter `backward`,
// after their first `scalars` ones. `constant`: for each of the first parameters, whether it is constant.
bool make_serpentine(std::vector<tensor::Kernel>& variants, const std::vector<bool>& constant, size_t scalars) {
  const tensor::Var backward = tensor::make_var("backward");
  std::vector<tensor::Stmt> bodies;
  for (const tensor::Kernel& k : variants) {
    std::set<tensor::Buffer> repeated;
    for (size_t p = 0; p < constant.size(); ++p)
      if (constant[p]) repeated.insert(k.params[p].buffer);
    bodies.push_back(tensor::serpentine_order(k.body, backward, repeated));
  }
  if (std::ranges::none_of(bodies, [](const tensor::Stmt& body) { return body != nullptr; })) return false;
  for (size_t level = 0; level < bodies.size(); ++level) {
    tensor::Kernel& k = variants[level];
    if (bodies[level]) k.body = bodies[level];
    k.scalars.insert(k.scalars.begin() + static_cast<std::ptrdiff_t>(scalars), backward);
    tensor::verify_after("serpentine_order", k);
  }
  return true;
}

// The passes that follow every schedule.
void finish(tensor::Kernel& k, const Machine& machine, const tensor::ScheduleOptions& options) {
  auto run = [&](const char* pass, tensor::Stmt body) {
    k.body = std::move(body);
    tensor::verify_after(pass, k);
  };
  // Machines without vectors emulate fused multiply-adds, so that functions have the bits of machines that have them.
  const bool fused = options.strict || machine.has_fma || machine.lanes(32) == 1;
  run("expand_math", tensor::expand_math(k.body, {.fused = fused, .fast = !options.strict}));
  if (machine.has_fma && machine.lanes(32) > 1) run("expand_quantization", tensor::expand_quantization(k.body));
  if (!machine.has_fpu) run("branch_around_floats", tensor::branch_around_floats(k.body));
  run("bind_shared", tensor::bind_shared(k.body));
  run("choose_parallel_loops", tensor::choose_parallel_loops(k.body, options.threads, machine));
}

std::string text_without_name(const tensor::Kernel& k) {
  tensor::Kernel unnamed = k;
  unnamed.name.clear();
  return tensor::print(unnamed);
}

// Whether the kernel computes one element at a time, in general registers or single lanes of vector registers.
bool is_scalar(const tensor::Kernel& k) {
  bool scalar = true;
  tensor::for_each_stmt(k.body, [&](const tensor::Stmt& s) {
    const auto* loop = tensor::as<tensor::For>(s);
    scalar &= !(loop && loop->kind == tensor::LoopKind::vector) && !tensor::as<tensor::IntrinsicCall>(s);
  });
  return scalar;
}

}  // namespace

ScheduledKernel schedule_kernel(KernelRequest request) {
  tensor::ScheduleRequest& r = request.schedule;
  const size_t levels = r.machines.size();
  if (request.may_share_code) r.machines = machines_for(r.function, r.machines);
  tensor::ScheduledFunction s = tensor::schedule(r);
  ScheduledKernel result{.kernel = {r.function.name, std::move(s.variants)},
                         .text = {},
                         .packing = std::move(s.packing),
                         .in_place = std::move(s.in_place)};
  std::vector<tensor::Kernel>& variants = result.kernel.variants;
  if (request.repeats_constants)
    result.is_serpentine = make_serpentine(variants, r.constant, r.function.scalars.size());
  std::vector<std::string> texts;
  for (size_t level = 0; level < variants.size(); ++level) {
    finish(variants[level], r.machines[level], r.options);
    texts.push_back(text_without_name(variants[level]));
    variants[level].name = r.function.name;
  }
  // CPU levels differ in their vectors: scalar code is the same on all of them.
  const bool are_equal = std::ranges::all_of(texts, [&](const std::string& text) { return text == texts[0]; });
  if (are_equal && are_alike_in_fma(r.machines) && is_scalar(variants[0])) variants.resize(1), texts.resize(1);
  if (variants.size() > 1) variants.resize(levels, variants.back());
  for (const std::string& text : texts) result.text += text;
  return result;
}

}  // namespace dlcc::lower
