// Reads a relocatable ELF64 little-endian object written by dlcc or LLVM.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "support/diagnostics.h"

namespace dlcc::targets {

class ElfReader {
 public:
  explicit ElfReader(std::span<const std::byte> file) : file_(file) {
    DLCC_CHECK(file.size() >= sizeof(header_), "not an ELF object");
    std::memcpy(&header_, file.data(), sizeof(header_));
    DLCC_CHECK(std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 && header_.e_ident[EI_CLASS] == ELFCLASS64 &&
                   header_.e_type == ET_REL,
               "not a relocatable ELF64 object");
    sections_ = table<Elf64_Shdr>(header_.e_shoff, header_.e_shnum);
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      symbols_ = table<Elf64_Sym>(s.sh_offset, s.sh_size / sizeof(Elf64_Sym));
      symbol_names_ = s.sh_link;
    }
  }

  const Elf64_Ehdr& header() const { return header_; }
  size_t section_count() const { return sections_.size(); }
  const Elf64_Shdr& section(size_t i) const { return sections_[i]; }
  std::string name(const Elf64_Shdr& s) const { return text(header_.e_shstrndx, s.sh_name); }
  std::span<const std::byte> bytes(size_t i) const {
    return file_.subspan(sections_[i].sh_offset, sections_[i].sh_size);
  }
  const std::vector<Elf64_Sym>& symbols() const { return symbols_; }
  std::string name(const Elf64_Sym& s) const { return text(symbol_names_, s.st_name); }
  std::vector<Elf64_Rela> relocations(size_t i) const {
    return table<Elf64_Rela>(sections_[i].sh_offset, sections_[i].sh_size / sizeof(Elf64_Rela));
  }

 private:
  template <class T>
  std::vector<T> table(uint64_t offset, uint64_t count) const {
    DLCC_CHECK(offset + count * sizeof(T) <= file_.size(), "a table of an ELF object is outside the file");
    std::vector<T> result(count);
    if (count) std::memcpy(result.data(), file_.data() + offset, count * sizeof(T));
    return result;
  }
  std::string text(size_t section, size_t offset) const {
    return reinterpret_cast<const char*>(file_.data() + sections_[section].sh_offset + offset);
  }

  std::span<const std::byte> file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  size_t symbol_names_ = 0;
};

}  // namespace dlcc::targets
