// Assigns layouts: images that a contraction writes are stored in blocks of channels, so that a vector holds adjacent
// channels of one pixel; the functions that read such images keep the blocks. An image that no kernel reads, such as
// the result of a network, stays dense where tiles of pixels are faster (tensor/schedules/dense_result.h). On machines
// without vectors, dot products of bytes take four adjacent channels: images of bytes are stored with the channels
// last. Every tensor function can read any layout, because operands' indices are substituted
// (tensor/passes/apply_layouts.h). Copies to dense row-major order are inserted for results of functions, branches,
// tuples and views only.
#include <algorithm>
#include <map>
#include <set>

#include "relay/passes/passes.h"
#include "tensor/analysis.h"
#include "tensor/builder.h"
#include "tensor/byte_products.h"
#include "tensor/data_movement.h"
#include "tensor/layout.h"
#include "tensor/schedules/dense_result.h"
#include "tensor/schedules/schedule.h"
#include "tensor/slices.h"
#include "tensor/visit.h"

namespace dlcc::relay {
namespace {

using tensor::Layout;
using tensor::TensorFunction;

class LayoutAssigner {
 public:
  LayoutAssigner(Module& module, const PassContext& context)
      : module_(module), channels_(context.channel_block), options_(context.schedule), machine_(context.machine) {}

  void run(Block& block) {
    std::vector<Binding> bindings;
    dense_copies_.clear();
    find_wanted_halos(block);
    find_kernel_operands(block);
    for (Binding& b : block.bindings) {
      if (CallTensor* call = std::get_if<CallTensor>(&b.op)) {
        assign(*call, b, bindings);
      } else {
        for_each_atom(b.op, [&](Atom& a) { make_dense(a, b.location, bindings); });
        make_captures_dense(b, bindings);
        for_each_block(b.op, [&](Block& inner) { LayoutAssigner(*this).run(inner); });
      }
      bindings.push_back(std::move(b));
    }
    make_dense(block.result, {}, bindings);
    block.bindings = std::move(bindings);
  }

 private:
  std::vector<int64_t> shape_of(const Atom& a) const {
    return static_shape(as<TensorType>(type_of(module_, a))->shape);
  }

  // For each image, the union of the halos that its readers in the block need.
  void find_wanted_halos(const Block& block) {
    for (const Binding& b : block.bindings) {
      const CallTensor* call = std::get_if<CallTensor>(&b.op);
      std::vector<bool> constant = call ? which_are_constant(call->args) : std::vector<bool>();
      for (size_t k = 0; call && k < call->args.size(); ++k) {
        const Var* var = std::get_if<Var>(&call->args[k]);
        if (!var) continue;
        auto wanted = tensor::wanted_halo(module_.tensor_functions.at(call->function), k, constant, options_, machine_);
        std::vector<tensor::Halo>& all = wanted_halos_[(*var)->id];
        if (all.empty()) all = wanted;
        for (size_t d = 0; d < wanted.size(); ++d)
          all[d] = {std::max(all[d].before, wanted[d].before), std::max(all[d].after, wanted[d].after)};
      }
    }
  }

  // The variables that kernels read. All other readers need dense tensors.
  void find_kernel_operands(const Block& block) {
    for (const Binding& b : block.bindings) {
      const CallTensor* call = std::get_if<CallTensor>(&b.op);
      if (!call || tensor::is_view(module_.tensor_functions.at(call->function))) continue;
      for (const Atom& a : call->args)
        if (const Var* var = std::get_if<Var>(&a)) kernel_operands_.insert((*var)->id);
    }
  }

  Layout layout_of(const Atom& a) const {
    const Var* var = std::get_if<Var>(&a);
    auto it = var ? layouts_.find((*var)->id) : layouts_.end();
    return it == layouts_.end() ? Layout{} : it->second;
  }

  void assign(CallTensor& call, Binding& b, std::vector<Binding>& before) {
    const TensorFunction& f = module_.tensor_functions.at(call.function);
    bool view = tensor::is_view(f);
    std::vector<Layout> layouts;
    for (Atom& a : call.args) {
      if (view) make_dense(a, b.location, before);
      layouts.push_back(layout_of(a));
    }
    const bool stays_dense = !kernel_operands_.contains(b.var->id) && is_faster_dense(f, call.args, layouts);
    Layout result = view || stays_dense ? Layout{} : choose(f, call.args, layouts);
    const std::vector<tensor::Halo>& halo = wanted_halos_[b.var->id];
    if (!result.is_dense() && !machine_.memory_is_scarce) result = tensor::with_halo(result, f.results[0]->shape, halo);
    for (size_t k = 0; k < f.results.size(); ++k) layouts.push_back(result);
    if (!result.is_dense()) layouts_[b.var->id] = result;
    bool any = std::ranges::any_of(layouts, [](const Layout& l) { return !l.is_dense(); });
    call.layouts = any ? std::move(layouts) : std::vector<Layout>{};
  }

  Layout blocked(const TensorFunction& f, int axis) const {
    const Shape& shape = f.results[0]->shape;
    if (channels_ <= 1) return tensor::normalized(tensor::layout_with_last(shape, axis), shape);
    return tensor::normalized(tensor::blocked_layout(shape, axis, channels_, Layout::Tail::unspecified), shape);
  }

  // The number of elements of an image; a symbolic height or width counts as 1.
  static int64_t elements(const Shape& shape) {
    int64_t count = 1;
    for (const Dim& d : shape) count *= d.constant().value_or(1);
    return count;
  }

  // Whether a convolution of dense operands should store its result dense, if no kernel reads the result.
  bool is_faster_dense(const TensorFunction& whole, const std::vector<Atom>& args,
                       const std::vector<Layout>& layouts) const {
    const auto slices = tensor::find_slices(whole);
    return std::ranges::all_of(layouts, [](const Layout& l) { return l.is_dense(); }) && channels_ > 1 &&
           tensor::prefers_dense_result(slices ? slices->slice : whole, which_are_constant(args), options_, machine_);
  }

  // Slices along a symbolic batch have the layout of one image.
  Layout choose(const TensorFunction& whole, const std::vector<Atom>& args, const std::vector<Layout>& layouts) const {
    auto slices = tensor::find_slices(whole);
    const TensorFunction& f = slices ? slices->slice : whole;
    if (f.results.size() != 1 || f.results[0]->rank() < 3) return {};
    if (product(f.results[0]->shape) == Dim(0)) return {};  // no element, so no block
    if (channels_ <= 1 && bits(f.results[0]->type) != 8) return {};
    if (int axis = channels_of(f, which_are_constant(args)); axis >= 0) return blocked(whole, axis);
    if (tensor::pattern_of(f) >= tensor::OpPattern::row_chain && !tensor::is_concatenation(f)) return {};
    // Otherwise keep the blocks of the largest blocked operand.
    int64_t largest = 0;
    int kept = -1;
    for (size_t k = 0; k < f.params.size(); ++k) {
      if (layouts[k].is_dense()) continue;
      int axis = carried_axis(f, f.params[k], layouts[k].parts.back().axis);
      int64_t size = elements(f.params[k]->shape);
      if (axis >= 0 && size > largest) largest = size, kept = axis;
    }
    const bool is_known = kept >= 0 && f.results[0]->shape[static_cast<size_t>(kept)].is_constant();
    return is_known && begins_blocks(f, kept) ? blocked(whole, kept) : Layout{};
  }

  // Every piece of the result begins at a block boundary of the axis.
  bool begins_blocks(const TensorFunction& f, int axis) const {
    return std::ranges::all_of(f.stages, [&](const tensor::Stage& s) {
      return s.origin.empty() || floor_mod(s.origin[static_cast<size_t>(axis)], channels_) == Dim(0);
    });
  }

  // The channel axis of a contraction's result, or of the result of the window reduction that reads it; -1: none.
  int channels_of(const TensorFunction& f, const std::vector<bool>& constant) const {
    auto chain = tensor::split_at_window_reduction(f);
    if (!chain) return tensor::channel_axis(f, constant, channels_);
    int axis = tensor::channel_axis(chain->first, constant, channels_);
    return axis < 0 ? -1 : carried_axis(chain->second, chain->first.results[0], axis);
  }

  // Follows dimension d of a parameter through the stages to an axis of the result of equal extent, or -1.
  static int carried_axis(const TensorFunction& f, const tensor::Buffer& param, int d) {
    if (tensor::has_body(f)) return -1;
    std::map<tensor::Buffer, int> carried = {{param, d}};
    for (const tensor::Stage& stage : f.stages)
      for (const auto& [buffer, dim] : std::map(carried)) {
        int axis = tensor::axis_read_at(stage, buffer, dim);
        if (axis >= 0 && stage.axes[static_cast<size_t>(axis)].extent == param->shape[static_cast<size_t>(d)])
          for (const tensor::Buffer& r : stage.results) carried[r] = axis;
      }
    auto it = carried.find(f.results[0]);
    return it == carried.end() ? -1 : it->second;
  }

  // Replaces a blocked operand by a dense copy, made once.
  void make_dense(Atom& atom, const SourceLocation& location, std::vector<Binding>& before) {
    Layout layout = layout_of(atom);
    if (layout.is_dense()) return;
    const Var& var = std::get<Var>(atom);
    Var& copy = dense_copies_[var->id];
    if (!copy) {
      copy = module_.fresh(var->name + "_dense", var->type);
      CallTensor call{identity(*as<TensorType>(var->type)), {var}, {layout, {}}};
      before.push_back({copy, std::move(call), location});
    }
    atom = copy;
  }

  // Nested blocks see variables of outer blocks in dense order.
  void make_captures_dense(Binding& b, std::vector<Binding>& before) {
    auto visit = [&](auto& self, Block& block) -> void {
      for (Binding& inner : block.bindings) {
        for_each_atom(inner.op, [&](Atom& a) { make_dense(a, b.location, before); });
        for_each_block(inner.op, [&](Block& nested) { self(self, nested); });
      }
      make_dense(block.result, b.location, before);
    };
    for_each_block(b.op, [&](Block& inner) { visit(visit, inner); });
  }

  // The function that copies a tensor of this type. Its name has no text for sizes that are expressions.
  std::string identity(const TensorType& type) {
    std::string name = fmt::format("dense_{}", dlcc::name(type.dtype));
    for (const Dim& d : type.shape)
      name += "_" + (d.is_constant() || d == size_symbol(d.str()) ? d.str() : std::string("size"));
    std::string unique = name;
    for (int k = 1;; ++k) {
      auto known = module_.tensor_functions.find(unique);
      if (known == module_.tensor_functions.end()) break;
      if (known->second.results[0]->shape == type.shape) return unique;
      unique = fmt::format("{}_{}", name, k);
    }
    tensor::Definition d(unique);
    tensor::Tensor x = d.input("x", type.dtype, type.shape);
    d.result("y", type.dtype, type.shape, [&](tensor::Index i) { return tensor::load(x.buffer(), i); });
    module_.tensor_functions.emplace(unique, d.finish());
    return unique;
  }

  Module& module_;
  int64_t channels_;
  tensor::ScheduleOptions options_;
  tensor::Machine machine_;
  std::map<int, Layout> layouts_;  // of variables that are not dense
  std::map<int, Var> dense_copies_;
  std::set<int> kernel_operands_;
  std::map<int, std::vector<tensor::Halo>> wanted_halos_;  // by variable; empty if no reader needs a halo
};

}  // namespace

Module assign_layouts(Module module, PassContext& context) {
  if (context.channel_block <= 1 && !tensor::is_scalar(context.machine.byte_products)) return module;
  for (auto& [name, function] : module.functions) LayoutAssigner(module, context).run(function.body);
  return module;
}

}  // namespace dlcc::relay
