// The parser of programs. Internal to parse_program.cpp, which has sizes, values, the plan and kernels, and to
// parse_steps.cpp, which has steps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lower/parse_program.h"
#include "tensor/known_intrinsics.h"
#include "tensor/parser.h"

namespace dlcc::lower {

class ProgramParser : tensor::Parser {
 public:
  ProgramParser(std::string_view text, const std::string& file, Diagnostics& diagnostics)
      : Parser(text, file, diagnostics, tensor::known_intrinsics()) {}

  ParsedProgram run();

 private:
  using Token = tensor::Token;
  static constexpr int64_t most_alignment = 4096;

  // ---- tokens
  int64_t number_in(int64_t low, int64_t high);
  int64_t alignment();
  ValueId value_id();
  std::string note();  // at the end of a line, without its quotes if it is 'quoted'; empty if there is none
  Dim bytes();

  // ---- sizes, values and the plan
  void values();
  void size();
  Symbol bounded_symbol();
  void input_size();
  void data_size();
  Storage storage();
  void value();
  void view(Value&);
  void begin_of_view(size_t value, size_t token);
  void arena();
  void block();
  Dim checked_size();
  void check_offsets(const Token& where);
  void find_interface(Storage, std::vector<ValueId>&);

  // ---- functions
  void body();
  void function();
  int function_named(const Token& where);

  // ---- kernels
  template <class F>
  auto in_own_scope(F parse);
  void kernel_signature();
  void kernel_body();
  int kernel_named(const Token& where, const std::string& name);

  // ---- steps
  Region region();
  Step step();
  Step invoke();
  int operand_of(const Invoke&);
  Step call();
  std::vector<ValueId> value_ids();
  void workspace();
  Step copy();
  int64_t element();
  Step write();
  Require requirement();
  tensor::Var declaration_of_scalar();
  Step definition();
  std::vector<tensor::Expr> results_at(std::string_view word, size_t count);
  Step branch(std::vector<tensor::Var> results);
  Step loop();

  Program program_;                       // the values, the interface and the steps are those of the current function
  std::optional<FunctionPlan> plan_;      // of the current function
  std::map<std::string, int> functions_;  // by name
  std::vector<std::optional<FunctionPlan>> function_plans_;
  std::vector<int64_t> offsets_;                   // of the plan, by value
  std::vector<int> block_of_;                      // of the plan, by value
  std::map<std::string, int> kernels_;             // by name
  std::vector<bool> has_body_;                     // by kernel
  std::vector<std::pair<size_t, Token>> arenas_;   // blocks of the size of a function's arena, and the function's name
  std::vector<std::pair<size_t, size_t>> begins_;  // views that begin at a scalar, and their indices' first tokens
};

}  // namespace dlcc::lower
