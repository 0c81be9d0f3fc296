// Finds a target and its CPU levels by name. Only -mcpu=native queries the host.
#include "targets/target.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "targets/llvm/cpu_model.h"

namespace dlcc::targets {

namespace {

std::vector<TargetFamily> families() { return {x86_family(), aarch64_family()}; }

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
                      fmt::format("-mcpu=native: this machine is not a {} machine", family.base.name));
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
  level.name = "native";
  return level;
}

// The levels that -mcpu= names. Empty, with a diagnostic, if one does not exist.
std::vector<CodeLevel> select_levels(const TargetFamily& family, const std::string& mcpu, Diagnostics& diagnostics) {
  if (mcpu.empty()) return family.default_levels;
  std::vector<CodeLevel> levels;
  for (const std::string& cpu : split(mcpu)) {
    std::optional<CodeLevel> level = cpu == "native" ? native_level(family, diagnostics) : find_level(family, cpu);
    if (!level) {
      if (cpu != "native")
        diagnostics.error(DiagnosticId::unknown_target, {},
                          fmt::format("target {} has no CPU '{}'", family.base.name, cpu), {},
                          fmt::format("one of: native, {}", fmt::join(cpu_names(family), ", ")));
      return {};
    }
    auto same = [&](const CodeLevel& other) { return other.name == level->name; };
    if (std::none_of(levels.begin(), levels.end(), same)) levels.push_back(*level);
  }
  return levels;
}

// Switches features of a level on and off. False, with a diagnostic, if a feature does not exist or the target needs
// it.
bool change_features(const TargetFamily& family, const std::string& mattr, CodeLevel& level, Diagnostics& diagnostics) {
  const std::vector<std::string> known = known_features(family.base.triple);
  for (const std::string& flag : split(mattr)) {
    bool is_switch = flag.starts_with('+') || flag.starts_with('-');
    if (is_switch && std::binary_search(known.begin(), known.end(), flag.substr(1))) continue;
    diagnostics.error(DiagnosticId::unknown_target, {},
                      fmt::format("target {} has no CPU feature '{}'", family.base.name, flag), {},
                      fmt::format("+NAME or -NAME, and NAME is one of: {}", fmt::join(known, ", ")));
    return false;
  }
  std::string features = level.features.empty() ? mattr : level.features + "," + mattr;
  auto info = cpu_features(family.base.triple, level.cpu, features);
  if (!family.is_usable(*info)) {
    diagnostics.error(DiagnosticId::unknown_target, {},
                      fmt::format("target {} requires a CPU feature that -mattr={} removes", family.base.name, mattr));
    return false;
  }
  level.machine = family.level_for(*info, level.cpu, features).machine;
  level.features = features;
  return true;
}

}  // namespace

std::optional<Target> find_target(const std::string& name, const std::string& mcpu, const std::string& mattr,
                                  Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const TargetFamily& family : families()) {
    names.push_back(family.base.name);
    if (!name.empty() && family.base.name != name) continue;
    Target target = family.base;
    target.levels = select_levels(family, mcpu, diagnostics);
    if (target.levels.empty()) return std::nullopt;
    if (target.levels.size() > 1 && target.level_detection == LevelDetection::none) {
      diagnostics.error(DiagnosticId::unknown_target, {},
                        fmt::format("-mcpu={}: an object for target {} has code for one CPU", mcpu, target.name));
      return std::nullopt;
    }
    if (!mattr.empty())
      for (CodeLevel& level : target.levels)
        if (!change_features(family, mattr, level, diagnostics)) return std::nullopt;
    auto rank = [](const CodeLevel& level) { return std::pair(level.machine.vector_bytes, level.machine.has_fma); };
    std::stable_sort(target.levels.begin(), target.levels.end(), [&](auto& a, auto& b) { return rank(a) < rank(b); });
    return target;
  }
  diagnostics.error(DiagnosticId::unknown_target, {}, fmt::format("there is no target '{}'", name), {},
                    fmt::format("one of: {}", fmt::join(names, ", ")));
  return std::nullopt;
}

std::vector<TargetInfo> list_targets() {
  std::vector<TargetInfo> result;
  for (const TargetFamily& family : families())
    result.push_back({family.base.name, family.base.summary, cpu_names(family)});
  return result;
}

}  // namespace dlcc::targets
