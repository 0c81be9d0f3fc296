#include "driver/foreign_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace dlcc::driver {
namespace {

const std::map<std::string_view, const char*> options_by_name = {
    {"-march", "-mcpu"},
    {"-mtune", "-mcpu"},
    {"--cpu", "-mcpu"},
    {"--triple", "--target"},
    {"--output", "-o"},
    {"--out", "-o"},
    {"--output-file", "-o"},
    {"--output-path", "-o"},
    {"--num-threads", "--threads"},
    {"--num_threads", "--threads"},
    {"--nthreads", "--threads"},
    {"--batch", "--dim"},
    {"--batch-size", "--dim"},
    {"--shape", "--dim"},
    {"--shapes", "--dim"},
    {"--input-shape", "--dim"},
    {"--input-shapes", "--dim"},
    {"--input_shape", "--dim"},
    {"--opt-level", "-O"},
    {"--optimization-level", "-O"},
    {"--optimize", "-O"},
    {"--name", "--prefix"},
    {"--model-name", "--prefix"},
    {"--module-name", "--prefix"},
    {"--function-prefix", "--prefix"},
    {"--verbose", "-v"},
    {"--debug", "-g"},
    {"-S", "--emit=asm"},
    {"--emit-asm", "--emit=asm"},
    {"-emit-llvm", "--emit=llvm"},
    {"--emit-llvm", "--emit=llvm"},
    {"--iterations", "--runs"},
    {"--repeat", "--runs"},
};

constexpr const char* takes_model = "the model is an argument without an option: dlcc MODEL -o OBJECT";
constexpr const char* writes_header =
    "the header is written next to the object, with the suffix .h; --emit=header writes no object";
constexpr const char* is_quiet = "without errors and warnings dlcc prints nothing; -w switches the warnings off";
constexpr const char* keeps_types =
    "dlcc keeps the element types of the model: convert it before, for instance with onnxconverter-common";
constexpr const char* takes_quantized =
    "dlcc compiles quantized models, but quantizes none: quantize it before, for instance with onnxruntime";
constexpr const char* has_warnings = "warnings are on; -w switches them off, -Werror makes them errors";
constexpr const char* is_independent = "the object is position-independent code without this option";
constexpr const char* links_nothing = "dlcc writes an object and links nothing: give this option to the linker";

const std::map<std::string_view, const char*> remedies_by_name = {
    {"-i", takes_model},
    {"-m", takes_model},
    {"--model", takes_model},
    {"--input-model", takes_model},
    {"--input_model", takes_model},
    {"--header", writes_header},
    {"--header-output", writes_header},
    {"--emit-header", writes_header},
    {"-q", is_quiet},
    {"--quiet", is_quiet},
    {"--silent", is_quiet},
    {"-s", links_nothing},
    {"--fp16", keeps_types},
    {"--half", keeps_types},
    {"--bf16", keeps_types},
    {"--precision", keeps_types},
    {"--int8", takes_quantized},
    {"--quantize", takes_quantized},
    {"-fPIC", is_independent},
    {"-fpic", is_independent},
    {"-fPIE", is_independent},
    {"-shared", links_nothing},
    {"--shared", links_nothing},
    {"-static", links_nothing},
    {"--list-targets", "'dlcc targets' lists the targets"},
    {"--print-targets", "'dlcc targets' lists the targets"},
    {"--list-ops", "'dlcc ops' lists the operators"},
    {"-V", "did you mean '--version'?"},
};

// The beginnings of gcc's options for warnings and for features of x86 CPUs, of which there are many.
constexpr const char* warnings[] = {"-Wall", "-Wextra", "-Wno-", "-Wpedantic"};
constexpr const char* features[] = {"-mamx", "-mavx", "-mbmi", "-mf16c", "-mfma", "-msse4"};

}  // namespace

ForeignOption find_foreign_option(const std::string& name) {
  if (auto known = options_by_name.find(name); known != options_by_name.end()) return {known->second, {}};
  if (auto known = remedies_by_name.find(name); known != remedies_by_name.end()) return {{}, known->second};
  const auto begins = [&](const char* prefix) { return name.starts_with(prefix); };
  if (std::ranges::any_of(warnings, begins)) return {{}, has_warnings};
  if (std::ranges::any_of(features, begins))
    return {{}, fmt::format("features of the CPU are values of -mattr: -mattr=+{}", name.substr(2))};
  return {};
}

}  // namespace dlcc::driver
