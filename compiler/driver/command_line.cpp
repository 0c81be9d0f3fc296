#include "driver/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "driver/foreign_options.h"
#include "driver/help.h"
#include "support/similar_names.h"

namespace dlcc::driver {
namespace {

// CLI11 requires two dashes for names of more than one letter, where gcc has one: -mcpu.
std::string library_spelling(const std::string& name) { return name.size() > 2 && name[1] != '-' ? "-" + name : name; }

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (size_t k = 0; k < names.size(); ++k) text += (k == 0 ? "" : k + 1 == names.size() ? " or " : ", ") + names[k];
  return text;
}

// Whether the value of a spelling such as -o, -j or -MF is an argument of its own or follows at once, without '='.
bool is_short(const std::string& spelling) { return spelling.size() == 2 || spelling.starts_with("-M"); }

}  // namespace

bool asks_for_json(const std::vector<std::string>& args) {
  for (size_t k = 0; k < args.size(); ++k)
    if (args[k] == "--diagnostics=json" || (args[k] == "--diagnostics" && k + 1 < args.size() && args[k + 1] == "json"))
      return true;
  return false;
}

// One run of CLI11 on the arguments of a command line.
class Parser {
 public:
  explicit Parser(CommandLine& line) : line_(line) {
    app_.set_help_flag();
    for (const Option& o : line.options_) {
      std::string names = library_spelling(o.name) + (o.other_name.empty() ? "" : "," + library_spelling(o.other_name));
      if (o.is_flag()) {
        parsed_.push_back(app_.add_flag(names));
      } else {
        parsed_.push_back(app_.add_option(names)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
        parsed_.back()->allow_extra_args(false);
      }
    }
    app_.add_option("positionals", words_)->expected(0, CLI::detail::expected_max_vector_size);
    app_.allow_extras();
  }

  // Throws Problem.
  void run() {
    split();
    std::vector<std::string> unknown = app_.remaining();
    std::erase(unknown, "--");
    if (!unknown.empty()) reject_option(unknown[0]);
    for (size_t k = 0; k < parsed_.size(); ++k) store(line_.options_[k], *parsed_[k]);
    if (line_.to_print_) return;
    store_positionals();
    for (const auto& check : line_.checks_)
      if (Problem p = check(); !p.message.empty()) throw p;
  }

 private:
  // The option that an argument names, with the text after '='. Null for values, and for options that have their value
  // without a '=' (-O2).
  const Option* find(const std::string& arg, std::optional<std::string>& value) const {
    size_t equals = arg.find('=');
    if (equals != std::string::npos) value = arg.substr(equals + 1);
    std::string name = library_spelling(arg.substr(0, equals));
    for (const Option& o : line_.options_)
      if (arg.starts_with('-') && (library_spelling(o.name) == name || library_spelling(o.other_name) == name))
        return &o;
    return nullptr;
  }

  // Passes the arguments to CLI11, in its spelling. An empty value is checked here, since CLI11 would take the next
  // argument as the value.
  void split() {
    std::vector<std::string> spelled;
    bool only_positionals = false;
    for (const std::string& arg : *line_.args_) {
      std::optional<std::string> value;
      const Option* o = only_positionals ? nullptr : find(arg, value);
      only_positionals |= arg == "--";
      if (o && value && o->is_flag()) throw Problem{fmt::format("{} has no value", o->name)};
      if (const std::string name = arg.substr(0, arg.find('=')); o && value && is_short(name))
        throw Problem{fmt::format("the value of {} follows without '='", name),
                      fmt::format("write {}{}{}", name, separator(*o).empty() ? "" : " ", *value)};
      if (o && value && value->empty()) {
        if (!o->optional_value) reject_missing_value(*o);
        o->store("");
        line_.given_.push_back(o->name);
        continue;
      }
      spelled.push_back(o ? library_spelling(arg) : arg);
    }
    std::ranges::reverse(spelled);  // as CLI11 expects
    try {
      app_.parse(std::move(spelled));
    } catch (const CLI::ArgumentMismatch& e) {
      std::optional<std::string> rest;
      const std::string what = e.what();
      const Option* o = find(what.substr(0, what.find(':')), rest);
      if (!o) throw Problem{what};
      reject_missing_value(*o);
    } catch (const CLI::ParseError& e) {
      throw Problem{e.what()};
    }
  }

  void store(const Option& o, const CLI::Option& parsed) {
    if (parsed.count() == 0) return;
    line_.given_.push_back(o.name);
    for (const std::string& value : o.is_flag() ? std::vector<std::string>{""} : parsed.results()) {
      if (!o.choices.empty() && !std::ranges::count(o.choices, value))
        throw Problem{fmt::format("{}: expected {}, found '{}'", o.name, list_of(o.choices), value)};
      if (Problem p = o.store(value); !p.message.empty()) throw Problem{o.name + ": " + p.message, p.help};
    }
  }

  void store_positionals() {
    size_t next = 0;
    for (const Positional& p : line_.positionals_) {
      if (next == words_.size() && p.optional) return;
      if (next == words_.size()) throw Problem{fmt::format("{} is missing", p.name), "usage: " + usage(line_)};
      do {
        if (Problem problem = p.store(words_[next]); !problem.message.empty()) throw problem;
        ++next;
      } while (p.repeated && next < words_.size());
    }
    if (next == words_.size()) return;
    const std::string remedy = line_.explain_extra_(words_[next]);
    throw Problem{fmt::format("unexpected argument '{}'", words_[next]),
                  remedy.empty() ? "usage: " + usage(line_) : remedy};
  }

  [[noreturn]] void reject_missing_value(const Option& o) const {
    throw Problem{fmt::format("{} needs a value: {}", o.name, with_placeholder(o))};
  }

  [[noreturn]] void reject_option(const std::string& arg) const {
    std::vector<std::string> names;
    for (const Option& o : line_.options_) {
      if (!o.hidden) names.push_back(o.name);
      if (!o.other_name.empty()) names.push_back(o.other_name);
    }
    std::string name = arg.substr(0, arg.find('='));
    std::string meant = remedy_for_foreign_option(name, names);
    if (meant.empty()) meant = line_.find_elsewhere_(name);
    if (meant.empty()) meant = did_you_mean(name, names);
    throw Problem{fmt::format("unknown option '{}'", name),
                  meant.empty() ? fmt::format("'{} --help' lists the options", line_.program()) : meant};
  }

  // A remedy for an option of another program: the equivalent option of this command or of another one; "" for other
  // names.
  std::string remedy_for_foreign_option(const std::string& name, const std::vector<std::string>& names) const {
    const auto [option, remedy] = find_foreign_option(name);
    if (option.empty()) return remedy;
    const std::string own_name = option.substr(0, option.find('='));
    const std::string where = std::ranges::count(names, own_name) ? "" : line_.find_elsewhere_(own_name);
    return fmt::format("did you mean '{}'?{}{}", option, where.empty() ? "" : " ", where);
  }

  CommandLine& line_;
  CLI::App app_;
  std::vector<CLI::Option*> parsed_;  // in the order of line_.options_
  std::vector<std::string> words_;    // the positional arguments
};

CommandLine::CommandLine(std::string name, std::string summary, std::optional<std::vector<std::string>> args)
    : name_(std::move(name)), summary_(std::move(summary)), args_(std::move(args)) {
  add_printing_flag("--help", "Print this text", [this] { return help_text(*this); });
  options_.back().other_name = "-h";
  add_printing_flag("--print-man-page", "Print the manual page", [this] { return man_page(*this); });
  options_.back().hidden = true;
}

void CommandLine::add_printing_flag(std::string name, std::string help, std::function<std::string()> text) {
  auto choose = store_by([this, text = std::move(text)](const std::string&) { print_instead(text); });
  add(Option{
      .name = std::move(name), .placeholder = {}, .help = std::move(help), .store = choose, .group = Group::messages});
}

std::optional<int> CommandLine::parse() {
  if (!args_) return 0;
  try {
    Parser(*this).run();
  } catch (const Problem& bad) {
    reporting_.json = asks_for_json(*args_);
    Diagnostics diagnostics;
    diagnostics.error(DiagnosticId::bad_option, {}, bad.message, {}, bad.help);
    return report(diagnostics, reporting_);
  }
  if (!to_print_) return std::nullopt;
  std::cout << to_print_();
  return 0;
}

bool CommandLine::has(const std::string& name) const { return std::ranges::count(given_, name) > 0; }

Store store_text(std::string& variable) {
  return store_by([&variable](const std::string& value) { variable = value; });
}

Store store_true(bool& variable) {
  return store_by([&variable](const std::string&) { variable = true; });
}

Store store_integer(int& variable, int low, int high) {
  return [&variable, low, high](const std::string& value) -> Problem {
    int number = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < low || number > high)
      return {fmt::format("expected a number from {} to {}, found '{}'", low, high, value)};
    variable = number;
    return {};
  };
}

Store store_nonnegative(double& variable) {
  return [&variable](const std::string& value) -> Problem {
    double number = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || !(number >= 0) || std::isinf(number))
      return {fmt::format("expected a number of at least 0, found '{}'", value)};
    variable = number;
    return {};
  };
}

Store append_to(std::vector<std::string>& variable) {
  return store_by([&variable](const std::string& value) { variable.push_back(value); });
}

}  // namespace dlcc::driver
