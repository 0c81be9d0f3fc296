#include "support/shell_quoting.h"

namespace dlcc {

std::string shell_quoted(const std::string& text, const std::string& escaped) {
  std::string result = "'";
  for (char c : text) {
    if (escaped.find(c) != std::string::npos) result += '\\';
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return result + "'";
}

}  // namespace dlcc
