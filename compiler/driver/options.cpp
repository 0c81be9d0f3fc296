#include "driver/options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace dlcc::driver {
namespace {

// gcc writes some long options with one dash; the parser's library wants two.
std::string gcc_spelling(std::string arg) {
  for (const char* option : {"-mcpu", "-mattr", "-MD", "-MF", "-MT"})
    if (arg == option || arg.starts_with(std::string(option) + "=")) return "-" + arg;
  return arg;
}

}  // namespace

void add_compile_options(CLI::App& app, CompileOptions& o) {
  app.add_option("model", o.model, "The model: ONNX or Relay text; '-' reads standard input")->required();
  app.add_option("--prefix", o.prefix, "Prefix of the C interface; default: the output's name");
  app.add_option("--target", o.target, "Target; see 'dlcc targets'")->capture_default_str();
  app.add_option("--mcpu", o.mcpu, "-mcpu=: a level, a CPU, a comma-separated list of levels, or native");
  app.add_option_function<std::string>(
         "-O",
         [&o](const std::string& level) {
           o.schedule.small = level == "s";
           o.optimization = o.schedule.small ? 2 : level[0] - '0';
         },
         "Optimization level; s: like 2, but constants keep their size")
      ->check(CLI::IsMember({"0", "1", "2", "3", "s"}))
      ->default_str("2");
  app.add_option_function<std::string>(
         "--accuracy", [&o](const std::string& how) { o.schedule.strict = how == "strict"; },
         "fast: convolutions may lose a decimal digit; strict: none does")
      ->check(CLI::IsMember({"fast", "strict"}))
      ->default_str("fast");
  app.add_option("-j,--jobs", o.jobs, "Threads of the compiler; the result does not depend on it")
      ->check(CLI::Range(1, 256));
  app.add_option("--dim", o.dims, "NAME=VALUE: the value of a symbolic dimension")->expected(1)->take_all();
  app.add_option_function<int>(
         "--threads",
         [](int n) {
           if (n != 1) throw CLI::ValidationError("--threads", "models run on one thread in this version");
         },
         "Threads of the compiled model")
      ->check(CLI::Range(1, 1024));
  app.add_option("--dump-after", o.dump_after, "Print the module after this pass ('all': after each)")->expected(1);
  app.add_option("--stop-after", o.stop_after, "Print the module after this pass and stop");
  app.add_flag("--time-passes", o.time_passes, "Print how long each stage took");
  app.add_flag("--verify-each", o.verify_each, "Check the module after every pass");
}

void add_reporting_options(CLI::App& app, Reporting& r) {
  app.add_option_function<std::string>(
         "--diagnostics", [&r](const std::string& format) { r.json = format == "json"; }, "Format of diagnostics")
      ->check(CLI::IsMember({"text", "json"}));
}

std::optional<int> parse(CLI::App& app, std::vector<std::string> args) {
  std::ranges::transform(args, args.begin(), gcc_spelling);
  std::ranges::reverse(args);  // as the library wants a vector
  try {
    app.parse(std::move(args));
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
}

int report(const Diagnostics& diagnostics, const Reporting& r) {
  if (r.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Diagnostic& d : diagnostics.list()) {
      nlohmann::json item = {{"severity", "error"}, {"id", diagnostic_name(d.id)}, {"message", d.message}};
      if (!d.place.file.empty()) item["file"] = d.place.file;
      if (d.place.line > 0) item["line"] = d.place.line, item["column"] = d.place.column;
      if (!d.place.node.empty()) item["node"] = d.place.node;
      if (!d.details.empty()) item["details"] = d.details;
      if (!d.help.empty()) item["help"] = d.help;
      list.push_back(std::move(item));
    }
    fmt::print(stderr, "{}\n", list.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
    return diagnostics.any() ? 1 : 0;
  }
  std::string text = diagnostics.str();
  if (isatty(STDERR_FILENO)) {
    for (size_t at = 0; (at = text.find("error[", at)) != std::string::npos;) {
      size_t end = text.find(']', at);
      if (end == std::string::npos) break;
      text.insert(end + 1, "\033[0m");
      text.insert(at, "\033[1;31m");
      at = end + 12;
    }
  }
  fmt::print(stderr, "{}", text);
  return diagnostics.any() ? 1 : 0;
}

}  // namespace dlcc::driver
