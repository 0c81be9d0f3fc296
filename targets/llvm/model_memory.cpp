#include "targets/llvm/model_memory.h"

#include <algorithm>
#include <cstring>

namespace dlcc::targets {

ModelMemory::ModelMemory(const emit::Interface& interface, const std::vector<Constant>& inputs,
                         std::span<const std::byte> weights, const std::vector<int64_t>& dims)
    : interface_(interface), input_values_(inputs), weight_bytes_(weights), dim_values_(dims) {
  for (size_t k = 0; k < inputs.size(); ++k) inputs_.push_back(add("input", interface.inputs[k], inputs[k].shape()));
  if (interface.weights_file)
    weights_ = memory_.add("the weights", static_cast<int64_t>(weights.size()), interface.weights_file->alignment);
  if (interface.is_dynamic()) {
    constexpr auto bytes = static_cast<int64_t>(sizeof(int64_t));
    int64_t axes = 0;
    for (const emit::TensorInterface& t : interface.outputs) axes += static_cast<int64_t>(t.shape.size());
    dims_ = memory_.add("the dims", static_cast<int64_t>(dims.size()) * bytes, bytes);
    shapes_ = memory_.add("the shapes", axes * bytes, bytes);
    arena_size_ = memory_.add("the size of the arena", bytes, bytes);
  }
  block_count_ = memory_.count();
}

size_t ModelMemory::add(const char* kind, const emit::TensorInterface& t, const std::vector<int64_t>& shape) {
  const int64_t bytes = storage_bytes(t.type, product(shape_of(shape)).value());
  return memory_.add(fmt::format("{} '{}'", kind, t.name), bytes, std::max(bits(t.type) / 8, 1));
}

void ModelMemory::add_results(const std::vector<std::vector<int64_t>>& shapes, int64_t arena_bytes) {
  for (size_t k = 0; k < shapes.size(); ++k) outputs_.push_back(add("output", interface_.outputs[k], shapes[k]));
  arena_ = memory_.add("the arena", arena_bytes, std::max<int64_t>(interface_.arena_alignment, 1));
  block_count_ = memory_.count();
}

void ModelMemory::prepare(GuardPage guard, int garbage) {
  auto copy = [&](size_t block, std::span<const std::byte> bytes) {
    if (!bytes.empty()) std::memcpy(memory_.address(block, guard), bytes.data(), bytes.size());
  };
  for (size_t b = 0; b < block_count_; ++b) memory_.fill(b, garbage);
  for (size_t k = 0; k < inputs_.size(); ++k) copy(inputs_[k], input_values_[k].bytes());
  if (dims_) copy(*dims_, std::as_bytes(std::span(dim_values_)));
  if (weights_) copy(*weights_, weight_bytes_);
}

void ModelMemory::protect_inputs() {
  for (size_t b : inputs_) memory_.protect_read_only(b);
  if (dims_) memory_.protect_read_only(*dims_);
  if (weights_) memory_.protect_read_only(*weights_);
}

std::vector<const void*> ModelMemory::input_pointers(GuardPage guard) const {
  std::vector<const void*> pointers;
  for (size_t b : inputs_) pointers.push_back(memory_.address(b, guard));
  if (dims_) pointers.push_back(memory_.address(*dims_, guard));
  return pointers;
}

int ModelMemory::plan(PlanFunction plan, GuardPage guard) const {
  return plan(input_pointers(guard).data(), reinterpret_cast<int64_t*>(memory_.address(*shapes_, guard)),
              reinterpret_cast<uint64_t*>(memory_.address(*arena_size_, guard)));
}

int ModelMemory::run(RunFunction run, GuardPage guard, const dlcc_profiler* profiler) const {
  dlcc_context context{};
  context.profiler = profiler;
  context.weights = weights_ ? memory_.address(*weights_, guard) : nullptr;
  context.weights_bytes = weight_bytes_.size();
  const std::vector<const void*> inputs = input_pointers(guard);
  std::vector<void*> outputs;
  for (size_t b : outputs_) outputs.push_back(memory_.address(b, guard));
  if (shapes_) outputs.push_back(memory_.address(*shapes_, guard));
  return run(inputs.data(), outputs.data(), memory_.address(*arena_, guard),
             static_cast<size_t>(memory_.bytes(*arena_)), profiler || weights_ ? &context : nullptr);
}

std::vector<std::vector<int64_t>> ModelMemory::shapes(GuardPage guard) const {
  std::vector<std::vector<int64_t>> shapes;
  const int64_t* next = shapes_ ? reinterpret_cast<const int64_t*>(memory_.address(*shapes_, guard)) : nullptr;
  for (const emit::TensorInterface& t : interface_.outputs) {
    if (!next) {
      shapes.push_back(static_shape(t.shape));
      continue;
    }
    shapes.emplace_back(next, next + t.shape.size());
    next += t.shape.size();
  }
  return shapes;
}

uint64_t ModelMemory::arena_bytes(GuardPage guard) const {
  uint64_t bytes = 0;
  std::memcpy(&bytes, memory_.address(*arena_size_, guard), sizeof bytes);
  return bytes;
}

std::vector<Constant> ModelMemory::outputs(GuardPage guard) const {
  std::vector<Constant> result;
  const auto actual = shapes(guard);
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const DType type = interface_.outputs[k].type;
    const std::byte* from = memory_.address(outputs_[k], guard);
    const int64_t bytes = storage_bytes(type, product(shape_of(actual[k])).value());
    result.emplace_back(type, actual[k], std::vector<std::byte>(from, from + bytes));
  }
  return result;
}

std::string ModelMemory::overwritten(GuardPage guard, int garbage) const {
  for (size_t b = 0; b < block_count_; ++b)
    if (!memory_.margins_hold(b, guard, garbage)) return memory_.name(b);
  return "";
}

}  // namespace dlcc::targets
