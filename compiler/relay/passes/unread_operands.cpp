#include "relay/passes/unread_operands.h"

#include <algorithm>

#include "tensor/analysis.h"
#include "tensor/visit.h"

namespace dlcc::relay {

void embed_scalars(tensor::TensorFunction& f, std::vector<Atom>& args) {
  for (size_t k = args.size(); k-- > 0;) {
    const Constant* c = std::get_if<Constant>(&args[k]);
    if (!c || c->count() != 1 || bits(c->dtype()) < 8 || is_minifloat(c->dtype())) continue;
    tensor::Expr value = is_float(c->dtype()) ? tensor::literal(c->dtype(), c->number_at(0))
                                              : tensor::literal(c->dtype(), c->integer_at(0));
    tensor::Buffer param = f.params[k];
    for (tensor::Stage& stage : f.stages)
      tensor::rewrite_stage(stage, [&](const tensor::Expr& e) {
        const tensor::Load* l = tensor::as<tensor::Load>(e);
        return l && l->buffer == param && !l->otherwise ? value : e;
      });
    bool still_read =
        std::ranges::any_of(f.stages, [&](const tensor::Stage& stage) { return tensor::reads(stage, param); });
    if (still_read) continue;
    f.params.erase(f.params.begin() + static_cast<std::ptrdiff_t>(k));
    args.erase(args.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

void drop_unread_args(tensor::TensorFunction& f, std::vector<Atom>& args) {
  for (size_t k = args.size(); k-- > 0;) {
    tensor::TensorFunction rest = f;
    rest.params.erase(rest.params.begin() + static_cast<std::ptrdiff_t>(k));
    if (!tensor::defines_symbols(rest)) continue;
    f = std::move(rest);
    args.erase(args.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

}  // namespace dlcc::relay
