// Remedies for habits from Python, other frameworks and older forms of Relay.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frontends/relay/lexer.h"

namespace dlcc::frontends::relay_text {

// A remedy for a token in place of `wanted`, in the words of the message; "" if none is known.
std::string remedy_for_token(const Token& found, std::string_view wanted);

// A remedy for a word that is neither an operator nor a constructor, such as `return`; "" if none is known.
std::string remedy_for_word(std::string_view word);

// A remedy for a character with which no token begins; "" if none is known.
std::string remedy_for_character(char c);

// The Relay operator that other frameworks call `name`: nn.dense for "linear".
std::optional<std::string> operator_named_elsewhere(std::string_view name);

// A remedy for an operator of TVM that has no type in dlcc: its relation depends on more than types and attributes, or
// it belongs to TVM's own stages of compilation.
std::optional<std::string> remedy_for_operator_without_type(std::string_view name);

// The element type that other frameworks call `name`: float16 for "half".
std::optional<std::string> element_type_named_elsewhere(std::string_view name);

}  // namespace dlcc::frontends::relay_text
