// dlcc MODEL -o OBJECT: compiles a model to an object, a header and, on request, texts of its stages.
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

// Whether the object is standard output, a device or a pipe, so that no other file can be written next to it.
bool is_stream(const std::string& object) {
  std::error_code ignored;  // writing the object reports it
  return object == "-" || std::filesystem::is_other(std::filesystem::status(object, ignored));
}

std::string without_suffix(const std::string& path) {
  size_t dot = path.rfind('.'), slash = path.rfind('/');
  return dot == std::string::npos || (slash != std::string::npos && dot < slash) ? path : path.substr(0, dot);
}

// The parser's check of MODEL: a misspelled command is parsed as a model.
std::string check_model(const std::string& path) {
  std::error_code ignored;  // reading the model reports it
  const Command* meant = std::filesystem::exists(path, ignored) ? nullptr : similar_command(path);
  if (!meant) return "";
  // The parser would prefix a returned message with "MODEL: ".
  throw CLI::ParseError(fmt::format("there is no command '{}', did you mean '{}'?", path, meant->name),
                        CLI::ExitCodes::ValidationError);
}

// Escapes a path for a makefile.
std::string escaped(const std::string& path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

// A text that --emit can write: its name there, the suffix of its file and a function that makes it.
struct EmittedText {
  std::string kind, suffix;
  std::string (*make)(Compiler&, const relay::Module&, Planned&);
};

constexpr const char* text_suffix = ".tensor";

const EmittedText emitted_texts[] = {
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

// Measures tuning records and adds them to those of the file --tuning-records, if it exists. Fails before measuring
// when the file or the object cannot be written.
std::optional<TuningRecords> tuned(Compiler& compiler, const relay::Module& module, const std::string& object,
                                   Diagnostics& diagnostics) {
  const std::string& path = compiler.options().tuning_records;
  if (!can_write({path, object}, diagnostics)) return std::nullopt;
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

// The kinds of output to write, without duplicates.
std::vector<std::string> wanted_kinds(const Outputs& out) {
  std::vector<std::string> result;
  std::stringstream kinds(out.emit + (out.debug ? ",tensor" : ""));
  for (std::string kind; std::getline(kinds, kind, ',');)
    if (!std::ranges::count(result, kind)) result.push_back(kind);
  return result;
}

// Whether no output would overwrite an input; reports those that would.
bool differ_from_inputs(const std::vector<OutputFile>& outputs, const std::set<std::string>& inputs,
                        Diagnostics& diagnostics) {
  for (const OutputFile& output : outputs)
    for (const std::string& input : inputs)
      if (std::error_code e; std::filesystem::equivalent(output.path, input, e))
        diagnostics.error(DiagnosticId::bad_option, {.file = output.path}, "the output would overwrite this input");
  return !diagnostics.any();
}

bool write_all(Compiler& compiler, const Outputs& out, relay::Module module, Planned& planned,
               const std::optional<TuningRecords>& records, Diagnostics& diagnostics) {
  std::string stem = without_suffix(out.object);
  bool to_stream = is_stream(out.object);
  targets::ObjectFile object;
  std::deque<std::string> texts;
  std::vector<OutputFile> files;
  auto add_text = [&](std::string path, std::string text) {
    files.push_back({std::move(path), {std::as_bytes(std::span(texts.emplace_back(std::move(text))))}});
  };
  std::vector<std::string> kinds = wanted_kinds(out);
  for (const std::string& kind : kinds)
    for (const EmittedText& text : emitted_texts)
      if (text.kind == kind)
        add_text(to_stream ? out.object : stem + text.suffix, text.make(compiler, module, planned));
  module = {};  // frees the model's bytes before LLVM needs memory
  if (std::ranges::count(kinds, "obj")) {
    object = compiler.generate(planned);
    files.push_back({out.object, object.pieces()});
    if (!planned.weights_file.empty()) files.push_back({compiler.options().weights_file, {planned.weights_file}});
  }
  // The header has the size of the stack, which code generation computes.
  if (std::ranges::count(kinds, "header") && !to_stream) add_text(stem + ".h", emit::make_header(planned.interface));
  if (out.dependencies) {
    add_text(out.dependency_file.empty() ? stem + ".d" : out.dependency_file, dependency_rule(compiler, out));
  }
  if (!differ_from_inputs(files, compiler.files(), diagnostics)) return false;
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
  app.add_option("-o", out.object, "The object file; the header is written next to it. '-': standard output")
      ->type_name("OBJECT");
  add_compile_options(app, options);
  app.get_option("model")->check(check_model);
  add_reporting_options(app, reporting);
  app.callback([&] {
    if (!out.object.empty()) return;
    if (options.passes.stop_after.empty()) throw CLI::RequiredError("-o OBJECT, without a command,");
    out.object = "-";  // nothing will be written
  });
  app.add_flag("--tune", out.tune,
               "Measure tuning configurations on this machine and add the fastest to the file --tuning-records");
  app.add_option("--emit", out.emit, "Outputs: obj, header, relay, tensor, llvm, asm")
      ->type_name("LIST")
      ->capture_default_str()
      ->check([](const std::string& text) {
        std::stringstream kinds(text);
        for (std::string kind; std::getline(kinds, kind, ',');)
          if (kind != "obj" && kind != "header" &&
              std::ranges::none_of(emitted_texts, [&](const EmittedText& text) { return text.kind == kind; }))
            return "unknown output '" + kind + "'";
        return std::string();
      });
  app.add_flag("-g", out.debug,
               "Debug information that refers to the lines of the scheduled program (.tensor), which is written, too");
  app.add_flag("-c")->description("Ignored, for compatibility with compilers: dlcc never links");
  CLI::Option* dependencies = app.add_flag("--MD", out.dependencies, "Write a dependency file for make");
  // option_text, since the library would append "Needs: --MD".
  app.add_option("--MF", out.dependency_file, "Path of the dependency file; default: that of the object, with .d")
      ->type_name("FILE")
      ->option_text("FILE")
      ->needs(dependencies);
  app.add_option("--MT", out.dependency_target, "Target of the dependency rule; default: the object")
      ->type_name("NAME")
      ->option_text("NAME")
      ->needs(dependencies);
  if (auto status = parse(app, args)) return *status;
  std::string stem = without_suffix(out.object == "-" ? options.model : out.object);
  std::string name = stem.substr(stem.rfind('/') + 1);
  if (options.prefix.empty()) options.prefix = name;
  if (out.debug) options.text_file = name + text_suffix;

  Diagnostics diagnostics;
  if (is_stream(out.object) && out.debug)
    diagnostics.error(
        DiagnosticId::bad_option, {},
        fmt::format("-g needs an object file, next to which it writes the scheduled program; -o is {}", out.object));
  if (is_stream(out.object) && out.dependencies && out.dependency_file.empty())
    diagnostics.error(DiagnosticId::bad_option, {}, fmt::format("-MD with -o {} needs -MF FILE", out.object));
  if (out.tune && options.tuning_records.empty())
    diagnostics.error(DiagnosticId::bad_option, {}, "--tune needs --tuning-records FILE, to which it adds its records");
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
