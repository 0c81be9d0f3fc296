// Large stacks for recursion over nested programs. Parsing, inference, printing and destruction of a program recurse
// over its nesting, whose depth is limited only by memory. A command therefore runs on a stack as large as memory
// allows; the system provides only the pages that are used. The parser needs the most stack per level of nesting. It
// rejects text that would overflow its stack.
#pragma once

#include <cstddef>
#include <functional>

namespace dlcc {

// Calls `work` in the calling thread, but on a stack of up to half of the machine's memory, and rethrows its exception.
void on_deep_stack(const std::function<void()>& work);

// What the recursion of a program may take, on a stack or elsewhere, in bytes: half of the machine's memory, but at
// most a quarter of the address space if that is limited.
size_t memory_for_recursion();

// The size of the stack that the calling thread uses and its unused part, in bytes.
struct StackSpace {
  size_t total, rest;
};
StackSpace stack_space();

}  // namespace dlcc
