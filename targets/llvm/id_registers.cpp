// What the ID registers of AArch64 tell about the CPU. Programs read them by `mrs`: Linux has emulated that since
// version 4.11 (Linux, Documentation/arch/arm64/cpu-feature-registers.rst), and reports the features that all cores
// have.
#include <llvm/IR/InlineAsm.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <algorithm>
#include <map>

#include "targets/llvm/cpu_model.h"
#include "targets/llvm/level_test.h"

namespace dlcc::targets {

namespace {

using llvm::Value;

// The registers' names in an instruction; LLVM's assembler knows that of ID_AA64ZFR0_EL1 on CPUs with SVE only.
constexpr const char *isar0 = "ID_AA64ISAR0_EL1", *isar1 = "ID_AA64ISAR1_EL1", *pfr0 = "ID_AA64PFR0_EL1",
                     *zfr0 = "S3_0_C0_C4_4";

// The field of a feature, four bits (Arm, "Architecture Reference Manual for A-profile architecture", the descriptions
// of these registers). All are read as signed numbers: the field of floating-point numbers is -1 without NEON.
struct FeatureField {
  const char* feature;  // LLVM's name
  const char* reg;
  int bit;    // the lowest one of the field
  int least;  // value of the field in CPUs with the feature
};
constexpr FeatureField feature_fields[] = {
    {"crc", isar0, 16, 1},     {"lse", isar0, 20, 2},       {"rdm", isar0, 28, 1},  {"dotprod", isar0, 44, 1},
    {"fp16fml", isar0, 48, 1}, {"complxnum", isar1, 16, 1}, {"bf16", isar1, 44, 1}, {"i8mm", isar1, 52, 1},
    {"fullfp16", pfr0, 20, 1}, {"sve", pfr0, 32, 1},        {"sve2", zfr0, 0, 1},   {"f32mm", zfr0, 52, 1},
    {"f64mm", zfr0, 56, 1},
};

std::vector<FeatureField> fields_of(const Target& target, const CodeLevel& level) {
  auto info = cpu_features(target.triple, level.cpu, level.features);
  std::vector<FeatureField> result;
  for (const FeatureField& f : feature_fields)
    if (info->checkFeatures(std::string("+") + f.feature)) result.push_back(f);
  return result;
}

Value* read_register(llvm::IRBuilder<>& b, const char* reg) {
  auto* type = llvm::FunctionType::get(b.getInt64Ty(), false);
  return b.CreateCall(type, llvm::InlineAsm::get(type, std::string("mrs $0, ") + reg, "=r", true));
}

}  // namespace

std::vector<std::string> id_register_features() {
  std::vector<std::string> names;
  for (const FeatureField& f : feature_fields) names.emplace_back(f.feature);
  std::ranges::sort(names);
  return names;
}

LevelTest read_id_registers(llvm::IRBuilder<>& b, const Target& target) {
  std::vector<std::vector<FeatureField>> of_level;
  std::map<std::string, Value*> registers;
  for (const CodeLevel& level : target.levels) {
    of_level.push_back(fields_of(target, level));
    for (const FeatureField& f : of_level.back())
      if (Value*& value = registers[f.reg]; !value) value = read_register(b, f.reg);
  }
  return [&b, of_level, registers](size_t level) {
    constexpr int top_bit = 60;  // of the field that has the sign of a register
    Value* result = b.getTrue();
    for (const FeatureField& f : of_level[level]) {
      Value* field = b.CreateAShr(b.CreateShl(registers.at(f.reg), top_bit - f.bit), top_bit);
      result = b.CreateAnd(result, b.CreateICmpSGE(field, b.getInt64(static_cast<uint64_t>(f.least))));
    }
    return result;
  };
}

}  // namespace dlcc::targets
