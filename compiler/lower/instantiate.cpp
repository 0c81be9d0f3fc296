#include "lower/instantiate.h"

#include <algorithm>

#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

class Instantiation {
 public:
  Instantiation(const Program& program, const std::map<std::string, int64_t>& symbols) : symbols_(symbols) {
    for (const InputDim& d : program.dims)
      values_.emplace(scalar_of(d.symbol), tensor::Expr(symbols.at(d.symbol.name)));
  }

  Value value(Value v) const {
    for (Dim& d : v.shape) d = number(d);
    v.bytes = number(v.bytes);
    v.begin = expr(v.begin);
    return v;
  }

  Region region(const Region& from) const {
    Region to;
    for (const Step& step : from.steps)
      to.steps.push_back(std::visit([&](const auto& s) { return Step(instantiate(s)); }, step));
    return to;
  }

 private:
  Dim number(const Dim& d) const { return d.is_constant() ? d : Dim(d.evaluate(symbols_).value()); }
  tensor::Expr expr(const tensor::Expr& e) const { return e ? tensor::simplify(tensor::substitute(e, values_)) : e; }

  Invoke instantiate(Invoke s) const {
    for (tensor::Expr& e : s.scalars) e = expr(e);
    s.macs = number(s.macs);
    return s;
  }
  Copy instantiate(const Copy& s) const { return s; }
  Compute instantiate(const Compute& s) const { return {s.result, expr(s.value)}; }
  Read instantiate(const Read& s) const { return s; }
  Write instantiate(const Write& s) const { return {s.to, s.element, expr(s.value)}; }
  Require instantiate(const Require& s) const { return {expr(s.condition), s.status}; }
  std::shared_ptr<Branch> instantiate(const std::shared_ptr<Branch>& s) const {
    Branch b{expr(s->condition), region(s->then_region), region(s->else_region), s->merges};
    for (Branch::Merge& m : b.merges) m.then_value = expr(m.then_value), m.else_value = expr(m.else_value);
    return std::make_shared<Branch>(std::move(b));
  }
  std::shared_ptr<Loop> instantiate(const std::shared_ptr<Loop>& s) const {
    Loop l{s->carried, region(s->test), expr(s->condition), region(s->body)};
    for (Loop::Carried& c : l.carried) c.initial = expr(c.initial), c.next = expr(c.next);
    return std::make_shared<Loop>(std::move(l));
  }

  const std::map<std::string, int64_t>& symbols_;
  tensor::Substitution values_;
};

}  // namespace

bool accepts(const Program& program, const std::map<std::string, int64_t>& symbols) {
  auto is_negative = [&](const Dim& d) { return d.evaluate(symbols).value_or(-1) < 0; };
  return std::ranges::none_of(program.nonnegative_sizes, is_negative);
}

Program instantiate(const Program& program, const std::map<std::string, int64_t>& symbols) {
  const Instantiation at(program, symbols);
  Program result{.kernels = program.kernels,
                 .constants = program.constants,
                 .inputs = program.inputs,
                 .outputs = program.outputs,
                 .body = at.region(program.body),
                 .threads = program.threads};
  for (const Value& v : program.values) result.values.push_back(at.value(v));
  return result;
}

std::map<std::string, int64_t> typical_sizes(const Program& program) {
  constexpr int64_t unknown = 64;
  std::map<std::string, int64_t> sizes;
  for (const InputDim& d : program.dims)
    sizes[d.symbol.name] = std::clamp(d.typical > 0 ? d.typical / d.multiple : unknown, d.symbol.low, d.symbol.high);
  return sizes;
}

std::optional<std::vector<int64_t>> shape_in_call(const tensor::Kernel& kernel, const tensor::BufferNode& buffer,
                                                  const Invoke& call) {
  std::vector<int64_t> shape;
  std::map<std::string, int64_t> symbols;
  for (const Dim& d : buffer.shape) {
    for (const Symbol& s : d.symbols())
      for (size_t k = 0; k < std::min(kernel.scalars.size(), call.scalars.size()); ++k)
        if (auto number = tensor::constant_integer(call.scalars[k]); number && kernel.scalars[k] == scalar_of(s))
          symbols[s.name] = *number;
    auto extent = d.evaluate(symbols);
    if (!extent) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

}  // namespace dlcc::lower
