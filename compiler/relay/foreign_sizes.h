// Sizes of one function's tensors in the types of data that other functions have, too.
//
//   @foldl(fn (%list, %x) { Cons(%x, %list) }, Nil, %tensors)
//
// Inference finds one type for all the lists: List[Tensor[(?1), int32]], if ?1 is the size of %x. But each call of the
// function has another %x, so that it takes and gives a List[Tensor[(?), int32]].
#pragma once

#include <functional>
#include <set>
#include <string>

#include "relay/ir.h"

namespace dlcc::relay {

// `own`: sizes that are other ones at each call of a function whose parameters are tensors with them, as ?1 above.
// Where data that are parameters have such sizes of their own function (%list above), gives these parameters the types
// `forget(type, sizes)`, with "?" for these sizes in data, and removes the types of variables and results in which the
// sizes occur: inference finds them anew.
void forget_foreign_sizes(Module&, const std::set<std::string>& own,
                          const std::function<Type(const Type&, const std::set<std::string>& sizes)>& forget);

// Calls `report` for the variables whose values have such sizes of no function around, as those of a reference that the
// function writes.
void find_foreign_sizes(const Module&, const std::set<std::string>& own,
                        const std::function<void(const Binding&)>& report);

}  // namespace dlcc::relay
