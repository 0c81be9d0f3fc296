/* The types in the interface of every compiled model. Generated headers contain a copy of this file, so that they need
 * no other; any number of them and dlcc.h may be included together. C99 and C++. */
#ifndef DLCC_TYPES_H
#define DLCC_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLCC_ABI_VERSION 1

/* The result of a model's run function. Numbers never change and are never reused. */
typedef enum dlcc_status {
  DLCC_OK = 0,
  DLCC_NULL_ARGUMENT = 1,
  DLCC_ARENA_TOO_SMALL = 2,
  DLCC_ARENA_MISALIGNED = 3,
  DLCC_UNSUPPORTED_CPU = 4,
  DLCC_INDEX_OUT_OF_RANGE = 5,
  DLCC_DIVISION_BY_ZERO = 6,
  DLCC_SHAPE_MISMATCH = 7,
  DLCC_DIMENSION_OUT_OF_RANGE = 8,
  DLCC_HEAP_EXHAUSTED = 9,
  DLCC_MATCH_FAILED = 10,
  DLCC_WEIGHTS_MISSING = 13,
  DLCC_WEIGHTS_MISMATCH = 14,
  DLCC_CAPACITY_EXCEEDED = 15
} dlcc_status;

/* parallel_for calls task(argument, index) for every index in [0, count), in any order and on any threads, and returns
 * when all calls have returned. A model compiled for N threads asks for N tasks or a small multiple of N, of about
 * equal work. */
typedef struct dlcc_executor {
  void *self;
  void (*parallel_for)(void *self, int64_t count, void (*task)(void *argument, int64_t index), void *argument);
  int32_t threads; /* the largest number of concurrent tasks, for information */
} dlcc_executor;

/* Called before and after every step of a model: a call of a kernel, or of a function of the model's code, whose steps
 * run between the two. `node`: the name of the model's node that the step computes. */
typedef struct dlcc_profiler {
  void *self;
  void (*begin)(void *self, int32_t step, const char *node);
  void (*end)(void *self, int32_t step, const char *node);
} dlcc_profiler;

/* Optional services for P_run_ctx; any member may be null. Initialize it with zeros. */
typedef struct dlcc_context {
  const dlcc_executor *executor;
  const dlcc_profiler *profiler;
  void *heap; /* for models with recursion or algebraic data */
  size_t heap_bytes;
  const void *weights; /* the contents of the weights file, for models that have one */
  size_t weights_bytes;
} dlcc_context;

typedef struct dlcc_tensor {
  const char *name;     /* in the model */
  const char *dtype;    /* "float32": numpy's name */
  const int64_t *shape; /* `rank` dimensions, outermost first; -1: not a constant. Tensors are dense */
  int32_t rank;
  int32_t dtype_number; /* ONNX TensorProto.DataType */
  uint64_t bytes; /* 0 if the shape is not constant */
} dlcc_tensor;

/* A size that the caller of a model with symbolic sizes gives with every run: a multiple of `multiple` in [low, high].
 * `high` is INT64_MAX if there is no bound. */
typedef struct dlcc_dim {
  const char *name; /* in the model */
  int64_t low, high, multiple;
} dlcc_dim;

/* The description of a compiled model: the constant P_model. */
typedef struct dlcc_model {
  uint32_t abi_version;
  int32_t input_count, output_count;
  int32_t step_count; /* calls of kernels and functions in the model's code */
  const char *name;
  const char *provenance; /* dlcc's version, flags, hash of the model */
  const dlcc_tensor *inputs, *outputs;
  uint64_t arena_bytes, arena_alignment; /* arena_bytes is 0 if it is not a constant: `plan` computes it */
  uint64_t weights_bytes;
  /* P_run_ctx, with P_inputs and P_outputs as arrays of pointers. */
  dlcc_status (*run)(const void *const *inputs, void *const *outputs, void *arena, size_t arena_bytes,
                     const dlcc_context *context);
  /* The weights file of a model compiled with --weights external=FILE, which the context must give; else 0. */
  uint64_t weights_file_bytes, weights_file_alignment, weights_file_hash;
  /* Only for models with symbolic sizes, else 0 and null. The pointers to inputs are followed by a pointer to
   * `dim_count` int64_t, the sizes in the order of `dims`; those to outputs by a pointer to all axes of all outputs in
   * order, as int64_t, which `run` writes and which may be null. `plan` is P_plan: it writes the axes of the outputs
   * and the size of the arena for these sizes; either pointer may be null. */
  int32_t dim_count;
  int32_t reserved;
  const dlcc_dim *dims;
  dlcc_status (*plan)(const void *const *inputs, int64_t *shapes, uint64_t *arena_bytes);
} dlcc_model;

#ifdef __cplusplus
}
#endif
#endif
