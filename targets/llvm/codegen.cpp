// Generates the object. A compilation unit is a few kernels of one CPU level: threads compile units in parallel, and
// the code does not depend on the number of threads. The units' objects are then joined (elf_object.h).
#include "targets/llvm/codegen.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Pass.h>
#include <llvm/PassInfo.h>
#include <llvm/PassRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <mutex>

#include "emit/weights.h"
#include "support/parallel_for.h"
#include "targets/llvm/aliases.h"
#include "targets/llvm/cpu_model.h"
#include "targets/llvm/debug_info.h"
#include "targets/llvm/elf_object.h"
#include "targets/llvm/emit_kernel.h"
#include "targets/llvm/emit_model.h"
#include "targets/llvm/extensions.h"
#include "targets/llvm/optimize.h"
#include "targets/llvm/spills.h"
#include "targets/llvm/target_machine_pool.h"
#include "tensor/passes/legalize_vector_loops.h"
#include "tensor/passes/outline_loop_nests.h"
#include "tensor/passes/strip_mine_vector_loops.h"
#include "tensor/verify.h"

namespace dlcc::targets {

namespace {

enum class Output { object, tensor_ir, llvm_ir, assembly };

void set_cpu(llvm::Function& function, const CodeLevel& level) {
  function.addFnAttr("target-cpu", level.cpu);
  if (!level.tune_cpu.empty()) function.addFnAttr("tune-cpu", level.tune_cpu);
  if (!level.features.empty()) function.addFnAttr("target-features", level.features);
  if (level.preferred_vector_bits > 0)
    function.addFnAttr("prefer-vector-width", std::to_string(level.preferred_vector_bits));
}

// LLVM's passes from IR to machine code, with four changes. Loop strength reduction and the pass that prepares for it
// are left out, since emit_address.cpp has done it. Spills are counted after register allocation. The entry and run
// functions are not scheduled: they have thousands of instructions in a block, for which scheduling takes quadratic
// time, and their speed does not matter. LLVM 19 merges an addition of 16 into `vldmia r0!, {s0, s1, s2}`, which
// advances by 12, if the three registers are part of a vector: 32-bit ARM with vectors goes without merged accesses.
// Both passes that merge are left out: the second one also corrects the register pairs of the first.
class CodePasses : public llvm::legacy::PassManager {
 public:
  CodePasses(std::map<std::string, Spills>& of_function, bool is_entry, const llvm::MCSubtargetInfo& cpu)
      : of_function_(of_function),
        is_entry_(is_entry),
        has_arm_vectors_(is_arm32(cpu) && (cpu.checkFeatures("+neon") || cpu.checkFeatures("+mve"))) {}

  void add(llvm::Pass* pass) override {
    const llvm::PassInfo* info = llvm::PassRegistry::getPassRegistry()->getPassInfo(pass->getPassID());
    llvm::StringRef name = info ? info->getPassArgument() : "";
    if (name == "stack-slot-coloring") llvm::legacy::PassManager::add(make_spill_counter(of_function_));
    const bool schedules = name == "machine-scheduler" || name == "postmisched" || name == "machine-combiner";
    const bool merges_vectors = has_arm_vectors_ && (name == "arm-ldst-opt" || name == "arm-prera-ldst-opt");
    if (name == "loop-reduce" || name == "canon-freeze" || (is_entry_ && schedules) || merges_vectors)
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }

 private:
  std::map<std::string, Spills>& of_function_;
  bool is_entry_;
  bool has_arm_vectors_;
};

class Generator {
 public:
  Generator(const lower::Program& program, const lower::StoragePlan& plan, const emit::Interface& interface,
            const Target& target, const CodegenOptions& options)
      : parts_{program, plan, interface, target, interface.prefix + "_weights", {}, options.text},
        options_(options),
        may_alias_(find_aliases(program, plan)) {
    DLCC_CHECK(!target.levels.empty(), "target {} without a CPU level", target.name);
    parts_.constant_offsets = interface.weights_file ? constant_offsets_in_file() : constant_offsets_in_section();
    for (size_t l = 0; l < target.levels.size(); ++l) add_units(l);
    units_.push_back({0, {}});
  }

  // The text or object of every unit, in their fixed order.
  std::vector<std::string> generate(Output output) const {
    std::vector<std::string> results(units_.size());
    std::mutex telling;
    size_t done = 0;
    auto tell = [&] {
      if (!options_.progress) return;
      std::scoped_lock lock(telling);
      options_.progress(++done, units_.size());
    };
    parallel_for(units_.size(), options_.jobs, [&](size_t i) {
      // Backwards: the last unit, the entry and run functions, may take longest.
      const size_t unit = units_.size() - 1 - i;
      results[unit] = compile(units_[unit], output);
      tell();
    });
    return results;
  }

  const ConstantSection& constants() const { return constants_; }

 private:
  struct Unit {
    size_t level;
    std::vector<size_t> kernels;  // in ascending order; none: the entry and run functions
  };

  // Adds units of neighbouring kernels, without those that run the code of another level. Setting up the LLVM context
  // and the passes of a unit takes as long as compiling a small kernel, so a unit has several; but there are enough
  // units for many threads.
  void add_units(size_t level) {
    constexpr size_t wanted_units = 32, least = 4, most = 16;  // of a level; kernels of a unit
    const size_t all = parts_.program.kernels.size();
    const size_t kernels_per_unit = std::clamp<size_t>(all / wanted_units, least, most);
    Unit unit{level, {}};
    for (size_t k = 0; k < all; ++k) {
      if (level_of_kernel(parts_.program, parts_.target, k, level) == level) unit.kernels.push_back(k);
      if (unit.kernels.size() == kernels_per_unit) units_.push_back(std::exchange(unit, {level, {}}));
    }
    if (!unit.kernels.empty()) units_.push_back(std::move(unit));
  }

  // The next two functions return the constants' offsets in bytes.
  std::vector<int64_t> constant_offsets_in_file() const {
    emit::WeightsLayout layout = emit::lay_out_weights(parts_.program, emit::WeightsContainer::file);
    DLCC_CHECK(layout.bytes == parts_.interface.weights_file->bytes, "the weights' file is another program's");
    return layout.offsets;
  }

  std::vector<int64_t> constant_offsets_in_section() {
    const std::vector<Constant>& constants = parts_.program.constants;
    emit::WeightsLayout layout = emit::lay_out_weights(parts_.program, emit::WeightsContainer::section);
    DLCC_CHECK(layout.bytes <= largest_weights_section, "{} bytes of constants", layout.bytes);
    constants_.symbol = parts_.weights_symbol;
    constants_.name = options_.weights_section.empty() ? ".rodata." + constants_.symbol : options_.weights_section;
    constants_.alignment = layout.alignment;
    // At least one byte, so that empty constants have an address.
    constants_.bytes = constants.empty() ? 0 : std::max<int64_t>(layout.bytes, 1);
    for (size_t i = 0; i < constants.size(); ++i) constants_.pieces.push_back({layout.offsets[i], constants[i]});
    return layout.offsets;
  }

  struct Compiled {
    std::string text;
    std::vector<Spills> spills;  // of each kernel
  };

  // The unit's kernel `index`, with vector loops that are legal.
  tensor::Kernel legal_kernel(const Unit& unit, size_t index) const {
    tensor::Kernel kernel = parts_.program.kernels[unit.kernels[index]].at_level(unit.level);
    kernel.body = tensor::legalize_vector_loops(kernel.body);
    tensor::verify_after("legalize_vector_loops", kernel);
    return kernel;
  }

  // The kernel as it is emitted, with at most `depth` nested loops in a function.
  tensor::Kernel lowered_kernel(const Unit& unit, size_t index, int depth, const llvm::MCSubtargetInfo& cpu,
                                tensor::StatementOrigins* origins = nullptr) const {
    tensor::Kernel kernel = legal_kernel(unit, index);
    const tensor::Machine& machine = parts_.target.levels[unit.level].machine;
    kernel.body = tensor::outline_loop_nests(kernel.body, depth, parts_.program.threads, machine);
    tensor::verify_after("outline_loop_nests", kernel);
    kernel.body = tensor::strip_mine_vector_loops(kernel.body, machine, has_byte_lookups(cpu), origins);
    tensor::verify_after("strip_mine_vector_loops", kernel);
    return kernel;
  }

  std::string symbol_of(const Unit& unit, size_t index) const {
    return kernel_symbol(parts_, unit.kernels[index], parts_.target.levels[unit.level]);
  }

  // The text of the unit's kernels, each after the name of its function.
  std::string print(const Unit& unit, const std::vector<int>& depths) const {
    return target_machines_.with_machine(level_of(unit), [&](llvm::TargetMachine& machine) {
      std::string text;
      for (size_t k = 0; k < unit.kernels.size(); ++k)
        text += "// " + symbol_of(unit, k) + "\n" +
                tensor::print(lowered_kernel(unit, k, depths[k], *machine.getMCSubtargetInfo())) + "\n";
      return text;
    });
  }

  const CodeLevel& level_of(const Unit& unit) const {
    return unit.kernels.empty() ? parts_.target.baseline : parts_.target.levels[unit.level];
  }

  // Compiles a unit. Kernels that spill general registers within loops are compiled a second time, with fewer nested
  // loops in each function.
  std::string compile(const Unit& unit, Output output) const {
    const tensor::Machine& machine = parts_.target.levels[unit.level].machine;
    const int depth = tensor::loop_depth_that_fits(machine);
    std::vector<int> depths(unit.kernels.size(), depth), smaller = depths, best = depths;
    const Output code = output == Output::assembly ? output : Output::object;
    Compiled compiled = compile(unit, code, depths);
    for (size_t k = 0; k < depths.size(); ++k)
      if (compiled.spills[k].stores > 0)
        smaller[k] = tensor::next_smaller_depth(legal_kernel(unit, k).body, depths[k], parts_.program.threads, machine);
    if (smaller != depths) {
      Compiled again = compile(unit, code, smaller);
      for (size_t k = 0; k < depths.size(); ++k)
        if (again.spills[k] < compiled.spills[k]) best[k] = smaller[k];
      if (best == smaller) compiled = std::move(again);
    }
    if (output == Output::tensor_ir) return print(unit, best);
    bool done = code == output && (best == depths || best == smaller);
    return done ? compiled.text : compile(unit, output, best).text;
  }

  // depths[k]: the maximum depth of nested loops in a function of kernel k.
  Compiled compile(const Unit& unit, Output output, const std::vector<int>& depths) const {
    const CodeLevel& level = level_of(unit);
    return target_machines_.with_machine(
        level, [&](llvm::TargetMachine& machine) { return compile(unit, output, depths, level, machine); });
  }

  Compiled compile(const Unit& unit, Output output, const std::vector<int>& depths, const CodeLevel& level,
                   llvm::TargetMachine& machine) const {
    const bool is_entry = unit.kernels.empty();
    std::map<std::string, Spills> of_function;
    llvm::LLVMContext context;
    // Names of values are in texts only.
    context.setDiscardValueNames(output == Output::object);
    llvm::Module module(parts_.interface.prefix, context);
    module.setTargetTriple(parts_.target.triple);
    module.setDataLayout(machine.createDataLayout());
    if (!parts_.target.is_freestanding) module.setPICLevel(llvm::PICLevel::BigPIC);
    assume_aligned_stack(module);
    std::optional<DebugInfo> debug;
    if (options_.text) debug.emplace(module, options_.text_file, options_.optimization > 0);
    if (is_entry) emit_model(module, parts_, *machine.getMCSubtargetInfo(), debug ? &*debug : nullptr);
    for (size_t index = 0; const size_t k : unit.kernels) {
      std::optional<KernelDebug> kernel_debug;
      if (debug) kernel_debug.emplace(*debug, options_.text->kernels[k][unit.level]);
      const tensor::Kernel kernel = lowered_kernel(unit, index, depths[index], *machine.getMCSubtargetInfo(),
                                                   kernel_debug ? &kernel_debug->origins : nullptr);
      llvm::Function* function =
          declare_kernel(module, symbol_of(unit, index++), parts_.program.kernels[k], parts_.program.threads);
      set_cpu(*function, level);
      emit_kernel(function, kernel, may_alias_[k], level, *machine.getMCSubtargetInfo(), parts_.program.threads,
                  kernel_debug ? &*kernel_debug : nullptr);
    }
    if (debug) debug->finish();
    verify(module);
    if (output != Output::llvm_ir && options_.optimization > 0) optimize(module, machine);
    Compiled result{write(module, machine, output, of_function, is_entry), {}};
    for (size_t k = 0; k < unit.kernels.size(); ++k) {
      Spills& spills = result.spills.emplace_back();
      for (const auto& [function, of_loops] : of_function)  // the kernel's function and those outlined from it
        if (function.starts_with(symbol_of(unit, k))) spills.stores += of_loops.stores, spills.loads += of_loops.loads;
    }
    return result;
  }

  static void verify(const llvm::Module& module) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    bool broken = llvm::verifyModule(module, &stream);
    DLCC_CHECK(!broken, "invalid LLVM IR: {}", message);
  }

  static std::string write(llvm::Module& module, llvm::TargetMachine& machine, Output output,
                           std::map<std::string, Spills>& of_function, bool is_entry) {
    if (output == Output::llvm_ir) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      module.print(stream, nullptr);
      return text;
    }
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    CodePasses passes(of_function, is_entry, *machine.getMCSubtargetInfo());
    auto type = output == Output::object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
    machine.Options.MCOptions.AsmVerbose = true;  // comments in the assembly name loops and spills
    bool cannot = machine.addPassesToEmitFile(passes, stream, nullptr, type);
    DLCC_CHECK(!cannot, "LLVM cannot write this kind of file");
    passes.run(module);
    return std::string(bytes.begin(), bytes.end());
  }

  ModelParts parts_;
  CodegenOptions options_;
  mutable TargetMachinePool target_machines_{parts_.target, options_.optimization};
  std::vector<std::vector<bool>> may_alias_;
  ConstantSection constants_;
  std::vector<Unit> units_;
};

}  // namespace

ObjectFile generate_object(const lower::Program& program, const lower::StoragePlan& plan,
                           const emit::Interface& interface, const Target& target, const CodegenOptions& options) {
  Generator generator(program, plan, interface, target, options);
  std::vector<std::string> pieces = generator.generate(Output::object);
  std::vector<std::span<const std::byte>> objects;
  for (const std::string& piece : pieces) objects.push_back(std::as_bytes(std::span(piece)));
  return join_objects(objects, generator.constants(), exported_symbols(interface), target.is_freestanding);
}

std::string generate_listing(const lower::Program& program, const lower::StoragePlan& plan,
                             const emit::Interface& interface, const Target& target, const CodegenOptions& options,
                             Listing listing) {
  const Output output = listing == Listing::tensor_ir ? Output::tensor_ir
                        : listing == Listing::llvm_ir ? Output::llvm_ir
                                                      : Output::assembly;
  std::string result;
  for (const std::string& piece : Generator(program, plan, interface, target, options).generate(output))
    result += piece + (output == Output::tensor_ir ? "" : "\n");
  return result;
}

}  // namespace dlcc::targets
