// The inlining heuristic: decides which calls of functions remain calls; the others are inlined. The ONNX importer
// applies it to the functions of a model, lowering to the functions of a module.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dlcc::relay {

// A function with fewer operations is inlined. An inlined operation costs about 230 bytes of code for a CPU level and 1
// ms of compilation; a call of 16 operations on 16 numbers takes as long as these alone (40 us for 64 calls). The cost
// of a call is that no operators are fused across it, which matters little for 16 operations.
inline constexpr int64_t least_operations = 16;

// A function specialized for its constant operands: its name, and a text that identifies these operands. A constant
// operand is a constant in the body as well, so that a function has one body for each specialization.
using Specialization = std::pair<std::string, std::string>;

class SharedCalls {
 public:
  struct Body {
    int64_t operations = 0;             // of the function itself, without its callees
    std::vector<Specialization> calls;  // the callee of each call
    bool can_be_called = true;          // else it is inlined
  };

  // A call remains a call if its function has at least `least_operations` operations, inlined ones included, and there
  // is a second call of the same specialization. A function cannot be called if one that cannot be called is inlined
  // into it. Names without a body are ignored; recursive calls are never shared.
  SharedCalls(const std::map<std::string, Body>& bodies, const std::string& entry);

  bool contains(const Specialization& callee) const { return called_.contains(callee); }

 private:
  using Bodies = std::map<std::string, Body>;
  std::map<Specialization, int64_t> count_calls(const Bodies&, const std::vector<std::string>& callees_first,
                                                const std::string& entry) const;

  std::set<Specialization> called_;
};

}  // namespace dlcc::relay
