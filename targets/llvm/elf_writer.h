// Writes a relocatable little-endian ELF object of class ELF32 or ELF64.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlcc::targets {

struct ElfSection {
  std::string name;
  Elf64_Shdr header{};  // without name and offset
  std::vector<std::byte> bytes;
  std::vector<Elf64_Rela> relocations;  // their symbols are indices into ElfContents::symbols
};

struct ElfSymbol {
  std::string name;
  Elf64_Sym symbol{};  // without name; section 0 is the null section, so st_shndx is an index of `sections` plus one
};

// An object. Both classes use the structures of ELF64.
struct ElfContents {
  bool is_64_bit = true;
  bool has_addends = true;  // relocations have addends (SHT_RELA); else these are in the relocated bytes (SHT_REL)
  uint16_t machine = 0;     // EM_X86_64
  uint32_t flags = 0;       // e_flags
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols{ElfSymbol{}};  // the first one is null
  std::optional<size_t> last_section;           // its bytes end the file: the caller appends them
};

// The file, without the bytes of the last section.
std::vector<std::byte> write_elf(ElfContents);

}  // namespace dlcc::targets
