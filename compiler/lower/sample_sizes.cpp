#include "lower/sample_sizes.h"

#include <algorithm>
#include <array>

#include "lower/equal_sizes.h"
#include "lower/instantiate.h"
#include "lower/largest_size.h"
#include "lower/run_entry.h"
#include "lower/walk.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

// The sizes that requirements of the form `symbol == number` fix.
Sizes required_sizes(const Program& program) {
  Sizes required;
  for_each_step(program.body, [&](const Step& step) {
    const auto* require = std::get_if<Require>(&step);
    const auto* equality = require ? tensor::as<tensor::Binary>(require->condition) : nullptr;
    const auto* symbol = equality ? tensor::as<tensor::VarRef>(equality->a) : nullptr;
    const auto number = symbol ? tensor::constant_integer(equality->b) : std::nullopt;
    if (number && equality->op == tensor::BinaryOp::eq) required.emplace(symbol->var->name, *number);
  });
  return required;
}

// Defines the sizes of branches by the values of one arm: of that which the condition selects at the sizes so far; else
// the bits of `arms` select the arms, branch by branch in the order of the steps, nested branches first.
class ArmSizes {
 public:
  ArmSizes(uint32_t arms, Sizes& sizes) : arms_(arms), sizes_(sizes) {}

  bool any() const { return any_; }  // whether a branch defines a size

  void define(const Region& region) {
    for (const Step& step : region.steps) {
      if (const auto* compute = std::get_if<Compute>(&step)) note(*compute);
      if (const auto* loop = std::get_if<std::shared_ptr<Loop>>(&step)) {
        define((*loop)->test);
        define((*loop)->body);
      }
      if (const auto* branch = std::get_if<std::shared_ptr<Branch>>(&step)) define(**branch);
    }
  }

 private:
  void define(const Branch& branch) {
    define(branch.then_region);
    define(branch.else_region);
    if (std::ranges::none_of(branch.merges, [](const auto& m) { return tensor::is_symbol_var(m.result); })) return;
    any_ = true;
    const bool takes_then = value_of(branch.condition).value_or((arms_ & 1) == 0) != 0;
    for (const Branch::Merge& m : branch.merges)
      if (tensor::is_symbol_var(m.result))
        if (auto size = value_of(takes_then ? m.then_value : m.else_value)) sizes_[m.result->name] = *size;
    arms_ = arms_ >> 1 | arms_ << 31;
  }

  void note(const Compute& step) {
    if (tensor::is_symbol_var(step.result)) return;
    if (const auto value = value_of(step.value)) {
      const DType type = step.value.type();
      constants_.insert_or_assign(step.result, tensor::literal(type, *value));
    }
  }

  std::optional<int64_t> value_of(const tensor::Expr& e) const {
    tensor::Substitution numbers = constants_;
    for (const auto& [name, size] : sizes_) numbers.emplace(scalar_of({name}), tensor::Expr(size));
    return tensor::constant_integer(tensor::simplify(tensor::substitute(e, numbers)));
  }

  uint32_t arms_;
  Sizes& sizes_;
  tensor::Substitution constants_;  // scalars that are constant at the sizes
  bool any_ = false;
};

// Extends samples by the sizes that branches define: by their first arms, by their second ones, and alternating.
std::vector<Sizes> with_arms(const Program& program, const std::vector<Sizes>& list) {
  std::vector<Sizes> samples;
  for (const Sizes& sizes : list)
    for (uint32_t arms : {0x00000000U, 0xFFFFFFFFU, 0x55555555U, 0xAAAAAAAAU}) {
      Sizes sample = sizes;
      ArmSizes of_arms(arms, sample);
      of_arms.define(program.body);
      samples.push_back(std::move(sample));
      if (!of_arms.any()) break;
    }
  return samples;
}

// The data-dependent sizes that steps compute. Sizes with one definition, which are equal, are in one list.
std::vector<std::vector<std::string>> computed_sizes(const Program& program) {
  std::vector<tensor::Expr> definitions;
  std::vector<std::vector<std::string>> sizes;
  for_each_step(program.body, [&](const Step& step) {
    const auto* compute = std::get_if<Compute>(&step);
    if (!compute || !tensor::is_symbol_var(compute->result)) return;
    const auto known = std::ranges::find_if(
        definitions, [&](const tensor::Expr& e) { return tensor::structurally_equal(e, compute->value); });
    const auto k = static_cast<size_t>(known - definitions.begin());
    if (known == definitions.end()) definitions.push_back(compute->value), sizes.emplace_back();
    sizes[k].push_back(compute->result->name);
  });
  return sizes;
}

// Sizes of which no two with equal bounds are equal, if the bounds are large enough: 1/3, 2/3 and 3/3 of the bounds of
// three sizes, or, if `falls`, the same in reverse.
Sizes with_different_sizes(const std::vector<std::vector<std::string>>& computed, Sizes sizes, bool falls) {
  const auto count = static_cast<int64_t>(computed.size());
  for (int64_t k = 0; k < count; ++k)
    for (const std::string& name : computed[static_cast<size_t>(k)]) {
      const int64_t part = falls ? count - k : k + 1, most = sizes[name];
      sizes[name] = most / count * part + most % count * part / count;
    }
  return sizes;
}

std::vector<Sizes> with_data_sizes(const Program& program, const std::vector<Sizes>& given) {
  if (program.data_sizes.empty()) return given;
  const Sizes required = required_sizes(program);
  const std::vector<std::vector<std::string>> computed = computed_sizes(program);
  std::vector<Sizes> samples;
  for (const Sizes& sizes : given) {
    const Sizes largest = with_largest_data_sizes(program, sizes);
    Sizes half = largest, none = largest, demanded = largest;
    for (const DataSize& d : program.data_sizes) {
      const std::string& name = d.symbol.name;
      half[name] /= 2;
      none[name] = 0;
      if (auto number = required.find(name); number != required.end()) demanded[name] = number->second;
    }
    samples.insert(samples.end(), {largest, half, none, demanded});
    if (computed.size() > 1)
      for (bool falls : {false, true}) samples.push_back(with_different_sizes(computed, largest, falls));
  }
  return with_arms(program, samples);
}

}  // namespace

namespace {

// Adds samples that small elements of the inputs give. Independently chosen sizes would rarely satisfy the
// requirements.
void add_possible_sizes(const Program& program, std::vector<Sizes>& samples) {
  constexpr std::array<int64_t, 12> elements = {2, 1, 3, -1, 4, 0, 6, 8, 5, 12, 16, -2};
  constexpr size_t tries = 64, most = 4;  // choices of elements that are tried, and samples that are added
  const std::vector<Sizes> given(samples.begin(), samples.begin() + 2);
  const AdmittedSizes admitted(program);
  size_t found = 0, draw = 0;
  for (size_t t = 0; t < tries && found < most; ++t) {
    Sizes sizes = given[t % given.size()];
    auto element = [&](DType type) {
      draw = (draw * 5 + t + 1) % 8191;
      return small_number(type, elements[draw % elements.size()]);
    };
    const bool possible =
        run_entry(program, sizes, [&](const Read& read) { return element(read.result->type); }) == tensor::Status::ok &&
        admitted.status_at(sizes) == tensor::Status::ok && !std::ranges::count(samples, sizes);
    if (!possible) continue;
    samples.push_back(std::move(sizes));
    ++found;
  }
}

}  // namespace

std::vector<Sizes> sample_sizes(const Program& program) {
  const std::vector<Symbol> symbols = entry_symbols(program);
  if (symbols.empty()) return with_data_sizes(program, {{}});
  std::vector<Sizes> samples(4);
  for (int64_t k = 0; const Symbol& symbol : symbols) {
    const std::array wanted = {symbol.low, 17 + 2 * k, 40 + 3 * k, symbol.high == INT64_MAX ? 300 + k : symbol.high};
    for (size_t s = 0; s < samples.size(); ++s)
      samples[s][symbol.name] = std::clamp(wanted[s], symbol.low, symbol.high);
    ++k;
  }
  for (Sizes& sizes : samples) satisfy_equalities(program, {}, sizes);
  if (!program.input_sizes.empty()) add_possible_sizes(program, samples);
  return with_data_sizes(program, samples);
}

}  // namespace dlcc::lower
