// Beta reduction: the body of a function in place of a call.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "relay/ir.h"
#include "shape/match_sizes.h"

namespace dlcc::relay {

class CallInliner {
 public:
  explicit CallInliner(Module& module);

  // Appends a copy of the function's body to `out` and returns its result, which is the value of `call`, the operation
  // of `binding`. The types of the call replace the function's type variables, and holes those that a generic argument
  // leaves open. In a global function, sizes of the arguments replace the symbols of the parameters, and new symbols
  // those that the body defines; lower bounds of the symbols that are not proved are required first.
  Atom inline_call(const Function& callee, const Call& call, const Binding& binding, std::vector<Binding>& out);

  // The same for a local function that has sizes of its own, those that are not `visible` around it.
  Atom inline_local(const Function& callee, const std::set<std::string>& visible, const Call&, const Binding&,
                    std::vector<Binding>& out);

  // A copy of a local function. Of the sizes that are its own, those that the pairs of dimensions tell replace their
  // symbols; the others have new symbols. `renamed` is that of copy_function().
  Function copy_local(const Function&, const std::set<std::string>& visible, const std::vector<DimPair>& pairs,
                      std::map<int, Atom>& renamed);

 private:
  // `visible`: the symbols that keep their meaning; null: all symbols do.
  Atom copy_body(const Function& callee, const std::set<std::string>* visible, const Call&, const Binding&,
                 std::vector<Binding>& out);
  template <class FunctionOrBlock>
  std::map<std::string, Dim> sizes_of(const std::vector<DimPair>& pairs, const std::set<std::string>& visible,
                                      FunctionOrBlock& copy);

  Module& module_;
  int next_size_;
};

}  // namespace dlcc::relay
