// Suggestions for misspelled names.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dlcc {

// The smallest number of letters to insert, delete, replace or exchange with their neighbour that turns `a` into `b`
// (optimal string alignment; Damerau, "A technique for computer detection and correction of spelling errors", CACM 7,
// 1964).
size_t edit_distance(std::string_view a, std::string_view b);

// The name that `word` probably means. It is the name with the smallest edit distance between the word and the name, or
// the part of the name after its last dot; the first of several. If more than a third of the letters differ from it,
// the shortest name that begins with the word; empty if there is none. The case of letters counts only between names of
// equal distance.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> names);

// "did you mean 'Conv'?" for the nearest name; "" when there is none.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

// The same, followed by all names: "did you mean 'n'? there are: m, n".
std::string suggest_names(std::string_view word, std::span<const std::string> names);

}  // namespace dlcc
