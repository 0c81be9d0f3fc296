// Intrinsic calls become the instructions of their rules if the CPU has them, else their bodies.
#include "tensor/intrinsic.h"

#include "harness.h"
#include "targets/llvm/extensions.h"
#include "tensor/byte_products.h"
#include "tensor/evaluate.h"
#include "tensor/known_intrinsics.h"
#include "tensor/parse.h"

using namespace dlcc;
using namespace dlcc::tensor;
using namespace dlcc::test;

namespace {

// c[i] += sum over k < 4 of a[4 i + k] * b[4 i + k].
Intrinsic dot_products() {
  Buffer a = make_buffer("a", dtype::u8, {64}), b = make_buffer("b", dtype::i8, {64});
  Buffer c = make_buffer("c", dtype::i32, {16}, Scope::reg);
  Var i = make_var("i"), k = make_var("k");
  Expr at = Expr(i) * Expr(4) + Expr(k);
  Stmt body = store(c, {i}, load(c, {i}) + cast(dtype::i32, load(a, {at})) * cast(dtype::i32, load(b, {at})));
  body = for_loop(i, 16, LoopKind::unrolled, for_loop(k, 4, LoopKind::unrolled, body));
  return {.name = "x86.vpdpbusd",
          .operands = {{a, Access::read}, {b, Access::read}, {c, Access::write}},
          .body = body,
          .required_features = {"avx512vnni"},
          .emission = "llvm.x86.avx512.vpdpbusd.512"};
}

Intrinsic matrix_unit() {
  Buffer a = make_buffer("a", dtype::i8, {4, 4}), c = make_buffer("c", dtype::i32, {4, 4});
  Var i = make_var("i"), j = make_var("j");
  Stmt body = store(c, {i, j}, cast(dtype::i32, load(a, {i, j})));
  return {.name = "toy.widen",
          .operands = {{a, Access::read}, {c, Access::write}},
          .body = for_loop(i, 4, LoopKind::serial, for_loop(j, 4, LoopKind::serial, body)),
          .required_features = {},
          .emission = "call toy_widen"};
}

Kernel kernel_of(const std::string& text, const Intrinsic& intrinsic) {
  const Intrinsic* known[] = {&intrinsic};
  Diagnostics diagnostics;
  auto m = parse(text, "test", diagnostics, known);
  REQUIRE_MESSAGE(m, diagnostics.str());
  return m->kernels[0];
}

}  // namespace

TEST_CASE("an intrinsic becomes its instruction if the CPU has it, else its body") {
  Intrinsic dot = dot_products();
  Kernel kernel = kernel_of(R"(kernel @dot(read a: u8[6, 64], read b: i8[6, 64], write y: i32[16]) {
    alloc reg acc: i32[16]
    vector v in 16 { acc[v] = 0i32 }
    for k in 6 { call x86.vpdpbusd(a[k, 0], b[k, 0], acc[0]) }
    vector v in 16 { y[v] = acc[v] }
  })",
                            dot);
  CHECK(assembly(kernel, "cascadelake").find("vpdpbusd") != std::string::npos);
  CHECK(assembly(kernel, "x86-64-v4").find("vpdpbusd") == std::string::npos);

  std::vector<uint8_t> a(6 * 64);
  std::vector<int8_t> b(6 * 64);
  for (size_t k = 0; k < a.size(); ++k) a[k] = static_cast<uint8_t>(k * 37), b[k] = static_cast<int8_t>(k * 91 + 5);
  std::vector<Constant> inputs = {Constant::of(dtype::u8, {6, 64}, a), Constant::of(dtype::i8, {6, 64}, b)};
  run(kernel, inputs);
  KernelObject with_instruction = compile(kernel, "cascadelake");
  Diagnostics diagnostics;
  auto ran = targets::run_object({with_instruction.object, &with_instruction.interface, inputs}, diagnostics);
  REQUIRE_MESSAGE(ran, diagnostics.str());
  if (ran->status == static_cast<int>(Status::unsupported_cpu)) {
    MESSAGE("skipped: this CPU has no AVX512-VNNI");
    return;
  }
  CHECK(ran->outputs[0].same_as(evaluate(kernel, inputs).results[0]));
}

TEST_CASE("a function that drives an accelerator gets the boxes and strides of its operands") {
  Intrinsic widen = matrix_unit();
  Kernel kernel = kernel_of(R"(kernel @k(read x: i8[8, 12], write y: i32[2, 4, 20]) {
    for i in 2 { call toy.widen(x[4 * i, 8], y[i, 0, 16]) }
  })",
                            widen);
  std::string code = assembly(kernel, "x86-64-v3");
  CHECK(code.find("toy_widen") != std::string::npos);
  CHECK(code.find("$12, %esi") != std::string::npos);  // stride of x's rows
  CHECK(code.find("$20, %ecx") != std::string::npos);  // stride of y's rows
}

TEST_CASE("dot products of bytes are exact with and without VNNI") {
  const std::pair<int, std::vector<std::pair<const char*, const char*>>> lanes_and_code[] = {
      {4, {{"x86-64-v2", "pmaddwd"}, {"x86-64-v3", "pmaddwd"}, {"cascadelake", "vpdpbusd"}}},
      {8, {{"x86-64-v3", "vpmaddwd"}, {"alderlake", "vpdpbusd"}, {"cascadelake", "vpdpbusd"}}},
      {16, {{"x86-64-v4", "vpmaddwd"}, {"cascadelake", "vpdpbusd"}, {"x86-64-v3", ""}}},
  };
  // The largest sums of both signs, which `pmaddubsw` would saturate, and others.
  std::vector<uint8_t> a;
  std::vector<int8_t> b;
  for (int k = 0; k < 12; ++k) a.push_back(static_cast<uint8_t>(k < 8 ? 255 : 83 * k));
  for (int k = 0; k < 3 * 64; ++k) b.push_back(static_cast<int8_t>(k < 64 ? -128 : k < 128 ? 127 : 91 * k + 5));
  for (const auto& [lanes, of_level] : lanes_and_code) {
    const std::string n = std::to_string(lanes);
    Diagnostics diagnostics;
    auto parsed = parse("kernel @dot(read a: u8[3, 4], read b: i8[3, " + n + ", 4], write y: i32[" + n +
                            "]) {\n alloc reg acc: i32[" + n + "]\n vector v in " + n +
                            " { acc[v] = 7i32 }\n for k in 3 { call dot4.u8s8.x" + n +
                            "(a[k, 0], b[k, 0, 0], acc[0]) }\n vector v in " + n + " { y[v] = acc[v] }\n}",
                        "test", diagnostics, byte_products(ByteProducts::dot));
    REQUIRE_MESSAGE(parsed, diagnostics.str());
    const Kernel& kernel = parsed->kernels[0];
    b.resize(static_cast<size_t>(12 * lanes), int8_t{-128});
    std::vector<Constant> inputs = {Constant::of(dtype::u8, {3, 4}, a), Constant::of(dtype::i8, {3, lanes, 4}, b)};
    b.resize(3 * 64, int8_t{-77});
    for (const auto& [cpu, instruction] : of_level) {
      CAPTURE(cpu);
      CHECK(assembly(kernel, cpu).find(instruction) != std::string::npos);
      KernelObject object = compile(kernel, cpu);
      auto ran = targets::run_object({object.object, &object.interface, inputs}, diagnostics);
      REQUIRE_MESSAGE(ran, diagnostics.str());
      if (ran->status == static_cast<int>(Status::unsupported_cpu)) continue;
      CHECK(ran->outputs[0].same_as(evaluate(kernel, inputs).results[0]));
    }
  }
}

TEST_CASE("dot products of widened bytes are multiplications of 16-bit numbers") {
  const std::pair<int, const char*> lanes_and_cpu[] = {{4, "x86-64-v2"}, {8, "x86-64-v3"}, {16, "x86-64-v4"}};
  for (const auto& [lanes, cpu] : lanes_and_cpu) {
    CAPTURE(lanes);
    const std::string n = std::to_string(lanes);
    Diagnostics diagnostics;
    auto parsed = parse("kernel @dot(read a: u8[16], read b: i8[4, " + n + ", 4], write y: i32[" + n +
                            "]) {\n alloc reg acc: i32[" + n + "]\n vector v in " + n +
                            " { acc[v] = 7i32 }\n alloc local w: u16[2, 8] align 16\n unrolled odd in 2 { vector v in "
                            "8 { w[odd, v] = u16(a[odd + 2 * v]) } }\n for k in 4 { call dot4.u16s8.x" +
                            n + "(w[0, 2 * k], b[k, 0, 0], acc[0]) }\n vector v in " + n + " { y[v] = acc[v] }\n}",
                        "test", diagnostics, known_intrinsics());
    REQUIRE_MESSAGE(parsed, diagnostics.str());
    const Kernel& kernel = parsed->kernels[0];
    std::vector<uint8_t> a;
    std::vector<int8_t> b;
    for (int k = 0; k < 16; ++k) a.push_back(static_cast<uint8_t>(k < 8 ? 255 : 83 * k));
    for (int k = 0; k < 16 * lanes; ++k) b.push_back(static_cast<int8_t>(k < 8 * lanes ? -128 : 91 * k + 5));
    const std::vector<Constant> inputs = {Constant::of(dtype::u8, {16}, a), Constant::of(dtype::i8, {4, lanes, 4}, b)};
    CHECK(assembly(kernel, cpu).find("pmaddwd") != std::string::npos);
    KernelObject object = compile(kernel, cpu);
    auto ran = targets::run_object({object.object, &object.interface, inputs}, diagnostics);
    REQUIRE_MESSAGE(ran, diagnostics.str());
    if (ran->status == static_cast<int>(Status::unsupported_cpu)) continue;
    CHECK(ran->outputs[0].same_as(evaluate(kernel, inputs).results[0]));
  }
}

TEST_CASE("inner products of words, their words and the products of neighbours are exact") {
  const std::pair<int, const char*> lanes_and_cpu[] = {{4, "x86-64-v2"}, {8, "x86-64-v3"}, {16, "x86-64-v4"}};
  for (const auto& [lanes, cpu] : lanes_and_cpu) {
    CAPTURE(lanes);
    const std::string text = fmt::format(
        "kernel @inner(read a: u8[16], read b: i8[{0}, 4], write y: i32[3, {0}], scratch d: u16[2, 8]) {{\n"
        " alloc reg acc: i32[3, {0}]\n unrolled r in 3 {{ vector v in {0} {{ acc[r, v] = 7i32 }} }}\n"
        " call widen.u8.x16.global(a[0], d[0, 0])\n alloc local w: i16[2, {1}] align 16\n"
        " call widen.s8.x{0}(b[0, 0], w[0, 0])\n call inner4.u16s16.x{0}(d[0, 2], w[0, 0], acc[0, 0])\n"
        " call pairs.s16.x{0}(w[0, 0], acc[1, 0])\n call pairs.u16.x4(d[0, 0], acc[2, 0])\n"
        " unrolled r in 3 {{ vector v in {0} {{ y[r, v] = acc[r, v] }} }}\n}}",
        lanes, 2 * lanes);
    Diagnostics diagnostics;
    auto parsed = parse(text, "test", diagnostics, known_intrinsics());
    REQUIRE_MESSAGE(parsed, diagnostics.str());
    const Kernel& kernel = parsed->kernels[0];
    std::vector<uint8_t> a;
    std::vector<int8_t> b;
    for (int k = 0; k < 16; ++k) a.push_back(static_cast<uint8_t>(k < 8 ? 255 : 83 * k));
    for (int k = 0; k < 4 * lanes; ++k) b.push_back(static_cast<int8_t>(k < 8 ? -128 : k < 16 ? 127 : 91 * k + 5));
    const std::vector<Constant> inputs = {Constant::of(dtype::u8, {16}, a), Constant::of(dtype::i8, {lanes, 4}, b)};
    const std::string code = assembly(kernel, cpu);
    CHECK(code.find("pmaddwd") != std::string::npos);
    CHECK(code.find("pmul") == std::string::npos);
    KernelObject object = compile(kernel, cpu);
    auto ran = targets::run_object({object.object, &object.interface, inputs}, diagnostics);
    REQUIRE_MESSAGE(ran, diagnostics.str());
    if (ran->status == static_cast<int>(Status::unsupported_cpu)) continue;
    CHECK(ran->outputs[0].same_as(evaluate(kernel, inputs).results[0]));
  }
}

TEST_CASE("dot products of bytes without vectors are multiplications of pairs with ARM's DSP extension") {
  Diagnostics diagnostics;
  auto parsed = parse(R"(kernel @dot(read a: u8[3, 4], read b: i8[3, 2, 4], write y: i32[2]) {
    alloc reg acc: i32[2]
    vector v in 2 { acc[v] = 7i32 }
    for k in 3 {
      unrolled v in 2 { call dot4.u8s8.x1(a[k, 0], b[k, v, 0], acc[v]) }
    }
    vector v in 2 { y[v] = acc[v] }
  })",
                      "test", diagnostics, known_intrinsics());
  REQUIRE_MESSAGE(parsed, diagnostics.str());
  const Kernel& kernel = parsed->kernels[0];
  auto count = [&](const std::string& target, const std::string& instruction) {
    const targets::Target machine = target_named(target, "");
    const KernelObject wrapped = wrap(kernel, machine);
    const std::string code = targets::generate_listing(wrapped.program, wrapped.plan, wrapped.interface, machine, {},
                                                       targets::Listing::assembly);
    int found = 0;
    for (size_t at = code.find(instruction); at != std::string::npos; at = code.find(instruction, at + 1)) ++found;
    return found;
  };
  for (const char* target : {"cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"}) {
    CAPTURE(target);
    CHECK(count(target, "smlad") == 4);
    CHECK(count(target, "uxtb16") == 2);  // both accumulators share the data
    CHECK(count(target, "sxtb16") == 4);
    CHECK(count(target, "ror #8") == 3);
  }
  CHECK(count("cortex-m3", "smlad") == 0);
}

TEST_CASE("dot products of bytes are instructions of AArch64's extensions") {
  auto assembly_of = [](const std::string& kernel, const char* cpu) {
    Diagnostics diagnostics;
    auto parsed = parse(kernel, "test", diagnostics, known_intrinsics());
    REQUIRE_MESSAGE(parsed, diagnostics.str());
    const targets::Target machine = target_named("aarch64", cpu);
    const KernelObject wrapped = wrap(parsed->kernels[0], machine);
    return targets::generate_listing(wrapped.program, wrapped.plan, wrapped.interface, machine, {},
                                     targets::Listing::assembly);
  };
  auto code = [&](const char* type, const char* cpu) {
    return assembly_of(fmt::format("kernel @dot(read a: {0}[3, 4], read b: i8[3, 4, 4], write y: i32[4]) {{\n"
                                   " alloc reg acc: i32[4]\n vector v in 4 {{ acc[v] = 7i32 }}\n"
                                   " for k in 3 {{ call dot4.{1}s8.x4(a[k, 0], b[k, 0, 0], acc[0]) }}\n"
                                   " vector v in 4 {{ y[v] = acc[v] }}\n}}",
                                   type, std::string(type) == "u8" ? "u8" : "s8"),
                       cpu);
  };
  CHECK(code("u8", "neoverse-n2").find("\tusdot\t") != std::string::npos);
  CHECK(code("i8", "cortex-a76").find("\tsdot\t") != std::string::npos);
  for (const char* type : {"u8", "i8"}) CHECK(code(type, "cortex-a53").find("dot\t") == std::string::npos);
  const std::string inner = assembly_of(
      "kernel @inner(read b: i8[4, 4], write y: i32[4], scratch d: u16[2, 8]) {\n alloc reg acc: i32[4]\n"
      " vector v in 4 { acc[v] = 7i32 }\n alloc local w: i16[2, 8] align 16\n call widen.s8.x4(b[0, 0], w[0, 0])\n"
      " call inner4.u16s16.x4(d[0, 2], w[0, 0], acc[0])\n vector v in 4 { y[v] = acc[v] }\n}",
      "cortex-a53");
  CHECK(inner.find("\tsmull\t") != std::string::npos);
  CHECK(inner.find("\tmul\t") == std::string::npos);
}

TEST_CASE("tiles are transposed by exchanges between vectors, with dimensions between rows and columns") {
  std::vector<float> values;
  for (int k = 0; k < 9 * 3 * 11; ++k) values.push_back(static_cast<float>(k));
  for (const auto& [size, cpu] : {std::pair{"4", "x86-64-v2"}, {"8", "x86-64-v3"}, {"8", "x86-64-v2"}}) {
    const std::string n = size;
    Diagnostics diagnostics;
    auto parsed = parse(
        "kernel @k(read x: f32[9, 3, 11], write y: f32[10, 12]) {\n for i in 10 { vector j in 12 { y[i, j] "
        "= 0.0 } }\n call transpose.f32.x" +
            n + ".1.0(x[1, 2, 3], y[2, 4])\n}",
        "test", diagnostics, known_intrinsics());
    REQUIRE_MESSAGE(parsed, diagnostics.str());
    const Kernel& kernel = parsed->kernels[0];
    CHECK(assembly(kernel, cpu).find("shuf") != std::string::npos);
    std::vector<Constant> inputs = {Constant::of(dtype::f32, {9, 3, 11}, values)};
    KernelObject object = compile(kernel, cpu);
    auto ran = targets::run_object({object.object, &object.interface, inputs}, diagnostics);
    REQUIRE_MESSAGE(ran, diagnostics.str());
    const auto y = ran->outputs[0].as<float>();
    for (size_t i = 0; i < 10; ++i)
      for (size_t j = 0; j < 12; ++j) {
        const size_t row = i - 2, column = j - 4, tile = std::stoul(n);
        const bool is_inside = row < tile && column < tile;
        CHECK(y[12 * i + j] == (is_inside ? values[((1 + column) * 3 + 2) * 11 + 3 + row] : 0.f));
      }
    CHECK(ran->outputs[0].same_as(evaluate(kernel, inputs).results[0]));
  }
}

TEST_CASE("tiles of narrow elements are transposed by interleaving their rows") {
  for (const auto& [type, name] :
       {std::pair{"u8", "u8.x16"}, {"bool", "bool.x16"}, {"f16", "f16.x8"}, {"i16", "i16.x8"}})
    for (const char* cpu : {"x86-64-v2", "x86-64-v3"}) {
      CAPTURE(name);
      Diagnostics diagnostics;
      auto parsed = parse(
          fmt::format(
              "kernel @k(read x: {0}[17, 2, 19], write y: {0}[18, 20]) {{\n for i in 18 {{ vector j in 20 {{ y[i, j] "
              "= x[0, 0, 0] }} }}\n call transpose.{1}.1.0(x[1, 1, 3], y[2, 3])\n}}",
              type, name),
          "test", diagnostics, known_intrinsics());
      REQUIRE_MESSAGE(parsed, diagnostics.str());
      const Kernel& kernel = parsed->kernels[0];
      CHECK(assembly(kernel, cpu).find("punpckl") != std::string::npos);
      const Buffer& x = kernel.params[0].buffer;
      std::vector<std::byte> bytes(static_cast<size_t>(17 * 2 * 19 * bits(x->type) / 8));
      for (size_t k = 0; k < bytes.size(); ++k) bytes[k] = std::byte(is_bool(x->type) ? k * k % 3 == 1 : k * 7 % 61);
      const std::vector<Constant> inputs = {Constant(x->type, {17, 2, 19}, bytes)};
      KernelObject object = compile(kernel, cpu);
      auto ran = targets::run_object({object.object, &object.interface, inputs}, diagnostics);
      REQUIRE_MESSAGE(ran, diagnostics.str());
      CHECK(ran->outputs[0].same_as(evaluate(kernel, inputs).results[0]));
    }
}

TEST_CASE("a level for dot products of bytes has no code of its own for transpositions") {
  Diagnostics diagnostics;
  targets::Target target = *targets::find_target("x86-64", "", "", diagnostics);
  REQUIRE(target.levels.size() == 4);
  auto program_of = [](const std::string& text) {
    Diagnostics d;
    auto m = parse(text, "test", d, known_intrinsics());
    REQUIRE(m);
    lower::Program program;
    program.kernels.push_back({"k", {m->kernels[0], m->kernels[0], m->kernels[0], m->kernels[0]}});
    return program;
  };
  lower::Program transposition = program_of(R"(kernel @k(read x: f32[8, 8], write y: f32[8, 8]) {
    call transpose.f32.x8.0.0(x[0, 0], y[0, 0])
  })");
  CHECK(targets::level_of_kernel(transposition, target, 0, 3) == 2);
  CHECK(targets::level_of_kernel(transposition, target, 0, 2) == 2);
  CHECK(targets::level_of_kernel(transposition, target, 0, 1) == 0);
  targets::remove_unused_extensions(transposition, target);
  REQUIRE(target.levels.size() == 2);
  CHECK(target.levels[1].name == "x86-64-v4");
  CHECK(transposition.kernels[0].variants.size() == 2);
  // Extensions of one level, which follow each other.
  targets::Target arm = target_named("aarch64", "generic,generic+dotprod,generic+i8mm");
  transposition.kernels[0].variants.push_back(transposition.kernels[0].variants[0]);
  CHECK(targets::level_of_kernel(transposition, arm, 0, 2) == 0);
  targets::remove_unused_extensions(transposition, arm);
  CHECK(arm.levels.size() == 1);
  CHECK(transposition.kernels[0].variants.size() == 1);
}
