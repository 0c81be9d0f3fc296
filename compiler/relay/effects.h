// The side effects of an operation. Passes move, merge and remove operations only as far as their effects allow.
#pragma once

#include <map>
#include <string>

#include "relay/ir.h"

namespace dlcc::relay {

struct Effects {
  bool may_fail = false;  // may return a run-time status
  bool reads_refs = false;
  bool writes_refs = false;
  bool may_diverge = false;  // calls that may not return

  bool removable() const { return !writes_refs && !may_fail && !may_diverge; }  // when the value is not used
  bool mergeable() const { return !reads_refs && !writes_refs; }                // of two equal operations one suffices
  Effects operator|(const Effects& o) const {
    return {may_fail || o.may_fail, reads_refs || o.reads_refs, writes_refs || o.writes_refs,
            may_diverge || o.may_diverge};
  }
  bool operator==(const Effects&) const = default;
};

// The effects of a module's operations, after type inference. The constructor computes the effects of all functions, so
// that a pass may ask about a call while it rewrites the callee's body: a rewrite never adds an effect. A recursive
// local function is known to return if it is a loop with a counter; any other one is assumed to have all effects.
class EffectAnalysis {
 public:
  explicit EffectAnalysis(const Module&);

  Effects of(const Operation&);
  Effects of(const Block&);

 private:
  void find_local_functions(const Block&);
  bool terminates(const Function& loop, const Var& self) const;
  Effects of_branches(const If&);
  Effects of_call(const Call&);
  Effects of_operator(const Operator&, const Call&);
  Effects of_tensor_call(const CallTensor&) const;

  const Module& module_;
  std::map<std::string, Effects> functions_;  // by name
  std::map<int, Effects> local_functions_;    // by the id of their variable
  std::map<std::string, Effects> operators_;  // by name, types of operands and attributes, which determine them
};

}  // namespace dlcc::relay
