#include "lower/lower.h"

#include <algorithm>

#include "lower/largest_size.h"
#include "lower/loop_slices.h"
#include "lower/lowerer.h"
#include "lower/memory_sizes.h"
#include "lower/remove_unused.h"
#include "lower/share_kernels.h"
#include "lower/size_conditions.h"
#include "lower/verify.h"
#include "relay/input_dims.h"
#include "relay/operator.h"
#include "tensor/passes/expand_math.h"
#include "tensor/passes/expand_rounding.h"
#include "tensor/simplify.h"
#include "tensor/slice_length.h"
#include "tensor/visit.h"

namespace dlcc::lower {

using relay::Atom;
using relay::Binding;
using relay::Block;

namespace {

constexpr const char* interpreter_help = "'dlcc run --interpret' runs the program";

// Whether the type is a data type or a reference, or a tuple with one.
bool has_data(const relay::Type& type) {
  bool found = false;
  relay::for_each_field(type, [&](const relay::Type& field) {
    found |= relay::as<relay::DataType>(field) || relay::as<relay::RefType>(field);
  });
  return found;
}

}  // namespace

Lowerer::Lowerer(const relay::Module& module, const std::vector<tensor::Machine>& machines,
                 const tensor::ScheduleOptions& options, Diagnostics& diagnostics, const Configure& configure)
    : module_(module),
      machines_(machines),
      options_(options),
      diagnostics_(diagnostics),
      configure_(configure),
      shared_functions_(shared_functions(module)) {
  for (const auto& [name, function] : module.functions) uses_.add(function.body, 1);
}

Program Lowerer::run(int jobs) {
  program_.dims = relay::input_dims(module_);
  for (const InputDim& d : program_.dims)
    ranges_[scalar_of(d.symbol)] = {d.symbol.low, std::min(d.symbol.high, tensor::max_elements)};
  program_.threads = options_.threads;
  const relay::Function& main = module_.functions.at("main");
  tracks_elements_ = relay::defines_sizes(module_);
  // Tuning decides one kernel after the other.
  if (jobs > 1 && !configure_) schedule_ahead(main.body, jobs);
  Environment env;
  for (const relay::Var& p : main.params) env[p->id] = new_input(p->type, p->name);
  std::vector<Operand> results;
  flatten(lower_block(main.body, env, program_.body, main.location), results, main.location);
  for (size_t k = 0; k < results.size(); ++k)
    make_output(value(results[k], program_.body, main.location), static_cast<int>(k));
  in_place_concat(program_, state_.concat_calls);
  store_counted_slices(program_);
  if (options_.small) share_kernels(program_);
  remove_unused(program_);
  verify_after("lower", program_);
  return std::move(program_);
}

void Lowerer::unsupported(const SourceLocation& location, const std::string& what, const std::string& help) {
  diagnostics_.error(DiagnosticId::unsupported_construct, location, what + " cannot be compiled to native code", {},
                     help);
  throw Unsupported();
}

void Lowerer::unsupported_value(const Atom& value, const SourceLocation& location) {
  const std::string type = relay::str(relay::type_of(module_, value));
  unsupported(location, fmt::format("a value of type {}", type), interpreter_help);
}

// ---- values

Lowerer::Operand Lowerer::new_input(const relay::Type& type, const std::string& name) {
  if (const auto* tuple = relay::as<relay::TupleType>(type)) {
    Operand o{.is_tuple = true};
    for (const relay::Type& field : tuple->fields) o.fields.push_back(new_input(field, name));
    return o;
  }
  ValueId v = new_value(name, *relay::as<relay::TensorType>(type), Storage::input);
  value_of(v).index = static_cast<int>(program_.inputs.size());
  program_.inputs.push_back(v);
  return {.value = v, .elements = elements_of_input(v)};
}

// A value of negative size has no elements: a requirement that is violated ends the run before a step uses it.
ValueId Lowerer::add_value(Value v) {
  for (Dim& d : v.shape)
    if (d.is_constant() && d.value() < 0) d = 0, v.bytes = 0;
  program_.values.push_back(std::move(v));
  return static_cast<ValueId>(program_.values.size()) - 1;
}

ValueId Lowerer::new_value(std::string name, const relay::TensorType& type, Storage storage) {
  return add_value({.name = std::move(name),
                    .type = type.dtype,
                    .shape = type.shape,
                    .bytes = bytes_of(type.dtype, type.shape),
                    .alignment = default_alignment(storage, type.dtype),
                    .storage = storage});
}

ValueId Lowerer::new_temporary(std::string name, const tensor::Buffer& stored,
                               const std::map<std::string, Dim>& sizes) {
  Shape shape = stored->shape;
  for (Dim& d : shape) d = d.substitute(sizes);
  return new_value(std::move(name), {std::move(shape), stored->type}, Storage::temporary);
}

// Constants of equal type, shape and contents are stored once.
ValueId Lowerer::constant(Constant stored) {
  std::vector<int>& known = constants_by_hash_[stored.hash()];
  for (int index : known)
    if (program_.constants[static_cast<size_t>(index)].same_as(stored)) return constant_value(index);
  known.push_back(static_cast<int>(program_.constants.size()));
  program_.constants.push_back(std::move(stored));
  return constant_value(known.back());
}

ValueId Lowerer::constant_value(int index) {
  auto known = state_.constant_values.find(index);
  if (known != state_.constant_values.end()) return known->second;
  const Constant& stored = program_.constants[static_cast<size_t>(index)];
  ValueId v = add_value({.name = fmt::format("constant{}", index),
                         .type = stored.dtype(),
                         .shape = shape_of(stored.shape()),
                         .bytes = static_cast<int64_t>(stored.bytes().size()),
                         .alignment = tensor::storage_alignment,
                         .storage = Storage::constant,
                         .index = index});
  state_.constant_values.emplace(index, v);
  return v;
}

// A temporary that is an output, or that has a view of equal size that is an output, is stored in the caller's memory.
// Other values are copied there.
void Lowerer::make_output(ValueId v, int index) {
  const Value value = value_of(v);
  ValueId base = base_of(v);
  Value& owner = value_of(base);
  int64_t element = std::max(1, bits(value.type) / 8);
  if (owner.storage == Storage::temporary && owner.bytes == value.bytes && !value.begin) {
    owner.storage = Storage::output;
    owner.index = index;
    owner.alignment = element;
    program_.outputs.push_back(base);
    return;
  }
  ValueId out = new_value(value.name, {value.shape, value.type}, Storage::output);
  value_of(out).index = index;
  program_.body.steps.push_back(Copy{v, out});
  program_.outputs.push_back(out);
}

// ---- operands

Lowerer::Operand Lowerer::operand(const Atom& atom, const Environment& env, const SourceLocation& location) {
  if (const relay::Var* var = std::get_if<relay::Var>(&atom)) return env.at((*var)->id);
  if (const Constant* c = std::get_if<Constant>(&atom)) return {.value = constant(*c)};
  if (const auto* global = std::get_if<relay::GlobalRef>(&atom))
    return {.closure = std::make_shared<Closure>(Closure{.global = global->name})};
  unsupported(location, "a function as a value", interpreter_help);
}

ValueId Lowerer::value(const Operand& o, Region& region, const SourceLocation& location) {
  DLCC_CHECK(!o.is_tuple, "a tuple where a tensor is expected");
  if (o.closure) unsupported(location, "a function as a value", interpreter_help);
  if (!o.scalar) return o.value;
  ValueId v = new_value("scalar", {{}, o.scalar.type()}, Storage::temporary);
  region.steps.push_back(Write{v, 0, o.scalar});
  return v;
}

ValueId Lowerer::value(const Atom& atom, const Environment& env, Region& region, const SourceLocation& location) {
  return value(operand(atom, env, location), region, location);
}

tensor::Expr Lowerer::scalar(const Operand& o, Region& region, const SourceLocation& location) {
  if (o.scalar) return o.scalar;
  ValueId from = value(o, region, location);
  const Value& v = value_of(from);
  if (v.storage == Storage::constant) {
    const Constant& c = program_.constants[static_cast<size_t>(v.index)];
    return is_float(v.type) ? tensor::literal(v.type, c.number_at(0)) : tensor::literal(v.type, c.integer_at(0));
  }
  tensor::Var result = tensor::make_var(v.name.empty() ? "scalar" : v.name, v.type);
  region.steps.push_back(Read{result, from, 0});
  return result;
}

void Lowerer::flatten(const Operand& o, std::vector<Operand>& list, const SourceLocation& location) {
  if (o.closure) unsupported(location, "a function as a value", interpreter_help);
  if (!o.is_tuple) list.push_back(o);
  for (const Operand& f : o.fields) flatten(f, list, location);
}

Lowerer::Operand Lowerer::rebuild(const Operand& like, const std::vector<Operand>& list, size_t& next) {
  if (!like.is_tuple) return list[next++];
  Operand o{.is_tuple = true};
  for (const Operand& f : like.fields) o.fields.push_back(rebuild(f, list, next));
  return o;
}

// ---- bindings

Lowerer::Operand Lowerer::lower_block(const Block& block, Environment env, Region& region,
                                      const SourceLocation& location) {
  std::set<int> outer = std::exchange(state_.fresh, {});
  for (const Binding& b : block.bindings) env[b.var->id] = lower_binding(b, env, region);
  state_.fresh = std::move(outer);
  return operand(block.result, env, location);
}

Lowerer::Operand Lowerer::lower_binding(const Binding& b, const Environment& env, Region& region) {
  return std::visit(overloaded{
                        [&](const relay::CallTensor& x) { return call_tensor(b, x, env, region); },
                        [&](const relay::Call& x) { return call(b, x, env, region); },
                        [&](const relay::MakeTuple& x) {
                          Operand o{.is_tuple = true};
                          for (const Atom& a : x.fields) o.fields.push_back(operand(a, env, b.location));
                          return o;
                        },
                        [&](const relay::Project& x) {
                          return operand(x.tuple, env, b.location).fields.at(static_cast<size_t>(x.index));
                        },
                        [&](const relay::Alias& x) { return operand(x.value, env, b.location); },
                        [&](const relay::If& x) { return branch(b, x, env, region); },
                        [&](const relay::MakeFunction& x) {
                          const Closure made{&*x.function, b.var->id, env, state_.sizes};
                          return Operand{.closure = std::make_shared<Closure>(made)};
                        },
                        [&](const relay::Match& x) -> Operand { unsupported_value(x.value, b.location); },
                        [&](const relay::RefCreate&) -> Operand { unsupported_value(b.var, b.location); },
                        [&](const relay::RefRead& x) -> Operand { unsupported_value(x.ref, b.location); },
                        [&](const relay::RefWrite& x) -> Operand { unsupported_value(x.ref, b.location); },
                        [&](const relay::MatchCast& x) { return match_cast(b, x, env, region); },
                        [&](const relay::DefineSizes& x) { return define_sizes(b, x, env, region); },
                        [&](const relay::RequireSizes& x) {
                          for (const Dim& d : in_program(x.sizes)) require_size(d, region);
                          return Operand{.is_tuple = true};
                        },
                    },
                    b.op);
}

// Sizes whose dims differ are compared at run time. The result is the operand under the declared type.
Lowerer::Operand Lowerer::match_cast(const Binding& b, const relay::MatchCast& x, const Environment& env,
                                     Region& region) {
  const auto* declared = relay::as<relay::TensorType>(x.type);
  const Operand o = operand(x.value, env, b.location);
  if (!declared || o.is_tuple) unsupported(b.location, "a check of the sizes of a tuple");
  if (o.scalar) return o;
  const Shape before = in_program(relay::as<relay::TensorType>(relay::type_of(module_, x.value))->shape);
  const Shape after = in_program(declared->shape);
  for (size_t d = 0; d < before.size(); ++d)
    require(tensor::equal(tensor::Expr(before[d]), tensor::Expr(after[d])), tensor::Status::shape_mismatch, region);
  if (before == after) return o;
  return {.value = view_of(o.value, b.var->name, declared->dtype, after, 0), .elements = o.elements};
}

// A symbol of the program for a symbol of the current function, which may be inlined several times.
Symbol Lowerer::own_symbol(const Symbol& symbol) {
  Symbol own{symbol.name};
  auto is_taken = [&](const std::string& name) {
    return std::ranges::count(program_.data_sizes, name, [](const DataSize& d) { return d.symbol.name; }) +
               std::ranges::count(program_.input_sizes, name, &Symbol::name) >
           0;
  };
  for (int copy = 1; is_taken(own.name); ++copy) own.name = fmt::format("{}.{}", symbol.name, copy);
  state_.sizes.insert_or_assign(symbol.name, Dim::symbol(own));
  return own;
}

static Dim at_least_0(const Dim& d) { return provably_le(0, d) ? d : max(d, 0); }

tensor::Var Lowerer::add_data_size(const Symbol& symbol, const Dim& most) {
  const Symbol own = own_symbol(symbol);
  program_.data_sizes.push_back({own, at_least_0(most)});
  ranges_[scalar_of(own)] = {0, most.upper_bound().value_or(tensor::max_elements)};
  return scalar_of(own);
}

void Lowerer::add_branch_sizes(std::vector<DataSize>& sizes) {
  int branch = 0;
  for (const DataSize& d : program_.data_sizes) branch = std::max(branch, d.branch + 1);
  for (DataSize& size : sizes) {
    size.symbol = Symbol{add_data_size(size.symbol, size.most)->name, size.symbol.low};
    if (sizes.size() == 1) break;
    DataSize& added = program_.data_sizes.back();
    added.branch = branch;
    added.then_most = at_least_0(size.then_most);
    added.else_most = at_least_0(size.else_most);
    added.most = max(added.then_most, added.else_most);
  }
}

// A size that is computed from elements of inputs is known when a call is planned. Any other size needs a bound. It is
// computed from scalars, or read when the value has been computed.
Lowerer::Operand Lowerer::define_sizes(const Binding& b, const relay::DefineSizes& x, const Environment& env,
                                       Region& region) {
  const Operand sizes = operand(x.value, env, b.location);
  for (size_t k = 0; k < x.symbols.size(); ++k) {
    Dim bound = in_program({x.most[k]})[0];
    const bool is_before_run = &region == &program_.body;  // not in an arm or a loop
    const tensor::Expr expression = sizes.elements ? sizes.elements->elements[k] : tensor::Expr();
    if (expression && is_before_run && add_input_size(x.symbols[k], expression, bound)) continue;
    if (bound == relay::unknown_dim() && expression) bound = largest_value(expression, state_.known).value_or(bound);
    if (bound == relay::unknown_dim()) {
      diagnostics_.error(DiagnosticId::dynamic_shape, b.location,
                         fmt::format("the dimension '{}' of '{}' depends on data, and nothing bounds it",
                                     x.symbols[k].name, b.var->name),
                         {}, fmt::format("give the largest size that you expect: --bound {}=100", b.var->name));
      throw Unsupported();
    }
    const auto length = expression ? largest_slice_length(expression) : std::nullopt;
    const Dim limited = length ? min(largest_size(program_, bound), Dim(*length)) : largest_size(program_, bound);
    const Dim most = bound_where_checked(limited, state_.checked);
    const tensor::Var size = add_data_size(x.symbols[k], most);
    const tensor::Range range = ranges_.at(size);  // holds after the checks only
    ranges_.erase(size);
    if (expression && is_computed_by_steps(expression)) {
      const tensor::Expr computed = compute(x.symbols[k].name, expression, region);
      require_in_bounds(computed, x.symbols[k].low, most, region);
      region.steps.push_back(Compute{size, computed});
    } else {
      region.steps.push_back(Read{size, value(sizes, region, b.location), static_cast<int64_t>(k)});
      require_in_bounds(size, x.symbols[k].low, most, region);
    }
    ranges_[size] = range;
    assume(size <= tensor::Expr(most));
  }
  return {.is_tuple = true};
}

// Known ranges make the limits of both ends equal or different, so that either of two forms may have the bound.
std::optional<int64_t> Lowerer::largest_slice_length(const tensor::Expr& length) const {
  auto define = [&](const tensor::Expr& e) { return with_definitions(e); };
  const tensor::Expr definition = tensor::substitute(length, definitions_);
  const auto bound = tensor::largest_slice_length(definition, define);
  return bound ? bound : tensor::largest_slice_length(tensor::simplify(define(definition), ranges_));
}

void Lowerer::require_in_bounds(const tensor::Expr& size, int64_t least, const Dim& most, Region& region) {
  require(tensor::Expr(least) <= size, tensor::Status::dimension_out_of_range, region);
  require(size <= tensor::Expr(most), tensor::Status::capacity_exceeded, region);
}

// Whether steps have computed all scalars of the expression. Elements of inputs are scalars of the entry.
bool Lowerer::is_computed_by_steps(const tensor::Expr& e) const {
  return e.type() == dtype::i64 && std::ranges::none_of(tensor::variables_in(e), [&](const tensor::Var& v) {
           return input_elements_.contains(v);
         });
}

// Whether the dim, or a part of it such as an operand of a maximum, has a product and may be negative. The product of
// two negative sizes is positive. Sums of sizes are smaller where a check fails than where it succeeds.
static bool has_product_of_negative(const Program& program, const Dim& d) {
  auto is_product = [](const Dim::Term& t) { return t.atoms.size() > 1; };
  auto has_part = [&](const Dim::Term& t) {
    return std::ranges::any_of(t.atoms, [&](const std::shared_ptr<const DimAtom>& a) {
      return std::ranges::any_of(a->args, [&](const Dim& arg) { return has_product_of_negative(program, arg); });
    });
  };
  return (std::ranges::any_of(d.terms(), is_product) && may_be_negative(program, {d})) ||
         std::ranges::any_of(d.terms(), has_part);
}

Dim Lowerer::bound_where_checked(const Dim& most, const std::vector<Dim>& checked) const {
  if (!has_product_of_negative(program_, most)) return most;
  Dim bound = most;
  for (const Dim& d : checked) {
    const Dim largest = largest_size(program_, d);
    if (may_be_negative(program_, {largest})) bound = bound * min(max(largest + Dim(1), 0), 1);
  }
  return bound;
}

void Lowerer::require_size(const Dim& size, Region& region) {
  const std::vector<Symbol> given = entry_symbols(program_);
  const bool is_given =
      std::ranges::all_of(size.symbols(), [&](const Symbol& s) { return std::ranges::count(given, s) > 0; });
  const bool is_program = program_.name.empty();
  if (is_given && !(is_program && size.is_constant()) && &region == &program_.body) {
    if (!std::ranges::count(program_.checked_sizes, size)) program_.checked_sizes.push_back(size);
    return;
  }
  const bool is_known = std::ranges::all_of(conditions_of_size(size), [&](const tensor::Expr& condition) {
    return tensor::constant_integer(unknown_part(condition)) == 1;
  });
  if (is_known || std::ranges::count(state_.checked, size)) return;
  region.steps.push_back(CheckSize{size});
  state_.checked.push_back(size);
}

Lowerer::Operand Lowerer::call(const Binding& b, const relay::Call& x, const Environment& env, Region& region) {
  if (has_data(b.var->type)) unsupported_value(b.var, b.location);
  if (const auto* callee = std::get_if<relay::GlobalRef>(&x.callee))
    return call_global(b, x, callee->name, env, region);
  if (const auto* ref = std::get_if<relay::OperatorRef>(&x.callee))
    unsupported(b.location,
                fmt::format("operator {} applied to a tuple that is not built in the same block", ref->op->name));
  const auto* var = std::get_if<relay::Var>(&x.callee);
  auto known = var ? env.find((*var)->id) : env.end();
  if (known == env.end() || !known->second.closure)
    unsupported(b.location, "a call of a function value", interpreter_help);
  const std::shared_ptr<const Closure> closure = known->second.closure;
  return closure->global.empty() ? call_closure(b, x, *closure, env, region)
                                 : call_global(b, x, closure->global, env, region);
}

Shape Lowerer::in_program(Shape shape) const {
  for (Dim& d : shape) d = d.substitute(state_.sizes);
  return shape;
}

int64_t default_alignment(Storage storage, DType type) {
  const bool is_ours = storage == Storage::temporary || storage == Storage::constant;
  return is_ours ? tensor::storage_alignment : std::max(1, bits(type) / 8);
}

Dim bytes_of(DType type, const Shape& shape) {
  const Dim bits_in_all = product(shape) * Dim(bits(type));
  return bits(type) % 8 == 0 ? product(shape) * Dim(bits(type) / 8) : floor_div(bits_in_all + Dim(7), 8);
}

std::optional<Program> lower(const relay::Module& module, const std::vector<tensor::Machine>& machines,
                             const tensor::ScheduleOptions& options, Diagnostics& diagnostics,
                             const Configure& configure, int jobs) {
  try {
    return Lowerer(module, machines, options, diagnostics, configure).run(jobs);
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

}  // namespace dlcc::lower
