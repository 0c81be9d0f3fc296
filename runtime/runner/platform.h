/* What run_object() needs of the machine that it runs on: files, memory and time. linux.c provides it with the calls of
 * Linux, board.c without an operating system. */
#ifndef DLCC_RUNNER_PLATFORM_H
#define DLCC_RUNNER_PLATFORM_H

#include <stdint.h>

/* Exit statuses of the program. */
enum {
  exit_arguments = 2,   /* wrong arguments, or a file that cannot be opened */
  exit_memory = 3,      /* not enough memory */
  exit_reading = 4,     /* the inputs end early */
  exit_writing = 5,     /* the results cannot be written */
  exit_overwritten = 6, /* the model wrote outside its buffers, or changed an input or the weights */
  exit_fault = 7        /* without an operating system: the CPU stopped the model, for instance at a wrong address */
};

_Noreturn void leave(int status); /* ends the program */

/* Opens the file of the inputs for reading and that of the results for writing. Each is accessed from its begin to its
 * end. Leaves with exit_arguments if one cannot be opened. */
void open_files(const char *inputs, const char *results);

/* Reads the next `bytes` bytes of the inputs, or leaves with exit_reading. */
void read_bytes(void *to, uint64_t bytes);

/* Appends `bytes` bytes to the results, or leaves with exit_writing. */
void write_bytes(const void *from, uint64_t bytes);

/* Closes both files, or leaves with exit_writing. */
void close_files(void);

/* `bytes` bytes, all 0xFF, from a multiple of `alignment`, a power of two. They are never freed. Leaves with exit_memory
 * if there is not enough memory. On Linux, an access behind the block ends the program; on a board, a write before or
 * behind it does so in check_memory(). */
void *allocate(uint64_t bytes, uint64_t alignment);

/* From now on, a change of the block of allocate() is an error. */
void protect(void *block, uint64_t bytes);

/* Leaves with exit_overwritten if bytes around blocks, or in protected blocks, have changed. */
void check_memory(void);

/* Seconds since some fixed time. */
double seconds_now(void);

/* run_object INPUTS RESULTS [CALLS], as run_object.c describes it. Returns the exit status. */
int run_object(int argc, char **argv);

#endif
