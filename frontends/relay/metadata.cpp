// Reads the metadata section. All indices and sizes in it are validated.
#include "frontends/relay/metadata.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

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

// An index into a list of `count` elements, a number or a decimal string; -1 if it is none.
int index_in(size_t count, const json& index) {
  size_t i = SIZE_MAX;
  if (index.is_number_unsigned()) i = index.get<size_t>();
  if (const std::string* s = index.get_ptr<const std::string*>(); s && !s->empty() && s->size() < 10)
    i = s->find_first_not_of("0123456789") == std::string::npos ? std::stoul(*s) : i;
  return i < count ? static_cast<int>(i) : -1;
}

std::string text_of(const json& value) {
  const std::string* s = value.get_ptr<const std::string*>();
  return s ? *s : "";
}

class Reader {
 public:
  Reader(const json& root, const SourceLocation& location, Diagnostics& diagnostics)
      : root_(root), nodes_(member(root, "nodes")), location_(location), diagnostics_(diagnostics) {}

  std::optional<Metadata> read() {
    if (!read_nodes() || !read_lists() || !read_constants()) return std::nullopt;
    keep_objects();
    return std::move(out_);
  }

 private:
  size_t count() const { return nodes_.is_array() ? nodes_.size() : 0; }

  bool read_nodes() {
    for (size_t i = 0; i < count(); ++i) {
      const json& node = nodes_[i];
      MetadataNode& read = out_.nodes.emplace_back();
      read.type_key = text_of(member(node, "type_key"));
      read.text = text_of(member(node, "repr_str"));
      if (const json& fields = member(node, "attrs"); fields.is_object())
        for (const auto& [name, value] : fields.items()) read.fields[name] = text_of(value);
      if (read.type_key != "Array") continue;
      for (const json& index : member(node, "data")) {
        read.items.push_back(index_in(count(), index));
        if (read.items.back() < 0) return fail(fmt::format("node {} refers to no node", i));
      }
    }
    return true;
  }

  bool read_lists() {
    root_node_ = index_in(count(), member(root_, "root"));
    const json& map = root_node_ < 0 ? root_ : nodes_[static_cast<size_t>(root_node_)];
    const json &keys = member(map, "keys"), &data = member(map, "data");
    if (!keys.is_array() || !data.is_array() || keys.size() != data.size())
      return fail("its root is not a map of lists");
    for (size_t i = 0; i < keys.size(); ++i) {
      const int list = index_in(count(), data[i]);
      const bool is_list = list >= 0 && out_.nodes[static_cast<size_t>(list)].type_key == "Array";
      if (!is_list) return fail(text_of(keys[i]) + " is not a list");
      out_.lists[text_of(keys[i])] = out_.nodes[static_cast<size_t>(list)].items;
      list_nodes_.insert(list);
    }
    return true;
  }

  bool read_constants() {
    for (int index : out_.lists["relay.Constant"]) {
      const MetadataNode& node = out_.nodes[static_cast<size_t>(index)];
      if (node.type_key != "relay.Constant")
        return fail(fmt::format("meta[relay.Constant][{}] is a {}", out_.constants.size(), node.type_key));
      auto constant = tensor(node, out_.constants.size());
      if (!constant) return false;
      out_.constants.push_back(std::move(*constant));
    }
    return true;
  }

  std::optional<Constant> tensor(const MetadataNode& node, size_t number) {
    auto data = node.fields.find("data");
    const json& tensors = member(root_, "b64ndarrays");
    const int index =
        data == node.fields.end() || !tensors.is_array() ? -1 : index_in(tensors.size(), json(data->second));
    const std::string* base64 = index < 0 ? nullptr : tensors[static_cast<size_t>(index)].get_ptr<const std::string*>();
    std::string problem = "it refers to no tensor";
    auto constant = base64 ? decode_tensor(*base64, problem) : std::nullopt;
    if (!constant) fail(fmt::format("meta[relay.Constant][{}]: {}", number, problem));
    return constant;
  }

  // Only TVM knows which numbers in fields are indices of nodes. So each object keeps its index, and all nodes are kept
  // that a number may refer to, except those that printing writes anew: the map, the lists and the constants.
  void keep_objects() {
    relay::MetadataObjects& kept = out_.objects;
    std::vector<int> reached;
    for (const auto& [key, items] : out_.lists) {
      if (items.empty() || std::ranges::all_of(items, [&](int item) { return is_read(item); })) continue;
      kept.lists[key] = items;
      reached.insert(reached.end(), items.begin(), items.end());
    }
    while (!reached.empty()) {
      const int index = reached.back();
      reached.pop_back();
      const MetadataNode& node = out_.nodes[static_cast<size_t>(index)];
      const bool is_written_anew = node.type_key.empty() || index == root_node_ || list_nodes_.contains(index) ||
                                   node.type_key == "relay.Constant";
      if (is_written_anew || has_text(kept, index)) continue;
      kept.nodes.resize(std::max(kept.nodes.size(), static_cast<size_t>(index) + 1));
      kept.nodes[static_cast<size_t>(index)] = nodes_[static_cast<size_t>(index)].dump();
      for (int next : references(nodes_[static_cast<size_t>(index)])) reached.push_back(next);
    }
  }

  // Whether the text's references to the object become constants, attributes and sizes of the module.
  bool is_read(int index) const {
    const MetadataNode& node = out_.nodes[static_cast<size_t>(index)];
    const bool is_variable = node.type_key == "tir.SizeVar" || node.type_key == "tir.Var";
    return node.type_key == "relay.Constant" || node.type_key.starts_with("relay.attrs.") || is_variable ||
           plain_value(out_, node);
  }

  static bool has_text(const relay::MetadataObjects& kept, int index) {
    return static_cast<size_t>(index) < kept.nodes.size() && !kept.nodes[static_cast<size_t>(index)].empty();
  }

  std::vector<int> references(const json& node) const {
    std::vector<int> indices;
    for (const char* part : {"attrs", "data"})
      for (const json& value : member(node, part))
        if (const int index = index_in(count(), value); index > 0) indices.push_back(index);
    return indices;
  }

  bool fail(const std::string& problem) {
    diagnostics_.error(DiagnosticId::malformed_tensor, location_, "the metadata cannot be read: " + problem);
    return false;
  }

  const json& root_;
  const json& nodes_;
  SourceLocation location_;
  Diagnostics& diagnostics_;
  Metadata out_;
  int root_node_ = -1;
  std::set<int> list_nodes_;
};

}  // namespace

const MetadataNode* Metadata::find(const std::string& type_key, int64_t index) const {
  auto list = lists.find(type_key);
  const bool exists = list != lists.end() && index < static_cast<int64_t>(list->second.size());
  return exists ? &nodes[static_cast<size_t>(list->second[static_cast<size_t>(index)])] : nullptr;
}

std::optional<Metadata> parse_metadata(std::string_view text, const SourceLocation& location,
                                       Diagnostics& diagnostics) {
  try {
    return Reader(json::parse(text), location, diagnostics).read();
  } catch (const json::parse_error& e) {
    const std::string_view read = text.substr(0, e.byte);
    SourceLocation where = location;
    where.line += static_cast<int>(std::ranges::count(read, '\n'));
    if (const size_t line = read.rfind('\n'); line != std::string_view::npos)
      where.column = static_cast<int>(std::max<size_t>(read.size() - line - 1, 1));
    diagnostics.error(DiagnosticId::syntax_error, where, "the metadata is not JSON");
    return std::nullopt;
  }
}

}  // namespace dlcc::frontends::relay_text
