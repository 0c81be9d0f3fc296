// dlcc lsp: the language server for Relay text, on standard input and output.
#include <charconv>
#include <iostream>

#include "driver/commands.h"
#include "driver/language_server.h"
#include "driver/options.h"
#include "support/ascii.h"

namespace dlcc::driver {
namespace {

constexpr size_t longest_message = 256 << 20;  // in bytes

// The length that a header line such as "Content-Length: 42" gives; empty for any other line.
std::optional<size_t> content_length(const std::string& line) {
  const size_t colon = line.find(':');
  if (colon == line.npos || lower_case(line.substr(0, colon)) != "content-length") return std::nullopt;
  const size_t begin = std::min(line.find_first_not_of(' ', colon + 1), line.size());
  size_t length = 0;
  const auto [end, error] = std::from_chars(line.data() + begin, line.data() + line.size(), length);
  return error == std::errc() && end == line.data() + line.size() ? std::optional(length) : std::nullopt;
}

// The next message: header lines, an empty line, and as many bytes as the header says. Empty at the end of the input,
// with an error if it ends within a message or the header has no length.
std::optional<std::string> read_message(std::istream& in, Diagnostics& diagnostics) {
  auto fail = [&](const std::string& message) {
    diagnostics.error(DiagnosticId::cannot_read_file, {.file = "standard input"}, message, {},
                      "'dlcc lsp' is started by an editor");
    return std::nullopt;
  };
  std::optional<size_t> length;
  bool has_header = false;
  for (std::string line; std::getline(in, line); has_header = true) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() && length) {
      std::string message(*length, '\0');
      if (!in.read(message.data(), static_cast<std::streamsize>(*length))) return fail("it ends within a message");
      return message;
    }
    if (line.empty()) return fail("a message of the Language Server Protocol begins with 'Content-Length: BYTES'");
    if (const auto given = content_length(line)) length = given;
    if (length.value_or(0) > longest_message) return fail("a message has more than 256 MiB");
  }
  return has_header ? fail("it ends within the header of a message") : std::nullopt;
}

void write_message(std::ostream& out, const nlohmann::json& message) {
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  out << "Content-Length: " << text.size() << "\r\n\r\n" << text << std::flush;
}

}  // namespace

int lsp_command(CommandLine& line) {
  line.describe(
      "Serves an editor that speaks the Language Server Protocol, on standard input and output: problems of Relay text "
      "while it is written, its canonical layout, the types of variables and functions, and the descriptions of "
      "operators.");
  // Editors name the transport, which is always this one, and their process.
  line.add({.name = "--stdio",
            .help = "Accepted for editors",
            .store = [](const std::string&) { return Problem{}; },
            .hidden = true});
  line.add({.name = "--clientProcessId",
            .placeholder = "N",
            .help = "Accepted for editors",
            .store = [](const std::string&) { return Problem{}; },
            .hidden = true});
  add_common_options(line, false);
  if (auto status = line.parse()) return *status;
  Diagnostics diagnostics;
  LanguageServer server;
  while (const auto message = read_message(std::cin, diagnostics)) {
    for (const nlohmann::json& answer : server.handle(*message)) write_message(std::cout, answer);
    if (server.exit_status()) return *server.exit_status();
    if (!std::cout) return 1;  // main reports it
  }
  return report(diagnostics, line.reporting());
}

}  // namespace dlcc::driver
