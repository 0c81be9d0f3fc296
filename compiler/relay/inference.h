// The state of one type inference over a module: unification plus type relations kept in a queue, each waiting for the
// hole that blocks it (Roesch et al., "Relay: A High-Level Compiler for Deep Learning", 2019, section 3.2). Internal to
// the files infer*.cpp.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relay/call_type.h"
#include "relay/constructors.h"
#include "relay/general_values.h"
#include "relay/instances.h"
#include "relay/operator.h"
#include "relay/types_in.h"
#include "relay/unify.h"

namespace dlcc::relay {

bool is_incomplete(const Type&);  // whether it has holes or is not known at all

// Whether the type has a free type variable that is not one of `visible`.
bool escapes(const Type&, const std::set<int>& visible);

// The name of a dimension that is a single symbol.
std::optional<std::string> plain_symbol(const Dim&);

class Inference {
 public:
  // The sizes of parameters without types where data have tensors of any sizes: any, also in functions that such
  // functions make, and beside data whose tensors are not known; or, in these cases, those that are known first.
  enum class SizesOfOpenFunctions : uint8_t { first, any };
  Inference(Module& module, Diagnostics& diagnostics, SizesOfOpenFunctions sizes = SizesOfOpenFunctions::first)
      : module_(module), diagnostics_(diagnostics), constructors_(module), sizes_of_open_functions_(sizes) {}
  bool run();
  // Sizes of functions without types, other ones at each of their calls.
  const std::set<std::string>& chosen_sizes() const { return chosen_sizes_; }

 private:
  // ---- functions and blocks (infer.cpp)
  void declare_symbols_of_text();
  void choose_open_type_arguments();
  void declare(Function&, bool local);  // puts holes into the signature, so that calls can be inferred
  void infer_function(Function&);
  // Of a local function with this declared result, in which the sizes with these names are known.
  void infer_body(Function&, const Type& declared, const std::set<std::string>& known, const SourceLocation&);
  void own_sizes_of_values(const Function&);
  void enter_parameter_sizes(const Function&, bool is_local);
  void own_new_sizes(const Function&, int first_symbol);                         // of a local function
  void check_size(const Type&, const SourceLocation&, const std::string& what);  // whether it fits 63 bits
  void finish(Function&);  // replaces filled holes; open ones are errors
  void finish(Block&, const Function&);
  void finish(Pattern&, const Function&);
  void finish(VarNode&, const SourceLocation&);
  void report_escape(const VarNode&, const Type&, const TypeVariable&, const SourceLocation&);
  Type infer_block(Block&);
  void infer_binding(Binding);
  void name_symbols_in(const Dim& found, const Dim& annotation, const std::function<bool(const std::string&)>& is_fresh,
                       std::map<std::string, Dim>& names) const;
  void name_sizes_in_data(const Type& found, const Type& annotation, int first_symbol,
                          std::map<std::string, Dim>& names) const;
  Type own_sizes_of_annotation(const Type& annotation);
  void fill_element_types(const Type& found, const Type& annotation);
  Type name_new_symbols(const Type& found, const Type& annotation, int first_symbol, std::map<std::string, Dim>& names);
  void apply_annotation(Binding&, Type found, Type annotation, int first_symbol);
  bool has_annotated_sizes(Binding&, const Type& found, const Type& annotation);

  // ---- results of functions (infer_results.cpp)
  Type refine(const Type& declared, const Type& found) const;
  Type with_unknown_sizes(const Type& result, const std::set<std::string>& known,
                          const std::map<std::string, Dim>& sizes = {}) const;
  Type expected_result(const Type& declared, const Type& found, const std::set<std::string>& known) const;
  void name_result_sizes(Function&, const Type& declared, int first_symbol);
  void coerce_result(Function&, const Type& found, const Type& declared, const std::set<std::string>& known,
                     const SourceLocation&);
  Type with_own_sizes(const Function&, const Type& result);
  void note_defined_sizes(const Var& name, const Function&, std::set<std::string> visible);
  void note_early_call(const Atom& callee, std::map<std::string, Dim> sizes);
  void check_early_calls(const Atom& name, const Function&, const SourceLocation&);

  // ---- operations (infer_operations.cpp)
  Type infer(Binding&, Call&);
  Type infer(Binding&, CallTensor&);
  Type infer(Binding&, MakeTuple&);
  Type infer(Binding&, Project&);
  Type infer(Binding&, If&);
  Type infer(Binding&, Match&);
  Type infer(Binding&, MakeFunction&);
  Type infer(Binding&, RefCreate&);
  Type infer(Binding&, RefRead&);
  Type infer(Binding&, RefWrite&);
  Type infer(Binding&, MatchCast&);
  Type infer(Binding&, DefineSizes&);
  Type infer(Binding&, RequireSizes&);
  Type infer(Binding&, Alias&);

  // ---- branches and patterns (infer_branches.cpp)
  Type open_sizes(const Type&);
  void bind_pattern(Pattern&, const Type&, int first_symbol, std::map<std::string, Dim>& names, const SourceLocation&);
  void bind_constructor(Pattern::Constructor&, const Type&, int first_symbol, std::map<std::string, Dim>& names,
                        const SourceLocation&);
  struct Branch {  // one of several whose types must agree
    Block* block;
    Type type;
    SourceLocation location;  // of its result; without one in the text, of its last operation, if there is one
  };
  Branch infer_branch(Block&, const SourceLocation& outer);
  std::map<std::string, Dim> names_of_fixed_sizes(const FunctionType& one, const FunctionType& other,
                                                  const FunctionType& joined);
  Type join_data(const Type&, const Type&);
  Type join(std::vector<Branch>&, const SourceLocation&, const std::string& what);
  Type join(const Branch&, const Branch&, const SourceLocation&, const std::string& what, bool in_result = false);

  // ---- calls (infer_calls.cpp)
  Type type_of(const Atom&, const SourceLocation&);
  Type type_of_operand(const Atom&, const SourceLocation&);
  Type call_operator(const Operator*, Call&, const SourceLocation&);
  struct Gathered;  // an operator's operands, as far as their types are known
  Gathered gather(const Operator&, const std::vector<Type>& operands) const;
  struct OperatorCall {  // a call whose type is decided later, and its data for messages
    const Operator* op;
    Attrs attrs;
    std::vector<Type> types;
    std::vector<std::string> names;
    SourceLocation location;
  };
  // The type of the call's result, a new hole after an error. Known values of operands become attributes of `rewrite`,
  // if it is not null.
  Type decide(const OperatorCall&, Gathered, Call* rewrite);
  void learn(const Binding&);                              // the values of the binding's variable
  enum class Callee : uint8_t { local, global, tensors };  // a local or global function, or a tensor function
  Type call_function(const Type& callee, Call&, Callee kind, const SourceLocation&);
  bool is_found_by_call(const Atom& callee, const std::string& symbol) const;
  std::map<std::string, Symbol> symbols_of_callee(const Atom& callee, const Type&, Callee) const;
  int turn_of(const Atom& arg, const Type&, const SourceLocation&);
  Type type_of_argument(const Atom&, const SourceLocation&);
  std::vector<Type> types_of_arguments(const Call&, const SourceLocation&);
  void learn_sizes(const std::vector<Type>& found, const FunctionType&, std::map<std::string, Dim>& sizes);
  // `known`: the arguments that were passed before whose types had no holes then.
  bool pass_argument(Type found, Type param, size_t index, std::map<std::string, Dim>& sizes, Call&,
                     const std::vector<size_t>& known, const SourceLocation&);
  static SourceLocation place_of_argument(const Call&, size_t index, const SourceLocation& call);
  Type declared_type(const Atom& callee) const;
  bool differs_at(const TypeVariable&, const Type& declared, const Type& expected, const Type& found) const;
  std::vector<std::string> reasons_for_parameter(size_t index, const Type& expected, const Type& found,
                                                 const std::vector<size_t>& known, const Call&, const SourceLocation&);
  Type instantiate(const FunctionType&, const SourceLocation&);

  // ---- type variables that stand for tensors of several sizes (infer_widening.cpp)
  // Makes sizes of the open type arguments in the callee's type "?", where a function among the arguments, whose types
  // are `found`, gives other sizes than it takes.
  void widen_type_arguments(const FunctionType& callee, const std::vector<Type>& found, const Call&,
                            const SourceLocation&);
  // Where the type that a call expects of a function has "?" for sizes, gives parameters of the function that have no
  // type yet sizes of the function. The type of the function there: with "?" for what depends on them.
  Type take_any_sizes(const Atom& function, const Type& found, const Type& expected, const SourceLocation&);
  Type with_sizes_of_function(const Type& expected);

  // ---- holes and symbols (infer_relations.cpp)
  Type open_holes(const Type&);  // "_" becomes a new hole
  Type open_symbols(const Type&, const std::function<bool(const std::string&)>& quantified);
  Dim fresh_symbol();
  Type map_tensors(const Type&, bool is_each, const std::function<Type(const TensorType&, bool)>& map) const;
  Type with_any_sizes_in_data(const Type&, const std::set<std::string>& sizes) const;
  void enter_symbols(const Type&);

  // ---- values of other types than expected (infer_coercions.cpp)
  // Makes the atom a value of type `expected`, if need be by a run-time check of its dimensions. False when no check
  // helps.
  bool coerce(Atom&, const Type& found, const Type& expected, const SourceLocation&);
  bool coerce_generic(Atom&, const FunctionType& generic, const Type& expected, const SourceLocation&);
  bool coerce_to_generic(Atom&, const Type& found, const FunctionType& expected, const SourceLocation&);
  bool coerce_sizes(Atom&, const FunctionType& found, const FunctionType& expected, const SourceLocation&);
  std::function<bool(const std::string&)> sizes_of_value(const Atom&) const;
  std::map<std::string, Dim> sizes_as_in(const FunctionType& found, const FunctionType& expected,
                                         const std::function<bool(const std::string&)>& own) const;
  Type with_sizes_of(const Type& found, const Type& expected, const std::function<bool(const std::string&)>& own) const;
  Type at_sizes(const FunctionType&, const std::map<std::string, Dim>& sizes) const;
  bool has_other_sizes(const Type& found, const Type& expected);
  void fix_sizes(Atom& value, const Type& found, const Type& expected, const SourceLocation&);
  bool is_size_of_value(const std::string&) const;
  bool renames_only(const std::map<std::string, Dim>& sizes) const;
  void for_each_param(const FunctionType&, const std::function<void(const Type&)>& visit) const;
  std::set<std::string> sizes_of_values_in(const FunctionType&) const;
  bool has_own_sizes(const Atom&, const SourceLocation&);
  Type with_new_sizes(const Atom& callee, const Type& signature, Callee);
  Type with_new_sizes(const Atom& function, const Type&);
  void own(const std::string& size);
  Dim own_symbol(const Symbol& like = {""});
  void own_sizes_in_data(const Type&, int first_symbol);
  std::set<std::string> defined_sizes(const Atom& function, const FunctionType&) const;
  Type type_of_value(const Atom&, const Type&) const;
  Type type_of_stored(const Atom&, const Type&);
  void expand(Atom& function, const FunctionType&, const SourceLocation&);
  void name_function(const Var& name, const Var& function);
  bool is_function(const Atom&) const;  // whether it names a function that is not generic
  bool may_forget_sizes(const std::string& data_type) const;
  bool forgets_sizes(const Type& wanted, const Type& found);
  // Whether run-time checks of dimensions make a value one of type `expected`, and the operation that does: a
  // match_cast of a tensor or of data, or a tuple of fields that are checked before it.
  bool can_cast(const Type& found, const Type& expected);
  static bool are_never_equal(const Dim&, const Dim&);  // they differ by a constant, such as n and n + 1
  Operation cast(const Atom&, const Type& found, const Type& expected, const SourceLocation&);
  Var bind(std::string name, Operation, const SourceLocation&);  // binds an operation before the current one

  // ---- functions that are inferred at each use (infer_instances.cpp)
  std::vector<std::pair<TypeVariable, Type>> open_kinds(Function&);
  void check_kinds(const std::vector<std::pair<TypeVariable, Type>>&, const SourceLocation&);
  static bool has_kinds(const std::vector<TypeVariable>&);  // whether there are variables of shapes or element types
  static bool may_be_template(const Function&);
  bool calls_open_param(const Function&) const;
  bool has_holes(const Function&) const;
  Function copy_of_text(const Function&, const Atom& name, const Atom& copy);
  void rename_symbols(Function& text);
  void infer_global(const std::string& name);
  void add_template(Atom name, Function text, int scope, bool declared, Function* function);
  Template* template_of(const Atom&) const;
  bool is_copy_of_template(const Var&) const;
  std::vector<Instance*> instantiate_functions(Operation&, const SourceLocation&);
  Instance* instantiate_function(Atom&, const SourceLocation&);
  void settle(Instance&);
  void infer_instance(Instance&);
  Type type_of(const Instance&) const;
  bool is_bound_at_use(const Instance&) const;
  int open_param(const Instance&) const;  // the hole that a parameter's whole type is; 0: there is none
  std::optional<std::vector<Type>> params_of(const Instance&) const;
  bool reuse(Instance&);
  bool is_result_told(const Instance&) const;
  void tell_result_of_value(const Instance&, const Atom& name);
  void drop_unused();
  void infer_waiting_instances();
  void settle_unused_functions();
  bool generalize(Template& unused);
  std::vector<Instance*> remaining(Template&);
  void replace_templates();
  void replace_global(Template&, InstanceReplacements&);
  void bind_at_use(Instance&, InstanceReplacements&);

  // ---- values of data that have a type for each use (infer_values.cpp)
  std::optional<GeneralValue> open_value(const Binding&);
  bool is_general(const Binding&, const Operation& text) const;
  void add_general_value(GeneralValue);
  void copy_value(Atom&);
  void project_value(Operation&) const;
  void fill_holes_of_copies();
  void drop_general_values();
  void merge_copies();

  // ---- the queue of relations (infer_relations.cpp)
  // One attempt: the hole that blocks the relation, or 0 when it is decided.
  using Attempt = std::function<int()>;
  void relate(Attempt, const SourceLocation&, std::string what, Instance* instance = nullptr);
  void retry_relations();  // until no further hole is filled
  void report_open_relations();

  // ---- messages (infer_messages.cpp)
  std::string text(const Type& type) const;
  std::string describe(const Atom&) const;
  Type fail(DiagnosticId, const SourceLocation&, std::string message, std::vector<std::string> details = {},
            std::string help = {});  // reports an error; returns a new hole, so that inference goes on
  Type mismatch(const SourceLocation&, const std::string& what, const Type& expected, const Type& found,
                std::string help = {}, std::vector<std::string> details = {});
  // That the value of a function's body does not have its result type.
  void mismatch_of_result(const Function&, const Type& expected, const Type& found, const SourceLocation& location);
  std::vector<std::string> declaration_of(const Atom& callee) const;  // why its arguments have their types
  std::vector<std::string> definition_of(const Atom&) const;          // where a function or reference is made

  struct Relation {
    Attempt attempt;
    SourceLocation location;
    std::string what;
    int scope;
    Instance* instance = nullptr;  // the call of an instance, which can be inferred without the hole
    bool decided = false;
  };

  Module& module_;
  Diagnostics& diagnostics_;
  const Constructors constructors_;
  const SizesOfOpenFunctions sizes_of_open_functions_;
  Unifier unifier_{limits_of_types(module_)};
  std::map<std::string, Type> signatures_;  // of global functions
  std::vector<Relation> relations_;
  std::map<int, std::vector<int>> waiting_;  // hole to relations
  KnownValues values_;                       // of the variables so far
  std::vector<Binding>* out_ = nullptr;      // bindings of the block that is being inferred
  std::set<std::string> symbols_of_text_;    // of the module before inference, and those of templates
  std::set<std::string> symbols_;            // dimension symbols introduced so far in the current global function
  std::set<std::string> result_names_;      // of them, those that only the result of a local function has from its text
  std::map<std::string, Dim> known_names_;  // sizes that only annotations name, where the value's size is known
  std::set<std::string> closure_symbols_;   // symbols of which each call of a local function or value finds its own
  std::set<std::string> fixed_symbols_;     // those that are sizes of the local functions around the current operation
  std::map<int, std::set<std::string>> fixed_around_;  // those where a local function with sizes is made, by variable
  std::set<std::string> value_symbols_;  // those of them that are sizes of function values (function_sizes.h)
  int next_symbol_ = 1;
  std::set<std::string> chosen_sizes_;          // of functions without types whose parameters have any sizes
  std::set<std::string> sizes_of_open_bodies_;  // these, and those that the bodies of the functions define
  // Symbols in the results of local functions that their bodies define, by variable. Each call of a function that is
  // used repeatedly has new ones.
  std::map<int, std::set<std::string>> result_symbols_;
  mutable std::map<std::string, bool> may_forget_sizes_;  // by data type
  std::set<std::string> unbound_symbols_;                 // sizes of parameters that no tensor of them has
  // The sizes of calls of functions whose results have no types yet, by function.
  std::map<std::string, std::vector<std::map<std::string, Dim>>> early_calls_;
  std::string global_;                         // the global function that is being inferred
  std::set<const Function*> coerced_results_;  // functions whose bodies have values of other types than their results
  std::map<int, GlobalRef> globals_;           // the functions that variables name
  std::map<int, SourceLocation> definitions_;  // of variables that are functions or references
  std::set<int> functions_;                    // variables that name functions that are not generic, global or local
  std::set<int> type_variables_;               // of the functions around the current operation

  std::set<int> open_arguments_;           // the holes that were type arguments of generic functions and constructors
  std::map<std::string, Function> texts_;  // of global functions that may be templates, before inference
  std::map<const Function*, std::vector<std::pair<TypeVariable, Type>>> kinds_;  // holes of shapes and element types
  Scopes scopes_;
  int scope_ = 0;                   // of the body that is being inferred
  std::set<int> shared_;            // repeatedly_used_values of the functions so far
  std::set<int> called_;            // variables that are called in the functions so far
  std::set<std::string> complete_;  // global functions that depend on no function that is yet to be inferred
  std::vector<std::unique_ptr<Template>> templates_;  // callees before callers
  int generalized_ = 0;                               // type variables of functions that nothing uses
  std::map<std::string, Template*> global_templates_;
  std::map<int, Template*> local_templates_;    // by variable
  std::map<int, int> copied_from_;              // variables of copies to those of the text
  std::map<int, GeneralValue> general_values_;  // by variable
  std::map<int, int> copies_of_values_;         // variables of copies to those of the general values
  std::vector<Instance*> calling_;              // the instances of the operation that is being inferred
  std::vector<SourceLocation> uses_;            // the uses that led to the instance that is being inferred
  int64_t copied_operations_ = 0;               // in all instances
  static constexpr int64_t max_copied_operations = 1'000'000;
};

}  // namespace dlcc::relay
