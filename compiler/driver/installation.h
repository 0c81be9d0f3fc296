// What `dlcc` tells about itself: its version and where its runtime library is.
#pragma once

#include <string>

namespace dlcc::driver {

// Lines with the version of dlcc, the version of LLVM, the targets, and the compiler and build type of dlcc itself.
std::string version_text();

// The folder of libdlcc_rt.a: beside the program in a build tree, else where the installation has it; with a line end.
std::string runtime_folder();

}  // namespace dlcc::driver
