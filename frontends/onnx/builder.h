// Builds Relay blocks. Every call is typed immediately by the operator's type relation. A call with small constant
// operands is evaluated immediately by the operator's definition. Shape arithmetic over symbolic dimensions is
// evaluated as well, so that computed shapes are numbers or expressions over the dimensions of the inputs.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "relay/call_type.h"

namespace dlcc::frontends::onnx {

struct Structure;

// A value during import: a tensor, or a structure. A poisoned value is the result of a rejected node; nodes that depend
// on it are skipped without further messages.
struct Value {
  relay::Atom atom;
  relay::TensorType type;
  bool poisoned = false;
  // The standard's name, such as "X", of the node's input from which the value comes; empty for other values.
  std::string role = {};
  // Of a value that is no tensor of numbers (structure.h), which has no atom; null for a tensor.
  std::shared_ptr<const Structure> structure = {};

  static Value poison();
  static Value of(Constant);
  // Null for other values, structures among them.
  const Constant* constant() const { return structure ? nullptr : std::get_if<Constant>(&atom); }
  int rank() const { return static_cast<int>(type.shape.size()); }
};
using Values = std::vector<Value>;

// The type of the only value, or of the tuple of all values.
relay::Type type_of(const Values&);

class BlockBuilder {
 public:
  explicit BlockBuilder(relay::Module& module) : module_(module) {}

  void open();
  // The block of all bindings since the matching open(). Its value is the only result, or the tuple of all results.
  relay::Block close(const Values& results, const SourceLocation&);
  relay::Block close(relay::Atom result);
  void discard();                                               // closes without a result
  const relay::Block& current() const { return open_.back(); }  // the bindings since the last open()
  // Takes the current block away, so that bindings are added to the block around it, until it is put back.
  relay::Block suspend();
  // The call of an operator in the current block that computes the value; null for other values.
  const relay::Call* call_of(const relay::Atom&) const;
  void resume(relay::Block);

  relay::Var parameter(const std::string& name, const relay::TensorType&);
  // Notes that the variable is an input of the model: sizes that depend on the elements of small inputs are known
  // before a run.
  void note_input(const relay::Var&);
  relay::Var fresh(const std::string& name, relay::Type);  // a variable for a later bind()
  void bind(const relay::Var&, relay::Operation, const SourceLocation&);
  relay::Var bind(relay::Operation, relay::Type, const std::string& name, const SourceLocation&);
  // The first `count` fields of a tuple.
  Values fields(const relay::Var& tuple, size_t count, const std::string& name, const SourceLocation&);

  // Applies an operator to values, none of them poisoned. Where operands must have equal sizes and this cannot be
  // proved, a match_cast is inserted. Returns the result, or the first `results` fields if it is a tuple. Unknown sizes
  // of the result are new symbols.
  std::variant<Values, relay::TypeError> call(const std::string& op, const Values& args, const relay::Attrs& attrs,
                                              size_t results, const SourceLocation&);

  // The gradients of the sum of a value's elements with respect to variables (relay/differentiate.h), through the
  // bindings of the current block from number `first` on. Empty, and reported, if an operation has none.
  std::optional<Values> gradients(size_t first, const Value&, const std::vector<relay::Var>& variables,
                                  const SourceLocation&, Diagnostics&);

  // The elements of a small tensor of integers, where known; null if none is.
  relay::KnownValue known(const Value& value) const { return known_.of(value.atom); }

  // The first elements of a list of floats, where known: of a constant, or of lists of which some are constants.
  std::vector<std::optional<double>> known_numbers(const Value& list) const;

  // Symbols for unknown sizes are named "?1", "?2", ...
  int next_symbol() const { return next_symbol_; }
  // Whether the dimension depends on a symbol for an unknown size, from `first` on, that is no size of an input.
  bool has_new_symbol(const Dim&, int first) const;
  // A data-dependent size, at most `most`. A size that the model declares never replaces it.
  Dim new_size(const Dim& most = relay::unknown_dim());
  // The size that a scalar gives, at least 0, if the scalar is computed from inputs of the model. It is defined in the
  // outermost block, once for each scalar.
  std::optional<Dim> size_of_input(const Value& scalar, const std::string& name, const SourceLocation&);
  bool is_size_of_input(int symbol) const { return sizes_of_inputs_.contains(symbol); }
  // The known upper bounds of data-dependent sizes from `first` on, by name of the symbol. They may depend on others.
  std::map<std::string, Dim> largest_sizes(int first) const;
  const std::vector<InputDim>& dims() const { return module_.dims; }  // the sizes that the caller gives

  // The value with declared numbers in place of sizes that are new symbols, from `first_symbol` on. They are checked at
  // run time.
  Value with_declared_sizes(const Value&, const Shape& declared, int first_symbol, const SourceLocation&);

  // A match_cast: the value, checked at run time to have these sizes.
  Value check_sizes(const Value&, const Shape&, const SourceLocation&);

 private:
  bool is_new_symbol(const Dim&, int first) const;
  relay::Type with_new_symbols(const relay::Type&, bool data_dependent, const Shape& largest);
  std::variant<relay::TypedCall, relay::TypeError> typed(const relay::Operator&, const relay::Attrs&, Values& args,
                                                         const SourceLocation&);
  relay::Operands operands_of(const Values& args) const;
  bool make_equal(const std::pair<Dim, Dim>& sizes, Values& args, const SourceLocation&);

  relay::Module& module_;
  relay::KnownValues known_;
  bool is_computed_from_inputs(const Values& args, size_t first) const;

  int next_symbol_ = 1;
  std::set<int> data_dependent_;        // data-dependent sizes, by number of the symbol
  std::map<int, Dim> largest_;          // the known upper bounds of data-dependent sizes, by number of the symbol
  std::map<int, int> sizes_of_inputs_;  // of scalars that are computed from inputs: number of the symbol -> variable id
  std::set<int> of_inputs_;             // small tensors computed from inputs of the model, by variable id
  std::map<int, std::vector<std::optional<double>>> numbers_;  // known elements of concatenations, by variable id
  std::vector<relay::Block> open_;
};

// Turns a name into an identifier of Relay's text format.
std::string variable_name(const std::string& name);

}  // namespace dlcc::frontends::onnx
