// What a report of a defect needs: after an internal error the command line and the files it names are kept in a
// folder.
#pragma once

#include <string>
#include <vector>

namespace dlcc::driver {

// Makes a folder dlcc-crash-* under `parent` with a copy of every regular file among the arguments, and a file
// `command` with the working folder, the arguments, dlcc's version and the error. Gives the folder, or "" when it
// cannot be made.
std::string write_reproducer(const std::string& parent, const std::vector<std::string>& args, const std::string& error);

}  // namespace dlcc::driver
