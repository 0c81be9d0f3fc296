#include "harness.h"
#include <cstdio>
#include <cstdlib>
#include <chrono>
#include <fstream>
namespace dlcc::test {
using namespace tensor;
Kernel conv(int Q, int NV, int L, int W);
TEST_CASE("dumpa") {
  Kernel k = conv(6, 4, 4, 12);
  k = conv(4, 1, 16, 12);
  targets::Target t = target_named("aarch64", "");
  CompiledKernel c = wrap(k, t);
  c.object = targets::generate_object(c.program, c.plan, c.interface, t, {});
  std::ofstream("/tmp/a64.o", std::ios::binary).write((const char*)c.object.data(), c.object.size());
  std::ofstream("/tmp/net.h") << emit::make_header(c.interface);
  std::ofstream("/tmp/a64.s") << targets::generate_listing(c.program, c.plan, c.interface, t, {}, targets::Listing::assembly);
  printf("stack %ld\n", (long)targets::stack_bytes(c.object));
}
TEST_CASE("dumpw") {
  Kernel k = conv(14, 2, 16, 14);
  targets::Target t = target_named("x86-64", "");
  CompiledKernel c = wrap(k, t);
  int64_t n = 25 << 20;
  c.program.constants.push_back(Constant::of(dtype::f32, {n}, std::vector<float>(n, 1.f)));
  auto t0 = std::chrono::steady_clock::now();
  c.object = targets::generate_object(c.program, c.plan, c.interface, t, {});
  printf("100 MB: %.0f ms\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count() * 1e3);
  for (int i = 0; i < 25; ++i) c.program.kernels.push_back(c.program.kernels[0]);
  for (int j : {1, 2}) {
  t0 = std::chrono::steady_clock::now();
  c.object = targets::generate_object(c.program, c.plan, c.interface, t, {2, j});
  printf("26 kernels x 2, -j%d: %.0f ms\n", j, std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count() * 1e3);
  }
}
}
