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
    for_each_function(program, [&](const Function& f) {
      for (const Value& v : f.values)
        if (v.storage == Storage::temporary) apart += v.bytes.value();
    });
  }
  CHECK(planned * 2 < apart);  // sharing happens
}

namespace {

// Gives each temporary and each workspace every other offset in its arena. The simulation of each plan that the checker
// accepts must be correct.
struct Displacements {
  const Program& program;
  const StoragePlan& good;
  int refused = 0, harmless = 0;

  void move_all() {
    StoragePlan plan = good;
    move_in(program, plan, plan);
    for (size_t k = 0; k < program.functions.size(); ++k) move_in(program.functions[k], plan.functions[k], plan);
  }
  void move_in(const Function& function, FunctionPlan& own, const StoragePlan& plan) {
    for (size_t v = 0; v < function.values.size(); ++v)
      if (own.offsets[v] >= 0)
        move(own.offsets[v], function.values[v].bytes.value(), function.values[v].alignment, own.arena_bytes, plan);
    size_t next = 0;
    for_each_function_call(function.body, [&](const Call& call) {
      const FunctionPlan& callee = plan.functions[static_cast<size_t>(call.function)];
      int64_t& place = own.workspaces[next++];
      if (place >= 0) move(place, callee.arena_bytes, callee.arena_alignment, own.arena_bytes, plan);
    });
  }
  void move(int64_t& place, int64_t bytes, int64_t alignment, int64_t arena_bytes, const StoragePlan& plan) {
    const int64_t right = place;
    for (place = 0; place + bytes <= arena_bytes; place += alignment) {
      if (check_storage(program, plan) != "") {
        ++refused;
        continue;
      }
      ++harmless;
      CAPTURE(place);
      REQUIRE(simulates(program, plan));
    }
    place = right;
  }
};

}  // namespace

TEST_CASE("every changed offset that alters the results of a program is refused") {
  int refused = 0, harmless = 0;
  for (uint32_t seed = 1000; seed < 1040; ++seed) {
    const Program program = Generator(seed).run();
    CAPTURE(seed);
    const StoragePlan good = plan_storage(program);
    Displacements moved{program, good};
    moved.move_all();
    refused += moved.refused, harmless += moved.harmless;
  }
  CHECK(refused > 1000);
  CHECK(harmless > 1000);
}
