// The order in which a tensor's axes are stored, as a layout such as "NHWC" names it. An operator is defined over one
// order of its own, "NCHW"; AxisOrder translates shapes and indices.
#pragma once

#include <string>
#include <vector>

#include "relay/op_support/elements.h"
#include "relay/op_support/type_checks.h"

namespace dlcc::relay {

// The error unless the layout has the axes of `own`, in any order.
Failure check_axis_order(const char* attribute, const std::string& layout, const std::string& own);

// The order that undoes a permutation of axes: position order[k] has k.
std::vector<int64_t> inverse_order(const std::vector<int64_t>& order);

class AxisOrder {
 public:
  // For a layout that check_axis_order accepts: "NHWC" and "NCHW".
  AxisOrder(const std::string& layout, const std::string& own);

  bool is_own() const;
  // The axis of the layout that is axis k of the own order: 0, 3, 1, 2.
  const std::vector<int64_t>& axes() const { return axes_; }
  // The axis of the own order that is axis k of the layout: 0, 2, 3, 1.
  std::vector<int64_t> inverse() const { return inverse_order(axes_); }

  // A list over the axes of the layout, in the own order; and the other way round.
  template <class List>
  List to_own(const List& list) const {
    List result;
    for (int64_t axis : axes_) result.push_back(list[static_cast<size_t>(axis)]);
    return result;
  }
  template <class List>
  List from_own(const List& list) const {
    List result;
    for (int64_t axis : inverse()) result.push_back(list[static_cast<size_t>(axis)]);
    return result;
  }

 private:
  std::vector<int64_t> axes_;
};

}  // namespace dlcc::relay
