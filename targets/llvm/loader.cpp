#include "targets/llvm/loader.h"

#include <elf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <list>

#include "targets/llvm/guarded_memory.h"
#include "targets/llvm/step_timer.h"

namespace dlcc::targets {

namespace {

using GuardPage = GuardedMemory::GuardPage;

// Written by the child process, read by the parent, in shared memory.
struct ChildReport {
  int status;
  int signal;  // that terminated the child; 0: none
  bool writing;
  bool reading_known;
  uintptr_t address;
  GuardPage guard;
  // `repeat` timed calls, then for each round of the profile: the probes, then [call][step] of the model, of the probe
  // ratios and of the rival.
  double seconds[1];
};

ChildReport* child_report = nullptr;  // of the signal handler, which has no user argument; set in the child only

void on_fault(int signal, siginfo_t* info, void* context) {
  child_report->signal = signal;
  child_report->address = reinterpret_cast<uintptr_t>(info->si_addr);
#ifdef __x86_64__
  auto error = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR];
  child_report->reading_known = true;
  child_report->writing = error & 2;
#else
  (void)context;
#endif
  _exit(1);
}

void catch_faults() {
  static char stack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = stack, alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) sigaction(s, &action, nullptr);
}

class Runner {
 public:
  Runner(const RunRequest& request, RunFunction run, Diagnostics& diagnostics)
      : request_(request), run_(run), diagnostics_(diagnostics) {
    const ProfileRequest& p = request.profile;
    size_t columns = 1 + (p.rival ? 1 : 0) + (p.between ? 1 : 0);
    round_size_ = p.probes.size() + columns * static_cast<size_t>(p.calls) * static_cast<size_t>(p.steps);
    report_bytes_ = sizeof(ChildReport) + sizeof(double) * (static_cast<size_t>(std::max(request.repeat, 1)) +
                                                            static_cast<size_t>(p.rounds) * round_size_);
    void* shared = mmap(nullptr, report_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    DLCC_CHECK(shared != MAP_FAILED, "no memory");
    report_ = new (shared) ChildReport{};
    add_blocks();
  }
  ~Runner() { munmap(report_, report_bytes_); }

  std::optional<RunResult> run() {
    RunResult result;
    // Two runs with different initial contents: a result that depends on uninitialised memory differs.
    std::vector<Constant> outputs[2];
    for (GuardPage guard : {GuardPage::after, GuardPage::before}) {
      int garbage = guard == GuardPage::after ? 0xFF : 0x11;
      for (size_t b = 0; b < block_count_; ++b) memory_.fill(b, garbage);
      copy_inputs(guard);
      if (!in_child(guard, [&] { report_->status = call(guard); })) return std::nullopt;
      result.status = report_->status;
      if (result.status != 0) return result;
      if (!check_margins(guard, garbage)) return std::nullopt;
      outputs[guard == GuardPage::after ? 0 : 1] = read_outputs(guard);
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
  void add_blocks() {
    const emit::Interface& interface = *request_.interface;
    auto add = [&](const char* kind, const emit::TensorInterface& t) {
      int64_t bytes = storage_bytes(t.type, product(t.shape).value());
      return memory_.add(fmt::format("{} '{}'", kind, t.name), bytes, std::max(bits(t.type) / 8, 1));
    };
    for (const emit::TensorInterface& t : interface.inputs) inputs_.push_back(add("input", t));
    for (const emit::TensorInterface& t : interface.outputs) outputs_.push_back(add("output", t));
    int64_t arena_bytes = interface.arena_bytes.value();  // the rival uses the same memory
    if (request_.profile.rival)
      arena_bytes = std::max(arena_bytes, request_.profile.rival->interface->arena_bytes.value());
    arena_ = memory_.add("the arena", arena_bytes, std::max<int64_t>(interface.arena_alignment, 1));
    block_count_ = arena_ + 1;
    if (!interface.weights_file) return;
    weights_ =
        memory_.add("the weights", static_cast<int64_t>(request_.weights.size()), interface.weights_file->alignment);
    block_count_ = *weights_ + 1;
  }

  void copy_inputs(GuardPage guard) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      std::span<const std::byte> bytes = request_.inputs[i].bytes();
      if (!bytes.empty()) std::memcpy(memory_.address(inputs_[i], guard), bytes.data(), bytes.size());
    }
    if (weights_) std::ranges::copy(request_.weights, memory_.address(*weights_, guard));
  }

  int call(GuardPage guard) const { return call(run_, guard); }

  int call(RunFunction run, GuardPage guard, const dlcc_profiler* profiler = nullptr) const {
    dlcc_context context{};
    context.profiler = profiler;
    context.weights = weights_ ? memory_.address(*weights_, guard) : nullptr;
    context.weights_bytes = request_.weights.size();
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (size_t b : inputs_) inputs.push_back(memory_.address(b, guard));
    for (size_t b : outputs_) outputs.push_back(memory_.address(b, guard));
    return run(inputs.data(), outputs.data(), memory_.address(arena_, guard),
               static_cast<size_t>(memory_.bytes(arena_)), profiler || weights_ ? &context : nullptr);
  }

  std::vector<Constant> read_outputs(GuardPage guard) const {
    std::vector<Constant> result;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const emit::TensorInterface& t = request_.interface->outputs[i];
      const std::byte* from = memory_.address(outputs_[i], guard);
      result.emplace_back(t.type, static_shape(t.shape),
                          std::vector<std::byte>(from, from + memory_.bytes(outputs_[i])));
    }
    return result;
  }

  // Finds writes outside a block that stay on its pages.
  bool check_margins(GuardPage guard, int garbage) {
    for (size_t b = 0; b < block_count_; ++b)
      if (!memory_.margins_hold(b, guard, garbage)) {
        fail("the model wrote out of the bounds of " + memory_.name(b));
        return false;
      }
    return true;
  }

  bool time(RunResult& result) {
    bool done = in_child(GuardPage::before, [&] {
      call(GuardPage::before);  // warm-up: page faults and caches
      for (int i = 0; i < request_.repeat; ++i) {
        auto start = std::chrono::steady_clock::now();
        call(GuardPage::before);
        report_->seconds[i] = seconds_since(start);
      }
    });
    if (done) result.seconds.assign(report_->seconds, report_->seconds + request_.repeat);
    return done;
  }

  bool profile(RunResult& result) {
    const ProfileRequest& p = request_.profile;
    double* const first = report_->seconds + std::max(request_.repeat, 1);
    std::list<LoadedProbe> probes(p.probes.begin(), p.probes.end());
    std::optional<LoadedObject> rival;
    std::optional<LoadedProbe> between;
    if (p.between) between.emplace(*p.between);
    RunFunction run_rival = p.rival ? rival.emplace(p.rival->object).find_run(*p.rival->interface) : nullptr;
    DLCC_CHECK(run_rival || !p.rival, "a rival cannot be loaded: {}", rival->errors());
    const int of_calls = p.calls * p.steps;  // numbers per round
    bool done = in_child(GuardPage::before, [&] {
      double* out = first;
      auto time_calls = [&](RunFunction model, LoadedProbe* probe) {
        StepTimer timer(probe);
        call(model, GuardPage::before);
        for (int i = 0; i < of_calls; i += p.steps)
          call(model, GuardPage::before, timer.adding_to(out + i, out + of_calls + i));
        out += probe ? 2 * of_calls : of_calls;
      };
      for (int round = 0; round < p.rounds; ++round) {
        for (LoadedProbe& probe : probes) {
          probe.seconds();  // warm-up
          *out++ = probe.seconds();
        }
        time_calls(run_, between ? &*between : nullptr);
        if (p.rival) time_calls(run_rival, nullptr);
      }
    });
    const double* in = first;
    for (int round = 0; done && round < p.rounds; ++round) {
      ProfileRound& r = result.profile.emplace_back();
      for (size_t k = 0; k < p.probes.size(); ++k) r.probe_seconds.push_back(*in++);
      auto read_calls = [&](std::vector<std::vector<double>>& calls) {
        for (int i = 0; i < p.calls; ++i, in += p.steps) calls.emplace_back(in, in + p.steps);
      };
      read_calls(r.step_seconds);
      if (p.between) read_calls(r.step_probes);
      if (p.rival) read_calls(r.rival_seconds);
    }
    return done;
  }

  // Runs `work` in a child process; false, with a diagnostic, if the child crashed or timed out.
  template <class Work>
  bool in_child(GuardPage guard, const Work& work) {
    *report_ = ChildReport{};
    report_->guard = guard;
    pid_t child = fork();
    DLCC_CHECK(child >= 0, "fork failed");
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a measurement ends with dlcc
      child_report = report_;
      catch_faults();
      for (size_t b : inputs_) memory_.protect_reading_only(b);
      if (weights_) memory_.protect_reading_only(*weights_);
      alarm(static_cast<unsigned>(request_.time_limit_seconds));
      work();
      _exit(0);
    }
    int ended = 0;
    while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return true;
    if (WIFSIGNALED(ended) && WTERMSIG(ended) == SIGALRM)
      fail(fmt::format("the model did not finish within {} seconds", request_.time_limit_seconds));
    else if (report_->signal)
      fail(describe_fault());
    else
      fail(fmt::format("the child process ended with wait status {}", ended));
    return false;
  }

  std::string describe_fault() const {
    std::string what = strsignal(report_->signal);
    if (report_->signal != SIGSEGV && report_->signal != SIGBUS)
      return fmt::format("the model was stopped by '{}'", what);
    std::string where = memory_.describe(report_->address, report_->guard);
    if (where.empty()) where = fmt::format("address {:#x}, which belongs to no tensor", report_->address);
    const char* access = !report_->reading_known ? "access" : report_->writing ? "write" : "read";
    return fmt::format("the model was stopped by '{}': {} of {}", what, access, where);
  }

  void fail(std::string message) { diagnostics_.error(DiagnosticId::run_failed, {}, std::move(message)); }

  const RunRequest& request_;
  RunFunction run_;
  Diagnostics& diagnostics_;
  GuardedMemory memory_;
  std::vector<size_t> inputs_, outputs_;
  size_t arena_ = 0, block_count_ = 0;
  std::optional<size_t> weights_;  // of a model with a weights file
  ChildReport* report_ = nullptr;
  size_t report_bytes_ = 0, round_size_ = 0;
};

bool inputs_fit(const RunRequest& request, Diagnostics& diagnostics) {
  const emit::Interface& interface = *request.interface;
  if (request.inputs.size() != interface.inputs.size()) {
    diagnostics.error(
        DiagnosticId::bad_data, {},
        fmt::format("the model has {} inputs, {} were given", interface.inputs.size(), request.inputs.size()));
    return false;
  }
  bool fit = true;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const emit::TensorInterface& wanted = interface.inputs[i];
    const Constant& given = request.inputs[i];
    if (given.dtype() == wanted.type && shape_of(given.shape()) == wanted.shape) continue;
    fit = false;
    diagnostics.error(DiagnosticId::bad_data, {},
                      fmt::format("input '{}' is {}{}, but {}{} was given", wanted.name, name(wanted.type),
                                  str(wanted.shape), name(given.dtype()), str(shape_of(given.shape()))));
  }
  return fit;
}

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
  if (!inputs_fit(request, diagnostics)) return std::nullopt;
  if (!is_for_this_machine(request.object)) {
    diagnostics.error(DiagnosticId::unsupported_cpu, {}, "the object is for another kind of machine than this one");
    return std::nullopt;
  }
  LoadedObject object(request.object);
  RunFunction run = object.find_run(*request.interface);
  if (!run) {
    diagnostics.error(DiagnosticId::run_failed, {}, "the object cannot be loaded: " + object.errors());
    return std::nullopt;
  }
  return Runner(request, run, diagnostics).run();
}

}  // namespace dlcc::targets
