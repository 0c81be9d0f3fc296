// Reads the metadata section of Relay text: a JSON graph of objects, with tensors as base64 text of TVM's NDArray
// format.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "relay/ir.h"
#include "relay/operator.h"
#include "support/constant.h"
#include "support/diagnostics.h"

namespace dlcc::frontends::relay_text {

// An object as TVM writes it. A field holds a number, a type's name or the index of another object, always as text.
struct MetadataNode {
  std::string type_key;                       // "Array", "IntImm", "relay.attrs.Conv2DAttrs"; empty: the null object
  std::string text;                           // of a string
  std::map<std::string, std::string> fields;  // of an object
  std::vector<int> items;                     // of an array: other objects
};

struct Metadata {
  std::vector<MetadataNode> nodes;
  std::map<std::string, std::vector<int>> lists;  // by type key: the nodes of meta[key][0], meta[key][1], ...
  std::vector<Constant> constants;                // of the key relay.Constant
  relay::MetadataObjects objects;                 // what the module keeps

  const MetadataNode* find(const std::string& type_key, int64_t index) const;  // null: there is none
};

// `location`: of the section.
std::optional<Metadata> parse_metadata(std::string_view json, const SourceLocation& location, Diagnostics&);

// The attributes of a call of this operator that an object such as relay.attrs.Conv2DAttrs holds, or why there are
// none.
std::variant<relay::Attrs, std::string> attributes_of(const Metadata&, const MetadataNode&, const relay::Operator&);

// The value of an object that stands for a plain one, such as IntImm or a string; empty for any other.
std::optional<relay::AttrValue> plain_value(const Metadata&, const MetadataNode&);

// The name of a variable such as tir.SizeVar; empty if the object has none.
std::string name_of(const Metadata&, const MetadataNode&);

}  // namespace dlcc::frontends::relay_text
