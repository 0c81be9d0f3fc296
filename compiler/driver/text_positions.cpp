#include "driver/text_positions.h"

#include <algorithm>

namespace dlcc::driver {
namespace {

// The units of UTF-16 of the character that begins with this byte of UTF-8: none for a later byte of a character.
int64_t units_of(char byte) {
  const auto b = static_cast<unsigned char>(byte);
  const bool continues = b >= 0x80 && b < 0xc0;
  return continues ? 0 : b >= 0xf0 ? 2 : 1;
}

}  // namespace

TextPositions::TextPositions(std::string_view text, bool counts_bytes)
    : text_(text), counts_bytes_(counts_bytes), starts_{0} {
  for (size_t k = 0; k < text.size(); ++k)
    if (text[k] == '\n') starts_.push_back(k + 1);
}

std::string_view TextPositions::line(size_t index) const {
  const size_t end = index + 1 < starts_.size() ? starts_[index + 1] - 1 : text_.size();
  std::string_view line = text_.substr(starts_[index], end - starts_[index]);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

TextPositions::Position TextPositions::position(int line, int column) const {
  const auto index = static_cast<size_t>(std::max(line, 1) - 1);
  if (index >= starts_.size()) return end();
  const std::string_view before = this->line(index).substr(0, static_cast<size_t>(std::max(column, 1) - 1));
  int64_t character = counts_bytes_ ? static_cast<int64_t>(before.size()) : 0;
  if (!counts_bytes_)
    for (char byte : before) character += units_of(byte);
  return {static_cast<int64_t>(index), character};
}

TextPositions::Position TextPositions::end() const {
  const size_t last = starts_.size() - 1;
  return position(static_cast<int>(last) + 1, static_cast<int>(line(last).size()) + 1);
}

size_t TextPositions::offset(Position at) const {
  if (at.line < 0) return 0;
  const auto index = static_cast<size_t>(at.line);
  if (index >= starts_.size()) return text_.size();
  const std::string_view line = this->line(index);
  size_t bytes = 0;
  for (int64_t character = 0; bytes < line.size() && character < at.character; ++bytes)
    character += counts_bytes_ ? 1 : units_of(line[bytes]);
  while (!counts_bytes_ && bytes < line.size() && units_of(line[bytes]) == 0) ++bytes;
  return starts_[index] + bytes;
}

}  // namespace dlcc::driver
