// Slices at scalars in loops: one slice of a tensor is read as a view, or updated in place.
#include <doctest/doctest.h>

#include <algorithm>

#include "lower/steps.h"
#include "lowering.h"

namespace dlcc::lower {
namespace {

constexpr const char* update_row = R"(
tensor @update(data: f32[5, 4], row: f32[4], i: i64[]) -> (y: f32[5, 4]) {
  y[t < 5, j < 4] = t == i[] ? row[j] : data[t, j]
}
)";

}  // namespace

TEST_CASE("one slice of a carried tensor is updated in place, one of another tensor is read as a view") {
  Program p = lowered(std::string(update_row) + R"(
  def @main(%x: Tensor[(5, 4), float32], %w: Tensor[(4, 4), float32]) {
    let %zeros: Tensor[(5, 4), float32] = full(0f, shape=[5, 4], dtype="float32");
    let %loop = fn (%i: int64, %h: Tensor[(1, 4), float32], %ys: Tensor[(5, 4), float32])
        -> (Tensor[(5, 4), float32], Tensor[(1, 4), float32]) {
      if (less(%i, 5i64)) {
        let %g = tanh(nn.matmul(%h, %w) + take(%x, %i, axis=0));
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, reshape(%g, newshape=[4]), %i);
        %loop(%i + 1i64, %g, %next)
      } else { (%ys, %h) }
    };
    %loop(0i64, full(0f, shape=[1, 4], dtype="float32"), %zeros)
  })");
  CHECK(count_of<std::shared_ptr<Branch>>(p) == 0);
  CHECK(count_of<Require>(p) == 0);  // the counter is in range
  auto slices = std::ranges::count_if(p.values, [](const Value& v) { return bool(v.begin); });
  CHECK(slices == 2);
  for (const Value& v : p.values)
    if (v.bytes == Dim(80)) CHECK(v.storage != Storage::temporary);  // all updates are in the output
  CHECK(count_of<Copy>(p) == 2);    // a row and the next state; not the zeros that the loop overwrites
  CHECK(count_of<Invoke>(p) == 2);  // the first state and the next one
}

TEST_CASE("a tensor is updated in place though the iteration reads it after the update") {
  Program p = lowered(std::string(update_row) + R"(
  def @main(%x: Tensor[(4), float32], %first: Tensor[(5, 4), float32]) {
    let %loop = fn (%i: int64, %sum: Tensor[(4), float32], %ys: Tensor[(5, 4), float32])
        -> (Tensor[(5, 4), float32], Tensor[(4), float32]) {
      if (less(%i, 5i64)) {
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, %sum, %i);
        %loop(%i + 1i64, nn.softmax(sum(%next, axis=[0])), %next)
      } else { (%ys, %sum) }
    };
    %loop(0i64, %x, %first)
  })");
  CHECK(std::ranges::count(p.values, Dim(80), &Value::bytes) == 2);  // the first value and the updated one
}

TEST_CASE("a tensor is updated in place after the last read, unless a view of it is read later") {
  auto rows = [](const std::string& body) {  // the tensors of all rows that are stored
    const Program p = lowered(std::string(update_row) + R"(
    def @main(%x: Tensor[(4), float32], %first: Tensor[(5, 4), float32]) {
      let %loop = fn (%i: int64, %sum: Tensor[(4), float32], %ys: Tensor[(5, 4), float32])
          -> (Tensor[(5, 4), float32], Tensor[(4), float32]) {
        if (less(%i, 5i64)) {)" +
                              body + R"(} else { (%ys, %sum) }
      };
      %loop(0i64, %x, %first)
    })");
    return std::ranges::count(p.values, Dim(80), &Value::bytes);
  };
  const std::string update = "let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, %sum, %i);";
  CHECK(rows("let %a = tanh(sum(%ys, axis=[0]));"
             "let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, %a, %i);"
             "%loop(%i + 1i64, nn.softmax(%a), %next)") == 2);
  CHECK(rows("let %a = take(%ys, %i, axis=0);" + update + "%loop(%i + 1i64, nn.softmax(%a), %next)") == 3);
  CHECK(rows(update + "%loop(%i + 1i64, nn.softmax(sum(%ys, axis=[0])), %next)") == 3);
}

TEST_CASE("a slice that several stages compute is updated in place") {
  Program p = lowered(R"(
  tensor @update(x: f32[5, 4], data: f32[5, 4], i: i64[]) -> (y: f32[5, 4]) {
    temp row: f32[4]
    row[j < 4] = x[i[], j] + 1.0
      require i[] >= 0 and i[] < 5 : index_out_of_range
    y[t < 5, j < 4] = t == i[] ? tanh(row[j]) : data[t, j]
  }
  def @main(%x: Tensor[(5, 4), float32]) {
    let %zeros: Tensor[(5, 4), float32] = full(0f, shape=[5, 4], dtype="float32");
    let %loop = fn (%i: int64, %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%i, 5i64)) {
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %x, %ys, %i);
        %loop(%i + 1i64, %next)
      } else { %ys }
    };
    %loop(0i64, %zeros)
  })");
  CHECK(count_of<Copy>(p) == 0);
  CHECK(count_of<Invoke>(p) == 1);  // without the zeros
}

TEST_CASE("a function whose earlier stage may end the run updates no slice in place") {
  Program p = lowered(R"(
  tensor @update(list: i64[4], data: f32[5, 4], i: i64[]) -> (y: f32[5, 4]) {
    temp row: f32[4]
    row[j < 4] = f32(list[j])
      require list[j] < 1000 : index_out_of_range
    y[t < 5, j < 4] = t == i[] ? tanh(row[j]) : data[t, j]
  }
  def @main(%list: Tensor[(4), int64], %x: Tensor[(5, 4), float32], %first: int64) {
    let %loop = fn (%i: int64, %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%i, 9i64)) {
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %list, %ys, %i + %first);
        %loop(%i + 1i64, %next)
      } else { %ys }
    };
    %loop(0i64, %x)
  })");
  CHECK(count_of<std::shared_ptr<Branch>>(p) == 0);  // the function runs also where the index is out of range
}

TEST_CASE("a loop that updates some slices keeps the initial value of the others") {
  lowered(std::string(update_row) + R"(
  def @main(%x: Tensor[(5, 4), float32]) {
    let %e = exp(%x * 0.1f);
    let %loop = fn (%i: int64, %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%i, 3i64)) {
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, full(2f, shape=[4], dtype="float32"), %i);
        %loop(%i + 1i64, %next)
      } else { %ys }
    };
    %loop(0i64, %e)
  })");
}

TEST_CASE("a loop that updates slices twice keeps the initial value of the others") {
  Program p = lowered(std::string(update_row) + R"(
  def @main(%x: Tensor[(5, 4), float32]) {
    let %e = exp(%x * 0.1f);
    let %loop = fn (%i: int64, %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%i, 5i64)) {
        let %at = floor_divide(%i, 2i64);
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, full(2f, shape=[4], dtype="float32"), %at);
        %loop(%i + 1i64, %next)
      } else { %ys }
    };
    %loop(0i64, %e)
  })");
  CHECK(count_of<Invoke>(p) == 2);  // the initial value and the slice
}

TEST_CASE("slices in descending order are read and updated in place") {
  Program p = lowered(std::string(update_row) + R"(
  def @main(%x: Tensor[(5, 4), float32]) {
    let %zeros: Tensor[(5, 4), float32] = full(0f, shape=[5, 4], dtype="float32");
    let %loop = fn (%i: int64, %s: Tensor[(4), float32], %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%i, 5i64)) {
        let %at = 4i64 - %i;
        let %sum = %s + take(%x, %at, axis=0);
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, %sum, %at);
        %loop(%i + 1i64, %sum, %next)
      } else { %ys }
    };
    %loop(0i64, full(0f, shape=[4], dtype="float32"), %zeros)
  })");
  CHECK(count_of<Copy>(p) == 1);    // a row; the next sum replaces the sum
  CHECK(count_of<Invoke>(p) == 2);  // the first sum and the next one
}

TEST_CASE("an update whose index is out of range changes nothing") {
  lowered(std::string(update_row) + R"(
  def @main(%x: Tensor[(5, 4), float32]) {
    let %loop = fn (%i: int64, %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%i, 9i64)) {
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, full(2f, shape=[4], dtype="float32"), %i);
        %loop(%i + 2i64, %next)
      } else { %ys }
    };
    %loop(-3i64, %x)
  })");
}

TEST_CASE("a tensor that is read after its update is not updated in place") {
  lowered(std::string(update_row) + R"(
  def @main(%x: Tensor[(5, 4), float32]) {
    let %loop = fn (%i: int64, %ys: Tensor[(5, 4), float32], %s: Tensor[(4), float32])
        -> (Tensor[(5, 4), float32], Tensor[(4), float32]) {
      if (less(%i, 5i64)) {
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, full(2f, shape=[4], dtype="float32"), %i);
        %loop(%i + 1i64, %next, sum(%ys, axis=[0]))
      } else { (%ys, %s) }
    };
    %loop(0i64, %x, sum(%x, axis=[0]))
  })");
}

TEST_CASE("an update whose new slice depends on the old tensor is not done in place") {
  lowered(R"(
  tensor @shift(data: f32[5, 4], i: i64[]) -> (y: f32[5, 4]) {
    y[t < 5, j < 4] = t == i[] ? data[t, 3 - j] * 2.0 : data[t, j]
  }
  def @main(%x: Tensor[(5, 4), float32]) {
    let %loop = fn (%i: int64, %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%i, 5i64)) {
        let %next: Tensor[(5, 4), float32] = call_tensor(@shift, %ys, %i);
        %loop(%i + 1i64, %next)
      } else { %ys }
    };
    %loop(0i64, %x)
  })");
}

TEST_CASE("a read of two slices of one tensor is not a view") {
  lowered(R"(
  tensor @pair(data: f32[5, 4], i: i64[]) -> (y: f32[4]) {
    y[j < 4] = data[max(min(i[], 4), 0), j] + data[max(min(i[] + 1, 4), 0), j]
  }
  def @main(%x: Tensor[(5, 4), float32]) {
    let %loop = fn (%i: int64, %s: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, 5i64)) {
        let %next: Tensor[(4), float32] = call_tensor(@pair, %x, %i);
        %loop(%i + 1i64, %next + %s)
      } else { %s }
    };
    %loop(0i64, sum(%x, axis=[0]))
  })");
}

TEST_CASE("a clamped index stays in bounds; MACs count for each iteration") {
  Program p = lowered(R"(def @main(%x: Tensor[(5, 4), float32], %w: Tensor[(4, 4), float32]) {
    let %loop = fn (%i: int64, %h: Tensor[(1, 4), float32]) -> Tensor[(1, 4), float32] {
      if (less(%i, 5i64)) {
        let %row = take(%x, minimum(%i, 3i64), axis=0);
        %loop(%i + 1i64, nn.matmul(%h, %w) + %row)
      } else { %h }
    };
    %loop(0i64, full(1f, shape=[1, 4], dtype="float32"))
  })");
  CHECK(total_macs(p) == 5 * 16);
}

TEST_CASE("a slice at an index of unknown range is read under a requirement") {
  Program p = lowered(R"(
  tensor @row(data: f32[5, 4], i: i64[]) -> (y: f32[4]) {
    y[j < 4] = data[i[], j]
  }
  def @main(%x: Tensor[(5, 4), float32], %n: int64) {
    let %loop = fn (%i: int64, %s: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%i, %n)) {
        let %r: Tensor[(4), float32] = call_tensor(@row, %x, %i);
        %loop(%i + 1i64, %r + %s)
      } else { %s }
    };
    %loop(0i64, sum(%x, axis=[0]))
  })");
  CHECK(count_of<Require>(p) == 1);
}

TEST_CASE("a slice at a scalar index is no operand of an in-place concatenation") {
  lowered(R"(def @main(%x: Tensor[(6, 16), float32], %n: int64) {
    let %l = fn (%t: int64) -> int64 { if (less(%t, %n)) { %l(%t + 1i64) } else { %t } };
    let %k = %l(0i64);
    let %a = take(%x, %k, axis=0);
    let %b = reshape(strided_slice(%x, begin=[1, 0], end=[2, 16], strides=[1, 1]), newshape=[16]);
    let %both = concatenate((expand_dims(%a, axis=0), expand_dims(%b, axis=0)), axis=0);
    tanh(nn.matmul(%both, transpose(%x, axes=[1, 0])))
  })");
}

TEST_CASE("a load in an arm of a select requires no index in range") {
  lowered(R"(
  tensor @f(x: f32[5, 4], i: i64[]) -> (y: f32[4]) {
    y[j < 4] = i[] < 5 ? x[i[], j] : 0.5
  }
  def @main(%x: Tensor[(5, 4), float32], %n: int64) {
    let %l = fn (%t: int64, %s: Tensor[(4), float32]) -> Tensor[(4), float32] {
      if (less(%t, 8i64)) {
        let %r: Tensor[(4), float32] = call_tensor(@f, %x, %t + %n);
        %l(%t + 1i64, %r + %s)
      } else { %s }
    };
    %l(0i64, sum(%x, axis=[0]))
  })");
}

TEST_CASE("removal of a loop's initial value keeps an in-place concatenation correct") {
  lowered(R"(def @main(%x: Tensor[(16), float32], %a: Tensor[(16, 16), float32]) {
    let %init = nn.matmul(%a, %a);
    let %p = nn.matmul(%a, tanh(%a));
    let %q = nn.matmul(tanh(%a), %a);
    let %d = nn.matmul(concatenate((%p, %q), axis=0), %a);
    let %loop = fn (%t: int64, %ys: Tensor[(16, 16), float32]) -> Tensor[(16, 16), float32] {
      if (less(%t, 16i64)) {
        %loop(%t + 1i64, dynamic_update_slice(%ys, %x + cast(%t, dtype="float32"), %t))
      } else { %ys }
    };
    let %r = %loop(0i64, %init);
    (%d, nn.matmul(concatenate((nn.matmul(%a, %a), %r), axis=0), %a))
  })");
}

TEST_CASE("updates and reads at indices known to be out of range") {
  lowered(std::string(update_row) + R"(
  def @main(%x: Tensor[(5, 4), float32]) {
    let %l = fn (%t: int64, %ys: Tensor[(5, 4), float32]) -> Tensor[(5, 4), float32] {
      if (less(%t, 3i64)) {
        let %k = %t - %t + 9i64;
        let %next: Tensor[(5, 4), float32] = call_tensor(@update, %ys, full(2f, shape=[4], dtype="float32"), %k);
        %l(%t + 1i64, %next)
      } else { %ys }
    };
    %l(0i64, %x)
  })");
}

}  // namespace dlcc::lower
