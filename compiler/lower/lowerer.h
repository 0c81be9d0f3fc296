// The state of lowering one module. Its members are defined in the files that lower blocks and values (lower.cpp),
// calls of tensor functions (lower_calls.cpp), and branches, local functions and loops (lower_control.cpp).
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
#include "relay/passes/replace.h"
#include "relay/tail_recursion.h"
#include "tensor/simplify.h"

namespace dlcc::lower {

struct Unsupported {};  // thrown after a diagnostic; caught in lower()

// Whether elements of the type can be scalars of the program.
inline bool can_be_scalar(DType t) { return bits(t) >= 8 && !(is_float(t) && bits(t) == 8); }

class Lowerer {
 public:
  Lowerer(const relay::Module& module, const std::vector<tensor::Machine>& machines,
          const tensor::ScheduleOptions& options, Diagnostics& diagnostics, const Configure& configure);

  Program run();

 private:
  struct Operand;
  using Environment = std::map<int, Operand>;  // by variable

  // A local function and the variables that it sees.
  struct Closure {
    const relay::Function* function;
    int id;  // of the variable that is bound to it
    Environment captured;
  };

  // The lowered form of a variable: a value in memory, a scalar, a tuple, or a local function.
  struct Operand {
    ValueId value = -1;
    tensor::Expr scalar = {};
    std::vector<Operand> fields = {};
    bool is_tuple = false;
    std::shared_ptr<const Closure> closure = nullptr;
  };

  [[noreturn]] void unsupported(const SourceLocation&, const std::string& what);

  // ---- values
  Operand new_input(const relay::Type&, const std::string& name);
  ValueId add_value(Value);
  ValueId new_value(std::string name, const relay::TensorType&, Storage);
  ValueId new_temporary(std::string name, const tensor::Buffer& stored);
  ValueId constant(Constant stored);
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
  tensor::Expr with_known(const tensor::Expr&) const;
  tensor::Expr unknown_part(const tensor::Expr& condition) const;  // its conjuncts that are not known to hold
  // Ends the run unless the condition holds. What is known to hold is not tested. A condition on sizes alone that is
  // not within control flow becomes a requirement of the program.
  void require(const tensor::Expr& condition, tensor::Status, Region&);
  // The tensors of an operand, and an operand with the structure of `like` of tensors from a list.
  void flatten(const Operand&, std::vector<Operand>& list, const SourceLocation&);
  static Operand rebuild(const Operand& like, const std::vector<Operand>& list, size_t& next);

  // ---- sizes
  void match_sizes(const relay::Type& param, const relay::Type& argument, std::map<std::string, Dim>& sizes);
  void match_sizes(const Shape& param, const Shape& argument, std::map<std::string, Dim>& sizes);
  Shape in_program(Shape) const;  // a shape of the current function, over the symbols of the program

  // ---- bindings
  Operand lower_block(const relay::Block&, Environment, Region&, const SourceLocation&);
  Operand lower_binding(const relay::Binding&, const Environment&, Region&);
  Operand match_cast(const relay::Binding&, const relay::MatchCast&, const Environment&, Region&);
  Operand define_sizes(const relay::Binding&, const relay::DefineSizes&, const Environment&, Region&);
  // Requires that the axes of a result which data decide are not negative.
  void require_sizes(const relay::Type&, Region&);
  Operand call(const relay::Binding&, const relay::Call&, const Environment&, Region&);
  Operand call_global(const relay::Binding&, const relay::Call&, const std::string& callee, const Environment&,
                      Region&);

  // ---- calls of tensor functions
  // A call with its operands: specialised for those that are scalars.
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
  };
  Operand call_tensor(const relay::Binding&, const relay::CallTensor&, const Environment&, Region&);
  TensorCall tensor_call(const relay::Binding&, const relay::CallTensor&, const Environment&);
  std::optional<Operand> size_of(const relay::Binding&, const TensorCall&, Region&);
  void pass_scalars_by_value(TensorCall&, Region&);
  std::optional<Operand> call_scalar(const relay::Binding&, TensorCall, Region&);
  std::optional<Operand> update_slice(const relay::Binding&, TensorCall&, Region&);
  void slice_operands(const relay::Binding&, TensorCall&, Region&);
  // Calls the kernel of a tensor function; `result` is where its only result is stored, or -1 for new temporaries.
  Operand call_kernel(const relay::Binding&, const TensorCall&, Region&, ValueId result = -1);
  ValueId in_memory(const TensorCall&, size_t operand, Region&, const SourceLocation&);  // as it is, not packed
  tensor::Expr in_program(const tensor::Expr&, const TensorCall&) const;
  // A view of this type that begins at the element `first` of the source.
  ValueId view_of(ValueId source, const std::string& name, DType, const Shape&, int64_t first);
  ValueId slice_of(ValueId source, const std::string& name, const tensor::Buffer& slice, const tensor::Expr& index);
  void note_concatenation(const TensorCall&, const Invoke&);
  const Scheduled& scheduled(const TensorCall&);

  // ---- control flow
  Operand branch(const relay::Binding&, const relay::If&, const Environment&, Region&);
  void store_branch_results(Region&, const std::vector<Operand>& results, const std::vector<ValueId>& merged,
                            ValueId first, ValueId last);
  void rename(Region&, ValueId from, ValueId to);
  Operand call_closure(const relay::Binding&, const relay::Call&, const Closure&, const Environment&, Region&);
  Operand loop(const relay::Binding&, const relay::Call&, const Closure&, const relay::TailRecursion&,
               const Environment&, Region&);
  // Adds the range of a carried scalar to `ranges_` if each iteration adds 1 to it.
  void find_counter(const relay::Function&, const relay::TailRecursion&, size_t param, const Loop::Carried&);
  // Bounds the counters by the loop's condition `counter < limit`: the largest value is limit - `distance`.
  void bound_counters(const Loop&, int64_t distance);
  // The operand of a parameter within the loop. `is_last_use`: nothing else uses the memory of `initial`.
  Operand carry(const relay::Var& param, const Operand& initial, bool is_last_use, Loop&, Region&,
                const SourceLocation&);
  void find_updates(const relay::Function&, const relay::TailRecursion&, const std::vector<Operand>& carried);
  bool is_written_by_slices(Loop&, ValueId);
  bool is_written_by(const Invoke&, ValueId) const;
  void remove_initialization(Region&, ValueId);
  // Makes the operands of the recursive call the carried values of the next iteration.
  void set_next_values(const std::vector<Operand>& next, const std::vector<Operand>& carried, Loop&,
                       const SourceLocation&);

  const relay::Module& module_;
  const std::vector<tensor::Machine>& machines_;
  const tensor::ScheduleOptions& options_;
  Diagnostics& diagnostics_;
  const Configure& configure_;
  Program program_;
  std::map<uint64_t, std::vector<ValueId>> constants_by_hash_;
  std::map<std::string, Scheduled> scheduled_;
  std::map<std::string, int> kernel_by_text_;
  std::vector<ConcatCall> concat_calls_;
  std::set<std::string> active_ = {"main"};  // functions being inlined
  std::map<std::string, Dim> sizes_;         // of the symbols of the function being inlined; others are @main's
  relay::Uses uses_;                         // of variables, in all functions of the module
  tensor::Ranges ranges_;                    // of scalars, if known
  std::vector<tensor::Expr> known_;          // conditions that hold: those of the loops around the current region
  std::set<int> fresh_;                  // variables of the current block whose memory a kernel call has just defined
  std::set<ValueId> defined_by_slices_;  // values without initial contents, of which a loop writes all slices
  std::map<int, ValueId> updates_;       // variables that are carried values with one slice replaced, and these values
};

}  // namespace dlcc::lower
