#include "frontends/relay/remedies.h"

#include <algorithm>
#include <map>

namespace dlcc::frontends::relay_text {
namespace {

using Table = std::map<std::string_view, const char*>;

std::optional<std::string> find(const Table& table, std::string_view name) {
  const auto entry = table.find(name);
  return entry == table.end() ? std::nullopt : std::optional<std::string>(entry->second);
}

}  // namespace

std::string remedy_for_token(const Token& found, std::string_view wanted) {
  const auto wants = [&](std::string_view what) { return wanted.starts_with(what); };
  if (found.kind == TokenKind::number && found.negative && found.follows_value)
    return "a '-' before a digit is the number's sign: put a space between them, as in %x - 1";
  if (wants("'[' after Tensor") || wants("'(' after Tensor[") || wants("',' after the shape"))
    return "a type of tensors is written Tensor[(2, 3), float32]";
  if (wants("the function's name") && found.kind == TokenKind::identifier)
    return fmt::format("names of functions begin with '@': @{}", found.text);
  if (wants("a parameter") && found.kind == TokenKind::identifier)
    return fmt::format("names of variables begin with '%': %{}", found.text);
  if (wants("a dimension") && found.word("None")) return "a size that is not known is a name, such as n, or ?";
  if (wants("';'")) return "a binding ends with ';': let %y = ...;";
  if (wants("'{' after the head") && found.is(":")) return "the type of the result follows '->'";
  if (wants("'else'")) return "an 'if' is a value, so it has both branches: if (...) { ... } else { ... }";
  return "";
}

std::string remedy_for_word(std::string_view word) {
  static const Table remedies = {
      {"return", "the value of a block is its last expression: write it without 'return'"},
      {"function", "a function is written def @name(...) { ... }"},
      {"func", "a function is written def @name(...) { ... }"},
      {"lambda", "a function without a name is written fn (%x) { ... }"},
      {"for", "loops are recursive functions"},
      {"while", "loops are recursive functions"},
      {"true", "write True"},
      {"false", "write False"},
  };
  return find(remedies, word).value_or("");
}

std::string remedy_for_character(char c) {
  switch (c) {
    case '#':
      return "comments begin with '//' or are between '/*' and '*/'";
    case '\'':
      return "a string is between double quotes, and an element type is a word: float32";
    case '&':
      return "write logical_and(%a, %b)";
    case '|':
      return "write logical_or(%a, %b)";
    case '!':
      return "write logical_not(%a)";
    case '~':
      return "write bitwise_not(%a)";
    case '^':
      return "write power(%a, %b) or bitwise_xor(%a, %b)";
    default:
      return "";
  }
}

std::optional<std::string> operator_named_elsewhere(std::string_view name) {
  static const Table operators = {
      {"sub", "subtract"},
      {"mul", "multiply"},
      {"div", "divide"},
      {"pow", "power"},
      {"neg", "negative"},
      {"cat", "concatenate"},
      {"linear", "nn.dense"},
      {"fully_connected", "nn.dense"},
      {"gemm", "nn.dense"},
      {"mm", "nn.matmul"},
      {"bmm", "nn.batch_matmul"},
      {"flatten", "nn.batch_flatten"},
      {"conv", "nn.conv2d"},
      {"convolution", "nn.conv2d"},
      {"max_pool", "nn.max_pool2d"},
      {"avg_pool", "nn.avg_pool2d"},
      {"maxpool", "nn.max_pool2d"},
      {"avgpool", "nn.avg_pool2d"},
      {"bn", "nn.batch_norm"},
      {"permute", "transpose"},
      {"unsqueeze", "expand_dims"},
      {"view", "reshape"},
      {"slice", "strided_slice"},
      {"interpolate", "image.resize"},
      {"range", "iota"},
      {"astype", "cast"},
      {"select", "where"},
      {"expand", "broadcast_to"},
      {"embedding", "take"},
  };
  return find(operators, name);
}

std::optional<std::string> remedy_for_operator_without_type(std::string_view name) {
  struct Family {
    std::string_view begin;  // of the names
    const char* remedy;
  };
  static const Family families[] = {
      {"memory.", "TVM inserts it when it plans memory: print the module before that"},
      {"vm.", "TVM inserts it for its virtual machine: print the module before that"},
      {"call_lowered", "TVM inserts it when it lowers functions: print the module before that"},
      {"contrib.", "TVM inserts it for one of its targets: print the module before that"},
      {"meta_schedule_layout_transform", "TVM inserts it when it tunes a network: print the module before that"},
      {"torch_op", "its type is that of a PyTorch program: write the operators of that program"},
      {"parser.MetaRef", "objects of the metadata section are written meta[KEY][N]"},
  };
  const auto family = std::ranges::find_if(families, [&](const Family& f) { return name.starts_with(f.begin); });
  return family == std::end(families) ? std::nullopt : std::optional<std::string>(family->remedy);
}

std::optional<std::string> element_type_named_elsewhere(std::string_view name) {
  static const Table types = {
      {"f16", "float16"},    {"f32", "float32"},    {"f64", "float64"},  {"bf16", "bfloat16"}, {"half", "float16"},
      {"single", "float32"}, {"double", "float64"}, {"fp16", "float16"}, {"fp32", "float32"},  {"i8", "int8"},
      {"i16", "int16"},      {"i32", "int32"},      {"i64", "int64"},    {"u8", "uint8"},      {"u16", "uint16"},
      {"u32", "uint32"},     {"u64", "uint64"},     {"byte", "uint8"},   {"short", "int16"},   {"long", "int64"},
      {"boolean", "bool"},
  };
  return find(types, name);
}

}  // namespace dlcc::frontends::relay_text
