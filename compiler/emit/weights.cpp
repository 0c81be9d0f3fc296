#include "emit/weights.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "dlcc/weights_file.h"
#include "lower/walk.h"
#include "support/integers.h"

namespace dlcc::emit {

WeightsLayout lay_out_weights(const lower::Program& program, WeightsContainer container) {
  std::vector<int64_t> alignment(program.constants.size(), 64);
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

WeightsContents make_weights_file(const lower::Program& program) {
  WeightsLayout layout = lay_out_weights(program, WeightsContainer::file);
  std::vector<std::byte> bytes(static_cast<size_t>(layout.bytes));
  for (size_t i = 0; i < program.constants.size(); ++i)
    std::ranges::copy(program.constants[i].bytes(), bytes.begin() + layout.offsets[i]);
  std::span<const std::byte> data = std::span(bytes).subspan(DLCC_WEIGHTS_HEAD_BYTES);
  const uint64_t head[] = {DLCC_WEIGHTS_MAGIC, bytes.size(), dlcc_hash_weights(data.data(), data.size())};
  std::memcpy(bytes.data(), head, sizeof head);
  return {std::move(bytes), {layout.bytes, layout.alignment, head[2]}};
}

}  // namespace dlcc::emit
