// Prints a kernel and records the lines of its statements, which debug information refers to.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "tensor/ir.h"

namespace dlcc::tensor {

// The lines on which statements begin. A shared statement may begin on several lines. A sequence has no line, only its
// statements have.
class StatementLines {
 public:
  void add(const Stmt& s, int line) { lines_.emplace(s.get(), line); }

  // The first line after line `after` on which the statement begins; 0 if there is none. If `after` is the line of an
  // enclosing statement, this is the statement's line in there.
  int find(const Stmt& s, int after) const {
    auto it = lines_.upper_bound({s.get(), after});
    return it != lines_.end() && it->first == s.get() ? it->second : 0;
  }

 private:
  std::set<std::pair<const StmtNode*, int>> lines_;  // never iterated: the order of addresses reaches no output
};

// The first line of print(kernel), without the brace.
std::string print_signature(const Kernel&);

// Returns print(kernel) and records the lines, where `first_line` is the number of the text's first line.
std::string print(const Kernel&, int first_line, StatementLines&);

}  // namespace dlcc::tensor
