// Loads of floats that are the same in every iteration leave loops on 32-bit ARM with an FPU, unless they may change.
// On AArch64, neighbouring floats of which each is a factor of a vector are one load, and a maximum is one instruction.
#include "harness.h"
#include "tensor/parse.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

std::string assembly_for(const std::string& text, const std::string& target_name, const std::string& mcpu) {
  Diagnostics diagnostics;
  auto parsed = parse(text, "test", diagnostics);
  REQUIRE_MESSAGE(parsed, diagnostics.str());
  const targets::Target target = target_named(target_name, mcpu);
  const KernelObject wrapped = wrap(parsed->kernels[0], target);
  return targets::generate_listing(wrapped.program, wrapped.plan, wrapped.interface, target, {},
                                   targets::Listing::assembly);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The number of loads of floats in front of the loop, and from its first instruction on.
std::pair<int, int> float_loads(const std::string& text) {
  const std::string code = assembly_for(text, "cortex-m4", "");
  const size_t begin = code.find("_k0_cortex_m4:"), loop = code.find(".LBB0_1:", begin),
               end = code.find("bx\tlr", loop);
  REQUIRE(end != std::string::npos);
  auto count = [&](size_t from, size_t to) {
    int found = 0;
    for (const char* load : {"vldr", "vldmia"})
      for (size_t at = code.find(load, from); at < to; at = code.find(load, at + 1)) ++found;
    return found;
  };
  return {count(begin, loop), count(loop, end)};
}

}  // namespace

TEST_CASE("constant floats are loaded in front of loops on 32-bit ARM") {
  const auto scaled = float_loads(R"(kernel @k(read a: f32[64], read s: f32[1], write y: f32[64]) {
    for i in 64 { y[i] = a[i] * s[0] }
  })");
  CHECK(scaled == std::pair(1, 1));
  // The sum in y[0] changes in every iteration.
  const auto summed = float_loads(R"(kernel @k(read a: f32[64], write y: f32[1]) {
    y[0] = 0.0
    for i in 64 { y[0] = y[0] + a[i] }
  })");
  CHECK(summed.second == 2);
}

TEST_CASE("neighbouring factors of vectors are one load on AArch64") {
  const std::string code = assembly_for(R"(kernel @k(read a: f32[4], read w: f32[4, 4], write y: f32[4]) {
    alloc reg acc: f32[4]
    vector v in 4 { acc[v] = 0.0 }
    unrolled k in 4 { vector v in 4 { acc[v] = fma(a[k], w[k, v], acc[v]) } }
    vector v in 4 { y[v] = acc[v] }
  })",
                                        "aarch64", "generic");
  CHECK(contains(code, ".s[3]"));
  CHECK(!contains(code, "ldr\ts"));
  CHECK(!contains(code, "ldp\ts"));
}

TEST_CASE("the maximum of vectors is one instruction on AArch64") {
  const std::string code = assembly_for(R"(kernel @k(read a: f32[4], read b: f32[4], write y: f32[4]) {
    vector v in 4 { y[v] = max(a[v], b[v]) }
  })",
                                        "aarch64", "generic");
  CHECK(contains(code, "fmax\tv"));
  CHECK(!contains(code, "fcmeq"));
}
