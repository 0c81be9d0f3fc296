#include "emit/weights.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "dlcc/weights_file.h"
#include "lower/walk.h"
#include "support/integers.h"

namespace dlcc::emit {

WeightsLayout lay_out_weights(const lower::Program& program, WeightsContainer container) {
  std::vector<int64_t> alignment(program.constants.size(), tensor::storage_alignment);
  lower::for_each_function(program, [&](const lower::Function& f) {
    for (const lower::Value& v : f.values)
      if (v.storage == lower::Storage::constant)
        alignment[static_cast<size_t>(v.index)] = std::max(alignment[static_cast<size_t>(v.index)], v.alignment);
  });
  WeightsLayout layout;
  if (container == WeightsContainer::file) layout.bytes = DLCC_WEIGHTS_HEAD_BYTES;
  for (size_t i = 0; i < program.constants.size(); ++i) {
    int64_t offset = round_up(layout.bytes, alignment[i]);
    layout.offsets.push_back(offset);
    layout.bytes = offset + static_cast<int64_t>(program.constants[i].bytes().size());
    layout.alignment = std::max(layout.alignment, alignment[i]);
  }
  return layout;
}

// Zeros that need memory only where they are written.
static std::shared_ptr<std::byte[]> zeros(size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::calloc(bytes, 1));
  if (!memory) throw std::bad_alloc();
  return {memory, [](std::byte* p) { std::free(p); }};
}

WeightsContents make_weights_file(lower::Program& program) {
  const WeightsLayout layout = lay_out_weights(program, WeightsContainer::file);
  const auto size = static_cast<size_t>(layout.bytes);
  const std::shared_ptr<std::byte[]> bytes = zeros(size);
  for (size_t i = 0; i < program.constants.size(); ++i) {
    Constant& c = program.constants[i];
    std::byte* to = bytes.get() + layout.offsets[i];
    std::ranges::copy(c.bytes(), to);
    c = Constant::view(c.dtype(), c.shape(), {to, c.bytes().size()}, bytes);
  }
  const std::span<const std::byte> data(bytes.get() + DLCC_WEIGHTS_HEAD_BYTES, size - DLCC_WEIGHTS_HEAD_BYTES);
  const uint64_t head[] = {DLCC_WEIGHTS_MAGIC, size, dlcc_hash_weights(data.data(), data.size())};
  std::memcpy(bytes.get(), head, sizeof head);
  return {Constant::view(dtype::u8, {layout.bytes}, {bytes.get(), size}, bytes),
          {layout.bytes, layout.alignment, head[2]}};
}

}  // namespace dlcc::emit
