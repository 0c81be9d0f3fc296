// The options --input and --output of `dlcc run`: files of tensors, of sequences and of optionals.
#pragma once

#include <map>
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

// Reads the data of the inputs for which the options give some, by the input's index. Empty, with diagnostics, if one
// of them does not fit.
std::optional<std::map<size_t, Constant>> read_some_inputs(const std::vector<std::string>& options,
                                                           const emit::Interface&, Diagnostics&);

// Adds the sizes that these inputs have to `sizes`, by the caller's names. False, with diagnostics, if they disagree
// with each other or with a size that `sizes` has.
bool add_sizes_of(const std::map<size_t, Constant>& given, const emit::Interface&,
                  std::map<std::string, int64_t>& sizes, Diagnostics&);

}  // namespace dlcc::driver
