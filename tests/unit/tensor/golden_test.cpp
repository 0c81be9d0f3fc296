// Golden tests (golden.h) of passes over kernels. The input is a kernel; the command is the name of the pass, for
// outline-loop-nests with the maximum depth, the number of threads and the cost of a call, for strip-mine-vector-loops
// with the bytes of a vector and, if the CPU has them, `lookups`, for distribute-rows with the bytes of a vector and
// the number of threads. The kernel before and after the pass computes the same.
#include "golden.h"

#include "support/constant.h"
#include "tensor/evaluate.h"
#include "tensor/index_facts.h"
#include "tensor/parse.h"
#include "tensor/passes/branch_around_floats.h"
#include "tensor/passes/distribute_rows.h"
#include "tensor/passes/hoist_indices.h"
#include "tensor/passes/legalize_vector_loops.h"
#include "tensor/passes/outline_loop_nests.h"
#include "tensor/passes/strip_mine_vector_loops.h"

namespace dlcc::tensor {
namespace {

Kernel parsed(const std::string& text, const std::string& file) {
  Diagnostics diagnostics;
  auto module = parse(text, file, diagnostics);
  REQUIRE_MESSAGE(module, diagnostics.str() << text);
  REQUIRE(module->kernels.size() == 1);
  return module->kernels[0];
}

Stmt run_pass(const std::string& command, const Kernel& kernel) {
  std::stringstream words(command);
  std::string pass;
  words >> pass;
  if (pass == "legalize-vector-loops") {
    Stmt body = legalize_vector_loops(kernel.body);
    CHECK(legalize_vector_loops(body) == body);  // legal loops stay
    return body;
  }
  if (pass == "branch-around-floats") return branch_around_floats(kernel.body);
  if (pass == "hoist-indices") return hoist_indices(kernel.body, symbols_of(kernel));
  Machine machine;
  if (pass == "strip-mine-vector-loops") {
    std::string lookups;
    words >> machine.vector_bytes;
    REQUIRE(words);
    words >> lookups;
    return strip_mine_vector_loops(kernel.body, machine, lookups == "lookups");
  }
  int depth = 0, threads = 0;
  if (pass == "distribute-rows") {
    words >> machine.vector_bytes >> threads;
    REQUIRE(words);
    return distribute_rows(kernel.body, machine, threads);
  }
  REQUIRE_MESSAGE(pass == "outline-loop-nests", pass);
  words >> depth >> threads >> machine.call_cost;
  REQUIRE(words);
  return outline_loop_nests(kernel.body, depth, threads, machine);
}

// Small numbers, different in neighbouring elements. Symbols are 5.
std::vector<Constant> arguments_of(const Kernel& kernel) {
  std::vector<Constant> result;
  for (const Parameter& p : kernel.params) {
    if (p.access != Access::read) continue;
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const Dim& d : p.buffer->shape) shape.push_back(d.is_constant() ? d.value() : 5), count *= shape.back();
    auto numbers = [&](auto zero) {
      std::vector<decltype(zero)> values;
      for (int64_t k = 0; k < count; ++k) values.push_back(static_cast<decltype(zero)>(k * 5 % 7));
      return Constant::of(p.buffer->type, shape, values);
    };
    if (p.buffer->type == dtype::f32)
      result.push_back(numbers(float{}));
    else if (p.buffer->type == dtype::i64)
      result.push_back(numbers(int64_t{}));
    else
      result.push_back(
          Constant(p.buffer->type, shape,
                   std::vector(static_cast<size_t>(storage_bytes(p.buffer->type, count)), std::byte{0x53})));
  }
  for (size_t k = 0; k < kernel.scalars.size(); ++k)
    result.push_back(Constant::of<int64_t>(dtype::i64, {}, std::vector<int64_t>{5}));
  return result;
}

std::string output_of(const std::string& command, const std::string& input, const std::string& file) {
  const Kernel before = parsed(input, file);
  Kernel after = before;
  after.body = run_pass(command, before);
  const std::string text = print(after);
  CHECK(print(parsed(text, file)) == text);
  const std::vector<Constant> arguments = arguments_of(before);
  const EvaluationResult a = evaluate(before, arguments), b = evaluate(after, arguments);
  CHECK(a.status == b.status);
  REQUIRE(a.results.size() == b.results.size());
  for (size_t k = 0; k < a.results.size() && a.status == Status::ok; ++k)
    CHECK(std::ranges::equal(a.results[k].bytes(), b.results[k].bytes()));
  return text;
}

}  // namespace

TEST_CASE("golden texts of passes over kernels") {
  check_golden_folder(std::filesystem::path(DLCC_GOLDEN_FOLDER) / "tensor", ".tensor", output_of);
}

}  // namespace dlcc::tensor
