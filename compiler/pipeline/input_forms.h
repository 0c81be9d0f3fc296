// Decides from data what must be known of a model's inputs at compile time.
#pragma once

#include <functional>
#include <string>

#include "frontends/arguments.h"
#include "support/diagnostics.h"

namespace dlcc {

// The length of a sequence, the presence of an optional or the value of an input that decides one of them, as a file
// with the data of the input has it. Adds a remark that tells what was decided.
std::optional<frontends::InputForm> form_of_data(const std::string& file, const frontends::UnknownInput&, Diagnostics&);

// Takes them from a data set in a folder. The diagnostics must outlive the function.
frontends::FindInputForm forms_of_data_set(const std::string& folder, Diagnostics&);

}  // namespace dlcc
