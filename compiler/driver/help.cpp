#include "driver/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "support/ascii.h"
#include "support/version.h"

namespace dlcc::driver {
namespace {

constexpr size_t column = 30, line_width = 100;  // where explanations begin, and a line's width; characters

constexpr std::pair<Group, const char*> headings[] = {{Group::general, "Options"},   {Group::output, "Output"},
                                                      {Group::model, "Model"},       {Group::code, "Code"},
                                                      {Group::messages, "Messages"}, {Group::debugging, "Debugging"}};

// Calls begin(heading) for each group that has visible options, and each(option) for these.
void for_each_group(const CommandLine& line, const std::function<void(const std::string&)>& begin,
                    const std::function<void(const Option&)>& each) {
  for (const auto& [group, heading] : headings) {
    bool is_first = true;
    for (const Option& o : line.options()) {
      if (o.hidden || o.group != group) continue;
      if (std::exchange(is_first, false)) begin(heading);
      each(o);
    }
  }
}

// "-j, --jobs=N", "-MD, -MMD", "-MT NAME, -MQ NAME"
std::string all_spellings(const Option& o) {
  if (o.other_name.empty()) return with_placeholder(o);
  if (o.other_name.size() < o.name.size()) return o.other_name + ", " + with_placeholder(o);
  return fmt::format("{}, {}{}", o.is_flag() ? o.name : with_placeholder(o), o.other_name,
                     o.is_flag() ? "" : separator(o) + o.placeholder);
}

// `text` broken into lines of `line_width` characters, each after the first indented to `indent`.
std::string wrapped(const std::string& text, size_t indent) {
  std::istringstream words(text);
  std::string result, word;
  size_t used = indent;
  while (words >> word) {
    if (!result.empty() && used + 1 + word.size() > line_width) {
      result += "\n" + std::string(indent, ' ');
      used = indent;
    } else if (!result.empty()) {
      result += ' ';
      ++used;
    }
    result += word;
    used += word.size();
  }
  return result;
}

// A name and its explanation in two columns; a long name has a line of its own.
std::string row(const std::string& name, const std::string& text) {
  std::string gap =
      name.size() + 4 > column ? "\n" + std::string(column, ' ') : std::string(column - name.size() - 2, ' ');
  return "  " + name + gap + wrapped(text, column) + "\n";
}

// Escapes text for roff: backslashes, hyphens that are to be typed, and a control character at the start of a line.
std::string roff(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string roff_entry(const std::string& name, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(name), roff(text));
}

}  // namespace

std::string usage(const CommandLine& line) {
  std::string text = line.program();
  for (const Positional& p : line.positionals()) {
    const std::string name = p.name + (p.repeated ? "..." : "");
    text += " " + (p.optional ? "[" + name + "]" : name);
  }
  auto object = std::ranges::find(line.options(), "-o", &Option::name);
  if (object != line.options().end()) text += " -o " + object->placeholder;
  return text + " [options]";
}

std::string separator(const Option& o) {
  const bool is_letter = o.name.size() == 2;
  if (is_letter && !o.choices.empty()) return "";
  return is_letter || o.name == "-MF" || o.name == "-MT" ? " " : "=";
}

std::string with_placeholder(const Option& o) { return o.is_flag() ? o.name : o.name + separator(o) + o.placeholder; }

std::string help_text(const CommandLine& line) {
  std::string text = fmt::format("{}\n\nUsage: {}\n", wrapped(line.description(), 0), usage(line));
  if (!line.positionals().empty()) text += "\nArguments:\n";
  for (const Positional& p : line.positionals()) text += row(p.name, p.help);
  for_each_group(
      line, [&](const std::string& heading) { text += "\n" + heading + ":\n"; },
      [&](const Option& o) { text += row(all_spellings(o), o.help); });
  for (const Section& s : line.sections()) {
    text += "\n" + s.title + ":\n";
    for (const auto& [name, about] : s.rows) text += row(name, about);
  }
  return text;
}

std::string man_page(const CommandLine& line) {
  std::string name = line.program();
  std::ranges::replace(name, ' ', '-');
  std::string text = fmt::format(".TH {} 1 \"\" \"dlcc {}\" \"dlcc\"\n.SH NAME\n{} \\- {}\n", roff(upper_case(name)),
                                 version, roff(name), roff(line.summary()));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n.SH DESCRIPTION\n{}\n", roff(usage(line)), roff(line.description()));
  if (!line.positionals().empty()) text += ".SH ARGUMENTS\n";
  for (const Positional& p : line.positionals()) text += roff_entry(p.name, p.help);
  for_each_group(
      line, [&](const std::string& heading) { text += fmt::format(".SH {}\n", roff(upper_case(heading))); },
      [&](const Option& o) { text += roff_entry(all_spellings(o), o.help); });
  for (const Section& s : line.sections()) {
    text += fmt::format(".SH {}\n", roff(upper_case(s.title)));
    for (const auto& [entry, about] : s.rows) text += roff_entry(entry, about);
  }
  text += ".SH EXIT STATUS\n" + roff_entry("0", "Success.") + roff_entry("1", "An error in the input.") +
          roff_entry("2", "An error in the command line.") + roff_entry("70", "A defect of dlcc.");
  text += ".SH SEE ALSO\n";
  for (const std::string& page : line.related_pages()) text += fmt::format(".BR {} (1)\n", roff(page));
  if (!line.name().empty()) text += ".BR dlcc (1)\n";
  return text;
}

}  // namespace dlcc::driver
