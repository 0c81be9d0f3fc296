/* The main program of run_object on Linux. Every block of memory ends at an inaccessible page; the inputs and the
 * weights cannot be written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "platform.h"

static FILE *in, *out;

void leave(int status) { exit(status); }

void open_files(const char *inputs, const char *results) {
  in = fopen(inputs, "rb");
  out = fopen(results, "wb");
  if (!in || !out) leave(exit_arguments);
}

void read_bytes(void *to, uint64_t bytes) {
  if (fread(to, 1, bytes, in) != bytes) leave(exit_reading);
}

void write_bytes(const void *from, uint64_t bytes) {
  if (fwrite(from, 1, bytes, out) != bytes) leave(exit_writing);
}

void close_files(void) {
  fclose(in);
  if (fclose(out) != 0) leave(exit_writing);
}

void *allocate(uint64_t bytes, uint64_t alignment) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page + page;
  if (bytes > SIZE_MAX / 2) leave(exit_memory);
  unsigned char *memory = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + size, page, PROT_NONE) != 0) leave(exit_memory);
  memset(memory, 0xFF, size);
  return memory + (size - bytes) / alignment * alignment;
}

void protect(void *block, uint64_t bytes) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), offset = (uintptr_t)block % page;
  if (bytes != 0 && mprotect((unsigned char *)block - offset, offset + bytes, PROT_READ) != 0) leave(exit_memory);
}

void check_memory(void) {} /* such accesses have ended the program */

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) { return run_object(argc, argv); }
