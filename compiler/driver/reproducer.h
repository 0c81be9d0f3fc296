// Saves the data for a report of an internal error: the command line and the files that it names.
#pragma once

#include <string>
#include <vector>

namespace dlcc::driver {

// Makes a folder dlcc-crash-* under `parent` with a copy of every regular file among the arguments, and a file
// `command` with the working folder, the arguments, dlcc's version and the error. Returns the folder, or "" when it
// cannot be made.
std::string write_reproducer(const std::string& parent, const std::vector<std::string>& args, const std::string& error);

}  // namespace dlcc::driver
