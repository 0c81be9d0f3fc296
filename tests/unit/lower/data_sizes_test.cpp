// Programs with data-dependent sizes.
#include <doctest/doctest.h>

#include "lower/check_plan.h"
#include "lower/evaluate.h"
#include "lower/largest_size.h"
#include "lower/verify.h"
#include "lower/walk.h"
#include "lowering.h"
#include "program_builder.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

const Symbol n{"n", 1}, k{"k", 0};

// A step defines k, which is at most 4 * n; a value of 2 * k bytes is written and copied to the output.
ProgramBuilder counted() {
  ProgramBuilder b;
  b.program.dims = {{"n", n}};
  b.program.data_sizes = {{k, Dim(4) * Dim::symbol(n)}};
  auto resize = [&](ValueId v, const Dim& bytes) {
    b.program.values[v].bytes = bytes;
    b.program.values[v].shape = {bytes};
  };
  const ValueId in = b.input(8), kept = b.temporary(0), found = b.temporary(0), out = b.output(0);
  b.program.values[in].type = dtype::i64;
  b.program.values[in].shape = {1};
  resize(kept, Dim(8) * Dim::symbol(n));
  for (ValueId v : {found, out}) resize(v, Dim(2) * Dim::symbol(k));
  auto call = [&](std::vector<ValueId> reads, std::vector<ValueId> writes) {
    Invoke invoke = b.call(std::move(reads), std::move(writes));
    tensor::Kernel& kernel = b.program.kernels[invoke.kernel].variants[0];
    for (const Symbol& s : {k, n}) {
      kernel.scalars.push_back(scalar_of(s));
      invoke.scalars.push_back(tensor::symbol_var(s));
    }
    return invoke;
  };
  std::vector<Step>& steps = b.program.body.steps;
  steps.push_back(Read{scalar_of(k), in});
  steps.push_back(call({}, {kept}));
  steps.push_back(call({}, {found}));
  steps.push_back(call({kept, found}, {out}));
  for (KernelVariants& variants : b.program.kernels)
    for (tensor::Parameter& p : variants.variants[0].params)
      if (&variants == &b.program.kernels[0]) p.buffer = tensor::make_buffer("p", dtype::u8, {Dim(8) * Dim::symbol(n)});
  return b;
}

// Whether the program's requirements with the status hold when its only data-dependent size is `size`.
bool holds_at(const Program& p, tensor::Status status, int64_t size) {
  const tensor::Substitution at = {{scalar_of(p.data_sizes.at(0).symbol), tensor::Expr(size)}};
  bool all = true, any = false;
  for_each_step(p.body, [&](const Step& step) {
    const auto* require = std::get_if<Require>(&step);
    if (!require || require->status != status) return;
    any = true;
    all &= tensor::constant_integer(tensor::simplify(tensor::substitute(require->condition, at))) == 1;
  });
  REQUIRE(any);
  return all;
}

}  // namespace

TEST_CASE("the upper bound of a size over data-dependent sizes") {
  const Program p = counted().program;
  const Dim largest = Dim(4) * Dim::symbol(n), data = Dim::symbol(k);
  CHECK(largest_size(p, Dim(7)) == Dim(7));
  CHECK(largest_size(p, Dim(2) * data + Dim::symbol(n)) == Dim(9) * Dim::symbol(n));
  CHECK(largest_size(p, data * data) == largest * largest);
  CHECK(largest_size(p, Dim::symbol(n) - data) == Dim::symbol(n));
  CHECK(largest_size(p, floor_div(data + Dim(3), 4)) == floor_div(largest + Dim(3), 4));
  CHECK(largest_size(p, floor_div(Dim(6), data)) == Dim(6));
  CHECK(largest_size(p, floor_mod(data, 8)) == Dim(8));
  CHECK(largest_size(p, max(data, Dim(6))) == max(largest, Dim(6)));
  CHECK(with_largest_data_sizes(p, {{"n", 5}}).at("k") == 20);
}

TEST_CASE("a take without results needs no element") {
  const Program p = lowered(R"(def @main(%x: Tensor[(5), float32]) {
    let %found = nonzero(nn.relu(%x));
    let %some = take(%x, squeeze(prefix(%found.0, %found.1), axis=[1]), axis=0);
    take(%some, argsort(%some, dtype="int64"), axis=0, mode="clip")
  })");
  CHECK(holds_at(p, tensor::Status::index_out_of_range, 0));
  CHECK(holds_at(p, tensor::Status::index_out_of_range, 3));
}

TEST_CASE("memory is planned for the upper bounds of data-dependent sizes") {
  const Program program = counted().program;
  Diagnostics d;
  CHECK_MESSAGE(verify(program, d), d.str());
  StoragePlan plan = plan_storage(program);
  REQUIRE(plan.is_stacked());
  CHECK(check_storage(program, plan) == "");
  CHECK(lay_out_arena(plan, {{"n", 10}}).arena_bytes >= 80 + 80);
  for (StackedBlock& block : plan.blocks)
    if (block.size.bytes == Dim(8) * Dim::symbol(n)) block.size.bytes = Dim(7) * Dim::symbol(n);
  CHECK(check_storage(program, plan).find("its block") != std::string::npos);
}

TEST_CASE("the verifier requires bounds and definitions of data-dependent sizes") {
  ProgramBuilder b = counted();
  b.program.data_sizes[0].most = Dim::symbol({"m"});
  Diagnostics d;
  CHECK(!verify(b.program, d));
  CHECK(d.str().find("depends on m, which no input gives") != std::string::npos);
  b = counted();
  b.program.body.steps.erase(b.program.body.steps.begin());
  Diagnostics undefined;
  CHECK(!verify(b.program, undefined));
  CHECK(undefined.str().find("uses the scalar k, which is not visible") != std::string::npos);
}

TEST_CASE("programs with data-dependent sizes give the results of their modules") {
  // The positions, as a result and as an operand of another operator.
  lowered(R"(def @main(%x: Tensor[(3, 4), float32]) -> Tensor[(?, 2), int64] {
    let %found = nonzero(%x);
    prefix(%found.0, %found.1)
  })");
  const Program rows = lowered(R"(def @main(%x: Tensor[(5, 8), float32], %c: Tensor[(5), bool]) {
    let %found = nonzero(%c);
    let %rows = prefix(%found.0, %found.1);
    sum(take(%x, squeeze(%rows, axis=[1]), axis=0, mode="fast"), axis=[0])
  })");
  REQUIRE(rows.data_sizes.size() == 1);
  CHECK(rows.data_sizes[0].most == Dim(5));
  CHECK(holds_at(rows, tensor::Status::capacity_exceeded, 5));
  CHECK_FALSE(holds_at(rows, tensor::Status::capacity_exceeded, 6));
  CHECK(holds_at(rows, tensor::Status::dimension_out_of_range, 0));
  CHECK_FALSE(holds_at(rows, tensor::Status::dimension_out_of_range, -1));
  // Two calls of a function have sizes of their own.
  const Program twice = lowered(R"(
  def @positions(%c: Tensor[(5), bool]) -> Tensor[(?, 1), int64] {
    let %found = nonzero(%c);
    prefix(%found.0, %found.1)
  }
  def @main(%c: Tensor[(5), bool]) {
    (@positions(%c), @positions(logical_not(%c)))
  })");
  CHECK(twice.data_sizes.size() == 2);
}

TEST_CASE("a tensor of one element from which sizes and indices are computed is a scalar") {
  const Program p = lowered(R"(def @main(%x: Tensor[(100, 4), float32], %q: Tensor[(99), float32], %count: int64) {
    let %loop = fn (%i: int64, %s: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, %count)) {
        let %begin = multiply(expand_dims(%i, axis=0), full(3i64, shape=[1]));
        let %rows = strided_slice(%x, %begin, %begin + full(2i64, shape=[1]), full(1i64, shape=[1]), axes=[0]);
        %loop(%i + 1i64, %s + sum(tanh(%rows), axis=[0]))
      } else { %s }
    };
    let %best = expand_dims(argmax(%q, axis=[0]), axis=0);
    let %at = cast(%best, dtype="int64");
    let %row = strided_slice(%x, %at, %at + full(1i64, shape=[1]), full(1i64, shape=[1]), axes=[0]);
    (%loop(0i64, full(0f, shape=[4])), %row, nn.pad(%at, 7i64, pad_width=[[1, 1]]))
  })");
  REQUIRE(p.data_sizes.size() == 2);
  CHECK(p.data_sizes[0].most == Dim(1));
  CHECK(p.data_sizes[1].most == Dim(2));
  for_each_step(p.body, [&](const Step& step) {  // a kernel takes the indices as scalars
    if (const auto* call = std::get_if<Invoke>(&step))
      for (size_t k = 0; k < call->operands.size(); ++k) {
        const Value& v = p.values[static_cast<size_t>(call->operands[k])];
        const auto& params = p.kernels[static_cast<size_t>(call->kernel)].variants[0].params;
        if (params[k].access == tensor::Access::read) CHECK((v.type != dtype::i64 || v.storage == Storage::constant));
      }
  });
}

TEST_CASE("the bound of a slice that begins at a loop's counter is its length") {
  const Program p = lowered(R"(def @main(%x: Tensor[(100, 4), float32], %count: int64) {
    let %loop = fn (%i: int64, %s: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, %count)) {
        let %begin = expand_dims(%i, axis=0);
        let %one = full(1i64, shape=[1]);
        let %rows = strided_slice(%x, %begin, %begin + full(2i64, shape=[1]), %one, axes=[0]);
        %loop(%i + 1i64, %s + sum(tanh(%rows), axis=[0]))
      } else { %s }
    };
    %loop(0i64, full(0f, shape=[4]))
  })");
  REQUIRE(p.data_sizes.size() == 1);
  CHECK(p.data_sizes[0].most == Dim(2));
}
