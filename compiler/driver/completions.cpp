#include "driver/completions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "driver/help.h"
#include "support/diagnostics.h"
#include "support/shell_quoting.h"

namespace dlcc::driver {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

std::vector<std::string> spellings(const Option& o) {
  return o.other_name.empty() ? std::vector{o.name} : std::vector{o.name, o.other_name};
}

// The values that a shell completes for an option; empty: any.
std::vector<std::string> values(const Option& o) { return o.choices.empty() && o.examples ? o.examples() : o.choices; }

bool is_path(const Option& o) { return o.placeholder.ends_with("FILE") || o.placeholder == "OBJECT"; }

// Whether the value follows a '=', as in -mcpu=native.
bool takes_equals(const Option& o) { return !o.is_flag() && separator(o) == "="; }

// Whether the value follows without a character between, as in -O2.
bool is_joined(const Option& o) { return !o.is_flag() && separator(o).empty(); }

std::vector<std::string> command_names(const std::deque<CommandLine>& lines) {
  std::vector<std::string> names;
  for (const CommandLine& line : lines)
    if (!line.name().empty()) names.push_back(line.name());
  return names;
}

// bash divides --target=x into three words, at '='. Options that take a value end with '=' in the lists. In a
// comma-separated value the last item is completed; after -- only file names are.
constexpr const char* bash_script = R"(# Completion of dlcc for bash.
_dlcc() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD-1]}}
  local command= options= arguments= values= before= is_first=1 k
  for ((k = 1; k < COMP_CWORD; ++k)); do
    case ${{COMP_WORDS[k]}} in
      --) return ;;
      =) ((++k)) ;;
      -*) ;;
      {}) [[ -z $is_first ]] || command=${{COMP_WORDS[k]}}; is_first= ;;
      *) is_first= ;;
    esac
  done
  if [[ $word == = ]]; then
    word=
  elif [[ $option == = ]]; then
    option=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  case $option in
{}  esac
  case $command in
{}  esac
  case $command in
{}  esac
  COMPREPLY=()
  if [[ -n $values ]]; then
    [[ $word != *,* ]] || before=${{word%,*}},
    COMPREPLY=($(compgen -W "$values" -P "$before" -- "${{word##*,}}"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    [[ ${{#COMPREPLY[@]}} != 1 || ${{COMPREPLY[0]}} != *= ]] || compopt -o nospace
  elif [[ -n $is_first ]]; then
    COMPREPLY=($(compgen -W "{}" -- "$word"))
  elif [[ -n $arguments ]]; then
    COMPREPLY=($(compgen -W "$arguments" -- "$word"))
  fi
}}
complete -o bashdefault -o default -F _dlcc dlcc
)";

std::string bash(const std::deque<CommandLine>& lines) {
  std::map<std::string, std::string> values_of_option;
  std::string options, arguments;
  for (const CommandLine& line : lines) {
    std::vector<std::string> words;
    for (const Positional& p : line.positionals())
      if (p.examples)
        arguments += fmt::format("    '{}') arguments={} ;;\n", line.name(), shell_quoted(joined(p.examples())));
    for (const Option& o : line.options()) {
      if (o.hidden) continue;
      for (const std::string& name : spellings(o)) {
        if (is_joined(o))
          for (const std::string& choice : o.choices) words.push_back(name + choice);
        else
          words.push_back(name + (takes_equals(o) ? "=" : ""));
        if (!values(o).empty() && !is_joined(o)) values_of_option[name] = joined(values(o));
      }
    }
    options += fmt::format("    '{}') options={} ;;\n", line.name(), shell_quoted(joined(words)));
  }
  std::string value_cases;
  for (const auto& [name, words] : values_of_option)
    value_cases += fmt::format("    {}) values={} ;;\n", name, shell_quoted(words));
  const std::vector<std::string> names = command_names(lines);
  return fmt::format(fmt::runtime(bash_script), fmt::join(names, "|"), value_cases, options, arguments, joined(names));
}

// The argument of _arguments for one spelling of an option.
std::string zsh_option(const Option& o, const std::string& name) {
  const std::string help = fmt::format("[{}]", o.help);
  if (o.is_flag()) return shell_quoted(name + help);
  const std::string offered = !values(o).empty() ? "(" + joined(values(o)) + ")" : is_path(o) ? "_files" : " ";
  std::string separator = takes_equals(o) ? "=" : o.choices.empty() ? "+" : "-";
  std::string placeholder = o.placeholder;
  std::ranges::replace(placeholder, ':', ' ');
  return shell_quoted(fmt::format("*{}{}{}:{}:{}", name, separator, help, placeholder, offered));
}

// The case of a command in the script; `pattern` matches its name.
std::string zsh_case(const CommandLine& line, const std::string& pattern) {
  std::string text = fmt::format("    {})\n      _arguments \\\n", pattern);
  for (const Option& o : line.options())
    for (const std::string& name : spellings(o))
      if (!o.hidden) text += fmt::format("        {} \\\n", zsh_option(o, name));
  std::string files = "_files";
  for (const Positional& p : line.positionals())
    if (p.examples) files = "(" + joined(p.examples()) + ")";
  return text + fmt::format("        '*:{}:{}' ;;\n", files == "_files" ? "file" : "name", files);
}

std::string zsh(const std::deque<CommandLine>& lines) {
  std::string commands, cases, otherwise;
  for (const CommandLine& line : lines) {
    if (line.name().empty()) {
      otherwise = zsh_case(line, "*");
      continue;
    }
    commands += fmt::format("    {}\n", shell_quoted(line.name() + ":" + line.summary()));
    cases += zsh_case(line, line.name());
  }
  return fmt::format(
      "#compdef dlcc\n# Completion of dlcc for zsh.\n_dlcc() {{\n  local -a commands=(\n{}  )\n"
      "  (( CURRENT == 2 )) && _describe command commands\n  case $words[2] in\n{}{}  esac\n}}\n_dlcc \"$@\"\n",
      commands, cases, otherwise);
}

// fish's test that the command line has one of these words as its command.
std::string fish_has_command(const std::vector<std::string>& names) {
  return "__fish_seen_subcommand_from " + joined(names);
}

std::string fish_option(const Option& o, const std::string& name) {
  const char* kind = name.starts_with("--") ? "-l" : name.size() == 2 ? "-s" : "-o";
  std::string text = fmt::format("{} {}", kind, name.substr(name.starts_with("--") ? 2 : 1));
  if (!o.is_flag()) text += is_path(o) ? " -r -F" : " -x";
  if (!values(o).empty()) text += " -a " + shell_quoted(joined(values(o)));
  return text + " -d " + shell_quoted(o.help, "\\");
}

std::string fish(const std::deque<CommandLine>& lines) {
  std::string text = "# Completion of dlcc for fish.\n";
  for (const CommandLine& line : lines) {
    const bool is_named = !line.name().empty();
    const std::string condition =
        is_named ? fish_has_command({line.name()}) : "not " + fish_has_command(command_names(lines));
    for (const Positional& p : line.positionals())
      if (p.examples)
        text += fmt::format("complete -c dlcc -n '{}' -f -a {}\n", condition, shell_quoted(joined(p.examples())));
    if (is_named)
      text += fmt::format("complete -c dlcc -n __fish_use_subcommand -a {} -d {}\n", line.name(),
                          shell_quoted(line.summary()));
    for (const Option& o : line.options())
      for (const std::string& name : spellings(o))
        if (!o.hidden) text += fmt::format("complete -c dlcc -n '{}' {}\n", condition, fish_option(o, name));
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::deque<CommandLine>& lines) {
  if (shell == "bash") return bash(lines);
  if (shell == "zsh") return zsh(lines);
  DLCC_CHECK(shell == "fish", "no completion for {}", shell);
  return fish(lines);
}

}  // namespace dlcc::driver
