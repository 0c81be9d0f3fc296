// Row fusion of loop nests.
#include "tensor/passes/fuse_rows.h"

#include <doctest/doctest.h>

#include "tensor/parse.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

Kernel kernel_of(const std::string& body) {
  Diagnostics d;
  auto parsed = parse(
      "kernel @k(read x: f32[8, 16], write y: f32[8, 16], scratch e: f32[8, 16], scratch t: f32[8]) {\n" + body + "}\n",
      "t.tir", d);
  REQUIRE_MESSAGE(parsed, d.str());
  return parsed->kernels[0];
}

// The two loop nests of the kernel fused, or as they are.
void fuse(Kernel& kernel) {
  const Sequence* nests = as<Sequence>(kernel.body);
  REQUIRE(nests->body.size() == 2);
  if (Stmt both = fuse_rows(nests->body[0], nests->body[1])) kernel.body = both;
}

std::string fused(const std::string& body) {
  Kernel kernel = kernel_of(body);
  fuse(kernel);
  const std::string text = print(kernel);
  return text.substr(text.find('\n') + 1);
}

const std::string two_stages = R"(  parallel i in 8 {
    vector j in 16 {
      e[i, j] = exp(x[i, j])
    }
  }
  parallel k in 8 {
    vector l in 16 {
      y[k, l] = e[k, l] * 2.0
    }
  }
)";

}  // namespace

TEST_CASE("loop nests over the same rows are fused") {
  CHECK(fused(two_stages) == R"(  parallel i in 8 {
    vector j in 16 {
      e[i, j] = exp(x[i, j])
    }
    vector l in 16 {
      y[i, l] = e[i, l] * 2.0
    }
  }
}
)");
}

TEST_CASE("loops within fused loops are fused where they share rows too") {
  CHECK(fused(R"(  parallel i in 8 {
    parallel j in 16 {
      e[i, j] = exp(x[i, j])
    }
  }
  parallel k in 8 {
    parallel l in 16 {
      y[k, l] = e[k, l] * 2.0
    }
  }
)") == R"(  parallel i in 8 {
    parallel j in 16 {
      e[i, j] = exp(x[i, j])
      y[i, j] = e[i, j] * 2.0
    }
  }
}
)");
}

TEST_CASE("loop nests stay apart if an iteration needs another row, another extent, or nothing of the first nest") {
  auto stays = [](const std::string& body) { return fused(body) == body + "}\n"; };
  const std::string first = "  parallel i in 8 {\n    vector j in 16 {\n      e[i, j] = x[i, j]\n    }\n  }\n";
  auto second = [](const std::string& loop, const std::string& value) {
    return "  " + loop + " {\n    vector l in 16 {\n      y[k, l] = " + value + "\n    }\n  }\n";
  };
  CHECK_FALSE(stays(first + second("parallel k in 8", "e[k, l]")));
  CHECK(stays(first + second("parallel k in 8", "e[7 - k, l]")));
  CHECK(stays(first + second("parallel k in 8", "e[l - floordiv(l, 8) * 8, l]")));
  CHECK(stays(first + second("parallel k in 7", "e[k, l]")));
  CHECK(stays(first + second("for k in 8", "e[k, l]")));
  CHECK(stays(first + second("parallel k in 8", "x[k, l]")));
}
