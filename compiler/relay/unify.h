// First-order unification of types with holes, with occurs check (Robinson, "A Machine-Oriented Logic Based on the
// Resolution Principle", 1965). Beyond plain unification, an unknown dimension subsumes any other, and filled holes are
// listed, so that inference can retry the relations that wait for them.
#pragma once

#include <utility>
#include <vector>

#include "relay/type.h"

namespace dlcc::relay {

class Unifier {
 public:
  explicit Unifier(const TypeLimits& limits) : limits_(limits) {}

  const TypeLimits& limits() const { return limits_; }

  // A new hole.
  Type fresh();

  // Follows filled holes at the top of the type, and in an open tensor type; deeper ones stay.
  Type shallow(const Type&) const;

  // The type with every filled hole replaced. Null for a type beyond the limits.
  Type resolve(const Type&) const;

  // Makes the two types equal by filling holes; false when that is impossible (holes may be filled partly then). A "?"
  // in `expected` accepts any dimension, at the top level and within tuples; under other type constructors, losing a
  // size would be unsound.
  bool unify(const Type& found, const Type& expected);

  // The holes filled since the last call.
  std::vector<int> take_filled() { return std::exchange(filled_, {}); }

 private:
  bool unify(const Type& found, const Type& expected, bool subsume);
  bool unify_generic(const FunctionType& found, const FunctionType& expected);
  bool unify_open(const OpenTensorType&, const TensorType&, bool subsume);
  bool unify_lists(const std::vector<Type>& found, const std::vector<Type>& expected, bool subsume);
  bool fill(int hole, const Type&);
  bool occurs(int hole, const Type&) const;

  const TypeLimits limits_;
  std::vector<Type> value_ = {nullptr};  // by hole id; null while open. Id 0 is the hole of the text, never filled
  std::vector<int> filled_;
  int next_bound_ = 0;  // below it are the ids of type variables that stand for bound ones
  int64_t steps_ = 0;   // bounds the work of one call: shared types may be exponentially large as trees
};

}  // namespace dlcc::relay
