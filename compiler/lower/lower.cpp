#include "lower/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "lower/in_place_concat.h"
#include "lower/remove_unused.h"
#include "lower/walk.h"
#include "relay/operator.h"
#include "tensor/analysis.h"
#include "tensor/passes/bind_shared.h"
#include "tensor/passes/expand_math.h"
#include "tensor/passes/parallel_loops.h"
#include "tensor/schedules/schedule.h"
#include "tensor/verify.h"

namespace dlcc::lower {
namespace {

using relay::Atom;
using relay::Binding;
using relay::Block;
using tensor::Layout;

// The lowered form of a variable: a value, or a tuple of operands.
struct Operand {
  ValueId value = -1;
  std::vector<Operand> fields;
  bool is_tuple = false;
};

struct Unsupported {};  // thrown after a diagnostic; caught in lower()

class Lowerer {
 public:
  Lowerer(const relay::Module& module, const std::vector<tensor::Machine>& machines,
          const tensor::ScheduleOptions& options, Diagnostics& diagnostics, const Configure& configure)
      : module_(module), machines_(machines), options_(options), diagnostics_(diagnostics), configure_(configure) {}

  Program run() {
    program_.threads = options_.threads;
    const relay::Function& main = module_.functions.at("main");
    Environment env;
    for (const relay::Var& p : main.params) env[p->id] = new_input(p->type, p->name);
    std::vector<ValueId> results;
    flatten(lower_block(main.body, env, program_.body, main.location), results);
    for (size_t k = 0; k < results.size(); ++k) make_output(results[k], static_cast<int>(k));
    in_place_concat(program_, concat_calls_);
    remove_unused(program_);
    return std::move(program_);
  }

 private:
  using Environment = std::map<int, Operand>;

  Operand new_input(const relay::Type& type, const std::string& name) {
    if (const auto* tuple = relay::as<relay::TupleType>(type)) {
      Operand o{-1, {}, true};
      for (const relay::Type& field : tuple->fields) o.fields.push_back(new_input(field, name));
      return o;
    }
    ValueId v = new_value(name, *relay::as<relay::TensorType>(type), Storage::input);
    program_.values[static_cast<size_t>(v)].index = static_cast<int>(program_.inputs.size());
    program_.inputs.push_back(v);
    return {v, {}, false};
  }

  [[noreturn]] void unsupported(const SourceLocation& location, const std::string& what) {
    diagnostics_.error(DiagnosticId::unsupported_construct, location, what + " cannot be compiled to native code");
    throw Unsupported();
  }

  // ---- values

  ValueId add_value(Value v) {
    program_.values.push_back(std::move(v));
    return static_cast<ValueId>(program_.values.size()) - 1;
  }

  ValueId new_value(std::string name, const relay::TensorType& type, Storage storage) {
    std::vector<int64_t> shape = static_shape(type.shape);
    int64_t bytes = storage_bytes(type.dtype, product(type.shape).value());
    int64_t alignment = storage == Storage::temporary ? 64 : std::max(1, bits(type.dtype) / 8);
    return add_value({.name = std::move(name),
                      .type = type.dtype,
                      .shape = shape,
                      .bytes = bytes,
                      .alignment = alignment,
                      .storage = storage});
  }

  ValueId new_temporary(std::string name, const tensor::Buffer& stored) {
    return new_value(std::move(name), {stored->shape, stored->type}, Storage::temporary);
  }

  // Constants of equal type, shape and contents are stored once.
  ValueId constant(Constant stored) {
    for (ValueId v : constants_by_hash_[stored.hash()])
      if (program_.constants[static_cast<size_t>(program_.values[static_cast<size_t>(v)].index)].same_as(stored))
        return v;
    ValueId v = add_value({.name = fmt::format("constant{}", program_.constants.size()),
                           .type = stored.dtype(),
                           .shape = stored.shape(),
                           .bytes = static_cast<int64_t>(stored.bytes().size()),
                           .alignment = 64,
                           .storage = Storage::constant,
                           .index = static_cast<int>(program_.constants.size())});
    constants_by_hash_[stored.hash()].push_back(v);
    program_.constants.push_back(std::move(stored));
    return v;
  }

  Operand operand(const Atom& atom, const Environment& env, const SourceLocation& location) {
    if (const relay::Var* var = std::get_if<relay::Var>(&atom)) return env.at((*var)->id);
    if (const Constant* c = std::get_if<Constant>(&atom)) return {constant(*c), {}, false};
    unsupported(location, "a function as a value");
  }

  ValueId value(const Atom& atom, const Environment& env, const SourceLocation& location) {
    Operand o = operand(atom, env, location);
    DLCC_CHECK(!o.is_tuple, "a tuple where a tensor is expected");
    return o.value;
  }

  static void flatten(const Operand& o, std::vector<ValueId>& list) {
    if (!o.is_tuple) list.push_back(o.value);
    for (const Operand& f : o.fields) flatten(f, list);
  }
  static Operand rebuild(const Operand& like, const std::vector<ValueId>& list, size_t& next) {
    if (!like.is_tuple) return {list[next++], {}, false};
    Operand o{-1, {}, true};
    for (const Operand& f : like.fields) o.fields.push_back(rebuild(f, list, next));
    return o;
  }

  // ---- bindings

  Operand lower_block(const Block& block, Environment env, Region& region, const SourceLocation& location) {
    for (const Binding& b : block.bindings) env[b.var->id] = lower_binding(b, env, region);
    return operand(block.result, env, location);
  }

  Operand lower_binding(const Binding& b, const Environment& env, Region& region) {
    return std::visit(
        overloaded{
            [&](const relay::CallTensor& x) { return call_tensor(b, x, env, region); },
            [&](const relay::Call& x) { return call(b, x, env, region); },
            [&](const relay::MakeTuple& x) {
              Operand o{-1, {}, true};
              for (const Atom& a : x.fields) o.fields.push_back(operand(a, env, b.location));
              return o;
            },
            [&](const relay::Project& x) {
              return operand(x.tuple, env, b.location).fields.at(static_cast<size_t>(x.index));
            },
            [&](const relay::Alias& x) { return operand(x.value, env, b.location); },
            [&](const relay::If& x) { return branch(b, x, env, region); },
            [&](const relay::Match&) -> Operand { unsupported(b.location, "'match'"); },
            [&](const relay::MakeFunction&) -> Operand { unsupported(b.location, "a closure"); },
            [&](const relay::RefCreate&) -> Operand { unsupported(b.location, "a reference"); },
            [&](const relay::RefRead&) -> Operand { unsupported(b.location, "a reference"); },
            [&](const relay::RefWrite&) -> Operand { unsupported(b.location, "a reference"); },
            [&](const relay::MatchCast&) -> Operand { unsupported(b.location, "a check of symbolic dimensions"); },
        },
        b.op);
  }

  Operand call(const Binding& b, const relay::Call& x, const Environment& env, Region& region) {
    const relay::GlobalRef* callee = std::get_if<relay::GlobalRef>(&x.callee);
    if (const auto* ref = std::get_if<relay::OperatorRef>(&x.callee))
      unsupported(b.location,
                  fmt::format("operator {} applied to a tuple that is not built in the same function", ref->op->name));
    if (!callee) unsupported(b.location, "a call of a function value");
    if (!active_.insert(callee->name).second) unsupported(b.location, "recursion");
    const relay::Function& f = module_.functions.at(callee->name);
    Environment inner;
    for (size_t k = 0; k < x.args.size(); ++k) inner[f.params[k]->id] = operand(x.args[k], env, b.location);
    Operand result = lower_block(f.body, inner, region, f.location);
    active_.erase(callee->name);
    return result;
  }

  Operand call_tensor(const Binding& b, const relay::CallTensor& x, const Environment& env, Region& region) {
    const tensor::TensorFunction& f = module_.tensor_functions.at(x.function);
    std::optional<int64_t> slice = x.layouts.empty() ? tensor::contiguous_slice(f) : std::nullopt;
    if (slice && bits(f.results[0]->type) >= 8) return view(b, value(x.args[0], env, b.location), f.results[0], *slice);

    const Scheduled& s = scheduled(x, f);
    Invoke call{.kernel = s.kernel,
                .operands = {},
                .in_place = {},
                .node = b.location.node.empty() ? b.var->name : b.location.node,
                .macs = s.macs,
                .request = s.request};
    for (size_t k = 0; k < x.args.size(); ++k) {
      const Constant* c = std::get_if<Constant>(&x.args[k]);
      call.operands.push_back(c ? constant(s.packing[k](*c)) : value(x.args[k], env, b.location));
    }
    const auto& params = program_.kernels[static_cast<size_t>(s.kernel)].variants[0].params;
    Operand result{-1, {}, f.results.size() != 1};
    for (size_t k = x.args.size(); k < params.size(); ++k) {
      bool scratch = params[k].access == tensor::Access::scratch;
      ValueId v = new_temporary(scratch ? "scratch" : b.var->name, params[k].buffer);
      call.operands.push_back(v);
      if (scratch) continue;
      if (result.is_tuple)
        result.fields.push_back({v, {}, false});
      else
        result.value = v;
    }
    for (auto [r, p] : s.in_place) call.in_place.emplace_back(static_cast<int>(x.args.size()) + r, p);
    if (&region == &program_.body) note_concatenation(x, f, call);
    region.steps.push_back(std::move(call));
    return result;
  }

  // Records a concatenation without constant operands for in_place_concat. The call will be the outermost region's next
  // step.
  void note_concatenation(const relay::CallTensor& x, const tensor::TensorFunction& f, const Invoke& call) {
    std::vector<Layout> layouts = x.layouts;
    layouts.resize(f.params.size() + 1);
    auto offsets = bits(f.results[0]->type) >= 8 ? tensor::concat_offsets(f, layouts) : std::nullopt;
    bool all_variable = std::ranges::none_of(x.args, [](const Atom& a) { return std::holds_alternative<Constant>(a); });
    if (!offsets || !all_variable || offsets->empty()) return;
    for (int64_t& o : *offsets) o *= bits(f.results[0]->type) / 8;
    ConcatCall c{program_.body.steps.size(), call.operands[x.args.size()], call.operands, std::move(*offsets)};
    c.operands.resize(x.args.size());
    concat_calls_.push_back(std::move(c));
  }

  // `first` is the index of the source's element at which the view begins.
  Operand view(const Binding& b, ValueId source, const tensor::Buffer& result, int64_t first) {
    const Value& from = program_.values[static_cast<size_t>(source)];
    int64_t offset = first * bits(result->type) / 8;
    Value v{.name = b.var->name,
            .type = result->type,
            .shape = static_shape(result->shape),
            .bytes = storage_bytes(result->type, product(result->shape).value()),
            .alignment = bits(result->type) / 8,
            .storage = Storage::view,
            .base = from.storage == Storage::view ? from.base : source,
            .base_offset = from.storage == Storage::view ? from.base_offset + offset : offset};
    return {add_value(std::move(v)), {}, false};
  }

  // ---- kernels

  struct Scheduled {
    int kernel;
    std::vector<std::function<Constant(const Constant&)>> packing;
    std::vector<std::pair<int, int>> in_place;
    int64_t macs;
    uint64_t request;
  };

  const Scheduled& scheduled(const relay::CallTensor& x, const tensor::TensorFunction& f) {
    tensor::ScheduleRequest request{f, relay::which_are_constant(x.args), x.layouts, machines_, options_, {}};
    std::string key = x.function;
    for (bool is_constant : request.constant) key += is_constant ? " constant" : " variable";
    request.layouts.resize(f.params.size() + f.results.size());
    for (const Layout& l : request.layouts) key += " " + tensor::str(l);
    if (auto it = scheduled_.find(key); it != scheduled_.end()) return it->second;

    uint64_t hash = configure_ ? tensor::hash_of(request) : 0;
    if (configure_) request.config = configure_(request, hash);
    tensor::ScheduledFunction s = tensor::schedule(std::move(request));
    KernelVariants kernel{f.name, {}};
    std::string text;  // calls whose kernels print the same text share one kernel
    for (size_t level = 0; level < s.variants.size(); ++level) {
      tensor::Kernel& k = s.variants[level];
      auto run = [&](const char* pass, tensor::Stmt body) {
        k.body = std::move(body);
        tensor::verify_after(pass, k);
      };
      run("expand_math", tensor::expand_math(k.body));
      run("bind_shared", tensor::bind_shared(k.body));
      run("choose_parallel_loops", tensor::choose_parallel_loops(k.body, options_.threads, machines_[level]));
      k.name.clear();
      text += tensor::print(k);
      k.name = f.name;
      kernel.variants.push_back(std::move(k));
    }
    auto [it, is_new] = kernel_by_text_.emplace(std::move(text), static_cast<int>(program_.kernels.size()));
    if (is_new) program_.kernels.push_back(std::move(kernel));
    Scheduled result{it->second, std::move(s.packing), std::move(s.in_place), tensor::multiply_accumulates(f), hash};
    return scheduled_.emplace(std::move(key), std::move(result)).first->second;
  }

  // ---- control flow

  Operand branch(const Binding& b, const relay::If& x, const Environment& env, Region& region) {
    auto step = std::make_shared<Branch>();
    step->condition = value(x.condition, env, b.location);
    ValueId first = static_cast<ValueId>(program_.values.size());
    Operand a = lower_block(*x.then_block, env, step->then_region, b.location);
    ValueId second = static_cast<ValueId>(program_.values.size());
    Operand c = lower_block(*x.else_block, env, step->else_region, b.location);
    std::vector<ValueId> then_results, else_results, merged;
    flatten(a, then_results);
    flatten(c, else_results);
    for (size_t k = 0; k < then_results.size(); ++k) {
      const Value v = program_.values[static_cast<size_t>(then_results[k])];
      merged.push_back(new_value(b.var->name, {shape_of(v.shape), v.type}, Storage::temporary));
    }
    deliver(step->then_region, then_results, merged, first, second);
    deliver(step->else_region, else_results, merged, second, merged.empty() ? second : merged.front());
    region.steps.push_back(std::move(step));
    size_t next = 0;
    return rebuild(a, merged, next);
  }

  // Makes an arm of a branch leave its results in the temporaries `merged`. Temporaries of the arm, whose ids are in
  // [first, last), are replaced; other values are copied.
  void deliver(Region& region, const std::vector<ValueId>& results, const std::vector<ValueId>& merged, ValueId first,
               ValueId last) {
    std::set<ValueId> renamed;
    for (size_t k = 0; k < results.size(); ++k) {
      ValueId from = results[k];
      bool own =
          from >= first && from < last && program_.values[static_cast<size_t>(from)].storage == Storage::temporary;
      if (own && std::ranges::count(results, from) == 1 && renamed.insert(from).second)
        rename(region, from, merged[k]);
      else
        region.steps.push_back(Copy{from, merged[k]});
    }
  }

  void rename(Region& region, ValueId from, ValueId to) {
    for (Value& v : program_.values)
      if (v.storage == Storage::view && v.base == from) v.base = to;
    for_each_value(region, [&](ValueId& id) {
      if (id == from) id = to;
    });
  }

  // ---- results

  // A temporary that is an output, or whose view of equal size is, is stored in the caller's memory. Other values are
  // copied there.
  void make_output(ValueId v, int index) {
    const Value value = program_.values[static_cast<size_t>(v)];
    ValueId base = value.storage == Storage::view ? value.base : v;
    Value& owner = program_.values[static_cast<size_t>(base)];
    int64_t element = std::max(1, bits(value.type) / 8);
    if (owner.storage == Storage::temporary && owner.bytes == value.bytes) {
      owner.storage = Storage::output;
      owner.index = index;
      owner.alignment = element;
      program_.outputs.push_back(base);
      return;
    }
    ValueId out = new_value(value.name, {shape_of(value.shape), value.type}, Storage::output);
    program_.values[static_cast<size_t>(out)].index = index;
    program_.body.steps.push_back(Copy{v, out});
    program_.outputs.push_back(out);
  }

  const relay::Module& module_;
  const std::vector<tensor::Machine>& machines_;
  const tensor::ScheduleOptions& options_;
  Diagnostics& diagnostics_;
  const Configure& configure_;
  Program program_;
  std::map<uint64_t, std::vector<ValueId>> constants_by_hash_;
  std::map<std::string, Scheduled> scheduled_;
  std::map<std::string, int> kernel_by_text_;
  std::vector<ConcatCall> concat_calls_;
  std::set<std::string> active_ = {"main"};  // functions being inlined
};

}  // namespace

std::optional<Program> lower(const relay::Module& module, const std::vector<tensor::Machine>& machines,
                             const tensor::ScheduleOptions& options, Diagnostics& diagnostics,
                             const Configure& configure) {
  try {
    return Lowerer(module, machines, options, diagnostics, configure).run();
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

}  // namespace dlcc::lower
