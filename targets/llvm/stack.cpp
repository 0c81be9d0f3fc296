// The deepest stack use of the run function: frame sizes, which LLVM records in .stack_sizes, summed along the call
// graph, which follows from the relocations of each function.
#include <algorithm>
#include <map>
#include <set>

#include "targets/llvm/codegen.h"
#include "targets/llvm/elf_reader.h"

namespace dlcc::targets {

namespace {

// The section and offset of a function's first byte.
using FunctionId = std::pair<size_t, uint64_t>;

class StackAnalysis {
 public:
  explicit StackAnalysis(std::span<const std::byte> object) : elf_(object) {
    for (const Elf64_Sym& s : elf_.symbols())
      if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF)
        functions_.insert({s.st_shndx, elf_.first_byte(s)});
    for (size_t i = 1; i < elf_.section_count(); ++i) {
      if (!elf_.has_relocations(i)) continue;
      size_t target = elf_.section(i).sh_info;
      if (elf_.name(elf_.section(target)) == ".stack_sizes")
        read_sizes(target, elf_.relocations(i));
      else
        read_calls(target, elf_.relocations(i));
    }
  }

  int64_t deepest() {
    int64_t result = 0;
    for (const FunctionId& f : functions_) result = std::max(result, depth(f));
    return result;
  }

 private:
  // Each entry: the function's address, then its frame size as ULEB128. On ARM an address names the function's symbol.
  void read_sizes(size_t section, const std::vector<Elf64_Rela>& relocations) {
    std::span<const std::byte> bytes = elf_.bytes(section);
    for (const Elf64_Rela& r : relocations) {
      const Elf64_Sym& symbol = elf_.symbols()[ELF64_R_SYM(r.r_info)];
      uint64_t size = 0;
      size_t at = r.r_offset + (elf_.is_64_bit() ? 8 : 4);
      for (int shift = 0; at < bytes.size(); shift += 7) {
        auto byte = static_cast<uint64_t>(bytes[at++]);
        size |= (byte & 0x7F) << shift;
        if (!(byte & 0x80)) break;
      }
      frames_[{symbol.st_shndx, elf_.first_byte(symbol) + static_cast<uint64_t>(r.r_addend)}] =
          static_cast<int64_t>(size);
    }
  }

  void read_calls(size_t section, const std::vector<Elf64_Rela>& relocations) {
    for (const Elf64_Rela& r : relocations) {
      // Labels within a function, such as those of RISC-V's addresses in two parts, are no calls.
      if (ELF64_ST_TYPE(elf_.symbols()[ELF64_R_SYM(r.r_info)].st_info) == STT_NOTYPE) continue;
      const FunctionId to = target_of(r);
      if (!functions_.contains(to)) continue;
      auto from = functions_.upper_bound({section, r.r_offset});
      if (from == functions_.begin() || (--from)->first != section) continue;  // data that holds an address
      calls_[*from].insert(to);
    }
  }

  // The first byte of the function that the relocation refers to. Relocations to local functions name the section; on
  // x86 their addends are relative to the end of the four relocated bytes.
  FunctionId target_of(const Elf64_Rela& r) const {
    const Elf64_Sym& symbol = elf_.symbols()[ELF64_R_SYM(r.r_info)];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_SECTION) return {symbol.st_shndx, elf_.first_byte(symbol)};
    const auto type = ELF64_R_TYPE(r.r_info);
    const bool is_relative = elf_.header().e_machine == EM_X86_64 && (type == R_X86_64_PLT32 || type == R_X86_64_PC32);
    return {symbol.st_shndx, symbol.st_value + static_cast<uint64_t>(r.r_addend) + (is_relative ? 4 : 0)};
  }

  // The call graph has no cycle: models have no recursion, and no callback but a task's.
  int64_t depth(const FunctionId& f) {
    if (auto known = depths_.find(f); known != depths_.end()) return known->second;
    int64_t below = 0;
    for (const FunctionId& callee : calls_[f]) below = std::max(below, depth(callee));
    // On x86 a call pushes the return address; on ARM it is part of the frame. A frame that may be aligned for full
    // vectors needs up to `alignment` bytes more.
    constexpr int64_t alignment = tensor::storage_alignment;
    const int64_t return_address = elf_.header().e_machine == EM_X86_64 ? 8 : 0;
    int64_t frame = frames_[f];
    return depths_[f] = frame + return_address + (frame >= alignment ? alignment : 0) + below;
  }

  ElfReader elf_;
  std::set<FunctionId> functions_;
  std::map<FunctionId, int64_t> frames_, depths_;
  std::map<FunctionId, std::set<FunctionId>> calls_;
};

}  // namespace

int64_t stack_bytes(std::span<const std::byte> object) { return StackAnalysis(object).deepest(); }

}  // namespace dlcc::targets
