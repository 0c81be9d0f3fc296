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
  enum class GuardPage { after, before };  // the one that the block touches

  GuardedMemory() = default;
  GuardedMemory(const GuardedMemory&) = delete;
  ~GuardedMemory();

  // Adds a block of `bytes` bytes with the given alignment; returns its index.
  size_t add(std::string name, int64_t bytes, int64_t alignment);

  // The block's first byte if the block touches this guard page. The same memory serves both.
  std::byte* address(size_t block, GuardPage) const;
  size_t count() const { return blocks_.size(); }
  int64_t bytes(size_t block) const { return blocks_[block].bytes; }
  const std::string& name(size_t block) const { return blocks_[block].name; }

  void fill(size_t block, int value);  // sets every byte of the block's pages
  // Whether all bytes of its pages outside the block have this value.
  bool margins_hold(size_t block, GuardPage, int value) const;
  void protect_reading_only(size_t block);

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
