// Operators new for programs with mimalloc's malloc (see CMakeLists.txt). Those of mimalloc end the process if there is
// not enough memory; these throw std::bad_alloc, which main() reports. Memory of malloc is what mimalloc's operators
// delete free.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

void* checked(void* memory) { return memory ? memory : throw std::bad_alloc(); }

// Throws if the machine does not have the memory: some systems promise more than they have, and end the process that
// uses it.
void require_memory(std::size_t bytes) {
  static const std::size_t most =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (bytes > most) throw std::bad_alloc();
}

void* allocate(std::size_t bytes) {
  require_memory(bytes);
  return checked(std::malloc(bytes));
}

void* allocate(std::size_t bytes, std::align_val_t alignment) {
  require_memory(bytes);
  const std::size_t multiple = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  void* memory = nullptr;
  return checked(posix_memalign(&memory, multiple, bytes) == 0 ? memory : nullptr);
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
