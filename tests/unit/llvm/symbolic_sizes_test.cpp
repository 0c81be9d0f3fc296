// Models with symbolic sizes: the header, and the loader's run of an object that is written in C against this header.
#include <algorithm>

#include "command_folder.h"
#include "harness.h"

namespace dlcc::test {

namespace {

const std::string flags = "-Wall -Wextra -pedantic -Wconversion -Werror -I . -I " DLCC_SOURCE_DIR "/runtime/include ";

// y = x twice, one after the other, and s = the sum of w; n is even and in [2, 64].
emit::Interface twice() {
  const InputDim n{"n", {"n_by_2", 1, 32}, 2, 0}, m{"length of w", {"length of w", 0}, 1, 0};
  emit::Interface i;
  i.prefix = "twice";
  i.provenance = "a test";
  i.inputs = {{"x", "x", dtype::f32, {n.size(), 3}}, {"w", "w", dtype::f32, {m.size()}}};
  i.outputs = {{"y", "y", dtype::f32, {n.size() * 2, 3}}, {"s", "s", dtype::f32, {}}};
  i.dims = {{n, "n"}, {m, "length_of_w"}};
  i.arena_bytes.reset();
  return i;
}

// The model in C. DEFECT is the number of a defect; 0: none.
const char* const model = R"c(
#include "twice.h"

#ifndef DEFECT
#define DEFECT 0
#endif

dlcc_status twice_plan(const twice_inputs *inputs, twice_shapes *room, uint64_t *arena_bytes) {
  const twice_dims *d;
  if (!inputs || !inputs->dims) return DLCC_NULL_ARGUMENT;
  d = inputs->dims;
  if (d->n < TWICE_N_LOW || d->n > TWICE_N_HIGH || d->n % 2 || d->length_of_w < TWICE_LENGTH_OF_W_LOW)
    return DLCC_DIMENSION_OUT_OF_RANGE;
  if (room) {
    room->y[0] = 2 * d->n + (DEFECT == 1);
    room->y[1] = 3;
  }
  if (room && DEFECT == 2) room->y[2] = 1;
  if (arena_bytes) *arena_bytes = (uint64_t)d->n * sizeof(float) + (DEFECT == 3 ? *arena_bytes & 64 : 0);
  if (DEFECT == 4) ((twice_dims *)d)->n = 2;
  if (DEFECT == 5 && (&d->n)[2] == 1) return DLCC_MATCH_FAILED;
  return DLCC_OK;
}

dlcc_status twice_run_ctx(const twice_inputs *inputs, const twice_outputs *outputs, void *arena, size_t arena_bytes,
                          const dlcc_context *context) {
  uint64_t needed;
  int64_t i, n;
  float sum = 0, *sums = (float *)arena;
  dlcc_status status = twice_plan(inputs, outputs->shapes, &needed);
  (void)context;
  if (status != DLCC_OK) return status;
  if (arena_bytes != needed) return DLCC_ARENA_TOO_SMALL;
  n = inputs->dims->n;
  for (i = 0; i < n; ++i) sums[i] = 0;
  for (i = 0; i < inputs->dims->length_of_w; ++i) sum += inputs->w[i];
  for (i = 0; i < 3 * n; ++i) outputs->y[i] = outputs->y[i + 3 * n] = inputs->x[i];
  outputs->s[0] = sum;
  if (DEFECT == 6) outputs->shapes->y[1] = 2;
  if (DEFECT == 7) outputs->y[6 * n] = 1;
  if (DEFECT == 8) sums[n] = 1;
  return DLCC_OK;
}
)c";

std::vector<std::byte> object(int defect) {
  CommandFolder w;
  w.write("twice.h", emit::make_header(twice()));
  w.write("twice.c", model);
  const int status = w.sh("cc -std=c99 -O1 -fPIC -fno-stack-protector " + flags +
                          "-Wno-array-bounds -DDEFECT=" + std::to_string(defect) + " -c twice.c");
  INFO(w.output());
  REQUIRE(status == 0);
  return w.read("twice.o");
}

Constant numbers(const std::vector<int64_t>& shape) {
  std::vector<float> values(static_cast<size_t>(product(shape_of(shape)).value()));
  for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k) + 1;
  return Constant::of(dtype::f32, shape, values);
}

// The message of a run that fails.
std::string failure(const std::vector<std::byte>& object, const std::vector<Constant>& inputs) {
  const emit::Interface interface = twice();
  Diagnostics diagnostics;
  CHECK(!targets::run_object({object, &interface, inputs}, diagnostics));
  return diagnostics.str();
}

}  // namespace

TEST_CASE("the header of a model with symbolic sizes declares dims, shapes and plan") {
  const std::string header = emit::make_header(twice());
  const size_t from = header.find("#define TWICE_ABI_VERSION"), to = header.find("/* Runs the model");
  REQUIRE(from != std::string::npos);
  CHECK(header.substr(from, to - from) == R"(#define TWICE_ABI_VERSION 1
#define TWICE_ARENA_ALIGN 64u
#define TWICE_STACK_BYTES 0u /* the largest use of the stack */

/* The sizes of a run. */
typedef struct {
  int64_t n; /* in [2, 64] and a multiple of 2 */
  int64_t length_of_w; /* at least 0, 'length of w' */
} twice_dims;

#define TWICE_N_LOW 2
#define TWICE_N_HIGH 64
#define TWICE_LENGTH_OF_W_LOW 0

/* Dense and row-major. Pointers are aligned to their element; inputs and outputs must not overlap. */
typedef struct {
  const float *x; /* [n][3] float32 */
  const float *w; /* [length of w] float32 */
  const twice_dims *dims;
} twice_inputs;

/* All axes of the outputs. */
typedef struct {
  int64_t y[2];
} twice_shapes;

typedef struct {
  float *y; /* [2 * n][3] float32 */
  float *s; /* float32 */
  twice_shapes *shapes; /* written by the run; may be null */
} twice_outputs;

/* Computes the shapes of the outputs and the bytes of the arena for these sizes. Of the inputs, only the dims are
 * read, and the other pointers may be null; so may `room` and `arena_bytes`. DLCC_DIMENSION_OUT_OF_RANGE if a size
 * is not as twice_dims says or if a tensor would be too large. */
dlcc_status twice_plan(const twice_inputs *inputs, twice_shapes *room, uint64_t *arena_bytes);

)");
}

TEST_CASE("headers with symbolic sizes compile as C and C++") {
  emit::Interface bounded = twice(), unknown = twice();
  bounded.prefix = "bounded", bounded.arena_bytes = 640;
  unknown.prefix = "unknown", unknown.inputs.clear(), unknown.dims.clear();
  unknown.outputs = {{"*/ a", "a", dtype::f32, {}}};
  CommandFolder w;
  for (const emit::Interface& i : {twice(), bounded, unknown}) w.write(i.prefix + ".h", emit::make_header(i));
  w.write("use.c", R"c(
#include "twice.h"
#include "bounded.h"
#include "unknown.h"
#include "dlcc/dlcc.h"
typedef char one_pointer_more[sizeof(twice_inputs) == 3 * sizeof(void *) && sizeof(twice_outputs) == 3 * sizeof(void *) ? 1 : -1];
typedef char axes[sizeof(twice_shapes) == 2 * sizeof(int64_t) && sizeof(twice_dims) == 2 * sizeof(int64_t) ? 1 : -1];
typedef char arena[BOUNDED_ARENA_BYTES == 640 ? 1 : -1];
#ifdef TWICE_ARENA_BYTES
#error the arena is not a constant
#endif
extern int64_t use(unknown_shapes *s, unknown_dims *d);
int64_t use(unknown_shapes *s, unknown_dims *d) { return s->none + d->none; }
)c");
  for (const char* compiler : {"cc -std=c99", "c++ -x c++ -std=c++17"}) {
    int status = w.sh(std::string(compiler) + " " + flags + "-c use.c");
    INFO(w.output());
    CHECK(status == 0);
  }
}

TEST_CASE("the loader runs one object at many sizes") {
  const std::vector<std::byte> code = object(0);
  const emit::Interface interface = twice();
  for (auto [n, m] : {std::pair<int64_t, int64_t>{2, 0}, {4, 1}, {64, 5000}}) {
    Diagnostics diagnostics;
    auto ran = targets::run_object({code, &interface, {numbers({n, 3}), numbers({m})}}, diagnostics);
    INFO(diagnostics.str());
    REQUIRE(ran);
    CHECK(ran->status == 0);
    REQUIRE(ran->outputs.size() == 2);
    CHECK(ran->outputs[0].shape() == std::vector<int64_t>{2 * n, 3});
    CHECK(ran->outputs[0].number_at(3 * n + 1) == 2);
    CHECK(ran->outputs[1].number_at(0) == doctest::Approx(double(m) * double(m + 1) / 2));
  }
  Diagnostics diagnostics;
  targets::RunRequest timed{code, &interface, {numbers({8, 3}), numbers({3})}};
  timed.repeat = 3;
  auto ran = targets::run_object(timed, diagnostics);
  REQUIRE(ran);
  CHECK(ran->seconds.size() == 3);
}

TEST_CASE("inputs whose sizes disagree or are out of bounds are refused before a run") {
  const std::vector<std::byte> none;  // never linked
  for (int64_t size : {3, 66})
    CHECK(failure(none, {numbers({size, 3}), numbers({1})})
              .find(fmt::format(
                  "axis 0 of input 'x' is {}, but it is declared as n, where n is in [2, 64] and a multiple "
                  "of 2",
                  size)) != std::string::npos);
  CHECK(failure(none, {numbers({2, 4}), numbers({1})}).find("input 'x' is float32(n, 3), but float32(2, 4)") !=
        std::string::npos);
  CHECK(failure(none, {numbers({2, 3})}).find("the model has 2 inputs, 1 were given") != std::string::npos);
}

TEST_CASE("the loader detects wrong shapes, arena sizes and accesses of P_plan and P_run") {
  auto found = [](int defect) { return failure(object(defect), {numbers({4, 3}), numbers({2})}); };
  CHECK(found(1).find("twice_plan gives output 'y' the shape (9, 3)") != std::string::npos);
  CHECK(found(2).find("write of byte 16 of the shapes") != std::string::npos);
  CHECK(found(3).find("twice_plan gives an arena of 16 bytes instead of 80") != std::string::npos);
  CHECK(found(4).find("write of byte 0 of the dims") != std::string::npos);
  CHECK(found(5).find("read of byte 16 of the dims") != std::string::npos);
  CHECK(found(6).find("twice_run gives output 'y' the shape (8, 2)") != std::string::npos);
  CHECK(found(7).find("output 'y'") != std::string::npos);
  CHECK(found(8).find("the arena") != std::string::npos);
}

}  // namespace dlcc::test
