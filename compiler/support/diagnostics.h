// What a user can cause is reported as values: a stage adds Diagnostics to the list it is handed, and returns an empty
// optional when it could not do its work. What only a defect of dlcc can cause throws InternalError.
#pragma once

#include <fmt/format.h>

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

// Where in the user's input something stands: a file with line and column for text (1-based; 0 when unknown), or a file
// with the description of a node, such as "node 'layer3/conv' (Conv)". Any part may be empty.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;
  std::string node;

  std::string str() const;  // "model.onnx: node 'x' (Conv)" or "model.rly:3:14"
};

enum class Severity : uint8_t { error, remark };

struct Diagnostic {
  DiagnosticId id;
  SourceLocation location;
  std::string message;               // one line: what was expected, what was found
  std::vector<std::string> details;  // further lines: operands with their types and shapes
  std::string help;                  // what the user can do; may be empty
  Severity severity = Severity::error;

  std::string str() const;  // the whole text, lines separated by '\n', without a final one
};

// An ordered list of errors, and one of remarks: what a user may want to know of a stage that did its work. A stage
// adds to them; the driver prints them.
class Diagnostics {
 public:
  void error(DiagnosticId id, SourceLocation location, std::string message, std::vector<std::string> details = {},
             std::string help = {}) {
    list_.push_back(
        {id, std::move(location), std::move(message), std::move(details), std::move(help), Severity::error});
  }
  void remark(DiagnosticId id, SourceLocation location, std::string message) {
    remarks_.push_back({id, std::move(location), std::move(message), {}, {}, Severity::remark});
  }
  void add(Diagnostic d) { list_.push_back(std::move(d)); }
  bool any() const { return !list_.empty(); }
  size_t count() const { return list_.size(); }
  const std::vector<Diagnostic>& list() const { return list_; }
  const std::vector<Diagnostic>& remarks() const { return remarks_; }
  std::string str() const;  // all errors, one after another

 private:
  std::vector<Diagnostic> list_, remarks_;
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

// Builds a visitor for std::visit out of lambdas; leaving out an alternative does not compile.
template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

}  // namespace dlcc
