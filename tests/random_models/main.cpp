// Random ONNX models, each in all engines: random_models FIRST COUNT [FOLDER]
//
// Models FIRST to FIRST + COUNT - 1 are made, compiled and run; the results of the definitions, of the schedules and of
// the object must agree, whatever the CPU level, the number of threads and the accuracy. With FOLDER, model K becomes
// FOLDER/K with model.onnx, test_data_set_0 with the results of the definitions, and tolerances.txt, a line for each
// output; compare_onnxruntime.py compares them with onnxruntime. A failure is one line with the number of the model.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "frontends/onnx/tensor_proto.h"
#include "graph.h"
#include "pipeline/verification.h"
#include "support/files.h"

namespace fs = std::filesystem;
using namespace dlcc;
using namespace dlcc::random_models;

namespace {

Graph random_graph(unsigned seed) {
  static constexpr int opsets[] = {13, 15, 17, 18, 19, 20, 21, 23};
  Graph g(seed, opsets[seed % std::size(opsets)]);
  for (int k = 1 + g.draw(3); k > 0; --k) {
    const DType t = g.chance(50)
                        ? dtype::f32
                        : g.one_of({dtype::f64, dtype::f16, dtype::bf16, dtype::i8, dtype::i16, dtype::i32, dtype::i64,
                                    dtype::u8, dtype::u16, dtype::u32, dtype::u64, dtype::boolean});
    g.input(t, g.random_shape(t == dtype::f32 ? 4 : 5));
  }
  const int wanted = 2 + g.draw(12);
  for (int tries = 0; g.size() < wanted && tries < 200; ++tries) {
    const int kind = g.draw(100);
    const auto& rows = kind < 34   ? elementwise_operators()
                       : kind < 52 ? movement_operators()
                       : kind < 66 ? selection_operators()
                       : kind < 82 ? layer_operators()
                       : kind < 85 ? recurrent_operators()
                       : kind < 88 ? attention_operators()
                       : kind < 91 ? microsoft_operators()
                       : kind < 93 ? counted_operators()
                       : kind < 96 ? sequence_operators()
                                   : control_operators();
    rows[static_cast<size_t>(g.draw(static_cast<int>(rows.size())))](g);
    const Value& last = g.visible().back();
    if (last.count() > 4096 || last.bound > 1e8) break;
  }
  return g;
}

// Twice the largest error of an engine: the tolerance between two engines.
double tolerance(const Value& v) { return v.exact() ? 0 : 2 * v.error + 1e-30; }

CompileOptions options_of(unsigned seed, const schema::ModelProto& model) {
  CompileOptions o{.model = "random.onnx", .prefix = "m"};
  std::vector<std::byte> bytes(model.ByteSizeLong());
  model.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  o.model_bytes = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  o.mcpu = seed % 2 ? "x86-64-v3" : __builtin_cpu_supports("avx512vl") ? "x86-64-v4" : "x86-64-v2";
  o.schedule.strict = seed % 5 == 1;
  o.schedule.threads = seed % 3 == 2 ? 2 : 1;
  return o;
}

void write_bytes(const fs::path& path, std::span<const std::byte> bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
}

void write_model(const fs::path& folder, const Graph& g, std::span<const std::byte> model,
                 const std::vector<Constant>& results) {
  fs::create_directories(folder / "test_data_set_0");
  write_bytes(folder / "model.onnx", model);
  auto write = [&](const char* what, size_t k, const Constant& c) {
    write_bytes(folder / "test_data_set_0" / fmt::format("{}_{}.pb", what, k),
                frontends::onnx::write_tensor_proto("", c));
  };
  std::string tolerances;
  for (size_t k = 0; k < g.input_data().size(); ++k) write("input", k, g.input_data()[k]);
  for (size_t k = 0; k < results.size(); ++k) {
    write("output", k, results[k]);
    tolerances += fmt::format("{}\n", tolerance(g.outputs()[k]));
  }
  write_bytes(folder / "tolerances.txt", std::as_bytes(std::span(tolerances)));
}

// Describes the error of a result; empty if it is as expected.
std::string difference(const std::vector<Constant>& got, const std::vector<Constant>& expected, const Graph& g) {
  for (size_t k = 0; k < expected.size(); ++k) {
    const Value& v = g.outputs()[k];
    const Comparison c = compare(got[k], expected[k], {.rtol = 0, .atol = tolerance(v)});
    if (!c.ok) return fmt::format("{}: {} (tolerance {:g})", v.name, c.what, tolerance(v));
  }
  return "";
}

// Describes the first result outside of the generator's type, shape, bound or error; empty if there is none.
std::string violated_bound(const std::vector<Constant>& results, const Graph& g) {
  for (size_t k = 0; k < results.size(); ++k) {
    const Value& v = g.outputs()[k];
    const std::vector<int64_t>& shape = results[k].shape();
    if (results[k].dtype() != v.type || !std::ranges::equal(shape, v.shape, {}, {}, &Size::number))
      return fmt::format("{}: {} {} instead of {} of rank {}", v.name, name(results[k].dtype()), str(shape_of(shape)),
                         name(v.type), v.rank());
    for (int64_t i = 0; i < results[k].count(); ++i)
      if (double x = results[k].number_at(i); !(std::abs(x) <= v.bound + v.error))
        return fmt::format("{}: element {} is {:g}, beyond the bound {:g}", v.name, i, x, v.bound);
  }
  return "";
}

std::string failure(unsigned seed, const fs::path& folder) {
  Graph g = random_graph(seed);
  const schema::ModelProto proto = g.finish();
  if (g.outputs().empty()) return "";
  Diagnostics d;
  const CompileOptions options = options_of(seed, proto);
  const std::vector<std::string> engines(std::begin(engine_names), std::end(engine_names));
  if (!folder.empty()) write_model(folder / std::to_string(seed), g, *options.model_bytes, {});
  Compiler compiler(options, d);
  auto model = prepare_verification(compiler, engines);
  if (!model) return "refused: " + d.str();
  std::vector<Constant> expected;
  for (const std::string& name : engines) {
    auto got = make_engine(name, compiler, *model)(g.input_data(), d);
    if (!got) return name + ": " + d.str();
    if (expected.empty()) {
      expected = *got;
      if (!folder.empty()) write_model(folder / std::to_string(seed), g, *options.model_bytes, expected);
      if (std::string what = violated_bound(expected, g); !what.empty()) return what;
    } else if (std::string what = difference(*got, expected, g); !what.empty()) {
      return name + ": " + what;
    }
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: random_models FIRST COUNT [FOLDER]\n"), 2;
  const auto first = static_cast<unsigned>(std::atoi(argv[1])), count = static_cast<unsigned>(std::atoi(argv[2]));
  unsigned failed = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    std::string what;
    try {
      what = failure(seed, argc > 3 ? argv[3] : "");
    } catch (const std::exception& e) {
      what = std::string("internal error: ") + e.what();
    }
    if (what.empty()) continue;
    ++failed;
    std::printf("FAIL %u %s\n", seed, what.c_str());
    std::fflush(stdout);
  }
  std::printf("%u passed, %u failed\n", count - failed, failed);
  return failed ? 1 : 0;
}
