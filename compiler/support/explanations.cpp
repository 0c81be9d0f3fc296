#include "support/explanations.h"

namespace dlcc {
namespace {

// The texts of the table begin with a line break.
constexpr std::string_view text_of(std::string_view text) { return text.substr(1); }

std::string indented(std::string_view text) {
  std::string result = "    ";
  for (char c : text) result += c == '\n' ? "\n    " : std::string(1, c);
  return result;
}

}  // namespace

const Explanation& explanation(DiagnosticId id) {
  switch (id) {
#define EXPLANATION(id, meaning, example, remedy)                                               \
  case DiagnosticId::id: {                                                                      \
    static constexpr Explanation entry = {text_of(meaning), text_of(example), text_of(remedy)}; \
    return entry;                                                                               \
  }
#include "support/explanations.def"
#undef EXPLANATION
  }
  DLCC_UNREACHABLE("unknown diagnostic");
}

std::string explain(DiagnosticId id) {
  const Explanation& e = explanation(id);
  return fmt::format("{}: {}\n\n{}\n\nFor example:\n\n{}\n\nWhat to do:\n\n{}\n", diagnostic_name(id), summary(id),
                     e.meaning, indented(e.example), e.remedy);
}

}  // namespace dlcc
