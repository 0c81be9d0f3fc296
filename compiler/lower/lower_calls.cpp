// Lowers calls of tensor functions: to views, to scalars of the program, or to calls of scheduled kernels.
#include <algorithm>

#include "lower/compared_sizes.h"
#include "lower/lowerer.h"
#include "lower/memory_sizes.h"
#include "relay/ir.h"
#include "relay/type_arguments.h"
#include "support/parallel_for.h"
#include "tensor/analysis.h"
#include "tensor/data_movement.h"
#include "tensor/passes/bind_sizes.h"
#include "tensor/passes/compose.h"
#include "tensor/passes/specialize.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {

using relay::Atom;
using relay::Binding;
using relay::Block;
using tensor::Layout;

namespace {

std::optional<int64_t> view_offset(const tensor::TensorFunction& f, const std::vector<Layout>& layouts) {
  if (!layouts.empty() || !f.scalars.empty() || bits(f.results[0]->type) < 8) return std::nullopt;
  return tensor::contiguous_slice(f);
}

}  // namespace

Lowerer::Operand Lowerer::call_tensor(const Binding& b, const relay::CallTensor& x, const Environment& env,
                                      Region& region) {
  TensorCall call = tensor_call(b, x, env);
  if (!tracks_elements_) return call_tensor(b, call, region);
  Operand result = with_elements(call_tensor(b, call, region), call);
  return result.is_tuple ? result : with_scalar_element(std::move(result), b.var->name, region);
}

Lowerer::Operand Lowerer::call_tensor(const Binding& b, TensorCall call, Region& region) {
  if (auto size = size_of(b, call, region)) return *size;
  if (call.function.scalars.empty() && !tensor::symbols_of(call.function).empty()) {
    const auto requirements = tensor::take_scalar_requirements(call.function);
    for (const tensor::Requirement& r : requirements) require(r.condition, r.status, region);
    if (!requirements.empty()) bind_required_sizes(call, requirements);
  }
  bool has_scalars = false;
  for (size_t k = 0; k < call.operands.size(); ++k) has_scalars |= bool(scalar_operand(call, k));
  if (has_scalars) {
    pass_scalars_by_value(call, region);
    if (auto scalar = call_scalar(b, call, region)) return *scalar;
    if (auto updated = update_slice(b, call, region)) return *updated;
    slice_operands(b, call, region);
  }
  if (auto first = view_offset(call.function, call.layouts))
    return {.value = view_of(in_memory(call, 0, region, b.location), b.var->name, call.function.results[0]->type,
                             call.function.results[0]->shape, *first)};
  state_.fresh.insert(b.var->id);
  return call_kernel(b, call, region);
}

// Gives the symbols of the function the bounds that steps before the call require. A stage whose requirements have
// become steps may be computed by its readers.
void Lowerer::bind_required_sizes(TensorCall& call, const std::vector<tensor::Requirement>& requirements) {
  const ComparedSizes compared(tensor::symbols_of(call.function));
  std::vector<Dim> natural;
  for (const tensor::Requirement& r : requirements)
    std::ranges::move(compared.natural_where(r.condition, true), std::back_inserter(natural));
  call.function = tensor::bind_sizes(call.function, narrowed_symbols(natural));
  tensor::inline_stages(call.function);
  call.key = tensor::print(call.function);
}

Lowerer::TensorCall Lowerer::tensor_call(const Binding& b, const relay::CallTensor& x, const Environment& env) {
  TensorCall call{.function = module_.tensor_functions.at(x.function), .layouts = x.layouts, .key = x.function};
  std::vector<DimPair> pairs;
  for (const Atom& a : x.args) {
    const Constant* c = std::get_if<Constant>(&a);
    const Shape& param = call.function.params[call.operands.size()]->shape;
    relay::add_dim_pairs(param, relay::as<relay::TensorType>(relay::type_of(module_, a))->shape, pairs);
    Operand o = c ? Operand() : operand(a, env, b.location);
    if (o.constant) c = o.constant, o = Operand();
    call.constants.push_back(c);
    call.operands.push_back(std::move(o));
  }
  // Sizes are matched by the names of the Relay function, and then become those of the program: where a parameter of
  // n + m elements gets as many, n is n.
  std::map<std::string, Dim> sizes = relay::sizes_at_call(pairs);
  for (auto& [name, size] : sizes) size = size.substitute(state_.sizes);
  sizes.insert(state_.sizes.begin(), state_.sizes.end());
  const std::vector<Symbol> symbols = tensor::symbols_of(call.function);
  std::erase_if(sizes, [&](const auto& entry) {  // of other functions, or the symbol itself with no smaller bound
    const auto own = std::ranges::find(symbols, entry.first, &Symbol::name);
    return own == symbols.end() || (entry.second == Dim::symbol(*own) && entry.second.symbols()[0].high >= own->high);
  });
  if (!sizes.empty()) {
    call.function = tensor::bind_sizes(call.function, sizes);
    call.key = tensor::print(call.function);
  }
  return call;
}

ValueId Lowerer::in_memory(const TensorCall& call, size_t k, Region& region, const SourceLocation& location) {
  return call.constants[k] ? constant(*call.constants[k]) : value(call.operands[k], region, location);
}

// Rewrites an expression over the scalar parameters of a call to the program's scalars.
tensor::Expr Lowerer::in_program(const tensor::Expr& e, const TensorCall& call) const {
  tensor::Substitution actual;
  for (size_t k = 0; k < call.scalars.size(); ++k) actual.emplace(call.function.scalars[k], call.scalars[k]);
  return tensor::substitute(e, actual);
}

// A function of symbols alone, such as the number of rows of a tensor, is computed by the program.
std::optional<Lowerer::Operand> Lowerer::size_of(const Binding& b, const TensorCall& call, Region& region) {
  const tensor::TensorFunction& f = call.function;
  if (!f.scalars.empty() || f.results.size() != 1 || !can_be_scalar(f.results[0]->type)) return std::nullopt;
  if (tensor::symbols_of(f).empty()) return std::nullopt;
  auto value = tensor::scalar_value(f);
  return value ? std::optional(Operand{.scalar = compute(b.var->name, *value, region)}) : std::nullopt;
}

// The scalar that the kernel can take in place of an operand: the operand itself, or its only element. Null if there is
// none. A result of one element may be a view of the operand.
tensor::Expr Lowerer::scalar_operand(const TensorCall& call, size_t k) const {
  const Operand& o = call.operands[k];
  if (o.scalar || call.constants[k] || !call.layouts.empty()) return o.scalar;
  const tensor::TensorFunction& f = call.function;
  if (product(f.params[k]->shape) != Dim(1) || product(f.results[0]->shape) == Dim(1)) return {};
  return element_of(o);
}

// Requirements on scalars alone become steps of the program.
void Lowerer::pass_scalars_by_value(TensorCall& call, Region& region) {
  for (size_t k = call.operands.size(); k-- > 0;) {
    const tensor::Expr actual = scalar_operand(call, k);
    if (!actual) continue;
    tensor::pass_by_value(call.function, k);
    call.scalars.push_back(actual);
    auto at = static_cast<std::ptrdiff_t>(k);
    call.operands.erase(call.operands.begin() + at);
    call.constants.erase(call.constants.begin() + at);
    if (!call.layouts.empty()) call.layouts.erase(call.layouts.begin() + at);
  }
  for (const tensor::Requirement& r : tensor::take_scalar_requirements(call.function))
    require(in_program(r.condition, call), r.status, region);
}

// A function of scalars and of single elements in memory is computed by the program.
std::optional<Lowerer::Operand> Lowerer::call_scalar(const Binding& b, TensorCall call, Region& region) {
  if (call.function.results.size() != 1 || !can_be_scalar(call.function.results[0]->type)) return std::nullopt;
  for (const tensor::Buffer& p : call.function.params)
    if (p->rank() != 0 || !can_be_scalar(p->type)) return std::nullopt;
  std::vector<Operand> in_memory = call.operands;
  for (size_t k = in_memory.size(); k-- > 0;) tensor::pass_by_value(call.function, k);
  auto value = tensor::scalar_value(call.function);
  if (!value) return std::nullopt;
  for (size_t k = in_memory.size(); k-- > 0;) {
    Operand element = call.constants[k] ? Operand{.value = constant(*call.constants[k])} : in_memory[k];
    call.scalars.push_back(scalar(element, region, b.location));
  }
  return Operand{.scalar = compute(b.var->name, in_program(*value, call), region)};
}

// A carried value of a loop with one slice replaced is stored in the same memory: only the slice is computed.
std::optional<Lowerer::Operand> Lowerer::update_slice(const Binding& b, TensorCall& call, Region& region) {
  auto known = state_.updates.find(b.var->id);
  if (known == state_.updates.end() || !call.layouts.empty()) return std::nullopt;
  const ValueId target = known->second;
  auto old = std::ranges::find_if(call.operands, [&](const Operand& o) { return o.value == target; });
  if (old == call.operands.end() || std::ranges::count_if(call.operands, [&](const Operand& o) {
                                      return o.value >= 0 && base_of(o.value) == target;
                                    }) != 1)
    return std::nullopt;
  const auto position = old - call.operands.begin();
  auto update = tensor::slice_update(call.function, static_cast<size_t>(position));
  if (!update || bits(update->slice.results[0]->type) < 8) return std::nullopt;

  call.function = std::move(update->slice);
  call.function.params.erase(call.function.params.begin() + position);
  call.operands.erase(old);
  call.constants.erase(call.constants.begin() + position);
  tensor::Expr index = compute("index", in_program(update->at.index, call), region);
  auto changed = std::make_shared<Branch>();  // an index out of range replaces no slice
  const tensor::Expr in_range = tensor::logical_and(tensor::Expr(0) <= index, index < tensor::Expr(update->at.extent));
  changed->condition = compute("in_range", unknown_part(in_range), region);
  if (tensor::constant_integer(changed->condition) == 0) return Operand{.value = target};
  bool always = tensor::constant_integer(changed->condition) == 1;
  Region& inner = always ? region : changed->then_region;
  const size_t known_outside = state_.known.size();
  slice_operands(b, call, inner);
  ValueId slice = slice_of(target, b.var->name, call.function.results[0], index);
  if (const auto offset = view_offset(call.function, {})) {
    const ValueId whole = in_memory(call, 0, inner, b.location);
    const Value to = value_of(slice);
    const bool is_whole = value_of(whole).bytes == to.bytes;
    inner.steps.push_back(Copy{is_whole ? whole : view_of(whole, to.name, to.type, to.shape, *offset), slice});
  } else {
    call_kernel(b, call, inner, slice);
  }
  if (!always) {
    state_.known.resize(known_outside);
    region.steps.push_back(std::move(changed));
  }
  return Operand{.value = target};
}

// If a function reads only one slice of an operand, at an index that is a scalar, the operand becomes a view of this
// slice.
void Lowerer::slice_operands(const Binding& b, TensorCall& call, Region& region) {
  for (size_t k = 0; k < call.operands.size(); ++k) {
    bool dense = call.layouts.empty() || call.layouts[k].is_dense();
    if (!dense || bits(call.function.params[k]->type) < 8) continue;
    auto at = tensor::slice_parameter(call.function, k);
    if (!at) continue;
    ValueId source = in_memory(call, k, region, b.location);
    call.constants[k] = nullptr;
    tensor::Expr index = compute("index", in_program(at->index, call), region);
    const tensor::Expr extent(at->extent);
    if (!at->conditional)
      require(tensor::logical_and(tensor::Expr(0) <= index, index < extent), tensor::Status::index_out_of_range,
              region);
    if (at->conditional || tensor::constant_integer(index))  // elements out of range are not read
      index = compute("index", tensor::max(tensor::min(index, extent - tensor::Expr(1)), tensor::Expr(0)), region);
    call.operands[k] = {.value = slice_of(source, value_of(source).name, call.function.params[k], index)};
  }
  std::vector<tensor::Expr> used;
  for (size_t k : tensor::remove_unused_scalars(call.function)) used.push_back(call.scalars[k]);
  call.scalars = std::move(used);
  call.key = tensor::print(call.function);
}

// ---- views

ValueId Lowerer::view_of(ValueId source, const std::string& name, DType type, const Shape& shape, int64_t first) {
  const Value& from = value_of(source);
  const Dim size = bytes_of(type, shape);
  if (size == Dim(0)) first = 0;  // the source may be empty, too
  Value v{.name = name,
          .type = type,
          .shape = shape,
          .bytes = size,
          .alignment = bits(type) / 8,
          .storage = Storage::view,
          .base = base_of(source),
          .base_offset = first * bits(type) / 8,
          .begin = from.begin,
          .stride = from.stride};
  if (from.storage == Storage::view) v.base_offset = v.base_offset + from.base_offset;
  return add_value(std::move(v));
}

// A view of slice `index` of the source, whose slices follow each other in memory.
ValueId Lowerer::slice_of(ValueId source, const std::string& name, const tensor::Buffer& slice,
                          const tensor::Expr& slice_index) {
  const Value& from = value_of(source);
  const Dim size = bytes_of(slice->type, slice->shape);
  const int64_t bytes = size.constant().value_or(bits(slice->type) / 8);
  // Strides are constant: slices of symbolic size begin at an element.
  const tensor::Expr index = size.is_constant() ? slice_index : slice_index * tensor::Expr(product(slice->shape));
  Value v{.name = name,
          .type = slice->type,
          .shape = slice->shape,
          .bytes = size,
          .alignment = bits(slice->type) / 8,
          .storage = Storage::view,
          .base = base_of(source),
          .base_offset = from.storage == Storage::view ? from.base_offset : Dim(0)};
  if (auto constant = tensor::constant_integer(index)) {
    v.base_offset = v.base_offset + Dim(*constant * bytes);
    v.begin = from.begin, v.stride = from.stride;
  } else if (!from.begin || bytes == 0 || from.stride % bytes == 0) {
    v.begin = from.begin && bytes > 0 ? from.begin * tensor::Expr(from.stride / bytes) + index : index;
    v.stride = bytes;
  } else {
    v.begin = from.begin * tensor::Expr(from.stride) + index * tensor::Expr(bytes);
    v.stride = 1;
  }
  return add_value(std::move(v));
}

// ---- kernels

Lowerer::Operand Lowerer::call_kernel(const Binding& b, const TensorCall& call, Region& region, ValueId stored) {
  const Scheduled& s = scheduled(call);
  const std::map<std::string, Dim> sizes = sizes_of_kernel(s, call);
  Invoke invoke{.kernel = s.kernel,
                .operands = {},
                .scalars = call.scalars,
                .in_place = {},
                .node = b.location.node.empty() ? b.var->name : b.location.node,
                .macs = s.macs.substitute(sizes),
                .request = s.request};
  const tensor::Kernel& kernel = program_.kernels[static_cast<size_t>(s.kernel)].variants[0];
  if (s.is_serpentine) {
    invoke.scalars.push_back(tensor::Expr(state_.direction.backward));
    state_.direction.is_used = true;
  }
  for (size_t k = invoke.scalars.size(); k < kernel.scalars.size(); ++k)  // the kernel's symbols
    invoke.scalars.emplace_back(Dim::symbol({kernel.scalars[k]->name}).substitute(sizes));
  const size_t arguments = call.operands.size();
  for (size_t k = 0; k < arguments; ++k)
    invoke.operands.push_back(call.constants[k] ? constant(s.packing[k](*call.constants[k]))
                                                : value(call.operands[k], region, b.location));
  const std::vector<tensor::Parameter>& params = kernel.params;
  Operand result{.is_tuple = call.function.results.size() != 1};
  for (size_t k = arguments; k < params.size(); ++k) {
    bool scratch = params[k].access == tensor::Access::scratch;
    ValueId v =
        !scratch && stored >= 0 ? stored : new_temporary(scratch ? "scratch" : b.var->name, params[k].buffer, sizes);
    invoke.operands.push_back(v);
    if (scratch) continue;
    if (result.is_tuple)
      result.fields.push_back({.value = v});
    else
      result.value = v;
  }
  for (auto [r, p] : s.in_place) invoke.in_place.emplace_back(static_cast<int>(arguments) + r, p);
  if (&region == &program_.body) note_concatenation(call, invoke);
  region.steps.push_back(std::move(invoke));
  return result;
}

// The program's sizes for the symbols of the kernel, by name, where the kernel was made for symbols of other names.
std::map<std::string, Dim> Lowerer::sizes_of_kernel(const Scheduled& s, const TensorCall& call) {
  const std::vector<Symbol> own = s.symbols.empty() ? s.symbols : tensor::symbols_of(call.function);
  std::map<std::string, Dim> sizes;
  for (size_t k = 0; k < own.size(); ++k)
    if (own[k].name != s.symbols[k].name) sizes.emplace(s.symbols[k].name, Dim::symbol(own[k]));
  return sizes;
}

// Records a concatenation without constant operands for in_place_concat. The call will be the outermost region's next
// step.
void Lowerer::note_concatenation(const TensorCall& call, const Invoke& invoke) {
  const tensor::TensorFunction& f = call.function;
  // The checker of plans requires that the slices that a loop writes are all of a base.
  if (std::ranges::any_of(invoke.operands, [&](ValueId v) { return state_.defined_by_slices.contains(base_of(v)); }))
    return;
  // An earlier operand would be stored in the result before the check of a later operand's negative size ends the run.
  auto is_negative = [&](const tensor::Buffer& b) { return may_be_negative(program_, b->shape); };
  if (std::ranges::any_of(f.params, is_negative) || is_negative(f.results[0])) return;
  std::vector<Layout> layouts = call.layouts;
  layouts.resize(f.params.size() + 1);
  auto offsets = bits(f.results[0]->type) >= 8 ? tensor::concat_offsets(f, layouts) : std::nullopt;
  bool all_variable = std::ranges::none_of(call.constants, [](const Constant* c) { return c != nullptr; });
  if (!offsets || !all_variable || offsets->empty() ||
      std::ranges::any_of(*offsets, [&](const Dim& o) { return depends_on_data(o); }))
    return;
  for (Dim& o : *offsets) o = o * Dim(bits(f.results[0]->type) / 8);
  ConcatCall c{program_.body.steps.size(), invoke.operands[f.params.size()], invoke.operands, std::move(*offsets)};
  c.operands.resize(f.params.size());
  state_.concat_calls.push_back(std::move(c));
}

// Whether the size is data-dependent. Memory is planned for the bounds of such sizes, so that no offset may depend on
// one.
bool Lowerer::depends_on_data(const Dim& size) const {
  const std::vector<Symbol> symbols = size.symbols();
  return std::ranges::any_of(program_.data_sizes,
                             [&](const DataSize& d) { return std::ranges::count(symbols, d.symbol) > 0; });
}

// With several threads, each executes one part of a loop: in reverse order, a part would be executed by another thread,
// with another cache.
bool Lowerer::repeats_large_constants(const TensorCall& call) const {
  if (!state_.direction.backward || options_.threads > 1) return false;
  int64_t bytes = 0;
  for (const Constant* c : call.constants) bytes += c ? static_cast<int64_t>(c->bytes().size()) : 0;
  return std::ranges::any_of(machines_, [&](const tensor::Machine& m) { return bytes > m.l2_budget(); });
}

// The text of the function, whose symbols are sorted, with their numbers as names. So functions that differ in names
// only have equal texts. New names in the same order keep the order of terms in sizes.
static std::string text_without_names(const tensor::TensorFunction& f, const std::vector<Symbol>& symbols) {
  std::map<std::string, Dim> names;
  for (const Symbol& s : symbols)
    names.emplace(s.name, Dim::symbol({fmt::format("s{:06}", names.size()), s.low, s.high}));
  tensor::TensorFunction renamed = tensor::bind_sizes(f, names);
  renamed.name = "f";
  return tensor::print(renamed);
}

// The part of the key of a kernel that depends on the storage of operands and results.
static std::string storage_text(const KernelRequest& request) {
  std::string text;
  for (bool is_constant : request.schedule.constant) text += is_constant ? " constant" : " variable";
  for (const Layout& l : request.schedule.layouts) text += " " + tensor::str(l);
  if (request.repeats_constants) text += " repeated";
  return text;
}

KernelRequest Lowerer::kernel_request(const tensor::TensorFunction& f, std::vector<bool> constant,
                                      std::vector<Layout> layouts) const {
  layouts.resize(f.params.size() + f.results.size());
  return {.schedule = {f, std::move(constant), std::move(layouts), machines_, options_, {}},
          .may_share_code = !configure_};
}

// Makes the kernels of calls in @main on several threads, before the calls are lowered. These are the calls whose
// operands do not change the function: it has no symbols, and no operand can become a scalar of the program. Loops are
// left out, since their calls may repeat large constants.
void Lowerer::schedule_ahead(const Block& block, int jobs) {
  std::map<std::string, KernelRequest> requests;
  add_requests(block, requests);
  std::vector<KernelRequest*> work;
  std::vector<ScheduledKernel*> results;
  for (auto& [key, request] : requests) {
    work.push_back(&request);
    results.push_back(&scheduled_ahead_[key]);
  }
  parallel_for(work.size(), jobs, [&](size_t k) { *results[k] = schedule_kernel(std::move(*work[k])); });
}

void Lowerer::add_requests(const Block& block, std::map<std::string, KernelRequest>& requests) const {
  for (const Binding& b : block.bindings) {
    if (const auto* call = std::get_if<relay::CallTensor>(&b.op)) add_request(*call, requests);
    if (std::holds_alternative<relay::If>(b.op))
      relay::for_each_block(b.op, [&](const Block& arm) { add_requests(arm, requests); });
  }
}

void Lowerer::add_request(const relay::CallTensor& call, std::map<std::string, KernelRequest>& requests) const {
  const tensor::TensorFunction& f = module_.tensor_functions.at(call.function);
  std::vector<bool> constant;
  for (const Atom& a : call.args) constant.push_back(std::holds_alternative<Constant>(a));
  for (size_t k = 0; k < constant.size(); ++k)
    if (!constant[k] && product(f.params[k]->shape) == Dim(1)) return;
  if (!tensor::symbols_of(f).empty() || view_offset(f, call.layouts)) return;
  KernelRequest request = kernel_request(f, std::move(constant), call.layouts);
  requests.emplace(call.function + storage_text(request), std::move(request));
}

const Lowerer::Scheduled& Lowerer::scheduled(const TensorCall& call) {
  const tensor::TensorFunction& f = call.function;
  std::vector<bool> constant;
  for (const Constant* c : call.constants) constant.push_back(c != nullptr);
  KernelRequest request = kernel_request(f, std::move(constant), call.layouts);
  request.repeats_constants = repeats_large_constants(call);
  const std::string storage = storage_text(request);
  const std::string key = call.key + storage;
  if (auto it = scheduled_.find(key); it != scheduled_.end()) return it->second;
  std::vector<Symbol> symbols = tensor::symbols_of(f);
  const std::string structure = symbols.empty() ? "" : text_without_names(f, symbols) + storage;
  if (auto it = scheduled_.find(structure); it != scheduled_.end())
    return scheduled_.emplace(key, it->second).first->second;

  uint64_t hash = configure_ ? tensor::hash_of(request.schedule) : 0;
  if (configure_) request.schedule.config = configure_(request.schedule, hash);
  auto ahead = scheduled_ahead_.extract(key);
  ScheduledKernel s = ahead ? std::move(ahead.mapped()) : schedule_kernel(std::move(request));
  // Calls whose kernels print the same text share one kernel.
  auto [it, is_new] = kernel_by_text_.emplace(std::move(s.text), static_cast<int>(program_.kernels.size()));
  if (is_new) program_.kernels.push_back(std::move(s.kernel));
  Scheduled result{it->second, std::move(s.packing), std::move(s.in_place), tensor::multiply_accumulates(f),
                   hash,       s.is_serpentine,      std::move(symbols)};
  if (!structure.empty()) scheduled_.emplace(structure, result);
  return scheduled_.emplace(key, std::move(result)).first->second;
}

}  // namespace dlcc::lower
