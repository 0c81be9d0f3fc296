// The canonical layout: text in, text out; and that every program of the golden tests and of the corpus keeps its
// tokens, its meaning and its comments.
#include "frontends/relay/format.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "frontends/relay/parser.h"
#include "support/deep_stack.h"
#include "text_file.h"

namespace dlcc::frontends {
namespace {

std::string formatted(const std::string& text) {
  Diagnostics d;
  auto result = format_relay(text, "t", d);
  return result ? *result : d.str();
}

// What is not white space.
std::string characters(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
  return text;
}

std::string printed(const std::string& text) {
  Diagnostics d;
  const Constant some = Constant::of<float>(dtype::f32, {}, {1});
  auto module = relay_text::parse(text, {.file = "t", .outside_constant = some}, d);
  return module ? relay::print(*module) : "";
}

}  // namespace

TEST_CASE("short definitions are one line, others have a line for each statement") {
  CHECK(formatted("def @f( %x :int32)->int32{%x+1}") == "def @f(%x: int32) -> int32 { %x + 1 }\n");
  CHECK(formatted("def @f(%x: int32) { let %y=%x*2;  %y- 1 }") ==
        "def @f(%x: int32) {\n  let %y = %x * 2;\n  %y - 1\n}\n");
  CHECK(formatted("def @f(%c: bool) { if(%c){1}else{ %0 = 2; %0 } }") ==
        "def @f(%c: bool) {\n  if (%c) {\n    1\n  } else {\n    %0 = 2;\n    %0\n  }\n}\n");
}

TEST_CASE("arms and constructors have a line each, attributes no spaces") {
  CHECK(formatted("type List [A]{Cons(A,List[A]),Nil} def @f[A](%xs:List[A],Inline = "
                  "1){match(%xs){Cons(_,%r)=>%r,Nil=>Nil,}}") ==
        "type List[A] {\n  Cons(A, List[A]),\n  Nil\n}\n\ndef @f[A](%xs: List[A], Inline=1) {\n  match (%xs) {\n"
        "    Cons(_, %r) => %r,\n    Nil => Nil,\n  }\n}\n");
  CHECK(formatted("fn(%x:Tensor[( 2,n ),float32]){ reshape( %x,newshape = [-1, 2]).0 }") ==
        "fn (%x: Tensor[(2, n), float32]) { reshape(%x, newshape=[-1, 2]).0 }\n");
  CHECK(formatted("def @f(%t: (int32, (int32,))) { %t . 1\r\n .\r\n 0 }") == "def @f(%t: (int32, (int32,))) { %t.1.0 }\n");
  CHECK(formatted("def @e=meta[ExternFunc][0]\ndef @f[S:Shape,B](%x{virtual_device=meta[VirtualDevice][0]}:"
                  "Tensor[S,B],%y:int8x4){%x}") ==
        "def @e = meta[ExternFunc][0]\n\ndef @f[S: Shape, B](%x {virtual_device=meta[VirtualDevice][0]}: Tensor[S, B], "
        "%y: int8x4) { %x }\n");
}

TEST_CASE("a comment between an extern type and a definition belongs to the definition") {
  const std::string text =
      "extern type A // opaque\n\n// of two types\nextern type B[C, D]\n\n// one\ndef @f(%x: int32) {\n  %x\n}\n";
  CHECK(formatted(text) == text);
}

TEST_CASE("a layout needs no metadata section and no known operators") {
  CHECK(formatted("def @f(){my.op( %x,meta[relay.Constant][0],k=1)}") ==
        "def @f() { my.op(%x, meta[relay.Constant][0], k=1) }\n");
}

TEST_CASE("tensors are lists, also behind results of functions") {
  CHECK(formatted("(int8 {3},Tensor[(2),float32] { 1,-2.5 })") == "(int8{3}, Tensor[(2), float32]{1, -2.5})\n");
  CHECK(formatted("def @f()->Tensor[(2),int8]{Tensor[(2),int8]{1,2}}") ==
        "def @f() -> Tensor[(2), int8] { Tensor[(2), int8]{1, 2} }\n");
  CHECK(formatted("def @f()->int8{int8{2}}") == "def @f() -> int8 { int8{2} }\n");
}

TEST_CASE("a text of the older format has no layout") {
  CHECK(formatted("// old\nv0.0.4\nfn () { -1 }") ==
        "t: error[unsupported-construct]: only texts of format 0.0.5 are laid out, and this one has format 0.0.4\n"
        "    help: 'dlcc opt --passes=' prints the program in format 0.0.5\n");
}

TEST_CASE("comments keep their places") {
  const std::string text =
      "// first\n#[version = \"0.0.5\"]\n\n// of @f\ndef @f(%x: int32) { // the body\n  // before\n  let %y = %x; // "
      "behind\n"
      "\n\n  /* inner */ %y + /* one */ 1\n  // last\n}\n// end\n";
  const std::string expected =
      "// first\n#[version = \"0.0.5\"]\n\n// of @f\ndef @f(%x: int32) {\n  // the body\n  // before\n"
      "  let %y = %x; // behind\n\n  /* inner */ %y + /* one */ 1\n  // last\n}\n\n// end\n";
  CHECK(formatted(text) == expected);
  CHECK(formatted(expected) == expected);
  const std::string behind = "def @f(%x: int32) { %x } // " + std::string(100, 'c') + "\n";
  CHECK(formatted(behind) == behind);
}

TEST_CASE("the layout of nested text takes linear time") {
  const std::string deep = "def @f() { " + std::string(20000, '(') + "1" + std::string(20000, ')') + " }\n";
  std::string found;
  on_deep_stack([&] { found = formatted(deep); });
  CHECK(found == "def @f() {\n  " + std::string(20000, '(') + "1" + std::string(20000, ')') + "\n}\n");
}

TEST_CASE("the indentation of branches nested deeply is limited") {
  std::string text = "def @f(%x: bool) { ";
  for (int k = 0; k < 2000; ++k) text += "if (%x) { %x } else { ";
  text += "%x" + std::string(2001, '}');
  std::string found;
  on_deep_stack([&] { found = formatted(text); });
  CHECK(found.size() < 1'000'000);
}

TEST_CASE("a list that does not fit has an item on each line") {
  const std::string name(40, 'a');
  CHECK(formatted("def @f(%" + name + ": int32) { (%" + name + " + 1, %" + name + ", %" + name + ") }") ==
        "def @f(%" + name + ": int32) {\n  (\n    %" + name + " + 1,\n    %" + name + ",\n    %" + name + "\n  )\n}\n");
}

TEST_CASE("text that cannot be read is refused with its source location") {
  CHECK(formatted("def @f() { 1 +").starts_with("t:1:"));
  CHECK(formatted("def @f() { %x }").find("%x") != std::string::npos);
}

TEST_CASE("every program keeps its tokens, comments and meaning, and its layout is stable") {
  std::vector<std::filesystem::path> folders = {DLCC_GOLDEN_FOLDER};
  if (std::string data = DLCC_TEST_DATA; !data.empty()) {
    folders.emplace_back(data + "/relay/models");
    folders.emplace_back(data + "/relay/calyx");
  }
  int programs = 0;
  for (const auto& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string text = read_text(entry.path());
      Diagnostics d;
      auto result = format_relay(text, "t", d);
      if (!result) continue;
      CAPTURE(entry.path().string());
      ++programs;
      CHECK(characters(*result) == characters(text));
      CHECK(printed(*result) == printed(text));
      CHECK(formatted(*result) == *result);
    }
  }
  CHECK(programs > 60);
}

}  // namespace dlcc::frontends
