// Sizes that every iteration of a loop computes anew, but from values that are defined before the loop:
//
//   %y: Tensor[(?1, 3), float32] = broadcast_to(%h, %k);        // in the iteration; %k is defined before the loop
//
// Such a size is computed before the loop as well, by copies of the operations that determine it. Where an operation
// reads only the sizes of an operand, its copy has zeros in place of the operand:
//
//   %zeros: Tensor[(1, 3), float32] = full(0f, shape=[1, 3]);   // before the loop; nothing computes its elements
//   %before: Tensor[(?2, 3), float32] = broadcast_to(%zeros, %k);
//
// so that ?2, which is ?1 in every iteration, is known where the memory of scan outputs is allocated.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "frontends/onnx/node.h"

namespace dlcc::frontends::onnx {

class InvariantSizes {
 public:
  // The builder's current block is the iteration. `parameters` are values of the iteration that are not bound in the
  // block. Symbols from `first_symbol` on are defined in the block.
  InvariantSizes(Node&, Values parameters, int first_symbol);

  // The shape by sizes that are defined before the loop; empty if a size depends on the iteration. Emits copies into
  // the block around the iteration, and checks into the iteration that its sizes are equal to those before the loop.
  std::optional<Shape> before_loop(const Shape&);

 private:
  std::optional<Shape> shape(const Shape&);
  std::optional<Dim> size(const Dim&);
  std::optional<Dim> size_of(const Symbol&);
  enum class Purpose : uint8_t { elements, sizes };  // of a copy: what is read of its result
  std::optional<Value> copy(const relay::Atom&);
  std::optional<Value> copy_binding(const relay::Binding&, Purpose);
  std::optional<Value> copy_field(const relay::Project&);
  Values copy_call(const relay::Call&, const SourceLocation&, Purpose, size_t results);
  std::optional<Value> zeros_like(const relay::Atom&);
  bool replace_sizes(relay::AttrValue&);
  const relay::Binding* binding_of(const relay::Atom&) const;
  bool is_of_iteration(const Symbol&) const;

  Node& n_;
  BlockBuilder& builder_;
  relay::Block iteration_;  // while copies are emitted
  int first_symbol_, end_symbol_;
  std::map<int, std::optional<Value>> copies_;  // by the variable's id; empty: it depends on the iteration
  std::map<int, Values> fields_;                // the copies of a tuple's fields, by the tuple's id; empty: the same
  Values defined_;  // values of the iteration that define sizes, with the types that the copies have; to be checked
  std::map<std::string, std::optional<Dim>> sizes_;  // by the symbol's name; empty: it depends on the iteration
};

}  // namespace dlcc::frontends::onnx
