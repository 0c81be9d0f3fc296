// The state of lowering one module. Its members are defined in the files that lower blocks and values (lower.cpp),
// calls of tensor functions (lower_calls.cpp), calls of global functions (lower_functions.cpp), branches, local
// functions and loops (lower_control.cpp), scalars (lower_scalars.cpp), and elements of small tensors
// (lower_elements.cpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lower/in_place_concat.h"
#include "lower/lower.h"
#include "lower/schedule_kernel.h"
#include "lower/shared_functions.h"
#include "relay/passes/replace.h"
#include "relay/tail_recursion.h"
#include "tensor/element_expressions.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::lower {

struct Unsupported {};  // thrown after a diagnostic; caught in lower()

// Whether elements of the type can be scalars of the program.
inline bool can_be_scalar(DType t) { return bits(t) >= 8 && !is_minifloat(t); }

class Lowerer {
 public:
  Lowerer(const relay::Module& module, const std::vector<tensor::Machine>& machines,
          const tensor::ScheduleOptions& options, Diagnostics& diagnostics, const Configure& configure);

  Program run(int jobs);

 private:
  struct Operand;
  struct TensorCall;
  using Environment = std::map<int, Operand>;  // by variable

  // A local function, with what it sees of the function that makes it; or a global function, of which only the name is
  // set.
  struct Closure {
    const relay::Function* function = nullptr;
    int id = -1;  // of the variable that is bound to it
    Environment captured = {};
    std::map<std::string, Dim> sizes = {};  // as State::sizes
    std::string global = {};
  };

  // The lowered form of a variable: a value in memory, a scalar, a tuple, or a function.
  struct Operand {
    ValueId value = -1;
    tensor::Expr scalar = {};
    // Of small tensors, over elements of inputs, symbols and scalars that are visible where the operand is; null if
    // unknown.
    tensor::KnownElements elements = nullptr;
    std::vector<Operand> fields = {};
    bool is_tuple = false;
    std::shared_ptr<const Closure> closure = nullptr;
    const Constant* constant = nullptr;  // owned by the module; of a constant operand of a function, else null
  };

  [[noreturn]] void unsupported(const SourceLocation&, const std::string& what, const std::string& help = {});
  [[noreturn]] void unsupported_value(const relay::Atom&, const SourceLocation&);  // of a type without native code
  [[noreturn]] void too_large(const SourceLocation&, const std::string& what, const std::string& help);
  void count_inlined(const relay::Function&, const SourceLocation&);  // an error if there are too many operations

  // ---- values
  Operand new_input(const relay::Type&, const std::string& name);
  ValueId add_value(Value);
  ValueId new_value(std::string name, const relay::TensorType&, Storage);
  ValueId new_temporary(std::string name, const tensor::Buffer& stored, const std::map<std::string, Dim>& sizes);
  ValueId constant(Constant stored);
  ValueId constant_value(int index);  // the value of the current function for a constant of the program
  void make_output(ValueId, int index);
  Value& value_of(ValueId id) { return program_.values[static_cast<size_t>(id)]; }
  ValueId base_of(ValueId id) { return value_of(id).storage == Storage::view ? value_of(id).base : id; }

  // ---- operands
  Operand operand(const relay::Atom&, const Environment&, const SourceLocation&);
  // The operand in memory. A scalar is stored into a new temporary.
  ValueId value(const Operand&, Region&, const SourceLocation&);
  ValueId value(const relay::Atom&, const Environment&, Region&, const SourceLocation&);
  // The operand, a tensor of rank 0, as a scalar. A value in memory is read.
  tensor::Expr scalar(const Operand&, Region&, const SourceLocation&);
  // A scalar that has the value of the expression, which is simplified under the known ranges of scalars.
  tensor::Expr compute(const std::string& name, const tensor::Expr&, Region&);
  tensor::Expr with_known(const tensor::Expr&) const;  // without minima and maxima whose result is known
  // The expression with the definition of each scalar that a step computes in its place, definitions included.
  tensor::Expr with_definitions(const tensor::Expr&) const;
  void assume(const tensor::Expr& condition);  // adds a condition that holds in the current region
  bool is_known(const tensor::Expr& condition) const;
  bool is_nonnegative(const tensor::Expr&) const;                  // whether an int64 is known to be at least 0
  tensor::Expr unknown_part(const tensor::Expr& condition) const;  // the conjuncts that are not known to hold
  // Ends the run with the status unless the condition holds. Conjuncts that are known to hold are not tested. A
  // condition on sizes alone, outside of control flow, becomes a requirement of the program. A condition of a step is
  // known in the rest of the region.
  void require(const tensor::Expr& condition, tensor::Status, Region&);
  // flatten() appends the tensors of an operand to a list; rebuild() makes an operand with the structure of `like` from
  // the tensors of a list.
  void flatten(const Operand&, std::vector<Operand>& list, const SourceLocation&);
  static Operand rebuild(const Operand& like, const std::vector<Operand>& list, size_t& next);

  // ---- sizes
  Shape in_program(Shape) const;  // a shape of the current function, over the symbols of the program

  // ---- bindings
  Operand lower_block(const relay::Block&, Environment, Region&, const SourceLocation&);
  Operand lower_binding(const relay::Binding&, const Environment&, Region&);
  Operand match_cast(const relay::Binding&, const relay::MatchCast&, const Environment&, Region&);
  // An upper bound of an integer over the sizes of the program, by known conditions such as those of the loops around
  // the current step: i + 1 is at most n for i < n. Empty if none is known.
  std::optional<Dim> largest_value(const tensor::Expr&, std::span<const tensor::Expr> conditions) const;
  std::optional<Dim> limit_of(const tensor::Var&, std::span<const tensor::Expr> conditions) const;
  // Adds a data-dependent size, at most `most`, for a symbol of the current function. The program has a symbol of its
  // own for each time that the function is inlined.
  tensor::Var add_data_size(const Symbol&, const Dim& most);
  // Adds the sizes that one branch defines, whose symbols become those of the program, with the bounds that they had.
  // `branch` is not read.
  void add_branch_sizes(std::vector<DataSize>&);
  Symbol own_symbol(const Symbol&);
  // Adds a size that is computed from elements of inputs, at most `most` unless that is "?". Null if the expression
  // depends on other scalars, or `most` on sizes that are not known before the run.
  tensor::Var add_input_size(const Symbol&, const tensor::Expr& value, const Dim& most);
  Operand define_sizes(const relay::Binding&, const relay::DefineSizes&, const Environment&, Region&);
  void require_in_bounds(const tensor::Expr& size, int64_t least, const Dim& most, Region&);  // in [least, most]
  bool is_computed_by_steps(const tensor::Expr&) const;
  std::optional<int64_t> largest_slice_length(const tensor::Expr& length) const;  // tensor/slice_length.h
  // The bound of a data-dependent size that is defined after the checks of sizes. Where it is a product, which is
  // positive if two of its factors are negative, the result is 0 where a checked size is negative.
  Dim bound_where_checked(const Dim& most, const std::vector<Dim>& checked) const;
  // Requires that the size is in [0, 2^40]: before the run, if it is known there and the region always runs.
  void require_size(const Dim&, Region&);
  Operand call(const relay::Binding&, const relay::Call&, const Environment&, Region&);

  // ---- calls of global functions
  // A function of the program: a global function instantiated for the types of its operands and for its constant
  // operands.
  struct Instance {
    int function;
    Operand result;              // the structure of the result
    std::vector<Value> results;  // the types, shapes and names of its tensors, in order
  };
  Operand call_global(const relay::Binding&, const relay::Call&, const std::string& callee, const Environment&,
                      Region&);
  // Whether the operand can be passed to a function of the program: it has no scalars of the program and no
  // data-dependent sizes.
  bool can_be_passed(const Operand&);
  Operand call_function(const relay::Binding&, const std::string& callee, const std::vector<Operand>& args,
                        std::map<std::string, Dim> sizes, Region&);
  Instance lower_function(const std::string& callee, const std::vector<Operand>& args,
                          std::map<std::string, Dim> sizes);
  // The operand that stands for a parameter within the function. A constant operand is the constant there.
  Operand formal(const relay::Type&, const std::string& name, const Operand& actual, const Function& caller);

  // ---- elements of small tensors (lower_elements.cpp), in modules with data-dependent sizes
  tensor::KnownElements elements_of_input(ValueId);
  tensor::KnownElements elements_of(const Constant&) const;
  // The elements of a variable, over scalars of the program if they are not known before the run.
  tensor::KnownElements elements_of(const Operand&) const;
  // Adds the elements to the result of a call.
  Operand with_elements(Operand result, const TensorCall&) const;
  tensor::Expr element_of(const Operand&) const;
  Operand with_scalar_element(Operand, const std::string& name, Region&);

  // ---- calls of tensor functions
  // A call of a tensor function, specialized for the operands that are scalars.
  struct TensorCall {
    tensor::TensorFunction function;
    std::vector<Operand> operands;           // one for each parameter
    std::vector<const Constant*> constants;  // one for each parameter; null for variables
    std::vector<tensor::Layout> layouts;     // of parameters, then results; empty: all dense
    std::vector<tensor::Expr> scalars;       // one for each scalar parameter
    std::string key;                         // equal for calls with equal kernels
  };
  struct Scheduled {
    int kernel;
    std::vector<std::function<Constant(const Constant&)>> packing;
    std::vector<std::pair<int, int>> in_place;
    Dim macs;
    uint64_t request;
    bool is_serpentine = false;        // the kernel has the scalar `backward` after those of the function
    std::vector<Symbol> symbols = {};  // of the function for which it was made, sorted
  };
  Operand call_tensor(const relay::Binding&, const relay::CallTensor&, const Environment&, Region&);
  Operand call_tensor(const relay::Binding&, TensorCall, Region&);
  TensorCall tensor_call(const relay::Binding&, const relay::CallTensor&, const Environment&);
  static void bind_required_sizes(TensorCall&, const std::vector<tensor::Requirement>&);
  std::optional<Operand> size_of(const relay::Binding&, const TensorCall&, Region&);
  tensor::Expr scalar_operand(const TensorCall&, size_t operand) const;
  void pass_scalars_by_value(TensorCall&, Region&);
  std::optional<Operand> call_scalar(const relay::Binding&, TensorCall, Region&);
  std::optional<Operand> update_slice(const relay::Binding&, TensorCall&, Region&);
  void slice_operands(const relay::Binding&, TensorCall&, Region&);
  // Calls the kernel of a tensor function; `result` is where its only result is stored, or -1 for new temporaries.
  Operand call_kernel(const relay::Binding&, const TensorCall&, Region&, ValueId result = -1);
  ValueId in_memory(const TensorCall&, size_t operand, Region&, const SourceLocation&);  // a constant is not packed
  tensor::Expr in_program(const tensor::Expr&, const TensorCall&) const;
  // A view of this type that begins at the element `first` of the source.
  ValueId view_of(ValueId source, const std::string& name, DType, const Shape&, int64_t first);
  ValueId slice_of(ValueId source, const std::string& name, const tensor::Buffer& slice, const tensor::Expr& index);
  bool depends_on_data(const Dim&) const;
  void note_concatenation(const TensorCall&, const Invoke&);
  const Scheduled& scheduled(const TensorCall&);
  KernelRequest kernel_request(const tensor::TensorFunction&, std::vector<bool> constant,
                               std::vector<tensor::Layout>) const;
  void schedule_ahead(const relay::Block&, int jobs);
  // Adds the requests of calls that schedule_ahead() schedules, by the keys of their kernels.
  void add_requests(const relay::Block&, std::map<std::string, KernelRequest>&) const;
  void add_request(const relay::CallTensor&, std::map<std::string, KernelRequest>&) const;
  static std::map<std::string, Dim> sizes_of_kernel(const Scheduled&, const TensorCall&);
  // Whether a loop repeats the call, with constants too large to stay in the second-level cache between the calls.
  bool repeats_large_constants(const TensorCall&) const;

  // ---- control flow
  Operand branch(const relay::Binding&, const relay::If&, const Environment&, Region&);
  // Defines the symbols of a branch's result for the sizes in which its arms differ. Returns the shape of each tensor
  // of the result that has such symbols, and an empty shape for every other tensor.
  // `then_checked`, `else_checked`: the sizes that are checked at the ends of the arms. The branch is the last step of
  // the region, to which the checks of lower bounds are added.
  std::vector<Shape> merge_sizes(const relay::If&, const relay::Type& result, Branch&,
                                 const std::vector<Dim>& then_checked, const std::vector<Dim>& else_checked, Region&);
  void store_branch_results(Region&, const std::vector<Operand>& results, const std::vector<ValueId>& merged,
                            ValueId first, ValueId last);
  void rename(Region&, ValueId from, ValueId to);
  Operand call_closure(const relay::Binding&, const relay::Call&, const Closure&, const Environment&, Region&);
  Operand loop(const relay::Binding&, const relay::Call&, const std::vector<Operand>& args, const Closure&,
               const relay::TailRecursion&, Region&);
  // Adds the range of a carried scalar to `ranges_` if the scalar is a counter: each iteration adds 1 to it.
  void find_counter(const relay::Function&, const relay::TailRecursion&, size_t param, const Loop::Carried&);
  // Bounds the counters by the loop's condition `counter < limit`: the largest value is limit - `distance`.
  void bound_counters(const Loop&, int64_t distance);
  // The operand that stands for a parameter within the loop. `is_last_use`: no other operation uses the variable of
  // `initial`, which a call in this block has defined.
  Operand carry(const relay::Var& param, const Operand& initial, bool is_last_use, Loop&, Region&,
                const SourceLocation&);
  void find_updates(const relay::Function&, const relay::TailRecursion&, const std::vector<Operand>& carried);
  bool is_written_by_slices(const Loop&, ValueId);
  void remove_initialization(Region&, ValueId);
  // Makes the operands of the recursive call the carried values of the next iteration.
  void set_next_values(const std::vector<Operand>& next, const std::vector<Operand>& carried, Loop&,
                       const SourceLocation&);
  bool replaces_in_place(Region& body, const std::vector<Copy>& copies, const Copy&);

  const relay::Module& module_;
  const std::vector<tensor::Machine>& machines_;
  const tensor::ScheduleOptions& options_;
  Diagnostics& diagnostics_;
  const Configure& configure_;
  // The direction in which an iteration of a loop reads its large weights (tensor/passes/serpentine_order.h).
  struct Direction {
    tensor::Var backward = nullptr;  // a scalar, 0 and 1 alternately; null outside of loops
    bool is_used = false;            // by a call
  };
  // The state of the function that is being lowered, besides its values and steps.
  struct State {
    std::map<int, ValueId> constant_values = {};  // by index in Program::constants
    std::vector<ConcatCall> concat_calls = {};
    std::map<std::string, Dim> sizes = {};     // of the symbols of the function being inlined; others are @main's
    std::vector<tensor::Expr> known = {};      // conjuncts of conditions of loops and requirements that hold here
    std::vector<Dim> checked = {};             // by CheckSize steps before the current one
    std::set<int> fresh = {};                  // variables whose memory a call in this block has defined
    std::set<ValueId> defined_by_slices = {};  // uninitialized values of which a loop writes all slices
    std::map<int, ValueId> updates = {};       // results of in-place slice updates: variable -> carried value
    Direction direction = {};                  // of the innermost loop around the current region
  };

  Program program_;  // holds the values and steps of the function being lowered
  State state_;
  const relay::SharedCalls shared_functions_;
  std::map<std::string, Instance> instances_;               // by name, types and constants
  int64_t inlined_ = 0;                                     // operations of inlined functions, counted for each call
  std::map<uint64_t, std::vector<int>> constants_by_hash_;  // indices in Program::constants
  std::map<std::string, ScheduledKernel> scheduled_ahead_;  // by the key in scheduled_, where no call was lowered yet
  std::map<std::string, Scheduled> scheduled_;
  std::map<std::string, int> kernel_by_text_;
  std::set<std::string> active_ = {"main"};     // functions being lowered
  relay::Uses uses_;                            // of variables, in all functions of the module
  tensor::Ranges ranges_;                       // of scalars, if known
  tensor::Substitution definitions_;            // of int64 scalars that Compute steps define
  bool tracks_elements_ = false;                // whether the module has data-dependent sizes
  std::map<tensor::Var, Read> input_elements_;  // scalars that are elements of inputs -> their reads
};

}  // namespace dlcc::lower
