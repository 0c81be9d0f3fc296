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
  void add(const Stmt& s, int line) {
    lines_.emplace(s.get(), line);
    if (const void* declared = declared_by(s)) lines_.emplace(declared, line);
  }

  // The first line after line `after` on which the statement begins; 0 if there is none. If `after` is the line of an
  // enclosing statement, this is the statement's line in there. A pass that changes what a loop or a declaration
  // contains makes another statement for the same variable or buffer, by which its line is found. An outlined nest has
  // the line of the statement that is outlined.
  int find(const Stmt& s, int after) const {
    const int line = find(static_cast<const void*>(s.get()), after);
    const void* declared = declared_by(s);
    return line == 0 && declared ? find(declared, after) : line;
  }

 private:
  // The variable, buffer or condition that a pass keeps when it changes what the statement contains; null if the
  // statement contains no other.
  static const void* declared_by(const Stmt& s) {
    if (const For* x = as<For>(s)) return x->var.get();
    if (const Let* x = as<Let>(s)) return x->var.get();
    if (const Allocate* x = as<Allocate>(s)) return x->buffer.get();
    if (const IfThen* x = as<IfThen>(s)) return x->condition.get();
    if (const Outline* x = as<Outline>(s)) return declared_by(x->body);
    return nullptr;
  }

  int find(const void* key, int after) const {
    auto it = lines_.upper_bound({key, after});
    return it != lines_.end() && it->first == key ? it->second : 0;
  }

  // By the address of a statement or of what it declares. Never iterated: the order of addresses reaches no output.
  std::set<std::pair<const void*, int>> lines_;
};

// The first line of print(kernel), without the brace.
std::string print_signature(const Kernel&);

// Returns print(kernel) and records the lines, where `first_line` is the number of the text's first line.
std::string print(const Kernel&, int first_line, StatementLines&);

}  // namespace dlcc::tensor
