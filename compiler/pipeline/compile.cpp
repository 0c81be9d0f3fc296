#include "pipeline/compile.h"

#include <algorithm>

#include "emit/weights.h"
#include "lower/check_module.h"
#include "lower/check_plan.h"
#include "lower/walk.h"
#include "pipeline/bind_parameters.h"
#include "pipeline/describe_interface.h"
#include "pipeline/least_sizes.h"
#include "support/files.h"
#include "support/version.h"
#include "targets/llvm/extensions.h"

namespace dlcc {
namespace {

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

Compiler::Compiler(CompileOptions options, Diagnostics& diagnostics)
    : options_(std::move(options)), diagnostics_(diagnostics), timer_(options_.progress) {
  target_ = targets::find_target(options_.target, options_.mcpu, options_.mattr, diagnostics_);
  if (target_) options_.target = target_->name;
}

std::shared_ptr<const std::vector<std::byte>> read_model(const std::string& path, Diagnostics& diagnostics) {
  auto bytes = read_file(path, diagnostics);
  return bytes ? std::make_shared<const std::vector<std::byte>>(std::move(*bytes)) : nullptr;
}

std::string Compiler::model_name() const { return options_.model == "-" ? "<stdin>" : options_.model; }

std::optional<relay::Module> Compiler::import() {
  if (!target_) return std::nullopt;
  frontends::ImportOptions import;
  import.file = model_name();
  import.folder = folder_of(options_.model);
  import.dims = options_.dims;
  import.inputs = options_.inputs;
  import.bounds = options_.bounds;
  import.find_input_form = options_.find_input_form;
  import.arguments = &arguments_;
  std::shared_ptr<const std::vector<std::byte>> bytes = options_.model_bytes;
  if (!bytes) bytes = timer_.run("read", [&] { return read_model(options_.model, diagnostics_); });
  if (!bytes) return std::nullopt;
  if (options_.model != "-") files_.insert(options_.model);
  import.files_read = &files_;
  model_hash_ = hash_bytes(*bytes);
  auto module = timer_.run("import", [&] { return import_accepted_sizes(*bytes, std::move(import)); });
  if (module && !options_.params.empty() && !bind_params(*module, frontends::is_text(*bytes))) return std::nullopt;
  if (module) contents_ = contents_of(*module);
  return module;
}

// Imports the model. If every run refuses the smallest values of a size, it is imported again without them.
std::optional<relay::Module> Compiler::import_accepted_sizes(std::span<const std::byte> bytes,
                                                             frontends::ImportOptions import) {
  auto module = frontends::import_model(bytes, import, diagnostics_);
  if (!module) return std::nullopt;
  const auto ranges = ranges_of_accepted_sizes(*module);
  if (ranges.empty()) return module;
  for (const auto& [name, range] : ranges) import.dims.insert_or_assign(name, range);
  Diagnostics same;  // as the first time
  auto better = frontends::import_model(bytes, import, same);
  return better ? std::move(better) : std::move(module);
}

// Puts the values of --params in place of parameters.
bool Compiler::bind_params(relay::Module& module, bool is_relay) {
  if (!is_relay) {
    diagnostics_.error(DiagnosticId::bad_option, {.file = options_.params},
                       "--params gives values to the parameters of a Relay program, and an ONNX model has its own");
    return false;
  }
  const auto bytes = read_file(options_.params, diagnostics_);
  if (!bytes) return false;
  files_.insert(options_.params);
  model_hash_ = hash_bytes(*bytes, model_hash_);
  const auto arrays = read_npz(*bytes, {.file = options_.params}, diagnostics_);
  return arrays && bind_parameters(module, *arrays, options_.params, diagnostics_);
}

std::optional<relay::Module> Compiler::run_passes(relay::Module module, const std::vector<std::string>& names) {
  relay::PassContext context{.diagnostics = &diagnostics_,
                             .channel_block = target_ ? target_->channel_block : 1,
                             .schedule = options_.schedule,
                             .machine = target_ ? target_->levels.back().machine : tensor::Machine{},
                             .bounds = options_.bounds};
  return dlcc::run_passes(std::move(module), names, context, options_.passes, timer_);
}

std::optional<Planned> Compiler::plan(const relay::Module& module) {
  if (!tuning_ && !options_.tuning_records.empty()) {
    tuning_ = read_tuning_records(options_.tuning_records, diagnostics_);
    if (!tuning_) return std::nullopt;
    files_.insert(options_.tuning_records);
  }
  if (!tuning_) return plan(module, *target_, {});
  std::map<uint64_t, tensor::TuningConfig> followed;  // by request
  auto follow = [&](const tensor::ScheduleRequest&, uint64_t hash) {
    auto record = tuning_->records.find({target_->name, target_->levels.back().cpu, hash});
    return record == tuning_->records.end() ? tensor::TuningConfig{} : followed[hash] = record->second.config;
  };
  auto result = plan(module, *target_, follow);
  std::string configurations;
  for (const auto& [hash, config] : followed)
    if (config != tensor::TuningConfig{}) configurations += fmt::format("{:016x} {}\n", hash, tensor::str(config));
  if (result && !configurations.empty())
    result->interface.provenance += fmt::format(" tuned {:016x}", hash_bytes(std::as_bytes(std::span(configurations))));
  remark_unused_records(!followed.empty());
  return result;
}

// Adds remarks on why records of the file do not apply to this compilation.
void Compiler::remark_unused_records(bool any_followed) {
  auto remark = [&](std::string text) {
    diagnostics_.remark(DiagnosticId::tuning_records, {.file = options_.tuning_records}, std::move(text));
  };
  const std::string& cpu = target_->levels.back().cpu;
  auto others = std::ranges::count_if(tuning_->records, [&](const auto& entry) {
    return entry.first.target != target_->name || entry.first.cpu != cpu;
  });
  if (tuning_->dlcc != version)
    remark(fmt::format("the records do not apply: they are of dlcc {}, and this is dlcc {}", tuning_->dlcc, version));
  else if (others > 0)
    remark(fmt::format("{} of {} records do not apply: they are not for {}", others, tuning_->records.size(), cpu));
  else if (!any_followed)
    remark("no record is for a function of this model with the layouts that it has here");
}

std::optional<Planned> Compiler::plan(const relay::Module& module, const targets::Target& target,
                                      const lower::Configure& configure) {
  Planned result{target, {}, {}, {}, {}};
  std::vector<tensor::Machine> machines;
  for (const targets::CodeLevel& level : target.levels) machines.push_back(level.machine);
  auto program = timer_.run("lower", [&] {
    return lower::lower(module, machines, options_.schedule, diagnostics_, configure, options_.jobs);
  });
  if (!program) return std::nullopt;
  result.program = std::move(*program);
  targets::remove_unused_extensions(result.program, result.target);
  result.program.largest_object = result.target.largest_object;
  result.plan = timer_.run("plan", [&] { return lower::plan_storage(result.program); });
  std::string wrong =
      timer_.run("check plan", [&] { return lower::check_storage(result.program, result.plan, options_.jobs); });
  DLCC_CHECK(wrong.empty(), "the storage plan is wrong: {}", wrong);

  result.interface = describe_interface(module, result.program, result.plan, options_, result.target, model_hash_);
  if (!fits_address_space(result) || !decide_weights_location(result)) return std::nullopt;
  return result;
}

// Reports a tensor or an arena that is too large for the target's addresses. Sizes of a run are checked in the run.
bool Compiler::fits_address_space(const Planned& planned) {
  const int64_t limit = planned.target.largest_object;
  auto check = [&](const std::string& what, int64_t bytes) {
    if (bytes <= limit) return true;
    diagnostics_.error(
        DiagnosticId::too_large, {},
        fmt::format("{} is {} bytes; {} addresses objects of at most {}", what, bytes, planned.target.name, limit));
    return false;
  };
  bool fits = true;
  lower::for_each_function(planned.program, [&](const lower::Function& f) {
    for (const lower::Value& v : f.values)
      if (const auto bytes = v.bytes.constant(); fits && bytes)
        fits = check(v.name.empty() ? "a tensor" : fmt::format("'{}'", v.name), *bytes);
  });
  return fits && check("the arena", planned.plan.arena_bytes);
}

// Puts the weights into a file of their own, or checks that they fit the object.
bool Compiler::decide_weights_location(Planned& planned) {
  if (!options_.weights_file.empty()) {
    emit::WeightsContents file = timer_.run("weights", [&] { return emit::make_weights_file(planned.program); });
    planned.weights_file = std::move(file.bytes);
    planned.interface.weights_file = file.description;
    return true;
  }
  int64_t bytes = emit::lay_out_weights(planned.program, emit::WeightsContainer::section).bytes;
  if (bytes <= targets::largest_weights_section) return true;
  diagnostics_.error(DiagnosticId::too_large, {},
                     fmt::format("the weights are {} bytes; code can address {} bytes of weights in its object", bytes,
                                 targets::largest_weights_section),
                     {}, "write them to a file: --weights external=FILE");
  return false;
}

std::optional<relay::Module> Compiler::fuse(relay::Module module) {
  auto checked =
      run_passes(std::move(module), {"compile-matches", "localize-recursion", "inline-higher-order",
                                     "inline-defined-sizes", "instantiate-sizes", "merge-tail-calls", "rebuild-tuples",
                                     "check-declared-sizes", "define-sizes", "require-sizes"});
  if (!checked || !lower::check_module(*checked, {.file = model_name()}, diagnostics_)) return std::nullopt;
  return run_passes(std::move(*checked), graph_passes());
}

std::optional<relay::Module> Compiler::import_and_fuse() {
  auto module = import();
  return module ? fuse(std::move(*module)) : std::nullopt;
}

std::optional<relay::Module> Compiler::optimize(relay::Module module) {
  auto fused = fuse(std::move(module));
  return fused ? run_passes(std::move(*fused), storage_passes()) : std::nullopt;
}

std::optional<relay::Module> Compiler::optimize() {
  auto module = import();
  return module ? optimize(std::move(*module)) : std::nullopt;
}

std::optional<Planned> Compiler::compile() {
  auto module = optimize();
  return module ? plan(*module) : std::nullopt;
}

std::optional<lower::ProgramText> Compiler::debug_text(const Planned& planned) const {
  if (options_.text_file.empty()) return std::nullopt;
  return lower::print_with_lines(planned.program, planned.plan);
}

targets::CodegenOptions Compiler::codegen_options(const std::optional<lower::ProgramText>& text) const {
  return {.optimization = options_.optimization,
          .jobs = options_.jobs,
          .weights_section = options_.weights_section,
          .progress = {},
          .text = text ? &*text : nullptr,
          .text_file = options_.text_file};
}

std::string Compiler::listing(const Planned& planned, targets::Listing which) const {
  auto text = debug_text(planned);
  return targets::generate_listing(planned.program, planned.plan, planned.interface, planned.target,
                                   codegen_options(text), which);
}

targets::ObjectFile Compiler::generate(Planned& planned) {
  auto text = debug_text(planned);
  targets::CodegenOptions codegen = codegen_options(text);
  if (options_.progress)
    codegen.progress = [&](size_t done, size_t all) { timer_.tell(fmt::format("generate code: {} of {}", done, all)); };
  auto object = timer_.run("generate code", [&] {
    return targets::generate_object(planned.program, planned.plan, planned.interface, planned.target, codegen);
  });
  planned.interface.stack_bytes = targets::stack_bytes(object.head);
  return object;
}

}  // namespace dlcc
