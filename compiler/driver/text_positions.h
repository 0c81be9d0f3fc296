// Positions in a text as the Language Server Protocol counts them, and as diagnostics count them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dlcc::driver {

class TextPositions {
 public:
  // Both counts begin at 0.
  struct Position {
    int64_t line = 0, character = 0;
    bool operator==(const Position&) const = default;
  };

  // Keeps a reference to the text, which is UTF-8. Characters of a line are bytes if `counts_bytes`, else units of
  // UTF-16: two for a character beyond the basic plane, else one. An invalid byte is one unit.
  TextPositions(std::string_view text, bool counts_bytes);

  // The position of a line and a column in bytes, both counted from 1. What lies behind the end of a line or of the
  // text is that end.
  Position position(int line, int column) const;
  Position end() const;

  // The offset of a position in bytes. What lies behind the end of a line or of the text is that end.
  size_t offset(Position) const;

 private:
  std::string_view line(size_t index) const;  // without its end

  std::string_view text_;
  bool counts_bytes_;
  std::vector<size_t> starts_;  // of the lines
};

}  // namespace dlcc::driver
