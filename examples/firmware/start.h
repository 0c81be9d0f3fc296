/* Output, the end of the program, and the measurement of its flash and stack on a board without an operating system. */
#ifndef START_H
#define START_H

#include <stdint.h>

void print(const char* text);
void print_number(uint32_t number);
void leave(int status); /* does not return */

/* The bytes of code, constants and initial values of variables. */
uint32_t flash_used(void);

/* Fills the unused stack with a pattern. */
void paint_stack(void);

/* The bytes below `frame`, a stack pointer, that were used since paint_stack. */
uint32_t stack_used_below(const void* frame);

#endif
