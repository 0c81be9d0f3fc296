#include "tensor/schedules/sizes.h"

#include <algorithm>
#include <map>

#include "shape/typical_sizes.h"
#include "tensor/analysis.h"
#include "tensor/visit.h"

namespace dlcc::tensor {

std::vector<Var> scalars_of_kernel(const TensorFunction& f) {
  std::vector<Var> scalars = f.scalars;
  for (const Symbol& s : symbols_of(f)) scalars.push_back(scalar_of(s));
  return scalars;
}

int64_t bytes_of(const Buffer& b) {
  const std::optional<int64_t> elements = product(b->shape).upper_bound();
  return elements && *elements <= max_elements ? *elements * bits(b->type) / 8 : max_value_bytes;
}

bool is_larger(const Buffer& b, int64_t bytes) { return !is_static(b->shape) || bytes_of(b) > bytes; }

int64_t typical_image_size(const Dim& d) {
  std::map<std::string, int64_t> sizes;
  for (const Symbol& s : d.symbols()) sizes[s.name] = std::clamp(typical_image_side, s.low, s.high);
  return std::max<int64_t>(d.evaluate(sizes).value_or(typical_image_side), 1);
}

}  // namespace dlcc::tensor
