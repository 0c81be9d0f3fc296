// The type of a call of an operator, and the values that are known at compile time.
#pragma once

#include <map>
#include <span>
#include <variant>
#include <vector>

#include "relay/operator.h"

namespace dlcc::relay {

// A call after its type relation. Operands that determine sizes become attributes if their values are known. If a size
// stays unknown, they remain operands, because the pass define-sizes needs them.
struct TypedCall {
  Attrs attrs;
  size_t operands;  // the number of operands that remain
  Type type;        // with "?" for unknown sizes
};
// `operands`: the fields of a variadic operator's tuple. `args`, which may be left out: the call's arguments, of which
// constants that determine sizes become attributes also if they are no integers.
std::variant<TypedCall, TypeError> type_call(const Operator&, const Attrs&, const Operands& operands,
                                             std::span<const Atom> args = {});

// The values of a call's results, null where unknown; `type` is the type of the result.
std::vector<KnownValue> values_of_call(const Operator&, const Attrs&, const Operands&, const Type& type);

// The values, known at compile time, of the variables of a block and of its enclosing blocks.
class KnownValues {
 public:
  // Records the results of a binding. The values of its operands must have been recorded before; its variable and its
  // operands must have types.
  void learn(const Module&, const Binding&);

  KnownValue of(const Atom&) const;
  // The atom as an operand; its type must be a tensor's.
  Operand operand(const Module&, const Atom&) const;
  // The operands of a call of an operator, with a variadic operator's taken out of their tuple; empty when some operand
  // is not (yet) a tensor, or the tuple's fields are not known.
  std::optional<Operands> operands_of(const Module&, const Operator&, const std::vector<Atom>& args) const;

  // The operand that the projection takes out of a known tuple; null if the tuple is not known.
  const Atom* field(const Project&) const;

 private:
  std::map<int, std::vector<KnownValue>> values_;  // by variable: of a tensor, or of a tuple's fields
  std::map<int, std::vector<Atom>> tuples_;        // fields of variables that are known tuples
};

}  // namespace dlcc::relay
