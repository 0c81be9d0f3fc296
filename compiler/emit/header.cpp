// Writes the C header of a compiled model. The header includes no other file of dlcc: it contains the runtime's type
// declarations, with include guards, so that one file may include several such headers and the runtime's own.
#include <algorithm>
#include <array>

#include "emit/interface.h"
#include "runtime_types.inc"
#include "shape/dim.h"
#include "support/diagnostics.h"

namespace dlcc::emit {

namespace {

// Keywords of C99 to C23 and C++20, and names that the header's own text uses.
constexpr std::array reserved = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "NULL",
    "errno",
    "linux",
    "unix",
    "main",
};

bool is_plain(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// Text of the model without characters that would end a comment or begin one.
std::string in_comment(const std::string& text) {
  std::string result;
  for (char c : text) {
    bool ends_comment = c == '/' && (result.empty() || result.back() == '*');
    bool begins_comment = c == '*' && !result.empty() && result.back() == '/';
    bool trigraph = c == '?' && !result.empty() && result.back() == '?';
    if (ends_comment || begins_comment || trigraph) result += ' ';
    result += static_cast<unsigned char>(c) < 0x20 || c == '\\' || static_cast<unsigned char>(c) == 0x7F ? '?' : c;
  }
  return result;
}

std::string describe(const TensorInterface& t) {
  std::string dims;
  for (const Dim& d : t.shape) dims += fmt::format("[{}]", d.str());
  std::string text = fmt::format("{}{}", dims.empty() ? "" : dims + " ", name(t.type));
  if (t.type == DType::int4_ || t.type == DType::uint4_) text += ", two to a byte, the first in the low half";
  if (t.type == DType::float16_ || t.type == DType::bfloat16_ || (is_float(t.type) && bits(t.type) == 8))
    text += ", as bits";
  if (t.name != t.identifier) text += fmt::format(", '{}'", in_comment(t.name));
  return text;
}

// A struct of one pointer per tensor, in the model's order.
std::string tensor_struct(const Interface& interface, const std::string& suffix,
                          const std::vector<TensorInterface>& tensors, const char* qualifier) {
  std::string text = "typedef struct {\n";
  for (const TensorInterface& t : tensors)
    text += fmt::format("  {}{} *{}; /* {} */\n", qualifier, c_type(t.type), t.identifier, describe(t));
  if (tensors.empty()) text += fmt::format("  {}void *none; /* the model has no {} */\n", qualifier, suffix);
  return text + fmt::format("}} {}_{};\n\n", interface.prefix, suffix);
}

}  // namespace

std::string c_identifier(const std::string& text, const std::vector<std::string>& taken) {
  std::string base;
  for (char c : text) {
    if (is_plain(c))
      base += c;
    else if (!base.empty() && base.back() != '_')
      base += '_';
  }
  while (base.size() > 1 && base.back() == '_' && !is_plain(text.back())) base.pop_back();
  if (base.empty() || base == "_") base = "tensor";
  if (base[0] >= '0' && base[0] <= '9') base = "t" + base;
  // C reserves identifiers that begin with an underscore.
  if (base[0] == '_') base = "t" + base;
  if (std::find(reserved.begin(), reserved.end(), base) != reserved.end()) base += '_';
  std::string result = base;
  for (int n = 2; std::find(taken.begin(), taken.end(), result) != taken.end(); ++n)
    result = fmt::format("{}_{}", base, n);
  return result;
}

bool Interface::is_dynamic() const {
  const auto is_unknown = [](const TensorInterface& t) { return !is_static(t.shape); };
  return !dims.empty() || !arena_bytes || std::ranges::any_of(inputs, is_unknown) ||
         std::ranges::any_of(outputs, is_unknown);
}

std::string make_header(const Interface& interface) {
  const std::string& p = interface.prefix;
  std::string macro = upper(p), text;
  text += fmt::format("/* The interface of a compiled model. Made by dlcc; {}. */\n", in_comment(interface.provenance));
  text += fmt::format("#ifndef {0}_MODEL_H\n#define {0}_MODEL_H\n\n", macro);
  text += std::string(runtime_types) + "\n";
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += fmt::format("#define {}_ABI_VERSION 1\n", macro);
  text += fmt::format("#define {}_ARENA_BYTES {}u /* scratch memory of one run; it need not be initialized */\n", macro,
                      interface.arena_bytes.value());
  text += fmt::format("#define {}_ARENA_ALIGN {}u\n", macro, interface.arena_alignment);
  text +=
      fmt::format("#define {}_STACK_BYTES {}u /* the largest use of the stack */\n\n", macro, interface.stack_bytes);
  if (const auto& file = interface.weights_file)
    text += fmt::format(
        "/* The model was compiled without its weights: pass the contents of their file to {0}_run_ctx in the "
        "context's\n"
        " * `weights` and `weights_bytes`. {0}_run returns DLCC_WEIGHTS_MISSING. */\n"
        "#define {1}_WEIGHTS_FILE_BYTES {2}u\n#define {1}_WEIGHTS_FILE_ALIGN {3}u\n\n",
        p, macro, file->bytes, file->alignment);
  text += "/* Dense and row-major. Pointers are aligned to their element; inputs and outputs must not overlap. */\n";
  text += tensor_struct(interface, "inputs", interface.inputs, "const ");
  text += tensor_struct(interface, "outputs", interface.outputs, "");
  text += fmt::format(
      "/* Runs the model in the caller's thread. There is no state between calls: any number of threads may run the "
      "model at\n"
      " * the same time, each with its own arena. */\n"
      "dlcc_status {0}_run(const {0}_inputs *inputs, const {0}_outputs *outputs, void *arena, size_t arena_bytes);\n"
      "dlcc_status {0}_run_ctx(const {0}_inputs *inputs, const {0}_outputs *outputs, void *arena, size_t arena_bytes,\n"
      "                        const dlcc_context *context);\n\n"
      "extern const dlcc_model {0}_model;\n\n",
      p);
  text += "#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return text;
}

}  // namespace dlcc::emit
