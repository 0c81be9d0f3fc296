// Random programs with branches, loops, scalars, views and in-place calls, and their simulation under a storage plan.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "lower/plan.h"
#include "lower/walk.h"
#include "program_builder.h"

namespace dlcc::lower {

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  Program run() {
    for (int functions = below(3); functions > 0; --functions) function();
    std::vector<ValueId> defined = {b_.input(8), b_.input(1), b_.constant(16)};
    fill(b_.program.body, defined, 2, 8);
    const ValueId out = b_.output(8);
    b_.program.body.steps.push_back(b_.call({pick(defined)}, {out}));
    return std::move(b_.program);
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  ValueId pick(const std::vector<ValueId>& list) { return list[below(static_cast<int>(list.size()))]; }
  ValueId fresh() {
    const int64_t sizes[] = {4, 8, 8, 8, 16, 12}, alignments[] = {1, 2, 4, 8};
    return b_.temporary(sizes[below(6)], alignments[below(4)]);
  }

  // A function of 8 and 4 bytes with results of 16 and 8. It may call those before it.
  void function() {
    Function& current = b_.program;
    Function outer = std::exchange(current, {.name = "f" + std::to_string(b_.program.functions.size())});
    std::vector<ValueId> defined = {b_.input(8), b_.input(4), b_.constant(16)};
    fill(b_.program.body, defined, 1, 5);
    for (int64_t bytes : {16, 8}) {
      const ValueId result = b_.output(bytes);
      b_.program.body.steps.push_back(b_.call({pick(defined)}, {result}));
    }
    Function own = std::exchange(current, std::move(outer));
    b_.program.functions.push_back(std::move(own));
  }

  // Operands are values with as many bytes as the function's inputs; new ones if there are none.
  void call_function(Region& region, std::vector<ValueId>& defined) {
    if (b_.program.functions.empty()) return call(region, defined);
    Call step{.function = below(static_cast<int>(b_.program.functions.size()))};
    for (int64_t bytes : {8, 4}) {
      std::vector<ValueId> fitting = defined;
      std::erase_if(fitting, [&](ValueId v) { return b_.program.values[v].bytes != Dim(bytes); });
      if (fitting.empty()) {
        fitting.push_back(b_.temporary(bytes));
        region.steps.push_back(b_.call({pick(defined)}, {fitting[0]}));
      }
      step.operands.push_back(pick(fitting));
    }
    step.results = {b_.temporary(16, 8), b_.temporary(8)};
    region.steps.push_back(step);
    defined.insert(defined.end(), step.results.begin(), step.results.end());
  }

  // Appends random steps. `defined` are the values that may be read; written values are added.
  void fill(Region& region, std::vector<ValueId>& defined, int depth, int steps) {
    for (int k = 0; k < steps; ++k) {
      const int kind = below(14);
      if (kind < 2) {
        call_function(region, defined);
      } else if (kind < 7) {
        call(region, defined);
      } else if (kind == 7) {
        parts(region, defined);
      } else if (kind == 8) {
        view(defined);
      } else if (kind == 9) {
        const ValueId from = pick(defined), to = b_.temporary(b_.program.values[from].bytes.value());
        region.steps.push_back(Copy{from, to});
        defined.push_back(to);
      } else if (kind >= 12) {
        slice(region, defined);
      } else if (depth > 0 && kind == 10) {
        branch(region, defined, depth);
      } else if (depth > 0) {
        loop(region, defined, depth);
      }
    }
  }

  void call(Region& region, std::vector<ValueId>& defined) {
    std::vector<ValueId> reads = {pick(defined)};
    if (below(2)) reads.push_back(pick(defined));
    const ValueId result = fresh();
    std::vector<std::pair<ValueId, ValueId>> in_place;
    for (ValueId r : reads)
      if (b_.program.values[r].bytes == b_.program.values[result].bytes && below(4)) in_place.emplace_back(result, r);
    std::vector<ValueId> scratch;
    if (below(4) == 0) scratch.push_back(fresh());
    region.steps.push_back(b_.call(reads, {result}, scratch, in_place));
    defined.push_back(result);
  }

  void parts(Region& region, std::vector<ValueId>& defined) {
    const ValueId whole = b_.temporary(16);
    region.steps.push_back(b_.call({pick(defined)}, {b_.view(whole, 0, 8)}));
    region.steps.push_back(b_.call({pick(defined)}, {b_.view(whole, 8, 8)}));
    defined.push_back(whole);
  }

  void view(std::vector<ValueId>& defined) {
    const ValueId base = pick(defined);
    const Value& value = b_.program.values[base];
    if (value.storage == Storage::view) return;
    const int64_t offset = below(2) ? 0 : value.bytes.value() / 2;
    defined.push_back(b_.view(base, offset, value.bytes.value() - offset));
  }

  // One of the two halves of a value, at an index that is a scalar: read later, or written first.
  void slice(Region& region, std::vector<ValueId>& defined) {
    const ValueId base = pick(defined);
    if (b_.program.values[base].storage == Storage::view) return;
    const tensor::Var byte = tensor::make_var("byte", dtype::u8), index = tensor::make_var("i");
    region.steps.push_back(Read{byte, pick(defined)});
    region.steps.push_back(Compute{index, tensor::cast(dtype::i64, byte)});
    const int64_t half = b_.program.values[base].bytes.value() / 2;
    if (half == 0) return;
    const ValueId v = b_.view(base, 0, half);
    b_.program.values[v].begin = index;
    b_.program.values[v].stride = half;
    if (b_.program.values[base].storage == Storage::temporary && below(2)) {
      std::vector<ValueId> others = defined;
      std::erase_if(others, [&](ValueId o) { return o == base || b_.program.values[o].base == base; });
      region.steps.push_back(b_.call({pick(others)}, {v}));
    }
    defined.push_back(v);
  }

  void branch(Region& region, std::vector<ValueId>& defined, int depth) {
    const ValueId condition = b_.temporary(1), joined = fresh();
    region.steps.push_back(b_.call({pick(defined)}, {condition}));
    Region arms[2];
    for (Region& arm : arms) {
      std::vector<ValueId> inner = defined;
      fill(arm, inner, depth - 1, 1 + below(4));
      arm.steps.push_back(b_.call({inner.back()}, {joined}));
    }
    const tensor::Var c = tensor::make_var("c", dtype::u8);
    region.steps.push_back(Read{c, condition});
    region.steps.push_back(if_else(is_set(c), arms[0], arms[1]));
    defined.push_back(joined);
  }

  void loop(Region& region, std::vector<ValueId>& defined, int depth) {
    const ValueId condition = b_.temporary(1), state = b_.temporary(8), next = b_.temporary(8);
    region.steps.push_back(b_.call({pick(defined)}, {condition, state}));
    defined.push_back(state);
    Region body;
    std::vector<ValueId> inner = defined;
    fill(body, inner, depth - 1, 1 + below(4));
    body.steps.push_back(b_.call({state, inner.back()}, {next}, {}, {{next, state}}));
    body.steps.push_back(Copy{next, state});
    body.steps.push_back(b_.call({state}, {condition}));
    region.steps.push_back(repeat(condition, body));
  }

  std::mt19937 random_;
  ProgramBuilder b_;
};

// Executes a program in the arena and in separate memory at the same time; every byte written gets a new number.
// The bits of `decisions` are the conditions of branches and loops; a loop runs at most three times.
class Simulation {
 public:
  Simulation(const Program& program, const StoragePlan& plan, uint32_t decisions)
      : program_(program), plan_(plan), decisions_(decisions), arena_(static_cast<size_t>(plan.arena_bytes), 0) {
    enter(program, plan, 0);
  }

  bool run() {
    execute(program_.body);
    return right_;
  }

 private:
  using Bytes = std::vector<int64_t>;
  // The storage of a value: its separate memory, where it begins there, and its address in the arena, or -1.
  struct Memory {
    std::shared_ptr<Bytes> apart;
    int64_t begin = 0, address = -1;
  };
  // The program, or a call of a function.
  struct Frame {
    const Function* function = nullptr;
    const FunctionPlan* plan = nullptr;
    int64_t arena = 0;           // the address of the function's arena
    std::vector<Memory> memory;  // by value, not for views
    std::map<const Call*, size_t> calls;
  };

  void enter(const Function& function, const FunctionPlan& plan, int64_t arena) {
    frame_ = {&function, &plan, arena, {}, {}};
    for (size_t v = 0; v < function.values.size(); ++v) {
      Memory p{std::make_shared<Bytes>(static_cast<size_t>(function.values[v].bytes.value()), 0)};
      if (function.values[v].storage == Storage::temporary && plan.offsets[v] >= 0) p.address = arena + plan.offsets[v];
      frame_.memory.push_back(std::move(p));
    }
    for_each_function_call(function.body, [&](const Call& c) { frame_.calls.emplace(&c, frame_.calls.size()); });
  }

  bool decide() {
    const bool bit = decisions_ >> (decided_ % 32) & 1;
    ++decided_;
    return bit;
  }

  const Value& value(ValueId v) const { return frame_.function->values[v]; }
  Memory memory_of(ValueId v) const {
    if (value(v).storage != Storage::view) return frame_.memory[v];
    const auto* index = tensor::as<tensor::VarRef>(value(v).begin);
    const int64_t offset = value(v).base_offset.value() + (index ? scalars_.at(index->var) * value(v).stride : 0);
    Memory p = frame_.memory[value(v).base];
    p.begin += offset;
    if (p.address >= 0) p.address += offset;
    return p;
  }

  void read(ValueId v) {
    const Memory p = memory_of(v);
    if (p.address < 0) return;
    for (int64_t i = 0; i < value(v).bytes.value(); ++i)
      right_ = right_ && arena_[p.address + i] == (*p.apart)[p.begin + i];
  }
  void write(ValueId v, const Bytes& numbers) {
    const Memory p = memory_of(v);
    for (int64_t i = 0; i < value(v).bytes.value(); ++i) {
      (*p.apart)[p.begin + i] = numbers[i];
      if (p.address >= 0) arena_[p.address + i] = numbers[i];
    }
  }
  Bytes fresh_numbers(int64_t count) {
    Bytes numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(++last_number_);
    return numbers;
  }
  Bytes fresh_numbers(ValueId v) { return fresh_numbers(value(v).bytes.value()); }

  void execute(const Region& region) {
    for (const Step& step : region.steps) std::visit([&](const auto& s) { execute(s); }, step);
  }
  void execute(const Invoke& call) {
    const tensor::Kernel& kernel = program_.kernels[call.kernel].variants[0];
    const auto each = [&](tensor::Access access, auto f) {
      for (size_t k = 0; k < call.operands.size(); ++k)
        if (kernel.params[k].access == access) f(static_cast<int>(k));
    };
    each(tensor::Access::read, [&](int k) { read(call.operands[k]); });
    each(tensor::Access::scratch, [&](int k) { write(call.operands[k], fresh_numbers(call.operands[k])); });
    // A kernel may read any operand after it has begun to write a result, except those of declared in-place pairs.
    each(tensor::Access::write, [&](int w) {
      write(call.operands[w], fresh_numbers(call.operands[w]));
      each(tensor::Access::read, [&](int r) {
        const bool declared = std::count(call.in_place.begin(), call.in_place.end(), std::pair(w, r)) > 0;
        if (!declared || arena_address(call.operands[w]) != arena_address(call.operands[r])) read(call.operands[r]);
      });
    });
    each(tensor::Access::write, [&](int w) { read(call.operands[w]); });
  }
  int64_t arena_address(ValueId v) const { return memory_of(v).address; }

  // The workspace is overwritten before and after the call. Operands and results are in the caller's memory.
  void execute(const Call& call) {
    const auto k = static_cast<size_t>(call.function);
    const FunctionPlan& plan = plan_.functions[k];
    const int64_t arena = frame_.arena + frame_.plan->workspaces[frame_.calls.at(&call)];
    for (ValueId v : call.operands) read(v);
    std::vector<Memory> operands, results;
    for (ValueId v : call.operands) operands.push_back(memory_of(v));
    for (ValueId v : call.results) results.push_back(memory_of(v));
    overwrite(arena, plan.arena_bytes);
    Frame caller = std::move(frame_);
    const Function& callee = program_.functions[k];
    enter(callee, plan, arena);
    for (size_t o = 0; o < operands.size(); ++o) frame_.memory[callee.inputs[o]] = operands[o];
    for (size_t r = 0; r < results.size(); ++r) frame_.memory[callee.outputs[r]] = results[r];
    execute(callee.body);
    frame_ = std::move(caller);
    overwrite(arena, plan.arena_bytes);
    for (ValueId v : call.operands) read(v);
    for (ValueId v : call.results) read(v);
  }
  void overwrite(int64_t address, int64_t count) {
    for (int64_t i = 0; i < count; ++i) arena_[address + i] = ++last_number_;
  }

  void execute(const Copy& copy) {
    read(copy.from);
    const Memory p = memory_of(copy.from);
    const auto first = p.apart->begin() + p.begin;
    write(copy.to, {first, first + value(copy.from).bytes.value()});
    read(copy.from);
  }
  void execute(const Read& step) {
    read(step.from);
    scalars_[step.result] = decide();
  }
  void execute(const Write&) {}
  void execute(const Compute& step) {  // converts a scalar
    const auto* cast = tensor::as<tensor::Cast>(step.value);
    scalars_[step.result] = scalars_.at(tensor::as<tensor::VarRef>(cast->a)->var);
  }
  void execute(const Require&) {}
  void execute(const CheckSize&) {}
  void execute(const std::shared_ptr<Branch>& branch) { execute(decide() ? branch->then_region : branch->else_region); }
  void execute(const std::shared_ptr<Loop>& loop) {
    for (int k = 0; k < 3; ++k) {
      execute(loop->test);
      if (!decide()) return;
      execute(loop->body);
    }
    execute(loop->test);
  }

  const Program& program_;
  const StoragePlan& plan_;
  uint32_t decisions_;
  int decided_ = 0;
  bool right_ = true;
  int64_t last_number_ = 0;
  Bytes arena_;
  Frame frame_;
  std::map<tensor::Var, int64_t> scalars_;
};

// Whether the program gives the same results in the arena as with separate memory for every value, for some decisions.
inline bool simulates(const Program& program, const StoragePlan& plan) {
  const uint32_t ways[] = {0, ~0u, 0x55555555, 0xaaaaaaaa, 0x33333333, 0x2545f491, 0x9e3779b9, 0x7f4a7c15};
  for (uint32_t decisions : ways)
    if (!Simulation(program, plan, decisions).run()) return false;
  return true;
}

}  // namespace dlcc::lower
