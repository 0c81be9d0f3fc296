// The elements of small tensors as expressions over elements of inputs, from which sizes are computed when a call is
// planned, and over scalars of the program, from which steps compute sizes.
#include <algorithm>

#include "lower/lowerer.h"
#include "tensor/passes/expand_math.h"
#include "tensor/passes/expand_rounding.h"
#include "tensor/visit.h"

namespace dlcc::lower {

namespace {

bool is_small(const Shape& shape) {
  const auto count = product(shape).constant();
  return is_static(shape) && count && *count <= tensor::ElementExpressions::max_elements;
}

}  // namespace

tensor::KnownElements Lowerer::elements_of_input(ValueId v) {
  const Value& input = value_of(v);
  if (!tracks_elements_ || !is_small(input.shape) || !can_be_scalar(input.type)) return nullptr;
  auto known = std::make_shared<tensor::ElementExpressions>();
  known->shape = static_shape(input.shape);
  const int64_t count = product(input.shape).value();
  for (int64_t k = 0; k < count; ++k) {
    const std::string name = input.shape.empty() ? input.name : fmt::format("{}[{}]", input.name, k);
    const tensor::Var element = tensor::make_var(name, input.type);
    input_elements_.emplace(element, Read{element, v, k});
    known->elements.emplace_back(element);
  }
  return known;
}

tensor::KnownElements Lowerer::elements_of(const Constant& c) const {
  if (!is_small(shape_of(c.shape())) || !can_be_scalar(c.dtype())) return nullptr;
  auto known = std::make_shared<tensor::ElementExpressions>();
  known->shape = c.shape();
  for (int64_t k = 0; k < c.count(); ++k)
    known->elements.push_back(is_float(c.dtype()) ? tensor::literal(c.dtype(), c.number_at(k))
                                                  : tensor::literal(c.dtype(), c.integer_at(k)));
  return known;
}

tensor::KnownElements Lowerer::elements_of(const Operand& o) const {
  if (o.elements || !o.scalar) return o.elements;
  auto known = std::make_shared<tensor::ElementExpressions>();
  known->elements = {o.scalar};
  return known;
}

Lowerer::Operand Lowerer::with_elements(Operand result, const TensorCall& call) const {
  const tensor::TensorFunction& f = call.function;
  const bool dense = std::ranges::all_of(call.layouts, [](const tensor::Layout& l) { return l.is_dense(); });
  if (!dense || !f.scalars.empty() ||
      std::ranges::none_of(f.results, [](const tensor::Buffer& b) { return is_small(b->shape); }))
    return result;
  std::vector<tensor::KnownElements> args;
  for (size_t k = 0; k < call.operands.size(); ++k)
    args.push_back(call.constants[k] ? elements_of(*call.constants[k]) : elements_of(call.operands[k]));
  const std::vector<tensor::KnownElements> known = tensor::element_expressions(f, args);
  if (!result.is_tuple) result.elements = known[0];
  for (size_t k = 0; k < result.fields.size(); ++k) result.fields[k].elements = known[k];
  return result;
}

// The only element of a tensor, if steps have computed it; else null.
tensor::Expr Lowerer::element_of(const Operand& o) const {
  if (!o.elements || o.elements->elements.size() != 1) return {};
  const tensor::Expr& e = o.elements->elements[0];
  return e && is_computed_by_steps(e) ? e : tensor::Expr();
}

// Makes a scalar of the only element of an integer tensor: a tensor of rank 0 is this scalar, another one has it as its
// element. If nothing else needs the tensor, it is not stored. Expressions over sizes stay, since they may be known
// before the run.
Lowerer::Operand Lowerer::with_scalar_element(Operand o, const std::string& name, Region& region) {
  if (o.value < 0 || value_of(o.value).type != dtype::i64 || product(value_of(o.value).shape) != Dim(1)) return o;
  tensor::Expr element = element_of(o);
  if (element && std::ranges::all_of(tensor::variables_in(element), tensor::is_symbol_var)) return o;
  if (element)
    element = compute(name, element, region);
  else if (!o.elements)
    element = scalar({.value = o.value}, region, {});
  else
    return o;
  const Shape& shape = value_of(o.value).shape;
  if (shape.empty()) return {.scalar = element};
  auto known = std::make_shared<tensor::ElementExpressions>();
  known->shape.assign(shape.size(), 1);
  known->elements = {element};
  o.elements = std::move(known);
  return o;
}

tensor::Var Lowerer::add_input_size(const Symbol& symbol, const tensor::Expr& value, const Dim& most) {
  const std::vector<Symbol> given = entry_symbols(program_);
  const bool is_bounded = !(most == relay::unknown_dim());
  const std::vector<Symbol> in_bound = is_bounded ? most.symbols() : std::vector<Symbol>();
  if (!std::ranges::all_of(in_bound, [&](const Symbol& s) { return std::ranges::count(given, s) > 0; })) return nullptr;
  std::vector<Read> reads;
  for (const tensor::Var& v : tensor::variables_in(value)) {
    if (std::ranges::any_of(given, [&](const Symbol& s) { return scalar_of(s) == v; })) continue;
    const auto element = input_elements_.find(v);
    if (element == input_elements_.end()) return nullptr;
    reads.push_back(element->second);
  }
  std::vector<Step>& entry = program_.entry.steps;
  for (const Read& read : reads) {
    const bool is_read = std::ranges::any_of(entry, [&](const Step& s) {
      const auto* other = std::get_if<Read>(&s);
      return other && other->result == read.result;
    });
    if (!is_read) entry.emplace_back(read);
  }
  Symbol own = own_symbol(symbol);
  if (auto number = most.constant()) {
    own.high = *number;
    state_.sizes.insert_or_assign(symbol.name, Dim::symbol(own));
  }
  Dim limit = is_bounded ? min(most, tensor::max_elements) : Dim(tensor::max_elements);
  const std::optional<int64_t> length = largest_slice_length(value);
  if (length) {
    own.high = std::min(own.high, *length);
    state_.sizes.insert_or_assign(symbol.name, Dim::symbol(own));
    limit = min(limit, *length);
  }
  const tensor::Var size = scalar_of(own);
  entry.emplace_back(Compute{size, tensor::expand_rounding(tensor::expand_math(value))});
  const tensor::Expr is_size =
      tensor::logical_and(tensor::Expr(symbol.low) <= size, size <= tensor::Expr(tensor::max_elements));
  entry.emplace_back(Require{is_size, tensor::Status::dimension_out_of_range});
  if (is_bounded || length) entry.emplace_back(Require{size <= tensor::Expr(limit), tensor::Status::capacity_exceeded});
  program_.input_sizes.push_back(own);
  ranges_[size] = {symbol.low, limit.upper_bound().value_or(tensor::max_elements)};
  return size;
}

}  // namespace dlcc::lower
