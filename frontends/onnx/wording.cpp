#include "frontends/onnx/wording.h"

#include <algorithm>
#include <map>

#include "support/ascii.h"

namespace dlcc::frontends::onnx {
namespace {

using Dictionary = std::map<std::string, std::string, std::less<>>;

// Translations of Relay's names to those of ONNX: attributes in messages, and operators in remedies.
const Dictionary attributes = {{"newshape", "shape"},   {"pad_width", "pads"},         {"padding", "pads"},
                               {"num_newaxis", "axes"}, {"pool_size", "kernel_shape"}, {"groups", "group"}};
const Dictionary attributes_of_slice = {{"begin", "starts"}, {"end", "ends"}, {"strides", "steps"}, {"stride", "step"}};
const Dictionary operators = {
    {"cast", "Cast"}, {"reshape", "Reshape"}, {"expand_dims", "Unsqueeze"}, {"transpose", "Transpose"}};

Dictionary words_of(const relay::Operator& op, const Values& operands) {
  Dictionary words = attributes;
  if (op.name == "strided_slice") words.insert(attributes_of_slice.begin(), attributes_of_slice.end());
  const std::vector<std::string> names = op.variadic ? std::vector<std::string>() : op.operand_names(operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    const std::string role = operands[k].role.empty() ? "the intermediate value" : operands[k].role;
    // "shape" is also a word of the messages themselves.
    if (op.variadic)
      words[fmt::format("field {}", k)] = role;
    else if (names[k] != "shape")
      words[names[k]] = role;
  }
  return words;
}

// The end of the word at `begin`; "field 2" is one word.
size_t word_end(const std::string& text, size_t begin) {
  constexpr std::string_view field = "field ";
  size_t end = begin;
  if (text.compare(begin, field.size(), field) == 0) end += field.size();
  while (end < text.size() && is_identifier_character(text[end])) ++end;
  return end;
}

std::string translated(const std::string& text, const Dictionary& words) {
  constexpr std::string_view article = "the ";
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (!is_identifier_character(text[at])) {
      result += text[at++];
      continue;
    }
    size_t end = word_end(text, at);
    auto word = words.find(std::string_view(text).substr(at, end - at));
    if (word != words.end() && result.ends_with(article)) result.resize(result.size() - article.size());
    result += word == words.end() ? text.substr(at, end - at) : word->second;
    at = end;
  }
  return result;
}

}  // namespace

relay::TypeError in_words_of_onnx(const relay::TypeError& error, const relay::Operator& op, const Values& operands) {
  const Dictionary words = words_of(op, operands);
  std::string help = translated(translated(error.help, operators), words);
  if (help.find("match_cast") != std::string::npos) help = "give the sizes with --dim NAME=VALUE";
  return {error.id, translated(error.message, words), help};
}

}  // namespace dlcc::frontends::onnx
