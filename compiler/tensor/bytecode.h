// Bytecode of the evaluator. Registers are arrays: a vector register holds one value for each lane of the current strip
// of a vector loop, a scalar register one value. Every instruction is one typed loop over the lanes.
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

// Types of register values. Narrow floats are held as f32, sub-byte integers as 8 bits.
enum class Kind : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 };

Kind register_kind(DType, Precision);
// The type in which elements are stored while a kernel runs: float64 mode stores every float as float64.
DType storage_type(DType, Precision);
int64_t kind_bytes(Kind);

struct Memory {
  std::byte* data = nullptr;
  int64_t count = 0;
};

struct Frame {
  std::byte* registers = nullptr;
  const Memory* memories = nullptr;
  int64_t lanes = 0;  // of the current strip
  size_t pc = 0;
  size_t end = 0;
  Status status = Status::ok;
  const struct Program* program = nullptr;
};

struct Instruction;
using Execute = void (*)(Frame&, const Instruction&);

// Operands are byte offsets of registers. Loads and stores address element a + imm (+ lane * step, or + b[lane]).
struct Instruction {
  Execute execute = nullptr;
  uint32_t dst = 0, a = 0, b = 0, c = 0, d = 0;
  bool vector = false;                                                      // executed for every lane, else once
  bool a_scalar = true, b_scalar = true, c_scalar = true, d_scalar = true;  // this operand is a scalar register
  uint16_t memory = 0;
  int64_t imm = 0, step = 0;
};

// The vector loop nest that a strip walks: lane l of a strip is point start + l of the flattened nest.
struct Strip {
  struct Axis {
    uint32_t reg;    // int64 values of the variable
    int64_t extent;  // of inner axes; the outermost is bounded by the total
    bool used;
  };
  std::vector<Axis> axes;  // outermost first
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Strip> strips;
  std::vector<std::byte> constants;  // initial contents of the first registers
  int64_t register_bytes = 0;
  struct Local {
    DType type;
    int64_t count;
  };
  std::vector<Buffer> params;      // memories 0 .. n - 1
  std::vector<Local> locals;       // the memories after them
  std::vector<std::string> names;  // of memories, for messages
};

Program compile(const Kernel&, Precision);

// Runs a program on its memories; status of the first failed requirement, or ok.
Status run(const Program&, const std::vector<Memory>&);

// ---- instructions, chosen by type -----------------------------------------------------------------------------------

Execute unary_instruction(UnaryOp, Kind);
Execute binary_instruction(BinaryOp, Kind);
Execute fma_instruction(Kind);      // a * b + c, rounded once
Execute mul_add_instruction(Kind);  // a * b + c, each rounded
Execute select_instruction(Kind);
Execute copy_instruction(Kind);
Execute cast_instruction(Kind from, Kind to);
Execute round_instruction(DType, Kind, bool saturate);  // rounds a register value to a narrow type
Execute bitcast_instruction(DType from, DType to, Precision);
Execute odd_instruction();         // float64 to float32, rounded to odd, so that a second rounding is exact
Execute scaled_add_instruction();  // int64 a + b * imm
Execute in_range_instruction();    // int64 0 <= a < imm
Execute check_instruction();       // fails unless 0 <= a < imm wherever mask b
Execute require_instruction();     // stops with status imm unless a wherever mask b
Execute load_instruction(DType storage, bool gather, bool masked);    // mask c, else d
Execute store_instruction(DType storage, bool scatter, bool masked);  // value d, mask c
Execute private_load_instruction(Kind, bool gather);  // from lane-private array at register dst... see ops
Execute private_store_instruction(Kind, bool scatter, bool masked);
Execute maximum_instruction();  // scalar dst: largest int64 of a's lanes wherever mask b; 0 when none

// Control: relative jumps in `step`.
Execute loop_begin_instruction();  // dst counter, a extent; jumps over the body when empty
Execute loop_end_instruction();
Execute strip_begin_instruction();  // dst start, a total, imm strip number
Execute strip_end_instruction();
Execute skip_instruction();  // jumps when a is false in all lanes

}  // namespace dlcc::tensor::bytecode
