// Reads a relocatable little-endian ELF object written by dlcc or LLVM. Objects of 32-bit targets (class ELF32) are
// read into the structures of ELF64.
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
    DLCC_CHECK(file.size() >= EI_NIDENT && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0, "not an ELF object");
    is_64_bit_ = std::to_integer<int>(file[EI_CLASS]) == ELFCLASS64;
    header_ = is_64_bit_ ? table<Elf64_Ehdr>(0, 1).front() : widened(table<Elf32_Ehdr>(0, 1).front());
    DLCC_CHECK(header_.e_type == ET_REL, "not a relocatable ELF object");
    sections_ = entries<Elf64_Shdr, Elf32_Shdr>(header_.e_shoff, header_.e_shnum);
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      symbols_ = entries<Elf64_Sym, Elf32_Sym>(s.sh_offset, count(s));
      symbol_names_ = s.sh_link;
    }
  }

  bool is_64_bit() const { return is_64_bit_; }
  const Elf64_Ehdr& header() const { return header_; }
  size_t section_count() const { return sections_.size(); }
  const Elf64_Shdr& section(size_t i) const { return sections_[i]; }
  std::string name(const Elf64_Shdr& s) const { return text(header_.e_shstrndx, s.sh_name); }
  std::span<const std::byte> bytes(size_t i) const {
    return file_.subspan(sections_[i].sh_offset, sections_[i].sh_size);
  }
  const std::vector<Elf64_Sym>& symbols() const { return symbols_; }
  std::string name(const Elf64_Sym& s) const { return text(symbol_names_, s.st_name); }

  bool has_relocations(size_t i) const { return sections_[i].sh_type == SHT_RELA || sections_[i].sh_type == SHT_REL; }

  // Of a section with relocations. If its type is SHT_REL, the addends are in the relocated bytes, and zero here.
  std::vector<Elf64_Rela> relocations(size_t i) const {
    const Elf64_Shdr& s = sections_[i];
    if (s.sh_type == SHT_RELA) return entries<Elf64_Rela, Elf32_Rela>(s.sh_offset, count(s));
    std::vector<Elf64_Rela> result;
    for (const Elf64_Rel& r : entries<Elf64_Rel, Elf32_Rel>(s.sh_offset, count(s)))
      result.push_back({r.r_offset, r.r_info, 0});
    return result;
  }

  // The address of a function's first byte in its section. The lowest bit of a Thumb function's symbol is set.
  uint64_t first_byte(const Elf64_Sym& function) const {
    return header_.e_machine == EM_ARM ? function.st_value & ~uint64_t{1} : function.st_value;
  }

 private:
  static size_t count(const Elf64_Shdr& s) { return s.sh_entsize ? s.sh_size / s.sh_entsize : 0; }

  static Elf64_Ehdr widened(const Elf32_Ehdr& h) {
    Elf64_Ehdr result{};
    std::memcpy(result.e_ident, h.e_ident, EI_NIDENT);
    result.e_type = h.e_type, result.e_machine = h.e_machine, result.e_version = h.e_version;
    result.e_flags = h.e_flags, result.e_shoff = h.e_shoff, result.e_shnum = h.e_shnum;
    result.e_shstrndx = h.e_shstrndx;
    return result;
  }
  static Elf64_Shdr widened(const Elf32_Shdr& s) {
    return {s.sh_name, s.sh_type, s.sh_flags, s.sh_addr,      s.sh_offset,
            s.sh_size, s.sh_link, s.sh_info,  s.sh_addralign, s.sh_entsize};
  }
  static Elf64_Sym widened(const Elf32_Sym& s) {
    return {s.st_name, s.st_info, s.st_other, s.st_shndx, s.st_value, s.st_size};
  }
  static uint64_t widened_info(Elf32_Word info) { return ELF64_R_INFO(ELF32_R_SYM(info), ELF32_R_TYPE(info)); }
  static Elf64_Rela widened(const Elf32_Rela& r) { return {r.r_offset, widened_info(r.r_info), r.r_addend}; }
  static Elf64_Rel widened(const Elf32_Rel& r) { return {r.r_offset, widened_info(r.r_info)}; }

  // A table of the file, in the structures of the file's class.
  template <class Wide, class Narrow>
  std::vector<Wide> entries(uint64_t offset, uint64_t count) const {
    if (is_64_bit_) return table<Wide>(offset, count);
    std::vector<Wide> result;
    for (const Narrow& entry : table<Narrow>(offset, count)) result.push_back(widened(entry));
    return result;
  }

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
  bool is_64_bit_ = true;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
  size_t symbol_names_ = 0;
};

}  // namespace dlcc::targets
