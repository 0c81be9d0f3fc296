// Inference and verification of modules that golden texts cannot have: large programs, and programs that break a rule.
#include <doctest/doctest.h>

#include "frontends/relay/parser.h"
#include "relay/operator.h"
#include "relay/passes/passes.h"
#include "relay/unify.h"
#include "support/deep_stack.h"

namespace dlcc::relay {
namespace {

Module parse(const std::string& text) {
  Diagnostics d;
  auto module = frontends::relay_text::parse(text, {.file = "t", .outside_constant = {}}, d);
  REQUIRE_MESSAGE(module, d.str());
  return std::move(*module);
}

// The diagnostics of parsing and inferring the text; empty when there are none.
std::string problems(const std::string& text) {
  Diagnostics d;
  auto module = frontends::relay_text::parse(text, {.file = "t", .outside_constant = {}}, d);
  if (module && infer_types(*module, d)) verify(*module, d);
  return d.str();
}

std::string repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("inference of a chain of 20000 operations does not recurse") {
  std::string chain;
  for (int i = 0; i < 20000; ++i) chain += fmt::format("let %x{} = nn.relu(%x{});\n", i + 1, i);
  std::string text = "def @main(%x0: Tensor[(8, 8), float32]) {\n" + chain + "%x20000 }";
  Module module = parse(text);
  Diagnostics d;
  REQUIRE(infer_types(module, d));
  REQUIRE(verify(module, d));
  PassContext context;
  module = simplify_inference(std::move(module), context);
  module = eliminate_dead_code(eliminate_common_subexpressions(std::move(module), context), context);
  CHECK(module.functions.at("main").body.bindings.size() == 20000);
  CHECK(print(module).size() > text.size());
}

TEST_CASE("deeply nested and very long texts are read or refused quickly") {
  CHECK(problems(repeat("(", 100000)).find("nested deeper than the stack") != std::string::npos);
  CHECK(problems("let %x: " + repeat("(", 100000)).find("nested deeper") != std::string::npos);
  CHECK(problems(repeat("if (True) {", 100000)).find("nested deeper") != std::string::npos);
  CHECK(problems("f(" + repeat("[", 100000)) != "");
  CHECK(problems(repeat("fn () {", 100000)).find("nested deeper") != std::string::npos);
  CHECK(problems(repeat("/*", 100000)).find("not closed") != std::string::npos);
  CHECK(problems("1" + repeat(" + 1", 20000)) == "");
  CHECK(problems(repeat("-", 100000) + "1") == "");
  CHECK(problems("#[metadata]" + repeat("[", 100000)) != "");
  CHECK(problems(std::string("def @main() { \0 }", 17)) != "");
  CHECK(problems("\xff\xfe") != "");
  CHECK(problems("") == "t:1:1: error[syntax-error]: the text is empty\n");
}

TEST_CASE("only memory limits the nesting of a program") {
  constexpr int levels = 100000;
  auto nested = [&](const std::string& open, const std::string& middle, const std::string& close) {
    return "def @main(%c: bool, %x: int32) { " + repeat(open, levels) + middle + repeat(close, levels) + " }";
  };
  const std::string programs[] = {nested("(", "%x", " + 1)"),
                                  nested("{ ", "%x", " }"),
                                  nested("(%x, ", "%x", ").1"),
                                  nested("negative(", "%x", ")"),
                                  nested("if (%c) { ", "%x", " } else { 1 }"),
                                  nested("(fn (%y: int32) { ", "%x", " })(1)")};
  on_deep_stack([&] {
    for (const std::string& text : programs) {
      Module module = parse(text);
      Diagnostics d;
      REQUIRE_MESSAGE(infer_types(module, d), d.str());
      REQUIRE_MESSAGE(verify(module, d), d.str());
      const std::string printed = print(module);
      CHECK(print(parse(printed)) == printed);
    }
  });
  CHECK_THROWS_AS(on_deep_stack([] { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST_CASE("types that grow exponentially are refused") {
  std::string tuples = "let %x0 = 1;";
  for (int i = 0; i < 100; ++i) tuples += fmt::format("let %x{} = (%x{}, %x{});", i + 1, i, i);
  CHECK(problems(tuples + "%x100").find("too large") != std::string::npos);
  std::string closures = "let %f0 = fn (%x) { %x };";
  for (int i = 0; i < 100; ++i)
    closures += fmt::format("let %f{} = fn (%y) {{ let %p = (%y, %y); %f{}(%p) }};", i + 1, i);
  CHECK(problems(closures + "%f100(1)") != "");
}

TEST_CASE("unification refuses infinite types and lists the type variables that it bound") {
  Unifier u(TypeLimits{});
  Type a = u.fresh(), b = u.fresh();
  CHECK(u.unify(a, tuple_type({b, tensor_type(Shape{}, dtype::f32)})));
  CHECK(!u.unify(b, tuple_type({a})));
  CHECK(u.unify(b, tensor_type(Shape{2}, dtype::i32)));
  CHECK(str(u.resolve(a)) == "(Tensor[(2), int32], float32)");
  CHECK(u.take_filled() == std::vector<int>{1, 2});
  CHECK(!u.unify(tensor_type(Shape{2}, dtype::i32), tensor_type(Shape{3}, dtype::i32)));
  CHECK(u.unify(tensor_type(Shape{2}, dtype::i32), tensor_type(Shape{unknown_dim()}, dtype::i32)));
  CHECK(!u.unify(tensor_type(Shape{unknown_dim()}, dtype::i32), tensor_type(Shape{2}, dtype::i32)));
}

TEST_CASE("generic functions unify up to the names of their variables, on which no hole depends") {
  Unifier u(TypeLimits{});
  const TypeVariable a{1, "A"}, b{2, "B"};
  const Type hole = u.fresh(), other = u.fresh(), number = tensor_type(Shape{}, dtype::i32);
  auto pair = [](const TypeVariable& v, const Type& first) {
    return function_type({variable_type(v)}, tuple_type({first, variable_type(v)}), {v});
  };
  CHECK(u.unify(pair(a, hole), pair(b, number)));
  CHECK(str(u.resolve(hole)) == "int32");
  CHECK(!u.unify(pair(a, number), pair(b, tensor_type(Shape{}, dtype::f32))));
  CHECK(!u.unify(pair(a, other), pair(b, variable_type(b))));
  CHECK(!u.unify(pair(a, number), function_type({number}, tuple_type({number, number}))));
}

TEST_CASE("types are equal up to the names of bound variables") {
  TypeVariable a{1, "A"}, b{2, "B"};
  Type f = function_type({variable_type(a)}, variable_type(a), {a});
  Type g = function_type({variable_type(b)}, variable_type(b), {b});
  CHECK(same_type(f, g));
  CHECK(!same_type(variable_type(a), variable_type(b)));
  CHECK(str(f) == "fn [A](A) -> A");
  CHECK(str(tuple_type({f})) == "(fn [A](A) -> A,)");
}

TEST_CASE("the verifier reports each violated rule") {
  Module good = parse("def @main(%x: Tensor[(4), float32]) { let %y = nn.relu(%x); exp(%y) }");
  Diagnostics d;
  REQUIRE(infer_types(good, d));
  REQUIRE(verify(good, d));
  auto broken = [&](const std::function<void(Module&, Block&)>& change) {
    Module module = good;
    change(module, module.functions.at("main").body);
    Diagnostics found;
    CHECK(!verify(module, found));
    return found.str();
  };
  auto has = [](const std::string& text, const std::string& part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  has(broken([](Module&, Block& b) { std::swap(b.bindings[0], b.bindings[1]); }), "is not visible here");
  has(broken([](Module&, Block& b) { b.bindings.push_back(b.bindings[0]); }), "is bound twice");
  has(broken([](Module& m, Block& b) { b.bindings[0].var = m.fresh("z", tensor_type(Shape{5}, dtype::f32)); }),
      "has type Tensor[(5), float32], its operation gives Tensor[(4), float32]");
  has(broken([](Module& m, Block& b) { b.bindings[1].var = m.fresh("z"); }), "has no type");
  has(broken([](Module&, Block& b) { std::get<Call>(b.bindings[0].op).callee = GlobalRef{"no"}; }), "no function @no");
  has(broken([](Module&, Block& b) { std::get<Call>(b.bindings[0].op).args.clear(); }), "takes 1 operands, found 0");
  has(broken([](Module&, Block& b) { b.result = OperatorRef{op("nn.relu")}; }), "is used as a value");
  has(broken([](Module&, Block& b) {
        std::get<Call>(b.bindings[0].op).callee = Constant::of<float>(dtype::f32, {}, {1});
      }),
      "a constant is called");
  has(broken([](Module& m, Block&) { m.next_id = 1; }), "is not one of the module's");
}

TEST_CASE("a copy shares no variable with the original") {
  Module module = parse(
      "def @main(%c: bool, %x: float32) { if (%c) { let %f = fn (%a: float32) { %a + %x }; %f(%x) } else { %x } }");
  Diagnostics d;
  REQUIRE(infer_types(module, d));
  std::map<int, Atom> renamed;
  Function twin = module.functions.at("main");
  for (Var& p : twin.params) {
    Var fresh = module.fresh(p->name, p->type);
    renamed[p->id] = fresh;
    p = fresh;
  }
  twin.body = clone(module, twin.body, renamed);
  module.functions["twin"] = twin;
  CHECK_MESSAGE(verify(module, d), d.str());
}

}  // namespace dlcc::relay
