// Mutations of Relay text that keep most of its grammar: tokens and bracketed groups change, not bytes, so that many
// mutations have types and test the passes and the interpreter.
#pragma once

#include <random>
#include <string>

namespace dlcc {

// Changes, moves, copies or removes a token, a bracketed group or a list element. Parts of `other` may be inserted.
std::string mutate_relay(const std::string& text, const std::string& other, std::mt19937&);

}  // namespace dlcc
