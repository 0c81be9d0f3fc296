// A call's effects follow from its definition: the same operator may fail with some operands and attributes only.
#include "relay/effects.h"
#include "operators.h"

namespace dlcc::relay {
namespace {

bool may_fail(const std::string& name, const Attrs& attrs, const Operands& operands) {
  Module module;
  Call call{OperatorRef{op(name)}, {}, attrs};
  for (const TensorType& t : operands) call.args.push_back(module.fresh("x", tensor_type(t.shape, t.dtype)));
  return EffectAnalysis(module).of(call).may_fail;
}

}  // namespace

TEST_CASE("an operator may fail if it reads sizes from operands or has requirements on symbolic sizes") {
  Dim n = size_symbol("n");
  CHECK(may_fail("reshape", {}, {f32({2, 3}), i64({1})}));
  CHECK(may_fail("sum", {}, {f32({2, 3}), i64({1})}));
  CHECK(may_fail("nn.pad", {}, {f32({2, 3}), f32({}), i64({2, 2})}));
  CHECK(may_fail("reshape", {{"newshape", list({-1, 4})}}, {f32({n, 6})}));
  CHECK_FALSE(may_fail("reshape", {{"newshape", list({-1, 3})}}, {f32({n, 6})}));
  CHECK(may_fail("add", {}, {f32({n}), f32({7})}));
  CHECK_FALSE(may_fail("add", {}, {f32({n}), f32({1})}));
}

TEST_CASE("attributes and element types determine whether an operator may fail") {
  CHECK_FALSE(may_fail("add", {}, {i64({2}), i64({2})}));
  CHECK(may_fail("divide", {}, {i64({2}), i64({2})}));
  CHECK_FALSE(may_fail("divide", {}, {f32({2}), f32({2})}));
  CHECK(may_fail("take", {{"mode", "strict"}}, {f32({2}), i64({2})}));
  CHECK_FALSE(may_fail("take", {{"mode", "clip"}}, {f32({2}), i64({2})}));
  CHECK_FALSE(may_fail("exp", {}, {{{Dim::symbol({.name = "n"})}, dtype::f32}}));
}

TEST_CASE("the effects of a variadic operator depend on the fields of its tuple") {
  Module module;
  Type part = tensor_type({Dim(2)}, dtype::f32);
  Call call{OperatorRef{op("concatenate")}, {module.fresh("t", tuple_type({part, part}))}, {{"axis", 0}}};
  CHECK(EffectAnalysis(module).of(call).removable());
}

TEST_CASE("cached effects distinguish operators, operand types and attributes") {
  Module module;
  EffectAnalysis effects(module);
  auto fails = [&](const char* name, DType type, Attrs attrs) {
    std::vector<Atom> args = {module.fresh("a", tensor_type({Dim(2)}, type)),
                              module.fresh("b", tensor_type({Dim(2)}, dtype::i64))};
    return effects.of(Call{OperatorRef{op(name)}, std::move(args), std::move(attrs)}).may_fail;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(fails("take", dtype::f32, {{"mode", "strict"}}));
    CHECK_FALSE(fails("take", dtype::f32, {{"mode", "clip"}}));
    CHECK(fails("divide", dtype::i64, {}));
    CHECK_FALSE(fails("multiply", dtype::i64, {}));
  }
}

TEST_CASE("functions that call each other share their effects") {
  Module module;
  Type scalar = tensor_type(Shape{}, dtype::i32);
  auto call = [&](Block& block, Atom callee, std::vector<Atom> args) {
    block.bindings.push_back({module.fresh("", scalar), Call{std::move(callee), std::move(args), {}}, {}});
  };
  auto function = [&](const char* name) -> Function& {
    Function& f = module.functions[name];
    f.params = {module.fresh("n", scalar)};
    f.result_type = scalar;
    f.body.result = f.params[0];
    return f;
  };
  // a -> b -> c -> a; only a divides. d calls nothing.
  for (auto [name, callee] : {std::pair("a", "b"), {"b", "c"}, {"c", "a"}}) {
    Function& f = function(name);
    call(f.body, GlobalRef{callee}, {f.params[0]});
  }
  function("d");
  Function& a = module.functions["a"];
  call(a.body, OperatorRef{op("divide")}, {a.params[0], a.params[0]});
  Function& main = function("main");
  call(main.body, GlobalRef{"d"}, {main.params[0]});
  EffectAnalysis effects(module);
  for (const char* name : {"a", "b", "c"}) {
    Effects found = effects.of(Call{GlobalRef{name}, {}, {}});
    CHECK_MESSAGE(found == (Effects{.may_fail = true, .may_diverge = true}), name);
  }
  CHECK(effects.of(Call{GlobalRef{"d"}, {}, {}}) == Effects{});
  // The analysis works after a pass has moved the functions' bodies.
  for (auto& [name, f] : module.functions) f.body.bindings.clear();
  CHECK(effects.of(Call{GlobalRef{"c"}, {}, {}}).may_fail);
}

}  // namespace dlcc::relay
