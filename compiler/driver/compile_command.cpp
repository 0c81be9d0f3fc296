// dlcc MODEL -o OBJECT: compiles a model to an object, a header and, on request, texts of its stages.
#include <algorithm>
#include <filesystem>

#include "driver/command_compiler.h"
#include "driver/commands.h"
#include "driver/completions.h"
#include "driver/help.h"
#include "driver/installation.h"
#include "driver/options.h"
#include "driver/outputs.h"
#include "emit/interface.h"
#include "pipeline/tune.h"
#include "relay/types_in.h"
#include "support/ascii.h"
#include "support/files.h"
#include "support/similar_names.h"

namespace dlcc::driver {
namespace {

// An error if there is no file MODEL and the name resembles a command.
Problem check_model(const std::string& path) {
  std::error_code ignored;  // reading the model reports it
  if (std::filesystem::exists(path, ignored)) return {};
  if (path == "compile" || path == "build" || path == "convert")
    return {fmt::format("there is no command '{}'", path), "compiling needs no command: dlcc MODEL -o OBJECT"};
  std::vector<std::string> names;
  for (const Command& c : commands()) {
    names.push_back(c.name);
    if (path == c.name)
      return {fmt::format("the command '{}' follows an option of another command", path),
              fmt::format("the command comes first: dlcc {} MODEL [options]", path)};
  }
  std::string meant = did_you_mean(path, names);
  return meant.empty() ? Problem{} : Problem{fmt::format("there is no command or file '{}'", path), meant};
}

// Measures tuning records and adds them to the records of the file --tuning-records, if it exists. Fails before
// measuring if the file cannot be written.
std::optional<TuningRecords> tuned(Compiler& compiler, const relay::Module& module, Diagnostics& diagnostics) {
  const std::string& path = compiler.options().tuning_records;
  if (!can_write({path}, diagnostics)) return std::nullopt;
  TuningRecords all;
  if (std::error_code ignored; std::filesystem::exists(path, ignored)) {
    auto known = read_tuning_records(path, diagnostics);
    if (!known) return std::nullopt;
    all.add(*known);
  }
  auto measured = tune(compiler.options(), module, diagnostics);
  if (!measured) return std::nullopt;
  all.add(*measured);
  return all;
}

void add_printing_flags(CommandLine& line) {
  line.add_printing_flag("--version", "Print the version of dlcc and of LLVM, the targets and the build", version_text);
  line.add_printing_flag("--print-runtime-dir", "Print the folder of the runtime library libdlcc_rt.a", runtime_folder);
  line.add_printing_flag("--print-commands", "Print the names of the commands", [] {
    std::string names;
    for (const Command& c : commands()) names += std::string(c.name) + "\n";
    return names;
  });
  line.last_option().hidden = true;
  line.add({.name = "--print-completion",
            .placeholder = "bash|zsh|fish",
            .help = "Print a script that completes command lines of dlcc in this shell",
            .store = store_by([&line](const std::string& shell) {
              line.print_instead([shell] { return completion_script(shell, describe_commands()); });
            }),
            .group = Group::messages,
            .choices = {"bash", "zsh", "fish"}});
}

// The name of the object, or of the model if that is standard output, without folder and suffix.
std::string name_of_output(const Outputs& out, const CompileOptions& options) {
  const std::string stem = without_suffix(out.object == "-" ? options.model : out.object);
  return stem.substr(stem.rfind('/') + 1);
}

// An error if -o names a folder.
Problem check_is_file(const Outputs& out, const CompileOptions& options) {
  std::error_code ignored;  // writing the object reports it
  if (!out.object.ends_with('/') && !std::filesystem::is_directory(out.object, ignored)) return {};
  const std::string model = options.model == "-" ? "model" : options.model;
  const auto path = std::filesystem::path(out.object) / std::filesystem::path(model).stem();
  return {fmt::format("-o {} is a folder", out.object), fmt::format("name the object: -o {}.o", path.string())};
}

// Two objects whose names have no letter of C would have the same default prefix and could not be linked together.
Problem check_prefix(const Outputs& out, const CompileOptions& options) {
  const std::string name = name_of_output(out, options);
  const bool has_letter = std::ranges::any_of(name, is_alphanumeric);
  if (has_letter || !options.prefix.empty() || out.object == "-") return {};
  return {fmt::format("'{}' has no letter with which the names of C functions can begin", name),
          "give them a prefix: --prefix=NAME"};
}

// The diagnostics with remarks in place of errors.
Diagnostics as_remarks(const Diagnostics& diagnostics) {
  Diagnostics result;
  for (Diagnostic d : diagnostics.list()) {
    if (d.severity == Severity::error) d.severity = Severity::remark;
    result.add(std::move(d));
  }
  return result;
}

// Writes the module after all graph passes. If they refuse it, because there is no native code for it, writes it as it
// was read, with remarks why.
int write_relay_alone(Compiler& compiler, const Outputs& out, Diagnostics& diagnostics, const Reporting& reporting) {
  const auto read = compiler.import();
  if (!read || is_failure(diagnostics, reporting)) return report(diagnostics, reporting);
  const auto optimized = compiler.optimize(relay::copy_with_own_variables(*read));
  if (!optimized && !diagnostics.has_errors()) return report(diagnostics, reporting);  // --stop-after
  Diagnostics found = optimized ? diagnostics : as_remarks(diagnostics);
  if (!is_failure(found, reporting)) write_relay(compiler, out, optimized ? *optimized : *read, found);
  return report(found, reporting);
}

Section section_of_commands() {
  Section section{"Commands", {}};
  for (const Command& c : commands()) section.rows.emplace_back(c.name, c.summary);
  return section;
}

}  // namespace

int compile_command(CommandLine& line) {
  CompileOptions options;
  Outputs out;
  bool tunes = false;
  line.describe(
      "dlcc compiles a neural network to one object file and one C header. 'dlcc COMMAND --help' describes a command.");
  add_output_options(line, out);
  add_compile_options(line, options, check_model);
  add_input_option(line, options);
  line.add({.name = "--tune",
            .placeholder = "",
            .help = "Measure tuning configurations on this machine and add the fastest to the file --tuning-records",
            .store = store_true(tunes),
            .group = Group::code});
  add_printing_flags(line);
  line.add(section_of_commands());
  for (const Command& c : commands()) line.add_related_page(std::string("dlcc-") + c.name);
  line.after_values([&]() -> Problem {
    if (tunes && options.tuning_records.empty())
      return {"--tune needs --tuning-records FILE, to which it adds its records"};
    if (out.object.empty() && options.passes.stop_after.empty())
      return {"-o OBJECT is missing", "usage: " + usage(line)};
    if (out.object.empty()) out.object = "-";  // nothing will be written
    if (Problem folder = check_is_file(out, options); !folder.message.empty()) return folder;
    return check_prefix(out, options);
  });
  if (auto status = line.parse()) return *status;
  const std::string name = name_of_output(out, options);
  if (options.prefix.empty()) options.prefix = emit::c_identifier(name);
  if (out.debug_text) options.text_file = scheduled_text_name(name);

  Diagnostics diagnostics;
  if (!can_write_outputs(out, options, diagnostics)) return report(diagnostics, line.reporting());
  CommandCompiler compiler(options, diagnostics);
  if (is_relay_alone(out) && !tunes) return write_relay_alone(compiler, out, diagnostics, line.reporting());
  auto module = compiler.optimize();
  auto records = module && tunes ? tuned(compiler, *module, diagnostics) : std::nullopt;
  if (records) compiler.use(*records);
  auto planned = module && !is_failure(diagnostics, line.reporting()) ? compiler.plan(*module) : std::nullopt;
  if (planned) write_outputs(compiler, out, std::move(*module), *planned, records, diagnostics);
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver
