// Decides which calls of functions are worth to stay calls. The others are inlined. The importer of ONNX models decides
// about the functions of a model, lowering about those of a module.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dlcc::relay {

// A function with fewer operations is inlined. An inlined operation costs about 230 bytes of code for a CPU level and
// 1 ms of compilation; a call of 16 operations on 16 numbers takes as long as these alone (40 us for 64 calls). What a
// call costs is that its operands and results are borders of fusion, which is little for 16 operations.
inline constexpr int64_t least_operations = 16;

// A way to call a function: its name, and a text that tells its constant operands from others. Constants stay constants
// in a function that is called, so that it has one body for each way.
using CallWay = std::pair<std::string, std::string>;

class SharedCalls {
 public:
  struct Body {
    int64_t operations = 0;      // without those of the functions that it calls
    std::vector<CallWay> calls;  // one for each place
    bool can_be_called = true;   // else it is inlined
  };

  // A call stays a call if its function has `least_operations` operations, after the inlining of what is inlined into
  // it, and is called in the same way from a second place. A function into which one that cannot be called is inlined
  // cannot be called, either. Names without a body are ignored; recursive calls are never shared.
  SharedCalls(const std::map<std::string, Body>& bodies, const std::string& entry);

  bool contains(const CallWay& way) const { return called_.contains(way); }

 private:
  using Bodies = std::map<std::string, Body>;
  std::map<CallWay, int64_t> count_places(const Bodies&, const std::vector<std::string>& callees_first,
                                          const std::string& entry) const;

  std::set<CallWay> called_;
};

}  // namespace dlcc::relay
