// The parser of command lines, and the texts that it derives from the options.
#include "driver/command_line.h"

#include <doctest/doctest.h>

#include "driver/completions.h"
#include "driver/help.h"

using namespace dlcc::driver;

namespace {

// The values that options of each kind store.
struct Values {
  std::string cpu, level, object, list = "unset";
  std::vector<std::string> dims, models, data;
  int jobs = 1;
  double tolerance = 0.5;
  bool json = false, dependencies = false;
};

void add_options(CommandLine& line, Values& v) {
  line.describe("Does something.");
  line.add(Positional{"MODEL", "The model", append_to(v.models)});
  line.add(Positional{"DATA", "Data sets", append_to(v.data), true});
  line.add({"-o", "OBJECT", "The object", store_text(v.object)});
  line.add({"-mcpu", "CPU", "The CPU", store_text(v.cpu)});
  line.last_option().examples = [] { return std::vector<std::string>{"generic", "native"}; };
  line.add({.name = "-O",
            .placeholder = "0|1|s",
            .help = "Level",
            .store = store_text(v.level),
            .choices = {"0", "1", "s"}});
  line.add({.name = "--jobs",
            .placeholder = "N",
            .help = "Threads",
            .store = store_integer(v.jobs, 1, 8),
            .other_name = "-j"});
  line.add({"--tolerance", "X", "Tolerance", store_nonnegative(v.tolerance)});
  line.add({"--dim", "NAME=VALUE", "Dimension", append_to(v.dims)});
  line.add(
      {.name = "--list", .placeholder = "LIST", .help = "List", .store = store_text(v.list), .optional_value = true});
  line.add({"--json", "", "JSON", store_true(v.json)});
  line.add({"-MD", "", "Dependencies", store_true(v.dependencies)});
}

// The exit status of parsing; -1 when the command runs.
int parse(std::vector<std::string> args, Values& v) {
  CommandLine line("do", "do something", std::move(args));
  add_options(line, v);
  return line.parse().value_or(-1);
}

}  // namespace

TEST_CASE("options are spelled as in gcc, and values follow a '=', a space or a letter") {
  Values v;
  CHECK(parse({"-mcpu=x", "m", "-O1", "-o", "x.o", "-j4", "-MD", "d"}, v) == -1);
  CHECK(v.cpu == "x");
  CHECK(v.level == "1");
  CHECK(v.object == "x.o");
  CHECK(v.jobs == 4);
  CHECK(v.dependencies);
  CHECK(v.models == std::vector<std::string>{"m"});
  CHECK(v.data == std::vector<std::string>{"d"});
  CHECK(parse({"m", "d", "-mcpu", "y", "--jobs", "2", "--jobs=3", "-o-"}, v) == -1);
  CHECK(v.cpu == "y");
  CHECK(v.jobs == 3);  // the last one counts, as in gcc
  CHECK(v.object == "-");
}

TEST_CASE("an option takes one value; the next word is an argument") {
  Values v;
  CHECK(parse({"--dim", "a=1", "m", "--dim=b=2", "d", "e"}, v) == -1);
  CHECK(v.dims == std::vector<std::string>{"a=1", "b=2"});
  CHECK(v.models == std::vector<std::string>{"m"});
  CHECK(v.data == std::vector<std::string>{"d", "e"});
}

TEST_CASE("after -- all arguments are files") {
  Values v;
  CHECK(parse({"--json", "--", "-mcpu", "--json"}, v) == -1);
  CHECK(v.models == std::vector<std::string>{"-mcpu"});
  CHECK(v.data == std::vector<std::string>{"--json"});
  CHECK(v.cpu.empty());
}

TEST_CASE("a value may be empty only where the option allows it") {
  Values v;
  CHECK(parse({"--list=", "m", "d"}, v) == -1);
  CHECK(v.list.empty());
  CHECK(parse({"-mcpu=", "m", "d"}, v) == 2);
  CHECK(v.cpu.empty());
}

TEST_CASE("errors have exit status 2") {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"m"},
      {"m", "d", "--jsn"},
      {"m", "d", "-mcpu"},
      {"m", "d", "--json=yes"},
      {"m", "d", "-O2"},
      {"m", "d", "--jobs=0"},
      {"m", "d", "--jobs=9"},
      {"m", "d", "--jobs=2x"},
      {"m", "d", "--jobs=99999999999999999999"},
      {"m", "d", "--tolerance=-1"},
      {"m", "d", "--tolerance=nan"},
  };
  for (const auto& args : wrong) {
    CAPTURE(args.size());
    Values v;
    CHECK(parse(args, v) == 2);
    CHECK(v.jobs == 1);
    CHECK(v.tolerance == 0.5);
  }
}

TEST_CASE("a failed check of all values together ends the command with status 2") {
  std::vector<std::string> args = {};
  for (const char* message : {"", "the options contradict each other"}) {
    CommandLine line("do", "do something", args);
    line.after_values([&] { return Problem{message}; });
    CHECK(line.parse().value_or(-1) == (*message ? 2 : -1));
  }
}

TEST_CASE("a command constructed without arguments is described and not parsed") {
  CommandLine line("do", "do something", std::nullopt);
  Values v;
  add_options(line, v);
  CHECK(line.parse() == 0);
}

TEST_CASE("help shows each visible option once, in two columns") {
  CommandLine line("do", "do something", std::nullopt);
  Values v;
  add_options(line, v);
  const std::string text = help_text(line);
  CHECK(text.starts_with("Does something.\n\nUsage: dlcc do MODEL DATA... -o OBJECT [options]\n"));
  CHECK(text.find("\n  -mcpu=CPU                   The CPU\n") != text.npos);
  CHECK(text.find("\n  -j, --jobs=N                Threads\n") != text.npos);
  CHECK(text.find("\n  -O0|1|s                     Level\n") != text.npos);
  CHECK(text.find("print-man-page") == text.npos);
}

TEST_CASE("a manual page escapes characters with a meaning in roff") {
  CommandLine line("do", "do something", std::nullopt);
  Values v;
  add_options(line, v);
  line.add({"--dot", "", ".hidden \\ text", store_true(v.json)});
  const std::string page = man_page(line);
  CHECK(page.starts_with(".TH DLCC\\-DO 1"));
  CHECK(page.find("\n.B \\-mcpu=CPU\nThe CPU\n") != page.npos);
  CHECK(page.find("\n\\&.hidden \\e text\n") != page.npos);
}

TEST_CASE("completion scripts have the options and their values") {
  std::deque<CommandLine> lines;
  Values v;
  add_options(lines.emplace_back("", "compile", std::nullopt), v);
  add_options(lines.emplace_back("do", "do something", std::nullopt), v);
  const std::string bash = completion_script("bash", lines), zsh = completion_script("zsh", lines),
                    fish = completion_script("fish", lines);
  CHECK(bash.find("-mcpu) values='generic native' ;;") != bash.npos);
  CHECK(bash.find("'do') options='--help") != bash.npos);
  CHECK(zsh.find("'*-mcpu=[The CPU]:CPU:(generic native)'") != zsh.npos);
  CHECK(fish.find("-n '__fish_seen_subcommand_from do' -o mcpu -x -a 'generic native' -d 'The CPU'") != fish.npos);
}
