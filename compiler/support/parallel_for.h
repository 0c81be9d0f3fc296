// A loop whose iterations several threads share.
#pragma once

#include <cstddef>
#include <functional>

namespace dlcc {

// Calls work(0), ..., work(count - 1) on up to `threads` threads, of which the calling thread is one. Each thread takes
// the next index that none has taken, so the calls must not depend on their order. All threads have deep stacks if the
// calling one has (deep_stack.h). After an exception no further call begins; it is rethrown when all threads have
// ended.
void parallel_for(size_t count, int threads, const std::function<void(size_t)>& work);

}  // namespace dlcc
