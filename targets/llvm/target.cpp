// Finds a target and its CPU levels by name. Only -mcpu=native queries the host.
#include "targets/target.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <map>

#include "support/similar_names.h"
#include "targets/llvm/cpu_model.h"
#include "tensor/byte_products.h"

namespace dlcc::targets {

namespace {

// The help for an unknown name: a similar name if there is one, and where all names are listed.
std::string help_for(const std::string& word, const std::vector<std::string>& names, const std::string& list) {
  std::string suggestion = did_you_mean(word, names);
  return suggestion.empty() ? list : suggestion + " " + list;
}

std::vector<TargetFamily> families() {
  std::vector<TargetFamily> result = {x86_family(), aarch64_family()};
  std::ranges::move(arm_families(), std::back_inserter(result));
  std::ranges::move(riscv_families(), std::back_inserter(result));
  return result;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> result(1);
  for (char c : list) {
    if (c == ',')
      result.emplace_back();
    else
      result.back() += c;
  }
  return result;
}

std::vector<std::string> cpu_names(const TargetFamily& family) {
  std::vector<std::string> result;
  for (const CodeLevel& level : family.named_levels) result.push_back(level.name);
  for (const std::string& cpu : known_cpus(family.base.triple))
    if (auto info = cpu_features(family.base.triple, cpu); info && family.is_usable(*info))
      if (std::find(result.begin(), result.end(), cpu) == result.end()) result.push_back(cpu);
  return result;
}

std::optional<CodeLevel> find_level(const TargetFamily& family, const std::string& cpu) {
  for (const CodeLevel& level : family.named_levels)
    if (level.name == cpu) return level;
  auto info = cpu_features(family.base.triple, cpu);
  if (!info || !family.is_usable(*info)) return std::nullopt;
  return family.level_for(*info, cpu, "");
}

std::optional<CodeLevel> native_level(const TargetFamily& family, Diagnostics& diagnostics) {
  if (!family.base.is_host_architecture) {
    diagnostics.error(DiagnosticId::unknown_target, {},
                      fmt::format("-mcpu=native: this machine is not of the target {}", family.base.name), {},
                      "name a CPU of the target; 'dlcc targets' lists them");
    return std::nullopt;
  }
  std::vector<std::string> flags;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    flags.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(flags.begin(), flags.end());
  std::string features = fmt::format("{}", fmt::join(flags, ",")), cpu = llvm::sys::getHostCPUName().str();
  auto info = cpu_features(family.base.triple, cpu, features);
  if (!info || !family.is_usable(*info)) {
    diagnostics.error(DiagnosticId::unknown_target, {}, fmt::format("-mcpu=native: CPU '{}' is not known", cpu));
    return std::nullopt;
  }
  CodeLevel level = family.level_for(*info, cpu, features);
  level.name = native_cpu;
  return level;
}

// The help for a CPU that the target does not have: the target that has it, or a similar name.
std::string help_for_cpu(const TargetFamily& family, const std::string& cpu) {
  for (const TargetFamily& other : families())
    if (find_level(other, cpu)) return fmt::format("it is a CPU of --target={}", other.base.name);
  if (std::ranges::binary_search(family.features, cpu))
    return fmt::format("it is a feature: -mattr=+{}; 'dlcc targets' lists the CPUs", cpu);
  return help_for(cpu, cpu_names(family), "'dlcc targets' lists the CPUs");
}

// The levels that -mcpu= names. Empty, with a diagnostic, if one does not exist.
std::vector<CodeLevel> select_levels(const TargetFamily& family, const std::string& mcpu, Diagnostics& diagnostics) {
  if (mcpu.empty()) return family.default_levels;
  std::vector<CodeLevel> levels;
  for (const std::string& cpu : split(mcpu)) {
    std::optional<CodeLevel> level = cpu == native_cpu ? native_level(family, diagnostics) : find_level(family, cpu);
    if (!level) {
      if (cpu != native_cpu)
        diagnostics.error(DiagnosticId::unknown_target, {},
                          fmt::format("target {} has no CPU '{}'", family.base.name, cpu), {},
                          help_for_cpu(family, cpu));
      return {};
    }
    auto same = [&](const CodeLevel& other) { return other.name == level->name; };
    if (std::none_of(levels.begin(), levels.end(), same)) levels.push_back(*level);
  }
  return levels;
}

// Checks one entry of -mattr=. False, with a diagnostic, unless it adds or removes a known feature.
bool check_feature(const TargetFamily& family, const std::string& flag, Diagnostics& diagnostics) {
  const bool has_sign = flag.starts_with('+') || flag.starts_with('-');
  const std::string feature = has_sign ? flag.substr(1) : flag;
  const bool is_known = std::ranges::binary_search(family.features, feature);
  if (has_sign && is_known) return true;
  if (is_known)
    diagnostics.error(DiagnosticId::unknown_target, {}, fmt::format("-mattr={}: a sign is missing", flag), {},
                      fmt::format("+{0} adds the feature, -{0} removes it", feature));
  else
    diagnostics.error(DiagnosticId::unknown_target, {},
                      fmt::format("target {} has no CPU feature '{}'", family.base.name, feature), {},
                      help_for(feature, family.features, "'dlcc targets --features' lists the features"));
  return false;
}

// Adds and removes features of a level. False, with a diagnostic, if a feature does not exist or if the target requires
// a removed one.
bool change_features(const TargetFamily& family, const std::string& mattr, CodeLevel& level, Diagnostics& diagnostics) {
  for (const std::string& flag : split(mattr))
    if (!check_feature(family, flag, diagnostics)) return false;
  const std::string added = family.completed ? family.completed(mattr) : mattr;
  std::string features = level.features.empty() ? added : level.features + "," + added;
  auto info = cpu_features(family.base.triple, level.cpu, features);
  if (!family.is_usable(*info)) {
    diagnostics.error(DiagnosticId::unknown_target, {},
                      fmt::format("target {} requires a CPU feature that -mattr={} removes", family.base.name, mattr),
                      {}, "leave it out of -mattr: every CPU of the target has it");
    return false;
  }
  level.machine = family.level_for(*info, level.cpu, features).machine;
  level.features = features;
  return true;
}

// The position of a level in the family's table of named levels; its length for other CPUs.
size_t table_position(const TargetFamily& family, const CodeLevel& level) {
  const auto same = [&](const CodeLevel& other) { return other.name == level.name; };
  return static_cast<size_t>(std::ranges::find_if(family.named_levels, same) - family.named_levels.begin());
}

// Whether an object with several levels can detect this one.
bool is_detectable(const TargetFamily& family, const CodeLevel& level) {
  const bool is_named = table_position(family, level) < family.named_levels.size();
  return family.base.level_detection == LevelDetection::cpuid ||
         (family.base.level_detection == LevelDetection::id_registers && is_named);
}

// Checks that the object can detect its levels. False, with a diagnostic, if it cannot.
bool check_detection(const TargetFamily& family, const std::string& mcpu, const std::vector<CodeLevel>& levels,
                     Diagnostics& diagnostics) {
  if (levels.size() == 1) return true;
  if (std::ranges::all_of(levels, [&](const CodeLevel& level) { return is_detectable(family, level); })) return true;
  std::vector<std::string> names;
  for (const CodeLevel& level : family.named_levels)
    if (is_detectable(family, level)) names.push_back(level.name);
  diagnostics.error(DiagnosticId::unknown_target, {},
                    fmt::format("-mcpu={}: an object for target {} has code for one CPU", mcpu, family.base.name), {},
                    names.empty() ? "" : fmt::format("or for several of the levels {}", fmt::join(names, ", ")));
  return false;
}

// Sorts levels in ascending order: by their vectors, then in the order of the family's table.
void sort_levels(const TargetFamily& family, std::vector<CodeLevel>& levels) {
  auto rank = [&](const CodeLevel& level) {
    return std::tuple(level.machine.vector_bytes, level.machine.has_fma, table_position(family, level));
  };
  std::ranges::stable_sort(levels, {}, rank);
}

// Leaves the first level only if all others are extensions that -mattr= added to it or removed: there is nothing to
// detect.
void remove_equal_extensions(std::vector<CodeLevel>& levels) {
  const auto is_equal = [&](const CodeLevel& level) {
    return level.is_extension && level.machine == levels[0].machine;
  };
  if (std::all_of(levels.begin() + 1, levels.end(), is_equal)) levels.erase(levels.begin() + 1, levels.end());
}

// All levels of an object read the same stored data. So products of bytes have the data of the last level; levels
// without an instruction for it add products in pairs.
void share_data_of_byte_products(std::vector<CodeLevel>& levels) {
  using tensor::ByteProducts;
  const ByteProducts last = levels.back().machine.byte_products;
  if (last == ByteProducts::none) return;
  const DType data = tensor::data_of_byte_products(last);
  for (CodeLevel& level : levels) {
    ByteProducts& own = level.machine.byte_products;
    if (own == ByteProducts::none || tensor::data_of_byte_products(own) != data)
      own = data == dtype::i8 ? ByteProducts::signed_pairs : ByteProducts::pairs;
  }
}

}  // namespace

// The help for a target that does not exist: the target of which it is another name, as in a target triple, or the
// target of the CPU with this name.
static std::string help_for_target(const std::string& name, const std::vector<std::string>& names) {
  for (const TargetFamily& family : families())
    if (find_level(family, name)) return fmt::format("it is a CPU: --target={} -mcpu={}", family.base.name, name);
  static const std::map<std::string_view, std::string> other_names = {
      {"amd64", "x86-64"},       {"arm64", "aarch64"},       {"arm64e", "aarch64"},
      {"armv8", "aarch64"},      {"armv9", "aarch64"},       {"x64", "x86-64"},
      {"x86", "x86-64"},         {"x86_64", "x86-64"},       {"aarch64", "aarch64"},
      {"arm", "armv7-a"},        {"armhf", "armv7-a"},       {"armv7", "armv7-a"},
      {"armv7a", "armv7-a"},     {"armv7l", "armv7-a"},      {"thumbv6m", "cortex-m0plus"},
      {"thumbv7m", "cortex-m3"}, {"thumbv7em", "cortex-m4"}, {"riscv", "riscv64"},
      {"rv64", "riscv64"},       {"rv32", "riscv32"}};
  const auto known = other_names.find(std::string_view(name).substr(0, name.find('-')));
  return help_for(known == other_names.end() ? name : known->second, names,
                  fmt::format("the targets are {}", fmt::join(names, ", ")));
}

std::optional<Target> find_target(const std::string& name, const std::string& mcpu, const std::string& mattr,
                                  Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const TargetFamily& family : families()) {
    names.push_back(family.base.name);
    if (!name.empty() && family.base.name != name) continue;
    Target target = family.base;
    target.levels = select_levels(family, mcpu, diagnostics);
    if (target.levels.empty()) return std::nullopt;
    if (!check_detection(family, mcpu, target.levels, diagnostics)) return std::nullopt;
    if (!mattr.empty())
      for (CodeLevel& level : target.levels)
        if (!change_features(family, mattr, level, diagnostics)) return std::nullopt;
    sort_levels(family, target.levels);
    remove_equal_extensions(target.levels);
    share_data_of_byte_products(target.levels);
    // A microcontroller's code outside of kernels is for the same CPU, whose calling convention it has.
    if (target.is_freestanding) target.baseline = target.levels[0];
    return target;
  }
  diagnostics.error(DiagnosticId::unknown_target, {}, fmt::format("there is no target '{}'", name), {},
                    help_for_target(name, names));
  return std::nullopt;
}

std::vector<TargetInfo> list_targets() {
  std::vector<TargetInfo> result;
  for (const TargetFamily& family : families())
    result.push_back({family.base.name, family.base.summary, cpu_names(family), family.features});
  return result;
}

}  // namespace dlcc::targets
