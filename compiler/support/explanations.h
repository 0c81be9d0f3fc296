// The text of `dlcc explain`: what each diagnostic means, an example that causes it, what to do.
#pragma once

#include <string>
#include <string_view>

#include "support/diagnostics.h"

namespace dlcc {

struct Explanation {
  std::string_view meaning;
  std::string_view example;  // a program in Relay text, a command that begins with "$ ", or a description
  std::string_view remedy;
};
const Explanation& explanation(DiagnosticId);

// The explanation as a page for people, with a line break at its end.
std::string explain(DiagnosticId);

}  // namespace dlcc
