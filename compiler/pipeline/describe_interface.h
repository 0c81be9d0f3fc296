// Derives the C interface of a compiled model from its module, program and options.
#pragma once

#include <cstdint>

#include "emit/interface.h"
#include "lower/plan.h"
#include "lower/program.h"
#include "pipeline/compile_options.h"
#include "relay/ir.h"
#include "targets/target.h"

namespace dlcc {

// The inputs, outputs and sizes of @main. Tuples among its parameters and results become one tensor per field; tensors
// without a name of the model are called input0, output1, ...
emit::Interface describe_tensors(const relay::Module&);

// The complete interface except for the file of weights and the size of the stack, which are known later. `model_hash`
// is the hash of the model's bytes.
emit::Interface describe_interface(const relay::Module&, const lower::Program&, const lower::StoragePlan&,
                                   const CompileOptions&, const targets::Target&, uint64_t model_hash);

}  // namespace dlcc
