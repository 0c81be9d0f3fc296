// The version of dlcc, and the folder of its runtime library.
#pragma once

#include <string>

namespace dlcc::driver {

// Lines with the version of dlcc, the version of LLVM, the targets, and the compiler and build type of dlcc itself.
std::string version_text();

// The folder of libdlcc_rt.a, with a line end: next to the program in a build tree, else the installation's.
std::string runtime_folder();

}  // namespace dlcc::driver
