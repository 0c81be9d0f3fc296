// The metadata section of a printed program: constants without a literal, as a JSON graph of objects with the tensors'
// bytes in base64 (Relay 0.18). The text refers to them as meta[relay.Constant][i].
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// Numbers constants in order of first use; equal pointers to bytes of equal types have one number.
class ConstantPool {
 public:
  int index_of(const Constant&);
  const std::vector<Constant>& constants() const { return constants_; }

 private:
  std::map<std::tuple<const std::byte*, size_t, DType, std::vector<int64_t>>, int> index_;
  std::vector<Constant> constants_;
};

// The section, from "#[metadata]" on.
std::string metadata_text(const std::vector<Constant>&, const MetadataObjects& kept = {});

std::string literal_text(const Constant&);  // "1f"; empty when the format has no literal for it

// DLPack's type code and width of an element, and back.
struct ElementCode {
  uint8_t code, bits;
};
ElementCode element_code(DType);
std::optional<DType> dtype_of_code(ElementCode);

inline constexpr uint64_t ndarray_magic = 0xDD5E40F096B4A13F;  // begins each tensor

}  // namespace dlcc::relay
