// Loops whose number of iterations is known only after them, and which write one slice of a value in each iteration:
// how scan outputs are stored, and what the checker of storage plans proves of such loops.
#include <doctest/doctest.h>

#include <algorithm>

#include "lower/check_plan.h"
#include "lower/loop_slices.h"
#include "lower/parse_program.h"
#include "lower/program_text.h"
#include "lowering.h"

namespace dlcc::lower {
namespace {

Program parsed(const std::string& text) {
  Diagnostics d;
  auto result = parse_program(text, "p", d);
  REQUIRE_MESSAGE(result, d.str() << text);
  return std::move(result->program);
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

int64_t temporaries_of(const Program& p, const Dim& bytes) {
  return std::ranges::count_if(p.values,
                               [&](const Value& v) { return v.storage == Storage::temporary && v.bytes == bytes; });
}

// ---- lowering

// A loop that adds 1 to a row of 4 numbers while the condition holds and writes the rows to a tensor of 9. Its results
// are the rows and their number.
std::string rows_while(const std::string& first, const std::string& condition) {
  return R"(
    let %zeros = full(0f, shape=[9, 4], dtype="float32");
    let %loop = fn (%i: int64, %again: bool, %v: Tensor[(4), float32], %rows: Tensor[(9, 4), float32])
        -> (Tensor[(9, 4), float32], int64) {
      if (%again) {
        let %next = %v + 1f;
        %loop(%i + 1i64, )" +
         condition + R"(, %next, dynamic_update_slice(%rows, %next, %i))
      } else { (%rows, %i) }
    };
    let %r = %loop(0i64, )" +
         first + R"(, %x, %zeros);
    let %count = reshape(%r.1, newshape=[1]);
  )";
}

std::string output_of(const std::string& loop) {
  return "def @main(%x: Tensor[(4), float32], %n: int64) -> Tensor[(?, 4), float32] {" + loop +
         "prefix(%r.0, %count) }";
}

}  // namespace

TEST_CASE("a scan output of unknown length is written in the caller's memory") {
  const Program p = lowered(output_of(rows_while("True", "less(%i, 4i64)")));
  CHECK(temporaries_of(p, Dim(9 * 16)) == 0);
  CHECK(count_of<Invoke>(p) == 1);                   // one iteration's sum; no zeros
  CHECK(count_of<Read>(p) == 0);                     // the number of rows is a scalar
  CHECK(count_of<std::shared_ptr<Branch>>(p) == 0);  // the requirement is the only test of the index
  REQUIRE(p.outputs.size() == 1);
  const Value& out = p.values[static_cast<size_t>(p.outputs[0])];
  CHECK(out.storage == Storage::output);
  CHECK(std::ranges::count_if(p.values, [&](const Value& v) { return v.begin && v.base == p.outputs[0]; }) == 1);
}

TEST_CASE("a loop without iterations has an empty scan output, one with too many ends the run") {
  lowered(output_of(rows_while("less(%n, 3i64)", "less(%i, 4i64)")));
  lowered(output_of(rows_while("True", "less(%i, 8i64)")));  // all 9 rows
  lowered(output_of(rows_while("True", "less(%i, 9i64)")));  // row 9 is out of range
}

TEST_CASE("scan outputs that other operations read have no initial value") {
  const std::string loop = rows_while("True", "less(%i, 5i64)");
  const Program read =
      lowered("def @main(%x: Tensor[(4), float32], %n: int64) {" + loop + "sum(prefix(%r.0, %count), axis=[0]) }");
  CHECK(temporaries_of(read, Dim(9 * 16)) == 1);
  CHECK(count_of<Invoke>(read) == 2);
  const Program both =
      lowered("def @main(%x: Tensor[(4), float32], %n: int64) -> (Tensor[(?, 4), float32], Tensor[(4), float32]) {" +
              loop + "let %p = prefix(%r.0, %count); (%p, sum(%p, axis=[0])) }");
  CHECK(temporaries_of(both, Dim(9 * 16)) == 0);
  const Program twice =
      lowered("def @main(%x: Tensor[(4), float32], %n: int64) -> (Tensor[(?, 4), float32], Tensor[(?, 4), float32]) {" +
              loop + "let %p = prefix(%r.0, %count); (%p, %p) }");
  CHECK(temporaries_of(twice, Dim(9 * 16)) == 0);
}

TEST_CASE("a loop with scan outputs of different types and shapes, one of them unused") {
  const Program p = lowered(R"(
  def @main(%x: Tensor[(4), float32], %n: int64) -> (Tensor[(?, 4), float32], Tensor[(?), int64]) {
    let %loop = fn (%i: int64, %again: bool, %v: Tensor[(4), float32], %a: Tensor[(9, 4), float32],
                    %b: Tensor[(9), int64], %c: Tensor[(9, 2, 2), float32])
        -> (Tensor[(9, 4), float32], Tensor[(9), int64], Tensor[(9, 2, 2), float32], int64) {
      if (logical_and(less(%i, 9i64), %again)) {
        let %next = %v + 1f;
        %loop(%i + 1i64, less(sum(%next), 20f), %next, dynamic_update_slice(%a, %next, %i),
              dynamic_update_slice(%b, %i * 7i64, %i),
              dynamic_update_slice(%c, reshape(%next, newshape=[2, 2]), %i))
      } else { (%a, %b, %c, %i) }
    };
    let %r = %loop(0i64, True, %x, full(0f, shape=[9, 4], dtype="float32"), full(0i64, shape=[9], dtype="int64"),
                   full(0f, shape=[9, 2, 2], dtype="float32"));
    let %count = reshape(%r.3, newshape=[1]);
    (prefix(%r.0, %count), prefix(%r.1, %count))
  })");
  CHECK(count_of<Require>(p) == 0);  // the loop's condition bounds the index and the number of rows
  for (const Value& v : p.values) CHECK(!(v.bytes == Dim(144) || v.bytes == Dim(72)));
}

TEST_CASE("scan outputs of loops in loops, arms and functions") {
  const std::string loop = rows_while("True", "less(%i, %n)");
  const Program nested = lowered("def @main(%x: Tensor[(4), float32], %n: int64) {" + std::string(R"(
    let %outer = fn (%t: int64, %s: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%t, 3i64)) {)") + loop +
                                 R"(
        %outer(%t + 1i64, %s + sum(prefix(%r.0, %count), axis=[0]))
      } else { %s }
    };
    %outer(0i64, %x) })");
  CHECK(temporaries_of(nested, Dim(9 * 16)) == 1);
  CHECK(count_of<Invoke>(nested) == 2);  // a row and the sum
  const Program arm = lowered("def @main(%x: Tensor[(4), float32], %n: int64) { if (less(%n, 5i64)) {" + loop +
                              "sum(prefix(%r.0, %count), axis=[0]) } else { %x } }");
  CHECK(count_of<Invoke>(arm) == 3);  // the condition, a row and the sum
  const Program function =
      lowered("def @rows(%x: Tensor[(4), float32], %n: int64) -> Tensor[(?, 4), float32] {" + loop +
              "prefix(%r.0, %count) }\n"
              "def @main(%x: Tensor[(4), float32], %n: int64) -> (Tensor[(?, 4), float32], Tensor[(?, 4), float32]) {"
              "(@rows(%x, %n), @rows(%x * 2f, 2i64)) }");
  CHECK(temporaries_of(function, Dim(9 * 16)) == 0);
}

TEST_CASE("a scan output that is read beyond the rows that the loop writes keeps its initial value") {
  const std::string loop = rows_while("True", "less(%i, 4i64)");
  const Program whole = lowered("def @main(%x: Tensor[(4), float32], %n: int64) {" + loop + "exp(%r.0) }");
  CHECK(count_of<Invoke>(whole) == 3);
  const Program more = lowered("def @main(%x: Tensor[(4), float32], %n: int64) {" + loop +
                               "sum(prefix(%r.0, %count + 1i64), axis=[0]) }");
  CHECK(count_of<Invoke>(more) == 3);
  const Program both = lowered("def @main(%x: Tensor[(4), float32], %n: int64) {" + loop +
                               "(sum(prefix(%r.0, %count), axis=[0]), sum(%r.0, axis=[0])) }");
  CHECK(count_of<Invoke>(both) == 4);
}

TEST_CASE("a condition that holds in an arm or in a loop is not known after it") {
  // The arm and the body, which require that the index is in range, are not executed.
  lowered(R"(
  tensor @row(data: f32[5, 4], i: i64[]) -> (y: f32[4]) {
    y[j < 4] = data[i[], j]
      require i[] >= 0 and i[] < 5 : index_out_of_range
  }
  def @main(%x: Tensor[(5, 4), float32], %n: int64) {
    let %l = fn (%t: int64) -> int64 { if (less(%t, %n)) { %l(%t + 1i64) } else { %t } };
    let %at = %l(0i64) + 4i64;  // a scalar, 7
    let %a = if (less(%n, 2i64)) {
      let %r: Tensor[(4), float32] = call_tensor(@row, %x, %at); %r
    } else { full(1f, shape=[4], dtype="float32") };
    let %s: Tensor[(4), float32] = call_tensor(@row, %x, %at);
    %a + %s
  })");
  lowered(R"(
  tensor @row(data: f32[5, 4], i: i64[]) -> (y: f32[4]) {
    y[j < 4] = data[i[], j]
      require i[] >= 0 and i[] < 5 : index_out_of_range
  }
  def @main(%x: Tensor[(5, 4), float32], %n: int64) {
    let %l = fn (%t: int64) -> int64 { if (less(%t, %n)) { %l(%t + 1i64) } else { %t } };
    let %at = %l(0i64) + 4i64;  // a scalar, 7
    let %loop = fn (%i: int64, %s: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, %n - 3i64)) {
        let %r: Tensor[(4), float32] = call_tensor(@row, %x, %at);
        %loop(%i + 1i64, %s + %r)
      } else { %s }
    };
    let %a = %loop(0i64, full(1f, shape=[4], dtype="float32"));
    let %s: Tensor[(4), float32] = call_tensor(@row, %x, %at);
    %a + %s
  })");
}

// ---- the pass

namespace {

const std::string copied = R"(size m in [1, 50]
data size k in [0, m]
%0 = input 0 float32[4], 16 bytes
%1 = input 1 bool[], 1 bytes
%2 = temporary float32[m, 4], 16 * m bytes, align 64
%3 = view of %2 + 0 + (i) * 16 float32[4], 16 bytes
%4 = view of %2 + 0 float32[k, 4], 16 * k bytes
%5 = output 0 float32[k, 4], 16 * k bytes
kernel @full<m in 1..>(write x: f32[m, 4])
kernel @exp(read x: f32[4], write y: f32[4])
run {
  @full(%2, m)
  loop i: i64 = 0 {
    let again: bool = %1[0]
  } while i < m and again {
    @exp(%0, %3)
    next i + 1
  }
  let k: i64 = i
  copy(%4, %5)
}
)";

// The steps that the pass leaves of the initialization and of the copy, and the value whose slices the loop writes.
std::string stored(const std::string& text) {
  Program p = parsed(text);
  CHECK(check_storage(p, plan_storage(p)) == "");
  store_counted_slices(p);
  CHECK(check_storage(p, plan_storage(p)) == "");
  const std::string after = print(p);
  CHECK(print(parsed(after)) == after);
  std::string left = after.find("@full(") == std::string::npos ? "" : "full ";
  if (count_of<Copy>(p) > 0) left += "copy ";
  return left + fmt::format("%{}", p.values[3].base);
}

}  // namespace

TEST_CASE("the initialization and the copy of a scan output are removed") {
  CHECK(stored(copied) == "%5");
  // A step that reads the written slices does so in the output.
  const std::string sum = "kernel @sum<k in 0..>(read x: f32[k, 4], write y: f32[4])\n";
  const std::string read =
      with(with(with(copied, "kernel", "%6 = output 1 float32[4], 16 bytes\nkernel"), "run {", sum + "run {"),
           "  copy(%4, %5)\n", "  copy(%4, %5)\n  @sum(%4, %6, k)\n");
  CHECK(stored(read) == "%5");
  // Not if the output has less memory than the temporary, or if another step uses it.
  const std::string less = with(copied, "in [0, m]", "in [0, m - 1]");
  CHECK(stored(with(less, "  let k", "  require i < m : capacity_exceeded\n  let k")) == "copy %2");
  CHECK(stored(with(copied, "  copy(%4, %5)\n", "  copy(%4, %5)\n  copy(%4, %5)\n")) == "copy %2");
}

TEST_CASE("the initialization of a value that the loop does not write slice by slice is kept") {
  const std::string kept = "full copy %2";
  CHECK(stored(with(copied, "i: i64 = 0", "i: i64 = 1")) == kept);
  CHECK(stored(with(copied, "next i + 1", "next i + 2")) == kept);
  CHECK(stored(with(copied, "i < m and again", "2 * i < m and again")) == "%5");
  CHECK(stored(with(copied, "+ (i) * 16", "+ (m - 1 - i) * 16")) == kept);
  CHECK(stored(with(copied, "    @exp(%0, %3)\n", "    if again {\n      @exp(%0, %3)\n    } else {\n    }\n")) ==
        kept);
  CHECK(stored(with(copied, "    @exp(%0, %3)\n", "    @exp(%0, %3)\n    copy(%0, %3)\n")) == kept);
  CHECK(stored(with(copied, "i < m and again", "again")) == kept);
}

TEST_CASE("the initialization of a value of which other slices are read is kept") {
  const std::string kept = "full copy %2";
  CHECK(stored(with(copied, "let k: i64 = i", "let k: i64 = i + 0")) == kept);
  CHECK(stored(with(copied, "let k: i64 = i", "let j: i64 = i\n  let k: i64 = min(j, 3)")) == kept);
  const std::string behind = with(copied, "view of %2 + 0 float32[k, 4]", "view of %2 + 16 float32[k, 4]");
  CHECK(stored(with(with(behind, "in [0, m]", "in [0, m - 1]"), "  let k",
                    "  require i < m : capacity_exceeded\n  let k")) == kept);
}

// ---- the checker

namespace {

const std::string counted = R"(size m in [1, 50]
data size k in [0, m]
%0 = input 0 float32[4], 16 bytes
%1 = input 1 bool[], 1 bytes
%2 = output 0 float32[k, 4], 16 * k bytes
%3 = view of %2 + 0 + (i) * 16 float32[4], 16 bytes
%4 = temporary float32[4], 16 bytes, align 64
kernel @exp(read x: f32[4], write y: f32[4])
kernel @sum<k in 0..>(read x: f32[k, 4], write y: f32[4])
run {
  loop i: i64 = 0 {
    let again: bool = %1[0]
  } while i < m and again {
    @exp(%0, %3)
    next i + 1
  }
  let k: i64 = i
}
)";

std::string checked(const std::string& text) {
  const Program p = parsed(text);
  return check_storage(p, plan_storage(p));
}

const std::string undefined = "the end of the program: byte 0 of %2 holds no defined value";

}  // namespace

TEST_CASE("a loop has defined as many slices as the size that is its counter") {
  CHECK(checked(counted) == "");
  const std::string required =
      with(with(counted, "i < m and again", "again"), "    @exp", "    require i < m : index_out_of_range\n    @exp");
  CHECK(checked(required) == "");
  CHECK(checked(with(required, "i < m :", "i + 1 <= m :")) == "");
  CHECK(checked(with(required, "i < m :", "2 * i < m :")) == "");
  CHECK(checked(with(required, "i < m :", "i < min(7, m) :")) == "");
  CHECK(checked(with(with(counted, "while i < m and again", "while goes_on"), "%1[0]\n",
                     "%1[0]\n    let goes_on: bool = i < m and again\n")) == "");
  CHECK(checked(with(counted, "next i + 1", "let next_i: i64 = i + 1\n    next next_i")) == "");
  CHECK(checked(with(counted, "  let k: i64 = i\n", "  let j: i64 = i\n  let k: i64 = j\n")) == "");
}

TEST_CASE("each index of a slice is proved to be in memory") {
  CHECK(checked(with(counted, "i < m and again", "again")) == undefined);
  CHECK(checked(with(counted, "i < m and again", "i <= m and again")) == undefined);
  CHECK(checked(with(counted, "i < m and again", "m < i and again")) == undefined);
  CHECK(checked(with(with(counted, "i < m and again", "again"), "%3)\n",
                     "%3)\n    require i < m : index_out_of_range\n")) == undefined);  // after the write
  // The memory of an output is that for its largest size.
  CHECK(checked(with(counted, "in [0, m]", "in [0, 9]")) == undefined);
  CHECK(checked(with(with(counted, "in [0, m]", "in [0, 9]"), "i < m and", "i < 9 and")) == "");
}

TEST_CASE("a loop that does not write slice after slice has defined none") {
  CHECK(checked(with(counted, "i: i64 = 0", "i: i64 = 1")) == undefined);
  CHECK(checked(with(counted, "next i + 1", "next i + 2")) == undefined);
  CHECK(checked(with(counted, "next i + 1", "next i")) == undefined);
  CHECK(checked(with(counted, "+ (i) * 16", "+ (i) * 4")) == undefined);
  CHECK(checked(with(counted, "+ (i) * 16", "+ (m - 1 - i) * 16")) == undefined);
  CHECK(checked(with(counted, "    @exp(%0, %3)\n", "    if again {\n      @exp(%0, %3)\n    } else {\n    }\n")) ==
        undefined);
  CHECK(checked(with(counted, "    @exp(%0, %3)\n", "    loop {\n    } while again {\n      @exp(%0, %3)\n    }\n")) ==
        undefined);
}

TEST_CASE("a size that is not the counter of the loop says nothing of its slices") {
  CHECK(checked(with(counted, "let k: i64 = i", "let k: i64 = i - 1")) == undefined);
  CHECK(checked(with(counted, "let k: i64 = i", "let k: i64 = m")) == undefined);
  CHECK(checked(with(with(counted, "  let k: i64 = i\n", ""), "run {\n", "run {\n  let k: i64 = m\n")) == undefined);
  CHECK(checked(with(with(counted, "  loop", "  let c: bool = %1[0]\n  if c {\n  loop"), "  let k: i64 = i\n",
                     "  } else {\n  }\n  let k: i64 = m\n")) == undefined);
}

TEST_CASE("the slices that a loop writes are not read in the loop, nor others after it") {
  CHECK(checked(with(counted, "    @exp(%0, %3)\n", "    @exp(%0, %3)\n    @exp(%3, %4)\n")) ==
        "exp: a loop has not written all slices of %3 yet");
  // The slices of another loop's number are not those that the first loop has written.
  const std::string second = R"(  loop j: i64 = 0 {
    let more: bool = %1[0]
  } while j < m and more {
    next j + 1
  }
  let n: i64 = j
)";
  std::string text = with(with(counted, "data size k in [0, m]\n", "data size k in [0, m]\ndata size n in [0, m]\n"),
                          "  let k: i64 = i\n}", "  let k: i64 = i\n" + second + "  @sum(%5, %6, k)\n}");
  text =
      with(text, "%2 = output 0 float32[k, 4], 16 * k bytes", "%2 = temporary float32[m, 4], 16 * m bytes, align 64");
  text = with(text, "kernel",
              "%5 = view of %2 + 0 float32[k, 4], 16 * k bytes\n%6 = output 0 float32[4], 16 bytes\nkernel");
  CHECK(checked(text) == "");
  text = with(text, "%5 = view of %2 + 0 float32[k, 4], 16 * k", "%5 = view of %2 + 0 float32[n, 4], 16 * n");
  CHECK(checked(with(text, "@sum(%5, %6, k)", "@sum(%5, %6, n)")).find("of %5 holds no defined value") !=
        std::string::npos);
  CHECK(checked(with(with(text, "16 * n bytes", "16 * m bytes"), "@sum(%5, %6, k)", "@sum(%5, %6, m)"))
            .find("of %5 holds no defined value") != std::string::npos);
}

}  // namespace dlcc::lower
