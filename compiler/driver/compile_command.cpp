// dlcc MODEL -o OBJECT: the main job.
#include <deque>
#include <filesystem>
#include <iostream>
#include <set>

#include "driver/commands.h"
#include "driver/options.h"
#include "pipeline/tune.h"
#include "support/files.h"
#include "support/version.h"

namespace dlcc::driver {
namespace {

struct Outputs {
  std::string object;
  std::string emit = "obj,header";
  bool debug = false;
  bool dependencies = false;
  std::string dependency_file, dependency_target;
  bool tune = false;
};

// Beside standard output, a device or a pipe there is no place for further files.
bool stands_alone(const std::string& object) {
  std::error_code unknown;  // told when it is written
  return object == "-" || std::filesystem::is_other(std::filesystem::status(object, unknown));
}

std::string without_suffix(const std::string& path) {
  size_t dot = path.rfind('.'), slash = path.rfind('/');
  return dot == std::string::npos || (slash != std::string::npos && dot < slash) ? path : path.substr(0, dot);
}

// The parser's check of the model: where a command is misspelled, its name is taken for one.
std::string check_model(const std::string& path) {
  std::error_code unknown;  // told when it is read
  const Command* meant = std::filesystem::exists(path, unknown) ? nullptr : similar_command(path);
  if (!meant) return "";
  // Thrown, and not returned, as it is not about MODEL.
  throw CLI::ParseError(fmt::format("there is no command '{}', did you mean '{}'?", path, meant->name),
                        CLI::ExitCodes::ValidationError);
}

// A path as make reads it.
std::string escaped(const std::string& path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

// A kind of artefact, where it goes, and what it is.
struct Artefact {
  std::string kind, suffix;
  std::string (*text)(Compiler&, const relay::Module&, Planned&);
};

constexpr const char* text_suffix = ".tensor";

const Artefact artefacts[] = {
    {"relay", ".rly", [](Compiler&, const relay::Module& m, Planned&) { return relay::print(m); }},
    {"tensor", text_suffix,
     [](Compiler&, const relay::Module&, Planned& p) { return lower::print_with_lines(p.program, p.plan).text; }},
    {"llvm", ".ll",
     [](Compiler& c, const relay::Module&, Planned& p) { return c.listing(p, targets::Listing::llvm_ir); }},
    {"asm", ".s",
     [](Compiler& c, const relay::Module&, Planned& p) { return c.listing(p, targets::Listing::assembly); }},
};

std::string dependency_rule(const Compiler& compiler, const Outputs& out) {
  std::string rule = escaped(out.dependency_target.empty() ? out.object : out.dependency_target) + ":";
  for (const std::string& file : compiler.files()) rule += " " + escaped(file);
  return rule + "\n";
}

// The records of the file that the options name, if there is one, with those that are measured now. Nothing is measured
// when they, or the object, could not be written afterwards.
std::optional<TuningRecords> tuned(Compiler& compiler, const relay::Module& module, const std::string& object,
                                   Diagnostics& diagnostics) {
  const std::string& path = compiler.options().tuning_records;
  if (!can_write({path, object}, diagnostics)) return std::nullopt;
  TuningRecords all;
  if (std::error_code unknown; std::filesystem::exists(path, unknown)) {
    auto known = read_tuning_records(path, diagnostics);
    if (!known) return std::nullopt;
    all.add(*known);
  }
  auto measured = tune(compiler.options(), module, diagnostics);
  if (!measured) return std::nullopt;
  all.add(*measured);
  return all;
}

// The kinds of artefacts to write, each once.
std::vector<std::string> wanted_kinds(const Outputs& out) {
  std::vector<std::string> result;
  std::stringstream kinds(out.emit + (out.debug ? ",tensor" : ""));
  for (std::string kind; std::getline(kinds, kind, ',');)
    if (!std::ranges::count(result, kind)) result.push_back(kind);
  return result;
}

// No output replaces what it is made of.
bool are_no_inputs(const std::vector<OutputFile>& outputs, const std::set<std::string>& inputs,
                   Diagnostics& diagnostics) {
  for (const OutputFile& output : outputs)
    for (const std::string& input : inputs)
      if (std::error_code e; std::filesystem::equivalent(output.path, input, e))
        diagnostics.error(DiagnosticId::bad_option, {.file = output.path}, "this file is an input, and an output too");
  return !diagnostics.any();
}

bool write_all(Compiler& compiler, const Outputs& out, relay::Module module, Planned& planned,
               const std::optional<TuningRecords>& records, Diagnostics& diagnostics) {
  std::string stem = without_suffix(out.object);
  bool alone = stands_alone(out.object);
  targets::ObjectFile object;
  std::deque<std::string> texts;
  std::vector<OutputFile> files;
  auto add_text = [&](std::string path, std::string text) {
    files.push_back({std::move(path), {std::as_bytes(std::span(texts.emplace_back(std::move(text))))}});
  };
  std::vector<std::string> kinds = wanted_kinds(out);
  for (const std::string& kind : kinds)
    for (const Artefact& a : artefacts)
      if (a.kind == kind) add_text(alone ? out.object : stem + a.suffix, a.text(compiler, module, planned));
  module = {};  // and the model's bytes with it, so that they and LLVM are not in memory at once
  if (std::ranges::count(kinds, "obj")) {
    object = compiler.generate(planned);
    files.push_back({out.object, object.pieces()});
    if (!planned.weights_file.empty()) files.push_back({compiler.options().weights_file, {planned.weights_file}});
  }
  // The header tells the stack's size, which is known when the object is.
  if (std::ranges::count(kinds, "header") && !alone) add_text(stem + ".h", emit::make_header(planned.interface));
  if (out.dependencies) {
    add_text(out.dependency_file.empty() ? stem + ".d" : out.dependency_file, dependency_rule(compiler, out));
  }
  if (!are_no_inputs(files, compiler.files(), diagnostics)) return false;
  if (records) add_text(compiler.options().tuning_records, records->str());
  return write_files(files, diagnostics);
}

}  // namespace

int compile_command(std::vector<std::string> args) {
  CompileOptions options;
  Reporting reporting;
  Outputs out;
  CLI::App app("dlcc compiles a neural network to one object file and one C header.", "dlcc");
  std::string commands_text = "\nCommands (dlcc COMMAND --help):\n";
  for (const Command& c : commands()) commands_text += fmt::format("  {:10} {}\n", c.name, c.summary);
  app.footer(commands_text);
  app.set_version_flag("--version", std::string("dlcc ") + version, "Print the version");
  app.add_option("-o", out.object, "The object file, or '-'; the header is written beside it")->type_name("OBJECT");
  add_compile_options(app, options);
  app.get_option("model")->check(check_model);
  add_reporting_options(app, reporting);
  app.callback([&] {
    if (!out.object.empty()) return;
    if (options.passes.stop_after.empty()) throw CLI::RequiredError("-o OBJECT, where no command is given,");
    out.object = "-";  // nothing will be written
  });
  app.add_flag("--tune", out.tune,
               "Measure on this machine what schedules may choose, and add it to the file of --tuning-records");
  app.add_option("--emit", out.emit, "What to write: obj, header, relay, tensor, llvm, asm")
      ->type_name("LIST")
      ->capture_default_str()
      ->check([](const std::string& text) {
        std::stringstream kinds(text);
        for (std::string kind; std::getline(kinds, kind, ',');)
          if (kind != "obj" && kind != "header" &&
              std::ranges::none_of(artefacts, [&](const Artefact& a) { return a.kind == kind; }))
            return "there is nothing called '" + kind + "' to emit";
        return std::string();
      });
  app.add_flag("-g", out.debug,
               "Debug information: lines of the scheduled program, which is written beside the object");
  app.add_flag("-c")->description("Accepted as compilers accept it: dlcc never links");
  CLI::Option* dependencies = app.add_flag("--MD", out.dependencies, "Write a make dependency file");
  // Their texts, as the library would add "Needs: --MD".
  app.add_option("--MF", out.dependency_file, "Its path; default: the object's, with .d")
      ->type_name("FILE")
      ->option_text("FILE")
      ->needs(dependencies);
  app.add_option("--MT", out.dependency_target, "The target it names; default: the object")
      ->type_name("NAME")
      ->option_text("NAME")
      ->needs(dependencies);
  if (auto status = parse(app, args)) return *status;
  std::string stem = without_suffix(out.object == "-" ? options.model : out.object);
  std::string name = stem.substr(stem.rfind('/') + 1);
  if (options.prefix.empty()) options.prefix = name;
  if (out.debug) options.text_file = name + text_suffix;

  Diagnostics diagnostics;
  if (stands_alone(out.object) && out.debug)
    diagnostics.error(DiagnosticId::bad_option, {},
                      fmt::format("-g with -o {} leaves no place for the text that code refers to", out.object));
  if (stands_alone(out.object) && out.dependencies && out.dependency_file.empty())
    diagnostics.error(DiagnosticId::bad_option, {},
                      fmt::format("-MD with -o {} needs -MF, which names the dependency file", out.object));
  if (out.tune && options.tuning_records.empty())
    diagnostics.error(DiagnosticId::bad_option, {},
                      "--tune needs --tuning-records, which names the file of its records");
  if (diagnostics.any()) return report(diagnostics, reporting);
  Compiler compiler(options, diagnostics);
  auto module = compiler.optimize();
  auto records = module && out.tune ? tuned(compiler, *module, out.object, diagnostics) : std::nullopt;
  if (records) compiler.use(*records);
  auto planned = module && !diagnostics.any() ? compiler.plan(*module) : std::nullopt;
  if (planned) write_all(compiler, out, std::move(*module), *planned, records, diagnostics);
  if (options.time_passes) std::cerr << compiler.timings();
  return report(diagnostics, reporting);
}

}  // namespace dlcc::driver
