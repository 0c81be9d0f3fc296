// Where a storage plan has the values of a function, for the checker of plans (lower/check_plan.h).
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "lower/byte_owners.h"
#include "lower/shared_memory.h"

namespace dlcc::lower {

// Thrown at the first violation of the checker's rules; caught in check_storage.
struct Violation {
  std::string text;
};

template <class... T>
[[noreturn]] void fail(fmt::format_string<T...> format, T&&... args) {
  throw Violation{fmt::format(format, std::forward<T>(args)...)};
}

class ValuePlaces {
 public:
  // Gives every value an address, and checks that temporaries are inside the arena. `shared` is null unless the arena
  // belongs to a program with symbolic sizes: then every temporary has memory of its own.
  ValuePlaces(const Function& function, const FunctionPlan& plan, const SharedMemory* shared)
      : function_(function), plan_(plan), shared_(shared) {
    lay_out();
  }

 protected:
  // The value, or the one of which it is a view.
  const Value& base_of(ValueId v) const { return function_.values[base_id(v)]; }
  ValueId base_id(ValueId v) const {
    return function_.values[v].storage == Storage::view ? function_.values[v].base : v;
  }
  // Whether it is a view whose place is decided at run time.
  bool begins_at_scalar(ValueId v) const { return static_cast<bool>(function_.values[v].begin); }
  std::string label(ValueId) const;

  // The bytes that an access of the value can touch.
  Bytes range_of(ValueId) const;
  // The largest power of two that is known to divide the value's address at run time.
  int64_t known_alignment(ValueId) const;

  // Fail where a step cannot use a value, or cannot write it. `where` names the step.
  void check_usable(ValueId, const std::string& where) const;
  void check_writable(ValueId, const std::string& where) const;

  const Function& function_;
  const FunctionPlan& plan_;
  const SharedMemory* shared_;
  std::vector<int64_t> address_;  // by value id

 private:
  void lay_out();
  void check_view(ValueId) const;
  void check_inside_base(ValueId) const;
  void check_temporary(ValueId) const;
};

}  // namespace dlcc::lower
