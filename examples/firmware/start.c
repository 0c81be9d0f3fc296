/* The code before main: the table of vectors, the copy of initialized data into the RAM, the start of the FPU. And the
 * functions of a C library that the program needs: memcpy and memset, which compilers call, and output and exit by
 * ARM's semihosting, which debuggers and QEMU offer. */
#include "start.h"

#include <stddef.h>
#include <stdint.h>

extern unsigned char data_image[], data_start[], data_end[], bss_start[], bss_end[], stack_start[], stack_end[];
extern unsigned char flash_bytes[]; /* a number of bytes: its address is its value */

int main(void);

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

/* A request to the debugger: its number in r0, its argument in r1. */
static void semihost(uint32_t request, const void *argument) {
  register uint32_t r0 __asm__("r0") = request;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void print(const char *text) {
  enum { sys_write0 = 0x04 };
  semihost(sys_write0, text);
}

void print_number(uint32_t number) {
  char digits[11], *first = digits + sizeof digits - 1;
  *first = '\0';
  do *--first = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  print(first);
}

void leave(int status) {
  enum { sys_exit_extended = 0x20, application_exit = 0x20026 };
  const uint32_t block[] = {application_exit, (uint32_t)status};
  semihost(sys_exit_extended, block);
  for (;;) {
  }
}

uint32_t flash_used(void) { return (uint32_t)(uintptr_t)flash_bytes; }

enum { paint = 0xA5 };

/* The end of the unused stack: 64 bytes below this frame. The functions below compare addresses as numbers, since
 * compilers warn of comparisons of pointers into different arrays. */
static unsigned char *painted_end(void) {
  unsigned char *here = __builtin_frame_address(0);
  return here - 64;
}

void paint_stack(void) {
  for (unsigned char *p = stack_start, *end = painted_end(); (uintptr_t)p < (uintptr_t)end; ++p) *p = paint;
}

uint32_t stack_used_below(const void *frame) {
  const unsigned char *p = stack_start;
  while ((uintptr_t)p < (uintptr_t)frame && *p == paint) ++p;
  return (uint32_t)((uintptr_t)frame - (uintptr_t)p);
}

void start(void) {
#ifdef __ARM_FP
  /* Full access to coprocessors 10 and 11, the FPU. */
  *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
  __asm__ volatile("dsb\n\tisb");
#endif
  memcpy(data_start, data_image, (size_t)(data_end - data_start));
  memset(bss_start, 0, (size_t)(bss_end - bss_start));
  leave(main());
}

static void fault(void) {
  print("fault\n");
  leave(3);
}

/* The first stack pointer, the first instruction, then the handlers of the exceptions up to SysTick. */
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_end, (const void *)start, (const void *)fault, (const void *)fault, (const void *)fault, (const void *)fault,
    (const void *)fault};
