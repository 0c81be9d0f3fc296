// Relay types: immutable, shared, compared structurally.
//
//   Tensor[(1, n), float32]   tensor of known rank; dimensions are Dims. Inference replaces the anonymous symbol "?" by
//                             a new one in parameters and in the results of calls
//   Tensor[s, b]              tensor of any shape s and element type b, variables of a generic function
//   (T, U)                    tuple
//   fn [A](T, U) -> V         function, possibly generic
//   List[T]                   instance of an algebraic data type
//   ref(T)                    mutable reference
//   A                         type variable
//   _                         hole (unification variable) that inference fills
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "shape/dim.h"
#include "support/dtype.h"

namespace dlcc::relay {

struct TypeNode;
using Type = std::shared_ptr<const TypeNode>;

// What a type variable stands for: a type, the shape of a tensor type, or its element type.
enum class Kind : uint8_t { type, shape, element };

// A type variable, identified by its id; the name is for printing.
struct TypeVariable {
  int id = 0;
  std::string name;
  Kind kind = Kind::type;
  bool operator==(const TypeVariable& o) const { return id == o.id; }
};

struct TensorType {
  Shape shape;
  DType dtype;
  int lanes = 1;  // of a vector element type such as int8x4, which no operator takes
};
// A tensor type of which the shape or the element type is not known. Inference leaves none.
struct OpenTensorType {
  Type shape;    // a variable of kind shape, a hole, or a tensor type of bool with this shape
  Type element;  // a variable of kind element, a hole, or the type of its scalars
};
struct TupleType {
  std::vector<Type> fields;
};
struct FunctionType {
  std::vector<TypeVariable> type_params;
  std::vector<Type> params;
  Type result;
};
struct DataType {  // an algebraic data type's instance
  std::string name;
  std::vector<Type> args;
};
struct RefType {
  Type value;
};
struct VariableType {
  TypeVariable variable;
};
struct HoleType {  // to be inferred; ids are unique within one inference
  int id = 0;
};

struct TypeNode {
  std::variant<TensorType, OpenTensorType, TupleType, FunctionType, DataType, RefType, VariableType, HoleType> v;
  // Depth and number of nodes as a tree.
  int64_t depth = 1, size = 1;
  // What is anywhere in it, so that traversals skip parts without it. Variables: bound ones, too.
  bool has_holes = false, has_variables = false, has_symbols = false;
};

// The largest types that are accepted, which bounds every traversal: parts are shared, so that a short program can
// build a type of exponential size. The values here are those of an empty program; see limits_of_types() in types_in.h.
struct TypeLimits {
  int64_t depth = 512, size = 1 << 16;

  bool exclude(const Type& t) const { return t && (t->size > size || t->depth > depth); }
};

Type tensor_type(Shape shape, DType dtype);
Type tensor_type(const std::vector<int64_t>& shape, DType dtype);
Type with_shape(const TensorType&, Shape);  // the same element type
bool same_element_type(const TensorType&, const TensorType&);
Type open_tensor_type(Type shape, Type element);  // a tensor type if both are known
Type tuple_type(std::vector<Type> fields);

// Calls `visit` on a type, or on the fields of a tuple, at any depth.
void for_each_field(const Type&, const std::function<void(const Type&)>& visit);

Type function_type(std::vector<Type> params, Type result, std::vector<TypeVariable> type_params = {});
Type data_type(std::string name, std::vector<Type> args);
Type ref_type(Type value);
Type variable_type(TypeVariable);
Type hole_type(int id = 0);
Dim unknown_dim();             // the anonymous symbol "?"
int number_of(const Symbol&);  // k of a symbol "?k", which inference made from "?"; 0 for other symbols

template <class T>
const T* as(const Type& t) {
  return t ? std::get_if<T>(&t->v) : nullptr;
}

bool same_type(const Type&, const Type&);  // structural; generic functions up to renaming; Dims by proved equality
bool is_static(const Type&);               // no holes, variables or symbolic dimensions anywhere
std::string str(const TypeVariable&);      // its declaration: A, S: Shape, B: BaseType
std::string str(const Type&);              // as the text format writes it; "_" for null

// Rebuilds a type bottom-up: `leaf` maps tensor types, type variables and holes, also those that are the shape or the
// element type of an open tensor type; a type none of whose parts changed is returned itself. Bound variables of
// generic functions are mapped like free ones. `with`, a flag of TypeNode: only leaves with it are visited.
Type map_leaves(const Type&, const std::function<Type(const Type&)>& leaf);
Type map_leaves(const Type&, bool TypeNode::*with, const std::function<Type(const Type&)>& leaf);

// Whether the predicate holds for a leaf that map_leaves visits.
bool any_leaf(const Type&, bool TypeNode::*with, const std::function<bool(const Type&)>& predicate);

// The types of which a type is directly made.
std::vector<Type> parts_of(const Type&);

// Calls `visit` for every type variable in the type that no generic function in it binds.
void for_each_free_variable(const Type&, const std::function<void(const TypeVariable&)>& visit);

// Calls `visit` for every dimension symbol in the type, in order of appearance.
void for_each_symbol(const Type&, const std::function<void(const Symbol&)>& visit);
bool has_symbols(const Type&);

}  // namespace dlcc::relay
