// Stacks for walks over nested programs. Parsing, inference, printing and destruction of a program recurse over its
// nesting, which has no limit but memory: a command runs on a stack as large as memory allows, of which the system
// provides only the pages that are used. The parser, which needs the most stack for a level, refuses text that would
// overflow the stack that it runs on.
#pragma once

#include <cstddef>
#include <functional>

namespace dlcc {

// Calls `work` on a stack of up to half of the machine's memory and waits for its end. Passes its exception on. Signals
// are handled while `work` runs, in its thread.
void on_deep_stack(const std::function<void()>& work);

// The bytes of the calling thread's stack, and those of them that its calls do not use yet.
struct StackSpace {
  size_t total, rest;
};
StackSpace stack_space();

}  // namespace dlcc
