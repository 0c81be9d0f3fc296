#include "driver/outputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "driver/report/report.h"
#include "driver/report/report_page.h"
#include "lower/instantiate.h"
#include "pipeline/at_sizes.h"
#include "pipeline/selftest.h"
#include "support/files.h"

namespace dlcc::driver {
namespace {

// A text that --emit can write: its name there, the suffix of its file and a function that makes it.
struct EmittedText {
  std::string kind, suffix;
  std::string (*make)(Compiler&, const relay::Module&, Planned&);
};

constexpr const char* relay_kind = "relay";
constexpr const char* text_suffix = ".tensor";
constexpr const char* selftest_kind = "selftest";

const EmittedText emitted_texts[] = {
    {relay_kind, ".rly", [](Compiler&, const relay::Module& m, Planned&) { return relay::print(m); }},
    {"tensor", text_suffix,
     [](Compiler&, const relay::Module&, Planned& p) { return lower::print_with_lines(p.program, p.plan).text; }},
    {"legalized", ".legalized.tensor",
     [](Compiler& c, const relay::Module&, Planned& p) { return c.listing(p, targets::Listing::tensor_ir); }},
    {"llvm", ".ll",
     [](Compiler& c, const relay::Module&, Planned& p) { return c.listing(p, targets::Listing::llvm_ir); }},
    {"asm", ".s",
     [](Compiler& c, const relay::Module&, Planned& p) { return c.listing(p, targets::Listing::assembly); }},
};

// Whether the object is standard output, a device or a pipe, so that no other file can be written next to it.
bool is_stream(const Outputs& out) {
  std::error_code ignored;  // writing the object reports it
  const std::string folder = std::filesystem::path(out.object).lexically_normal().parent_path();
  return out.object == "-" || folder == "/dev" || folder == "/dev/fd" ||
         std::filesystem::is_other(std::filesystem::status(out.object, ignored));
}

// The kinds of outputs to write, without duplicates. A stream has the object alone unless --emit names another kind.
std::vector<std::string> wanted_kinds(const Outputs& out) {
  std::vector<std::string> result;
  std::stringstream kinds(out.emit.value_or(is_stream(out) ? "obj" : "obj,header") + (out.debug_text ? ",tensor" : ""));
  for (std::string kind; std::getline(kinds, kind, ',');)
    if (!std::ranges::count(result, kind)) result.push_back(kind);
  return result;
}

std::vector<std::string> kinds_of_outputs() {
  std::vector<std::string> kinds = {"obj", "header"};
  for (const EmittedText& text : emitted_texts) kinds.push_back(text.kind);
  kinds.push_back(selftest_kind);
  return kinds;
}

Problem check_kinds(const std::string& list) {
  const std::vector<std::string> known = kinds_of_outputs();
  std::stringstream kinds(list);
  size_t count = 0;
  for (std::string kind; std::getline(kinds, kind, ','); ++count)
    if (!std::ranges::count(known, kind))
      return {fmt::format("unknown output '{}'", kind), fmt::format("the outputs are {}", fmt::join(known, ", "))};
  return count > 0 ? Problem{} : Problem{"no output is named"};
}

// The kind of file that the suffix of a path implies; "" if it may be an object.
std::string kind_of_suffix(const std::string& path) {
  static const std::map<std::string, std::string> kinds = {
      {".c", "a source file"},     {".cc", "a source file"},    {".cpp", "a source file"},
      {".cxx", "a source file"},   {".h", "a header"},          {".hpp", "a header"},
      {".py", "a Python program"}, {".onnx", "a model"},        {".pb", "a model"},
      {".tflite", "a model"},      {".rly", "a Relay program"}, {".a", "an archive"},
      {".so", "a shared library"}, {".npy", "an array"},        {".npz", "an archive of arrays"},
      {".json", "a JSON file"},    {".txt", "a text file"},     {".d", "a dependency file"}};
  const auto known = kinds.find(std::filesystem::path(path).extension());
  return known == kinds.end() ? "" : known->second;
}

// An error if the suffix of -o names another kind of file than an object.
Problem check_object_path(const std::string& path) {
  const std::string kind = kind_of_suffix(path), object = without_suffix(path) + ".o";
  if (kind.empty()) return {};
  std::string remedy = fmt::format("name the object: -o {}", object);
  if (path.ends_with(".h")) remedy += "; the header is written next to it";
  if (path.ends_with(".a")) remedy += fmt::format("; then 'ar rcs {} {}' makes the archive", path, object);
  if (path.ends_with(".so")) remedy += fmt::format("; then 'cc -shared -o {} {}' makes the library", path, object);
  return {fmt::format("-o {} names {}, and dlcc writes an object file", path, kind), remedy};
}

// Whether a source file may be written: the path is free, or has one that dlcc generated.
bool is_replaceable(const std::string& path, const std::string& what, Diagnostics& diagnostics) {
  std::ifstream file(path);
  std::string first_line;
  if (!std::getline(file, first_line) || first_line.find(emit::header_mark) != first_line.npos) return true;
  diagnostics.error(DiagnosticId::bad_option, {.file = path},
                    what + " would overwrite this file, which dlcc did not make", {},
                    fmt::format("choose another path for the object, next to which {} is written, or remove the file",
                                what.substr(0, what.find(" of"))));
  return false;
}

Problem check_outputs(const Outputs& out) {
  constexpr const char* needs_md = "add -MD, which writes a dependency file";
  if (out.phony_dependencies && !out.dependencies) return {"-MP requires -MD", needs_md};
  if (!out.dependency_file.empty() && !out.dependencies) return {"-MF requires -MD", needs_md};
  if (!out.dependency_target.empty() && !out.dependencies) return {"-MT requires -MD", needs_md};
  const bool has_object = std::ranges::count(wanted_kinds(out), "obj");
  if (!is_stream(out)) return has_object ? check_object_path(out.object) : Problem{};
  if (out.debug_text)
    return {
        fmt::format("-g needs an object file, next to which it writes the scheduled program; -o is {}", out.object)};
  if (out.dependencies && out.dependency_file.empty())
    return {fmt::format("-MD with -o {} needs -MF FILE", out.object)};
  if (wanted_kinds(out).size() > 1)
    return {fmt::format("--emit={} names several outputs, and -o {} takes one", *out.emit, out.object)};
  return {};
}

// The file for a kind of outputs. A stream is the file for all kinds.
std::string path_of_kind(const Outputs& out, const std::string& kind) {
  if (kind == "obj" || is_stream(out)) return out.object;
  if (kind == selftest_kind) return without_suffix(out.object) + "_selftest.c";
  auto text = std::ranges::find(emitted_texts, kind, &EmittedText::kind);
  return without_suffix(out.object) + (text == std::end(emitted_texts) ? ".h" : text->suffix);
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

std::string dependency_rules(const Compiler& compiler, const Outputs& out) {
  std::string rule = escaped(out.dependency_target.empty() ? out.object : out.dependency_target) + ":", phony;
  for (const std::string& file : compiler.files()) {
    rule += " " + escaped(file);
    if (out.phony_dependencies && file != compiler.options().model) phony += escaped(file) + ":\n";
  }
  return rule + "\n" + phony;
}

std::string dependency_path(const Outputs& out) {
  return out.dependency_file.empty() ? without_suffix(out.object) + ".d" : out.dependency_file;
}

}  // namespace

void add_output_options(CommandLine& line, Outputs& out) {
  auto add = [&line](Option option) {
    option.group = Group::output;
    line.add(std::move(option));
  };
  add({"-o", "OBJECT", "The object file; the header is written next to it. '-': standard output",
       store_text(out.object)});
  add({"--emit", "LIST",
       "Outputs: obj, header, relay (the module after all graph passes; alone, of any program), tensor (the scheduled "
       "program), legalized (its kernels after the passes before code generation), llvm, asm, "
       "selftest (a C program that checks the object on its target); default obj,header",
       [&out](const std::string& list) {
         out.emit = list;
         return check_kinds(list);
       }});
  line.last_option().examples = kinds_of_outputs;
  add({"-g", "",
       "Debug information for gdb and perf: the lines of the scheduled program, which is written as text (.tensor) "
       "next to the object",
       store_true(out.debug_text)});
  add({"-c", "", "Ignored, as dlcc never links; for build systems that pass it", store_by([](const std::string&) {})});
  add({"-MD", "", "Write a dependency file for make", store_true(out.dependencies)});
  line.last_option().other_name = "-MMD";
  add({"-MP", "", "With -MD: add a rule for each file but the model, so that a removed file is no error in make",
       store_true(out.phony_dependencies)});
  add({"-MF", "FILE", "Path of the dependency file, default: that of the object, with .d",
       store_text(out.dependency_file)});
  add({"-MT", "NAME", "Target of the rule in the dependency file, default: the object",
       store_text(out.dependency_target)});
  line.last_option().other_name = "-MQ";
  add(report_option(out.reports));
  add_memory_limits(line, out.limits);
  line.after_values([&out] { return check_outputs(out); });
}

Option report_option(std::vector<std::string>& paths) {
  return {"--report", "FILE",
          "Write a report with the time of each step and the memory over time: FILE.html, a page, or FILE.json. May be "
          "repeated",
          [&paths](const std::string& path) {
            paths.push_back(path);
            return Problem{check_report_path(path)};
          }};
}

std::string without_suffix(const std::string& path) {
  size_t dot = path.rfind('.'), slash = path.rfind('/');
  return dot == std::string::npos || (slash != std::string::npos && dot < slash) ? path : path.substr(0, dot);
}

std::string scheduled_text_name(const std::string& stem) { return stem + text_suffix; }

bool can_write_outputs(const Outputs& out, const CompileOptions& options, Diagnostics& diagnostics) {
  std::vector<std::string> paths;
  for (const std::string& kind : wanted_kinds(out)) paths.push_back(path_of_kind(out, kind));
  if (out.dependencies) paths.push_back(dependency_path(out));
  paths.insert(paths.end(), out.reports.begin(), out.reports.end());
  if (!options.weights_file.empty()) paths.push_back(options.weights_file);
  if (!can_write(paths, diagnostics) || !differ_from_inputs(paths, {options.model}, diagnostics)) return false;
  const std::map<std::string, std::string> sources = {{"header", "the header of the object"},
                                                      {selftest_kind, "the self-test of the object"}};
  return std::ranges::all_of(wanted_kinds(out), [&](const std::string& kind) {
    const auto source = sources.find(kind);
    return source == sources.end() || is_replaceable(path_of_kind(out, kind), source->second, diagnostics);
  });
}

bool is_relay_alone(const Outputs& out) {
  return wanted_kinds(out) == std::vector<std::string>{relay_kind} && out.reports.empty() && !out.limits.ram &&
         !out.limits.flash;
}

bool write_relay(const Compiler& compiler, const Outputs& out, const relay::Module& module, Diagnostics& diagnostics) {
  const std::string text = relay::print(module);
  const std::string rules = out.dependencies ? dependency_rules(compiler, out) : "";
  std::vector<OutputFile> files = {{path_of_kind(out, relay_kind), {std::as_bytes(std::span(text))}}};
  if (out.dependencies) files.push_back({dependency_path(out), {std::as_bytes(std::span(rules))}});
  return differ_from_inputs({files[0].path}, compiler.files(), diagnostics) && write_files(files, diagnostics);
}

bool write_outputs(Compiler& compiler, const Outputs& out, relay::Module module, Planned& planned,
                   const std::optional<TuningRecords>& records, Diagnostics& diagnostics) {
  targets::ObjectFile object;
  std::deque<std::string> texts;
  std::vector<OutputFile> files;
  auto add_text = [&](std::string path, std::string text) {
    files.push_back({std::move(path), {std::as_bytes(std::span(texts.emplace_back(std::move(text))))}});
  };
  const std::vector<std::string> kinds = wanted_kinds(out);
  const bool has_object = std::ranges::count(kinds, "obj"), has_header = std::ranges::count(kinds, "header");
  for (const EmittedText& text : emitted_texts)
    if (std::ranges::count(kinds, text.kind))
      add_text(path_of_kind(out, text.kind), text.make(compiler, module, planned));
  if (std::ranges::count(kinds, selftest_kind)) {
    auto program = make_selftest(module, planned, diagnostics);
    if (!program) return false;
    add_text(path_of_kind(out, selftest_kind), std::move(*program));
  }
  module = {};  // frees the model's bytes before LLVM needs memory
  // The header and reports have the size of the stack, which code generation computes.
  const bool is_limited = out.limits.ram || out.limits.flash;
  if (has_object || has_header || is_limited || !out.reports.empty()) object = compiler.generate(planned);
  if (is_limited && !check_memory_limits(out.limits, planned, object.sizes(), diagnostics)) return false;
  if (has_object) {
    files.push_back({out.object, object.pieces()});
    if (!planned.weights_file.bytes().empty())
      files.push_back({compiler.options().weights_file, {planned.weights_file.bytes()}});
  }
  if (has_header) add_text(path_of_kind(out, "header"), emit::make_header(planned.interface));
  if (out.dependencies) add_text(dependency_path(out), dependency_rules(compiler, out));
  if (!out.reports.empty()) {
    const Planned typical = at_sizes(planned, lower::typical_sizes(planned.program));
    for (const std::string& path : out.reports)
      add_text(path, report_text(path, report_json({typical, compiler.contents(), object.sizes()})));
  }
  std::vector<std::string> paths;
  for (const OutputFile& file : files) paths.push_back(file.path);
  if (!differ_from_inputs(paths, compiler.files(), diagnostics)) return false;
  if (records) add_text(compiler.options().tuning_records, records->str());
  return write_files(files, diagnostics);
}

}  // namespace dlcc::driver
