#include "emit/selftest.h"

#include <algorithm>
#include <cstring>

#include "support/diagnostics.h"

namespace dlcc::emit {

namespace {

// The C functions of every program. Two floats agree if they differ by at most the sum of a part of the expected
// number, which is a few units in the last place of float16 and bfloat16, and 1e-4 of the largest number of the output:
// the error of Winograd convolutions does not shrink with the element.
constexpr const char* functions = R"c(
#ifndef DLCC_SELFTEST_PRINT
#include <stdio.h>
#define DLCC_SELFTEST_PRINT(text) ((void)fputs(text, stdout))
#endif

static void print_decimal(uint64_t number) {
  char digits[21], *first = digits + sizeof digits - 1;
  *first = '\0';
  do *--first = (char)('0' + (int)(number % 10));
  while ((number /= 10) > 0);
  DLCC_SELFTEST_PRINT(first);
}

/* The bits of the element with this index. */
static uint64_t element(const void *data, size_t index, int bytes) {
  const unsigned char *from = (const unsigned char *)data + index * (size_t)bytes;
  uint64_t bits = 0;
  int k;
  for (k = bytes; k-- > 0;) bits = bits << 8 | from[k];
  return bits;
}

static double float32_of(uint64_t bits) {
  union { uint32_t bits; float number; } u;
  u.bits = (uint32_t)bits;
  return (double)u.number;
}

static double float64_of(uint64_t bits) {
  union { uint64_t bits; double number; } u;
  u.bits = bits;
  return u.number;
}

static double float16_of(uint64_t bits) {
  const uint32_t sign = (uint32_t)(bits >> 15) << 31, exponent = (uint32_t)(bits >> 10) & 31, fraction = (uint32_t)bits & 1023;
  if (exponent == 0) return (sign ? -1.0 : 1.0) * (double)fraction / 16777216.0;
  return float32_of(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13);
}

/* The number, by the kind of element: f float32, d float64, h float16, b bfloat16. */
static double number_of(char kind, uint64_t bits) {
  switch (kind) {
    case 'f': return float32_of(bits);
    case 'd': return float64_of(bits);
    case 'h': return float16_of(bits);
    default: return float32_of(bits << 16);
  }
}

static double magnitude(double x) { return x < 0 ? -x : x; }

/* Integers are of the kind i, and are equal. `largest` is the largest finite number of the output. */
static int agree(char kind, uint64_t got, uint64_t expected, double largest) {
  const double part = kind == 'b' ? 1e-2 : kind == 'h' ? 2e-3 : 1e-3;
  double a, b;
  if (got == expected || kind == 'i') return got == expected;
  a = number_of(kind, got), b = number_of(kind, expected);
  if (a == b || (a != a && b != b)) return 1;
  return magnitude(a - b) <= part * magnitude(b) + 1e-4 * largest && magnitude(b) <= largest;
}

static int check(const char *name, const void *got, const void *expected, size_t count, int bytes, char kind) {
  double largest = 0;
  size_t i;
  for (i = 0; i < count && kind != 'i'; ++i) {
    const double m = magnitude(number_of(kind, element(expected, i, bytes)));
    if (m > largest && m - m == 0) largest = m;
  }
  for (i = 0; i < count; ++i) {
    if (agree(kind, element(got, i, bytes), element(expected, i, bytes), largest)) continue;
    DLCC_SELFTEST_PRINT("output ");
    DLCC_SELFTEST_PRINT(name);
    DLCC_SELFTEST_PRINT(": element ");
    print_decimal(i);
    DLCC_SELFTEST_PRINT(" has the bits ");
    print_decimal(element(got, i, bytes));
    DLCC_SELFTEST_PRINT(", expected ");
    print_decimal(element(expected, i, bytes));
    DLCC_SELFTEST_PRINT("\n");
    return 1;
  }
  return 0;
}
)c";

// An element type as the program stores and compares it. Elements below a byte are compared by bytes.
struct Kind {
  int bytes;
  char letter;
};

Kind kind_of(DType t) {
  const int bytes = std::max(bits(t) / 8, 1);
  if (t == dtype::f32) return {bytes, 'f'};
  if (t == dtype::f64) return {bytes, 'd'};
  if (t == dtype::f16) return {bytes, 'h'};
  if (t == dtype::bf16) return {bytes, 'b'};
  return {bytes, 'i'};
}

// The bits of a byte that hold elements: in the last byte of elements of 2 or 4 bits, a model clears the others.
uint64_t used_bits(const Constant& data, size_t at) {
  int64_t count = 1;
  for (int64_t d : data.shape()) count *= d;
  const int64_t used = count * bits(data.dtype()) - 8 * static_cast<int64_t>(at);
  return used < 8 ? (uint64_t{1} << used) - 1 : ~uint64_t{0};
}

// "static const uint32_t input_0[] = {...};" with the bits of the elements.
std::string array(const std::string& name, const Constant& data) {
  const auto bytes = static_cast<size_t>(kind_of(data.dtype()).bytes);
  std::string text = fmt::format("static const uint{}_t {}[] = {{", 8 * bytes, name), line;
  const std::span<const std::byte> all = data.bytes();
  for (size_t at = 0; at < std::max(all.size(), bytes); at += bytes) {
    uint64_t pattern = 0;
    if (at < all.size()) std::memcpy(&pattern, all.data() + at, bytes);
    if (bytes == 1) pattern &= used_bits(data, at);
    std::string number = bytes == 8 ? fmt::format("0x{:x}u,", pattern) : fmt::format("{}u,", pattern);
    if (line.size() + number.size() > 116) text += "\n  " + line, line.clear();
    line += number;
  }
  return text + "\n  " + line + "};\n";
}

std::string c_string(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F || c == '"' || c == '\\' ||
        c == '?')
      c = '_';
    result += c;
  }
  return result + "\"";
}

std::string call_of_model(const Interface& interface, const SelfTestData& data) {
  std::string inputs, outputs;
  for (size_t k = 0; k < data.inputs.size(); ++k) inputs += fmt::format("input_{}, ", k);
  for (size_t k = 0; k < data.outputs.size(); ++k) outputs += fmt::format("output_{}, ", k);
  if (!interface.dims.empty()) inputs += "sizes, ";
  if (interface.is_dynamic()) outputs += "0, ";
  return fmt::format(
      "  const void *const inputs[] = {{{0}0}};\n"
      "  void *const outputs[] = {{{1}0}};\n"
      "  int wrong = 0;\n"
      "  const dlcc_status status = {2}_model.run(inputs, outputs, arena, {3}u, 0);\n"
      "  if (status != DLCC_OK) {{\n"
      "    DLCC_SELFTEST_PRINT(\"the model returned the status \");\n"
      "    print_decimal((uint64_t)status);\n"
      "    DLCC_SELFTEST_PRINT(\"\\n\");\n"
      "    return -1;\n"
      "  }}\n",
      inputs, outputs, interface.prefix, data.arena_bytes);
}

}  // namespace

std::string make_selftest(const Interface& interface, const SelfTestData& data) {
  std::string text = fmt::format(
      "/* {0} for a self-test of the model {1}: runs it on stored inputs, which were drawn at random, and\n"
      " * compares its outputs with those of the operators' definitions. Prints 'ok' or the first wrong element of "
      "each\n"
      " * output. Link it with the object. C99.\n *\n"
      " * Macros for boards without stdio: DLCC_SELFTEST_PRINT(text) prints a text, DLCC_SELFTEST_NO_MAIN leaves out\n"
      " * main. */\n"
      "#include \"{1}.h\"\n{2}\n",
      header_mark, interface.prefix, functions);
  for (size_t k = 0; k < data.inputs.size(); ++k) text += array(fmt::format("input_{}", k), data.inputs[k]);
  for (size_t k = 0; k < data.outputs.size(); ++k) text += array(fmt::format("expected_{}", k), data.outputs[k]);
  for (size_t k = 0; k < data.outputs.size(); ++k)
    text += fmt::format("static uint{0}_t output_{1}[sizeof expected_{1} / sizeof expected_{1}[0]];\n",
                        8 * kind_of(data.outputs[k].dtype()).bytes, k);
  if (!interface.dims.empty()) {
    std::string sizes;
    for (int64_t size : data.sizes) sizes += fmt::format("{}, ", size);
    text += fmt::format("static const int64_t sizes[] = {{{}}};\n", sizes);
  }
  text += fmt::format("static unsigned char arena_memory[{0}];\n\n",
                      std::max<int64_t>(data.arena_bytes, 1) + interface.arena_alignment);
  text +=
      fmt::format("/* The number of wrong outputs; -1 if the model returned a status. */\nint {}_selftest(void) {{\n",
                  interface.prefix);
  text +=
      fmt::format("  unsigned char *const arena =\n      arena_memory + ({0} - (uintptr_t)arena_memory % {0}) % {0};\n",
                  interface.arena_alignment);
  text += call_of_model(interface, data);
  for (size_t k = 0; k < data.outputs.size(); ++k) {
    const Kind kind = kind_of(data.outputs[k].dtype());
    text += fmt::format("  wrong += check({}, output_{}, expected_{}, {}, {}, '{}');\n",
                        c_string(interface.outputs[k].name), k, k,
                        data.outputs[k].bytes().size() / static_cast<size_t>(kind.bytes), kind.bytes, kind.letter);
  }
  text +=
      "  if (wrong == 0) DLCC_SELFTEST_PRINT(\"ok\\n\");\n  return wrong;\n}\n\n"
      "#ifndef DLCC_SELFTEST_NO_MAIN\n";
  return text + fmt::format("int main(void) {{ return {}_selftest() != 0; }}\n#endif\n", interface.prefix);
}

}  // namespace dlcc::emit
