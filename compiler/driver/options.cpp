#include "driver/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <thread>

#include "emit/interface.h"
#include "relay/passes/passes.h"
#include "support/ascii.h"
#include "support/similar_names.h"
#include "support/version.h"
#include "targets/target.h"

namespace dlcc::driver {
namespace {

// Shows the current stage on one line of the terminal; clears the line when `what` is empty.
void show_progress(const std::string& what) {
  constexpr const char* clear_line = "\r\033[K";
  print_message(clear_line + what);
  std::fflush(stderr);
}

void print_stage(const std::string& what) {
  if (!what.empty()) print_message(what + "\n");
}

// Stores NAME=SIZES; a name has one value.
Store store_dim(std::map<std::string, SizeRange>& dims) {
  return [&dims](const std::string& dim) -> Problem {
    size_t equals = dim.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == dim.size())
      return {fmt::format("expected NAME=SIZES, found '{}'", dim),
              "for instance batch=8 or batch=1..64; 'dlcc inspect MODEL' names the dimensions"};
    std::string name = dim.substr(0, equals), problem;
    auto range = parse_size_range(dim.substr(equals + 1), problem);
    if (!range)
      return {fmt::format("'{}': {}", dim, problem),
              "a size is a number, such as batch=1, or a range: n=1..64, n=1.. or, for multiples of 8, n=8..64:8"};
    auto [entry, is_new] = dims.emplace(name, *range);
    if (!is_new && entry->second != *range)
      return {fmt::format("'{}' contradicts '{}={}'", dim, name, entry->second.str()), "a dimension has one value"};
    return {};
  };
}

// Whether a section of this name can have read-only data: the linker gives it no other meaning.
bool is_section_for_data(const std::string& name) {
  static constexpr const char* meaningful[] = {
      ".bss",  ".comment", ".ctors", ".debug", ".dtors", ".dyn", ".eh_frame", ".fini",   ".gcc_except_table",
      ".got",  ".init",    ".note",  ".plt",   ".pre",   ".rel", ".shstr",    ".strtab", ".sym",
      ".tbss", ".tdata",   ".text"};
  return std::ranges::none_of(meaningful, [&](const char* prefix) { return name.starts_with(prefix); }) &&
         std::ranges::all_of(name, [](char c) { return is_identifier_character(c) || c == '.' || c == '$'; });
}

// Stores a prefix of C names as it is.
Store store_prefix(std::string& prefix) {
  return [&prefix](const std::string& name) -> Problem {
    if (is_digit(name[0]) || !std::ranges::all_of(name, is_identifier_character))
      return {fmt::format("'{}' cannot begin the names of C functions", name),
              fmt::format("use letters, digits and '_': --prefix={}", emit::c_identifier(name))};
    if (name == "dlcc") return {"'dlcc' begins the names of the runtime library", "choose another prefix"};
    prefix = name;
    return {};
  };
}

Store store_weights_location(CompileOptions& o) {
  return [&o](const std::string& where) -> Problem {
    for (auto [kind, variable] : {std::pair{"section=", &o.weights_section}, {"external=", &o.weights_file}}) {
      if (!where.starts_with(kind) || where.ends_with('=') || where == "external=-") continue;
      *variable = where.substr(where.find('=') + 1);
      if (variable == &o.weights_section && !is_section_for_data(o.weights_section))
        return {fmt::format("the section '{}' cannot have weights", o.weights_section),
                "choose a name of letters, digits, '.', '_' and '$' that is not one of the linker's own, such as "
                ".rodata.weights"};
      if (!o.weights_section.empty() && !o.weights_file.empty())
        return {"section= and external= exclude each other", "the weights are in the object or in a file; choose one"};
      return {};
    }
    return {fmt::format("expected section=NAME or external=FILE, found '{}'", where),
            "section=.rodata.weights puts them in a section of the object, external=model.weights in a file"};
  };
}

std::vector<std::string> cpu_names() {
  std::vector<std::string> names;
  for (const targets::TargetInfo& t : targets::list_targets()) names.insert(names.end(), t.cpus.begin(), t.cpus.end());
  names.push_back("native");
  return names;
}

// The values of -mattr that a shell completes.
std::vector<std::string> signed_features() {
  std::vector<std::string> names;
  for (const targets::TargetInfo& t : targets::list_targets())
    for (const std::string& feature : t.features) names.insert(names.end(), {"+" + feature, "-" + feature});
  return names;
}

void add_code_options(CommandLine& line, CompileOptions& o) {
  auto add = [&line](Option option) {
    option.group = Group::code;
    line.add(std::move(option));
  };
  add({"--target", "NAME", "Target, default x86-64; 'dlcc targets' lists them", store_text(o.target)});
  line.last_option().examples = target_names;
  add({"-mcpu", "CPU", "A CPU level, a CPU, a comma-separated list of levels, or native", store_text(o.mcpu)});
  line.last_option().examples = cpu_names;
  add({"-mattr", "LIST", "CPU features to add or remove: +avx512vnni,-avx512f", store_text(o.mattr)});
  line.last_option().examples = signed_features;
  add({.name = "-O",
       .placeholder = "0|1|2|3|s",
       .help = "Optimization level. 0: none, to debug dlcc itself; 1, 2, 3: all optimizations, the default; s: without "
               "those that enlarge the weights, and layers of like shape share code",
       .store = store_by([&o](const std::string& level) {
         o.schedule.small = level == "s";
         o.optimization = level == "0" ? 0 : 2;
       }),
       .choices = {"0", "1", "2", "3", "s"}});
  add({.name = "--accuracy",
       .placeholder = "fast|strict",
       .help = "fast (default): convolutions may lose one decimal digit of accuracy, erf and tanh of float32 half of "
               "one; strict: they do not",
       .store = store_by([&o](const std::string& how) { o.schedule.strict = how == "strict"; }),
       .choices = {"fast", "strict"}});
  add({"--threads", "N", "Threads of the compiled model, 1 to 256; more than one needs libdlcc_rt.a or an executor",
       store_integer(o.schedule.threads, 1, 256)});
  add({"--weights", "WHERE",
       "section=NAME: store the weights in this section of the object; external=FILE: store them in a file",
       store_weights_location(o)});
  line.last_option().examples = [] { return std::vector<std::string>{"section=", "external="}; };
  add({"--prefix", "NAME", "Prefix of the C interface, default: the name of the output", store_prefix(o.prefix)});
  add({"--tuning-records", "FILE", "Compile with the tuning configurations that --tune measured",
       store_text(o.tuning_records)});
}

void add_debugging_options(CommandLine& line, CompileOptions& o) {
  auto add = [&line](Option option) {
    option.group = Group::debugging;
    line.add(std::move(option));
  };
  add({"--dump-after", "PASS", "Print the module to standard error after this pass; all: after every pass",
       [&o](const std::string& name) {
         o.passes.dump_after.insert(name);
         return name == "all" ? Problem{} : check_pass(name);
       }});
  line.last_option().examples = pass_names;
  add({"--stop-after", "PASS", "Print the module after this pass, then stop", [&o](const std::string& name) {
         o.passes.stop_after = name;
         return check_pass(name);
       }});
  line.last_option().examples = pass_names;
  add({"--time-passes", "", "Print the time of each stage", store_true(o.time_passes)});
  add({"--verify-each", "", "Verify the module after every pass", store_true(o.passes.verify_each)});
}

}  // namespace

Store store_input_form(std::map<std::string, frontends::InputForm>& inputs) {
  return [&inputs](const std::string& text) -> Problem {
    const size_t equals = text.find('=');
    auto form = equals == std::string::npos ? std::nullopt : frontends::parse_input_form(text.substr(equals + 1));
    const bool is_file = text.ends_with(".npy") || text.ends_with(".npz") || text.ends_with(".pb");
    if (!form && is_file)
      return {fmt::format("'{}' is data, and this command needs only the form of an input", text),
              "'dlcc run' and 'dlcc bench' read data of inputs, 'dlcc verify MODEL DATA' reads data sets"};
    if (!form || equals == 0)
      return {fmt::format("'{}' is not NAME=FORM", text),
              "an input is x=[2,3], x=seq:3, x=seq:[2,3],[4,3], x=none, x=value:5 or x=value:[1,2]"};
    const bool is_new = inputs.emplace(text.substr(0, equals), *form).second;
    return is_new ? Problem{}
                  : Problem{fmt::format("'{}': the input has a form already", text), "give an input one form"};
  };
}

void add_input_option(CommandLine& line, CompileOptions& o) {
  line.add({.name = "--input",
            .placeholder = "NAME=FORM",
            .help =
                "Form of an input that the model leaves open. x=[2,3]: the shape of a tensor; x=seq:3: the number of "
                "tensors of a sequence; x=seq:[2,3],[4,3]: their shapes; x=none: the optional is absent; x=value:5 or "
                "x=value:[1,2]: integers that are fixed at compile time. May be repeated",
            .store = store_input_form(o.inputs),
            .group = Group::model});
}

Store store_number(std::map<std::string, int64_t>& numbers) {
  return [&numbers](const std::string& text) -> Problem {
    const size_t equals = text.rfind('=');
    int64_t value = 0;
    const char *begin = text.data() + (equals == std::string::npos ? 0 : equals + 1), *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(begin, end, value);
    if (equals == 0 || equals == std::string::npos || error != std::errc() || stop != end || value < 0)
      return {fmt::format("expected NAME=N with a number N of at least 0, found '{}'", text)};
    auto [entry, is_new] = numbers.emplace(text.substr(0, equals), value);
    if (!is_new && entry->second != value)
      return {fmt::format("'{}' contradicts '{}={}'", text, entry->first, entry->second), "a name has one value"};
    return {};
  };
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const targets::TargetInfo& t : targets::list_targets()) names.push_back(t.name);
  return names;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const relay::PassInfo& p : relay::all_passes()) names.push_back(p.name);
  return names;
}

Problem check_pass(const std::string& name) {
  const std::vector<std::string> names = pass_names();
  if (std::ranges::count(names, name)) return {};
  std::string meant = did_you_mean(name, names);
  if (name == "lower" || name == "schedule") meant = "--emit=tensor writes the lowered and scheduled program";
  return {fmt::format("there is no pass '{}'", name), meant.empty() ? "'dlcc opt --help' lists the passes" : meant};
}

void add_common_options(CommandLine& line, bool has_warnings) {
  Reporting& r = line.reporting();
  line.add({.name = "-Werror",
            .placeholder = "",
            .help = "Treat warnings as errors",
            .store = store_true(r.warnings_are_errors),
            .group = Group::messages,
            .hidden = !has_warnings});
  line.add({.name = "-w",
            .placeholder = "",
            .help = "Print no warnings",
            .store = store_true(r.no_warnings),
            .group = Group::messages,
            .hidden = !has_warnings});
  line.add({.name = "--diagnostics",
            .placeholder = "text|json",
            .help = "Format of errors and warnings on standard error, default text",
            .store = store_by([&r](const std::string& format) { r.json = format == "json"; }),
            .group = Group::messages,
            .choices = {"text", "json"}});
}

void add_compile_options(CommandLine& line, CompileOptions& o, std::function<Problem(const std::string&)> check_model) {
  auto store_model = [&o, check_model](const std::string& path) {
    o.model = path;
    return check_model ? check_model(path) : Problem{};
  };
  line.add(Positional{"MODEL", "The model, in ONNX or as Relay text; '-': standard input", store_model});
  line.add({.name = "--dim",
            .placeholder = "NAME=SIZES",
            .help =
                "Sizes of a symbolic dimension: one size (8), a range (1..64), a range without upper bound (1..) or "
                "multiples (8..64:8). With @16 at the end, estimates of times and memory assume 16. May be "
                "repeated",
            .store = store_dim(o.dims),
            .group = Group::model});
  line.add({.name = "--bound",
            .placeholder = "NAME=N",
            .help =
                "Upper bound of a data-dependent size; the error message about a missing bound gives the NAME. A run "
                "with a larger size returns an error status. May be repeated",
            .store = store_number(o.bounds),
            .group = Group::model});
  line.add({.name = "--params",
            .placeholder = "FILE.npz",
            .help = "Values of parameters of a Relay program's @main, by name: they become constants of the model",
            .store = store_text(o.params),
            .group = Group::model});
  add_code_options(line, o);
  o.jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 256U));
  line.add({.name = "--jobs",
            .placeholder = "N",
            .help = "Threads of the compiler, 1 to 256 (default: one for each processor); the output does not depend "
                    "on their number",
            .store = store_integer(o.jobs, 1, 256),
            .other_name = "-j"});
  line.add({.name = "-v",
            .placeholder = "",
            .help = "Print the version and the stages of the compilation",
            .store = store_by([&o](const std::string&) { o.progress = print_stage; }),
            .group = Group::messages});
  add_common_options(line);
  add_debugging_options(line, o);
  line.after_values([&o, &r = line.reporting()] {
    if (o.progress) print_message(fmt::format("dlcc {}\n", version));
    if (!o.progress && is_terminal() && !r.json && o.passes.dump_after.empty()) o.progress = show_progress;
    return Problem{};
  });
}

void add_json_option(CommandLine& line, bool& json) { line.add({"--json", "", "Print JSON", store_true(json)}); }

size_t leading_options(const std::vector<std::string>& args) {
  static const std::vector<std::string> global_flags = {"-v", "-w", "-Werror", "-h", "--help"};
  size_t k = 0;
  for (; k < args.size(); ++k) {
    if (args[k] == "--diagnostics" && k + 1 < args.size())
      ++k;
    else if (!std::ranges::count(global_flags, args[k]) && !args[k].starts_with("--diagnostics="))
      break;
  }
  return k;
}

}  // namespace dlcc::driver
