#include "lower/instantiate.h"

#include <algorithm>
#include <set>

#include "lower/equal_sizes.h"
#include "lower/largest_size.h"
#include "lower/walk.h"
#include "shape/typical_sizes.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

class Instantiation {
 public:
  Instantiation(const Program& program, const std::map<std::string, int64_t>& symbols) : symbols_(symbols) {
    for (const auto& [name, number] : symbols_) {
      numbers_.emplace(name, Dim(number));
      values_.emplace(scalar_of({name}), tensor::Expr(number));
    }
    for (const DataSize& d : program.data_sizes)
      if (!symbols.contains(d.symbol.name))
        data_sizes.push_back({d.symbol, number(d.most), d.branch, number(d.then_most), number(d.else_most)});
  }

  std::vector<DataSize> data_sizes;

  void apply(Function& f) const {
    for (Value& v : f.values) v = value(std::move(v));
    for (Dim& d : f.checked_sizes) d = number(d);
    f.body = region(f.body);
  }

  tensor::Expr expr(const tensor::Expr& e) const { return e ? tensor::simplify(tensor::substitute(e, values_)) : e; }

 private:
  // A value of negative size, which no step uses, has no elements.
  Value value(Value v) const {
    v.bytes = number(v.bytes);
    for (Dim& d : v.shape) {
      d = number(d);
      if (provably_lt(d, 0)) d = 0, v.bytes = 0;
    }
    v.base_offset = number(v.base_offset);
    v.begin = expr(v.begin);
    return v;
  }
  Region region(const Region& from) const {
    Region to;
    for (const Step& step : from.steps)
      to.steps.push_back(std::visit([&](const auto& s) { return Step(instantiate(s)); }, step));
    return to;
  }
  Dim number(const Dim& d) const {
    const auto value = d.evaluate(symbols_);
    return value ? Dim(*value) : d.substitute(numbers_);
  }
  Invoke instantiate(Invoke s) const {
    for (tensor::Expr& e : s.scalars) e = expr(e);
    s.macs = number(s.macs);
    return s;
  }
  Copy instantiate(const Copy& s) const { return s; }
  Compute instantiate(const Compute& s) const { return {s.result, expr(s.value)}; }
  Read instantiate(const Read& s) const { return s; }
  Call instantiate(const Call& s) const { return s; }
  Write instantiate(const Write& s) const { return {s.to, s.element, expr(s.value)}; }
  Require instantiate(const Require& s) const { return {expr(s.condition), s.status}; }
  CheckSize instantiate(const CheckSize& s) const { return {number(s.size)}; }
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
  std::map<std::string, Dim> numbers_;
  tensor::Substitution values_;
};

}  // namespace

namespace {

bool is_small(const Dim& d, const std::map<std::string, int64_t>& symbols) {
  const auto size = d.evaluate(symbols);
  return size && *size <= tensor::max_elements;
}

bool is_size(const Dim& d, const std::map<std::string, int64_t>& symbols) {
  return is_small(d, symbols) && *d.evaluate(symbols) >= 0;
}

}  // namespace

AdmittedSizes::AdmittedSizes(const Program& program) : program_(program), largest_(program) {
  for_each_function(program, [&](const Function& f) { memory_.emplace_back(program, f); });
}

bool AdmittedSizes::fits(const std::map<std::string, int64_t>& given) const {
  auto symbols = given;
  for (const DataSize& d : program_.data_sizes) symbols.try_emplace(d.symbol.name, d.most.evaluate(given).value_or(0));
  auto fits = [&](const Dim& d) { return is_small(largest_(d), given); };
  bool all = true;
  size_t next = 0;
  for_each_function(program_, [&](const Function& f) {
    const MemorySizes& memory = memory_[next++];
    for (size_t v = 0; v < f.values.size() && all; ++v) {
      const Shape& shape = f.values[v].shape;
      all = !memory.is_used(static_cast<ValueId>(v), symbols) ||
            (std::ranges::all_of(shape, fits) && fits(product(shape)) &&
             storage_bytes(f.values[v].type, *largest_(product(shape)).evaluate(given)) <= program_.largest_object);
    }
  });
  return all;
}

tensor::Status AdmittedSizes::status_at(const std::map<std::string, int64_t>& symbols) const {
  const bool all_sizes = std::ranges::all_of(program_.checked_sizes, [&](const Dim& d) { return is_size(d, symbols); });
  if (!all_sizes || !fits(symbols)) return tensor::Status::dimension_out_of_range;
  const Instantiation at(program_, symbols);
  for (const Require& r : program_.requirements)
    if (tensor::constant_integer(at.expr(r.condition)) == 0) return r.status;
  return tensor::Status::ok;
}

tensor::Status status_at(const Program& program, const std::map<std::string, int64_t>& symbols) {
  return AdmittedSizes(program).status_at(symbols);
}

Program instantiate(const Program& program, const std::map<std::string, int64_t>& symbols) {
  const Instantiation at(program, symbols);
  Program result = program;
  result.dims.clear();
  result.input_sizes.clear();
  result.entry.steps.clear();
  result.checked_sizes.clear();
  result.requirements.clear();
  result.data_sizes = at.data_sizes;
  for_each_function(result, [&](Function& f) { at.apply(f); });
  return result;
}

std::map<std::string, int64_t> typical_sizes(const Program& program, double scale) {
  const AdmittedSizes admitted(program);
  for (int64_t divisor = 1;; divisor *= 2) {  // sizes that do not fit are halved
    std::map<std::string, int64_t> sizes;
    bool smallest = true;
    auto choose = [&](const Symbol& s, int64_t typical) {
      const auto wanted = static_cast<int64_t>(static_cast<double>(typical) * scale) / divisor;
      sizes[s.name] = std::clamp(wanted, s.low, s.high);
      smallest &= wanted <= s.low;
    };
    std::set<std::string> given;  // by the user
    for (const InputDim& d : program.dims) {
      choose(d.symbol, d.typical > 0 ? d.typical / d.multiple : typical_size);
      if (d.typical > 0) given.insert(d.symbol.name);
    }
    for (const Symbol& s : program.input_sizes) choose(s, typical_size);
    satisfy_equalities(program, given, sizes);
    if (smallest || admitted.fits(sizes)) return sizes;
  }
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
