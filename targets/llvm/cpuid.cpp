// What x86 reports about the CPU: the features by CPUID, and by XGETBV those of the registers that the operating system
// saves.
#include <llvm/IR/InlineAsm.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <algorithm>
#include <map>

#include "targets/llvm/cpu_model.h"
#include "targets/llvm/level_test.h"

namespace dlcc::targets {

namespace {

using llvm::Value;

enum Register { eax, ebx, ecx, edx };

// The CPUID bit of a feature (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E). `state`: the bits of XCR0 that
// the operating system must set for the feature's registers.
struct FeatureBit {
  const char* feature;  // LLVM's name
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  uint32_t state;
};
constexpr uint32_t no_state = 0, avx_state = 0x6, avx512_state = 0xE6;
constexpr FeatureBit feature_bits[] = {
    {"sse3", 1, 0, ecx, 0, no_state},
    {"pclmul", 1, 0, ecx, 1, no_state},
    {"ssse3", 1, 0, ecx, 9, no_state},
    {"fma", 1, 0, ecx, 12, avx_state},
    {"cx16", 1, 0, ecx, 13, no_state},
    {"sse4.1", 1, 0, ecx, 19, no_state},
    {"sse4.2", 1, 0, ecx, 20, no_state},
    {"movbe", 1, 0, ecx, 22, no_state},
    {"popcnt", 1, 0, ecx, 23, no_state},
    {"aes", 1, 0, ecx, 25, no_state},
    {"avx", 1, 0, ecx, 28, avx_state},
    {"f16c", 1, 0, ecx, 29, avx_state},
    {"bmi", 7, 0, ebx, 3, no_state},
    {"avx2", 7, 0, ebx, 5, avx_state},
    {"bmi2", 7, 0, ebx, 8, no_state},
    {"avx512f", 7, 0, ebx, 16, avx512_state},
    {"avx512dq", 7, 0, ebx, 17, avx512_state},
    {"adx", 7, 0, ebx, 19, no_state},
    {"avx512ifma", 7, 0, ebx, 21, avx512_state},
    {"avx512cd", 7, 0, ebx, 28, avx512_state},
    {"avx512bw", 7, 0, ebx, 30, avx512_state},
    {"avx512vl", 7, 0, ebx, 31, avx512_state},
    {"avx512vbmi", 7, 0, ecx, 1, avx512_state},
    {"avx512vbmi2", 7, 0, ecx, 6, avx512_state},
    {"gfni", 7, 0, ecx, 8, no_state},
    {"vaes", 7, 0, ecx, 9, avx_state},
    {"vpclmulqdq", 7, 0, ecx, 10, avx_state},
    {"avx512vnni", 7, 0, ecx, 11, avx512_state},
    {"avx512bitalg", 7, 0, ecx, 12, avx512_state},
    {"avx512vpopcntdq", 7, 0, ecx, 14, avx512_state},
    {"avx512vp2intersect", 7, 0, edx, 8, avx512_state},
    {"avx512fp16", 7, 0, edx, 23, avx512_state},
    {"avxvnni", 7, 1, eax, 4, avx_state},
    {"avx512bf16", 7, 1, eax, 5, avx512_state},
    {"avxifma", 7, 1, eax, 23, avx_state},
    {"avxvnniint8", 7, 1, edx, 4, avx_state},
    {"avxneconvert", 7, 1, edx, 5, avx_state},
    {"avxvnniint16", 7, 1, edx, 10, avx_state},
    {"lzcnt", 0x80000001, 0, ecx, 5, no_state},
    {"sse4a", 0x80000001, 0, ecx, 6, no_state},
    {"xop", 0x80000001, 0, ecx, 11, avx_state},
    {"fma4", 0x80000001, 0, ecx, 16, avx_state},
    {"tbm", 0x80000001, 0, ecx, 21, no_state},
};

using Word = std::tuple<uint32_t, uint32_t, int>;  // leaf, subleaf, register

struct Requirements {
  std::map<Word, uint32_t> bits;
  uint32_t state = 0;
};

Requirements requirements_of(const Target& target, const CodeLevel& level) {
  auto info = cpu_features(target.triple, level.cpu, level.features);
  Requirements result;
  for (const FeatureBit& f : feature_bits) {
    if (!info->checkFeatures(std::string("+") + f.feature)) continue;
    result.bits[{f.leaf, f.subleaf, f.reg}] |= uint32_t{1} << f.bit;
    result.state |= f.state;
  }
  if (result.state) result.bits[{1, 0, ecx}] |= uint32_t{1} << 27;  // OSXSAVE: XGETBV may be executed
  return result;
}

Value* all_set(llvm::IRBuilder<>& b, Value* word, uint32_t bits) {
  return b.CreateICmpEQ(b.CreateAnd(word, b.getInt32(bits)), b.getInt32(bits));
}

class CheckEmitter {
 public:
  explicit CheckEmitter(llvm::IRBuilder<>& b) : b_(b) {}

  // One register of a CPUID leaf; 0 if the CPU does not have the leaf.
  Value* cpuid(const Word& word) {
    auto [leaf, subleaf, reg] = word;
    llvm::Type* i32 = b_.getInt32Ty();
    Value*& answer = answers_[{leaf, subleaf}];
    if (!answer) answer = call_cpuid(leaf, subleaf);
    Value* value = b_.CreateExtractValue(answer, static_cast<unsigned>(reg));
    if (leaf == 1) return value;
    Value* highest = b_.CreateExtractValue(call_cpuid(leaf & 0x80000000, 0), 0u);
    Value* known = b_.CreateICmpUGE(highest, b_.getInt32(leaf));
    if (subleaf) {
      Value* subleaves = b_.CreateExtractValue(call_cpuid(leaf, 0), 0u);
      known = b_.CreateAnd(known, b_.CreateICmpUGE(subleaves, b_.getInt32(subleaf)));
    }
    return b_.CreateSelect(known, value, llvm::ConstantInt::get(i32, 0));
  }

  Value* has(const Requirements& wanted) {
    Value* result = b_.getTrue();
    for (const auto& [word, bits] : wanted.bits) result = b_.CreateAnd(result, all_set(b_, cpuid(word), bits));
    return result;
  }

  Value* xgetbv() {
    llvm::Type* i32 = b_.getInt32Ty();
    auto* type = llvm::FunctionType::get(llvm::StructType::get(i32, i32), {i32}, false);
    auto* code = llvm::InlineAsm::get(type, "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}", true);
    return b_.CreateExtractValue(b_.CreateCall(type, code, {b_.getInt32(0)}), 0u);
  }

 private:
  Value* call_cpuid(uint32_t leaf, uint32_t subleaf) {
    llvm::Type* i32 = b_.getInt32Ty();
    auto* type = llvm::FunctionType::get(llvm::StructType::get(i32, i32, i32, i32), {i32, i32}, false);
    auto* code =
        llvm::InlineAsm::get(type, "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}", true);
    return b_.CreateCall(type, code, {b_.getInt32(leaf), b_.getInt32(subleaf)});
  }

  llvm::IRBuilder<>& b_;
  std::map<std::pair<uint32_t, uint32_t>, Value*> answers_;
};

}  // namespace

std::vector<std::string> cpuid_features() {
  std::vector<std::string> names;
  for (const FeatureBit& f : feature_bits) names.emplace_back(f.feature);
  std::ranges::sort(names);
  return names;
}

LevelTest read_cpuid(llvm::IRBuilder<>& b, const Target& target) {
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); };
  auto *unknown = b.GetInsertBlock(), *state = block("state"), *done = block("done");
  CheckEmitter check(b);
  std::vector<Requirements> wanted;
  std::vector<Value*> has;
  for (const CodeLevel& level : target.levels) {
    wanted.push_back(requirements_of(target, level));
    has.push_back(check.has(wanted.back()));
  }
  b.CreateCondBr(all_set(b, check.cpuid({1, 0, ecx}), uint32_t{1} << 27), state, done);
  b.SetInsertPoint(state);
  Value* enabled = check.xgetbv();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* saved = b.CreatePHI(b.getInt32Ty(), 2);
  saved->addIncoming(b.getInt32(0), unknown);
  saved->addIncoming(enabled, state);
  return [&b, wanted, has, saved](size_t level) {
    return b.CreateAnd(has[level], all_set(b, saved, wanted[level].state));
  };
}

}  // namespace dlcc::targets
