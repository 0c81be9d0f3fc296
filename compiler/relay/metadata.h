// The constants of a printed program: those without a literal stand in a section behind the text, as Relay 0.18 writes
// it (a JSON graph of objects with the tensors' bytes in base64), and are named meta[relay.Constant][i].
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "relay/ir.h"

namespace dlcc::relay {

// Numbers constants in order of first use; the same bytes under the same type have one number.
class ConstantPool {
 public:
  int index_of(const Constant&);
  const std::vector<Constant>& constants() const { return constants_; }

 private:
  std::map<std::tuple<const std::byte*, size_t, DType, std::vector<int64_t>>, int> index_;
  std::vector<Constant> constants_;
};

// "#[metadata]" and what follows it.
std::string metadata_text(const std::vector<Constant>&);

std::string literal_text(const Constant&);  // "1f"; empty when the format has no literal for it

// DLPack's type code and width of an element, and back.
struct ElementCode {
  uint8_t code, bits;
};
ElementCode element_code(DType);
std::optional<DType> dtype_of_code(ElementCode);

inline constexpr uint64_t ndarray_magic = 0xDD5E40F096B4A13F;  // opens each tensor

}  // namespace dlcc::relay
