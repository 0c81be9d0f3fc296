#include "targets/llvm/elf_writer.h"

#include <algorithm>
#include <cstring>

#include "support/diagnostics.h"
#include "support/integers.h"

namespace dlcc::targets {

namespace {

// The structures of a class, and the conversions from those of ELF64. Numbers of an ELF32 object fit into 32 bits:
// LLVM's objects and their constants are smaller than 4 GB.
struct Class64 {
  static constexpr unsigned char ident = ELFCLASS64;
  static constexpr size_t alignment = 8;  // of tables
  using Header = Elf64_Ehdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
  using WithAddend = Elf64_Rela;
  using WithoutAddend = Elf64_Rel;
  static Section narrowed(const Elf64_Shdr& s) { return s; }
  static Symbol narrowed(const Elf64_Sym& s) { return s; }
  static uint64_t info(uint64_t info) { return info; }
};

struct Class32 {
  static constexpr unsigned char ident = ELFCLASS32;
  static constexpr size_t alignment = 4;
  using Header = Elf32_Ehdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
  using WithAddend = Elf32_Rela;
  using WithoutAddend = Elf32_Rel;
  static Elf32_Word word(uint64_t n) { return static_cast<Elf32_Word>(n); }
  static Section narrowed(const Elf64_Shdr& s) {
    return {s.sh_name,       s.sh_type, word(s.sh_flags), word(s.sh_addr),      word(s.sh_offset),
            word(s.sh_size), s.sh_link, s.sh_info,        word(s.sh_addralign), word(s.sh_entsize)};
  }
  static Symbol narrowed(const Elf64_Sym& s) {
    return {s.st_name, word(s.st_value), word(s.st_size), s.st_info, s.st_other, s.st_shndx};
  }
  static Elf32_Word info(uint64_t info) { return ELF32_R_INFO(word(ELF64_R_SYM(info)), word(ELF64_R_TYPE(info))); }
};

// ELF requires local symbols before global ones. Returns the number of local symbols.
size_t order_symbols(ElfContents& contents) {
  auto is_local = [](const ElfSymbol& s) { return ELF64_ST_BIND(s.symbol.st_info) == STB_LOCAL; };
  std::vector<size_t> new_index(contents.symbols.size());
  std::vector<ElfSymbol> ordered;
  size_t locals = 0;
  for (bool local : {true, false}) {
    for (size_t i = 0; i < contents.symbols.size(); ++i) {
      if (is_local(contents.symbols[i]) != local) continue;
      new_index[i] = ordered.size();
      ordered.push_back(contents.symbols[i]);
    }
    if (local) locals = ordered.size();
  }
  contents.symbols = std::move(ordered);
  for (ElfSection& s : contents.sections)
    for (Elf64_Rela& r : s.relocations)
      r.r_info = ELF64_R_INFO(new_index[ELF64_R_SYM(r.r_info)], ELF64_R_TYPE(r.r_info));
  return locals;
}

template <class Class>
class Writer {
 public:
  Writer(const ElfContents& contents, size_t local_symbols) : contents_(contents), local_symbols_(local_symbols) {}

  std::vector<std::byte> write() {
    make_tables();
    lay_out();
    std::vector<std::byte> file(end_);
    auto put = [&](size_t offset, const auto& list) {
      if (!list.empty()) std::memcpy(file.data() + offset, list.data(), list.size() * sizeof(list[0]));
    };
    const typename Class::Header header = file_header();
    std::memcpy(file.data(), &header, sizeof(header));
    size_t next = 1;
    auto put_section = [&](const auto& list) { put(headers_[next++].sh_offset, list); };
    for (const ElfSection& s : contents_.sections) put_section(s.bytes);
    for (const ElfSection& s : contents_.sections) {
      if (s.relocations.empty()) continue;
      if (contents_.has_addends)
        put_section(relocations_with_addends(s));
      else
        put_section(relocations_without_addends(s));
    }
    put_section(symbols_);
    put_section(symbol_names_);
    put_section(section_names_);
    std::vector<typename Class::Section> headers;
    for (const Elf64_Shdr& h : headers_) headers.push_back(Class::narrowed(h));
    put(header_offset_, headers);
    return file;
  }

 private:
  std::vector<typename Class::WithAddend> relocations_with_addends(const ElfSection& s) const {
    std::vector<typename Class::WithAddend> result(s.relocations.size());
    for (size_t i = 0; i < result.size(); ++i) {
      const Elf64_Rela& r = s.relocations[i];
      result[i].r_offset = static_cast<decltype(result[i].r_offset)>(r.r_offset);
      result[i].r_info = Class::info(r.r_info);
      result[i].r_addend = static_cast<decltype(result[i].r_addend)>(r.r_addend);
    }
    return result;
  }

  std::vector<typename Class::WithoutAddend> relocations_without_addends(const ElfSection& s) const {
    std::vector<typename Class::WithoutAddend> result(s.relocations.size());
    for (size_t i = 0; i < result.size(); ++i) {
      result[i].r_offset = static_cast<decltype(result[i].r_offset)>(s.relocations[i].r_offset);
      result[i].r_info = Class::info(s.relocations[i].r_info);
    }
    return result;
  }

  // The section headers: the sections, then a relocation section for each section with relocations, then symbol and
  // string tables.
  void make_tables() {
    for (const ElfSymbol& s : contents_.symbols) {
      symbols_.push_back(Class::narrowed(s.symbol));
      symbols_.back().st_name = intern(symbol_names_, s.name);
    }
    for (const ElfSection& s : contents_.sections) add(s.header, s.name);
    const auto relocated = std::ranges::count_if(contents_.sections, [](auto& s) { return !s.relocations.empty(); });
    const auto symbol_table = static_cast<uint32_t>(1 + contents_.sections.size() + static_cast<size_t>(relocated));
    const bool rela = contents_.has_addends;
    const size_t entry = rela ? sizeof(typename Class::WithAddend) : sizeof(typename Class::WithoutAddend);
    for (size_t i = 0; i < contents_.sections.size(); ++i) {
      const ElfSection& s = contents_.sections[i];
      if (s.relocations.empty()) continue;
      Elf64_Shdr h = table_header(rela ? SHT_RELA : SHT_REL, s.relocations.size(), entry, symbol_table,
                                  static_cast<uint32_t>(i + 1));
      h.sh_flags = SHF_INFO_LINK;
      add(h, (rela ? ".rela" : ".rel") + s.name);
    }
    add(table_header(SHT_SYMTAB, symbols_.size(), sizeof(typename Class::Symbol), symbol_table + 1,
                     static_cast<uint32_t>(local_symbols_)),
        ".symtab");
    add(table_header(SHT_STRTAB, symbol_names_.size(), 1, 0, 0), ".strtab");
    Elf64_Shdr names = table_header(SHT_STRTAB, 0, 1, 0, 0);
    names.sh_size = section_names_.size() + sizeof(".shstrtab");
    add(names, ".shstrtab");
    DLCC_CHECK(headers_.size() < SHN_LORESERVE, "an object of {} sections", headers_.size());
  }

  void add(Elf64_Shdr header, const std::string& name) {
    header.sh_name = intern(section_names_, name);
    headers_.push_back(header);
  }

  static uint32_t intern(std::string& table, const std::string& text) {
    if (text.empty()) return 0;
    auto at = static_cast<uint32_t>(table.size());
    table += text;
    table += '\0';
    return at;
  }

  static Elf64_Shdr table_header(uint32_t type, size_t count, size_t entry, uint32_t link, uint32_t info) {
    Elf64_Shdr h{};
    h.sh_type = type, h.sh_size = count * entry, h.sh_entsize = entry > 1 ? entry : 0;
    h.sh_addralign = entry > 1 ? Class::alignment : 1, h.sh_link = link, h.sh_info = info;
    return h;
  }

  // Sets the sections' file offsets.
  void lay_out() {
    auto end = static_cast<int64_t>(sizeof(typename Class::Header));
    auto append = [&](Elf64_Shdr& h) {
      end = round_up(end, std::max<int64_t>(static_cast<int64_t>(h.sh_addralign), 1));
      h.sh_offset = static_cast<uint64_t>(end);
      if (h.sh_type != SHT_NOBITS) end += static_cast<int64_t>(h.sh_size);
    };
    for (size_t i = 1; i < headers_.size(); ++i)
      if (i - 1 != contents_.last_section) append(headers_[i]);
    end = round_up(end, static_cast<int64_t>(Class::alignment));
    header_offset_ = static_cast<size_t>(end);
    end += static_cast<int64_t>(headers_.size() * sizeof(typename Class::Section));
    if (contents_.last_section) {
      Elf64_Shdr& last = headers_[*contents_.last_section + 1];
      append(last);
      end = static_cast<int64_t>(last.sh_offset);
    }
    end_ = static_cast<size_t>(end);
  }

  typename Class::Header file_header() const {
    typename Class::Header h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = Class::ident, h.e_ident[EI_DATA] = ELFDATA2LSB, h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_REL, h.e_machine = contents_.machine, h.e_version = EV_CURRENT, h.e_flags = contents_.flags;
    h.e_shoff = static_cast<decltype(h.e_shoff)>(header_offset_), h.e_ehsize = sizeof(h);
    h.e_shentsize = sizeof(typename Class::Section), h.e_shnum = static_cast<uint16_t>(headers_.size());
    h.e_shstrndx = static_cast<uint16_t>(headers_.size() - 1);
    return h;
  }

  const ElfContents& contents_;
  size_t local_symbols_;
  std::vector<Elf64_Shdr> headers_ = std::vector<Elf64_Shdr>(1);  // the first one is null
  std::vector<typename Class::Symbol> symbols_;
  std::string symbol_names_ = std::string(1, '\0'), section_names_ = std::string(1, '\0');
  size_t header_offset_ = 0;  // of the section headers in the file
  size_t end_ = 0;            // of the file without the last section's bytes
};

}  // namespace

std::vector<std::byte> write_elf(ElfContents contents) {
  const size_t locals = order_symbols(contents);
  return contents.is_64_bit ? Writer<Class64>(contents, locals).write() : Writer<Class32>(contents, locals).write();
}

}  // namespace dlcc::targets
