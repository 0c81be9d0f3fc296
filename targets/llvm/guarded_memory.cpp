#include "targets/llvm/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "support/diagnostics.h"

namespace dlcc::targets {

namespace {
int64_t page_bytes() { return sysconf(_SC_PAGESIZE); }
}  // namespace

GuardedMemory::~GuardedMemory() {
  for (const Block& b : blocks_) munmap(b.mapping, static_cast<size_t>(b.pages_bytes + 2 * page_bytes()));
}

size_t GuardedMemory::add(std::string name, int64_t bytes, int64_t alignment) {
  int64_t page = page_bytes(), inner = std::max<int64_t>((bytes + page - 1) / page, 1) * page;
  void* mapping = mmap(nullptr, static_cast<size_t>(inner + 2 * page), PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  auto* base = static_cast<std::byte*>(mapping);
  int failed = mprotect(base + page, static_cast<size_t>(inner), PROT_READ | PROT_WRITE);
  DLCC_CHECK(failed == 0, "mprotect failed");
  blocks_.push_back({std::move(name), bytes, alignment, base, inner});
  return blocks_.size() - 1;
}

std::byte* GuardedMemory::address(size_t block, GuardPage guard) const {
  const Block& b = blocks_[block];
  int64_t last = (b.pages_bytes - b.bytes) / b.alignment * b.alignment;
  return b.mapping + page_bytes() + (guard == GuardPage::after ? last : 0);
}

void GuardedMemory::fill(size_t block, int value) {
  const Block& b = blocks_[block];
  std::memset(b.mapping + page_bytes(), value, static_cast<size_t>(b.pages_bytes));
}

bool GuardedMemory::margins_hold(size_t block, GuardPage guard, int value) const {
  const Block& b = blocks_[block];
  const std::byte *first = b.mapping + page_bytes(), *begin = address(block, guard);
  auto untouched = [&](std::byte x) { return x == static_cast<std::byte>(value); };
  return std::all_of(first, begin, untouched) && std::all_of(begin + b.bytes, first + b.pages_bytes, untouched);
}

void GuardedMemory::protect_read_only(size_t block) {
  const Block& b = blocks_[block];
  mprotect(b.mapping + page_bytes(), static_cast<size_t>(b.pages_bytes), PROT_READ);
}

std::string GuardedMemory::describe(uintptr_t where, GuardPage guard) const {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& b = blocks_[i];
    auto begin = reinterpret_cast<uintptr_t>(b.mapping),
         end = begin + static_cast<uintptr_t>(b.pages_bytes + 2 * page_bytes());
    if (where < begin || where >= end) continue;
    auto offset = static_cast<int64_t>(where) - reinterpret_cast<intptr_t>(address(i, guard));
    return fmt::format("byte {} of {}, which has {} bytes", offset, b.name, b.bytes);
  }
  return "";
}

}  // namespace dlcc::targets
