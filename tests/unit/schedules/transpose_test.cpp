// Copies of images in channel blocks into dense images, which transpose tiles of channels and pixels.
#include "tensor/schedules/transpose.h"

#include <doctest/doctest.h>

#include "harness.h"
#include "tensor/builder.h"
#include "tensor/layout.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

// Whether the copy of `channels` x `h` x `w` elements of two images transposes tiles. Checks the results.
bool has_tiles(int64_t channels, const Dim& h, const Dim& w, int64_t halo = 0, DType type = dtype::f32) {
  Definition d("dense");
  Tensor x = d.input("x", type, {2, channels, h, w});
  d.result("y", type, {2, channels, h, w}, [&](Index i) { return x(i); });
  const TensorFunction f = d.finish();
  const Shape& shape = f.params[0]->shape;
  const Layout blocks = with_halo(blocked_layout(shape, 1, channel_block, Layout::Tail::zero), shape,
                                  {{}, {}, {halo, halo}, {halo, halo}});
  if (is_static(shape))
    check_schedule(f, {false}, {blocks, {}});
  else
    check_symbolic_schedule(f, {false}, {blocks, {}}, {}, {1, 3, 8, 17});
  return print(schedule({f, {false}, {blocks, {}}, {avx512}}).variants[0]).find("call transpose.") != std::string::npos;
}

}  // namespace

TEST_CASE("tiles of an image in channel blocks are transposed") {
  CHECK(has_tiles(32, 5, 7));
  CHECK(has_tiles(40, 9, 11));     // the last block is half full
  CHECK(has_tiles(35, 9, 11));     // three channels are copied one by one
  CHECK(has_tiles(32, 9, 19, 2));  // a row of pixels is a row of tiles
  CHECK(has_tiles(32, Dim::symbol({"h", 1}), Dim::symbol({"w", 1})));
  CHECK_FALSE(has_tiles(4, 9, 11));
  CHECK_FALSE(has_tiles(32, 1, 7));
  CHECK_FALSE(has_tiles(32, 5, 7, 0, dtype::i64));
}
