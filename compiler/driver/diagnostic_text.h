// Diagnostics as text for people. A problem that occurs several times is one entry, and an error in a text shows its
// line.
#pragma once

#include <string>
#include <vector>

#include "support/diagnostics.h"

namespace dlcc::driver {

// One entry for the diagnostics of one severity, identifier, file and message: the first of them, then the number of
// others at other locations and where the first few are. A help that several entries have is printed once.
//
//   model.onnx: node 'a' (Foo): error[unsupported-operator]: operator Foo is not supported
//       and 107 more: node 'b', node 'c', node 'd', ...
//
//   net.rly:3:5: error[shape-mismatch]: nn.dense: expected ...
//       3 |     nn.dense(%x, %w)
//         |     ^
//
// With `colour`, severities are coloured by the terminal's escape sequences. Control characters in names are replaced.
std::string diagnostic_text(const std::vector<Diagnostic>&, bool colour);

// "'dlcc explain shape-mismatch' tells more", with a line end, for the errors that have no remedy; "" if there is none.
std::string where_to_read_more(const std::vector<Diagnostic>&);

}  // namespace dlcc::driver
