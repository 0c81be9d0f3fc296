// The options --input and --output of `dlcc run`: files of tensors, of sequences and of optionals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/command_line.h"
#include "emit/interface.h"
#include "pipeline/compile_options.h"
#include "support/diagnostics.h"

namespace dlcc::driver {

// The file of an option "NAME=FILE" or "FILE".
std::string file_of(const std::string& option);

// Whether an option is "FILE.npz": an archive of all tensors.
bool is_archive(const std::string& option);

// The index of the tensor of an option: "NAME=FILE" names it, "FILE" alone is that at `position`. Sets `file`.
std::optional<size_t> find_tensor(const std::string& option, size_t position,
                                  const std::vector<emit::TensorInterface>& tensors, const char* what,
                                  std::string& file, Diagnostics&);

// Appends files to `files`; an option "NAME=FORM" gives the input its form.
Store append_to_inputs(std::vector<std::string>& files, CompileOptions&);

// Derives the forms of inputs that have none from the data files of the options.
frontends::FindInputForm forms_of_files(const std::vector<std::string>& options, Diagnostics&);

// Reads the tensors of the --input options, in the model's order. Empty, with a diagnostic for each tensor that is
// missing or has another type or shape.
std::optional<std::vector<Constant>> read_inputs(const std::vector<std::string>& options, const emit::Interface&,
                                                 const frontends::Arguments&, Diagnostics&);

// Replaces the values of the inputs that --input gives as data. False, with diagnostics, if one of them does not fit.
bool replace_inputs(const std::vector<std::string>& options, const emit::Interface&, std::vector<Constant>& values,
                    Diagnostics&);

}  // namespace dlcc::driver
