#include "targets/llvm/debug_info.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include "support/version.h"

namespace dlcc::targets {

DebugInfo::DebugInfo(llvm::Module& module, const std::string& file, bool is_optimized)
    : builder_(std::make_unique<llvm::DIBuilder>(module)),
      file_(builder_->createFile(file, "")),
      is_optimized_(is_optimized) {
  constexpr unsigned dwarf_version = 4;  // read by debuggers, profilers and embedded tools since 2010
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", dwarf_version);
  builder_->createCompileUnit(llvm::dwarf::DW_LANG_C99, file_, std::string("dlcc ") + version, is_optimized, "", 0, "",
                              llvm::DICompileUnit::FullDebug, 0, true, false,
                              llvm::DICompileUnit::DebugNameTableKind::None);
}

DebugInfo::~DebugInfo() = default;

void DebugInfo::finish() { builder_->finalize(); }

void DebugInfo::describe(llvm::Function* function, const std::string& name, int line) {
  auto* type = builder_->createSubroutineType(builder_->getOrCreateTypeArray({}));
  auto flags = llvm::DISubprogram::SPFlagDefinition;
  if (is_optimized_) flags |= llvm::DISubprogram::SPFlagOptimized;
  auto first = static_cast<unsigned>(line);
  function->setSubprogram(
      builder_->createFunction(file_, name, "", file_, first, type, first, llvm::DINode::FlagZero, flags));
}

llvm::DebugLoc location(const llvm::Function* function, int line) {
  llvm::DISubprogram* scope = function->getSubprogram();
  if (!scope) return {};
  return llvm::DILocation::get(function->getContext(), static_cast<unsigned>(line), 0, scope);
}

}  // namespace dlcc::targets
