// apply_layouts rewrites kernels over logical tensors to kernels over storage, in which each access is in range.
#include "tensor/passes/apply_layouts.h"

#include <doctest/doctest.h>

#include "tensor/layout.h"
#include "tensor/parse.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

// The kernel with its first parameter stored in `layout`.
std::string applied(const std::string& text, const Layout& layout = {}) {
  Diagnostics d;
  auto parsed = parse(text, "t.tir", d);
  REQUIRE_MESSAGE(parsed, d.str());
  const Kernel& kernel = parsed->kernels[0];
  return print(apply_layouts(kernel, {{kernel.params[0].buffer, layout}}));
}

}  // namespace

TEST_CASE("accesses that may be out of range get predicates, others do not") {
  CHECK(applied(R"(kernel @k(read x: f32[4], write y: f32[4]) {
  for i in 4 {
    y[i] = x[i] + x[i + 1] + x[i - 1]
  }
  for j in 5 {
    y[j] = 1.0
  }
}
)") == R"(kernel @k(read x: f32[4], write y: f32[4]) {
  for i in 4 {
    y[i] = x[i] + (x[i + 1] else 0.0) + (x[i - 1] else 0.0)
  }
  for j in 5 {
    if j >= 0 and j < 4 {
      y[j] = 1.0
    }
  }
}
)");
}

TEST_CASE("a condition narrows index ranges in its own branch only") {
  CHECK(applied(R"(kernel @k(read x: f32[4], write y: f32[9]) {
  for i in 9 {
    if i < 5 and i >= 1 {
      y[i] = x[i] + x[i - 1]
    } else {
      y[i] = x[i - 2]
    }
  }
  for j in 9 {
    if j < 4 {
      y[j] = x[j]
    }
  }
}
)") == R"(kernel @k(read x: f32[4], write y: f32[9]) {
  for i in 9 {
    if i < 5 and i >= 1 {
      y[i] = (x[i] else 0.0) + x[i - 1]
    } else {
      y[i] = x[i - 2] else 0.0
    }
  }
  for j in 9 {
    if j < 4 {
      y[j] = x[j]
    }
  }
}
)");
}

TEST_CASE("a requirement gives the range of an index in the statements after it") {
  CHECK(applied(R"(kernel @k<n in 1..>(read x: f32[9], read p: i64[n], write y: f32[n], write z: f32[9]) {
  let k = p[0]
  for i in n {
    y[k] = 0.0
    require k >= 0 and k < n : index_out_of_range
    let first = p[i]
    require first >= 0 and first < 9 : index_out_of_range
    y[k] = x[first] + x[first + 1]
    require k >= 0 and k < 9 : index_out_of_range
    z[k] = 0.0
  }
  y[k] = 1.0
  z[k] = 1.0
}
)") == R"(kernel @k<n in 1..>(read x: f32[9], read p: i64[n], write y: f32[n], write z: f32[9]) {
  let k = p[0]
  for i in n {
    if k >= 0 and k < n {
      y[k] = 0.0
    }
    require k >= 0 and k < n : index_out_of_range
    let first = p[i]
    require first >= 0 and first < 9 : index_out_of_range
    y[k] = x[first] + (x[first + 1] else 0.0)
    require k < 9 : index_out_of_range
    z[k] = 0.0
  }
  if k >= 0 and k < n {
    y[k] = 1.0
  }
  if k >= 0 and k < 9 {
    z[k] = 1.0
  }
}
)");
}

TEST_CASE("what a branch requires is no fact behind it, and sums that may wrap are none") {
  const std::string kernel = R"(kernel @k<n>(read p: i64[4], write y: f32[n]) {
  let k = p[0]
  if p[1] < 3 {
    y[0] = 0.0
  } else {
    require k >= 0 and k < n : index_out_of_range
    y[k] = 2.0
  }
  y[k] = 1.0
  let j = p[2]
  require j >= 0 and j + 1 < n : index_out_of_range
  y[j] = 3.0
  let next = j + 1
  require next < n : index_out_of_range
  y[j] = 4.0
}
)";
  const std::string text = applied(kernel);
  CHECK(text.find("if k >= 0 and k < n {\n    y[k] = 1.0") != std::string::npos);
  CHECK(text.find("if j >= 0 and j < n {\n    y[j] = 3.0") != std::string::npos);
  CHECK(text.find("if j >= 0 and j < n {\n    y[j] = 4.0") != std::string::npos);
  CHECK(text.find("\n    y[k] = 2.0") != std::string::npos);
}

TEST_CASE("indices are mapped by the layout, and the padding of the last block is not read") {
  Layout blocks = blocked_layout({6}, 0, 4, Layout::Tail::unspecified);
  CHECK(applied(R"(kernel @k(read x: f32[6], write y: f32[8]) {
  for i in 6 {
    y[i] = x[i]
  }
  for j in 8 {
    y[j] = (x[j] else 7.0)
  }
}
)",
                blocks) == R"(kernel @k(read x: f32[2, 4], write y: f32[8]) {
  for i in 6 {
    y[i] = x[floordiv(i, 4), floormod(i, 4)]
  }
  for j in 8 {
    y[j] = j < 6 ? x[floordiv(j, 4), floormod(j, 4)] : 7.0
  }
}
)");
}
