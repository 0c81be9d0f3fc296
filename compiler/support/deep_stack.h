// Large stacks for recursion over nested programs. Parsing, inference, printing and destruction of a program recurse
// over its nesting, whose depth is limited only by memory. A command therefore runs on a stack as large as memory
// allows; the system provides only the pages that are used. The parser needs the most stack per level of nesting. It
// rejects text that would overflow its stack.
#pragma once

#include <cstddef>
#include <functional>

namespace dlcc {

// Calls `work` in a thread with a stack of up to half of the machine's memory, waits for it, and rethrows its
// exception. While `work` runs, its thread handles the signals of the process.
void on_deep_stack(const std::function<void()>& work);

// The size of the calling thread's stack and its unused part, in bytes.
struct StackSpace {
  size_t total, rest;
};
StackSpace stack_space();

}  // namespace dlcc
