// Writes the C header of a compiled model. The header includes no other file of dlcc: it contains the runtime's type
// declarations, with include guards, so that one file may include several such headers and the runtime's own.
#include <algorithm>

#include "emit/interface.h"
#include "runtime_types.inc"
#include "shape/caller_sizes.h"
#include "support/ascii.h"
#include "support/diagnostics.h"

namespace dlcc::emit {

namespace {

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

std::string describe(const Interface& interface, const TensorInterface& t) {
  std::string dims;
  for (const Dim& d : t.shape) dims += fmt::format("[{}]", in_comment(interface.for_people(d).str()));
  std::string text = fmt::format("{}{}", dims.empty() ? "" : dims + " ", name(t.type));
  if (bits(t.type) == 4) text += ", two to a byte, the first in the low half";
  if (bits(t.type) == 2) text += ", four to a byte, the first in the lowest bits";
  if (t.type == DType::float16_ || t.type == DType::bfloat16_ || is_minifloat(t.type)) text += ", as bits";
  if (t.decides_sizes) text += ", decides sizes";
  if (t.name != t.identifier) text += fmt::format(", '{}'", in_comment(t.name));
  return text;
}

// A struct of one pointer per tensor, in the model's order, followed by the members `last`.
std::string tensor_struct(const Interface& interface, const std::string& suffix,
                          const std::vector<TensorInterface>& tensors, const char* qualifier, const std::string& last) {
  std::string text = "typedef struct {\n";
  for (const TensorInterface& t : tensors)
    text += fmt::format("  {}{} *{}; /* {} */\n", qualifier, c_type(t.type), t.identifier, describe(interface, t));
  if (tensors.empty() && last.empty())
    text += fmt::format("  {}void *none; /* the model has no {} */\n", qualifier, suffix);
  return text + last + fmt::format("}} {}_{};\n\n", interface.prefix, suffix);
}

// "in [1, 512], 'sequence length'"
std::string describe(const DimInterface& d) {
  return bounds_of(d) + (d.name == d.identifier ? "" : fmt::format(", '{}'", in_comment(d.name)));
}

// P_dims, and macros of the bounds.
std::string dims_struct(const Interface& interface) {
  std::string members, macros;
  for (const DimInterface& d : interface.dims) {
    members += fmt::format("  int64_t {}; /* {} */\n", d.identifier, describe(d));
    const std::string macro = upper_case(interface.prefix + "_" + d.identifier);
    macros += fmt::format("#define {}_LOW {}\n", macro, d.low());
    if (d.is_bounded()) macros += fmt::format("#define {}_HIGH {}\n", macro, d.high());
  }
  if (members.empty()) members = "  int64_t none; /* the inputs have no symbolic sizes */\n";
  return fmt::format("/* The sizes of a run. */\ntypedef struct {{\n{}}} {}_dims;\n\n{}{}", members, interface.prefix,
                     macros, macros.empty() ? "" : "\n");
}

// P_shapes.
std::string shapes_struct(const Interface& interface) {
  std::string members;
  for (const TensorInterface& t : interface.outputs)
    if (!t.shape.empty()) members += fmt::format("  int64_t {}[{}];\n", t.identifier, t.shape.size());
  if (members.empty()) members = "  int64_t none; /* the outputs are scalars */\n";
  return fmt::format("/* All axes of the outputs. */\ntypedef struct {{\n{}}} {}_shapes;\n\n", members,
                     interface.prefix);
}

std::string tensor_structs(const Interface& interface) {
  std::string dims, shapes, inputs_last, outputs_last;
  if (interface.is_dynamic()) {
    dims = dims_struct(interface), shapes = shapes_struct(interface);
    inputs_last = fmt::format("  const {}_dims *dims;\n", interface.prefix);
    outputs_last = fmt::format("  {}_shapes *shapes; /* written by the run; may be null */\n", interface.prefix);
  }
  return dims +
         "/* Dense and row-major. Pointers are aligned to their element; inputs and outputs must not overlap. */\n" +
         tensor_struct(interface, "inputs", interface.inputs, "const ", inputs_last) + shapes +
         tensor_struct(interface, "outputs", interface.outputs, "", outputs_last);
}

// P_plan of a model with symbolic sizes.
std::string plan_function(const Interface& interface) {
  return fmt::format(
      "/* Computes the shapes of the outputs and the bytes of the arena for these sizes. Of the inputs, only the dims "
      "{1}are\n"
      " * read, and the other pointers may be null; so may `room` and `arena_bytes`. "
      "DLCC_DIMENSION_OUT_OF_RANGE if a size\n"
      " * is not as {0}_dims says or if a tensor would be too large. */\n"
      "dlcc_status {0}_plan(const {0}_inputs *inputs, {0}_shapes *room, uint64_t *arena_bytes);\n\n",
      interface.prefix, interface.input_sizes.empty() ? "" : "and those that decide sizes ");
}

std::string macros(const Interface& interface) {
  const std::string macro = upper_case(interface.prefix);
  std::string text = fmt::format("#define {}_ABI_VERSION 1\n", macro);
  if (interface.arena_bytes)
    text += fmt::format("#define {}_ARENA_BYTES {}u /* scratch memory of one run; it need not be initialized */\n",
                        macro, *interface.arena_bytes);
  text += fmt::format("#define {}_ARENA_ALIGN {}u\n", macro, interface.arena_alignment);
  text +=
      fmt::format("#define {}_STACK_BYTES {}u /* the largest use of the stack */\n\n", macro, interface.stack_bytes);
  if (const auto& file = interface.weights_file)
    text += fmt::format(
        "/* The model was compiled without its weights: pass the contents of their file to {0}_run_ctx in the "
        "context's\n"
        " * `weights` and `weights_bytes`. {0}_run returns DLCC_WEIGHTS_MISSING. */\n"
        "#define {1}_WEIGHTS_FILE_BYTES {2}u\n#define {1}_WEIGHTS_FILE_ALIGN {3}u\n\n",
        interface.prefix, macro, file->bytes, file->alignment);
  return text;
}

// P_run, P_run_ctx and P_model.
std::string run_functions(const Interface& interface) {
  const std::string where =
      interface.threads == 1
          ? "Runs the model on the caller's thread."
          : fmt::format(
                "Runs the model on {} threads: the caller's and those of the context's executor or, without one, of\n"
                " * dlcc_default_executor(), the thread pool of libdlcc_rt.a, unless the program defines this "
                "function.\n *",
                interface.threads);
  return fmt::format(
      "/* {1} There is no state between calls: any number of threads may run the model at\n"
      " * the same time, each with its own arena. */\n"
      "dlcc_status {0}_run(const {0}_inputs *inputs, const {0}_outputs *outputs, void *arena, size_t arena_bytes);\n"
      "dlcc_status {0}_run_ctx(const {0}_inputs *inputs, const {0}_outputs *outputs, void *arena, size_t arena_bytes,\n"
      "                        const dlcc_context *context);\n\n"
      "extern const dlcc_model {0}_model;\n\n",
      interface.prefix, where);
}

}  // namespace

Dim Interface::for_people(const Dim& d) const {
  std::map<std::string, Dim> texts;
  for (const InputSize& s : input_sizes) texts.emplace(s.symbol.name, Dim::symbol({s.text}));
  return in_caller_sizes(d.substitute(texts), input_dims());
}

bool Interface::is_dynamic() const {
  const auto is_unknown = [](const TensorInterface& t) { return !is_static(t.shape); };
  return !dims.empty() || !input_sizes.empty() || !arena_bytes || std::ranges::any_of(inputs, is_unknown) ||
         std::ranges::any_of(outputs, is_unknown);
}

std::string make_header(const Interface& interface) {
  const std::string& p = interface.prefix;
  std::string macro = upper_case(p), text;
  text +=
      fmt::format("/* The interface of a compiled model. {}; {}. */\n", header_mark, in_comment(interface.provenance));
  text += fmt::format("#ifndef {0}_MODEL_H\n#define {0}_MODEL_H\n\n", macro);
  text += std::string(runtime_types) + "\n";
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += macros(interface) + tensor_structs(interface);
  if (interface.is_dynamic()) text += plan_function(interface);
  text += run_functions(interface);
  text += "#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return text;
}

}  // namespace dlcc::emit
