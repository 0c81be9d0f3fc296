/* run_object on a Cortex-M without an operating system, with the memories that board.ld describes: the code before it,
 * and files, time and the command line by semihosting, which QEMU and debuggers offer (Arm, "Semihosting for AArch32 and
 * AArch64"). The arguments of the command line are separated by blanks; a backslash stands before a blank or a backslash
 * that belongs to an argument. */
#include <stddef.h>

#include "platform.h"

extern unsigned char bss_start[], bss_end[], stack_end[], heap_start[], heap_end[];

/* Compilers call these two. This file is compiled without replacing loops by calls of them. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
  unsigned char *out = to;
  const unsigned char *in = from;
  while (bytes-- > 0) *out++ = *in++;
  return to;
}

void *memset(void *to, int value, size_t bytes) {
  unsigned char *out = to;
  while (bytes-- > 0) *out++ = (unsigned char)value;
  return to;
}

enum { sys_open = 0x01, sys_close = 0x02, sys_write0 = 0x04, sys_write = 0x05, sys_read = 0x06, sys_get_cmdline = 0x15,
       sys_exit_extended = 0x20, sys_elapsed = 0x30, sys_tickfreq = 0x31 };

/* A request to the host: its number in r0, its argument in r1, the result in r0. */
static int32_t semihost(uint32_t request, const volatile void *argument) {
  register uint32_t r0 __asm__("r0") = request;
  register const volatile void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return (int32_t)r0;
}

void leave(int status) {
  const uint32_t application_exit = 0x20026, block[] = {application_exit, (uint32_t)status};
  for (;;) semihost(sys_exit_extended, block);
}

static _Noreturn void fail(int status, const char *message) {
  semihost(sys_write0, message);
  leave(status);
}

static int32_t in, out; /* handles of the files */

static int32_t open_file(const char *name, uint32_t mode) {
  uint32_t length = 0;
  while (name[length]) ++length;
  const uint32_t block[] = {(uint32_t)name, mode, length};
  const int32_t handle = semihost(sys_open, block);
  if (handle == -1) fail(exit_arguments, "a file of the host cannot be opened\n");
  return handle;
}

void open_files(const char *inputs, const char *results) {
  const uint32_t mode_rb = 1, mode_wb = 5;
  in = open_file(inputs, mode_rb);
  out = open_file(results, mode_wb);
}

/* The host may transfer a part of the bytes. Its result is the number of the other bytes. */
static void transfer(uint32_t request, int32_t handle, const unsigned char *data, uint64_t bytes, int failure) {
  while (bytes > 0) {
    const uint32_t block[] = {(uint32_t)handle, (uint32_t)data, (uint32_t)bytes};
    const uint32_t left = (uint32_t)semihost(request, block);
    if (left >= bytes)
      fail(failure, request == sys_read ? "the inputs end early\n" : "the results cannot be written\n");
    data += bytes - left;
    bytes = left;
  }
}

void read_bytes(void *to, uint64_t bytes) { transfer(sys_read, in, to, bytes, exit_reading); }

void write_bytes(const void *from, uint64_t bytes) { transfer(sys_write, out, from, bytes, exit_writing); }

void close_files(void) {
  semihost(sys_close, &in);
  if (semihost(sys_close, &out) != 0) fail(exit_writing, "the results cannot be written\n");
}

/* Blocks of memory lie in the heap one after the other, each between two guards: bytes of a fixed value, which a write
 * outside of the block changes. */
enum { most_blocks = 4096, guard_bytes = 64, guard_value = 0xA5 };

struct block {
  unsigned char *begin;
  uint32_t bytes;
  uint32_t checksum; /* of a protected block */
  int is_protected;
};

static struct block blocks[most_blocks];
static int block_count;

void *allocate(uint64_t bytes, uint64_t alignment) {
  uint64_t free = (uintptr_t)heap_start;
  if (block_count > 0) free = (uintptr_t)blocks[block_count - 1].begin + blocks[block_count - 1].bytes + guard_bytes;
  /* An odd multiple: a model that assumes more than its alignment fails. */
  const uint64_t begin = (free + guard_bytes + 2 * alignment - 1) / (2 * alignment) * (2 * alignment) + alignment;
  if (bytes > UINT32_MAX || begin + bytes + guard_bytes > (uintptr_t)heap_end || block_count == most_blocks)
    fail(exit_memory, "the memory of the board is too small\n");
  unsigned char *block = (unsigned char *)(uintptr_t)begin;
  memset(block - guard_bytes, guard_value, guard_bytes);
  memset(block, 0xFF, (size_t)bytes);
  memset(block + bytes, guard_value, guard_bytes);
  blocks[block_count++] = (struct block){block, (uint32_t)bytes, 0, 0};
  return block;
}

/* FNV-1a. */
static uint32_t checksum_of(const struct block *b) {
  uint32_t hash = 2166136261u;
  for (uint32_t k = 0; k < b->bytes; ++k) hash = (hash ^ b->begin[k]) * 16777619u;
  return hash;
}

void protect(void *block, uint64_t bytes) {
  (void)bytes; /* all of the block */
  for (int k = 0; k < block_count; ++k) {
    if (blocks[k].begin != block) continue;
    blocks[k].checksum = checksum_of(&blocks[k]);
    blocks[k].is_protected = 1;
  }
}

static int is_guard(const unsigned char *bytes) {
  for (int k = 0; k < guard_bytes; ++k)
    if (bytes[k] != guard_value) return 0;
  return 1;
}

void check_memory(void) {
  for (const struct block *b = blocks; b < blocks + block_count; ++b) {
    if (!is_guard(b->begin - guard_bytes) || !is_guard(b->begin + b->bytes))
      fail(exit_overwritten, "the model has written outside of its buffers\n");
    if (b->is_protected && checksum_of(b) != b->checksum)
      fail(exit_overwritten, "the model has changed an input or its weights\n");
  }
}

double seconds_now(void) {
  uint32_t ticks[2] = {0, 0}; /* the lower half first */
  semihost(sys_elapsed, ticks);
  return (double)((uint64_t)ticks[1] << 32 | ticks[0]) / (double)semihost(sys_tickfreq, NULL);
}

/* Splits the command line in place and returns the number of its arguments. */
static int split_arguments(char *line, char **arguments, int most) {
  int count = 0;
  for (const char *next = line; *next && count < most;) {
    arguments[count++] = line;
    for (; *next && *next != ' '; ++next) {
      if (*next == '\\' && next[1]) ++next;
      *line++ = *next;
    }
    if (*next == ' ') ++next;
    *line++ = '\0';
  }
  return count;
}

static int run(void) {
  static char line[16384];
  static char *arguments[8];
  const uint32_t block[] = {(uint32_t)line, sizeof line};
  if (semihost(sys_get_cmdline, block) != 0) fail(exit_arguments, "there is no command line\n");
  const int count = split_arguments(line, arguments, 7);
  return run_object(count, arguments);
}

void start(void) {
  /* Full access to coprocessors 10 and 11, the FPU. The register has no such bits on a CPU without an FPU. */
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
#ifndef __ARM_FEATURE_UNALIGNED
  /* On Cortex-M0+ an access to a word that is not aligned is a fault. Its code runs on a Cortex-M3, where that is an
   * option. */
  *(volatile uint32_t *)0xE000ED14 |= 1u << 3;
#endif
  __asm__ volatile("dsb\n\tisb");
  memset(bss_start, 0, (size_t)(bss_end - bss_start));
  leave(run());
}

static void fault(void) { fail(exit_fault, "the CPU has stopped the model: a fault\n"); }

/* The first stack pointer, the first instruction, then the handlers of the exceptions up to SysTick. */
struct vectors {
  const void *stack;
  void (*handlers[15])(void);
};
__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    stack_end, {start, fault, fault, fault, fault, fault, fault}};
