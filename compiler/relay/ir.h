// Relay, the graph-level IR: a functional, statically typed language (Roesch et al., "Relay: A High-Level Compiler for
// Deep Learning", 2019) in A-normal form (Flanagan et al., "The Essence of Compiling with Continuations", PLDI 1993).
//
// Semantics
// * A block is a list of bindings `%x = <one operation on atoms>` followed by a result atom. Bindings are evaluated in
//   order, each once; a variable is visible in the rest of its block and in the blocks nested there. Evaluation is
//   eager. `if`, `match` and `fn` hold nested blocks; only the selected branch is evaluated.
// * Every variable is bound exactly once in a module (ids are unique); shadowing exists only in text.
// * A recursive local function: the variable bound to a `fn` may be used in that fn's own body.
// * Global functions may refer to each other in any order. `@main` is the entry.
// * An operation has effects: it may fail (return a run-time status), read or write references, or not return. Passes
//   may move, merge or remove only what effects allow (relay/effects.h).
// * Tensors are immutable values. References are the only mutable state.
// * The compute definition of an operator (relay/operator.h) defines its meaning, overflow, rounding and NaN included,
//   in the semantics of tensor/ir.h.
//
// The data structures below are plain values owned by a Module; passes take a Module and return a Module. Blocks hold
// their bindings in a vector, so that no traversal recurses over a chain of operations: depth is nesting only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "relay/attrs.h"
#include "relay/type.h"
#include "shape/input_dim.h"
#include "support/boxed.h"
#include "support/constant.h"
#include "support/diagnostics.h"
#include "tensor/ir.h"

namespace dlcc::relay {

struct Operator;  // operator.h
struct Block;
struct Function;

// A local variable, identified by its id; the name is a hint for printing.
struct VarNode {
  int id;
  std::string name;
  Type type;                                     // null or with holes before type inference
  std::shared_ptr<const Attrs> attrs = nullptr;  // of a parameter in the text: {virtual_device=meta[VirtualDevice][0]}
};
using Var = std::shared_ptr<VarNode>;

struct GlobalRef {  // a function of the module, by name
  std::string name;
};
struct ConstructorRef {  // a constructor of an algebraic data type, by name (unique in a module)
  std::string name;
};
struct OperatorRef {  // an operator used as a value
  const Operator* op;
};

// An operand: needs no evaluation.
using Atom = std::variant<Var, Constant, GlobalRef, ConstructorRef, OperatorRef>;

// ---- operations -----------------------------------------------------------------------------------------------------

// f(a, b, ...) where f is an operator, a global, a constructor or a function value. Attributes only for operators.
// An operator with a variable number of tensors takes them as one tuple, as in Relay (concatenate((a, b))).
struct Call {
  Atom callee;
  std::vector<Atom> args;
  Attrs attrs;
  std::vector<TextRange> ranges = {};  // of the arguments in the text; may be fewer
};
// Call of a tensor function of the module (Relax's call_tir): the results are given by its signature. One result is the
// value itself, several are a tuple. `layouts` says how operands and results are stored once layouts were assigned: one
// per argument and then one per result; empty means dense row-major everywhere.
struct CallTensor {
  std::string function;
  std::vector<Atom> args;
  std::vector<tensor::Layout> layouts;
};
struct MakeTuple {
  std::vector<Atom> fields;
};
struct Project {
  Atom tuple;
  int index;
};
// Where the branches' results differ in size, the type of the result has a new symbol. The operation defines it: it is
// the size of the branch that is taken, visible in the rest of the block.
struct If {
  Atom condition;  // bool scalar
  Boxed<Block> then_block, else_block;
};
struct Pattern {
  struct Wildcard {};
  struct Bind {
    Var var;
  };
  struct Constructor {
    std::string name;
    std::vector<Pattern> fields;
  };
  struct Tuple {
    std::vector<Pattern> fields;
  };
  std::variant<Wildcard, Bind, Constructor, Tuple> v;
  TextRange range = {};  // in the text
};
struct Clause {
  Pattern pattern;
  Boxed<Block> body;
};
struct Match {
  Atom value;
  std::vector<Clause> clauses;  // first that fits is taken
  bool complete = true;         // false for `match?`: may fail at run time
};
struct MakeFunction {  // a closure
  Boxed<Function> function;
};
struct RefCreate {
  Atom value;
};
struct RefRead {
  Atom ref;
};
struct RefWrite {
  Atom ref, value;
};
// Checks at run time that `value` has type `type` (its dimensions match) and gives it that type.
struct MatchCast {
  Atom value;
  Type type;
};
// Defines data-dependent sizes, which are visible in the rest of the block: symbol k is element k of `value`, an int64
// vector. The value of the operation is (). An element below the symbol's lower bound ends the run with
// dimension_out_of_range, an element above its bound with capacity_exceeded. A bound of "?" means that there is none:
// native code must then be able to compute the size before the run, from elements of small inputs.
struct DefineSizes {
  Atom value;
  std::vector<Symbol> symbols;
  std::vector<Dim> most;  // upper bounds, one for each symbol, over sizes defined before
};
// Ends the run with dimension_out_of_range unless each size is in [0, 2^40]. The value of the operation is ().
struct RequireSizes {
  std::vector<Dim> sizes;
};
// The value of an atom under another name: `let %y = %x`. Left by parsing, removed by simplification.
struct Alias {
  Atom value;
};

using Operation = std::variant<Call, CallTensor, MakeTuple, Project, If, Match, MakeFunction, RefCreate, RefRead,
                               RefWrite, MatchCast, DefineSizes, RequireSizes, Alias>;

struct Binding {
  Var var;
  Operation op;
  SourceLocation location;  // where in the user's model it comes from
};

struct Block {
  std::vector<Binding> bindings;
  Atom result;
  TextRange range = {};  // of the result in the text
};

struct Function {
  std::vector<TypeVariable> type_params;
  std::vector<Var> params;
  Type result_type;  // may be null or a hole before inference
  Block body;
  Attrs attrs;
  SourceLocation location;
  TextRange result_range = {};  // of the result's type in the text
};

struct ConstructorDef {
  std::string name;
  std::vector<Type> fields;
};
struct DataTypeDef {
  std::string name;
  std::vector<TypeVariable> params;
  std::vector<ConstructorDef> constructors;
  bool is_extern = false;
};

// The objects of a metadata section other than constants, as they were read.
struct MetadataObjects {
  std::vector<std::string> nodes;                 // in JSON; an object refers to another one by its index
  std::map<std::string, std::vector<int>> lists;  // by type key: the nodes of meta[key][0], meta[key][1], ...
};

// A whole program. Maps are ordered: their order reaches the output.
struct Module {
  std::map<std::string, Function> functions;
  std::map<std::string, DataTypeDef> data_types;
  std::map<std::string, tensor::TensorFunction> tensor_functions;
  std::map<std::string, MetaReference> external_functions;  // def @f = meta[ExternFunc][0]: kept, never called
  std::map<std::string, std::string> prim_functions;        // the text of @f = primfn(...) {...}: kept, never called
  MetadataObjects metadata;

  // The interface of @main as the user sees it: names of inputs and outputs in order. For several outputs main returns
  // a tuple. Empty names are replaced by input0, output0, ...
  std::vector<std::string> input_names, output_names;

  // The sizes that the caller gives, in order of appearance in the types of @main's parameters. Importers fill it;
  // relay/input_dims.h derives it for modules from elsewhere.
  std::vector<InputDim> dims;

  int next_id = 1;  // for fresh variables
  Var fresh(std::string name, Type type = nullptr) {
    return std::make_shared<VarNode>(VarNode{next_id++, std::move(name), std::move(type)});
  }
  const DataTypeDef* data_type_of_constructor(const std::string& constructor) const;
};

// Deep copy of a block's nested structure with fresh variables; `renamed` maps old variable ids to new atoms and may be
// seeded with replacements for free variables.
Block clone(Module& module, const Block& block, std::map<int, Atom>& renamed);

Type type_of(const Module&, const Atom&);  // after inference
// Whether the branches' results differ in shape, so that the type of the `if` has symbols that it defines. After
// inference.
bool defines_sizes(const Module&, const If&);
// Whether a function of the module has a define_sizes.
bool defines_sizes(const Module&);
std::vector<bool> which_are_constant(const std::vector<Atom>&);
int64_t count_operations(const Block&);  // with those of the blocks within

// Calls `visit` for every atom that an operation uses directly (not inside nested blocks).
template <class Visit>
void for_each_atom(const Operation& op, Visit&& visit);
template <class Visit>
void for_each_atom(Operation& op, Visit&& visit);

// Calls `visit` for every nested block of an operation: branches, clauses, function bodies.
template <class Visit>
void for_each_block(const Operation& op, Visit&& visit);
template <class Visit>
void for_each_block(Operation& op, Visit&& visit);

// The text form (RELAY.md): print(parse(print(m))) == print(m). Constants of rank > 0 go to the metadata section when
// `with_metadata`, else they are printed as meta references only.
std::string print(const Module&, bool with_metadata = true);
std::string print(const Block&);

// Checks the rules listed in verify.cpp; reports each violation. True when there is none.
bool verify(const Module&, Diagnostics&);

// Infers and checks all types in place. False (with diagnostics) when that is not possible. After earlier errors in the
// diagnostics: false, and only problems that do not follow from unknown types are reported.
bool infer_types(Module&, Diagnostics&);

}  // namespace dlcc::relay

#include "relay/visit.h"
