// A command line as data: the options and positional arguments of a command, each with the function that stores its
// value. The same data give the parser (by CLI11), --help, the manual page and the shell completions. Options that gcc
// has are spelled as gcc spells them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/reporting.h"

namespace dlcc::driver {

// An error in a command line, with a remedy, which may be empty. An empty message means that there is no error.
struct Problem {
  std::string message, help = {};
};

// Stores the value of an option, or "" for a flag.
using Store = std::function<Problem(const std::string& value)>;

// The headings of options in --help, in their order there.
enum class Group { general, output, model, code, messages, debugging };

struct Option {
  std::string name;         // "--threads"; with one dash where gcc has it: "-mcpu"
  std::string placeholder;  // of the value in texts: "N"; empty: the option is a flag
  std::string help;
  Store store;
  std::string other_name = {};  // a second spelling: "-j"
  Group group = Group::general;
  std::vector<std::string> choices = {};  // the accepted values; empty: `store` checks the value
  std::function<std::vector<std::string>()> examples =
      nullptr;                  // values that a shell completes, if there are no `choices`
  bool optional_value = false;  // the value may be empty: --passes=
  bool hidden = false;          // not in --help

  bool is_flag() const { return placeholder.empty(); }
};

struct Positional {
  std::string name;  // "MODEL"
  std::string help;
  Store store;
  bool repeated = false;  // one or more arguments, else one
  bool optional = false;  // the arguments may be missing
  // Values that a shell completes; null: file names.
  std::function<std::vector<std::string>()> examples = nullptr;
};

// A heading with lines of "name: explanation" that --help and the manual page show after the options.
struct Section {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;
};

class CommandLine {
 public:
  // For the command `name` ("" is the compilation of a model) with the arguments after its name. Without `args`,
  // parse() only returns 0: the command fills in its options and does nothing.
  CommandLine(std::string name, std::string summary, std::optional<std::vector<std::string>> args);
  CommandLine(const CommandLine&) = delete;

  void describe(std::string text) { description_ = std::move(text); }
  void add(Option option) { options_.push_back(std::move(option)); }
  void add(Positional positional) { positionals_.push_back(std::move(positional)); }
  void add(Section section) { sections_.push_back(std::move(section)); }
  // Adds a manual page to the section SEE ALSO of this command's page.
  void add_related_page(std::string name) { related_pages_.push_back(std::move(name)); }
  // The option that was added last.
  Option& last_option() { return options_.back(); }
  // Sets the function that gives a remedy for an unknown option, such as the commands that have the option; "" if it
  // has none.
  void find_options_elsewhere(std::function<std::string(const std::string& option)> find) {
    find_elsewhere_ = std::move(find);
  }
  // Sets the function that gives a remedy when there are too many positional arguments.
  void explain_extra_arguments(std::function<std::string(const std::string& argument)> explain) {
    explain_extra_ = std::move(explain);
  }
  // Adds a function that parse() calls after all values are stored, e.g. to check them together.
  void after_values(std::function<Problem()> check) { checks_.push_back(std::move(check)); }
  // Makes parse() print `text()` and return 0; called by an option's `store`.
  void print_instead(std::function<std::string()> text) { to_print_ = std::move(text); }
  // Adds a flag that makes parse() print `text()` and return 0.
  void add_printing_flag(std::string name, std::string help, std::function<std::string()> text);

  // Stores the values. Returns an exit status when the command should not run: 0 after a flag that prints a text, 2
  // after an error in the command line, which has been reported.
  std::optional<int> parse();

  // How errors are reported; the common options set it.
  Reporting& reporting() { return reporting_; }
  // Whether this argument was given.
  bool has(const std::string& name) const;

  std::string program() const { return name_.empty() ? "dlcc" : "dlcc " + name_; }
  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  const std::string& description() const { return description_; }
  const std::vector<Option>& options() const { return options_; }
  const std::vector<Positional>& positionals() const { return positionals_; }
  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<std::string>& related_pages() const { return related_pages_; }

 private:
  friend class Parser;

  std::string name_, summary_, description_;
  std::optional<std::vector<std::string>> args_;
  std::vector<Option> options_;
  std::vector<Positional> positionals_;
  std::vector<Section> sections_;
  std::vector<std::string> related_pages_;
  std::vector<std::function<Problem()>> checks_;
  std::function<std::string(const std::string&)> find_elsewhere_ = [](const std::string&) { return ""; };
  std::function<std::string(const std::string&)> explain_extra_ = [](const std::string&) { return ""; };
  std::vector<std::string> given_;  // names of the options that occurred
  std::function<std::string()> to_print_;
  Reporting reporting_;
};

// Whether --diagnostics=json is among the arguments, wherever it stands: errors may precede the option.
bool asks_for_json(const std::vector<std::string>& args);

// Functions for Option::store. The variable must outlive the command line.
Store store_text(std::string& variable);
Store store_true(bool& variable);
Store store_integer(int& variable, int low, int high);
Store store_nonnegative(double& variable);
Store append_to(std::vector<std::string>& variable);

// A function for Option::store that calls `f(value)`, which accepts every value.
template <class F>
Store store_by(F f) {
  return [f](const std::string& value) {
    f(value);
    return Problem{};
  };
}

}  // namespace dlcc::driver
