#include "tensor/byte_lookups.h"

#include <vector>

#include "tensor/visit.h"

namespace dlcc::tensor {

std::set<const ExprNode*> conversions_to_lookup_indices(const Expr& e) {
  std::set<const ExprNode*> found;
  for (const Load& load : loads_of(e)) {
    const bool is_table = load.indices.size() == 1 && load.buffer->shape[0] == Dim(lookup_table_entries) &&
                          !load.otherwise && bits(load.buffer->type) == 8;
    std::vector<const ExprNode*> conversions;
    const Expr* index = is_table ? &load.indices[0] : nullptr;
    for (const Cast* x = nullptr; index && (x = as<Cast>(*index)) && index->type() != dtype::u8; index = &x->a)
      conversions.push_back(index->get());
    if (index && index->type() == dtype::u8) found.insert(conversions.begin(), conversions.end());
  }
  return found;
}

}  // namespace dlcc::tensor
