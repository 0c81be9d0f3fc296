// Memory of a test run: blocks between inaccessible pages, shared with the child process that runs the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlcc::targets {

class GuardedMemory {
 public:
  enum class Place { end, begin };  // which edge of the block touches a guard page

  GuardedMemory() = default;
  GuardedMemory(const GuardedMemory&) = delete;
  ~GuardedMemory();

  // A block of `bytes` bytes, aligned as `alignment` says; its number.
  size_t add(std::string name, int64_t bytes, int64_t alignment);

  // Where the block is for this placement. The same memory serves both.
  std::byte* address(size_t block, Place) const;
  int64_t bytes(size_t block) const { return blocks_[block].bytes; }
  const std::string& name(size_t block) const { return blocks_[block].name; }

  void fill(size_t block, int value);                       // all of its pages
  bool margins_hold(size_t block, Place, int value) const;  // the bytes beside the block still have this value
  void protect_reading_only(size_t block);

  // What an address that faulted has to do with the blocks, in words; empty when nothing.
  std::string describe(uintptr_t address, Place) const;

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
