// Random first-order Relay programs through the whole pipeline: scheduled kernels and objects must give the results of
// the imported module's definitions, with sizes that are numbers and with sizes n and m of the inputs.
// DLCC_RANDOM_PROGRAMS=N in the environment tries N programs of each kind, DLCC_RANDOM_PROGRAM=K the K-th alone.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

#include "engines.h"
#include "random_program.h"

using namespace dlcc;
using namespace dlcc::random_program;

namespace {

std::vector<RandomInput> inputs_of(const Program& program, const std::map<std::string, int64_t>& sizes) {
  std::vector<RandomInput> inputs;
  for (const Value& v : program.inputs) inputs.push_back({v.type, at_sizes(v.dims, sizes)});
  return inputs;
}

void run_programs(int default_count, bool symbolic) {
  const char* more = std::getenv("DLCC_RANDOM_PROGRAMS");
  int count = more ? std::atoi(more) : default_count;
  size_t statements = 0;
  const std::map<std::string, int64_t> sizes[] = {
      typical, {{"n", 1}, {"m", 1}}, {{"n", 2}, {"m", 17}}, {{"n", 33}, {"m", 3}}};
  const char* only = std::getenv("DLCC_RANDOM_PROGRAM");
  for (int seed = 1; seed <= count; ++seed) {
    if (only && std::atoi(only) != seed) continue;
    const Program program = make_program(static_cast<unsigned>(seed), symbolic);
    const auto inputs = inputs_of(program, sizes[symbolic ? seed % 4 : 0]);
    statements += program.statements.size();
    std::vector<std::string> all;
    for (const Value& v : program.values) all.push_back(v.name);
    auto difference = [&](const std::vector<std::string>& outputs) {
      return difference_of_engines(static_cast<unsigned>(seed), program.text(outputs), inputs);
    };
    std::string problem = difference(all);
    if (problem.empty()) continue;
    for (const std::string& name : all)  // the first value that is wrong alone
      if (std::string alone = difference({name}); !alone.empty()) {
        problem = alone, all = {name};
        break;
      }
    FAIL_CHECK("seed " << seed << ": " << problem << "\n" << program.text(all));
  }
  MESSAGE(count << " programs, " << statements << " operations");
}

}  // namespace

TEST_CASE("random programs give the results of their definitions") { run_programs(120, false); }

TEST_CASE("random programs with symbolic sizes give the results of their definitions") { run_programs(60, true); }

TEST_CASE("a requirement on sizes holds although the tensor has no elements") {
  CHECK(difference_of_engines(1,
                              "def @main(%c: Tensor[(3, 0, m), bool], %x: Tensor[(2, 1, 1, n), float32]) {\n"
                              "  where(%c, %x, 1f)\n}\n",
                              {{dtype::boolean, {3, 0, 4}}, {dtype::f32, {2, 1, 1, 4}}}) == "");
}

TEST_CASE("no element is taken of an axis without elements") {
  for (const char* mode : {"clip", "wrap"}) {
    const std::string source = fmt::format(
        "def @main(%x: Tensor[(n), float32]) {{\n"
        "  let %rest = strided_slice(%x, begin=[1], end=[1000000]);\n"
        "  (take(%rest, 0i64, axis=0, mode=\"{0}\"), negative(take(negative(%rest), 0i64, axis=0, mode=\"{0}\")))\n"
        "}}\n",
        mode);
    for (int64_t n : {1, 2, 5}) CHECK(difference_of_engines(1, source, {{dtype::f32, {n}}}) == "");
  }
}

TEST_CASE("functions are called with sizes that determine their symbols indirectly") {
  CHECK(difference_of_engines(1,
                              "def @grow(%p: Tensor[(n - 2, 2 * m + 1), float32]) {\n"
                              "  broadcast_to(max(%p, axis=[0, 1]), shape=[n, m])\n"
                              "}\n"
                              "def @main(%x: Tensor[(n, 2 * m + 3), float32]) {\n"
                              "  @grow(%x)\n"
                              "}\n",
                              {{dtype::f32, {3, 7}}}) == "");
  const char* half =
      "def @half(%p: Tensor[(2 * n), float32]) { reshape(%p, newshape=[n, 2]) }\n"
      "def @main(%x: Tensor[(m), float32]) { @half(%x) }\n";
  for (int64_t size : {6, 7}) CHECK(difference_of_engines(1, half, {{dtype::f32, {size}}}) == "");
  const char* two =
      "def @two(%x: Tensor[(2 * n + 2 * m), float32], %y: Tensor[(m), float32]) { full(1f, shape=[n]) }\n"
      "def @main(%x: Tensor[(2 * k), float32], %y: Tensor[(l), float32]) { @two(%x, %y) }\n";
  CHECK(difference_of_engines(1, two, {{dtype::f32, {6}}, {dtype::f32, {1}}}) == "");
  const char* square =
      "def @root(%x: Tensor[(n * n), float32]) { strided_slice(%x, begin=[0], end=[n], strides=[1]) }\n"
      "def @main(%x: Tensor[(m, m), float32]) { @root(reshape(%x, newshape=[-1])) }\n";
  CHECK(difference_of_engines(1, square, {{dtype::f32, {3, 3}}}) == "");
  const char* first =  // n is at least 1
      "def @first(%x: Tensor[(n + 4), float32]) {\n"
      "  let %p = cumsum(strided_slice(%x, begin=[4], end=[n + 4], strides=[1]), axis=0);\n"
      "  (strided_slice(%p, begin=[0], end=[1], strides=[1]), %x)\n"
      "}\n"
      "def @main(%x: Tensor[(m), float32]) { @first(%x) }\n";
  for (int64_t size : {3, 4, 5, 9}) CHECK(difference_of_engines(1, first, {{dtype::f32, {size}}}) == "");
}

TEST_CASE("a window that is larger than a data-dependent image ends the run with a status, or there is none") {
  const char* operations[] = {"nn.conv2d(%c, %w, padding=[0, 0])",
                              "nn.max_pool2d(%c, pool_size=[5, 5], strides=[2, 2])"};
  for (const char* operation : operations) {
    const std::string source = fmt::format(
        "def @main(%x: Tensor[(1, 2, 6, n), float32], %w: Tensor[(2, 2, 3, 3), float32], %end: Tensor[(1), int64]) {{\n"
        "  let %c = strided_slice(%x, full(0i64, shape=[1]), %end, full(1i64, shape=[1]), axes=[3]);\n"
        "  {}\n"
        "}}\n",
        operation);
    for (int64_t n : {1, 4, 9})
      for (unsigned seed : {1u, 4u, 8u})
        CHECK(difference_of_engines(seed, source,
                                    {{dtype::f32, {1, 2, 6, n}}, {dtype::f32, {2, 2, 3, 3}}, {dtype::i64, {1}}}) == "");
  }
}
