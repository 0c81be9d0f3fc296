// Scratch that becomes local to loops over rows, or that shares the memory of another buffer.
#include "tensor/passes/shrink_scratch.h"

#include <doctest/doctest.h>

#include "tensor/parse.h"
#include "tensor/passes/row_accesses.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

Kernel parsed_kernel(const std::string& body) {
  Diagnostics d;
  auto parsed = parse(
      "kernel @k(read x: f32[8, 16], write y: f32[8, 16], scratch e: f32[8, 16], scratch f: f32[8, 16], "
      "scratch t: f32[8]) {\n" +
          body + "}\n",
      "t.tir", d);
  REQUIRE_MESSAGE(parsed, d.str());
  return parsed->kernels[0];
}

std::string body_of(const Kernel& kernel) {
  const std::string text = print(kernel);
  return text.substr(text.find('\n') + 1);
}

// The names of the scratch that stays when the scratch of the kernel shares memory, and the kernel's new body.
std::pair<std::string, std::string> shared(const std::string& body) {
  Kernel kernel = parsed_kernel(body);
  std::vector<Stmt> bodies = {kernel.body};
  std::vector<Buffer> scratch;
  for (const Parameter& p : kernel.params)
    if (p.access == Access::scratch && accesses(kernel.body, p.buffer)) scratch.push_back(p.buffer);
  const std::vector<Buffer> taken = share_memory(bodies, scratch, {kernel.params[1].buffer});
  kernel.body = bodies[0];
  std::string rest;
  for (const Buffer& b : scratch) rest += b->name;
  return {(taken.empty() ? "" : "y ") + rest, body_of(kernel)};
}

std::string stays(const std::string& body) { return shared(body).first; }

std::string nest(const std::string& statement, const std::string& i = "i") {
  return "  for " + i + " in 8 {\n    for j" + i + " in 16 {\n      " + statement + "\n    }\n  }\n";
}

}  // namespace

TEST_CASE("scratch of one row for each iteration becomes local") {
  const std::string first = "    vector j in 16 {\n      e[i, j] = exp(x[i, j])\n    }\n",
                    second = "    vector l in 16 {\n      y[i, l] = e[i, l] * 2.0\n    }\n";
  auto contracted = [&](const std::string& body, int64_t max_bytes) {
    Kernel kernel = parsed_kernel(body);
    std::vector<Stmt> bodies = {kernel.body};
    std::vector<Buffer> scratch = {kernel.params[2].buffer};
    contract_scratch(bodies, scratch, max_bytes);
    kernel.body = bodies[0];
    CHECK((print(kernel).find("alloc local e.1: f32[1, 16]") == std::string::npos) == !scratch.empty());
    return scratch.empty();
  };
  const std::string rows = "  parallel i in 8 {\n" + first + second + "  }\n";
  CHECK(contracted(rows, 64));
  CHECK_FALSE(contracted(rows, 63));  // a row has 64 bytes
  CHECK_FALSE(contracted("  parallel i in 8 {\n" + first + "  }\n  parallel i in 8 {\n" + second + "  }\n", 64));
}

TEST_CASE("the rows of scratch for one thread use the same memory") {
  auto reused = [](const std::string& body) {
    Diagnostics d;
    auto parsed = parse(
        "kernel @k<m, n>(read x: f32[8, n, m], write y: f32[8, n, m], scratch e: f32[8, n, m]) {\n" + body + "}\n",
        "t.tir", d);
    REQUIRE_MESSAGE(parsed, d.str());
    Kernel kernel = parsed->kernels[0];
    std::vector<Stmt> bodies = {kernel.body};
    std::vector<Buffer> scratch = {kernel.params[2].buffer};
    reuse_rows(bodies, scratch);
    kernel.params[2].buffer = scratch[0];
    kernel.body = bodies[0];
    const std::string text = print(kernel), rest = text.substr(text.find("scratch"));
    return rest.substr(0, rest.find('\n')) + "\n" + body_of(kernel);
  };
  const std::string row = R"(      for j in m {
        e[i, k, j] = exp(x[i, k, j])
      }
      for l in m {
        y[i, k, l] = e[i, k, m - 1 - l]
      }
)";
  CHECK(reused("  parallel i in 8 {\n    parallel k in n {\n" + row + "    }\n  }\n") ==
        R"(scratch e: f32[1, 1, m]) {
  for i in 8 {
    for k in n {
      for j in m {
        e[0, 0, j] = exp(x[i, k, j])
      }
      for l in m {
        y[i, k, l] = e[0, 0, m - 1 - l]
      }
    }
  }
}
)");
  // The lanes of a vector loop run at the same time.
  CHECK(reused("  parallel i in 8 {\n    vector k in 4 {\n" + row + "    }\n  }\n")
            .starts_with("scratch e: f32[1, n, m]) {"));
  // The second nest reads rows that the first one wrote in other iterations.
  const std::string two = "  parallel i in 8 {\n    parallel k in n {\n      e[i, k, 0] = x[i, k, 0]\n    }\n"
                          "    parallel l in n {\n      y[i, l, 0] = e[i, l, 0]\n    }\n  }\n";
  CHECK(reused(two).starts_with("scratch e: f32[1, n, m]) {"));
  CHECK(reused("  parallel i in 8 {\n    e[i, 0, 0] = x[i, 0, 0]\n    y[i, 0, 0] = e[7 - i, 0, 0]\n  }\n")
            .starts_with("scratch e: f32[8, n, m]) {"));
}

TEST_CASE("scratch is stored in a result whose elements are stored last") {
  const auto [rest, body] = shared(R"(  for i in 8 {
    for j in 16 {
      e[i, j] = exp(x[i, j])
    }
    t[i] = e[i, 0] + e[i, 15]
    for l in 12 {
      y[i, l] = e[i, l] * t[i]
    }
    for m in 4 {
      y[i, m + 12] = e[i, m + 12] * t[i]
    }
  }
)");
  CHECK(rest == "y t");
  CHECK(body == R"(  for i in 8 {
    for j in 16 {
      y[i, j] = exp(x[i, j])
    }
    t[i] = y[i, 0] + y[i, 15]
    for l in 12 {
      y[i, l] = y[i, l] * t[i]
    }
    for m in 4 {
      y[i, m + 12] = y[i, m + 12] * t[i]
    }
  }
}
)");
}

TEST_CASE("scratch stays apart from a result that is stored before its last use") {
  const std::string define = nest("e[i, ji] = exp(x[i, ji])");
  CHECK(stays(define + nest("y[k, jk] = e[k, jk] * 2.0", "k")) == "y ");
  CHECK(stays(define + nest("y[k, jk] = e[k, 15 - jk]", "k")) == "e");
  CHECK(stays(define + nest("y[k, jk] = e[k, jk] + e[k, 0]", "k")) == "e");
  CHECK(stays(define + nest("y[k, jk] = e[k, jk]", "k") + nest("t[l] = e[l, jl]", "l")) == "et");
  CHECK(stays(define + nest("y[k, jk] = x[k, jk]", "k") + nest("y[l, jl] = y[l, jl] + e[l, jl]", "l")) == "e");
  // Row 1 of the result is stored before row 1 of the scratch is read for row 2.
  CHECK(stays(define + "  for k in 8 {\n    t[k] = e[7 - k, 3]\n    for l in 16 {\n      y[k, l] = e[k, l] + t[k]\n    "
                       "}\n  }\n") == "et");
}

TEST_CASE("scratch shares the memory of other scratch that is stored later") {
  const std::string chain = nest("y[i, ji] = x[i, ji]") + nest("e[k, jk] = exp(x[k, jk])", "k");
  const std::string last = nest("t[m] = f[m, jm]", "m");
  CHECK(stays(chain + nest("f[l, jl] = log(e[l, jl])", "l") + last) == "ft");
  CHECK(stays(chain + nest("f[l, jl] = log(e[l, 0])", "l") + last) == "eft");
}
