// The compiler from end to end, as values: bytes -> module -> optimized module -> program and plan -> object and
// header. Each command of the driver calls the stages that it needs.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "emit/interface.h"
#include "frontends/frontend.h"
#include "lower/lower.h"
#include "lower/plan.h"
#include "lower/program.h"
#include "lower/program_text.h"
#include "pipeline/compile_options.h"
#include "pipeline/model_contents.h"
#include "pipeline/tuning_records.h"
#include "relay/ir.h"
#include "support/diagnostics.h"
#include "targets/llvm/codegen.h"
#include "targets/target.h"

namespace dlcc {

// The bytes of a model, or of standard input for "-", which can be read only once. Null, with a diagnostic, when they
// cannot be read.
std::shared_ptr<const std::vector<std::byte>> read_model(const std::string& path, Diagnostics&);

// A module lowered and planned for a target.
struct Planned {
  targets::Target target;
  lower::Program program;
  lower::StoragePlan plan;
  emit::Interface interface;
  Constant weights_file;  // contents of the file of weights; without bytes when the object has the weights
};

class Compiler {
 public:
  Compiler(CompileOptions options, Diagnostics& diagnostics);

  // Reads and imports the model. Empty, with diagnostics, when it cannot be read or is malformed.
  std::optional<relay::Module> import();

  // Runs passes by name (pipeline/run_passes.h). Empty when a pass failed or the pass `stop_after` has run.
  std::optional<relay::Module> run_passes(relay::Module, const std::vector<std::string>& names);

  // Lowers an optimized module and plans its storage; the plan has been checked. Schedules have the configurations of
  // the tuning records that apply.
  std::optional<Planned> plan(const relay::Module&);

  // The same for a target with other CPU levels, and with the configurations that `configure` returns.
  std::optional<Planned> plan(const relay::Module&, const targets::Target&, const lower::Configure&);

  // Makes plan() use these tuning records instead of those that the options name.
  void use(TuningRecords records) { tuning_ = std::move(records); }

  // Imports the model and runs all default passes.
  std::optional<relay::Module> optimize();
  // Imports the model and runs the passes up to fusion, before layouts are assigned.
  std::optional<relay::Module> import_and_fuse();

  // Runs the default passes on an imported module.
  std::optional<relay::Module> optimize(relay::Module);

  // Import, default passes and plan.
  std::optional<Planned> compile();

  // Generates the object and sets the interface's `stack_bytes`.
  targets::ObjectFile generate(Planned&);

  // The code of the object as LLVM IR or assembly.
  std::string listing(const Planned&, targets::Listing) const;

  // The stages that ran and their times, as a table.
  std::string timings() const { return timer_.table(); }

  // The files that were read: the model, unless it is standard input, its external data and the tuning records.
  const std::set<std::string>& files() const { return files_; }

  // The operators and parameters of the imported model.
  const ModelContents& contents() const { return contents_; }

  // The inputs and outputs of the imported model, if they are not all tensors.
  const frontends::Arguments& arguments() const { return arguments_; }

  const CompileOptions& options() const { return options_; }
  const std::optional<targets::Target>& target() const { return target_; }  // empty when the name is unknown

 private:
  std::string model_name() const;  // for messages
  std::optional<relay::Module> import_accepted_sizes(std::span<const std::byte>, frontends::ImportOptions);
  bool bind_params(relay::Module&, bool is_relay);
  std::optional<relay::Module> fuse(relay::Module);
  void remark_unused_records(bool any_followed);
  bool fits_address_space(const Planned&);
  bool decide_weights_location(Planned&);
  targets::CodegenOptions codegen_options(const std::optional<lower::ProgramText>&) const;
  std::optional<lower::ProgramText> debug_text(const Planned&) const;

  CompileOptions options_;
  Diagnostics& diagnostics_;
  StageTimer timer_;
  std::optional<targets::Target> target_;
  std::set<std::string> files_;
  std::optional<TuningRecords> tuning_;
  uint64_t model_hash_ = 0;
  ModelContents contents_;
  frontends::Arguments arguments_;
};

}  // namespace dlcc
