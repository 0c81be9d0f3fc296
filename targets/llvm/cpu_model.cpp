#include "targets/llvm/cpu_model.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <mutex>

namespace dlcc::targets {

namespace {

const llvm::Target& llvm_target(const std::string& triple) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC(),
        LLVMInitializeX86AsmPrinter(), LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo(), LLVMInitializeAArch64Target(), LLVMInitializeAArch64TargetMC(),
        LLVMInitializeAArch64AsmPrinter(), LLVMInitializeAArch64AsmParser();
    LLVMInitializeARMTargetInfo(), LLVMInitializeARMTarget(), LLVMInitializeARMTargetMC(),
        LLVMInitializeARMAsmPrinter(), LLVMInitializeARMAsmParser();
    LLVMInitializeRISCVTargetInfo(), LLVMInitializeRISCVTarget(), LLVMInitializeRISCVTargetMC(),
        LLVMInitializeRISCVAsmPrinter(), LLVMInitializeRISCVAsmParser();
  });
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  DLCC_CHECK(target, "LLVM has no target {}: {}", triple, error);
  return *target;
}

}  // namespace

std::unique_ptr<llvm::MCSubtargetInfo> cpu_features(const std::string& triple, const std::string& cpu,
                                                    const std::string& features) {
  // LLVM prints a warning for an unknown CPU, so the name is looked up first.
  std::unique_ptr<llvm::MCSubtargetInfo> any(llvm_target(triple).createMCSubtargetInfo(triple, "", ""));
  if (!any->isCPUStringValid(cpu)) return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(llvm_target(triple).createMCSubtargetInfo(triple, cpu, features));
}

bool is_arm32(const llvm::MCSubtargetInfo& cpu) {
  return cpu.getTargetTriple().isARM() || cpu.getTargetTriple().isThumb();
}

std::vector<std::string> known_cpus(const std::string& triple) {
  std::unique_ptr<llvm::MCSubtargetInfo> info(llvm_target(triple).createMCSubtargetInfo(triple, "", ""));
  std::vector<std::string> result;
  for (const auto& cpu : info->getAllProcessorDescriptions()) result.emplace_back(cpu.Key);
  std::sort(result.begin(), result.end());
  return result;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Target& target, const CodeLevel& level,
                                                         int optimization) {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.FunctionSections = true;
  options.EmitStackSizeSection = true;
  const auto cpu = cpu_features(target.triple, level.cpu, level.features);
  if (is_arm32(*cpu)) {
    // Floats of calls within the object are in registers of the FPU, if there is one.
    options.FloatABIType = cpu->checkFeatures("+fpregs") ? llvm::FloatABI::Hard : llvm::FloatABI::Soft;
    options.EABIVersion = llvm::EABI::GNU;  // memcpy is called by this name
  }
  if (cpu->getTargetTriple().isRISCV()) {
    options.MCOptions.ABIName = cpu->getTargetTriple().isRISCV64() ? "lp64" : "ilp32";
    if (cpu->checkFeatures("+f")) options.MCOptions.ABIName += cpu->checkFeatures("+d") ? "d" : "f";
  }
  auto effort = optimization == 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  const auto relocations = target.is_freestanding ? llvm::Reloc::Static : llvm::Reloc::PIC_;
  return std::unique_ptr<llvm::TargetMachine>(llvm_target(target.triple)
                                                  .createTargetMachine(target.triple, level.cpu, level.features,
                                                                       options, relocations, llvm::CodeModel::Small,
                                                                       effort));
}

}  // namespace dlcc::targets
