// DWARF for a debugger or profiler (-g): one compile unit per LLVM module, whose source is the program's text
// (lower/program_text.h). Functions have a name and a line, instructions a line; there are no variables.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include <string>

namespace dlcc::targets {

class DebugInfo {
 public:
  // `file` is named as it stands, without a folder: the object is the same wherever it is made.
  DebugInfo(llvm::Module&, const std::string& file, bool is_optimized);

  // Gives a function a name for people and its first line.
  void describe(llvm::Function*, const std::string& name, int line);

  // To be called when the module is complete.
  void finish() { builder_.finalize(); }

 private:
  llvm::DIBuilder builder_;
  llvm::DIFile* file_;
  bool is_optimized_;
};

// A line within a function; nothing if the function was not described.
llvm::DebugLoc location(const llvm::Function*, int line);

}  // namespace dlcc::targets
