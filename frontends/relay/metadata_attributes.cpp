// Attributes of operators from objects of the metadata section (relay.attrs.Conv2DAttrs). A number in a field may be
// the field's value or the index of the object that holds it, which depends on the field's type in C++.
#include <algorithm>
#include <array>
#include <charconv>

#include "frontends/relay/metadata.h"

namespace dlcc::frontends::relay_text {

using relay::AttrList;
using relay::Attrs;
using relay::AttrValue;

namespace {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Scalar fields that TVM 0.18 declares as objects (IndexExpr, Integer, Bool). Other scalar fields hold their values.
bool is_object_field(std::string_view type_key, std::string_view field) {
  static constexpr std::array<std::string_view, 14> everywhere = {
      "channels", "units",      "repeats",   "k",       "seq_axis",   "batch_axis", "num_samples",
      "lhs_end",  "index_rank", "exclusive", "inverse", "batch_dims", "rhs_end",    "stride"};
  static constexpr std::array<std::string_view, 8> with_axis = {
      "relay.attrs.GatherAttrs",          "relay.attrs.RepeatAttrs",
      "relay.attrs.ReverseAttrs",         "relay.attrs.ScanopAttrs",
      "relay.attrs.StackAttrs",           "relay.attrs.TakeAttrs",
      "relay.attrs.ScatterElementsAttrs", ""};
  if (field == "axis") return std::ranges::count(with_axis, type_key) > 0;
  return std::ranges::count(everywhere, field) > 0;
}

const MetadataNode* node_at(const Metadata& metadata, std::string_view index) {
  const auto i = parse_number<size_t>(index);
  return i && *i < metadata.nodes.size() ? &metadata.nodes[*i] : nullptr;
}

std::string field_of(const MetadataNode& node, const char* name) {
  auto it = node.fields.find(name);
  return it == node.fields.end() ? "" : it->second;
}

// The value that the text of a field is itself, for an attribute of the operator with this type (operator.h).
AttrValue scalar(const std::string& text, std::string_view type) {
  if (type.starts_with("bool")) return text == "1" || text == "True";
  if (type.starts_with("float"))
    if (auto value = parse_number<double>(text)) return *value;
  if (type.starts_with("int"))
    if (auto value = parse_number<int64_t>(text)) return *value;
  if (text.empty() && type.starts_with("dtype")) return {};  // void
  return text;
}

}  // namespace

std::string name_of(const Metadata& metadata, const MetadataNode& node) {
  const std::string name = field_of(node, "name");
  const MetadataNode* text = node_at(metadata, name);
  return text && text->type_key == "runtime.String" ? text->text : name;
}

// Arrays of arrays nest as deep as the file says, but an object of the section refers to itself only in a damaged one:
// more levels than attributes have are no value.
static std::optional<AttrValue> value_of(const Metadata& metadata, const MetadataNode& node, int depth) {
  constexpr int max_depth = 8;
  if (depth > max_depth) return std::nullopt;
  const std::string value = field_of(node, "value");
  if (node.type_key.empty()) return AttrValue();
  if (node.type_key == "runtime.String") return AttrValue(node.text);
  if (node.type_key == "IntImm" && field_of(node, "dtype") == "bool") return AttrValue(value != "0");
  if (node.type_key == "IntImm") {
    auto number = parse_number<int64_t>(value);
    return number ? std::optional(AttrValue(*number)) : std::nullopt;
  }
  if (node.type_key == "FloatImm") {
    auto number = parse_number<double>(value);
    return number ? std::optional(AttrValue(*number)) : std::nullopt;
  }
  if (node.type_key == "tir.StringImm") {
    const MetadataNode* text = node_at(metadata, value);
    return AttrValue(text && text->type_key == "runtime.String" ? text->text : value);
  }
  if (node.type_key != "Array") return std::nullopt;
  AttrList list;
  for (int item : node.items) {
    auto element = value_of(metadata, metadata.nodes[static_cast<size_t>(item)], depth + 1);
    if (!element) return std::nullopt;
    list.push_back(std::move(*element));
  }
  return list;
}

std::optional<AttrValue> plain_value(const Metadata& metadata, const MetadataNode& node) {
  return value_of(metadata, node, 0);
}

std::variant<Attrs, std::string> attributes_of(const Metadata& metadata, const MetadataNode& node,
                                               const relay::Operator& op) {
  Attrs attrs;
  for (const auto& [name, text] : node.fields) {
    auto known = std::ranges::find(op.attributes, name, &relay::Operator::Attribute::name);
    const std::string_view type = known == op.attributes.end() ? "value" : std::string_view(known->type);
    const bool has_value = type.starts_with("int") || type.starts_with("bool") || type.starts_with("float");
    const MetadataNode* object = has_value && !is_object_field(node.type_key, name) ? nullptr : node_at(metadata, text);
    std::optional<AttrValue> value = object ? plain_value(metadata, *object) : scalar(text, type);
    if (!value) return fmt::format("its field {} is a {}, which is no value of an attribute", name, object->type_key);
    const bool is_absent = value->is_none() || *value == AttrValue("");
    if (!is_absent || known != op.attributes.end()) attrs.emplace(name, std::move(*value));
  }
  return attrs;
}

}  // namespace dlcc::frontends::relay_text
