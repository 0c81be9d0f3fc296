#include "targets/llvm/loader.h"

#include <elf.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <list>

#include "targets/llvm/child_process.h"
#include "targets/llvm/match_inputs.h"
#include "targets/llvm/model_memory.h"
#include "targets/llvm/step_timer.h"

namespace dlcc::targets {

namespace {

using Shapes = std::vector<std::vector<int64_t>>;  // of the outputs

// The model runs twice, with different initial contents of memory: a result that depends on uninitialized memory
// differs.
constexpr GuardPage guards[] = {GuardPage::after, GuardPage::before};
constexpr int garbage(GuardPage guard) { return guard == GuardPage::after ? 0xFF : 0x11; }

// The entry functions of a model; `plan` is null if it has no symbolic sizes.
struct EntryFunctions {
  RunFunction run = nullptr;
  PlanFunction plan = nullptr;
};

// Empty if the object cannot be linked.
std::optional<EntryFunctions> find_functions(LoadedObject& object, const emit::Interface& interface) {
  EntryFunctions found{object.find_run(interface), nullptr};
  if (interface.is_dynamic()) found.plan = object.find_plan(interface);
  return found.run && (found.plan || !interface.is_dynamic()) ? std::optional(found) : std::nullopt;
}

class Runner {
 public:
  Runner(const RunRequest& request, const SymbolValues& symbols, EntryFunctions model, Diagnostics& diagnostics)
      : request_(request),
        symbols_(symbols),
        model_(model),
        diagnostics_(diagnostics),
        memory_(*request.interface, request.inputs, request.weights, caller_sizes(*request.interface, symbols)),
        child_(number_count(request)) {
    if (const RunRequest* rival = request.profile.rival) {
      auto functions = find_functions(rival_.emplace(rival->object), *rival->interface);
      DLCC_CHECK(functions, "a rival cannot be loaded: {}", rival_->errors());
      rival_functions_ = *functions;
    }
  }

  std::optional<RunResult> run() {
    RunResult result;
    if (!plan()) return std::nullopt;
    result.status = child_.status();
    if (result.status != 0) return result;
    std::vector<Constant> outputs[std::size(guards)];
    for (size_t k = 0; k < std::size(guards); ++k) {
      if (!checked_call(guards[k], [&] { return memory_.run(model_.run, guards[k]); })) return std::nullopt;
      result.status = child_.status();
      if (result.status != 0) return result;
      if (!are_as_declared(memory_.shapes(guards[k]), "run")) return std::nullopt;
      outputs[k] = memory_.outputs(guards[k]);
    }
    for (size_t i = 0; i < outputs[0].size(); ++i)
      if (!outputs[0][i].same_as(outputs[1][i])) {
        fail(fmt::format("output '{}' depends on what the arena or the output held before",
                         request_.interface->outputs[i].name));
        return std::nullopt;
      }
    result.outputs = std::move(outputs[0]);
    if (request_.repeat > 1 && !time(result)) return std::nullopt;
    if (request_.profile.rounds > 0 && !profile(result)) return std::nullopt;
    return result;
  }

 private:
  // The length of the array that the child writes: `repeat` times of calls, then for each round of the profile the
  // times of the probes, then [call][step] times of the model, probe ratios and times of the rival.
  static size_t number_count(const RunRequest& request) {
    const ProfileRequest& p = request.profile;
    const size_t columns = 1 + (p.rival ? 1 : 0) + (p.between ? 1 : 0);
    const size_t round = p.probes.size() + columns * static_cast<size_t>(p.calls) * static_cast<size_t>(p.steps);
    return static_cast<size_t>(std::max(request.repeat, 1)) + static_cast<size_t>(p.rounds) * round;
  }

  // Determines the shapes of the outputs and the size of the arena, and adds memory for them. If P_plan returns a
  // status other than ok, adds none.
  bool plan() {
    planned_shapes_ = memory_.shapes(guards[0]);  // of a model without symbolic sizes
    int64_t arena = 0;
    if (!plan_arena(*request_.interface, model_.plan, arena)) return false;
    if (child_.status() != 0) return true;
    if (request_.profile.rival) {  // it uses the same memory
      int64_t of_rival = 0;
      if (!plan_arena(*request_.profile.rival->interface, rival_functions_.plan, of_rival)) return false;
      arena = std::max(arena, of_rival);
    }
    memory_.add_results(planned_shapes_, arena);
    return true;
  }

  // Calls P_plan, if there is one, and sets the size of the arena.
  bool plan_arena(const emit::Interface& interface, PlanFunction plan, int64_t& arena) {
    arena = interface.arena_bytes.value_or(0);
    if (!plan) return true;
    std::optional<int64_t> found = interface.arena_bytes;
    for (GuardPage guard : guards) {
      if (!checked_call(guard, [&] { return memory_.plan(plan, guard); })) return false;
      if (child_.status() != 0) return true;
      planned_shapes_ = memory_.shapes(guard);
      if (!are_as_declared(planned_shapes_, "plan")) return false;
      arena = static_cast<int64_t>(memory_.arena_bytes(guard));
      if (arena < 0 || found.value_or(arena) != arena)
        return fail(fmt::format("{}_plan gives an arena of {} bytes instead of {}", interface.prefix, arena, *found));
      found = arena;
    }
    return true;
  }

  // Whether the shapes are those of the interface. Axes of data-dependent size must be at most as large as planned.
  bool are_as_declared(const Shapes& found, const char* function) {
    const emit::Interface& interface = *request_.interface;
    for (size_t k = 0; k < found.size(); ++k) {
      const emit::TensorInterface& t = interface.outputs[k];
      for (size_t axis = 0; axis < found[k].size(); ++axis) {
        const auto declared = t.shape[axis].evaluate(symbols_);
        const int64_t size = found[k][axis], planned = planned_shapes_[k][axis];
        if (declared ? size == *declared : size >= 0 && size <= planned) continue;
        return fail(fmt::format("{}_{} gives output '{}' the shape {}, which is declared as {}, planned as {}",
                                interface.prefix, function, t.name, str(shape_of(found[k])), str(t.shape),
                                str(shape_of(planned_shapes_[k]))));
      }
    }
    return true;
  }

  // Runs `call` in a child with freshly filled memory and sets the status to its result. False, with a diagnostic, if
  // the child was stopped or wrote outside the blocks of the memory.
  template <class Call>
  bool checked_call(GuardPage guard, const Call& call) {
    memory_.prepare(guard, garbage(guard));
    if (!in_child(guard, [&] { child_.status() = call(); })) return false;
    if (child_.status() != 0) return true;
    const std::string overwritten = memory_.overwritten(guard, garbage(guard));
    return overwritten.empty() || fail("the model wrote out of the bounds of " + overwritten);
  }

  bool time(RunResult& result) {
    constexpr GuardPage guard = GuardPage::before;
    double* const seconds = child_.numbers();
    bool done = in_child(guard, [&] {
      memory_.run(model_.run, guard);  // warm-up: page faults and caches
      for (int i = 0; i < request_.repeat; ++i) {
        auto start = std::chrono::steady_clock::now();
        memory_.run(model_.run, guard);
        seconds[i] = seconds_since(start);
      }
    });
    if (done) result.seconds.assign(seconds, seconds + request_.repeat);
    return done;
  }

  bool profile(RunResult& result) {
    constexpr GuardPage guard = GuardPage::before;
    const ProfileRequest& p = request_.profile;
    double* const first = child_.numbers() + std::max(request_.repeat, 1);
    std::list<LoadedProbe> probes(p.probes.begin(), p.probes.end());
    std::optional<LoadedProbe> between;
    if (p.between) between.emplace(*p.between);
    const int of_calls = p.calls * p.steps;  // numbers per round
    bool done = in_child(guard, [&] {
      double* out = first;
      auto time_calls = [&](RunFunction model, LoadedProbe* probe) {
        StepTimer timer(probe);
        memory_.run(model, guard);
        for (int i = 0; i < of_calls; i += p.steps)
          memory_.run(model, guard, timer.adding_to(out + i, out + of_calls + i));
        out += probe ? 2 * of_calls : of_calls;
      };
      for (int round = 0; round < p.rounds; ++round) {
        for (LoadedProbe& probe : probes) {
          probe.seconds();  // warm-up
          *out++ = probe.seconds();
        }
        time_calls(model_.run, between ? &*between : nullptr);
        if (p.rival) time_calls(rival_functions_.run, nullptr);
      }
    });
    if (done) read_profile(first, result);
    return done;
  }

  void read_profile(const double* in, RunResult& result) const {
    const ProfileRequest& p = request_.profile;
    for (int round = 0; round < p.rounds; ++round) {
      ProfileRound& r = result.profile.emplace_back();
      for (size_t k = 0; k < p.probes.size(); ++k) r.probe_seconds.push_back(*in++);
      auto read_calls = [&](std::vector<std::vector<double>>& calls) {
        for (int i = 0; i < p.calls; ++i, in += p.steps) calls.emplace_back(in, in + p.steps);
      };
      read_calls(r.step_seconds);
      if (p.between) read_calls(r.step_probes);
      if (p.rival) read_calls(r.rival_seconds);
    }
  }

  // Runs `work` in a child process; false, with a diagnostic, if something stopped it.
  bool in_child(GuardPage guard, const std::function<void()>& work) {
    const std::string stopped = child_.run(
        request_.time_limit_seconds,
        [&] {
          memory_.protect_inputs();
          work();
        },
        [&](uintptr_t address) { return memory_.describe(address, guard); });
    return stopped.empty() || fail(stopped);
  }

  // Returns false.
  bool fail(std::string message) {
    diagnostics_.error(DiagnosticId::run_failed, {}, std::move(message));
    return false;
  }

  const RunRequest& request_;
  const SymbolValues& symbols_;
  EntryFunctions model_, rival_functions_;
  std::optional<LoadedObject> rival_;
  Diagnostics& diagnostics_;
  ModelMemory memory_;
  ChildProcess child_;
  Shapes planned_shapes_;
};

bool is_for_this_machine(std::span<const std::byte> object) {
  Elf64_Ehdr header;
  if (object.size() < sizeof(header)) return false;
  std::memcpy(&header, object.data(), sizeof(header));
#if defined(__x86_64__)
  return header.e_machine == EM_X86_64;
#elif defined(__aarch64__)
  return header.e_machine == EM_AARCH64;
#else
  return false;
#endif
}

}  // namespace

std::optional<RunResult> run_object(const RunRequest& request, Diagnostics& diagnostics) {
  const auto symbols = match_inputs(*request.interface, request.inputs, diagnostics);
  if (!symbols) return std::nullopt;
  if (!is_for_this_machine(request.object)) {
    diagnostics.error(DiagnosticId::unsupported_cpu, {}, "the object is for another kind of machine than this one", {},
                      "compile for this machine, without --target, or run the model by an emulator: --runner COMMAND");
    return std::nullopt;
  }
  LoadedObject object(request.object);
  const auto functions = find_functions(object, *request.interface);
  if (!functions) {
    diagnostics.error(DiagnosticId::run_failed, {}, "the object cannot be loaded: " + object.errors());
    return std::nullopt;
  }
  return Runner(request, *symbols, *functions, diagnostics).run();
}

}  // namespace dlcc::targets
