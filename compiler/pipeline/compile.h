// The compiler from end to end, as values: bytes -> module -> optimized module -> program and plan -> object and
// header. The driver's commands stop wherever they have what they need.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "frontends/frontend.h"
#include "lower/lower.h"
#include "lower/program.h"
#include "pipeline/tuning_records.h"
#include "relay/ir.h"
#include "support/diagnostics.h"
#include "targets/llvm/codegen.h"
#include "targets/target.h"
#include "tensor/schedules/schedule.h"

namespace dlcc {

// What the command line says about one compilation.
struct CompileOptions {
  std::string model;                                               // path, or "-"
  std::shared_ptr<const std::vector<std::byte>> model_bytes = {};  // null: still to be read
  std::string prefix;  // of the C interface; empty: from the output or the model
  std::string target = "x86-64";
  std::string mcpu, mattr;  // as find_target takes them
  int optimization = 2;
  tensor::ScheduleOptions schedule = {};
  int jobs = 1;
  std::vector<std::string> dims;  // "name=value"
  std::string weights_section;    // of the object; empty for the usual one
  std::string weights_file;       // that holds the weights instead of the object; empty: the object has them
  std::string tuning_records;     // path of a file of them that schedules follow; empty for none

  std::string text_file;  // that debug information names as the program's text; empty: there is none (-g)

  // Looking inside.
  std::set<std::string> dump_after;  // passes after which the module is printed to stderr; "all" for every one
  std::string stop_after;            // pass after which the module is printed to stdout and the work ends
  bool time_passes = false;
  bool verify_each = false;  // check the module's rules and types after every pass
  // Called with what a stage does when it begins and as it goes on, with nothing when it ends; from one thread at a
  // time.
  std::function<void(const std::string&)> progress;
};

// The model's bytes, for those who import it more than once: standard input can be read only once. Null, with a
// diagnostic, when they cannot be read.
std::shared_ptr<const std::vector<std::byte>> read_model(const std::string& path, Diagnostics&);

// Seconds spent in the stages, in order; printed by --time-passes.
struct Timings {
  std::vector<std::pair<std::string, double>> entries;
  std::string str() const;
};

// A module lowered and planned for a target.
struct Planned {
  targets::Target target;
  lower::Program program;
  lower::StoragePlan plan;
  emit::Interface interface;
  std::vector<std::byte> weights_file;  // its contents; empty when the object has the weights
};

class Compiler {
 public:
  Compiler(CompileOptions options, Diagnostics& diagnostics);

  // Reads and imports the model. Empty, with diagnostics, when that is not possible.
  std::optional<relay::Module> import();

  // Runs passes by name. Empty when a name is unknown, a pass failed, or stop_after was reached (stopped() tells).
  std::optional<relay::Module> run_passes(relay::Module, const std::vector<std::string>& passes);
  bool stopped() const { return stopped_; }

  // Lowers an optimized module and plans its storage; the plan has been checked. Schedules choose as the tuning records
  // say, where these apply.
  std::optional<Planned> plan(const relay::Module&);

  // The same for a target with other CPU levels, and with other choices.
  std::optional<Planned> plan(const relay::Module&, const targets::Target&, const lower::Chooser&);

  // Records that plan() follows in place of those that the options name.
  void use(TuningRecords records) { tuning_ = std::move(records); }

  // Import and the default passes; import and those up to fusion, before storage is decided.
  std::optional<relay::Module> optimize();
  std::optional<relay::Module> import_and_fuse();

  // The default passes on an imported module.
  std::optional<relay::Module> optimize(relay::Module);

  // Everything up to the plan.
  std::optional<Planned> compile();

  // The object; the interface learns how deep its stack is.
  targets::ObjectFile generate(Planned&);

  // The same code as text.
  std::string listing(const Planned&, targets::Listing) const;

  const Timings& timings() const { return timings_; }

  // The files that were read: the model, unless it is standard input, and its external data.
  const std::set<std::string>& files() const { return files_; }

  const CompileOptions& options() const { return options_; }
  const std::optional<targets::Target>& target() const { return target_; }  // empty when it was not found

 private:
  template <class F>
  auto timed(const std::string& what, F&& work);
  void tell(const std::string& progress) const;
  std::string model_name() const;  // for messages
  std::optional<relay::Module> fuse(relay::Module);
  void remark_on_records(bool any_followed);
  bool place_weights(Planned&);
  targets::CodegenOptions codegen_options(const std::optional<lower::ProgramText>&) const;
  std::optional<lower::ProgramText> debug_text(const Planned&) const;

  CompileOptions options_;
  Diagnostics& diagnostics_;
  Timings timings_;
  std::optional<targets::Target> target_;
  std::set<std::string> files_;
  std::optional<TuningRecords> tuning_;
  uint64_t model_hash_ = 0;
  bool stopped_ = false;
};

}  // namespace dlcc
