// The checker accepts the plans of random programs, and a simulation computes the same in the arena as with separate
// memory for every value. Plans with one changed offset are simulated too: every plan that the checker accepts must
// compute the same.
#include <doctest/doctest.h>

#include "lower/check_plan.h"
#include "random_program.h"

using namespace dlcc;
using namespace dlcc::lower;

TEST_CASE("plans of random programs are correct") {
  int64_t planned = 0, apart = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const Program program = Generator(seed).run();
    const StoragePlan plan = plan_storage(program);
    REQUIRE(check_storage(program, plan) == "");
    REQUIRE(simulates(program, plan));
    CHECK(plan.arena_bytes >= plan.live_bound);
    planned += plan.arena_bytes;
    for (const Value& v : program.values)
      if (v.storage == Storage::temporary) apart += v.bytes.value();
  }
  CHECK(planned * 2 < apart);  // sharing happens
}

TEST_CASE("a wrong offset that changes what a program computes is caught") {
  int refused = 0, harmless = 0;
  for (uint32_t seed = 1000; seed < 1040; ++seed) {
    const Program program = Generator(seed).run();
    const StoragePlan good = plan_storage(program);
    for (size_t v = 0; v < program.values.size(); ++v) {
      if (good.offsets[v] < 0) continue;
      for (int64_t offset = 0; offset + program.values[v].bytes.value() <= good.arena_bytes;
           offset += program.values[v].alignment) {
        StoragePlan plan = good;
        plan.offsets[v] = offset;
        if (check_storage(program, plan) != "") {
          ++refused;
          continue;
        }
        ++harmless;
        CAPTURE(seed);
        CAPTURE(v);
        CAPTURE(offset);
        REQUIRE(simulates(program, plan));
      }
    }
  }
  CHECK(refused > 1000);
  CHECK(harmless > 1000);
}
