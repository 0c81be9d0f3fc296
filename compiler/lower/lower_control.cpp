// Lowers branches, local functions and loops. A local function is lowered at each of its calls; one that calls itself
// in tail position becomes a loop.
#include <algorithm>

#include "lower/largest_size.h"
#include "lower/loop_slices.h"
#include "lower/lowerer.h"
#include "lower/walk.h"
#include "tensor/dim_of.h"
#include "tensor/passes/expand_math.h"
#include "tensor/passes/specialize.h"
#include "tensor/visit.h"

namespace dlcc::lower {

using relay::Atom;
using relay::Binding;

// ---- branches

// A result of rank 0 that is a scalar in one of the arms is a scalar after the branch. Other results are stored in
// temporaries.
Lowerer::Operand Lowerer::branch(const Binding& b, const relay::If& x, const Environment& env, Region& region) {
  auto step = std::make_shared<Branch>();
  step->condition = scalar(operand(x.condition, env, b.location), region, b.location);
  ValueId first = static_cast<ValueId>(program_.values.size());
  const std::vector<Dim> checked = state_.checked;
  const size_t known = state_.known.size();
  Operand a = lower_block(*x.then_block, env, step->then_region, b.location);
  state_.known.resize(known);
  const std::vector<Dim> then_checked = std::exchange(state_.checked, checked);
  ValueId second = static_cast<ValueId>(program_.values.size());
  Operand c = lower_block(*x.else_block, env, step->else_region, b.location);
  state_.known.resize(known);
  const std::vector<Dim> else_checked = std::exchange(state_.checked, checked);
  region.steps.push_back(step);
  const std::vector<Shape> shapes = merge_sizes(x, b.var->type, *step, then_checked, else_checked, region);
  std::vector<Operand> then_all, else_all, results;
  flatten(a, then_all, b.location);
  flatten(c, else_all, b.location);

  std::vector<Operand> then_values, else_values;  // results in memory
  std::vector<ValueId> merged;
  for (size_t k = 0; k < then_all.size(); ++k) {
    if (then_all[k].scalar || else_all[k].scalar) {
      tensor::Expr p = scalar(then_all[k], step->then_region, b.location);
      tensor::Expr q = scalar(else_all[k], step->else_region, b.location);
      tensor::Var result = tensor::make_var(b.var->name.empty() ? "result" : b.var->name, p.type());
      step->merges.push_back({result, p, q});
      results.push_back({.scalar = result});
      continue;
    }
    const Value v = value_of(then_all[k].value);
    const Shape& shape = shapes.at(k).empty() ? v.shape : shapes.at(k);
    merged.push_back(new_value(b.var->name, {shape, v.type}, Storage::temporary));
    then_values.push_back(then_all[k]);
    else_values.push_back(else_all[k]);
    results.push_back({.value = merged.back()});
  }
  store_branch_results(step->then_region, then_values, merged, first, second);
  store_branch_results(step->else_region, else_values, merged, second, merged.empty() ? second : merged.front());
  size_t next = 0;
  return rebuild(a, results, next);
}

namespace {

// The shapes of the tensors in a type, in order.
std::vector<Shape> shapes_in(const relay::Type& type) {
  std::vector<Shape> shapes;
  relay::for_each_field(type, [&](const relay::Type& field) {
    const auto* tensor = relay::as<relay::TensorType>(field);
    shapes.push_back(tensor ? tensor->shape : Shape());
  });
  return shapes;
}

}  // namespace

std::vector<Shape> Lowerer::merge_sizes(const relay::If& x, const relay::Type& result, Branch& step,
                                        const std::vector<Dim>& then_checked, const std::vector<Dim>& else_checked,
                                        Region& region) {
  auto value = [](const Dim& d) { return tensor::expand_math(tensor::simplify(tensor::Expr(d))); };
  const std::vector<Shape> then_shapes = shapes_in(relay::type_of(module_, x.then_block->result));
  const std::vector<Shape> else_shapes = shapes_in(relay::type_of(module_, x.else_block->result));
  std::vector<Shape> merged = shapes_in(result);
  std::vector<DataSize> sizes;
  std::vector<std::pair<tensor::Expr, tensor::Expr>> values;  // of the sizes, at the end of either arm
  for (size_t k = 0; k < merged.size(); ++k) {
    if (then_shapes[k] == else_shapes[k]) {
      merged[k].clear();
      continue;
    }
    const Shape p = in_program(then_shapes[k]), q = in_program(else_shapes[k]);
    for (size_t d = 0; d < merged[k].size(); ++d) {
      if (then_shapes[k][d] == else_shapes[k][d]) continue;
      const std::vector<Symbol> symbols = merged[k][d].symbols();
      DLCC_CHECK(symbols.size() == 1, "arms of sizes {} and {} give {}", p[d].str(), q[d].str(), merged[k][d].str());
      const Dim then_most = bound_where_checked(largest_size(program_, p[d]), then_checked);
      const Dim else_most = bound_where_checked(largest_size(program_, q[d]), else_checked);
      sizes.push_back({symbols[0], max(then_most, else_most), 0, then_most, else_most});
      values.emplace_back(value(p[d]), value(q[d]));
    }
  }
  add_branch_sizes(sizes);
  for (size_t k = 0; k < sizes.size(); ++k)
    step.merges.push_back({scalar_of(sizes[k].symbol), values[k].first, values[k].second});
  for (const DataSize& size : sizes)
    require(tensor::Expr(size.symbol.low) <= scalar_of(size.symbol), tensor::Status::dimension_out_of_range, region);
  for (Shape& shape : merged) shape = in_program(shape);
  return merged;
}

// Makes an arm of a branch store its results in the temporaries `merged`. Temporaries of the arm, whose ids are in
// [first, last), are replaced; other values are copied. A result that is smaller than the temporary is stored in a view
// of it.
void Lowerer::store_branch_results(Region& region, const std::vector<Operand>& results,
                                   const std::vector<ValueId>& merged, ValueId first, ValueId last) {
  std::set<ValueId> renamed;
  for (size_t k = 0; k < results.size(); ++k) {
    ValueId from = results[k].value;
    const Value v = value_of(from);
    const ValueId to =
        v.bytes == value_of(merged[k]).bytes ? merged[k] : view_of(merged[k], v.name, v.type, v.shape, 0);
    bool own = from >= first && from < last && v.storage == Storage::temporary;
    bool once = std::ranges::count(results, from, &Operand::value) == 1;
    if (own && once && renamed.insert(from).second)
      rename(region, from, to);
    else
      region.steps.push_back(Copy{from, to});
  }
}

void Lowerer::rename(Region& region, ValueId from, ValueId to) {
  if (state_.defined_by_slices.contains(from)) state_.defined_by_slices.insert(base_of(to));
  for (Value& v : program_.values)
    if (v.storage == Storage::view && v.base == from) v.base = base_of(to);
  for_each_value(region, [&](ValueId& id) {
    if (id == from) id = to;
  });
}

// ---- local functions

Lowerer::Operand Lowerer::call_closure(const Binding& b, const relay::Call& x, const Closure& closure,
                                       const Environment& env, Region& region) {
  const relay::Function& f = *closure.function;
  count_inlined(f, b.location);
  std::vector<Operand> args;
  for (const Atom& a : x.args) args.push_back(operand(a, env, b.location));
  std::map<std::string, Dim> sizes = std::exchange(state_.sizes, closure.sizes);
  relay::Uses inside(f.body);
  Operand result;
  if (inside.count(closure.id) == 0) {
    Environment inner = closure.captured;
    for (size_t k = 0; k < args.size(); ++k) inner[f.params[k]->id] = args[k];
    result = lower_block(f.body, inner, region, b.location);
  } else if (auto recursion = relay::tail_recursion(f, closure.id)) {
    result = loop(b, x, args, closure, *recursion, region);
  } else {
    unsupported(b.location, "recursion that is no loop",
                "let each recursive call be the last operation of its block, and end one block without a call");
  }
  std::swap(state_.sizes, sizes);
  // A size that the body defines for the result is in the caller's types, too: it is the size of this call.
  for_each_symbol(f.result_type, [&](const Symbol& size) {
    if (const auto defined = sizes.find(size.name); defined != sizes.end() && !closure.sizes.contains(size.name))
      state_.sizes.insert_or_assign(size.name, defined->second);
  });
  return result;
}

// ---- loops

// The operations before the `if` become the loop's test. The operations of the arm that ends in the recursive call
// become its body. The operations of the other arm follow the loop.
Lowerer::Operand Lowerer::loop(const Binding& b, const relay::Call& x, const std::vector<Operand>& args,
                               const Closure& closure, const relay::TailRecursion& recursion, Region& region) {
  const relay::Function& f = *closure.function;
  auto step = std::make_shared<Loop>();
  Environment inner = closure.captured;
  std::vector<Operand> carried;
  for (size_t k = 0; k < x.args.size(); ++k) {
    const auto* var = std::get_if<relay::Var>(&x.args[k]);
    bool is_last_use = var && uses_[*var] == 1 && state_.fresh.contains((*var)->id);
    carried.push_back(carry(f.params[k], args[k], is_last_use, *step, region, b.location));
    inner[f.params[k]->id] = carried.back();
    if (carried.back().scalar) find_counter(f, recursion, k, step->carried.back());
  }
  find_updates(f, recursion, carried);

  std::set<int> outer = std::exchange(state_.fresh, {});
  // Lowers all operations of a block but the last: the `if`, or the recursive call.
  auto lower_all_but_last = [&](const relay::Block& block, Environment& visible, Region& to) {
    for (size_t k = 0; k + 1 < block.bindings.size(); ++k)
      visible[block.bindings[k].var->id] = lower_binding(block.bindings[k], visible, to);
  };
  lower_all_but_last(f.body, inner, step->test);
  tensor::Expr condition = scalar(operand(recursion.branch->condition, inner, b.location), step->test, b.location);
  step->condition = recursion.continues_if ? condition : tensor::logical_not(condition);

  bound_counters(*step, 1);
  const size_t known_outside = state_.known.size();
  assume(definition_in(step->test, step->condition));
  Environment in_body = inner;
  Direction outer_direction = std::exchange(state_.direction, {tensor::make_var("backward")});
  const std::vector<Dim> checked = state_.checked;
  lower_all_but_last(*recursion.repeat, in_body, step->body);
  state_.checked = checked;
  const auto [backward, is_used] = std::exchange(state_.direction, std::move(outer_direction));
  std::vector<Operand> next;
  for (const Atom& a : recursion.next->args) next.push_back(operand(a, in_body, b.location));
  state_.fresh = std::move(outer);
  state_.known.resize(known_outside);
  bound_counters(*step, 0);
  set_next_values(next, carried, *step, b.location);
  if (is_used) step->carried.push_back({backward, tensor::Expr(0), tensor::Expr(1) - tensor::Expr(backward)});
  for (const Operand& o : carried)
    if (o.value >= 0 && is_written_by_slices(*step, o.value)) remove_initialization(region, o.value);
  region.steps.push_back(std::move(step));
  return lower_block(*recursion.finish, inner, region, b.location);
}

// A counter with an initial value below 2^62 does not overflow: the loop would have to run 2^62 times.
void Lowerer::find_counter(const relay::Function& f, const relay::TailRecursion& recursion, size_t param,
                           const Loop::Carried& carried) {
  const auto first = tensor::constant_integer(carried.initial);
  const auto* next = std::get_if<relay::Var>(&recursion.next->args[param]);
  if (!first || !next || carried.var->type != dtype::i64 || *first > INT64_MAX / 2) return;
  for (const Binding& b : recursion.repeat->bindings) {
    const auto* call = std::get_if<relay::CallTensor>(&b.op);
    if (!call || b.var->id != (*next)->id || call->args.size() != 1) continue;
    const auto* arg = std::get_if<relay::Var>(&call->args[0]);
    tensor::TensorFunction sum = module_.tensor_functions.at(call->function);
    if (!arg || (*arg)->id != f.params[param]->id) continue;
    tensor::pass_by_value(sum, 0);
    auto value = tensor::scalar_value(sum);
    if (value && tensor::structurally_equal(tensor::simplify(*value), tensor::Expr(sum.scalars[0]) + tensor::Expr(1)))
      ranges_[carried.var] = {*first, INT64_MAX};
  }
}

// The largest value is limit - 1 in the body, and the limit after the loop. No loop runs 2^62 times.
void Lowerer::bound_counters(const Loop& loop, int64_t distance) {
  for (const Loop::Carried& c : loop.carried) {
    auto known = ranges_.find(c.var);
    auto limit = upper_limit(loop, c.var);
    if (known == ranges_.end() || !limit) continue;
    const auto range = tensor::range_of(*limit, ranges_);
    const int64_t low = known->second.low, reached = low <= tensor::max_elements ? INT64_MAX / 2 : INT64_MAX;
    known->second.high = range ? std::clamp(range->high - distance, low, reached) : reached - distance;
  }
}

Lowerer::Operand Lowerer::carry(const relay::Var& param, const Operand& initial, bool is_last_use, Loop& loop,
                                Region& region, const SourceLocation& location) {
  if (initial.closure) unsupported(location, "a function as a value");
  if (initial.is_tuple) {
    Operand carried{.is_tuple = true};
    for (const Operand& field : initial.fields)
      carried.fields.push_back(carry(param, field, false, loop, region, location));
    return carried;
  }
  DType type = initial.scalar ? initial.scalar.type() : value_of(initial.value).type;
  bool rank_0 = initial.scalar || value_of(initial.value).shape.empty();
  if (rank_0 && can_be_scalar(type)) {
    tensor::Var var = tensor::make_var(param->name.empty() ? "carried" : param->name, type);
    loop.carried.push_back({var, scalar(initial, region, location), {}});
    return {.scalar = var};
  }
  const Value from = value_of(initial.value);
  if (is_last_use && from.storage == Storage::temporary) {
    // The loop overwrites its initial value. Operands of a concatenation must not share that memory.
    std::erase_if(state_.concat_calls, [&](const ConcatCall& c) { return c.result == initial.value; });
    return {.value = initial.value};
  }
  ValueId own = new_value(param->name, {from.shape, from.type}, Storage::temporary);
  region.steps.push_back(Copy{initial.value, own});
  return {.value = own};
}

// Finds candidates for in-place slice updates: parameters whose next value is the result of a tensor function that is
// the last reader of the parameter. update_slice (lower_calls.cpp) checks that the function replaces one slice.
void Lowerer::find_updates(const relay::Function& f, const relay::TailRecursion& recursion,
                           const std::vector<Operand>& carried) {
  relay::Uses in_body(f.body), at_end(*recursion.finish);
  for (size_t k = 0; k < carried.size(); ++k) {
    const auto* next = std::get_if<relay::Var>(&recursion.next->args[k]);
    if (carried[k].value < 0 || !next) continue;
    int reads_left = in_body[f.params[k]] - at_end[f.params[k]];
    for (const Binding& b : recursion.repeat->bindings) {
      const auto* call = std::get_if<relay::CallTensor>(&b.op);
      if (!call) continue;
      const auto reads = static_cast<int>(std::ranges::count_if(call->args, [&](const Atom& a) {
        const auto* var = std::get_if<relay::Var>(&a);
        return var && (*var)->id == f.params[k]->id;
      }));
      if (b.var->id == (*next)->id && reads == 1 && reads_left == 1) state_.updates[b.var->id] = carried[k].value;
      const tensor::Stage& last = module_.tensor_functions.at(call->function).stages.back();
      const bool may_be_view = !last.body && tensor::as<tensor::Load>(last.values[0]);  // which later steps read
      if (!may_be_view) reads_left -= reads;
    }
  }
}

// Whether the loop counts from 0 to a number or a size, writes the slice of the value at the counter, or the slices in
// reverse order, and has no other use of the value.
bool Lowerer::is_written_by_slices(const Loop& loop, ValueId value) {
  const ValueId view = written_slice(program_, program_, loop, value);
  if (view < 0) return false;
  const Value& slice = value_of(view);
  const std::vector<Symbol> symbols = entry_symbols(program_);
  for (const Loop::Carried& c : loop.carried) {
    const auto trips = trip_count(loop, c.var, symbols);
    const bool tiles = trips && provably_lt(0, *trips) && *trips * slice.bytes == value_of(value).bytes;
    if (!tiles || tensor::constant_integer(c.initial) != 0) continue;
    const Dim counter = Dim::symbol({"the counter"});  // no size has a name with a space
    const auto at = tensor::dim_of(with_definitions(slice.begin), [&](const tensor::Var& v) {
      return v == c.var ? std::optional(counter) : as_dim(v, symbols);
    });
    if (!at) continue;
    const Dim offset = *at * Dim(slice.stride), last = *trips - Dim(1);
    if (offset == counter * slice.bytes || offset == (last - counter) * slice.bytes) return true;
  }
  return false;
}

// Removes the step that initializes a value before a loop that overwrites all of it, if the step has no other result.
void Lowerer::remove_initialization(Region& region, ValueId value) {
  auto last = std::ranges::find_if(region.steps.rbegin(), region.steps.rend(),
                                   [&](const Step& step) { return only_writes(program_, step, value); });
  if (last == region.steps.rend()) return;
  auto erased = std::next(last).base();
  if (&region == &program_.body) {
    auto step = static_cast<size_t>(erased - region.steps.begin());
    std::erase_if(state_.concat_calls, [&](const ConcatCall& c) { return c.step == step; });
    for (ConcatCall& c : state_.concat_calls) c.step -= c.step > step;
  }
  region.steps.erase(erased);
  state_.defined_by_slices.insert(value);
}

void Lowerer::set_next_values(const std::vector<Operand>& next, const std::vector<Operand>& carried, Loop& loop,
                              const SourceLocation& location) {
  std::vector<Operand> from, to;
  for (size_t k = 0; k < carried.size(); ++k) {
    flatten(next[k], from, location);
    flatten(carried[k], to, location);
  }
  std::set<ValueId> owners;
  for (const Operand& o : to)
    if (!o.scalar) owners.insert(o.value);
  size_t scalars = 0;
  std::vector<Copy> copies;
  for (size_t k = 0; k < to.size(); ++k) {
    if (to[k].scalar) {
      loop.carried[scalars++].next = scalar(from[k], loop.body, location);
      continue;
    }
    ValueId source = value(from[k], loop.body, location);
    if (source == to[k].value) continue;
    if (owners.contains(base_of(source))) {  // another copy may overwrite it first
      const Value v = value_of(source);
      ValueId saved = new_value(v.name, {v.shape, v.type}, Storage::temporary);
      loop.body.steps.push_back(Copy{source, saved});
      source = saved;
    }
    copies.push_back({source, to[k].value});
  }
  for (const Copy& c : copies)
    if (!replaces_in_place(loop.body, copies, c)) loop.body.steps.push_back(c);
}

// Makes the call that computes the next value of a carried tensor write into the tensor's memory, in place of a copy:
// where the call may replace the tensor, and no later step of the iteration uses it.
bool Lowerer::replaces_in_place(Region& body, const std::vector<Copy>& copies, const Copy& copy) {
  auto uses = [&](const Step& step, ValueId base) {
    int count = 0;
    for_each_step({{step}},
                  [&](const Step& inner) { for_each_value(inner, [&](ValueId v) { count += base_of(v) == base; }); });
    return count;
  };
  const bool is_only_copy = std::ranges::count_if(copies, [&](const Copy& c) {
                              return base_of(c.from) == copy.from || base_of(c.from) == copy.to;
                            }) == 1;
  if (value_of(copy.from).storage != Storage::temporary || !is_only_copy) return false;
  const auto first = std::ranges::find_if(body.steps, [&](const Step& step) { return uses(step, copy.from) > 0; });
  const auto* call = first == body.steps.end() ? nullptr : std::get_if<Invoke>(&*first);
  if (!call || uses(*first, copy.from) != 1 || uses(*first, copy.to) != 1) return false;
  if (std::any_of(first + 1, body.steps.end(), [&](const Step& step) { return uses(step, copy.to) > 0; })) return false;
  const bool may_replace = std::ranges::any_of(call->in_place, [&](const std::pair<int, int>& pair) {
    return call->operands[static_cast<size_t>(pair.first)] == copy.from &&
           call->operands[static_cast<size_t>(pair.second)] == copy.to;
  });
  if (may_replace) rename(body, copy.from, copy.to);
  return may_replace;
}

}  // namespace dlcc::lower
