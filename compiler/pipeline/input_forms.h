// Derives from data the forms of a model's inputs that must be known at compile time.
#pragma once

#include <functional>
#include <string>

#include "frontends/arguments.h"
#include "support/diagnostics.h"

namespace dlcc {

// The form of an input, from a file with its data: the length of a sequence, the presence of an optional, the shape of
// a tensor or, if needed, its value. Adds a remark with the form.
std::optional<frontends::InputForm> form_of_data(const std::string& file, const frontends::UnknownInput&, Diagnostics&);

// Derives forms from a data set in a folder. The diagnostics must outlive the returned function.
frontends::FindInputForm forms_of_data_set(const std::string& folder, Diagnostics&);

}  // namespace dlcc
