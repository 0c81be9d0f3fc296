/* The interface of a compiled model. Made by dlcc; dlcc 0.1.0 --target aarch64 -mattr=-sve2 -O2 model 002cde5d04566ab2. */
#ifndef F_MODEL_H
#define F_MODEL_H

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
  DLCC_WEIGHTS_MISMATCH = 14
} dlcc_status;

/* parallel_for calls task(argument, index) for every index in [0, count), in any order and on any threads, and returns
 * when all calls have returned. A model compiled for N threads asks for N tasks or a small multiple of N, of about
 * equal work. */
typedef struct dlcc_executor {
  void *self;
  void (*parallel_for)(void *self, int64_t count, void (*task)(void *argument, int64_t index), void *argument);
  int32_t threads; /* the largest number of concurrent tasks, for information */
} dlcc_executor;

/* Called before and after every step (kernel call) of a model. `node`: the name of the model's node that the step
 * computes. */
typedef struct dlcc_profiler {
  void *self;
  void (*begin)(void *self, int32_t step, const char *node);
  void (*end)(void *self, int32_t step, const char *node);
} dlcc_profiler;

/* Optional services for P_run_ctx; any member may be null. Initialise it with zeros. */
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
  const int64_t *shape; /* `rank` dimensions, outermost first; tensors are dense */
  int32_t rank;
  int32_t dtype_number; /* ONNX TensorProto.DataType */
  uint64_t bytes;
} dlcc_tensor;

/* The description of a compiled model: the constant P_model. */
typedef struct dlcc_model {
  uint32_t abi_version;
  int32_t input_count, output_count;
  int32_t step_count; /* kernel calls in the model's code */
  const char *name;
  const char *provenance; /* dlcc's version, flags, hash of the model */
  const dlcc_tensor *inputs, *outputs;
  uint64_t arena_bytes, arena_alignment;
  uint64_t weights_bytes;
  /* P_run_ctx, with P_inputs and P_outputs as arrays of pointers. */
  dlcc_status (*run)(const void *const *inputs, void *const *outputs, void *arena, size_t arena_bytes,
                     const dlcc_context *context);
  /* The weights file of a model compiled with --weights external=FILE, which the context must give; else 0. */
  uint64_t weights_file_bytes, weights_file_alignment, weights_file_hash;
} dlcc_model;

#ifdef __cplusplus
}
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define F_ABI_VERSION 1
#define F_ARENA_BYTES 66560u /* scratch memory of one run; it need not be initialized */
#define F_ARENA_ALIGN 64u
#define F_STACK_BYTES 272u /* the largest use of the stack */

/* Dense and row-major. Pointers are aligned to their element; inputs and outputs must not overlap. */
typedef struct {
  const float *image; /* [1][1][28][28] float32 */
} f_inputs;

typedef struct {
  float *probabilities; /* [1][10] float32 */
} f_outputs;

/* Runs the model in the caller's thread. There is no state between calls: any number of threads may run the model at
 * the same time, each with its own arena. */
dlcc_status f_run(const f_inputs *inputs, const f_outputs *outputs, void *arena, size_t arena_bytes);
dlcc_status f_run_ctx(const f_inputs *inputs, const f_outputs *outputs, void *arena, size_t arena_bytes,
                        const dlcc_context *context);

extern const dlcc_model f_model;

#ifdef __cplusplus
}
#endif
#endif
