#include "pipeline/probes.h"

#include "targets/llvm/codegen.h"
#include "tensor/machine.h"
#include "tensor/visit.h"

namespace dlcc {

namespace {

using namespace tensor;

// float32 elements in a row of the probes' buffers; at least the lanes of any vector.
constexpr int64_t row_length = 64;

// Loops over rows, unrolled, and over the lanes of a vector.
Stmt for_each_row(int64_t rows, int64_t lanes, const std::function<Stmt(const Expr&, const Expr&)>& body) {
  Var row = make_var("row"), lane = make_var("lane");
  return for_loop(row, rows, LoopKind::unrolled, for_loop(lane, lanes, LoopKind::vector, body(row, lane)));
}

// Compiles a kernel of one operand and one result as a model, for every level of the target. `body` is the code of one
// thread.
ProbeModel compile_probe(const std::string& name, Constant input, const Buffer& x, const Buffer& y, double work,
                         const targets::Target& target, int threads,
                         const std::function<Stmt(const Machine&, const Expr& thread)>& body) {
  auto all = [&](const Machine& machine) {
    Var thread = make_var("thread");
    return for_loop(thread, threads, LoopKind::parallel, body(machine, thread));
  };
  lower::KernelVariants kernel{name, {}};
  for (const targets::CodeLevel& level : target.levels)
    kernel.variants.push_back({name, {{x, Access::read}, {y, Access::write}}, all(level.machine)});
  ProbeModel probe{.interface = {.prefix = name}, .object = {}, .inputs = {std::move(input)}, .work = work};
  lower::Program program;
  program.threads = threads;
  auto add_tensor = [&](const Buffer& b, lower::Storage storage, std::vector<emit::TensorInterface>& tensors) {
    tensors.push_back({b->name, b->name, b->type, b->shape});
    program.values.push_back({.name = b->name,
                              .type = b->type,
                              .shape = b->shape,
                              .bytes = lower::bytes_of(b->type, b->shape),
                              .storage = storage});
  };
  add_tensor(x, lower::Storage::input, probe.interface.inputs);
  add_tensor(y, lower::Storage::output, probe.interface.outputs);
  program.inputs = {0};
  program.outputs = {1};
  program.kernels.push_back(std::move(kernel));
  program.body.steps.emplace_back(lower::Invoke{.kernel = 0, .operands = {0, 1}, .in_place = {}, .node = name});
  lower::StoragePlan plan{{.offsets = {-1, -1}}, {}};
  probe.object = targets::generate_object(program, plan, probe.interface, target, {}).bytes();
  return probe;
}

}  // namespace

ProbeModel arithmetic_probe(const targets::Target& target, int threads) {
  // Rows of `x`: initial values of accumulators; the last two are the factor and the addend of every multiply-add.
  constexpr int64_t rows = 32, scale = rows - 2, offset = rows - 1, multiply_adds = 1 << 23;
  Buffer x = make_buffer("x", dtype::f32, {rows, row_length}),
         y = make_buffer("y", dtype::f32, {threads, rows, row_length});
  std::vector<float> values(rows * row_length, 1.0f);
  std::fill(values.begin() + scale * row_length, values.begin() + offset * row_length, 0.999f);
  std::fill(values.begin() + offset * row_length, values.end(), 1e-3f);
  for (int64_t r = 0; r < scale; ++r) values[static_cast<size_t>(r * row_length)] = static_cast<float>(r);
  auto body = [&](const Machine& machine, const Expr& thread) {
    // Three quarters of the registers are accumulators, more than Machine::accumulators_in_flight; the others are for
    // the factors.
    int64_t count = machine.vector_registers * 3 / 4, lanes = machine.lanes(32);
    Buffer sums = make_buffer("sums", dtype::f32, {count, lanes}, Scope::reg);
    auto begin = [&](const Expr& r, const Expr& l) { return store(sums, {r, l}, load(x, {r, l})); };
    auto step = [&](const Expr& r, const Expr& l) {
      Expr a = load(sums, {r, l}), b = load(x, {scale, l}), c = load(x, {offset, l});
      return store(sums, {r, l}, machine.has_fma ? fma(a, b, c) : a * b + c);
    };
    auto end = [&](const Expr& r, const Expr& l) { return store(y, {thread, r, l}, load(sums, {r, l})); };
    return allocate(sums, sequence({for_each_row(count, lanes, begin),
                                    for_loop(make_var("k"), multiply_adds / (count * lanes), LoopKind::serial,
                                             for_each_row(count, lanes, step)),
                                    for_each_row(count, lanes, end)}));
  };
  return compile_probe("arithmetic_probe", Constant::of(dtype::f32, {rows, row_length}, values), x, y,
                       2.0 * multiply_adds * threads, target, threads, body);
}

ProbeModel reading_probe(const targets::Target& target, int64_t bytes, int threads) {
  constexpr int64_t rows = 8;  // independent accumulators, each a vector
  int64_t blocks = std::max<int64_t>(bytes / (threads * rows * row_length * 4), 1),
          elements = blocks * rows * row_length;
  Buffer x = make_buffer("x", dtype::f32, {threads, elements}),
         y = make_buffer("y", dtype::f32, {threads, rows, row_length});
  auto body = [&](const Machine& machine, const Expr& thread) {
    int64_t lanes = machine.lanes(32);
    Buffer sums = make_buffer("sums", dtype::f32, {rows, lanes}, Scope::reg);
    Var k = make_var("k");
    auto begin = [&](const Expr& r, const Expr& l) { return store(sums, {r, l}, literal(dtype::f32, 0.0)); };
    auto step = [&](const Expr& r, const Expr& l) {
      Expr at = Expr(k) * Expr(rows * lanes) + r * Expr(lanes) + l;
      return store(sums, {r, l}, load(sums, {r, l}) + load(x, {thread, at}));
    };
    auto end = [&](const Expr& r, const Expr& l) { return store(y, {thread, r, l}, load(sums, {r, l})); };
    return allocate(sums,
                    sequence({for_each_row(rows, lanes, begin),
                              for_loop(k, elements / (rows * lanes), LoopKind::serial, for_each_row(rows, lanes, step)),
                              for_each_row(rows, lanes, end)}));
  };
  std::vector<float> values(static_cast<size_t>(threads * elements), 1.0f);
  return compile_probe("reading_probe", Constant::of(dtype::f32, {threads, elements}, values), x, y,
                       static_cast<double>(threads * elements) * 4, target, threads, body);
}

}  // namespace dlcc
