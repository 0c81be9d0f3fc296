// DWARF for debuggers and profilers (-g): one compile unit per LLVM module. Its source is the program's text
// (lower/program_text.h). Functions have a name and a line, instructions a line; there are no variables.
#pragma once

#include <llvm/IR/DebugLoc.h>

#include <memory>
#include <string>

namespace llvm {
class DIBuilder;
class DIFile;
class Function;
class Module;
}  // namespace llvm

namespace dlcc::targets {

class DebugInfo {
 public:
  // The compile unit names `file` without a folder, so that the object does not depend on the working directory.
  DebugInfo(llvm::Module&, const std::string& file, bool is_optimized);
  ~DebugInfo();

  // Sets a function's source name and first line.
  void describe(llvm::Function*, const std::string& name, int line);

  // Call once the module is complete.
  void finish();

 private:
  std::unique_ptr<llvm::DIBuilder> builder_;
  llvm::DIFile* file_;
  bool is_optimized_;
};

// The debug location of a line within a function; empty for a function that was not described.
llvm::DebugLoc location(const llvm::Function*, int line);

}  // namespace dlcc::targets
