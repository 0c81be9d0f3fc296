#include "targets/llvm/elf_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "support/diagnostics.h"
#include "support/integers.h"
#include "targets/llvm/elf_reader.h"

namespace dlcc::targets {

namespace {

struct OutputSection {
  std::string name;
  Elf64_Shdr header{};  // without name and offset
  std::vector<std::byte> bytes;
  std::vector<Elf64_Rela> relocations;  // their symbols are indices into symbols_
};

struct OutputSymbol {
  std::string name;
  Elf64_Sym symbol{};
};

class Joiner {
 public:
  Joiner(const ConstantSection& constants, const std::vector<std::string>& exported)
      : constants_(constants), exported_(exported) {}

  void add(const ElfReader& in) {
    machine_ = in.header().e_machine;
    flags_ = in.header().e_flags;
    std::vector<Position> positions(in.section_count());
    for (size_t i = 1; i < in.section_count(); ++i) positions[i] = copy_section(in, i);
    std::vector<size_t> symbols = copy_symbols(in, positions);
    for (size_t i = 1; i < in.section_count(); ++i) {
      if (in.section(i).sh_type != SHT_RELA) continue;
      const Position& target = positions[in.section(i).sh_info];
      if (target.section == none) continue;
      for (Elf64_Rela r : in.relocations(i)) {
        const Elf64_Sym& symbol = in.symbols()[ELF64_R_SYM(r.r_info)];
        r.r_offset += static_cast<uint64_t>(target.offset);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION) r.r_addend += positions[symbol.st_shndx].offset;
        r.r_info = ELF64_R_INFO(symbols[ELF64_R_SYM(r.r_info)], ELF64_R_TYPE(r.r_info));
        sections_[target.section].relocations.push_back(r);
      }
    }
  }

  ObjectFile finish() {
    if (constants_.bytes > 0) define_constants();
    localize();
    order_symbols();
    return {write(), constants_.pieces, constants_.bytes};
  }

 private:
  static constexpr size_t none = ~size_t{0};
  struct Position {  // the position of an input section in the output
    size_t section = none;
    int64_t offset = 0;
  };

  Position copy_section(const ElfReader& in, size_t index) {
    Elf64_Shdr header = in.section(index);
    bool has_content = header.sh_type == SHT_PROGBITS || header.sh_type == SHT_NOBITS || header.sh_type == SHT_NOTE;
    if (!has_content || (header.sh_size == 0 && in.name(header) != ".note.GNU-stack")) return {};
    header.sh_flags &= ~static_cast<uint64_t>(SHF_LINK_ORDER);
    auto key = std::tuple(in.name(header), header.sh_type, header.sh_flags, header.sh_entsize);
    auto [it, is_new] = by_kind_.try_emplace(key, sections_.size());
    if (is_new) {
      sections_.push_back({in.name(header), {}, {}, {}});
      Elf64_Shdr& h = sections_.back().header;
      h.sh_type = header.sh_type, h.sh_flags = header.sh_flags, h.sh_entsize = header.sh_entsize, h.sh_addralign = 1;
    }
    OutputSection& out = sections_[it->second];
    out.header.sh_addralign = std::max(out.header.sh_addralign, header.sh_addralign);
    int64_t offset = round_up(static_cast<int64_t>(out.header.sh_size),
                              std::max<int64_t>(static_cast<int64_t>(header.sh_addralign), 1));
    out.header.sh_size = static_cast<uint64_t>(offset) + header.sh_size;
    if (header.sh_type != SHT_NOBITS) {
      out.bytes.resize(out.header.sh_size);
      std::span<const std::byte> bytes = in.bytes(index);
      std::copy(bytes.begin(), bytes.end(), out.bytes.begin() + offset);
    }
    return {it->second, offset};
  }

  // Copies the symbols of an input. Returns for each its index in symbols_.
  std::vector<size_t> copy_symbols(const ElfReader& in, const std::vector<Position>& positions) {
    std::vector<size_t> result;
    for (Elf64_Sym symbol : in.symbols()) {
      int type = ELF64_ST_TYPE(symbol.st_info), binding = ELF64_ST_BIND(symbol.st_info);
      bool defined = symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE;
      if (type == STT_FILE || (result.empty())) {
        result.push_back(0);
        continue;
      }
      const Position position = defined ? positions[symbol.st_shndx] : Position{};
      DLCC_CHECK(symbol.st_shndx < SHN_LORESERVE, "symbol {} is in no section", in.name(symbol));
      if (defined && position.section == none) {
        result.push_back(0);
        continue;
      }
      if (type == STT_SECTION) {
        result.push_back(section_symbol(position.section));
        continue;
      }
      if (defined) {
        symbol.st_shndx = static_cast<uint16_t>(position.section + 1);  // section 0 is the null section
        symbol.st_value += static_cast<uint64_t>(position.offset);
      }
      result.push_back(binding == STB_LOCAL ? new_symbol(in.name(symbol), symbol)
                                            : global(in.name(symbol), symbol, defined));
    }
    return result;
  }

  size_t new_symbol(const std::string& name, const Elf64_Sym& symbol) {
    symbols_.push_back({name, symbol});
    return symbols_.size() - 1;
  }

  size_t section_symbol(size_t section) {
    auto [it, is_new] = section_symbols_.try_emplace(section, symbols_.size());
    if (is_new) {
      Elf64_Sym symbol{};
      symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
      symbol.st_shndx = static_cast<uint16_t>(section + 1);
      symbols_.push_back({"", symbol});
    }
    return it->second;
  }

  size_t global(const std::string& name, const Elf64_Sym& symbol, bool defined) {
    auto [it, is_new] = globals_.try_emplace(name, symbols_.size());
    if (is_new) return new_symbol(name, symbol);
    Elf64_Sym& existing = symbols_[it->second].symbol;
    DLCC_CHECK(!defined || existing.st_shndx == SHN_UNDEF, "symbol {} is defined twice", name);
    if (defined) existing = symbol;
    return it->second;
  }

  void define_constants() {
    OutputSection section{constants_.name, {}, {}, {}};
    section.header.sh_type = SHT_PROGBITS;
    section.header.sh_flags = SHF_ALLOC;
    section.header.sh_addralign = static_cast<uint64_t>(constants_.alignment);
    section.header.sh_size = static_cast<uint64_t>(constants_.bytes);
    constant_section_ = sections_.size();
    sections_.push_back(std::move(section));
    Elf64_Sym symbol{};
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_shndx = static_cast<uint16_t>(sections_.size());
    symbol.st_size = static_cast<uint64_t>(constants_.bytes);
    global(constants_.symbol, symbol, true);
  }

  void localize() {
    for (OutputSymbol& s : symbols_) {
      if (ELF64_ST_BIND(s.symbol.st_info) == STB_LOCAL || s.symbol.st_shndx == SHN_UNDEF) continue;
      if (std::find(exported_.begin(), exported_.end(), s.name) != exported_.end()) continue;
      s.symbol.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(s.symbol.st_info));
      s.symbol.st_other = STV_DEFAULT;
    }
  }

  // ELF requires local symbols before global ones.
  void order_symbols() {
    auto is_local = [](const OutputSymbol& s) { return ELF64_ST_BIND(s.symbol.st_info) == STB_LOCAL; };
    std::vector<size_t> new_index(symbols_.size());
    std::vector<OutputSymbol> ordered;
    for (bool local : {true, false}) {
      for (size_t i = 0; i < symbols_.size(); ++i) {
        if (is_local(symbols_[i]) != local) continue;
        new_index[i] = ordered.size();
        ordered.push_back(symbols_[i]);
      }
      if (local) first_global_ = ordered.size();
    }
    symbols_ = std::move(ordered);
    for (OutputSection& s : sections_)
      for (Elf64_Rela& r : s.relocations)
        r.r_info = ELF64_R_INFO(new_index[ELF64_R_SYM(r.r_info)], ELF64_R_TYPE(r.r_info));
  }

  // Section headers and string tables of the output file.
  struct Tables {
    std::vector<Elf64_Shdr> headers = std::vector<Elf64_Shdr>(1);  // the first one is null
    std::vector<Elf64_Sym> symbols;
    std::string symbol_names = std::string(1, '\0'), section_names = std::string(1, '\0');

    void add(Elf64_Shdr header, const std::string& name) {
      header.sh_name = intern(section_names, name);
      headers.push_back(header);
    }

    static uint32_t intern(std::string& table, const std::string& text) {
      if (text.empty()) return 0;
      auto at = static_cast<uint32_t>(table.size());
      table += text;
      table += '\0';
      return at;
    }
  };

  static Elf64_Shdr table_header(uint32_t type, size_t count, size_t entry, uint32_t link, uint32_t info) {
    Elf64_Shdr h{};
    h.sh_type = type, h.sh_size = count * entry, h.sh_entsize = entry > 1 ? entry : 0;
    h.sh_addralign = entry > 1 ? 8 : 1, h.sh_link = link, h.sh_info = info;
    return h;
  }

  // The section headers: the output's sections, then a relocation section for each section with relocations, then
  // symbol and string tables.
  Tables make_tables() const {
    Tables t;
    for (const OutputSymbol& s : symbols_) {
      t.symbols.push_back(s.symbol);
      t.symbols.back().st_name = Tables::intern(t.symbol_names, s.name);
    }
    for (const OutputSection& s : sections_) t.add(s.header, s.name);
    size_t relocated = 0;
    for (const OutputSection& s : sections_) relocated += !s.relocations.empty();
    auto symbol_table = static_cast<uint32_t>(1 + sections_.size() + relocated);
    for (size_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].relocations.empty()) continue;
      Elf64_Shdr h = table_header(SHT_RELA, sections_[i].relocations.size(), sizeof(Elf64_Rela), symbol_table,
                                  static_cast<uint32_t>(i + 1));
      h.sh_flags = SHF_INFO_LINK;
      t.add(h, ".rela" + sections_[i].name);
    }
    t.add(table_header(SHT_SYMTAB, t.symbols.size(), sizeof(Elf64_Sym), symbol_table + 1,
                       static_cast<uint32_t>(first_global_)),
          ".symtab");
    t.add(table_header(SHT_STRTAB, t.symbol_names.size(), 1, 0, 0), ".strtab");
    Elf64_Shdr names = table_header(SHT_STRTAB, 0, 1, 0, 0);
    names.sh_size = t.section_names.size() + sizeof(".shstrtab");
    t.add(names, ".shstrtab");
    DLCC_CHECK(t.headers.size() < SHN_LORESERVE, "an object of {} sections", t.headers.size());
    return t;
  }

  struct FileLayout {
    size_t headers;  // offset of the section headers
    size_t end;      // of the file without the constants' bytes
  };

  // Sets the sections' file offsets. The constants are last.
  FileLayout lay_out(std::vector<Elf64_Shdr>& headers) const {
    int64_t end = sizeof(Elf64_Ehdr);
    auto append = [&](Elf64_Shdr& h) {
      end = round_up(end, std::max<int64_t>(static_cast<int64_t>(h.sh_addralign), 1));
      h.sh_offset = static_cast<uint64_t>(end);
      if (h.sh_type != SHT_NOBITS) end += static_cast<int64_t>(h.sh_size);
    };
    for (size_t i = 1; i < headers.size(); ++i)
      if (i - 1 != constant_section_) append(headers[i]);
    int64_t header_offset = round_up(end, 8);
    end = header_offset + static_cast<int64_t>(headers.size() * sizeof(Elf64_Shdr));
    if (constant_section_ != none) {
      append(headers[constant_section_ + 1]);
      end = static_cast<int64_t>(headers[constant_section_ + 1].sh_offset);
    }
    return {static_cast<size_t>(header_offset), static_cast<size_t>(end)};
  }

  Elf64_Ehdr file_header(const Tables& t, const FileLayout& layout) const {
    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64, h.e_ident[EI_DATA] = ELFDATA2LSB, h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = ET_REL, h.e_machine = machine_, h.e_version = EV_CURRENT, h.e_flags = flags_;
    h.e_shoff = layout.headers, h.e_ehsize = sizeof(Elf64_Ehdr);
    h.e_shentsize = sizeof(Elf64_Shdr), h.e_shnum = static_cast<uint16_t>(t.headers.size());
    h.e_shstrndx = static_cast<uint16_t>(t.headers.size() - 1);
    return h;
  }

  // Writes the file up to the constants.
  std::vector<std::byte> write() const {
    Tables t = make_tables();
    FileLayout layout = lay_out(t.headers);
    std::vector<std::byte> file(layout.end);
    auto put = [&](size_t offset, const void* data, size_t bytes) {
      if (bytes) std::memcpy(file.data() + offset, data, bytes);
    };
    Elf64_Ehdr header = file_header(t, layout);
    put(0, &header, sizeof(header));
    size_t next = 1;
    auto put_section = [&](const void* data, size_t bytes) { put(t.headers[next++].sh_offset, data, bytes); };
    for (const OutputSection& s : sections_) put_section(s.bytes.data(), s.bytes.size());
    for (const OutputSection& s : sections_)
      if (!s.relocations.empty()) put_section(s.relocations.data(), s.relocations.size() * sizeof(Elf64_Rela));
    put_section(t.symbols.data(), t.symbols.size() * sizeof(Elf64_Sym));
    put_section(t.symbol_names.data(), t.symbol_names.size());
    put_section(t.section_names.data(), t.section_names.size());
    put(layout.headers, t.headers.data(), t.headers.size() * sizeof(Elf64_Shdr));
    return file;
  }

  const ConstantSection& constants_;
  const std::vector<std::string>& exported_;
  uint16_t machine_ = 0;
  uint32_t flags_ = 0;
  std::vector<OutputSection> sections_;
  std::vector<OutputSymbol> symbols_{OutputSymbol{}};
  std::map<std::tuple<std::string, uint32_t, uint64_t, uint64_t>, size_t> by_kind_;
  std::map<size_t, size_t> section_symbols_;
  std::map<std::string, size_t> globals_;
  size_t constant_section_ = none;
  size_t first_global_ = 0;
};

}  // namespace

ObjectFile join_objects(const std::vector<std::span<const std::byte>>& objects, const ConstantSection& constants,
                        const std::vector<std::string>& exported) {
  Joiner joiner(constants, exported);
  for (std::span<const std::byte> object : objects) joiner.add(ElfReader(object));
  return joiner.finish();
}

}  // namespace dlcc::targets
