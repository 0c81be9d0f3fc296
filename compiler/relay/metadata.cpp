// Writes the metadata section.
#include "relay/metadata.h"

#include <cstring>

namespace dlcc::relay {

int ConstantPool::index_of(const Constant& c) {
  auto key = std::make_tuple(c.bytes().data(), c.bytes().size(), c.dtype(), c.shape());
  auto [it, added] = index_.emplace(std::move(key), static_cast<int>(constants_.size()));
  if (added) constants_.push_back(c);
  return it->second;
}

namespace {

struct CodeOfType {
  DType type;
  ElementCode code;
};

// DLPack's numbers; bool is a one-bit unsigned integer in TVM.
constexpr CodeOfType codes[] = {
    {DType::bool_, {1, 1}},
    {DType::bool_, {6, 8}},  // DLPack's own
    {DType::int2_, {0, 2}},
    {DType::int4_, {0, 4}},
    {DType::int8_, {0, 8}},
    {DType::int16_, {0, 16}},
    {DType::int32_, {0, 32}},
    {DType::int64_, {0, 64}},
    {DType::uint2_, {1, 2}},
    {DType::uint4_, {1, 4}},
    {DType::uint8_, {1, 8}},
    {DType::uint16_, {1, 16}},
    {DType::uint32_, {1, 32}},
    {DType::uint64_, {1, 64}},
    {DType::float8_e4m3fn_, {10, 8}},
    {DType::float8_e4m3fnuz_, {11, 8}},
    {DType::float8_e5m2_, {12, 8}},
    {DType::float8_e5m2fnuz_, {13, 8}},
    {DType::float8_e8m0fnu_, {14, 8}},
    {DType::float4_e2m1fn_, {17, 4}},
    {DType::float16_, {2, 16}},
    {DType::bfloat16_, {4, 16}},
    {DType::float32_, {2, 32}},
    {DType::float64_, {2, 64}},
};

void append_base64(std::string& out, const std::string& head, std::span<const std::byte> tail) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t total = head.size() + tail.size();
  auto byte = [&](size_t i) -> uint32_t {
    if (i >= total) return 0;
    return i < head.size() ? static_cast<uint8_t>(head[i]) : static_cast<uint8_t>(tail[i - head.size()]);
  };
  out.reserve(out.size() + (total + 2) / 3 * 4 + 2);
  for (size_t i = 0; i < total; i += 3) {
    uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (size_t k = 0; k < 4; ++k) out += i + k > total ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
}

template <class T>
void append_raw(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
}

std::string ndarray_header(const Constant& c) {
  std::string head;
  append_raw<uint64_t>(head, ndarray_magic);
  append_raw<uint64_t>(head, 0);
  append_raw<int32_t>(head, 1);  // CPU
  append_raw<int32_t>(head, 0);
  append_raw<int32_t>(head, static_cast<int32_t>(c.rank()));
  ElementCode code = element_code(c.dtype());
  append_raw<uint8_t>(head, code.code);
  append_raw<uint8_t>(head, code.bits);
  append_raw<uint16_t>(head, 1);
  for (int64_t d : c.shape()) append_raw<int64_t>(head, d);
  append_raw<int64_t>(head, static_cast<int64_t>(c.bytes().size()));
  return head;
}

}  // namespace

ElementCode element_code(DType type) {
  for (const CodeOfType& c : codes)
    if (c.type == type) return c.code;
  DLCC_UNREACHABLE("no code for {}", name(type));
}

std::optional<DType> dtype_of_code(ElementCode code) {
  for (const CodeOfType& c : codes)
    if (c.code.code == code.code && c.code.bits == code.bits) return c.type;
  return std::nullopt;
}

// Nodes: 0 is null; those of the kept objects, which refer to each other by index; the map from type keys to arrays,
// the arrays, the constants.
std::string metadata_text(const std::vector<Constant>& constants, const MetadataObjects& objects) {
  constexpr std::string_view null = "{\"type_key\": \"\"}";
  std::vector<std::string> nodes(objects.nodes.begin(), objects.nodes.end());
  if (nodes.empty()) nodes.emplace_back();
  for (std::string& node : nodes)
    if (node.empty()) node = null;
  std::map<std::string, std::vector<int>> lists = objects.lists;
  const int root = static_cast<int>(nodes.size()), count = static_cast<int>(lists.size()) + !constants.empty();
  for (size_t i = 0; i < constants.size(); ++i)
    lists["relay.Constant"].push_back(root + 1 + count + static_cast<int>(i));
  std::vector<std::string> keys;
  for (const auto& [key, items] : lists) keys.push_back("\"" + key + "\"");
  std::vector<int> arrays;
  for (int k = 0; k < count; ++k) arrays.push_back(root + 1 + k);
  nodes.push_back(fmt::format("{{\"type_key\": \"Map\", \"keys\": [{}], \"data\": [{}]}}", fmt::join(keys, ", "),
                              fmt::join(arrays, ", ")));
  for (const auto& [key, items] : lists)
    nodes.push_back(fmt::format("{{\"type_key\": \"Array\", \"data\": [{}]}}", fmt::join(items, ", ")));
  std::string tensors;
  for (size_t i = 0; i < constants.size(); ++i) {
    nodes.push_back(fmt::format("{{\"type_key\": \"relay.Constant\", \"attrs\": {{\"data\": \"{}\"}}}}", i));
    tensors += i ? ",\n    \"" : "\n    \"";
    append_base64(tensors, ndarray_header(constants[i]), constants[i].bytes());
    tensors += "\"";
  }
  return fmt::format(
      "#[metadata]\n{{\n  \"root\": {},\n  \"nodes\": [\n    {}\n  ],\n  \"b64ndarrays\": [{}\n  ],\n  \"attrs\": "
      "{{\"tvm_version\": \"0.18.0\"}}\n}}\n",
      root, fmt::join(nodes, ",\n    "), tensors);
}

}  // namespace dlcc::relay
