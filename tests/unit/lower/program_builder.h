// Builds small lowered programs for tests: values of given sizes, and calls of kernels that have no code but declare
// the operands that they read, write and use as scratch.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lower/program.h"

namespace dlcc::lower {

struct ProgramBuilder {
  Program program;

  ValueId add(Storage storage, int64_t bytes, int64_t alignment = 1) {
    Value v;
    v.type = dtype::u8;
    v.shape = {bytes};
    v.bytes = bytes;
    v.alignment = alignment;
    v.storage = storage;
    program.values.push_back(v);
    return static_cast<ValueId>(program.values.size()) - 1;
  }
  ValueId input(int64_t bytes) {
    program.inputs.push_back(add(Storage::input, bytes));
    program.values.back().index = static_cast<int>(program.inputs.size()) - 1;
    return program.inputs.back();
  }
  ValueId output(int64_t bytes) {
    program.outputs.push_back(add(Storage::output, bytes));
    program.values.back().index = static_cast<int>(program.outputs.size()) - 1;
    return program.outputs.back();
  }
  ValueId constant(int64_t bytes) { return add(Storage::constant, bytes); }
  ValueId temporary(int64_t bytes, int64_t alignment = 1) { return add(Storage::temporary, bytes, alignment); }
  ValueId view(ValueId base, int64_t offset, int64_t bytes) {
    const ValueId v = add(Storage::view, bytes);
    program.values[v].base = base;
    program.values[v].base_offset = offset;
    return v;
  }

  // A call of a new kernel. `in_place` are pairs of values: (written, read).
  Invoke call(std::vector<ValueId> reads, std::vector<ValueId> writes, std::vector<ValueId> scratch = {},
              std::vector<std::pair<ValueId, ValueId>> in_place = {}) {
    tensor::Kernel kernel;
    Invoke invoke;
    invoke.kernel = static_cast<int>(program.kernels.size());
    kernel.name = "k" + std::to_string(invoke.kernel);
    const auto add_operands = [&](const std::vector<ValueId>& list, tensor::Access access) {
      for (ValueId v : list) {
        auto buffer = std::make_shared<tensor::BufferNode>();
        buffer->name = "p" + std::to_string(kernel.params.size());
        buffer->type = dtype::u8;
        buffer->shape = {program.values[v].bytes};
        kernel.params.push_back({buffer, access});
        invoke.operands.push_back(v);
      }
    };
    add_operands(reads, tensor::Access::read);
    add_operands(writes, tensor::Access::write);
    add_operands(scratch, tensor::Access::scratch);
    for (const auto& [written, read] : in_place)
      for (int r = 0; r < static_cast<int>(reads.size()); ++r)
        for (int w = 0; w < static_cast<int>(writes.size()); ++w)
          if (reads[r] == read && writes[w] == written)
            invoke.in_place.emplace_back(static_cast<int>(reads.size()) + w, r);
    program.kernels.push_back({kernel.name, {kernel}});
    return invoke;
  }
};

inline tensor::Var flag() { return tensor::make_var("c", dtype::boolean); }
// Whether a byte that was read is not 0.
inline tensor::Expr is_set(const tensor::Var& byte) {
  return tensor::binary(tensor::BinaryOp::ne, byte, tensor::literal(dtype::u8, int64_t{0}));
}
inline Step if_else(const tensor::Expr& condition, Region then_region, Region else_region) {
  return std::make_shared<Branch>(Branch{condition, std::move(then_region), std::move(else_region)});
}
// A loop that runs while a byte in memory is not 0.
inline Step repeat(ValueId condition, Region body) {
  const tensor::Var c = tensor::make_var("c", dtype::u8);
  return std::make_shared<Loop>(Loop{{}, {{Read{c, condition}}}, is_set(c), std::move(body)});
}

}  // namespace dlcc::lower
