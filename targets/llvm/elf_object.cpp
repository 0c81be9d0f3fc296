#include "targets/llvm/elf_object.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "support/diagnostics.h"
#include "support/integers.h"
#include "targets/llvm/arm_attributes.h"
#include "targets/llvm/elf_reader.h"
#include "targets/llvm/elf_writer.h"

namespace dlcc::targets {

namespace {

class Joiner {
 public:
  Joiner(const ConstantSection& constants, const std::vector<std::string>& exported, bool is_freestanding)
      : constants_(constants), exported_(exported), is_freestanding_(is_freestanding) {}

  void add(const ElfReader& in) {
    out_.is_64_bit = in.is_64_bit();
    out_.machine = in.header().e_machine;
    out_.flags = in.header().e_flags;
    std::vector<Position> positions(in.section_count());
    for (size_t i = 1; i < in.section_count(); ++i) {
      positions[i] = copy_section(in, i);
      if (in.has_relocations(i)) out_.has_addends = in.section(i).sh_type == SHT_RELA;
    }
    std::vector<size_t> symbols = copy_symbols(in, positions);
    for (size_t i = 1; i < in.section_count(); ++i) {
      if (!in.has_relocations(i)) continue;
      const Position& target = positions[in.section(i).sh_info];
      if (target.section == none) continue;
      for (Elf64_Rela r : in.relocations(i)) {
        const Elf64_Sym& symbol = in.symbols()[ELF64_R_SYM(r.r_info)];
        r.r_offset += static_cast<uint64_t>(target.offset);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION) r.r_addend += positions[symbol.st_shndx].offset;
        r.r_info = ELF64_R_INFO(symbols[ELF64_R_SYM(r.r_info)], ELF64_R_TYPE(r.r_info));
        out_.sections[target.section].relocations.push_back(r);
      }
    }
  }

  ObjectFile finish() {
    if (constants_.bytes > 0) define_constants();
    localize();
    return {write_elf(std::move(out_)), constants_.pieces, constants_.bytes};
  }

 private:
  static constexpr size_t none = ~size_t{0};
  struct Position {  // the position of an input section in the output
    size_t section = none;
    int64_t offset = 0;
  };

  // Tables of unwinding (.ARM.exidx) are left out: no function of a model throws.
  Position copy_section(const ElfReader& in, size_t index) {
    Elf64_Shdr header = in.section(index);
    const bool is_arm = out_.machine == EM_ARM;
    const bool is_attributes = (is_arm && header.sh_type == SHT_ARM_ATTRIBUTES) ||
                               (out_.machine == EM_RISCV && header.sh_type == SHT_RISCV_ATTRIBUTES);
    const bool has_content =
        header.sh_type == SHT_PROGBITS || header.sh_type == SHT_NOBITS || header.sh_type == SHT_NOTE || is_attributes;
    const bool is_stack_note = in.name(header) == ".note.GNU-stack";
    if (!has_content || (is_stack_note ? is_freestanding_ : header.sh_size == 0)) return {};
    header.sh_flags &= ~static_cast<uint64_t>(SHF_LINK_ORDER);
    auto key = std::tuple(in.name(header), header.sh_type, header.sh_flags, header.sh_entsize);
    auto [it, is_new] = by_kind_.try_emplace(key, out_.sections.size());
    if (is_attributes && !is_new) return {};  // the same in all objects of a model
    if (is_new) {
      out_.sections.push_back({in.name(header), {}, {}, {}});
      Elf64_Shdr& h = out_.sections.back().header;
      h.sh_type = header.sh_type, h.sh_flags = header.sh_flags, h.sh_entsize = header.sh_entsize, h.sh_addralign = 1;
    }
    ElfSection& out = out_.sections[it->second];
    out.header.sh_addralign = std::max(out.header.sh_addralign, header.sh_addralign);
    int64_t offset = round_up(static_cast<int64_t>(out.header.sh_size),
                              std::max<int64_t>(static_cast<int64_t>(header.sh_addralign), 1));
    out.header.sh_size = static_cast<uint64_t>(offset) + header.sh_size;
    if (header.sh_type != SHT_NOBITS) {
      out.bytes.resize(out.header.sh_size);
      std::span<const std::byte> bytes = in.bytes(index);
      std::copy(bytes.begin(), bytes.end(), out.bytes.begin() + offset);
    }
    if (is_attributes && is_arm) allow_both_calling_conventions(out.bytes);
    return {it->second, offset};
  }

  // Copies the symbols of an input. Returns for each its index in the output.
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
        result.push_back(section_symbol(position));
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
    out_.symbols.push_back({name, symbol});
    return out_.symbols.size() - 1;
  }

  // The symbol that replaces the symbol of an input's section. If relocations have addends, it is the symbol of the
  // output section, and the addends are increased by the offset of the input's section in it. If addends are in the
  // relocated bytes, it is a symbol at that offset.
  size_t section_symbol(const Position& at) {
    const int64_t offset = out_.has_addends ? 0 : at.offset;
    auto [it, is_new] = section_symbols_.try_emplace({at.section, offset}, out_.symbols.size());
    if (!is_new) return it->second;
    Elf64_Sym symbol{};
    symbol.st_info = ELF64_ST_INFO(STB_LOCAL, offset == 0 ? STT_SECTION : STT_NOTYPE);
    symbol.st_shndx = static_cast<uint16_t>(at.section + 1);
    symbol.st_value = static_cast<uint64_t>(offset);
    return new_symbol("", symbol);
  }

  size_t global(const std::string& name, const Elf64_Sym& symbol, bool defined) {
    auto [it, is_new] = globals_.try_emplace(name, out_.symbols.size());
    if (is_new) return new_symbol(name, symbol);
    Elf64_Sym& existing = out_.symbols[it->second].symbol;
    DLCC_CHECK(!defined || existing.st_shndx == SHN_UNDEF, "symbol {} is defined twice", name);
    if (defined) existing = symbol;
    return it->second;
  }

  void define_constants() {
    ElfSection section{constants_.name, {}, {}, {}};
    section.header.sh_type = SHT_PROGBITS;
    section.header.sh_flags = SHF_ALLOC;
    section.header.sh_addralign = static_cast<uint64_t>(constants_.alignment);
    section.header.sh_size = static_cast<uint64_t>(constants_.bytes);
    out_.last_section = out_.sections.size();
    out_.sections.push_back(std::move(section));
    Elf64_Sym symbol{};
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
    symbol.st_shndx = static_cast<uint16_t>(out_.sections.size());
    symbol.st_size = static_cast<uint64_t>(constants_.bytes);
    global(constants_.symbol, symbol, true);
  }

  void localize() {
    for (ElfSymbol& s : out_.symbols) {
      if (ELF64_ST_BIND(s.symbol.st_info) == STB_LOCAL || s.symbol.st_shndx == SHN_UNDEF) continue;
      if (std::find(exported_.begin(), exported_.end(), s.name) != exported_.end()) continue;
      s.symbol.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(s.symbol.st_info));
      s.symbol.st_other = STV_DEFAULT;
    }
  }

  const ConstantSection& constants_;
  const std::vector<std::string>& exported_;
  bool is_freestanding_;
  ElfContents out_;
  std::map<std::tuple<std::string, uint32_t, uint64_t, uint64_t>, size_t> by_kind_;
  std::map<std::pair<size_t, int64_t>, size_t> section_symbols_;  // by section and offset
  std::map<std::string, size_t> globals_;
};

}  // namespace

ObjectFile join_objects(const std::vector<std::span<const std::byte>>& objects, const ConstantSection& constants,
                        const std::vector<std::string>& exported, bool is_freestanding) {
  Joiner joiner(constants, exported, is_freestanding);
  for (std::span<const std::byte> object : objects) joiner.add(ElfReader(object));
  return joiner.finish();
}

}  // namespace dlcc::targets
