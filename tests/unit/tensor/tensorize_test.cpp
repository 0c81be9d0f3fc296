// Vector loops whose bodies equal that of an intrinsic become calls of it; other loops stay.
#include "tensor/passes/tensorize.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tensor/byte_products.h"
#include "tensor/parse.h"
#include "tensor/verify.h"

using namespace dlcc;
using namespace dlcc::tensor;

namespace {

// The statements inside of the loop over k, once tensorized.
std::string tensorized(const std::string& value, const std::string& weights = "i8[2, 16, 4]",
                       const std::string& data = "(read a: u8[9, 8]") {
  const std::string text = "kernel @k" + data + ", read b: " + weights +
                           ", write y: i32[16]) {\n alloc reg acc: i32[2, 16]\n vector v in 16 { acc[1, v] = 0i32 }\n"
                           " for k in 2 { vector lane in 16 { acc[1, lane] = " +
                           value + " } }\n vector v in 16 { y[v] = acc[1, v] }\n}";
  Diagnostics d;
  auto parsed = parse(text, "test", d);
  REQUIRE_MESSAGE(parsed, d.str());
  Kernel kernel = parsed->kernels[0];
  kernel.body = tensorize(kernel.body, byte_products(ByteProducts::dot));
  verify(kernel, d);
  CHECK(d.str() == "");
  std::string printed = print(kernel);
  const size_t call = printed.find("call ");
  return call == std::string::npos ? "" : printed.substr(call, printed.find('\n', call) - call);
}

std::string product(const std::string& a, const std::string& b) { return "i32(" + a + ") * i32(" + b + ")"; }

}  // namespace

TEST_CASE("sums of four products of bytes become dot-product intrinsics where lanes match") {
  auto sum = [](const std::string& first, int step, const std::string& order = "lane") {
    std::string value = "acc[1, lane]", all;
    for (int j = 0; j < 4; ++j)
      all += (j ? " + " : "") + product("a[k + 3, 4 * k + " + std::to_string(j * step) + "]",
                                        "b[" + first + ", " + order + ", " + std::to_string(j) + "]");
    return value + " + (" + all + ")";
  };
  CHECK(tensorized(sum("k", 1)) == "call dot4.u8s8.x16(a[k + 3, 4 * k], b[k, 0, 0], acc[1, 0])");
  CHECK(tensorized(sum("k", 0)) == "");                  // one element four times
  CHECK(tensorized(sum("k", 1, "15 - lane")) == "");     // lanes in another order
  CHECK(tensorized(sum("k", 1), "i8[2, 16, 8]") == "");  // bytes of a lane are not next to those of the next
  CHECK(tensorized(sum("k", 1), "u8[2, 16, 4]") == "");  // both factors are unsigned
  // Extents outside of the operands may be symbolic.
  CHECK(tensorized(sum("k", 1), "i8[n, 16, 4]", "<n in 2..>(read a: u8[n + 9, 8]") ==
        "call dot4.u8s8.x16(a[k + 3, 4 * k], b[k, 0, 0], acc[1, 0])");
  CHECK(tensorized(sum("k", 1), "i8[2, 16, n]", "<n in 4..>(read a: u8[n + 9, 8]") == "");
  CHECK(tensorized("acc[1, lane] + " + product("a[k, 0]", "b[k, lane, 0]")) == "");
  CHECK(tensorized("acc[0, lane]" + sum("k", 1).substr(12)) == "");  // the sum of another accumulator
}

TEST_CASE("stores outside of vector loops become dot products of one lane") {
  auto tensorized = [](const std::string& loop, const std::string& type = "u8", int bytes = 4,
                       ByteProducts machine = ByteProducts::scalar_pairs) {
    std::string value = "acc[lane]";
    for (int j = 0; j < bytes; ++j)
      value +=
          (j ? " + " : " + (") + product("a[k, " + std::to_string(j) + "]", "b[k, lane, " + std::to_string(j) + "]");
    Diagnostics d;
    auto parsed = parse(fmt::format("kernel @k(read a: {0}[2, {1}], read b: i8[2, 4, {1}], write y: i32[4]) {{\n"
                                    " alloc reg acc: i32[4]\n vector v in 4 {{ acc[v] = 0i32 }}\n for k in 2 {{ {2}"
                                    " lane in 4 {{ acc[lane] = {3}) }} }}\n vector v in 4 {{ y[v] = acc[v] }}\n}}",
                                    type, bytes, loop, value),
                        "test", d);
    REQUIRE_MESSAGE(parsed, d.str());
    Kernel kernel = parsed->kernels[0];
    kernel.body = tensorize(kernel.body, byte_products(machine));
    verify(kernel, d);
    CHECK(d.str() == "");
    return print(kernel);
  };
  CHECK(tensorized("unrolled").find("call dot4.u8s8.x1(a[k, 0], b[k, lane, 0], acc[lane])") != std::string::npos);
  CHECK(tensorized("vector").find("call") == std::string::npos);
  const ByteProducts dot = ByteProducts::scalar_dot;  // of sixteen bytes or four, with signed data
  auto has_call = [](const std::string& text, const std::string& name) {
    return text.find("call " + name + "(a[k, 0], b[k, lane, 0], acc[lane])") != std::string::npos;
  };
  CHECK(has_call(tensorized("unrolled", "i8", 16, dot), "dot16.s8s8.x1"));
  CHECK(has_call(tensorized("unrolled", "i8", 4, dot), "dot4.s8s8.x1"));
  CHECK(tensorized("unrolled", "u8", 16, dot).find("call") == std::string::npos);
  CHECK(tensorized("unrolled", "i8", 8, dot).find("call") == std::string::npos);
}
