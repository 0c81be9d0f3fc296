// Calls are visited last to first. So the result of the last concatenation of a chain, which holds all data, becomes
// the base of all operands, and the operands of earlier concatenations are already adjacent views of it.
#include "lower/in_place_concat.h"

#include <algorithm>

namespace dlcc::lower {
namespace {

class Concatenator {
 public:
  explicit Concatenator(Program& program) : program_(program) {}

  bool run(const ConcatCall& c) { return operands_become_views(c) || result_becomes_view(c); }

 private:
  static bool is_multiple(const Dim& offset, int64_t alignment) { return floor_mod(offset, alignment) == Dim(0); }
  Value& value(ValueId v) { return program_.values[static_cast<size_t>(v)]; }

  // Possible when each operand is a temporary that occurs once, and its offset is aligned.
  bool operands_become_views(const ConcatCall& c) {
    if (value(c.result).storage != Storage::temporary && value(c.result).storage != Storage::view) return false;
    for (size_t k = 0; k < c.operands.size(); ++k) {
      const Value& operand = value(c.operands[k]);
      bool movable = operand.storage == Storage::temporary && std::ranges::count(c.operands, c.operands[k]) == 1;
      if (!movable || !is_multiple(c.offsets[k], operand.alignment)) return false;
    }
    for (size_t k = 0; k < c.operands.size(); ++k) make_view(c.operands[k], c.result, c.offsets[k]);
    return true;
  }

  // Possible when all operands are views of one base already, at the same distances as in the result.
  bool result_becomes_view(const ConcatCall& c) {
    if (value(c.result).storage != Storage::temporary) return false;
    const Value& first = value(c.operands[0]);
    const Dim begin = first.base_offset - c.offsets[0];
    for (size_t k = 0; k < c.operands.size(); ++k) {
      const Value& operand = value(c.operands[k]);
      bool at_constant_offset = operand.storage == Storage::view && !operand.begin;
      if (!at_constant_offset || operand.base != first.base || operand.base_offset != begin + c.offsets[k])
        return false;
    }
    const bool is_inside = provably_le(0, begin) && provably_le(begin + value(c.result).bytes, value(first.base).bytes);
    if (!is_inside || !is_multiple(begin, value(c.result).alignment)) return false;
    make_view(c.result, first.base, begin);
    return true;
  }

  // `v` and its views become views of `base`, or of the base of `base` when it is a view itself.
  void make_view(ValueId v, ValueId base, Dim offset) {
    if (value(base).storage == Storage::view) offset = offset + value(base).base_offset, base = value(base).base;
    Value& own = value(v);
    own.storage = Storage::view, own.base = base, own.base_offset = offset;
    for (Value& other : program_.values)
      if (other.storage == Storage::view && other.base == v)
        other.base = base, other.base_offset = other.base_offset + offset;
  }

  Program& program_;
};

}  // namespace

void in_place_concat(Program& program, const std::vector<ConcatCall>& calls) {
  Concatenator concatenator(program);
  for (size_t k = calls.size(); k-- > 0;)
    if (concatenator.run(calls[k]))
      program.body.steps.erase(program.body.steps.begin() + static_cast<std::ptrdiff_t>(calls[k].step));
}

}  // namespace dlcc::lower
