// The type of an operator's call, and values that are known at compile time.
#pragma once

#include <map>
#include <variant>
#include <vector>

#include "relay/operator.h"

namespace dlcc::relay {

// A call as its type relation sees it. Operands that decide sizes and have a known value are attributes, unless a size
// stays unknown: the pass define-sizes then needs the operands.
struct TypedCall {
  Attrs attrs;
  size_t operands;  // the number of operands that are left
  Type type;        // with "?" for unknown sizes
};
// `operands`: the fields of a variadic operator's tuple.
std::variant<TypedCall, TypeError> type_call(const Operator&, const Attrs&, const Operands& operands);

// The value of a call's results as far as known; `type` is the type of the result.
std::vector<KnownValue> values_of_call(const Operator&, const Attrs&, const Operands&, const Type& type);

// The values of a block's variables as far as known at compile time, and those of the blocks around it.
class KnownValues {
 public:
  // Records the results of a binding whose operands' values were recorded before, and whose variable and operands have
  // types.
  void learn(const Module&, const Binding&);

  KnownValue of(const Atom&) const;
  // The atom as an operand; its type must be a tensor's.
  Operand operand(const Module&, const Atom&) const;
  // The operands of a call of an operator, with a variadic operator's taken out of their tuple; empty when some operand
  // is not (yet) a tensor, or the tuple's fields are not known.
  std::optional<Operands> operands_of(const Module&, const Operator&, const std::vector<Atom>& args) const;

 private:
  std::map<int, std::vector<KnownValue>> values_;  // by variable: of a tensor, or of a tuple's fields
  std::map<int, std::vector<Atom>> tuples_;        // fields of variables that are known tuples
};

}  // namespace dlcc::relay
