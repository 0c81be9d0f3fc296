#include "tensor/known_intrinsics.h"

#include "tensor/byte_products.h"
#include "tensor/tile_transpose.h"

namespace dlcc::tensor {

const std::vector<const Intrinsic*>& known_intrinsics() {
  static const std::vector<const Intrinsic*> all = [] {
    std::vector<const Intrinsic*> known(byte_products().begin(), byte_products().end());
    known.insert(known.end(), scalar_byte_products().begin(), scalar_byte_products().end());
    for (const Intrinsic& i : tile_transposes()) known.push_back(&i);
    return known;
  }();
  return all;
}

}  // namespace dlcc::tensor
