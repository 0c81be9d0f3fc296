#include "tensor/known_intrinsics.h"

#include "tensor/byte_products.h"
#include "tensor/tile_transpose.h"
#include "tensor/word_products.h"

namespace dlcc::tensor {

const std::vector<const Intrinsic*>& known_intrinsics() {
  static const std::vector<const Intrinsic*> all = [] {
    std::vector<const Intrinsic*> known;
    for (ByteProducts kind :
         {ByteProducts::pairs, ByteProducts::signed_dot, ByteProducts::scalar_pairs, ByteProducts::scalar_dot})
      for (const Intrinsic* i : byte_products(kind)) known.push_back(i);
    for (const Intrinsic* i : word_products()) known.push_back(i);
    for (const Intrinsic& i : tile_transposes()) known.push_back(&i);
    return known;
  }();
  return all;
}

}  // namespace dlcc::tensor
