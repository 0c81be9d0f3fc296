// Fusion: operators become tensor functions, and groups of operators one tensor function. A group grows from a node to
// its immediate post-dominator when all nodes between them may be inlined (Roesch et al., "Relay: A High-Level Compiler
// for Deep Learning", 2019, section 4.1). Which nodes may be inlined follows from the structure of their definitions
// (tensor/analysis.h), not from operators' names. The time is linear in the number of operators, apart from logarithms:
// groups have at most largest_group nodes. An operator that finds a size of its result when it runs stays a call: a
// tensor function has the sizes that its caller knows.
#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "relay/operator.h"
#include "relay/passes/found_sizes.h"
#include "relay/passes/passes.h"
#include "relay/passes/post_dominators.h"
#include "relay/passes/result_definitions.h"
#include "relay/passes/unread_operands.h"
#include "tensor/analysis.h"
#include "tensor/data_movement.h"
#include "tensor/evaluate.h"
#include "tensor/passes/compose.h"
#include "tensor/schedules/transpose.h"
#include "tensor/visit.h"

namespace dlcc::relay {
namespace {

using tensor::OpPattern;
using tensor::TensorFunction;

constexpr size_t largest_group = 48;  // nodes; bounds the size of expressions

// An operator applied once: a binding of the block that can be part of a group.
struct Node {
  size_t binding;
  TensorFunction function;
  OpPattern pattern;
  bool is_view;
  bool is_source;  // a cheap function of indices and sizes alone, such as iota: its readers compute it themselves
  std::vector<Atom> args;
  std::vector<int> inputs;   // nodes that compute args; -1 for anything else
  std::vector<int> readers;  // nodes that use the result
  bool escapes = false;      // used by something that is not a node
  int group;
};

// Nodes that become one tensor function. All nodes but the last are read inside of the group only. So there is no path
// from the group through an outside node back into it.
struct Group {
  std::vector<int> members;  // in order
  OpPattern pattern;         // the strongest
};

class BlockFuser {
 public:
  // `unsized`: variables_with_found_sizes() of the function.
  BlockFuser(Module& module, TensorFunctionNames& names, Block& block, const tensor::Machine& machine,
             const std::set<int>& unsized)
      : module_(module),
        names_(names),
        block_(block),
        machine_(machine),
        unsized_(unsized),
        keeps_bytes_(machine.memory_is_scarce) {}

  void run() {
    collect_nodes();
    find_uses();
    post_dominators_ = PostDominators(nodes_.size());
    for (size_t i = nodes_.size(); i-- > 0;)
      post_dominators_.add(static_cast<int>(i), nodes_[i].readers, nodes_[i].escapes);
    for (size_t i = 0; i < nodes_.size(); ++i) grow_from(static_cast<int>(i));
    keeps_bytes_ = false;
    // Of several contractions whose results meet, the last one takes the epilogue; the others stay groups of their own.
    for (int i : std::views::reverse(widened_))
      if (ends_with_bytes(i)) grow_from(i);
    rebuild();
  }

 private:
  // ---- nodes

  static Operands operand_types(const Module& module, const std::vector<Atom>& args) {
    Operands types;
    for (const Atom& a : args) types.push_back(*as<TensorType>(type_of(module, a)));
    return types;
  }

  // The tensors that a call reads: its arguments, or the fields of a variadic operator's tuple when they are known.
  std::optional<std::vector<Atom>> tensor_args(const Call& call, const Operator& op) const {
    if (!op.variadic) return call.args;
    const Var* tuple = std::get_if<Var>(&call.args[0]);
    auto it = tuple ? tuples_.find((*tuple)->id) : tuples_.end();
    return it == tuples_.end() ? std::nullopt : std::optional(it->second);
  }

  void add_node(size_t binding, TensorFunction function, std::vector<Atom> args) {
    embed_scalars(function, args);
    tensor::inline_stages(function);
    inline_sources(function, args);
    OpPattern pattern = tensor::pattern_of(function);
    if (pattern == OpPattern::contraction) materialize_operands(args);
    bool view = tensor::is_view(function);
    bool is_source = tensor::is_cheap_source(function);
    if (is_source) {
      drop_unread_args(function, args);
      is_source = std::ranges::none_of(args, [&](const Atom& a) { return node_of(a) >= 0; });
    }
    int n = static_cast<int>(nodes_.size());
    node_of_[block_.bindings[binding].var->id] = n;
    groups_.push_back({{n}, pattern});
    nodes_.push_back({.binding = binding,
                      .function = std::move(function),
                      .pattern = pattern,
                      .is_view = view,
                      .is_source = is_source,
                      .args = std::move(args),
                      .inputs = {},
                      .readers = {},
                      .group = n});
  }

  // If all operands of the function are sources, they are inlined: the function may be a source, too.
  void inline_sources(TensorFunction& f, std::vector<Atom>& args) const {
    auto is_source = [&](const Atom& a) {
      return node_of(a) >= 0 && nodes_[static_cast<size_t>(node_of(a))].is_source;
    };
    if (args.empty() || !std::ranges::all_of(args, is_source) || tensor::pattern_of(f) > OpPattern::injective) return;
    std::vector<tensor::Part> parts;
    std::vector<tensor::Buffer> params;
    std::vector<Atom> read;
    tensor::Part last{std::move(f), {}};
    for (const Atom& a : args) {
      const Node& source = nodes_[static_cast<size_t>(node_of(a))];
      tensor::Part part{tensor::copy_source(source.function), {}};
      for (const tensor::Buffer& p : part.function.params) {
        part.operands.push_back({-1, static_cast<int>(params.size())});
        params.push_back(p);
      }
      read.insert(read.end(), source.args.begin(), source.args.end());
      last.operands.push_back({static_cast<int>(parts.size()), 0});
      parts.push_back(std::move(part));
    }
    const tensor::Source result{static_cast<int>(parts.size()), 0};
    const std::string name = last.function.name;
    parts.push_back(std::move(last));
    f = tensor::compose(name, std::move(params), std::move(parts), {result});
    tensor::inline_stages(f);
    args = std::move(read);
  }

  // Weights that are computed without operands (filled tensors too large for fold_constants) become constants, so that
  // they are packed at compile time and not at every call.
  void materialize_operands(std::vector<Atom>& args) const {
    for (Atom& a : args) {
      int n = node_of(a);
      if (n < 0 || !nodes_[static_cast<size_t>(n)].args.empty()) continue;
      const TensorFunction& f = nodes_[static_cast<size_t>(n)].function;
      if (!tensor::symbols_of(f).empty()) continue;
      tensor::EvaluationResult r = tensor::evaluate(f, {});
      if (r.status == tensor::Status::ok) a = r.results[0];
    }
  }

  void collect_nodes() {
    std::map<int, const Binding*> tuple_calls;  // operators with several results, by variable
    ResultDefinitions definitions;              // of these results
    for (size_t b = 0; b < block_.bindings.size(); ++b) {
      const Binding& binding = block_.bindings[b];
      if (const MakeTuple* t = std::get_if<MakeTuple>(&binding.op)) tuples_[binding.var->id] = t->fields;
      if (const Call* call = std::get_if<Call>(&binding.op)) {
        const OperatorRef* ref = std::get_if<OperatorRef>(&call->callee);
        const bool is_sized = ref && ref->op->has_definition() && !unsized_.contains(binding.var->id);
        auto args = is_sized ? tensor_args(*call, *ref->op) : std::nullopt;
        if (!args) continue;
        // For the inferred result type, which has the sizes that depend on values of operands.
        TensorFunction f = ref->op->compute_as(call->attrs, operand_types(module_, *args), binding.var->type);
        if (f.results.size() > 1 && tensor::has_body(f)) {
          // A body computes all its results at once: they are not nodes of their own.
          block_.bindings[b].op = names_.add(ref->op->short_name(), std::move(f), *args);
          continue;
        }
        if (as<TupleType>(binding.var->type)) tuple_calls[binding.var->id] = &binding;
        add_node(b, std::move(f), *args);
      }
      // One of several results becomes a node with the stages that compute it. The call itself is dead when all results
      // are nodes.
      const Project* p = std::get_if<Project>(&binding.op);
      const Var* tuple = p ? std::get_if<Var>(&p->tuple) : nullptr;
      if (auto it = tuple ? tuple_calls.find((*tuple)->id) : tuple_calls.end(); it != tuple_calls.end()) {
        const Call& call = std::get<Call>(it->second->op);
        std::vector<Atom> args = *tensor_args(call, *std::get<OperatorRef>(call.callee).op);
        const Operands types = operand_types(module_, args);
        add_node(b, definitions.definition(*it->second, types, static_cast<size_t>(p->index)), std::move(args));
      }
    }
  }

  // ---- edges

  int node_of(const Atom& atom) const {
    const Var* var = std::get_if<Var>(&atom);
    auto it = var ? node_of_.find((*var)->id) : node_of_.end();
    return it == node_of_.end() ? -1 : it->second;
  }

  void find_uses() {
    std::set<size_t> node_bindings;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      node_bindings.insert(nodes_[i].binding);
      for (const Atom& a : nodes_[i].args) {
        int input = node_of(a);
        nodes_[i].inputs.push_back(input);
        if (input >= 0) nodes_[static_cast<size_t>(input)].readers.push_back(static_cast<int>(i));
      }
    }
    for (size_t b = 0; b < block_.bindings.size(); ++b) {
      const Binding& binding = block_.bindings[b];
      if (!node_bindings.contains(b) && !std::holds_alternative<MakeTuple>(binding.op))
        for_each_atom(binding.op, [&](const Atom& a) { use(a); });
      for_each_block(binding.op, [&](const Block& inner) { use_block(inner); });
    }
    use(block_.result);
  }

  // A use by something that is no node; the use of a tuple is a use of its fields.
  void use(const Atom& atom) {
    if (int n = node_of(atom); n >= 0) nodes_[static_cast<size_t>(n)].escapes = true;
    const Var* var = std::get_if<Var>(&atom);
    auto it = var ? tuples_.find((*var)->id) : tuples_.end();
    if (it == tuples_.end() || !used_tuples_.insert((*var)->id).second) return;
    for (const Atom& field : it->second) use(field);
  }
  void use_block(const Block& block) {
    for (const Binding& b : block.bindings) {
      for_each_atom(b.op, [&](const Atom& a) { use(a); });
      for_each_block(b.op, [&](const Block& inner) { use_block(inner); });
    }
    use(block.result);
  }

  // ---- groups

  const Group& group_of(int n) const { return groups_[static_cast<size_t>(nodes_[static_cast<size_t>(n)].group)]; }

  const Shape& shape_of(int n) const { return nodes_[static_cast<size_t>(n)].function.results[0]->shape; }

  bool same_shape(int a, int b) const { return shape_of(a) == shape_of(b); }

  // All nodes on paths from `from` (excluded) to `to` (included); empty when they are too many for a group.
  std::set<int> between(int from, int to) const {
    std::set<int> found;
    std::vector<int> work = {from};
    while (!work.empty()) {
      int n = work.back();
      work.pop_back();
      if (n == to) continue;
      for (int r : nodes_[static_cast<size_t>(n)].readers) {
        if (found.insert(r).second) work.push_back(r);
        if (found.size() >= largest_group) return {};
      }
    }
    return found;
  }

  void grow_from(int i) {
    Node& n = nodes_[static_cast<size_t>(i)];
    int to = post_dominators_.of(i);
    if (to < 0 || n.is_view) return;
    OpPattern mine = group_of(i).pattern;
    if (mine == OpPattern::opaque) return;
    std::set<int> path = between(i, to);
    if (path.empty()) return;
    if (path.size() == 1 && is_joined_slice(i, to))
      return merge({n.group, nodes_[static_cast<size_t>(to)].group}, n.group);
    if (path.size() == 1 && is_padded_transposition(i, to)) return;
    bool anchored = mine >= OpPattern::reduction;
    if (keeps_bytes_ && anchored && widens(i, to)) {
      widened_.push_back(i);
      return;
    }
    for (int p : path) {
      const Node& other = nodes_[static_cast<size_t>(p)];
      const bool is_opaque = other.pattern == OpPattern::opaque || (!anchored && other.pattern == OpPattern::row_chain);
      if (other.is_view || is_opaque) return;
      // Rows are short loops, in which polynomials and conversions to bytes take longer than in a loop over all rows.
      const bool joins_rows = mine == OpPattern::row_chain;
      if (joins_rows && (bits_of(p) < bits_of(i) || tensor::has_long_code(other.function.stages[0].values[0]))) return;
      if (anchored && (other.pattern != OpPattern::elementwise || !same_shape(i, p))) return;
      if (!anchored && p != to && other.pattern > OpPattern::injective) return;
    }
    OpPattern target = nodes_[static_cast<size_t>(to)].pattern, target_group = group_of(to).pattern;
    if (target == OpPattern::contraction) return;
    if (anchored && target_group >= OpPattern::reduction && nodes_[static_cast<size_t>(to)].group != n.group) return;
    // A node that joins the epilogue of a reduction or contraction is read at the epilogue's own index.
    bool joins_epilogue = !anchored && target_group >= OpPattern::reduction && target < OpPattern::reduction;
    if (joins_epilogue &&
        (mine != OpPattern::elementwise || !std::ranges::all_of(path, [&](int p) { return same_shape(i, p); })))
      return;
    std::set<int> groups = {n.group};
    for (int p : path) groups.insert(nodes_[static_cast<size_t>(p)].group);
    merge(groups, n.group);
  }

  // Whether a concatenation should read a slice's elements from the slice's operand. A slice that is a view costs
  // nothing. If the concatenation's operands are contiguous in its result, they are computed there instead
  // (lower/in_place_concat.h).
  bool is_joined_slice(int slice, int to) const {
    const TensorFunction& f = nodes_[static_cast<size_t>(slice)].function;
    return tensor::joins_parts(nodes_[static_cast<size_t>(to)].function) && tensor::is_slice(f) &&
           !tensor::contiguous_slice(f);
  }

  // Tiles that are transposed, and a padded copy of them, take less time than a padding that gathers its elements.
  bool is_padded_transposition(int i, int to) const {
    const Node &transposition = nodes_[static_cast<size_t>(i)], &padding = nodes_[static_cast<size_t>(to)];
    const bool move_elements = transposition.pattern == OpPattern::injective && padding.pattern == OpPattern::injective;
    if (!move_elements || group_of(i).members.size() > 1) return false;
    const std::vector<tensor::Load> loads = tensor::loads_of(padding.function.stages[0].values[0]);
    return loads.size() == 1 && loads[0].otherwise &&
           tensor::is_transposed_in_tiles(transposition.function.stages[0], machine_);
  }

  // Whether the node computes the sources that it reads itself, instead of reading them from memory.
  bool absorbs_sources(int n) const {
    const Node& node = nodes_[static_cast<size_t>(n)];
    return !node.is_view && node.pattern != OpPattern::opaque && group_of(n).pattern < OpPattern::contraction;
  }

  int bits_of(int n) const { return bits(nodes_[static_cast<size_t>(n)].function.results[0]->type); }

  // Where memory is scarce, an image of bytes is not stored as one of floats: what widens it becomes part of its
  // reader. The block's own results are not in the arena.
  bool widens(int from, int to) const {
    return bits_of(from) == 8 && bits_of(to) > 8 && !nodes_[static_cast<size_t>(to)].escapes;
  }

  // Whether the reader of node i, which widens it, belongs to a group of elementwise nodes whose result is bytes again.
  // This group may become the epilogue of i.
  bool ends_with_bytes(int i) const {
    const Group& reader = group_of(post_dominators_.of(i));
    return reader.pattern == OpPattern::elementwise && bits_of(reader.members.back()) == 8 &&
           std::ranges::all_of(reader.members, [&](int m) { return same_shape(i, m); });
  }

  // Joins the groups into one, `into`, unless that is too large or has two nodes that reduce.
  void merge(const std::set<int>& groups, int into) {
    Group merged{{}, OpPattern::elementwise};
    int anchors = 0;
    for (int g : groups) {
      const Group& part = groups_[static_cast<size_t>(g)];
      anchors += part.pattern >= OpPattern::reduction;
      merged.pattern = std::max(merged.pattern, part.pattern);
      merged.members.insert(merged.members.end(), part.members.begin(), part.members.end());
    }
    if (anchors > 1 || merged.members.size() > largest_group) return;
    std::ranges::sort(merged.members);
    for (int m : merged.members) nodes_[static_cast<size_t>(m)].group = into;
    groups_[static_cast<size_t>(into)] = std::move(merged);
  }

  // ---- result

  void rebuild() {
    std::map<size_t, int> last_of_group;  // binding of a group's last node -> group
    std::set<size_t> covered;
    for (const Node& n : nodes_) {
      covered.insert(n.binding);
      const bool is_absorbed =
          n.is_source && !n.escapes && std::ranges::all_of(n.readers, [&](int r) { return absorbs_sources(r); });
      bool is_last = n.escapes || std::ranges::none_of(n.readers, [&](int r) {
                       return nodes_[static_cast<size_t>(r)].group == n.group;
                     });
      if (is_absorbed) continue;
      if (is_last) last_of_group[n.binding] = n.group;
    }
    std::vector<Binding> bindings;
    for (size_t b = 0; b < block_.bindings.size(); ++b) {
      if (auto it = last_of_group.find(b); it != last_of_group.end()) {
        Binding fused = std::move(block_.bindings[b]);
        fused.op = emit_group(it->second, fused);
        bind_field(fused, bindings);
        bindings.push_back(std::move(fused));
      } else if (!covered.contains(b) && !is_expanded_tuple(block_.bindings[b])) {
        bindings.push_back(std::move(block_.bindings[b]));
      }
    }
    block_.bindings = std::move(bindings);
  }

  // An operator whose result is a tuple of one tensor, such as a split into one part: the tensor function's result is
  // the tensor.
  void bind_field(Binding& fused, std::vector<Binding>& bindings) {
    const TupleType* tuple = as<TupleType>(fused.var->type);
    if (!tuple || tuple->fields.size() != 1) return;
    Var field = module_.fresh(fused.var->name, tuple->fields[0]);
    bindings.push_back({field, std::move(fused.op), fused.location});
    fused.op = MakeTuple{{field}};
  }

  // A tuple that only variadic operators used: their nodes have its fields as arguments.
  bool is_expanded_tuple(const Binding& b) const {
    return std::holds_alternative<MakeTuple>(b.op) && !used_tuples_.contains(b.var->id);
  }

  // The members of a group and the sources that they absorb, in order.
  std::set<int> with_sources(const std::vector<int>& members) const {
    std::set<int> all(members.begin(), members.end());
    for (int m : members)
      for (int input : nodes_[static_cast<size_t>(m)].inputs)
        if (input >= 0 && nodes_[static_cast<size_t>(input)].is_source && absorbs_sources(m)) all.insert(input);
    return all;
  }

  CallTensor emit_group(int group, Binding& binding) {
    std::map<int, int> part_of;
    std::vector<tensor::Part> parts;
    std::vector<tensor::Buffer> params;
    std::vector<Atom> args;
    std::map<int, int> param_of_var;
    std::string name = "fused";
    OpPattern strongest = OpPattern::elementwise;
    for (int i : with_sources(groups_[static_cast<size_t>(group)].members)) {
      Node& n = nodes_[static_cast<size_t>(i)];
      tensor::Part part{n.is_source ? tensor::copy_source(n.function) : std::move(n.function), {}};
      for (size_t k = 0; k < n.args.size(); ++k) {
        int input = n.inputs[k];
        if (input >= 0 && part_of.contains(input)) {
          part.operands.push_back({part_of[input], 0});
          continue;
        }
        const Var* var = std::get_if<Var>(&n.args[k]);
        if (var && param_of_var.contains((*var)->id)) {
          part.operands.push_back({-1, param_of_var[(*var)->id]});
          continue;
        }
        const tensor::Buffer& p = part.function.params[k];
        if (var) param_of_var[(*var)->id] = static_cast<int>(params.size());
        part.operands.push_back({-1, static_cast<int>(params.size())});
        params.push_back(tensor::make_buffer(fmt::format("p{}", params.size()), p->type, p->shape));
        args.push_back(n.args[k]);
      }
      if (n.pattern >= strongest) {
        strongest = n.pattern;
        binding.location = block_.bindings.empty() ? binding.location : location_of(n, binding);
      }
      std::string_view op = part.function.name;
      name += "_" + std::string(op.substr(op.rfind('.') + 1));
      part_of[i] = static_cast<int>(parts.size());
      parts.push_back(std::move(part));
    }
    if (name.size() > 60) name.resize(60);
    std::vector<tensor::Source> results;
    int last = static_cast<int>(parts.size()) - 1;
    for (size_t r = 0; r < parts.back().function.results.size(); ++r) results.push_back({last, static_cast<int>(r)});
    TensorFunction f = tensor::compose(name, std::move(params), std::move(parts), results);
    tensor::inline_stages(f);
    return names_.add(name, std::move(f), std::move(args));
  }

  // A group has the source location of its last member with the strongest pattern.
  SourceLocation location_of(const Node& n, const Binding& binding) const {
    const Binding& own = block_.bindings[n.binding];
    return own.location.node.empty() && own.location.line == 0 ? binding.location : own.location;
  }

  Module& module_;
  TensorFunctionNames& names_;
  Block& block_;
  const tensor::Machine& machine_;
  const std::set<int>& unsized_;
  std::vector<Node> nodes_;
  PostDominators post_dominators_;
  std::vector<Group> groups_;                // by number; a group that was merged into another one is stale
  std::map<int, int> node_of_;               // variable -> node
  std::map<int, std::vector<Atom>> tuples_;  // variable -> fields
  std::set<int> used_tuples_;
  bool keeps_bytes_;          // while images of bytes are kept as such
  std::vector<int> widened_;  // the last nodes of reductions and contractions that did not grow for this reason
};

void fuse_block(Module& module, TensorFunctionNames& names, Block& block, const tensor::Machine& machine,
                const std::set<int>& unsized) {
  for (Binding& b : block.bindings)
    for_each_block(b.op, [&](Block& inner) { fuse_block(module, names, inner, machine, unsized); });
  BlockFuser(module, names, block, machine, unsized).run();
}

}  // namespace

Module fuse(Module module, PassContext& context) {
  TensorFunctionNames names(module);
  for (auto& [name, function] : module.functions)
    fuse_block(module, names, function.body, context.machine, variables_with_found_sizes(function));
  return module;
}

}  // namespace dlcc::relay
