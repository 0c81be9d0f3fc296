#include "targets/llvm/arm_attributes.h"

#include <algorithm>
#include <cstdint>

#include "support/diagnostics.h"

namespace dlcc::targets {

namespace {

constexpr uint64_t tag_vfp_args = 28, in_fpu_registers = 1;
constexpr std::byte compatible_with_both{3};

// Walks through the attributes: 'A'; then a subsection: its length in 4 bytes, the vendor's name, and a list of
// attributes of the file: Tag_File, its length in 4 bytes, pairs of a tag and a value.
class Attributes {
 public:
  explicit Attributes(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  void allow_both() {
    DLCC_CHECK(!bytes_.empty() && bytes_[0] == std::byte{'A'}, "unknown format of ARM attributes");
    at_ = 1 + length_bytes;
    skip_text();
    at_ += 1 + length_bytes;
    while (at_ < bytes_.size()) {
      const uint64_t tag = number();
      const size_t value_at = at_;
      const uint64_t value = skip_value(tag);
      if (tag == tag_vfp_args && value == in_fpu_registers) bytes_[value_at] = compatible_with_both;
    }
  }

 private:
  static constexpr size_t length_bytes = 4;

  // A number of 7 bits a byte, the lowest first (ULEB128).
  uint64_t number() {
    uint64_t result = 0;
    for (int shift = 0; at_ < bytes_.size(); shift += 7) {
      const auto byte = std::to_integer<uint64_t>(bytes_[at_++]);
      result |= (byte & 0x7F) << shift;
      if (!(byte & 0x80)) break;
    }
    return result;
  }

  void skip_text() {
    at_ = static_cast<size_t>(std::find(bytes_.begin() + static_cast<int64_t>(at_), bytes_.end(), std::byte{0}) -
                              bytes_.begin()) +
          1;
  }

  // The value, or 0 for a text. Texts are the values of the CPU's names and of odd tags above 32; that of
  // Tag_compatibility is a number and a text.
  uint64_t skip_value(uint64_t tag) {
    constexpr uint64_t cpu_raw_name = 4, cpu_name = 5, compatibility = 32;
    const bool is_text = tag == cpu_raw_name || tag == cpu_name || (tag > compatibility && tag % 2 == 1);
    const uint64_t value = is_text ? 0 : number();
    if (is_text || tag == compatibility) skip_text();
    return value;
  }

  std::vector<std::byte>& bytes_;
  size_t at_ = 0;
};

}  // namespace

void allow_both_calling_conventions(std::vector<std::byte>& attributes) { Attributes(attributes).allow_both(); }

}  // namespace dlcc::targets
