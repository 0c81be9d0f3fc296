// Errors that a user can cause are values: a stage adds a Diagnostic to a list and returns an empty optional. Errors
// that only a defect of dlcc can cause are exceptions of type InternalError.
#pragma once

#include <fmt/format.h>

#include <climits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dlcc {

enum class DiagnosticId {
#define DIAGNOSTIC(id, about) id,
#include "support/diagnostics.def"
#undef DIAGNOSTIC
};

// "shape-mismatch"
std::string diagnostic_name(DiagnosticId);

// The identifier of a name, and all identifiers in the order of diagnostics.def.
std::optional<DiagnosticId> diagnostic_named(std::string_view name);
std::vector<DiagnosticId> all_diagnostics();

// The summary of a diagnostic in diagnostics.def, one line.
std::string_view summary(DiagnosticId);

// Columns [column, end) of a line of text, 1-based, in bytes; 0: unknown. A longer range than the line ends with it.
struct TextRange {
  static constexpr int end_of_line = INT_MAX;

  int line = 0, column = 0, end = 0;
};

// A location in the user's input: a file with line and columns for text, as in TextRange, or a file with the
// description of a node, such as "node 'layer3/conv' (Conv)". Any part may be empty.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
  std::string node;
  int end = 0;

  std::string str() const;                        // "model.onnx: node 'x' (Conv)" or "model.rly:3:14"
  SourceLocation within(const TextRange&) const;  // the range in the same file; this location if it is unknown
};

// Errors prevent the result. Warnings point at what is probably a mistake. Remarks inform.
enum class Severity : uint8_t { error, warning, remark };

std::string_view severity_name(Severity);  // "error"

struct Diagnostic {
  DiagnosticId id;
  SourceLocation location;
  std::string message;               // one line: what was expected and what was found
  std::vector<std::string> details;  // more lines: operands with their types and shapes
  std::string help;                  // a remedy; may be empty
  Severity severity = Severity::error;
  std::string source_line = {};  // the line of text that the location names; empty when the text is not known

  std::string str() const;  // all lines but the source line, separated by '\n', without a final '\n'
};

// Errors, warnings and remarks in the order in which the stages add them; the driver prints them.
class Diagnostics {
 public:
  void error(DiagnosticId id, SourceLocation location, std::string message, std::vector<std::string> details = {},
             std::string help = {}) {
    add({id, std::move(location), std::move(message), std::move(details), std::move(help)});
  }
  void warning(DiagnosticId id, SourceLocation location, std::string message, std::vector<std::string> details = {},
               std::string help = {}) {
    add({id, std::move(location), std::move(message), std::move(details), std::move(help), Severity::warning});
  }
  void remark(DiagnosticId id, SourceLocation location, std::string message) {
    add({id, std::move(location), std::move(message), {}, {}, Severity::remark});
  }
  void add(Diagnostic);  // with its source line, if the text is known
  bool has_errors() const { return errors_ > 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& list() const { return list_; }
  std::string str() const;  // all, in order

  // Keeps the text of a file, so that later diagnostics quote the source line of their location.
  void keep_text(const std::string& file, std::string_view text) { texts_[file] = text; }

 private:
  std::vector<Diagnostic> list_;
  size_t errors_ = 0;
  std::map<std::string, std::string> texts_;  // by file
};

// A defect in dlcc itself.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void internal_error(const char* file, int line, const std::string& message);

// Checks an invariant of dlcc itself, in every build.
#define DLCC_CHECK(condition, ...)                                                                              \
  do {                                                                                                          \
    if (!(condition)) ::dlcc::internal_error(__FILE__, __LINE__, #condition ": " + ::fmt::format(__VA_ARGS__)); \
  } while (false)

#define DLCC_UNREACHABLE(...) ::dlcc::internal_error(__FILE__, __LINE__, ::fmt::format(__VA_ARGS__))

// A visitor for std::visit made of lambdas. A missing alternative is a compile-time error.
template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

}  // namespace dlcc
