#include "pipeline/compile.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>

#include "emit/weights.h"
#include "lower/check_module.h"
#include "lower/lower.h"
#include "lower/steps.h"
#include "relay/passes/passes.h"
#include "support/files.h"
#include "support/version.h"

namespace dlcc {
namespace {

// The passes, read aloud: first over the graph as it means, then over how it is stored.
constexpr const char* graph_passes[] = {
    "fold-constants",      "simplify-inference",
    "fold-constants",      "eliminate-common-subexpressions",
    "eliminate-dead-code", "fuse",
    "fuse-line-buffers",   "eliminate-dead-code",
};
constexpr const char* storage_passes[] = {"assign-layouts"};

std::string folder_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string stem_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

// Types of main's results, tuples flattened.
void result_types(const relay::Type& type, std::vector<const relay::TensorType*>& list) {
  if (const auto* tensor = relay::as<relay::TensorType>(type)) list.push_back(tensor);
  if (const auto* tuple = relay::as<relay::TupleType>(type))
    for (const relay::Type& field : tuple->fields) result_types(field, list);
}

// The interface's tensors, by the types of @main; names are the model's.
std::vector<emit::TensorInterface> describe(const std::vector<const relay::TensorType*>& types,
                                            const std::vector<std::string>& names, const char* unnamed) {
  std::vector<emit::TensorInterface> list;
  std::vector<std::string> taken;
  for (size_t k = 0; k < types.size(); ++k) {
    std::string name = k < names.size() && !names[k].empty() ? names[k] : fmt::format("{}{}", unnamed, k);
    taken.push_back(emit::c_identifier(name, taken));
    list.push_back({name, taken.back(), types[k]->dtype, static_shape(types[k]->shape)});
  }
  return list;
}

}  // namespace

std::string Timings::str() const {
  double total = 0;
  std::string text;
  for (const auto& [what, seconds] : entries) {
    text += fmt::format("{:9.1f} ms  {}\n", seconds * 1e3, what);
    total += seconds;
  }
  return text + fmt::format("{:9.1f} ms  total\n", total * 1e3);
}

template <class F>
auto Compiler::timed(const std::string& what, F&& work) {
  struct Telling {
    const Compiler& compiler;
    ~Telling() { compiler.tell(""); }
  };
  tell(what);
  Telling until_the_end{*this};
  auto start = std::chrono::steady_clock::now();
  auto result = work();
  timings_.entries.emplace_back(what, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

void Compiler::tell(const std::string& progress) const {
  if (options_.progress) options_.progress(progress);
}

Compiler::Compiler(CompileOptions options, Diagnostics& diagnostics)
    : options_(std::move(options)), diagnostics_(diagnostics) {
  target_ = targets::find_target(options_.target, options_.mcpu, options_.mattr, diagnostics_);
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
  for (const std::string& text : options_.dims) {
    size_t equals = text.find('=');
    int64_t value = 0;
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + std::min(equals + 1, text.size()), end, value);
    if (equals == std::string::npos || error != std::errc() || stop != end || value < 0) {
      diagnostics_.error(DiagnosticId::bad_option, {}, fmt::format("--dim expects NAME=VALUE, found '{}'", text));
      return std::nullopt;
    }
    import.dims[text.substr(0, equals)] = value;
  }
  std::shared_ptr<const std::vector<std::byte>> bytes = options_.model_bytes;
  if (!bytes) bytes = timed("read", [&] { return read_model(options_.model, diagnostics_); });
  if (!bytes) return std::nullopt;
  if (options_.model != "-") files_.insert(options_.model);
  import.files_read = &files_;
  model_hash_ = hash_bytes(*bytes);
  return timed("import", [&] { return frontends::import_model(*bytes, import, diagnostics_); });
}

std::optional<relay::Module> Compiler::run_passes(relay::Module module, const std::vector<std::string>& passes) {
  relay::PassContext context{.diagnostics = &diagnostics_,
                             .channel_block = target_ ? target_->channel_block : 1,
                             .schedule = options_.schedule,
                             .machine = target_ ? target_->levels.back().machine : tensor::Machine{}};
  for (const std::string& name : passes) {
    auto all = relay::all_passes();
    auto pass = std::ranges::find(all, name, &relay::PassInfo::name);
    if (pass == all.end()) {
      std::string known;
      for (const relay::PassInfo& p : all) known += (known.empty() ? "" : ", ") + p.name;
      diagnostics_.error(DiagnosticId::bad_option, {}, fmt::format("there is no pass '{}'", name), {},
                         "passes: " + known);
      return std::nullopt;
    }
    module = timed(name, [&] { return pass->run(std::move(module), context); });
    if (diagnostics_.any()) return std::nullopt;
    if (options_.verify_each) {
      Diagnostics broken;
      bool ok = relay::verify(module, broken) && relay::infer_types(module, broken);
      DLCC_CHECK(ok, "after {}:\n{}", name, broken.str());
    }
    if (options_.dump_after.contains(name) || options_.dump_after.contains("all"))
      std::cerr << "// after " << name << "\n" << relay::print(module, false);
    if (options_.stop_after == name) {
      std::cout << relay::print(module);
      stopped_ = true;
      return std::nullopt;
    }
  }
  return module;
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
  std::string choices;
  for (const auto& [hash, config] : followed)
    if (config != tensor::TuningConfig{}) choices += fmt::format("{:016x} {}\n", hash, tensor::str(config));
  if (result && !choices.empty())
    result->interface.provenance += fmt::format(" tuned {:016x}", hash_bytes(std::as_bytes(std::span(choices))));
  remark_on_records(!followed.empty());
  return result;
}

// Records that concern other compilations than this one.
void Compiler::remark_on_records(bool any_followed) {
  auto remark = [&](std::string text) {
    diagnostics_.remark(DiagnosticId::tuning_records, {.file = options_.tuning_records}, std::move(text));
  };
  const std::string& cpu = target_->levels.back().cpu;
  auto others = std::ranges::count_if(tuning_->records, [&](const auto& entry) {
    return entry.first.target != target_->name || entry.first.cpu != cpu;
  });
  if (tuning_->dlcc != version)
    remark(fmt::format("the records do not apply: dlcc {} made them, and this is {}", tuning_->dlcc, version));
  else if (others > 0)
    remark(fmt::format("{} of {} records do not apply: they are not for {}", others, tuning_->records.size(), cpu));
  else if (!any_followed)
    remark("no record is for a function of this model, stored as it is");
}

std::optional<Planned> Compiler::plan(const relay::Module& module, const targets::Target& target,
                                      const lower::Chooser& chooser) {
  Planned result{target, {}, {}, {}, {}};
  std::vector<tensor::Machine> machines;
  for (const targets::CodeLevel& level : target.levels) machines.push_back(level.machine);
  auto program =
      timed("lower", [&] { return lower::lower(module, machines, options_.schedule, diagnostics_, chooser); });
  if (!program) return std::nullopt;
  result.program = std::move(*program);
  result.plan = timed("plan", [&] { return lower::plan_storage(result.program); });
  std::string wrong = timed("check plan", [&] { return lower::check_storage(result.program, result.plan); });
  DLCC_CHECK(wrong.empty(), "the storage plan is wrong: {}", wrong);

  emit::Interface& i = result.interface;
  i.prefix = emit::c_identifier(options_.prefix.empty() ? stem_of(options_.model) : options_.prefix);
  const relay::Function& main = module.functions.at("main");
  std::vector<const relay::TensorType*> inputs, outputs;
  for (const relay::Var& p : main.params) result_types(p->type, inputs);
  result_types(main.result_type ? main.result_type : relay::type_of(module, main.body.result), outputs);
  i.inputs = describe(inputs, module.input_names, "input");
  i.outputs = describe(outputs, module.output_names, "output");
  i.arena_bytes = result.plan.arena_bytes;
  i.arena_alignment = result.plan.arena_alignment;
  for (const Constant& c : result.program.constants) i.weights_bytes += static_cast<int64_t>(c.bytes().size());
  i.macs = lower::total_macs(result.program);
  if (!place_weights(result)) return std::nullopt;
  i.provenance = fmt::format(
      "dlcc {} --target {}{}{} -O{}{}{}{} model {:016x}", version, target_->name,
      options_.mcpu.empty() ? "" : " -mcpu=" + options_.mcpu, options_.mattr.empty() ? "" : " -mattr=" + options_.mattr,
      options_.schedule.small ? "s" : std::to_string(options_.optimization),
      options_.schedule.strict ? " --accuracy=strict" : "", options_.weights_file.empty() ? "" : " --weights external",
      options_.schedule.threads > 1 ? fmt::format(" --threads={}", options_.schedule.threads) : "", model_hash_);
  return result;
}

bool Compiler::place_weights(Planned& planned) {
  if (!options_.weights_file.empty()) {
    emit::WeightsContents file = timed("weights", [&] { return emit::make_weights_file(planned.program); });
    planned.weights_file = std::move(file.bytes);
    planned.interface.weights_file = file.description;
    return true;
  }
  int64_t bytes = emit::lay_out_weights(planned.program, emit::WeightsPlace::section).bytes;
  if (bytes <= targets::largest_weights_section) return true;
  diagnostics_.error(DiagnosticId::too_large, {},
                     fmt::format("the weights take {} bytes, more than the {} that code can reach in its object", bytes,
                                 targets::largest_weights_section),
                     {}, "--weights external=FILE leaves them in a file");
  return false;
}

std::optional<relay::Module> Compiler::fuse(relay::Module module) {
  if (!lower::check_module(module, {.file = model_name()}, diagnostics_)) return std::nullopt;
  return run_passes(std::move(module), {std::begin(graph_passes), std::end(graph_passes)});
}

std::optional<relay::Module> Compiler::import_and_fuse() {
  auto module = import();
  return module ? fuse(std::move(*module)) : std::nullopt;
}

std::optional<relay::Module> Compiler::optimize(relay::Module module) {
  auto fused = fuse(std::move(module));
  return fused ? run_passes(std::move(*fused), {std::begin(storage_passes), std::end(storage_passes)}) : std::nullopt;
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
    codegen.progress = [&](size_t done, size_t all) { tell(fmt::format("generate code: {} of {}", done, all)); };
  auto object = timed("generate code", [&] {
    return targets::generate_object(planned.program, planned.plan, planned.interface, planned.target, codegen);
  });
  planned.interface.stack_bytes = targets::stack_bytes(object.head);
  return object;
}

}  // namespace dlcc
