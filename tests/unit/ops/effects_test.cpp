// A call's effects follow from its definition: the same operator may fail with some operands and attributes only.
#include "operators.h"
#include "relay/sample_calls.h"

namespace dlcc::relay {
namespace {

bool may_fail(const std::string& name, const Attrs& attrs, const Operands& operands) {
  Module module;
  Call call{OperatorRef{op(name)}, {}, attrs};
  for (const TensorType& t : operands) call.args.push_back(module.fresh("x", tensor_type(t.shape, t.dtype)));
  return effects_of(module, call).may_fail;
}

}  // namespace

TEST_CASE("operators that read shapes may fail") {
  for (const auto& [name, op] : operators().all())
    if (name.starts_with("dyn."))
      for (const auto& [type, call] : sample_calls(*op)) CHECK_MESSAGE(may_fail(name, call.attrs, call.operands), name);
}

TEST_CASE("attributes and element types decide") {
  CHECK_FALSE(may_fail("add", {}, {i64({2}), i64({2})}));
  CHECK(may_fail("divide", {}, {i64({2}), i64({2})}));
  CHECK_FALSE(may_fail("divide", {}, {f32({2}), f32({2})}));
  CHECK(may_fail("take", {{"mode", "strict"}}, {f32({2}), i64({2})}));
  CHECK_FALSE(may_fail("take", {{"mode", "clip"}}, {f32({2}), i64({2})}));
  CHECK_FALSE(may_fail("exp", {}, {{{Dim::symbol({.name = "n"})}, dtype::f32}}));
}

TEST_CASE("a variadic operator's operands are a tuple's fields") {
  Module module;
  Type part = tensor_type({Dim(2)}, dtype::f32);
  Call call{OperatorRef{op("concatenate")}, {module.fresh("t", tuple_type({part, part}))}, {{"axis", 0}}};
  CHECK(effects_of(module, call).removable());
}

}  // namespace dlcc::relay
