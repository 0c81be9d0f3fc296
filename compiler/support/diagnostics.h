// Errors that a user can cause are values: a stage adds Diagnostics to a list and returns an empty optional. Errors
// that only a defect of dlcc can cause are exceptions of type InternalError.
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

// A location in the user's input: a file with line and column for text (1-based; 0: unknown), or a file with the
// description of a node, such as "node 'layer3/conv' (Conv)". Any part may be empty.
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
  std::string message;               // one line: the expected and the found
  std::vector<std::string> details;  // more lines: operands with their types and shapes
  std::string help;                  // a remedy; may be empty
  Severity severity = Severity::error;

  std::string str() const;  // all lines, separated by '\n', without a final '\n'
};

// A list of errors and a list of remarks, which inform about a stage that succeeded. Stages add to the lists; the
// driver prints them.
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
  std::string str() const;  // all errors, in order

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

// A visitor for std::visit made of lambdas. A missing alternative is a compile-time error.
template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;

}  // namespace dlcc
