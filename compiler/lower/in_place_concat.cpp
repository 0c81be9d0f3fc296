// Calls are visited last to first. So the last concatenation of a chain, which holds everything, becomes the home of
// all pieces, and the earlier ones find their operands side by side in it.
#include "lower/in_place_concat.h"

#include <algorithm>

namespace dlcc::lower {
namespace {

class Placer {
 public:
  explicit Placer(Program& program) : program_(program) {}

  bool place(const Pieces& p) { return operands_become_views(p) || result_becomes_view(p); }

 private:
  Value& value(ValueId v) { return program_.values[static_cast<size_t>(v)]; }

  // Operands are free to move: temporaries, each once.
  bool operands_become_views(const Pieces& p) {
    if (value(p.result).storage != Storage::temporary && value(p.result).storage != Storage::view) return false;
    for (size_t k = 0; k < p.operands.size(); ++k) {
      const Value& piece = value(p.operands[k]);
      bool is_free = piece.storage == Storage::temporary && std::ranges::count(p.operands, p.operands[k]) == 1;
      if (!is_free || p.offsets[k] % piece.alignment != 0) return false;
    }
    for (size_t k = 0; k < p.operands.size(); ++k) make_view(p.operands[k], p.result, p.offsets[k]);
    return true;
  }

  // All operands lie in one value already, as far from each other as in the result.
  bool result_becomes_view(const Pieces& p) {
    if (value(p.result).storage != Storage::temporary) return false;
    const Value& first = value(p.operands[0]);
    int64_t begin = first.base_offset - p.offsets[0];
    for (size_t k = 0; k < p.operands.size(); ++k) {
      const Value& piece = value(p.operands[k]);
      if (piece.storage != Storage::view || piece.base != first.base || piece.base_offset != begin + p.offsets[k])
        return false;
    }
    if (begin < 0 || begin % value(p.result).alignment != 0 || begin + value(p.result).bytes > value(first.base).bytes)
      return false;
    make_view(p.result, first.base, begin);
    return true;
  }

  // `v` and its views become views of `home`, or of what that is a view of.
  void make_view(ValueId v, ValueId home, int64_t offset) {
    if (value(home).storage == Storage::view) offset += value(home).base_offset, home = value(home).base;
    Value& own = value(v);
    own.storage = Storage::view, own.base = home, own.base_offset = offset;
    for (Value& other : program_.values)
      if (other.storage == Storage::view && other.base == v) other.base = home, other.base_offset += offset;
  }

  Program& program_;
};

}  // namespace

void in_place_concat(Program& program, const std::vector<Pieces>& calls) {
  Placer placer(program);
  for (size_t k = calls.size(); k-- > 0;)
    if (placer.place(calls[k]))
      program.body.steps.erase(program.body.steps.begin() + static_cast<std::ptrdiff_t>(calls[k].step));
}

}  // namespace dlcc::lower
