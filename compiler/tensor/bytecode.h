// The bytecode of the evaluator. Vector loops are strip-mined: a strip is up to 512 consecutive iterations, one per
// lane. A vector register has one value per lane of the current strip, a scalar register has one value. Each
// instruction is a typed loop over the lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/evaluate.h"
#include "tensor/ir.h"

namespace dlcc::tensor::bytecode {

inline constexpr int64_t strip_lanes = 512;

// The types of register values. Floats of fewer bits than float32 are float32 in registers, integers of 2 and 4
// bits are 8-bit.
enum class Kind : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 };

Kind register_kind(DType, Precision);
// The type of elements in memory while a kernel runs: float64 mode stores all floats as float64.
DType storage_type(DType, Precision);
int64_t kind_bytes(Kind);

// The memory of one buffer, of `count` elements.
struct Memory {
  std::byte* data = nullptr;
  int64_t count = 0;
};

// The state of a running program.
struct Frame {
  std::byte* registers = nullptr;
  const Memory* memories = nullptr;
  int64_t lanes = 0;  // the number of lanes of the current strip
  size_t pc = 0;
  size_t end = 0;
  Status status = Status::ok;
  const struct Program* program = nullptr;
};

struct Instruction;
using Execute = void (*)(Frame&, const Instruction&);

// Registers are byte offsets in Frame::registers. Loads and stores access element a + imm + lane * step, or for a
// gather or scatter element a + imm + b[lane].
struct Instruction {
  Execute execute = nullptr;
  uint32_t dst = 0, a = 0, b = 0, c = 0, d = 0;
  bool vector = false;                                                      // executed for all lanes, else once
  bool a_scalar = true, b_scalar = true, c_scalar = true, d_scalar = true;  // whether the operand is a scalar register
  uint16_t memory = 0;
  int64_t imm = 0, step = 0;
};

// The loop nest that a strip covers: lane l of the strip that begins at `start` is iteration start + l of the collapsed
// nest.
struct Strip {
  struct Axis {
    uint32_t reg;    // the vector register with the variable's values, int64
    int64_t extent;  // unused for the outermost axis: the nest's number of iterations bounds it
    bool used;       // whether any instruction reads the register
  };
  std::vector<Axis> axes;  // outermost first
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Strip> strips;
  std::vector<std::byte> constants;  // the initial contents of the first registers
  int64_t register_bytes = 0;
  struct Local {
    DType type;
    int64_t count;
  };
  std::vector<Buffer> params;      // memories 0 to n - 1
  std::vector<Local> locals;       // memories from n on
  std::vector<std::string> names;  // of the memories' buffers, for messages
};

Program compile(const Kernel&, Precision);

// Runs a program on the memories of its parameters and locals. Returns the status of the first requirement that fails,
// else ok.
Status run(const Program&, const std::vector<Memory>&);

// ---- instructions for operand types ---------------------------------------------------------------------------------

Execute unary_instruction(UnaryOp, Kind);
Execute binary_instruction(BinaryOp, Kind);
Execute fma_instruction(Kind);      // a * b + c, rounded once
Execute mul_add_instruction(Kind);  // a * b + c, each rounded
Execute select_instruction(Kind);
Execute copy_instruction(Kind);
Execute cast_instruction(Kind from, Kind to);
Execute round_instruction(DType, bool saturate);  // rounds a register value to a narrow type
Execute bitcast_instruction(DType from, DType to, Precision);
Execute round_to_odd_instruction();  // float64 to float32, so that one more rounding to a narrow type is correct
Execute scaled_add_instruction();    // int64: a + b * imm
Execute in_range_instruction();      // int64: 0 <= a < imm
Execute check_instruction();         // InternalError if b and not 0 <= a < imm, in any lane
Execute require_instruction();       // ends the program with status imm if b and not a, in any lane
Execute load_instruction(DType storage, bool gather, bool masked);    // masked: d in lanes where c is false
Execute store_instruction(DType storage, bool scatter, bool masked);  // stores d; masked: in lanes where c is true
Execute private_load_instruction(Kind, bool gather);  // from a lane-private array, see execute_private_load
Execute private_store_instruction(Kind, bool scatter, bool masked);
Execute maximum_instruction();  // scalar dst: the largest int64 in the lanes of a where b is true; 0 if there is none

// Control flow. Jumps are relative, by `step` instructions.
Execute loop_begin_instruction();  // dst: the loop's counter, a: its extent; jumps over the body if the extent is 0
Execute loop_end_instruction();
Execute strip_begin_instruction();  // dst: the strip's first iteration, a: their total number, imm: index in `strips`
Execute strip_end_instruction();
Execute skip_instruction();  // jumps if a is false in all lanes

}  // namespace dlcc::tensor::bytecode
