#include "targets/llvm/object_file.h"

#include <algorithm>
#include <array>

#include "targets/llvm/elf_reader.h"

namespace dlcc::targets {

std::vector<std::span<const std::byte>> ObjectFile::pieces() const {
  static constexpr std::array<std::byte, 64> zeros{};
  std::vector<std::span<const std::byte>> list = {head};
  int64_t end = 0;
  auto fill_up_to = [&](int64_t offset) {
    for (int64_t n; end < offset; end += n) {
      n = std::min<int64_t>(offset - end, zeros.size());
      list.push_back(std::span(zeros).first(static_cast<size_t>(n)));
    }
  };
  for (const ConstantPiece& c : constants) {
    fill_up_to(c.offset);
    list.push_back(c.value.bytes());
    end += static_cast<int64_t>(c.value.bytes().size());
  }
  fill_up_to(constant_bytes);
  return list;
}

std::vector<std::byte> ObjectFile::bytes() const {
  std::vector<std::byte> file;
  file.reserve(head.size() + static_cast<size_t>(constant_bytes));
  for (std::span<const std::byte> piece : pieces()) file.insert(file.end(), piece.begin(), piece.end());
  return file;
}

ObjectSizes ObjectFile::sizes() const {
  ObjectSizes result;
  ElfReader elf(head);
  for (size_t i = 0; i < elf.section_count(); ++i) {
    const Elf64_Shdr& section = elf.section(i);
    if (!(section.sh_flags & SHF_ALLOC) || section.sh_type == SHT_NOBITS) continue;
    (section.sh_flags & SHF_EXECINSTR ? result.code_bytes : result.data_bytes) += static_cast<int64_t>(section.sh_size);
  }
  return result;
}

}  // namespace dlcc::targets
