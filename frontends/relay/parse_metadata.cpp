// Parses references to objects of the metadata section: constants, attributes, sizes.
#include <charconv>

#include "frontends/relay/parser.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

// [key][index], after "meta".
MetaReference Parser::meta_reference() {
  expect("[", "meta");
  Token key = expect_kind(TokenKind::identifier, "a type key");
  expect("]", "the type key");
  expect("[", "the type key");
  Token number = expect_kind(TokenKind::number, "an index");
  expect("]", "the index");
  MetaReference reference{std::string(key.text), 0};
  auto [end, error] = std::from_chars(number.text.data(), number.text.data() + number.text.size(), reference.index);
  if (!lexer_.failed() && (error != std::errc() || number.is_float || number.negative))
    lexer_.error(lexer_.location(number), "this is not an index");
  return reference;
}

// The object. Null, with an error, if the metadata section lacks it. In a text without a section every object is
// missing, which is an error only where its value is needed.
const MetadataNode* Parser::meta_object(const MetaReference& reference, const SourceLocation& where) {
  const MetadataNode* node = metadata_.find(reference.type_key, reference.index);
  if (!node && !options_.allows_missing_metadata)
    report(DiagnosticId::undefined_value, where, fmt::format("{} is not in the metadata section", str(reference)),
           metadata_text_.empty()
               ? "the text has no such section; 'dlcc check --missing-meta=opaque' checks what does not need it"
               : "");
  return node;
}

Parser::Value Parser::meta_constant(const SourceLocation& where) {
  const MetaReference reference = meta_reference();
  if (lexer_.failed()) return {nothing(), where};
  if (reference.type_key == "relay.Constant") {
    if (reference.index < static_cast<int64_t>(metadata_.constants.size()))
      return {Atom(metadata_.constants[static_cast<size_t>(reference.index)]), where};
    if (options_.outside_constant) return {Atom(*options_.outside_constant), where};
  }
  if (options_.allows_missing_metadata && !metadata_.find(reference.type_key, reference.index))
    return {Atom(unknowns_.emplace_back(module_.fresh("unknown"))), where};
  if (meta_object(reference, where))
    report(DiagnosticId::unsupported_construct, where, fmt::format("{} is no value", str(reference)),
           "values are the objects meta[relay.Constant][...]");
  return {nothing(), where};
}

Attrs Parser::meta_attributes(const Operator* op) {
  const SourceLocation where = location();
  lexer_.next();
  const MetaReference reference = meta_reference();
  const MetadataNode* node = lexer_.failed() ? nullptr : meta_object(reference, where);
  if (!node || !op) return {};
  auto attributes = attributes_of(metadata_, *node, *op);
  if (Attrs* attrs = std::get_if<Attrs>(&attributes)) return std::move(*attrs);
  report(DiagnosticId::bad_attribute, where,
         fmt::format("{} cannot be read: {}", str(reference), std::get<std::string>(attributes)),
         "write the attributes out: axis=1");
  return {};
}

// The value of an attribute: a plain one if the object stands for it, else the reference, which is kept.
AttrValue Parser::meta_value() {
  const SourceLocation where = location();
  lexer_.next();
  const MetaReference reference = meta_reference();
  AttrValue value;
  value.v = reference;
  if (lexer_.failed() || metadata_text_.empty()) return value;
  const MetadataNode* node = meta_object(reference, where);
  if (!node) return value;
  if (reference.type_key == "relay.Constant") {
    const Constant& constant = metadata_.constants.at(static_cast<size_t>(reference.index));
    if (constant.shape().empty() && is_float(constant.dtype())) return constant.number_at(0);
    if (constant.shape().empty()) return constant.integer_at(0);
    report(DiagnosticId::unsupported_construct, where,
           "an attribute cannot be a constant of the metadata section that is no scalar");
    return value;
  }
  return plain_value(metadata_, *node).value_or(value);
}

// A size variable of TVM, which is unknown if its name is no identifier.
Dim Parser::meta_dim() {
  const SourceLocation where = location();
  lexer_.next();
  const MetaReference reference = meta_reference();
  if (lexer_.failed() || metadata_text_.empty()) return unknown_dim();
  const MetadataNode* node = meta_object(reference, where);
  if (!node) return unknown_dim();
  if (node->type_key == "relay.Constant")
    report(DiagnosticId::unsupported_type, where, fmt::format("{} is a tensor and no size", str(reference)));
  if (node->type_key != "tir.SizeVar" && node->type_key != "tir.Var") return unknown_dim();
  const std::string name = name_of(metadata_, *node);
  const std::optional<Dim> named = dim_in(name);
  return named && *named == size_symbol(name) ? *named : unknown_dim();
}

}  // namespace dlcc::frontends::relay_text
