// Reads the metadata section. All indices and sizes in it are validated.
#include "frontends/relay/metadata.h"

#include <array>
#include <nlohmann/json.hpp>

#include "relay/metadata.h"

namespace dlcc::frontends::relay_text {

namespace {

using nlohmann::json;

std::optional<std::vector<std::byte>> decode_base64(std::string_view text) {
  static constexpr auto value = [] {
    std::array<int8_t, 256> table{};
    table.fill(-1);
    std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < digits.size(); ++i) table[static_cast<uint8_t>(digits[i])] = static_cast<int8_t>(i);
    return table;
  }();
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t group = 0;
  int bits = 0;
  for (char c : text) {
    int8_t digit = value[static_cast<uint8_t>(c)];
    if (digit < 0) return std::nullopt;
    group = (group << 6 | static_cast<uint32_t>(digit)) & 0xffffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::byte>(group >> bits & 0xff));
  }
  return bytes;
}

// Reads consecutive little-endian fields. Reading beyond the end gives 0, and good() is false from then on.
class Record {
 public:
  explicit Record(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T read() {
    uint64_t value = 0;
    good_ &= bytes_.size() >= sizeof(T);
    if (!good_) return 0;
    for (size_t i = 0; i < sizeof(T); ++i) value |= std::to_integer<uint64_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  bool good() const { return good_; }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

std::optional<Constant> decode_tensor(std::string_view base64, std::string& problem) {
  auto bytes = decode_base64(base64);
  if (!bytes) {
    problem = "its base64 text is malformed";
    return std::nullopt;
  }
  Record r(*bytes);
  bool magic = r.read<uint64_t>() == relay::ndarray_magic;
  r.read<uint64_t>();
  r.read<int32_t>();  // device
  r.read<int32_t>();
  int rank = r.read<int32_t>();
  relay::ElementCode code{};
  code.code = r.read<uint8_t>();
  code.bits = r.read<uint8_t>();
  int lanes = r.read<uint16_t>();
  std::optional<DType> type = relay::dtype_of_code(code);
  problem = "its header is malformed";
  if (!r.good() || !magic || rank < 0 || rank > 32) return std::nullopt;
  std::vector<int64_t> shape;
  int64_t count = 1;
  bool sane = true;
  for (int d = 0; d < rank; ++d) {
    shape.push_back(r.read<int64_t>());
    sane &= shape.back() >= 0 && !__builtin_mul_overflow(count, shape.back(), &count) && count < (int64_t{1} << 48);
    if (!sane) return std::nullopt;
  }
  int64_t size = r.read<int64_t>();
  if (!r.good()) return std::nullopt;
  problem = fmt::format("its element type (code {}, {} bits, {} lanes) is not supported", code.code, code.bits, lanes);
  if (!type || lanes != 1) return std::nullopt;
  int64_t expected = storage_bytes(*type, count);
  problem = fmt::format("its shape needs {} bytes, found {}", expected, r.rest().size());
  if (size != expected || static_cast<int64_t>(r.rest().size()) != expected) return std::nullopt;
  return Constant(*type, std::move(shape), std::vector<std::byte>(r.rest().begin(), r.rest().end()));
}

// Member `key` of an object, or null.
const json& member(const json& object, const char* key) {
  static const json none;
  auto it = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && it != object.end() ? *it : none;
}

// Element `index` of a list, or null. An index is a number or a decimal string.
const json& element(const json& list, const json& index) {
  static const json none;
  size_t i = SIZE_MAX;
  if (index.is_number_unsigned()) i = index.get<size_t>();
  if (const std::string* s = index.get_ptr<const std::string*>(); s && !s->empty() && s->size() < 10)
    i = s->find_first_not_of("0123456789") == std::string::npos ? std::stoul(*s) : i;
  return list.is_array() && i < list.size() ? list[i] : none;
}

class Reader {
 public:
  Reader(const json& root, const SourceLocation& location, Diagnostics& diagnostics)
      : root_(root), nodes_(member(root, "nodes")), location_(location), diagnostics_(diagnostics) {}

  std::optional<std::vector<Constant>> constants() {
    const json& map = element(nodes_, member(root_, "root"));
    const json &keys = member(map, "keys"), &data = member(map, "data");
    if (!keys.is_array() || !data.is_array() || keys.size() != data.size())
      return fail("its root is not a map of lists");
    std::vector<Constant> result;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] != "relay.Constant") continue;
      const json& list = member(element(nodes_, data[i]), "data");
      if (!list.is_array()) return fail("relay.Constant is not a list");
      for (const json& index : list) {
        auto constant = tensor(element(nodes_, index), result.size());
        if (!constant) return std::nullopt;
        result.push_back(std::move(*constant));
      }
    }
    return result;
  }

 private:
  std::optional<Constant> tensor(const json& node, size_t number) {
    const json& text = element(member(root_, "b64ndarrays"), member(member(node, "attrs"), "data"));
    const std::string* base64 = text.get_ptr<const std::string*>();
    std::string problem = "it refers to no tensor";
    auto constant = base64 ? decode_tensor(*base64, problem) : std::nullopt;
    if (!constant) fail(fmt::format("meta[relay.Constant][{}]: {}", number, problem));
    return constant;
  }

  std::nullopt_t fail(const std::string& problem) {
    diagnostics_.error(DiagnosticId::malformed_tensor, location_, "the metadata cannot be read: " + problem);
    return std::nullopt;
  }

  const json& root_;
  const json& nodes_;
  SourceLocation location_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<std::vector<Constant>> parse_metadata(std::string_view text, const SourceLocation& location,
                                                    Diagnostics& diagnostics) {
  json root = json::parse(text, nullptr, false);
  if (root.is_discarded()) {
    diagnostics.error(DiagnosticId::syntax_error, location, "the metadata is not JSON");
    return std::nullopt;
  }
  return Reader(root, location, diagnostics).constants();
}

}  // namespace dlcc::frontends::relay_text
