#include "driver/options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <regex>

#include "relay/passes/passes.h"
#include "support/version.h"

namespace dlcc::driver {
namespace {

// Long options that gcc spells with one dash; CLI11 requires two.
constexpr const char* gcc_options[] = {"-mcpu", "-mattr", "-MD", "-MF", "-MT"};

std::string library_spelling(std::string arg) {
  for (const char* option : gcc_options)
    if (arg == option || arg.starts_with(std::string(option) + "=")) return "-" + arg;
  return arg;
}

std::string users_spelling(const std::string& name) {
  for (const char* option : gcc_options)
    if (name == std::string("-") + option) return option;
  return name;
}

// Formats help with gcc's spelling, and with -o in the usage line of a command that has it.
class Help : public CLI::Formatter {
 public:
  Help() { column_width(36); }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = "\nUsage: " + name;
    for (const CLI::Option* o : app->get_options([](const CLI::Option* o) { return o->get_positional(); }))
      usage += " " + o->get_name(true) + (o->get_expected_max() > 1 ? "..." : "");
    if (const CLI::Option* o = app->get_option_no_throw("-o")) usage += " -o " + o->get_type_name();
    return usage + " [options]\n";
  }

  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return users_spelling(CLI::Formatter::make_option_name(option, is_positional));
  }
};

// Shows the current stage on one line of the terminal; clears the line when `what` is empty.
void show_progress(const std::string& what) {
  constexpr const char* clear_line = "\r\033[K";
  fmt::print(stderr, "{}{}", clear_line, what);
  std::fflush(stderr);
}

// The parser's check of --weights.
std::string check_weights(const std::string& where) {
  for (std::string_view kind : {"section=", "external="})
    if (where.starts_with(kind) && where.size() > kind.size() && where != "external=-") return "";
  return "expected section=NAME or external=FILE, found '" + where + "'";
}

// Throws for "-mcpu=": CLI11 would take the next argument as its value.
void check_value(const std::string& arg) {
  if (arg.starts_with("-") && arg.find('=') == arg.size() - 1)
    throw CLI::ArgumentMismatch(arg.substr(0, arg.size() - 1) + " has no value");
}

bool is_typed(const std::string& option, const std::vector<std::string>& args) {
  return std::ranges::any_of(args, [&](const std::string& a) { return a == option || a.starts_with(option + "="); });
}

// Replaces the long option names in a message of CLI11 by the spellings that were typed, or else by those of --help.
std::string with_users_spellings(std::string message, const CLI::App& app, const std::vector<std::string>& args) {
  for (const CLI::Option* o : app.get_options()) {
    const std::string name = o->get_name();
    if (is_typed(name, args)) continue;
    std::string users = o->get_snames().empty() ? users_spelling(name) : "-" + o->get_snames()[0];
    message = std::regex_replace(message, std::regex("(^| )" + name + "(?=[: ]|$)"), "$1" + users);
  }
  return message;
}

// Whether --diagnostics=json is among the arguments. CLI11 may fail before it parses this option.
bool asks_for_json(const std::vector<std::string>& args) {
  for (size_t k = 0; k < args.size(); ++k)
    if (args[k] == "--diagnostics=json" || (args[k] == "--diagnostics" && k + 1 < args.size() && args[k + 1] == "json"))
      return true;
  return false;
}

}  // namespace

std::string check_pass(const std::string& name) {
  auto passes = relay::all_passes();
  if (std::ranges::count(passes, name, &relay::PassInfo::name)) return "";
  return "there is no pass '" + name + "'";
}

void add_compile_options(CLI::App& app, CompileOptions& o) {
  app.add_option("model", o.model, "The model: ONNX or Relay text; '-': standard input")->required()->option_text(" ");
  app.add_option("--prefix", o.prefix, "Prefix of the C interface; default: the name of the output")->type_name("NAME");
  app.add_option("--target", o.target, "Target; see 'dlcc targets'")->type_name("NAME")->capture_default_str();
  app.add_option("--mcpu", o.mcpu, "A CPU level, a CPU, a comma-separated list of levels, or native")->type_name("CPU");
  app.add_option("--mattr", o.mattr, "CPU features to add or remove: +avx512vnni,-avx512f")->type_name("LIST");
  app.add_option_function<std::string>(
         "-O",
         [&o](const std::string& level) {
           o.schedule.small = level == "s";
           o.optimization = o.schedule.small ? 2 : level[0] - '0';
         },
         "Optimization level, default 2; s: as 2, without algorithms that enlarge the weights")
      ->check(CLI::IsMember({"0", "1", "2", "3", "s"}))
      ->option_text("0|1|2|3|s");
  app.add_option_function<std::string>(
         "--accuracy", [&o](const std::string& how) { o.schedule.strict = how == "strict"; },
         "fast (default): convolutions may lose one decimal digit of accuracy; strict: they do not")
      ->check(CLI::IsMember({"fast", "strict"}))
      ->option_text("fast|strict");
  app.add_option("-j,--jobs", o.jobs, "Threads of the compiler, 1 to 256; the output does not depend on them")
      ->check(CLI::Range(1, 256))
      ->option_text("N");
  app.add_option_function<std::string>(
         "--weights",
         [&o](const std::string& where) {
           (where.starts_with("section") ? o.weights_section : o.weights_file) = where.substr(where.find('=') + 1);
         },
         "section=NAME: store the weights in this section of the object; external=FILE: store them in a file")
      ->type_name("WHERE")
      ->check(check_weights);
  app.add_option("--dim", o.dims, "Value of a symbolic dimension")->type_name("NAME=VALUE")->expected(1)->take_all();
  app.add_option("--threads", o.schedule.threads,
                 "Threads of the compiled model, 1 to 256; more than one requires libdlcc_rt.a or an executor")
      ->check(CLI::Range(1, 256))
      ->option_text("N");
  app.add_option("--tuning-records", o.tuning_records, "Compile with the tuning configurations that --tune measured")
      ->type_name("FILE");
  const char* debugging = "Debugging";
  app.add_option("--dump-after", o.passes.dump_after,
                 "Print the module to standard error after this pass ('all': after each)")
      ->type_name("PASS")
      ->group(debugging)
      ->expected(1)
      ->check([](const std::string& name) { return name == "all" ? "" : check_pass(name); });
  app.add_option("--stop-after", o.passes.stop_after, "Print the module after this pass, then stop")
      ->type_name("PASS")
      ->group(debugging)
      ->check(check_pass);
  app.add_flag("--time-passes", o.time_passes, "Print the time of each stage")->group(debugging);
  app.add_flag("--verify-each", o.passes.verify_each, "Verify the module after every pass")->group(debugging);
  app.add_flag_callback(
      "-v",
      [&o] {
        fmt::print(stderr, "dlcc {}\n", version);
        o.progress = [](const std::string& what) { fmt::print(stderr, "{}{}", what, what.empty() ? "" : "\n"); };
      },
      "Print the version and the stages of the compilation");
  app.callback([&o] {
    if (!o.progress && isatty(STDERR_FILENO) && o.passes.dump_after.empty()) o.progress = show_progress;
  });
}

void add_reporting_options(CLI::App& app, Reporting& r) {
  app.add_option_function<std::string>(
         "--diagnostics", [&r](const std::string& format) { r.json = format == "json"; }, "Format of diagnostics")
      ->option_text("text|json")
      ->check(CLI::IsMember({"text", "json"}));
}

std::optional<int> parse(CLI::App& app, const std::vector<std::string>& args) {
  app.formatter(std::make_shared<Help>());
  app.failure_message([&args](const CLI::App* a, const CLI::Error& e) {
    return with_users_spellings(e.what(), *a, args) + "\nRun with --help for more information.\n";
  });
  const Reporting reporting{.json = asks_for_json(args)};
  try {
    std::ranges::for_each(args, check_value);
    std::vector<std::string> spelled(args.size());
    std::ranges::transform(args, spelled.rbegin(), library_spelling);  // in reverse order, as CLI11 expects
    app.parse(std::move(spelled));
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    bool is_help = e.get_exit_code() == 0;  // or a version
    if (is_help || !reporting.json) return app.exit(e) == 0 ? 0 : 2;
    Diagnostics diagnostics;
    diagnostics.error(DiagnosticId::bad_option, {}, with_users_spellings(e.what(), app, args));
    return report(diagnostics, reporting);
  }
}

}  // namespace dlcc::driver
