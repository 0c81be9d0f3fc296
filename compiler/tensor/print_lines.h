// Printing a kernel and remembering where its statements stand in the text, which debug information refers to.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "tensor/ir.h"

namespace dlcc::tensor {

// On which lines statements begin. One statement may stand in several places, as nodes are shared; a sequence stands in
// none, only what it consists of.
class StatementLines {
 public:
  void add(const Stmt& s, int line) { lines_.emplace(s.get(), line); }

  // The first line behind `after` on which the statement begins: for one inside of another statement, that is its place
  // in there when `after` is the other's line. 0 when it has none.
  int find(const Stmt& s, int after) const {
    auto it = lines_.upper_bound({s.get(), after});
    return it != lines_.end() && it->first == s.get() ? it->second : 0;
  }

 private:
  std::set<std::pair<const StmtNode*, int>> lines_;  // searched only: the order of addresses reaches no output
};

// The text of print(kernel), whose first line is number `first_line`.
std::string print(const Kernel&, int first_line, StatementLines&);

}  // namespace dlcc::tensor
