// The interface of compiled models: header, the entry functions' checks, the object's symbols, several models in one
// program.
#include <algorithm>

#include "command_folder.h"
#include "harness.h"

namespace dlcc::test {

using namespace tensor;

namespace {

// Writes the object and the header of a model.
void write(const CommandFolder& w, const KernelObject& model) {
  w.write(model.interface.prefix + ".h", emit::make_header(model.interface));
  w.write(model.interface.prefix + ".o", model.object);
}

// y = max(0, x), through a scratch buffer of `n` elements.
Kernel relu(int64_t n) {
  Buffer x = make_buffer("x", dtype::f32, {n}), y = make_buffer("y", dtype::f32, {n}),
         t = make_buffer("t", dtype::f32, {n}, Scope::global, 64);
  Var i = make_var("i"), j = make_var("j");
  return {"relu",
          {{x, Access::read}, {y, Access::write}, {t, Access::scratch}},
          sequence({for_loop(i, n, LoopKind::vector, store(t, {i}, max(literal(dtype::f32, 0.0), load(x, {i})))),
                    for_loop(j, n, LoopKind::vector, store(y, {j}, load(t, {j})))})};
}

const char* const main_program = R"c(
#include <stdio.h>
#include <string.h>
#include "first.h"
#include "second.h"
#include "dlcc/dlcc.h"

static float x[30], y[30];
static int steps;
static void begin(void *self, int32_t step, const char *node) { (void)self; steps += step == 0 && !strcmp(node, "node of relu"); }
static void end(void *self, int32_t step, const char *node) { (void)self; (void)step; (void)node; ++steps; }

int main(void) {
  static union { char bytes[1024 + 64]; double align; } memory;
  char *arena = memory.bytes + (64 - (uintptr_t)memory.bytes % 64) % 64;
  first_inputs in; first_outputs out; second_inputs in2; second_outputs out2; dlcc_context context; dlcc_profiler profiler;
  int i, errors = 0;
  for (i = 0; i < 30; ++i) x[i] = (float)(i - 10);
  in.x = x; out.y = y; in2.x = x; out2.y = y;
#define EXPECT(what, status) if ((what) != (status)) { printf("%s: %s\n", #what, dlcc_status_string((dlcc_status)(what))); ++errors; }
  EXPECT(first_run(&in, &out, arena, FIRST_ARENA_BYTES), DLCC_OK)
  EXPECT((int)y[29], 19)
  EXPECT((int)y[3], 0)
  EXPECT(second_run(&in2, &out2, arena, SECOND_ARENA_BYTES), DLCC_OK)
  EXPECT(first_run(NULL, &out, arena, FIRST_ARENA_BYTES), DLCC_NULL_ARGUMENT)
  EXPECT(first_run(&in, NULL, arena, FIRST_ARENA_BYTES), DLCC_NULL_ARGUMENT)
  EXPECT(first_run(&in, &out, NULL, FIRST_ARENA_BYTES), DLCC_NULL_ARGUMENT)
  in.x = NULL;
  EXPECT(first_run(&in, &out, arena, FIRST_ARENA_BYTES), DLCC_NULL_ARGUMENT)
  in.x = x;
  EXPECT(first_run(&in, &out, arena, FIRST_ARENA_BYTES - 1), DLCC_ARENA_TOO_SMALL)
  EXPECT(first_run(&in, &out, arena + 8, FIRST_ARENA_BYTES), DLCC_ARENA_MISALIGNED)
  out.y = (float *)((char *)y + 1);
  EXPECT(first_run(&in, &out, arena, FIRST_ARENA_BYTES), DLCC_ARENA_MISALIGNED)
  out.y = y + 1; in.x = x + 1; /* the element's alignment is enough */
  x[0] = 0;
  EXPECT(second_run(&in2, &out2, arena, SECOND_ARENA_BYTES), DLCC_OK)
  in.x = x; out.y = y;
  memset(&context, 0, sizeof context);
  EXPECT(first_run_ctx(&in, &out, arena, FIRST_ARENA_BYTES, &context), DLCC_OK)
  memset(&profiler, 0, sizeof profiler);
  profiler.begin = begin; profiler.end = end; context.profiler = &profiler;
  EXPECT(first_run_ctx(&in, &out, arena, FIRST_ARENA_BYTES, &context), DLCC_OK)
  EXPECT(steps, 2)
  EXPECT(first_model.abi_version, FIRST_ABI_VERSION)
  EXPECT(first_model.arena_bytes, FIRST_ARENA_BYTES)
  EXPECT(first_model.step_count, 1)
  EXPECT(dlcc_find_input(&first_model, "x"), 0)
  EXPECT(dlcc_find_output(&first_model, "x"), -1)
  EXPECT(dlcc_element_count(&first_model.outputs[0]), 30)
  EXPECT(strcmp(first_model.inputs[0].dtype, "float32"), 0)
  EXPECT(strcmp(second_model.name, "second"), 0)
  EXPECT(strcmp(first_model.provenance, "a test"), 0)
  memset(y, 0, sizeof y);
  { const void *ins[1]; void *outs[1]; ins[0] = x; outs[0] = y;
    EXPECT(first_model.run(ins, outs, arena, FIRST_ARENA_BYTES, NULL), DLCC_OK) }
  EXPECT((int)y[29], 19)
  return errors;
}
)c";

// y = the sum of the first elements of `n` inputs.
Kernel sum_of_inputs(int n) {
  Kernel kernel{"sum", {}, nullptr};
  Expr sum = literal(dtype::f32, 0.0);
  for (int k = 0; k < n; ++k) {
    Buffer x = make_buffer(fmt::format("x{}", k), dtype::f32, {1});
    kernel.params.push_back({x, Access::read});
    sum = sum + load(x, {0});
  }
  Buffer y = make_buffer("y", dtype::f32, {1});
  kernel.params.push_back({y, Access::write});
  kernel.body = store(y, {0}, sum);
  return kernel;
}

const char* const many_inputs_program = R"c(
#include <stdio.h>
#include "many.h"

int main(void) {
  static float x[130], y[1];
  const void *inputs[130];
  void *outputs[1] = {y};
  int errors = 0;
  for (int i = 0; i < 130; ++i) x[i] = 1, inputs[i] = x + i;
  errors += many_model.run(inputs, outputs, 0, 0, 0) != DLCC_OK || y[0] != 130;
  for (int i = 0; i < 130; ++i) {
    inputs[i] = 0;
    errors += many_model.run(inputs, outputs, 0, 0, 0) != DLCC_NULL_ARGUMENT;
    inputs[i] = (char *)(x + i) + 1;
    errors += many_model.run(inputs, outputs, 0, 0, 0) != DLCC_ARENA_MISALIGNED;
    inputs[i] = x + i;
  }
  return errors != 0;
}
)c";

const std::string flags = "-Wall -Wextra -pedantic -Werror -I . -I " DLCC_SOURCE_DIR "/runtime/include ";

}  // namespace

TEST_CASE("each of many inputs is checked") {
  CommandFolder w;
  write(w, compile(sum_of_inputs(130), "", "many"));
  w.write("main.c", many_inputs_program);
  const int status = w.sh("cc -std=c11 " + flags + "main.c many.o -o main && ./main");
  INFO(w.output());
  CHECK(status == 0);
}

TEST_CASE("two models link into one C program and check their arguments") {
  CommandFolder w;
  write(w, compile(relu(30), "", "first"));
  write(w, compile(relu(25), "", "second"));
  w.write("main.c", main_program);
  for (const char* compiler : {"cc -std=c99", "c++ -x c++ -std=c++17"}) {
    CAPTURE(compiler);
    int status = w.sh(std::string(compiler) + " " + flags + "main.c -c -o main.o && cc -c -std=c11 " + flags +
                      "-I " DLCC_SOURCE_DIR "/runtime/src " DLCC_SOURCE_DIR "/runtime/src/status.c " DLCC_SOURCE_DIR
                      "/runtime/src/model.c && "
                      "c++ main.o first.o second.o status.o model.o -o main && ./main");
    INFO(w.output());
    CHECK(status == 0);
    CHECK(w.output().empty());
  }
  INFO(w.output());
  CHECK(w.sh("cc -shared first.o second.o -o models.so -Wl,-z,text,-z,noexecstack,--fatal-warnings && cc -no-pie "
             "main.o first.o second.o status.o model.o -o m1 && ./m1 && cc -static-pie main.o first.o second.o "
             "status.o model.o -o m2 && ./m2") == 0);
}

TEST_CASE("an object has no undefined symbols but memcpy and memset, and exports only its interface") {
  CommandFolder w;
  write(w, compile(relu(1000), "x86-64-v2,x86-64-v3,x86-64-v4", "net"));
  REQUIRE(w.sh("nm -u net.o | grep -vE ' (memcpy|memset)$'") != 0);
  CHECK(w.output() == "");
  REQUIRE(w.sh("nm -g --defined-only net.o | cut -d' ' -f3 | sort") == 0);
  CHECK(w.output() == "net_model\nnet_run\nnet_run_ctx\n");
  REQUIRE(w.sh("readelf -SW net.o") == 0);
  CHECK(w.output().find(".note.GNU-stack") != std::string::npos);
}

TEST_CASE("headers turn tensor names into C identifiers") {
  emit::Interface interface;
  interface.prefix = "my_net";
  std::vector<std::string> taken;
  for (const char* name : {"int", "1x", "a/b", "a.b", "", "größe", "_x", "while", "*/ int z; /*",
                           "?"
                           "?/"}) {
    std::string id = emit::c_identifier(name, taken);
    taken.push_back(id);
    interface.inputs.push_back({name, id, dtype::f16, {1, 2}});
  }
  CHECK(taken == std::vector<std::string>{"int_", "t1x", "a_b", "a_b_2", "tensor", "gr_e", "t_x", "while_", "int_z",
                                          "tensor_2"});
  interface.provenance = "a */ comment \\";
  CommandFolder w;
  w.write("my_net.h", emit::make_header(interface));
  w.write("use.c",
          "#include \"my_net.h\"\n#include \"my_net.h\"\n#include \"dlcc/dlcc.h\"\nextern dlcc_status s; dlcc_status s "
          "= DLCC_OK;\n");
  for (const char* compiler : {"cc -std=c99", "c++ -x c++ -std=c++17"}) {
    int status = w.sh(std::string(compiler) + " " + flags + "-c use.c");
    INFO(w.output());
    CHECK(status == 0);
  }
}

TEST_CASE("the statuses of types.h are those of status.def") {
  std::ifstream file(DLCC_SOURCE_DIR "/runtime/include/dlcc/types.h");
  std::string types(std::istreambuf_iterator<char>(file), {});
#define STATUS(name, number, text)                                           \
  {                                                                          \
    std::string upper = #name;                                               \
    for (char& c : upper) c = static_cast<char>(std::toupper(c));            \
    CHECK(types.find("DLCC_" + upper + " = " #number) != std::string::npos); \
  }
#include "dlcc/status.def"
#undef STATUS
}

TEST_CASE("the object's bytes do not depend on the number of threads") {
  targets::Target target = target_named("x86-64", "");
  KernelObject wrapped = wrap(relu(100), target);
  auto once = targets::generate_object(wrapped.program, wrapped.plan, wrapped.interface, target, {2, 1}).bytes();
  CHECK(once == targets::generate_object(wrapped.program, wrapped.plan, wrapped.interface, target, {2, 2}).bytes());
}

TEST_CASE("code gives the same results at every optimization level") {
  targets::Target target = target_named("", "");
  std::vector<float> x(77);
  for (size_t k = 0; k < x.size(); ++k) x[k] = float(k) - 40;
  for (int optimization = 0; optimization <= 3; ++optimization) {
    KernelObject c = wrap(relu(77), target);
    c.object = targets::generate_object(c.program, c.plan, c.interface, target, {optimization, 1}).bytes();
    Diagnostics diagnostics;
    auto ran = targets::run_object({c.object, &c.interface, {Constant::of(dtype::f32, {77}, x)}}, diagnostics);
    INFO(diagnostics.str());
    REQUIRE(ran);
    for (int64_t k = 0; k < 77; ++k) CHECK(ran->outputs[0].as<float>()[k] == std::max(0.f, x[k]));
    CHECK(targets::stack_bytes(c.object) > 0);
  }
}

TEST_CASE("the code that selects the CPU level runs on every CPU") {
  KernelObject c = compile(relu(30), "x86-64-v4");
  CommandFolder w;
  write(w, c);
  // Instructions with a VEX prefix (AVX, BMI): their names begin with v or are these.
  CHECK(w.sh("objdump -d --no-show-raw-insn -j .text.net_run_ctx -j .text.net_run -j .text.net_cpu_level net.o | grep "
             "-E '\\s(v[a-z]+|andn|bextr|blsr|shlx|shrx|sarx|rorx|movbe)\\s'") != 0);
  CHECK(w.output() == "");
}

TEST_CASE("an object file refers to the bytes of constants without a copy") {
  Buffer w = make_buffer("w", dtype::f32, {1000}), y = make_buffer("y", dtype::f32, {1000});
  Var i = make_var("i");
  Kernel kernel{"copy",
                {{w, Access::read}, {y, Access::write}},
                for_loop(i, 1000, LoopKind::vector, store(y, {i}, load(w, {i})))};
  targets::Target target = target_named("x86-64", "");
  KernelObject c = wrap(kernel, target);
  std::vector<float> values(1000), other(7, 3.f);
  for (size_t k = 0; k < values.size(); ++k) values[k] = float(k);
  c.program.constants = {Constant::of(dtype::f32, {7}, other), Constant::of(dtype::f32, {1000}, values)};
  c.program.values[0].storage = lower::Storage::constant;
  c.program.values[0].index = 1;
  c.interface.inputs.clear();
  targets::ObjectFile file = targets::generate_object(c.program, c.plan, c.interface, target, {});
  CHECK(file.pieces().back().data() == c.program.constants[1].bytes().data());  // shared, not copied
  c.object = file.bytes();
  Diagnostics diagnostics;
  auto ran = targets::run_object({c.object, &c.interface, {}}, diagnostics);
  INFO(diagnostics.str());
  REQUIRE(ran);
  CHECK(ran->status == 0);
  CHECK(ran->outputs[0].as<float>()[999] == 999);
}

TEST_CASE("a crash of the child is reported with the tensor and the offset") {
  Buffer x = make_buffer("x", dtype::f32, {8}), y = make_buffer("y", dtype::f32, {8});
  Kernel reads{"reads", {{x, Access::read}, {y, Access::write}}, store(y, {0}, load(x, {8}))};
  Kernel writes{"writes", {{x, Access::read}, {y, Access::write}}, store(y, {-1}, load(x, {0}))};
  auto message = [](const Kernel& kernel) {
    KernelObject c = compile(kernel, "x86-64-v2");
    Diagnostics diagnostics;
    CHECK(!targets::run_object({c.object, &c.interface, {Constant::of(dtype::f32, {8}, std::vector<float>(8))}},
                               diagnostics));
    return diagnostics.str();
  };
  CHECK(message(reads).find("read of byte 32 of input 'x', which has 32 bytes") != std::string::npos);
  CHECK(message(writes).find("out of the bounds of output 'y'") != std::string::npos);
}

TEST_CASE("a run is stopped at its time limit") {
  Buffer n = make_buffer("n", dtype::i64, {1}), y = make_buffer("y", dtype::i64, {1});
  Var i = make_var("i");
  Kernel kernel{
      "spin",
      {{n, Access::read}, {y, Access::write}},
      sequence({store(y, {0}, Expr(0)), for_loop(i, load(n, {0}), LoopKind::serial,
                                                 store(y, {0}, floor_mod(load(y, {0}) * 7 + 1, Expr(i) + 1)))})};
  KernelObject c = compile(kernel, "x86-64-v2");
  Diagnostics diagnostics;
  targets::RunRequest request{
      c.object, &c.interface, {Constant::of(dtype::i64, {1}, std::vector<int64_t>{INT64_MAX})}, 1};
  CHECK(!targets::run_object(request, diagnostics));
  CHECK(diagnostics.str().find("within 1 seconds") != std::string::npos);
}

TEST_CASE("targets and CPUs are found by name") {
  CHECK(target_named("", "").levels.size() == 4);
  CHECK(target_named("", "").levels[1].is_extension);
  CHECK(target_named("", "").levels[3].is_extension);
  CHECK(target_named("x86-64", "znver4").levels[0].machine.vector_bytes == 64);
  CHECK(target_named("x86-64", "haswell").levels[0].machine.vector_bytes == 32);
  CHECK(target_named("x86-64", "x86-64-v4,x86-64-v2").levels[0].name == "x86-64-v2");
  CHECK(target_named("x86-64", "native").levels.size() == 1);
  CHECK(target_named("aarch64", "cortex-a76").levels[0].machine.vector_registers == 32);
  Diagnostics diagnostics;
  CHECK(!targets::find_target("x86-64", "pentium9", "", diagnostics));
  CHECK(!targets::find_target("z80", "", "", diagnostics));
  CHECK(!targets::find_target("aarch64", "haswell", "", diagnostics));
  CHECK(diagnostics.error_count() == 3);
}

TEST_CASE("the levels of AArch64 extend the generic one by dot products of bytes") {
  auto found = [](const char* mcpu, const char* mattr = "") {
    Diagnostics diagnostics;
    auto target = targets::find_target("aarch64", mcpu, mattr, diagnostics);
    std::string names;
    if (target)
      for (const targets::CodeLevel& level : target->levels) names += level.name + " ";
    return names + diagnostics.str();
  };
  CHECK(found("") == "generic generic+dotprod ");
  CHECK(found("generic") == "generic ");
  CHECK(found("generic+i8mm,generic") == "generic generic+i8mm ");
  CHECK(found("generic+i8mm,generic,generic+dotprod") == "generic generic+dotprod generic+i8mm ");
  CHECK(found("", "+lse") == "generic generic+dotprod ");
  for (const char* mattr : {"+dotprod", "-dotprod", "+i8mm"}) CHECK_MESSAGE(found("", mattr) == "generic ", mattr);
  CHECK(found("generic,cortex-a76") ==
        "dlcc: error[unknown-target]: -mcpu=generic,cortex-a76: an object for target aarch64 has code for one CPU\n"
        "    help: or for several of the levels generic, generic+dotprod, generic+i8mm\n");
  // All levels of an object multiply bytes of one type.
  using enum ByteProducts;
  auto products = [](const char* mcpu) {
    std::vector<ByteProducts> list;
    for (const targets::CodeLevel& level : target_named("aarch64", mcpu).levels)
      list.push_back(level.machine.byte_products);
    return list;
  };
  CHECK(products("") == std::vector{signed_pairs, signed_dot});
  CHECK(products("generic") == std::vector{none});
  CHECK(products("generic,generic+dotprod,generic+i8mm") == std::vector{pairs, pairs, dot});
}

TEST_CASE("misspelled targets, CPUs and features have suggestions") {
  auto error = [](const char* target, const char* mcpu, const char* mattr) {
    Diagnostics diagnostics;
    CHECK(!targets::find_target(target, mcpu, mattr, diagnostics));
    return diagnostics.str();
  };
  CHECK(error("x86_64", "", "") ==
        "dlcc: error[unknown-target]: there is no target 'x86_64'\n"
        "    help: did you mean 'x86-64'? the targets are x86-64, aarch64, cortex-m0plus, cortex-m3, "
        "cortex-m4, cortex-m7, cortex-m33, cortex-m55, armv7-a, riscv64, riscv32\n");
  CHECK(error("x86-64", "haswel", "") ==
        "dlcc: error[unknown-target]: target x86-64 has no CPU 'haswel'\n"
        "    help: did you mean 'haswell'? 'dlcc targets' lists the CPUs\n");
  CHECK(error("x86-64", "", "+avx512-vnni") ==
        "dlcc: error[unknown-target]: target x86-64 has no CPU feature 'avx512-vnni'\n"
        "    help: did you mean 'avx512vnni'? 'dlcc targets --features' lists the features\n");
  CHECK(error("x86-64", "", "avx2") ==
        "dlcc: error[unknown-target]: -mattr=avx2: a sign is missing\n"
        "    help: +avx2 adds the feature, -avx2 removes it\n");
}

TEST_CASE("only extensions of the instruction set can be added and removed") {
  for (const targets::TargetInfo& info : targets::list_targets()) {
    CHECK(std::ranges::is_sorted(info.features));
    for (const std::string& feature : info.features) {
      CAPTURE(feature);
      Diagnostics diagnostics;
      CHECK(targets::find_target(info.name, "", "+" + feature, diagnostics));
      bool is_required = feature == "neon";
      CHECK(targets::find_target(info.name, "", "-" + feature, diagnostics).has_value() == !is_required);
    }
  }
  Diagnostics diagnostics;
  for (const char* change :
       {"+16bit-mode", "+retpoline", "+soft-float", "-sse2", "-64bit", "+slow-shld", "+", "+avx2,"})
    CHECK_MESSAGE(!targets::find_target("x86-64", "", change, diagnostics), change);
  CHECK(!targets::find_target("aarch64", "", "+strict-align", diagnostics));
}

TEST_CASE("code is generated for a CPU to which AVX-512 is added") {
  for (const char* mattr : {"+avx512f", "+avx512bw", "+avx512f,+avx512vl,+avx512bw,+avx512dq"}) {
    CAPTURE(mattr);
    Diagnostics diagnostics;
    auto target = targets::find_target("x86-64", "haswell", mattr, diagnostics);
    REQUIRE(target);
    KernelObject c = wrap(relu(30), *target);
    CHECK(!targets::generate_object(c.program, c.plan, c.interface, *target, {}).bytes().empty());
  }
}

TEST_CASE("another architecture's object runs in an emulator") {
  CommandFolder w;
  if (w.sh("command -v qemu-aarch64 aarch64-linux-gnu-gcc") != 0) {
    MESSAGE("skipped: no qemu-aarch64 or aarch64-linux-gnu-gcc");
    return;
  }
  targets::Target target = target_named("aarch64", "");
  KernelObject c = wrap(relu(30), target);
  c.object = targets::generate_object(c.program, c.plan, c.interface, target, {}).bytes();
  write(w, c);
  w.write("main.c", R"c(
#include "net.h"
int main(void) {
  static float x[30], y[30]; static char memory[NET_ARENA_BYTES + 64]; int i, wrong = 0;
  net_inputs in; net_outputs out; in.x = x; out.y = y;
  for (i = 0; i < 30; ++i) x[i] = (float)(i - 10);
  if (net_run(&in, &out, memory + (64 - (uintptr_t)memory % 64) % 64, NET_ARENA_BYTES)) return 1;
  for (i = 0; i < 30; ++i) wrong += y[i] != (i > 10 ? (float)(i - 10) : 0.f);
  return wrong;
})c");
  int status = w.sh("aarch64-linux-gnu-gcc -static main.c net.o -o main && qemu-aarch64 ./main");
  INFO(w.output());
  CHECK(status == 0);
}

}  // namespace dlcc::test
