// Packings are always valid, and optimal where the optimum is known.
#include "lower/pack_buffers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "packing.h"

using namespace dlcc::lower;

namespace {

// The height of an optimal packing of a few buffers, by first fit in every order.
int64_t optimum(const std::vector<LiveBuffer>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offsets(buffers.size(), -1);
    int64_t height = 0;
    for (size_t i : order) {
      const LiveBuffer& b = buffers[i];
      int64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < buffers.size(); ++j) {
          if (offsets[j] < 0 || b.lower >= buffers[j].upper || buffers[j].lower >= b.upper) continue;
          if (at >= offsets[j] + buffers[j].size || offsets[j] >= at + b.size) continue;
          at = (offsets[j] + buffers[j].size + b.alignment - 1) / b.alignment * b.alignment;
          moved = true;
        }
      }
      offsets[i] = at;
      height = std::max(height, at + b.size);
    }
    best = std::min(best, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

std::vector<LiveBuffer> random_buffers(std::mt19937& random, int count, int64_t span, int64_t most) {
  std::vector<LiveBuffer> buffers;
  for (int i = 0; i < count; ++i) {
    const int64_t lower = static_cast<int64_t>(random() % span);
    const int64_t alignments[] = {1, 1, 2, 4};
    buffers.push_back({1 + static_cast<int64_t>(random() % most), lower,
                       lower + 1 + static_cast<int64_t>(random() % (span / 2)), alignments[random() % 4]});
  }
  return buffers;
}

}  // namespace

TEST_CASE("no buffers, empty buffers and empty intervals need no space") {
  CHECK(pack_buffers({}).bytes == 0);
  const std::vector<LiveBuffer> buffers = {{0, 0, 5}, {7, 3, 3}, {4, 0, 9}};
  const Packing packing = pack_buffers(buffers);
  CHECK(packing.bytes == 4);
  CHECK(packing.offsets == std::vector<int64_t>{0, 0, 0});
  CHECK(live_bound(buffers) == 4);
}

TEST_CASE("the live bound rounds the sizes below the topmost buffer up to the alignment") {
  CHECK(live_bound({{3, 0, 2, 4}, {5, 1, 3, 4}}) == 9);             // 3 above 8 is 11, 5 above 4 is 9
  CHECK(live_bound({{3, 0, 2, 4}, {5, 2, 3, 4}}) == 5);             // intervals are half open
  CHECK(pack_buffers({{3, 0, 2, 4}, {5, 1, 3, 4}}).bytes < 9 + 4);  // packing itself counts whole units only
}

TEST_CASE("packings of few buffers are almost always optimal, and never below the bound") {
  std::mt19937 random(1);
  int missed = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<LiveBuffer> buffers = random_buffers(random, 6, 8, 9);
    const Packing packing = pack_buffers(buffers);
    REQUIRE(is_valid(buffers, packing));
    const int64_t best = optimum(buffers);
    REQUIRE(packing.bytes >= best);
    REQUIRE(best >= live_bound(buffers));
    missed += packing.bytes > best;
  }
  CHECK(missed <= 3);  // mixed alignments round sizes up to their common unit
}

TEST_CASE("equal input, equal packing") {
  std::mt19937 random(2);
  const std::vector<LiveBuffer> buffers = random_buffers(random, 120, 60, 1000);
  CHECK(pack_buffers(buffers).offsets == pack_buffers(buffers).offsets);
}

TEST_CASE("backtracking search improves on greedy orders") {
  std::mt19937 random(3);
  int64_t greedy = 0, searched = 0, bound = 0;
  for (int round = 0; round < 10; ++round) {
    const std::vector<LiveBuffer> buffers = random_buffers(random, 80, 60, 1000);
    const Packing a = pack_buffers(buffers, 0), b = pack_buffers(buffers, 250);
    REQUIRE(is_valid(buffers, a));
    REQUIRE(is_valid(buffers, b));
    greedy += a.bytes, searched += b.bytes, bound += live_bound(buffers);
  }
  CHECK(searched < greedy);
  CHECK(searched <= bound + bound / 20);
  MESSAGE("above the live bound: greedy ", 100.0 * greedy / bound - 100, " %, searched ",
          100.0 * searched / bound - 100, " %");
}

TEST_CASE("first fit packs thousands of buffers") {
  std::mt19937 random(4);
  const std::vector<LiveBuffer> buffers = random_buffers(random, 5000, 20000, 100000);
  const Packing packing = pack_buffers(buffers, 0);
  CHECK(is_valid(buffers, packing));
  CHECK(packing.bytes <= live_bound(buffers) * 5 / 4);
  const double share = 100.0 * packing.bytes / live_bound(buffers);
  MESSAGE(share, " % of the live bound");
}
