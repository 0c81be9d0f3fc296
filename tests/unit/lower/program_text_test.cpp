// Programs as text: what is printed parses to the same program, and other text is refused with a source location.
#include "lower/program_text.h"

#include <doctest/doctest.h>

#include "golden.h"
#include "lower/check_plan.h"
#include "lower/parse_program.h"
#include "lower/verify.h"
#include "random_program.h"

using namespace dlcc;
using namespace dlcc::lower;

namespace {

ParsedProgram parsed(const std::string& text) {
  Diagnostics d;
  auto result = parse_program(text, "p", d);
  REQUIRE_MESSAGE(result, d.str() << text);
  return std::move(*result);
}

std::string error(const std::string& text) {
  Diagnostics d;
  const bool accepted = parse_program(text, "p", d).has_value();
  CHECK(accepted == !d.has_errors());
  return d.str();
}

// A program with every kind of step and of value.
const std::string everything = R"(size n in [0, unbounded], typically 16  # 'batch size'
size h_by_8 in [1, 9], times 8  # 'h'
%0 = input 0 float32[n, 4], 16 * n bytes  # 'x'
%1 = constant 0 float32[4], 16 bytes  # 'w'
%2 = output 0 float32[n, 4], 16 * n bytes, align 16
%3 = temporary float32[8 * h_by_8], 32 * h_by_8 bytes, align 64
%4 = view of %2 + 0 + (i) * 16 float32[4], 16 bytes  # 'row'
%5 = temporary int64[], 8 bytes, align 8
%6 = view of %3 + 4 float32[], 4 bytes
check 0 <= 8 * h_by_8 - 5 <= 2^40
require n <= 8 * h_by_8 : shape_mismatch
kernel @add(read a: f32[4], read b: f32[4], write y: f32[4])
kernel @"with a blank"<n>(read x: f32[n, 4] align 64, write y: f32[n, 4], scratch s: f32[n, 4] strides [8, 1], scalar t: i64)
run {
  %5[0] = n + 1
  let m: i64 = %5[0]
  let small: i64, large: i64 = if m < 5 {
    copy(%0, %2)
    yield m, 2 * m
  } else {
    @"with a blank"(%0, %2, %3, m, n), %2 may replace %0  # node 1, node 2
    yield 1, 2
  }
  loop i: i64 = 0, done: bool = false {
    require i < 100 : index_out_of_range
  } while i < large and not(done) {
    @add(%1, %1, %4), %4 may replace operand 1
    check 0 <= n - 7 <= 2^40
    if i == small {
      %5[0] = i
    } else {
    }
    next i + 1, i == 3
  }
}
)";

// The text with one part replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("printed programs parse to the same program") {
  const ParsedProgram p = parsed(everything);
  CHECK(print(p.program) == everything);
  CHECK(!p.plan);
  CHECK(p.program.dims[0].name == "batch size");
  CHECK(p.program.dims[1].multiple == 8);
  CHECK(p.program.dims[1].symbol.high == 9);
  const auto& branch = std::get<std::shared_ptr<Branch>>(p.program.body.steps[2]);
  CHECK(std::get<Invoke>(branch->else_region.steps[0]).in_place == std::vector{std::pair(1, 0)});
  const auto& loop = std::get<std::shared_ptr<Loop>>(p.program.body.steps[3]);
  CHECK(std::get<Invoke>(loop->body.steps[0]).in_place == std::vector{std::pair(2, 1)});
  CHECK(tensor::as<tensor::VarRef>(p.program.values[4].begin)->var == loop->carried[0].var);
}

TEST_CASE("names of sizes and kernels are changed to unique identifiers in the text") {
  ProgramBuilder b;
  const ValueId in = b.input(8), out = b.output(8);
  b.program.body.steps = {b.call({in}, {out}), b.call({in}, {out}), b.call({in}, {out})};
  b.program.kernels[0].name = "k1";
  b.program.kernels[2].name = "a \"b\"";
  const Symbol batch{"batch size", 1};
  b.program.dims = {{"batch size", batch}};
  b.program.values[in].shape = {Dim::symbol(batch)};
  b.program.values[in].bytes = Dim::symbol(batch);
  b.program.values[in].name = "two\nlines";
  const std::string text = print(b.program);
  CHECK(text.find("size batch_size in [1, unbounded]  # 'batch size'\n") == 0);
  CHECK(text.find("uint8[batch_size], batch_size bytes  # 'two lines'\n") != std::string::npos);
  CHECK(text.find("  @k1.1(%0, %1)\n  @\"a \\\"b\\\"\"(%0, %1)\n") != std::string::npos);
  CHECK(print(parsed(text).program) == text);
}

TEST_CASE("the verifier requires a kernel's symbols as its last scalars, in order") {
  Program p = parsed(everything).program;
  tensor::Kernel& kernel = p.kernels[1].variants[0];
  std::swap(kernel.scalars[0], kernel.scalars[1]);
  Diagnostics d;
  CHECK(!verify(p, d));
  CHECK(d.str().find("the symbols of with a blank are not its last scalar parameters") != std::string::npos);
}

TEST_CASE("the text of random programs and their plans parses to the same text") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const Program program = Generator(seed).run();
    const StoragePlan plan = plan_storage(program);
    const std::string text = print(program, &plan);
    const ParsedProgram again = parsed(text);
    REQUIRE(again.plan);
    CHECK(print(again.program, &*again.plan) == text);
    CHECK(plan_storage(again.program).offsets == plan.offsets);
    CHECK(again.plan->offsets == plan.offsets);
    CHECK(check_storage(again.program, *again.plan) == "");
  }
}

TEST_CASE("the text of kernels with bodies for two CPU levels parses") {
  const std::string text = R"(%0 = input 0 float32[4], 16 bytes
%1 = output 0 float32[4], 16 bytes
arena 0 bytes, align 64
kernel @copy(read x: f32[4], write y: f32[4])
run {
  @copy(%0, %1)
}

kernel @copy(read x: f32[4], write y: f32[4]) {
  for i in 4 {
    y[i] = x[i]
  }
}

kernel @copy(read x: f32[4], write y: f32[4]) {
  vector i in 4 {
    y[i] = x[i]
  }
}
)";
  const ParsedProgram p = parsed(text);
  CHECK(p.program.kernels[0].variants.size() == 2);
  CHECK(print_with_lines(p.program, *p.plan).text == text);
}

TEST_CASE("text that is not a program is refused with line and column") {
  auto refuses = [&](const std::string& from, const std::string& to, const std::string& message) {
    const std::string found = error(replaced(everything, from, to));
    CHECK_MESSAGE(found.find(message) != std::string::npos, from << " -> " << to << "\n" << found);
    CHECK(found.starts_with("p:"));
  };
  refuses("%1 = constant", "%7 = constant", "p:4:1: error[syntax-error]: expected %1, found '%7'");
  refuses("constant 0", "const 0", "p:4:6: error[syntax-error]: expected a storage such as 'temporary', found 'const'");
  refuses("float32[n, 4]", "floating[n, 4]", "expected an element type, found 'floating'");
  refuses("float32[n, 4]", "float32[k, 4]", "expected a dimension, found 'k'");
  refuses("16 * n bytes", "-1 bytes", "expected a number of bytes, found '-'");
  refuses("align 64", "align 48", "expected a power of two, found '48'");
  refuses("view of %2 + 0 + (i) * 16", "view of %2 + 0 + (k) * 16", "error[undefined-value]: 'k' is not defined");
  refuses("view of %2 + 0 + (i) * 16", "view of %2 + 0 + (i", "");
  refuses("view of %3", "view of %9", "there is no value %9");
  refuses("input 0", "input 1", "expected input 0");
  refuses("kernel @\"with a blank\"", "kernel @add", "there are two kernels @add");
  refuses("@add(%1", "@sub(%1", "there is no kernel @sub");
  refuses("@add(%1, %1, %4)", "@add(%1, %4)", "2 operands for 3 parameters of add");
  refuses("replace operand 1", "replace %1", "expected an operand of the call, found '%1'");
  refuses("replace operand 1", "replace operand 3", "expected a number in [0, 2], found '3'");
  refuses("yield 1, 2", "yield 1", "expected ','");
  refuses("i < 100", "i + 100", "a requirement has type int64 instead of bool");
  refuses("let m: i64 = %5[0]", "let m: i64 = %5[1]", "%5 has no element 1");
  refuses("i == small", "j == small", "'j' is not defined");
  refuses("require i < 100 : index_out_of_range", "require i < 100 : out", "expected a status, found 'out'");
  refuses("size n in [0, unbounded]", "size n in [4, 3]", "expected a number in [4, ");
  refuses("check 0 <= 8", "check 1 <= 8", "expected a number in [0, 0], found '1'");
  refuses("check 0 <= n - 7", "check 0 <= i - 7", "expected a dimension, found 'i'");
  refuses("align 8\n", "align 8, at 0\n", "expected 'arena' after values with offsets");
  refuses("align 8\n", "align 8, block 2\n", "expected block 2, which %5 names");
  CHECK(error("").find("p:1:1: error[syntax-error]: expected 'run', found the end of the text") == 0);
  std::string nested = "run {\n";
  for (int k = 0; k < 10000; ++k) nested += "if true {\n";
  CHECK(error(nested).find("nested too deeply") != std::string::npos);
}

TEST_CASE("changed text never crashes the parser") {
  std::mt19937 random(1);
  const std::string pieces = "%0123456789()[]{}=,:+-*/<>@#'\" \nabinx";
  int refused = 0;
  for (int k = 0; k < 5000; ++k) {
    std::string text = everything;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % text.size(), length = random() % 12;
      const char piece = pieces[random() % pieces.size()];
      text.replace(at, length, random() % 2 ? std::string(1, piece) : text.substr(random() % text.size(), length));
    }
    Diagnostics d;
    auto result = parse_program(text, "p", d);
    refused += !result;
    REQUIRE(result.has_value() == !d.has_errors());
    if (!result) continue;
    const std::string again = print(result->program);
    CHECK(print(parsed(again).program) == again);
  }
  CHECK(refused > 2500);
}

// The commands: `plan` prints the program with the planner's storage, `check` what the checker finds in the text's.
TEST_CASE("golden texts of storage plans and of the checker's messages") {
  check_golden_folder(DLCC_GOLDEN_FOLDER "/plan", ".program", [](const auto& command, const auto& input, const auto&) {
    const ParsedProgram p = parsed(input);
    if (command == "plan") {
      const StoragePlan plan = plan_storage(p.program);
      CHECK(check_storage(p.program, plan) == "");
      return print(p.program, &plan);
    }
    REQUIRE(command == "check");
    REQUIRE(p.plan);
    const std::string wrong = check_storage(p.program, *p.plan);
    return wrong.empty() ? "the plan is right" : wrong;
  });
}
