// Fuzz target: Relay text that is read must print to text that reads back to the same module; type inference and
// verification must not crash on it. One of the passes, which the text selects, must keep its types and, if @main takes
// tensors, what the interpreter computes in a limited number of steps.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <regex>
#include <string>
#include <string_view>

#include "frontends/frontend.h"
#include "frontends/relay/parser.h"
#include "mutate_relay.h"
#include "relay/interpret.h"
#include "relay/passes/passes.h"
#include "support/deep_stack.h"

using namespace dlcc;
using namespace dlcc::relay;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

void demand(bool good, const char* what, const std::string& details = {}) {
  if (good) return;
  std::fprintf(stderr, "%s\n%s\n", what, details.c_str());
  std::abort();
}

void check_text(const Module& module) {
  const std::string text = print(module);
  Diagnostics d;
  const auto again = frontends::relay_text::parse(text, {}, d);
  demand(again && print(*again) == text, "printed text does not read back", text + d.str());
}

// A value of zeros and ones, whose sizes are at least 2; empty for types without tensors and for large tensors.
std::optional<Value> argument(const Type& type) {
  if (const TupleType* tuple = as<TupleType>(type)) {
    TupleValue value;
    for (const Type& field : tuple->fields) {
      auto v = argument(field);
      if (!v) return std::nullopt;
      value.fields.push_back(std::move(*v));
    }
    return make_value(std::move(value));
  }
  const TensorType* tensor = as<TensorType>(type);
  if (!tensor) return std::nullopt;
  std::map<std::string, int64_t> sizes;
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const Dim& d : tensor->shape) {
    for (const Symbol& s : d.symbols()) sizes[s.name] = std::max<int64_t>(2, s.low);
    const auto size = d.evaluate(sizes);
    if (!size || *size < 0 || *size > 4096 || (count *= *size) > 4096) return std::nullopt;
    shape.push_back(*size);
  }
  std::vector<std::byte> bytes(storage_bytes(tensor->dtype, count));
  const size_t stride = std::max<size_t>(1, storage_bytes(tensor->dtype, 1));
  for (size_t k = stride; k < bytes.size(); k += 2 * stride) bytes[k] = std::byte{1};
  return tensor_value(Constant(tensor->dtype, shape, std::move(bytes)));
}

std::optional<std::vector<Value>> arguments(const Module& module) {
  const auto main = module.functions.find("main");
  if (main == module.functions.end() || !main->second.type_params.empty()) return std::nullopt;
  std::vector<Value> values;
  for (const Var& p : main->second.params) {
    auto value = argument(p->type);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

// The text of what @main computes, in which instances of a constructor have its name; empty if it ends with a status or
// an error.
std::optional<std::string> outcome(const Module& module, int64_t max_steps) {
  Diagnostics d;
  const auto args = arguments(module);
  const auto run = args ? interpret(module, *args, tensor::Precision::specified, d, max_steps) : std::nullopt;
  if (!run || run->status != tensor::Status::ok) return std::nullopt;
  static const std::regex number_of_instance("([A-Za-z])_[0-9]+");
  return std::regex_replace(str(run->value, 10000), number_of_instance, "$1");
}

// Whether a pass may not change the outcome. It may change how floats are rounded, and functions become data.
bool is_exact(std::string_view program, const std::string& outcome) {
  return program.find("float") == program.npos && outcome.find("<function>") == outcome.npos;
}

void check_pass(const PassInfo& pass, std::string_view input, const std::optional<std::string>& expected) {
  Diagnostics d;
  auto module = frontends::import_relay(input, {}, d);
  PassContext context{.diagnostics = &d, .channel_block = 4};
  if (pass.name == "convert-closures")
    for (const PassInfo& before : all_passes())
      if (before.name == "monomorphize" && !d.has_errors()) *module = before.run(std::move(*module), context);
  if (!d.has_errors()) *module = pass.run(std::move(*module), context);
  if (d.has_errors()) return;  // refused
  demand(verify(*module, d) && infer_types(*module, d), pass.name.c_str(), d.str());
  check_text(*module);
  const auto found = outcome(*module, 400000);
  if (expected && found && is_exact(input, *expected))
    demand(*found == *expected, pass.name.c_str(), *expected + " became " + *found);
}

void check(std::string_view input) {
  Diagnostics d;
  auto parsed = frontends::relay_text::parse(input, {}, d);
  demand(parsed || d.has_errors(), "refused without a reason");
  if (parsed) check_text(*parsed);
  Diagnostics errors;
  const auto module = frontends::import_relay(input, {}, errors);
  if (!module) return;
  demand(verify(*module, errors), "verification", errors.str());
  check_text(*module);
  const auto expected = outcome(*module, 20000);
  const auto passes = all_passes();
  check_pass(passes[std::hash<std::string_view>()(input) % passes.size()], input, expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  on_deep_stack([&] { check({reinterpret_cast<const char*>(data), size}); });
  return 0;
}

namespace {

size_t store(const std::string& text, uint8_t* data, size_t size, size_t max_size) {
  if (text.size() > max_size) return size;
  std::ranges::copy(text, data);
  return text.size();
}

std::string_view text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(text_of(data, size));
  for (unsigned count = 1 + random() % 3; count > 0; --count) text = mutate_relay(text, text, random);
  return store(text, data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,
                                            uint8_t* out, size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
  const std::string text = mutate_relay(std::string(text_of(a, a_size)), std::string(text_of(b, b_size)), random);
  return store(text, out, 0, max_size);
}
