// The addresses of a function's values under a storage plan, for the checker of plans (lower/check_plan.h).
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "lower/alias_analysis.h"
#include "lower/byte_owners.h"

namespace dlcc::lower {

// Thrown at the first violation of the checker's rules; caught in check_storage.
struct Violation {
  std::string text;
};

template <class... T>
[[noreturn]] void fail(fmt::format_string<T...> format, T&&... args) {
  throw Violation{fmt::format(format, std::forward<T>(args)...)};
}

class ValueAddresses {
 public:
  // Gives every value an address, and checks that temporaries are inside the arena. `aliases` is null for programs with
  // static sizes. With `aliases`, every temporary gets memory of its own; `sizes` are the symbols' values, of which
  // `function` is the instance.
  ValueAddresses(const Function& function, const FunctionPlan& plan, const AliasAnalysis* aliases,
                 const std::map<std::string, int64_t>& sizes)
      : function_(function), plan_(plan), aliases_(aliases), sizes_(sizes) {
    lay_out();
  }

 protected:
  // The value itself, or the base of a view.
  const Value& base_of(ValueId v) const { return function_.values[base_id(v)]; }
  ValueId base_id(ValueId v) const {
    return function_.values[v].storage == Storage::view ? function_.values[v].base : v;
  }
  // Whether the value is a view whose offset is known at run time only.
  bool begins_at_scalar(ValueId v) const { return static_cast<bool>(function_.values[v].begin); }
  std::string label(ValueId) const;

  // The bytes that an access to the value may touch.
  Bytes range_of(ValueId) const;
  // The largest power of two that is known to divide the value's address at run time.
  int64_t known_alignment(ValueId) const;

  // Fail if a step must not use the value, or must not write it. `where` names the step.
  void check_usable(ValueId, const std::string& where) const;
  void check_writable(ValueId, const std::string& where) const;

  const Function& function_;
  const FunctionPlan& plan_;
  const AliasAnalysis* aliases_;
  const std::map<std::string, int64_t>& sizes_;
  std::vector<int64_t> address_;  // by value id

 private:
  void lay_out();
  void check_view(ValueId) const;
  void check_inside_base(ValueId) const;
  void check_temporary(ValueId) const;
  void check_memory(ValueId) const;
};

}  // namespace dlcc::lower
