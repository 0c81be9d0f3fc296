// Local functions that call themselves in tail position get one recursive call and one exit, so that lowering makes
// loops of them:
//
//   let %f = fn (%x: int32, %n: int32) -> int32 {
//     if (%x > 1000) { %n } else {
//       let %y = %x * 2;
//       if (%n > 5) { 0 - %y } else { %f(%y, %n + 2) }
//     }
//   };
//
//   let %f = fn (%x: int32, %n: int32) -> int32 {
//     let %state = if (%x > 1000) { (1, 0) } else {      // the number of the leaf, and %y if the leaf has one
//       let %y = %x * 2;
//       if (%n > 5) { (2, %y) } else { (0, %y) }
//     };
//     let %leaf = %state.0;
//     let %y = %state.1;
//     if (%leaf < 1) { %f(%y, %n + 2) } else { if (%leaf < 2) { %n } else { 0 - %y } }
//   };
//
// The nested `if`s in which the body ends are a tree. Its leaves are the largest blocks that end in calls of the
// function only, or in none. The operations of the inner blocks stay, those of a leaf move to where its number selects
// it. A leaf gets the variables of inner blocks that it uses in a tuple, in which the other leaves have zeros. If some
// of these cannot be in a tuple, such as a function, the leaf's operations stay, and the tuple has its result, or the
// arguments of its call. Several recursive calls become one call with the arguments that are selected:
//
//   if (%c) { %f(%x, 1) } else { %f(%y, %z) }
//
//   let %next = if (%c) { (%x, 1) } else { (%y, %z) };
//   %f(%next.0, %next.1)
//
// Contract: results and effects stay, and so does the order of effects. A function with one call and one exit, with
// other uses of itself, without an exit, or with a leaf whose values have sizes that the function finds, stays as it
// is. Afterwards, relay::tail_recursion() recognizes every other function that calls itself.
#include <algorithm>
#include <set>

#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "relay/passes/retype.h"
#include "relay/tail_recursion.h"
#include "relay/types_in.h"

namespace dlcc::relay {

namespace {

using SizeNames = std::set<std::string>;

// What the ends of a block are: calls of the function, other values, or both.
enum class Ends : uint8_t { calls, values, both };

// The operation whose value is the block's; null if the block does not end in one.
Operation* final_operation(Block& block) {
  const Var* result = std::get_if<Var>(&block.result);
  const bool is_last = result && !block.bindings.empty() && block.bindings.back().var->id == (*result)->id;
  return is_last ? &block.bindings.back().op : nullptr;
}

void add_sizes(const Binding& b, SizeNames& sizes) {
  add_symbols(b.var->type, sizes);
  if (const auto* defined = std::get_if<DefineSizes>(&b.op))
    for (const Symbol& s : defined->symbols) sizes.insert(s.name);
}

template <class Op>
Op* last(Block& block) {
  Operation* op = final_operation(block);
  return op ? std::get_if<Op>(op) : nullptr;
}

// Rewrites one function.
class TailCallMerger {
 public:
  // `self` is bound to the function, `sizes` are the symbols that are visible around it.
  TailCallMerger(Module& module, Var self, SizeNames sizes)
      : module_(module), self_(std::move(self)), sizes_(std::move(sizes)) {}

  // The function, which calls itself, as a loop; empty if it cannot become one.
  std::optional<Function> run(Function f) {
    If* branch = last<If>(f.body);
    if (!branch || note_ends(f.body) != Ends::both || tail_calls_ != Uses(f.body)[self_]) return std::nullopt;
    std::vector<Type> params;
    for (const Var& p : f.params) params.push_back(p->type);
    arguments_ = tuple_type(std::move(params));
    location_ = f.body.bindings.back().location;
    const Ends then_ends = ends_.at(&*branch->then_block), else_ends = ends_.at(&*branch->else_block);
    if (then_ends != Ends::both && else_ends != Ends::both)
      merge_calls(then_ends == Ends::calls ? *branch->then_block : *branch->else_block);
    else if (!select_leaf(f))
      return std::nullopt;
    return f;
  }

 private:
  struct Path {  // what the operations of inner blocks define on the way to a block
    std::vector<Var> variables;
    SizeNames sizes;

    void add(const Binding& b) {
      variables.push_back(b.var);
      add_sizes(b, sizes);
    }
  };
  struct Leaf {
    Block* block;           // in the tree
    Block rest;             // what moves to where the leaf is selected
    std::set<int> visible;  // the variables of inner blocks
  };

  Ends note_ends(Block& block) {
    Ends ends = Ends::values;
    if (If* branch = last<If>(block)) {
      const Ends first = note_ends(*branch->then_block), second = note_ends(*branch->else_block);
      ends = first == second ? first : Ends::both;
    } else if (is_recursive_call(block)) {
      ends = Ends::calls;
      ++tail_calls_;
    }
    ends_.emplace(&block, ends);
    return ends;
  }

  bool is_recursive_call(Block& block) const {
    const Call* call = last<Call>(block);
    const Var* callee = call ? std::get_if<Var>(&call->callee) : nullptr;
    return callee && (*callee)->id == self_->id;
  }

  // ---- several calls become one

  // Makes a block all of whose ends are calls end in one call.
  void merge_calls(Block& block) {
    if (is_recursive_call(block)) return;
    const Var result = block.bindings.back().var;
    replace_calls_by_arguments(block);
    const Var next = std::get<Var>(block.result);
    next->name = "next";
    Call call{self_, {}, {}};
    for (size_t k = 0; k < fields_of(arguments_).size(); ++k)
      call.args.emplace_back(bind(block, "", fields_of(arguments_)[k], Project{next, static_cast<int>(k)}));
    block.bindings.push_back({result, std::move(call), location_});
    block.result = result;
  }

  void replace_calls_by_arguments(Block& block) {
    Binding& end = block.bindings.back();
    end.var = module_.fresh("", arguments_);
    block.result = end.var;
    if (If* branch = std::get_if<If>(&end.op)) {
      replace_calls_by_arguments(*branch->then_block);
      replace_calls_by_arguments(*branch->else_block);
    } else {
      end.op = MakeTuple{std::get<Call>(end.op).args};
    }
  }

  // ---- the tree of a function with several exits

  // False if a leaf cannot move.
  bool select_leaf(Function& f) {
    for (const Var& p : f.params) add_symbols(p->type, sizes_);
    for (size_t k = 0; k + 1 < f.body.bindings.size(); ++k) add_sizes(f.body.bindings[k], sizes_);
    If& branch = *last<If>(f.body);
    if (!add_leaves(*branch.then_block, {}) || !add_leaves(*branch.else_block, {})) return false;
    const auto exits =
        std::ranges::stable_partition(leaves_, [&](const Leaf& leaf) { return ends_.at(leaf.block) == Ends::calls; });
    const size_t calls = leaves_.size() - exits.size();
    const Var result = f.body.bindings.back().var;
    const Var leaf = read_state(f.body);
    Block repeat = selected(leaf, 0, calls);
    merge_calls(repeat);
    const Var goes_on = bind(f.body, "", tensor_type(Shape(), dtype::boolean), is_less(leaf, calls));
    f.body.bindings.push_back(
        {result, If{goes_on, std::move(repeat), selected(leaf, calls, leaves_.size())}, location_});
    f.body.result = result;
    return true;
  }

  bool add_leaves(Block& block, Path path) {
    if (ends_.at(&block) != Ends::both) return add_leaf(block, std::move(path));
    for (size_t k = 0; k + 1 < block.bindings.size(); ++k) path.add(block.bindings[k]);
    If& branch = *last<If>(block);
    return add_leaves(*branch.then_block, path) && add_leaves(*branch.else_block, path);
  }

  // The operations of the leaf move. If they need a value that cannot be in a tuple, all stay but the call.
  bool add_leaf(Block& block, Path path) {
    const bool is_call = ends_.at(&block) == Ends::calls;
    if (is_call) merge_calls(block);
    size_t kept = 0;
    if (!can_move(block, path)) {
      kept = block.bindings.size() - (is_call ? 1 : 0);
      for (size_t k = 0; k < kept; ++k) path.add(block.bindings[k]);
    }
    const auto begin = block.bindings.begin() + static_cast<std::ptrdiff_t>(kept);
    Block rest{{std::move_iterator(begin), std::move_iterator(block.bindings.end())}, block.result};
    block.bindings.erase(begin, block.bindings.end());
    if (!can_move(rest, path)) return false;
    Leaf leaf{&block, std::move(rest), {}};
    const Uses uses(leaf.rest);
    for (const Var& v : path.variables) {
      leaf.visible.insert(v->id);
      if (uses[v] > 0 && passed_ids_.insert(v->id).second) passed_.push_back(v);
    }
    leaves_.push_back(std::move(leaf));
    return true;
  }

  // Whether the values of the path that the block uses can be in a tuple, and the block names no size of the path.
  bool can_move(Block& block, const Path& path) const {
    const Uses uses(block);
    if (std::ranges::any_of(path.variables, [&](const Var& v) { return uses[v] > 0 && !has_zeros(v->type); }))
      return false;
    bool names_size = false;
    auto visit = [&](const Symbol& s) { names_size |= path.sizes.contains(s.name) && !sizes_.contains(s.name); };
    for_each_type(block, [&](Type& type) {
      if (type) for_each_symbol(type, visit);
    });
    for_each_dim(block, [&](const Dim& d) { std::ranges::for_each(d.symbols(), visit); });
    return !names_size;
  }

  // Whether the type consists of tensors of sizes that are visible in the whole function, and negative at no call.
  bool has_zeros(const Type& type) const {
    bool found = true;
    for_each_field(type, [&](const Type& field) {
      const TensorType* tensor = as<TensorType>(field);
      found = found && tensor && tensor->lanes == 1 &&
              std::ranges::all_of(tensor->shape, [](const Dim& d) { return provably_le(0, d); });
    });
    for_each_symbol(type, [&](const Symbol& s) { found = found && sizes_.contains(s.name); });
    return found;
  }

  // Makes the tree give the state, the tuple of the leaf's number and the values that leaves use, and reads its fields.
  // Returns the number.
  Var read_state(Block& body) {
    const Type number = tensor_type(Shape(), dtype::i32);
    std::vector<Type> fields{number};
    for (const Var& v : passed_) fields.push_back(v->type);
    state_ = tuple_type(std::move(fields));
    for (size_t k = 0; k < leaves_.size(); ++k) give_state(leaves_[k], k);
    retype(body);
    const Var state = body.bindings.back().var;
    state->name = "state";
    const Var leaf = bind(body, "leaf", number, Project{state, 0});
    Replacements read;
    for (size_t k = 0; k < passed_.size(); ++k)
      read.add(passed_[k], bind(body, passed_[k]->name, passed_[k]->type, Project{state, static_cast<int>(k) + 1}));
    for (Leaf& l : leaves_) read.apply(l.rest);
    return leaf;
  }

  void give_state(Leaf& leaf, size_t number) {
    MakeTuple state{{integer(number)}};
    for (const Var& v : passed_)
      state.fields.push_back(leaf.visible.contains(v->id) ? Atom(v) : zeros(*leaf.block, v->type));
    leaf.block->result = bind(*leaf.block, "", state_, std::move(state));
  }

  // Gives the `if`s of the tree the type of the state.
  void retype(Block& block) {
    const auto known = ends_.find(&block);
    if (known->second != Ends::both) return;
    Binding& end = block.bindings.back();
    end.var = module_.fresh("", state_);
    block.result = end.var;
    for_each_block(end.op, [&](Block& inner) { retype(inner); });
  }

  // The operations of the leaf that the number selects, one of those in [first, last).
  Block selected(const Var& leaf, size_t first, size_t last) {
    if (last - first == 1) return std::move(leaves_[first].rest);
    const size_t middle = first + (last - first) / 2;
    Block block;
    const Var is_lower = bind(block, "", tensor_type(Shape(), dtype::boolean), is_less(leaf, middle));
    block.result = bind(block, "", nullptr, If{is_lower, selected(leaf, first, middle), selected(leaf, middle, last)});
    return block;
  }

  // ---- operations

  Var bind(Block& block, std::string name, Type type, Operation op) {
    Var var = module_.fresh(std::move(name), std::move(type));
    block.bindings.push_back({var, std::move(op), location_});
    return var;
  }

  static Constant integer(size_t number) {
    return Constant::of<int32_t>(dtype::i32, {}, {static_cast<int32_t>(number)});
  }

  static Call is_less(const Var& leaf, size_t number) { return {OperatorRef{op("less")}, {leaf, integer(number)}, {}}; }

  Atom zeros(Block& block, const Type& type) {
    if (const TupleType* tuple = as<TupleType>(type)) {
      MakeTuple value;
      for (const Type& field : tuple->fields) value.fields.push_back(zeros(block, field));
      return bind(block, "", type, std::move(value));
    }
    const TensorType& tensor = *as<TensorType>(type);
    const Constant zero(tensor.dtype, {}, std::vector<std::byte>(static_cast<size_t>(storage_bytes(tensor.dtype, 1))));
    if (tensor.shape.empty()) return zero;
    return bind(block, "", type, Call{OperatorRef{op("full")}, {zero}, {{"shape", sizes_attribute(tensor.shape)}}});
  }

  static const std::vector<Type>& fields_of(const Type& tuple) { return as<TupleType>(tuple)->fields; }

  Module& module_;
  Var self_;
  SizeNames sizes_;  // the symbols that are visible in the whole function
  Type arguments_;   // the tuple of the parameters' types
  SourceLocation location_;
  std::map<const Block*, Ends> ends_;
  int tail_calls_ = 0;
  std::vector<Leaf> leaves_;  // those that end in calls come first
  std::vector<Var> passed_;   // the variables of inner blocks that leaves use
  std::set<int> passed_ids_;
  Type state_;
};

bool calls_itself_but_is_no_loop(const Function& f, const Var& self) {
  return Uses(f.body)[self] > 0 && !tail_recursion(f, self->id);
}

// Rewrites the functions in the block, inner ones first.
bool merge_in(Module& module, Block& block, SizeNames sizes) {
  bool has_changed = false;
  for (Binding& b : block.bindings) {
    auto* made = std::get_if<MakeFunction>(&b.op);
    SizeNames inner = sizes;
    if (made)
      for (const Var& p : made->function->params) add_symbols(p->type, inner);
    for_each_block(b.op, [&](Block& nested) { has_changed |= merge_in(module, nested, inner); });
    if (made && calls_itself_but_is_no_loop(*made->function, b.var))
      if (auto merged = TailCallMerger(module, b.var, sizes).run(*made->function)) {
        made->function = *std::move(merged);
        has_changed = true;
      }
    add_sizes(b, sizes);
  }
  return has_changed;
}

}  // namespace

Module merge_tail_calls(Module module, PassContext& context) {
  bool has_changed = false;
  for (auto& [name, f] : module.functions) {
    SizeNames sizes;
    for (const Var& p : f.params) add_symbols(p->type, sizes);
    has_changed |= merge_in(module, f.body, std::move(sizes));
  }
  if (has_changed) infer_again(module, context);
  return module;
}

}  // namespace dlcc::relay
