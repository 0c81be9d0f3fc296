#include "pipeline/tune.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "dlcc/types.h"
#include "lower/walk.h"
#include "pipeline/profile.h"
#include "pipeline/random_inputs.h"
#include "pipeline/run.h"

namespace dlcc {
namespace {

// A configuration wins when the default takes longer by this factor, and by more seconds per call than reading the
// clock may take.
constexpr double least_gain = 1.03, least_seconds = 0.5e-6;

class Tuner {
 public:
  Tuner(const CompileOptions& options, const relay::Module& module, Diagnostics& diagnostics)
      : compiler_(self_contained(options), diagnostics),
        module_(module),
        diagnostics_(diagnostics),
        target_(*compiler_.target()) {}

  std::optional<TuningRecords> run() {
    if (!target_.is_host_architecture) {
      diagnostics_.error(
          DiagnosticId::bad_option, {},
          fmt::format("--tune runs the model, and this machine cannot run code for target {}", target_.name), {},
          "tune on a machine of the target, then compile here with its --tuning-records");
      return std::nullopt;
    }
    if (!choose_level() || !try_candidates() || !confirm()) return std::nullopt;
    return records();
  }

 private:
  struct Function {
    std::string name;
    std::vector<tensor::TuningConfig> candidates;
    tensor::TuningConfig best;
    double seconds = 0, by_estimate = 0;  // of all calls: with `best`, and with the default configuration
  };

  // Seconds of all calls of each request: with the default configuration, and in the other model.
  using Times = std::map<uint64_t, std::pair<double, double>>;

  struct Model {
    Planned planned;
    std::vector<std::byte> object;
    std::map<size_t, uint64_t> requests;  // by the number of a kernel call (lower/steps.h): the hash of its request
  };

  // Measured objects contain their weights and have no debug information.
  static CompileOptions self_contained(CompileOptions options) {
    options.weights_file.clear(), options.text_file.clear();
    return options;
  }

  // Sets the target's only level to the best one that this machine supports, and the estimate to the model compiled
  // for it with default configurations.
  bool choose_level() {
    const std::vector<targets::CodeLevel> levels = target_.levels;  // ascending
    for (const targets::CodeLevel& level : std::views::reverse(levels)) {
      target_.levels = {level};
      functions_.clear();
      auto estimate = compile([&](const tensor::ScheduleRequest& request, uint64_t hash) {
        if (auto [it, is_new] = functions_.try_emplace(hash); is_new) {
          it->second.name = request.function.name;
          it->second.candidates = tensor::tuning_candidates(request);
        }
        return tensor::TuningConfig{};
      });
      auto status = estimate ? prepare(*estimate) : std::nullopt;
      if (!status || *status == DLCC_OK) return status.has_value();
    }
    diagnostics_.error(
        DiagnosticId::unsupported_cpu, {},
        fmt::format("--tune runs the model, and this machine cannot run code for {}", levels.front().name), {},
        "tune with -mcpu=native, or on a machine that has this CPU");
    return false;
  }

  std::optional<Model> compile(const lower::Configure& configure) {
    auto planned = compiler_.plan(module_, target_, configure);
    if (!planned) return std::nullopt;
    Model model{std::move(*planned), {}, {}};
    model.object = compiler_.generate(model.planned).bytes();
    size_t number = 0;
    lower::for_each_function(std::as_const(model.planned.program), [&](const lower::Function& f) {
      lower::for_each_step(f.body, [&](const lower::Step& step) {
        if (const auto* call = std::get_if<lower::Invoke>(&step)) model.requests[number] = call->request;
        number += std::holds_alternative<lower::Invoke>(step) || std::holds_alternative<lower::Call>(step);
      });
    });
    return model;
  }

  targets::RunRequest request_for(const Model& m) const {
    return {.object = m.object, .interface = &m.planned.interface, .inputs = inputs_, .profile = {}};
  }

  // Runs the model of default configurations a few times: its latency decides the number of rounds. Returns DLCC_OK or
  // DLCC_UNSUPPORTED_CPU; empty, with diagnostics, when the model does not run.
  std::optional<int> prepare(Model& estimate) {
    auto inputs = random_inputs(estimate.planned, {}, diagnostics_);
    if (!inputs) return std::nullopt;
    inputs_ = std::move(inputs->values);
    targets::RunRequest request = request_for(estimate);
    request.repeat = 4;  // the first calls fill caches
    auto run = targets::run_object(request, diagnostics_);
    if (run && run->status == DLCC_UNSUPPORTED_CPU) return run->status;
    if (!run || !returned_ok(run->status, diagnostics_)) return std::nullopt;
    constexpr double seconds_of_comparison = 2, min_rounds = 8, max_rounds = 40;
    double round = 2 * (1 + calls) * std::ranges::min(run->seconds);
    rounds_ = static_cast<int>(std::clamp(seconds_of_comparison / round, min_rounds, max_rounds));
    estimate_ = std::move(estimate);
    return DLCC_OK;
  }

  // The shortest time of every step, in seconds.
  static std::vector<double> shortest(const std::vector<targets::ProfileRound>& rounds,
                                      std::vector<std::vector<double>> targets::ProfileRound::*of_model) {
    std::vector<double> best;
    for (const targets::ProfileRound& round : rounds)
      for (const std::vector<double>& call : round.*of_model) {
        if (best.empty()) best = call;
        for (size_t k = 0; k < call.size(); ++k) best[k] = std::min(best[k], call[k]);
      }
    return best;
  }

  std::optional<Times> compare(const Model& other) {
    targets::RunRequest request = request_for(*estimate_), rival = request_for(other);
    request.profile = {.probes = {},
                       .between = {},
                       .rounds = rounds_,
                       .calls = calls,
                       .steps = lower::count_steps(estimate_->planned.program),
                       .rival = &rival};
    DLCC_CHECK(other.requests == estimate_->requests, "a tuning configuration changed the steps of the program");
    auto run = targets::run_object(request, diagnostics_);
    if (!run) return std::nullopt;
    std::vector<double> before = shortest(run->profile, &targets::ProfileRound::step_seconds),
                        after = shortest(run->profile, &targets::ProfileRound::rival_seconds);
    Times times;
    for (const auto& [step, request_of_step] : other.requests) {
      auto& [estimated, chosen] = times[request_of_step];
      estimated += before[step], chosen += after[step];
    }
    return times;
  }

  bool is_clearly_faster(uint64_t request, double before, double after) const {
    auto calls_of_request = static_cast<double>(std::ranges::count(estimate_->requests | std::views::values, request));
    return before > least_gain * after && before - after > least_seconds * calls_of_request;
  }

  bool try_candidates() {
    size_t most = 0;
    for (const auto& [hash, f] : functions_) most = std::max(most, f.candidates.size());
    for (size_t turn = 0; turn < most; ++turn) {
      auto chosen = [&](uint64_t hash) {
        const Function& f = functions_.at(hash);
        return turn < f.candidates.size() ? f.candidates[turn] : tensor::TuningConfig{};
      };
      tell(fmt::format("tune: candidate {} of {}", turn + 1, most));
      auto model = compile([&](const auto&, uint64_t hash) { return chosen(hash); });
      auto times = model ? compare(*model) : std::nullopt;
      if (!times) return false;
      for (const auto& [hash, both] : *times) {
        auto [before, after] = both;
        Function& f = functions_.at(hash);
        f.by_estimate = f.by_estimate > 0 ? std::min(f.by_estimate, before) : before;
        double known = f.best == tensor::TuningConfig{} ? 1 : f.seconds / f.by_estimate;
        if (is_clearly_faster(hash, before, after) && after / before < known)
          f.best = chosen(hash), f.seconds = after / before * f.by_estimate;
      }
    }
    return true;
  }

  // Runs the winners together, several times. Each time the object is loaded again, since the addresses of code and
  // constants matter, too. The whole network must be faster as well, since a kernel changes the caches of its
  // neighbours.
  bool confirm() {
    constexpr int times_to_win = 2;
    auto model = compile([&](const auto&, uint64_t hash) { return functions_.at(hash).best; });
    if (!model) return false;
    std::set<uint64_t> lost;
    double gain = 0;
    for (int k = 0; k < times_to_win; ++k) {
      tell(fmt::format("tune: all winners together, {} of {}", k + 1, times_to_win));
      auto times = compare(*model);
      if (!times) return false;
      for (const auto& [hash, both] : *times) {
        auto [before, after] = both;
        gain += before - after;
        if (!is_clearly_faster(hash, before, after)) lost.insert(hash);
        functions_.at(hash).by_estimate = before;
        functions_.at(hash).seconds = after;
      }
    }
    for (auto& [hash, f] : functions_)
      if (gain <= 0 || lost.contains(hash)) f.best = {}, f.seconds = f.by_estimate;
    return true;
  }

  void tell(const std::string& what) const {
    if (compiler_.options().progress) compiler_.options().progress(what);
  }

  TuningRecords records() const {
    TuningRecords result;
    for (uint64_t hash : estimate_->requests | std::views::values) {
      const Function& f = functions_.at(hash);
      result.records[{target_.name, target_.levels[0].cpu, hash}] = {f.name, f.best, f.seconds, f.by_estimate};
    }
    return result;
  }

  static constexpr int calls = 4;  // of each model in a round

  Compiler compiler_;
  const relay::Module& module_;
  Diagnostics& diagnostics_;
  targets::Target target_;  // with one level, once it is chosen
  std::map<uint64_t, Function> functions_;
  std::vector<Constant> inputs_;
  int rounds_ = 0;
  std::optional<Model> estimate_;
};

}  // namespace

std::optional<TuningRecords> tune(const CompileOptions& options, const relay::Module& module,
                                  Diagnostics& diagnostics) {
  return Tuner(options, module, diagnostics).run();
}

}  // namespace dlcc
