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

// The name that `word` probably means: the one with the smallest edit distance from the whole name or from the part
// behind its last dot, the first of several; or else the shortest name that begins with the word. Empty when more than a
// third of the letters differ and no name begins so. The case of letters decides only between names that are equally
// near.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> names);

// "did you mean 'Conv'?" for the nearest name; "" when there is none.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

// The same with all names behind it: "did you mean 'n'? there are: m, n".
std::string suggest_names(std::string_view word, std::span<const std::string> names);

}  // namespace dlcc
