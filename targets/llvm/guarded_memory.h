// Memory of a test run: blocks between inaccessible guard pages, shared with the child process that runs the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlcc::targets {

class GuardedMemory {
 public:
  enum class GuardPage { after, before };  // the guard page that the block is adjacent to

  GuardedMemory() = default;
  GuardedMemory(const GuardedMemory&) = delete;
  ~GuardedMemory();

  // Adds a block of `bytes` bytes with the given alignment; returns its index.
  size_t add(std::string name, int64_t bytes, int64_t alignment);

  // The address of the block's first byte if the block is adjacent to this guard page. Both addresses are in the same
  // pages.
  std::byte* address(size_t block, GuardPage) const;
  size_t count() const { return blocks_.size(); }
  int64_t bytes(size_t block) const { return blocks_[block].bytes; }
  const std::string& name(size_t block) const { return blocks_[block].name; }

  void fill(size_t block, int value);  // sets every byte of the block's pages
  // Whether all bytes outside the block in its pages have this value.
  bool margins_hold(size_t block, GuardPage, int value) const;
  void protect_read_only(size_t block);  // writes fault from now on

  // The block that a faulting address belongs to, for a message; empty if none.
  std::string describe(uintptr_t address, GuardPage) const;

 private:
  struct Block {
    std::string name;
    int64_t bytes, alignment;
    std::byte* mapping;  // guard page, pages, guard page
    int64_t pages_bytes;
  };
  std::vector<Block> blocks_;
};

}  // namespace dlcc::targets
