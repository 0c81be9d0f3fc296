// Recognizes options of other compilers and converters, for messages.
#pragma once

#include <string>

namespace dlcc::driver {

// The equivalent in dlcc of an option of another program: the name of an option, or a sentence. Both are empty for an
// unknown option.
struct ForeignOption {
  std::string option, remedy;
};

// `name` is without a value: "--output", "-march". A family of options counts as one: "-mavx2", "-Wextra".
ForeignOption find_foreign_option(const std::string& name);

}  // namespace dlcc::driver
