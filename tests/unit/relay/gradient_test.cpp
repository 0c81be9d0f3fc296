// Gradients, by the pass add-gradients, compared with central differences of the program in float64. The rules of all
// operators are tested with the operators' sample calls, and their cases one by one.
#include <fstream>
#include <random>
#include <sstream>

#include "calculus.h"
#include "relay/evaluate.h"
#include "relay/sample_calls.h"
#include "support/scalar_constant.h"

namespace dlcc::relay {
namespace {

// Random values for a parameter: floats in [0.2, 0.9] or, where the program can do with them, of both signs; integers
// in [0, 2], bools.
Constant random_value(const TensorType& type, std::mt19937& random, bool any_sign) {
  const std::vector<int64_t> shape = static_shape(type.shape);
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<std::byte> bytes;
  for (int64_t k = 0; k < count; ++k) {
    double value = std::uniform_real_distribution(0.2, 0.9)(random);
    if (any_sign && random() % 2) value = -value;
    const Constant element = scalar_constant(
        type.dtype, is_float(type.dtype) ? value : static_cast<double>(random() % (is_bool(type.dtype) ? 2 : 3)));
    bytes.insert(bytes.end(), element.bytes().begin(), element.bytes().end());
  }
  return Constant(type.dtype, shape, std::move(bytes));
}

std::vector<double> run(const Module& module, const std::vector<Constant>& args,
                        std::vector<Constant>* results = nullptr) {
  Diagnostics d;
  const auto evaluation = evaluate(module, args, tensor::Precision::float64, d);
  REQUIRE_MESSAGE(evaluation, d.str());
  REQUIRE(evaluation->status == tensor::Status::ok);
  std::vector<double> sums;
  for (const Constant& result : evaluation->results) {
    double sum = 0;
    for (int64_t k = 0; is_float(result.dtype()) && k < result.count(); ++k) sum += result.number_at(k);
    sums.push_back(sum);
  }
  if (results) *results = evaluation->results;
  return sums;
}

// Whether a run with the arguments succeeds: random indices may be out of range.
bool is_valid(const Module& module, const std::vector<Constant>& args) {
  Diagnostics d;
  const auto evaluation = evaluate(module, args, tensor::Precision::float64, d);
  return evaluation && evaluation->status == tensor::Status::ok;
}

double total(const Module& module, const std::vector<Constant>& args) {
  double sum = 0;
  for (const double part : run(module, args)) sum += part;
  return sum;
}

// The argument with `step` added to one element.
Constant moved(const Constant& argument, int64_t element, double step) {
  std::vector<std::byte> bytes(argument.bytes().begin(), argument.bytes().end());
  const double value = argument.number_at(element) + step;
  std::memcpy(bytes.data() + 8 * element, &value, 8);
  return Constant(argument.dtype(), argument.shape(), std::move(bytes));
}

// The largest difference between the gradients of @main of `with_gradients` and those of differences, relative to the
// largest element.
double largest_error(const Module& module, const Module& with_gradients, const std::vector<Constant>& args) {
  std::vector<Constant> results;
  run(with_gradients, args, &results);
  size_t next = results.size();
  for (const Constant& a : args) next -= is_float(a.dtype()) ? 1 : 0;
  double error = 0, largest = 1e-3;
  for (size_t k = 0; k < args.size(); ++k) {
    if (!is_float(args[k].dtype())) continue;
    const Constant& gradient = results[next++];
    REQUIRE(gradient.shape() == args[k].shape());
    for (int64_t element = 0; element < args[k].count(); ++element) {
      constexpr double step = 1e-5;
      std::vector<Constant> above = args, below = args;
      above[k] = moved(args[k], element, step);
      below[k] = moved(args[k], element, -step);
      const double slope = (total(module, above) - total(module, below)) / (2 * step);
      error = std::max(error, std::abs(gradient.number_at(element) - slope));
      largest = std::max(largest, std::abs(slope));
    }
  }
  return error / largest;
}

std::optional<Module> with_gradients(const Module& module, Diagnostics& d) {
  return after(copy_with_own_variables(module), {"add-gradients"}, d);
}

// A program, and the same program with its gradients.
struct Differentiated {
  Module module, gradients;
};
Differentiated differentiated(const std::string& text) {
  Diagnostics d;
  auto module = import_text(text, d);
  REQUIRE_MESSAGE(module, d.str());
  auto gradients = with_gradients(*module, d);
  REQUIRE_MESSAGE(gradients, d.str());
  return {std::move(*module), std::move(*gradients)};
}

// Checks a program whose floats are float64, which the text may leave out: "%x: (2, 3), %at: (4) int64 => sum(%x)".
void check_gradients(const std::string& text, bool any_sign = true) {
  CAPTURE(text);
  std::string params;
  const size_t arrow = text.find(" => ");
  for (size_t at = 0; at < arrow;) {
    const size_t open = text.find('(', at), close = text.find(')', open), end = std::min(arrow, text.find(',', close));
    const std::string type = end > close + 1 ? text.substr(close + 2, end - close - 2) : "float64";
    params += text.substr(at, open - at) + "Tensor[" + text.substr(open, close + 1 - open) + ", " + type + "]" +
              (end < arrow ? ", " : "");
    at = end < arrow ? end + 2 : arrow;
  }
  const auto [module, gradients] = differentiated("def @main(" + params + ") {" + text.substr(arrow + 4) + "}");
  std::mt19937 random(1);
  std::vector<Constant> args;
  for (const Var& p : module.functions.at("main").params)
    args.push_back(random_value(*as<TensorType>(p->type), random, any_sign));
  CHECK(largest_error(module, gradients, args) < 1e-6);
}

std::string refusal(const std::string& main) {
  Diagnostics d;
  const auto module = import_text(main, d);
  REQUIRE_MESSAGE(module, d.str());
  CHECK(!with_gradients(*module, d));
  return d.str();
}

// A program that squares the results of the operator's sample call, so that their elements have different gradients.
std::string program_of(const Operator& op, const SampleCall& sample) {
  std::string params, args, attrs;
  for (size_t k = 0; k < sample.operands.size(); ++k) {
    const TensorType& t = sample.operands[k];
    params += fmt::format("{}%p{}: {}", k ? ", " : "", k, str(tensor_type(t.shape, t.dtype)));
    args += fmt::format("{}%p{}", k ? ", " : "", k);
  }
  for (const auto& [name, value] : sample.attrs) attrs += fmt::format(", {}={}", name, str(value));
  if (op.variadic) args = "(" + args + ",)";
  if (args.empty()) attrs = attrs.substr(2);
  std::string squares;
  const Type type = std::get<Type>(op.type(sample.attrs, sample.operands));
  const bool is_tuple = as<TupleType>(type) != nullptr;
  int field = 0;
  for_each_field(type, [&](const Type& t) {
    const std::string y = is_tuple ? fmt::format("%y.{}", field) : "%y";
    squares += (field++ ? ", " : "") + (is_float(as<TensorType>(t)->dtype) ? y + " * " + y : y);
  });
  return fmt::format("def @main({}) {{ let %y = {}({}{}); ({},) }}", params, op.name, args, attrs, squares);
}

}  // namespace

TEST_CASE("gradients of all operators with a rule agree with differences; the others are known") {
  std::string without;
  std::mt19937 random(7);
  for (const auto& [name, op] : operators().all()) {
    CAPTURE(name);
    const auto samples = sample_calls(*op);
    const auto sample = samples.find(dtype::f64);
    if (sample == samples.end()) continue;
    Diagnostics d;
    auto module = import_text(program_of(*op, sample->second), d);
    REQUIRE_MESSAGE(module, d.str());
    bool has_real_result = false;
    for_each_field(module->functions.at("main").result_type, [&](const Type& field) {
      has_real_result = has_real_result || is_float(as<TensorType>(field)->dtype);
    });
    if (!has_real_result) continue;
    const auto differentiated = with_gradients(*module, d);
    if (!differentiated) {
      without += name + "\n";
      continue;
    }
    std::vector<Constant> args;
    for (int attempt = 0; attempt < 5000 && (attempt == 0 || !is_valid(*module, args)); ++attempt) {
      args.clear();
      for (const Var& p : module->functions.at("main").params)
        args.push_back(random_value(*as<TensorType>(p->type), random, false));
    }
    CHECK(largest_error(*module, *differentiated, args) < 1e-5);
  }
  std::ifstream file(DLCC_OPERATORS_WITHOUT_GRADIENT);
  std::stringstream expected;
  expected << file.rdbuf();
  CHECK(without == expected.str());
}

TEST_CASE("gradients of elementwise functions and of their broadcast operands") {
  for (const char* f :
       {"abs",     "sign", "floor", "sin", "cos",  "tan",     "sinh",          "cosh", "asinh", "tanh",
        "sigmoid", "erf",  "expm1", "exp", "atan", "nn.relu", "nn.leaky_relu", "asin", "acos",  "atanh"})
    check_gradients(fmt::format("%x: (2, 3) => {}(%x) * %x", f));
  for (const char* f : {"add", "subtract", "multiply", "divide", "maximum", "minimum", "mod", "floor_mod"})
    for (const char* shapes : {"(2, 3), %y: (2, 3)", "(2, 3), %y: (3)", "(1, 3), %y: (2, 1)", "(2, 3), %y: ()"})
      check_gradients(fmt::format("%x: {} => {}(%x, %y) * %x", shapes, f));
  check_gradients("%x: (2, 3), %y: (3) => power(%x, %y)", false);
  check_gradients("%x: (2, 3) => power(%x, 2f64) + power(%x, 3f64)");
  check_gradients("%x: (2, 3) => clip(%x, a_min=-0.4f, a_max=0.5f) * %x");
  check_gradients("%x: (2, 3), %y: (3) => where(%x > 0f64, %y, %x * %x)");
}

TEST_CASE("gradients of reductions, normalizations and losses") {
  for (const char* f : {"sum", "mean", "max", "min", "prod", "logsumexp"})
    for (const char* attrs : {"", ", axis=[1]", ", axis=[0, -1], keepdims=True", ", axis=[1], exclude=True"})
      check_gradients(fmt::format("%x: (2, 3, 4) => exp({}(%x{}))", f, attrs));
  check_gradients("%x: (3) => prod(%x * 0f64 + %x)");
  for (const char* f : {"nn.softmax", "nn.log_softmax", "nn.fast_softmax"})
    check_gradients(fmt::format("%x: (2, 3, 4) => {}(%x, axis=1) * %x", f));
  check_gradients("%x: (2, 3, 4), %g: (3), %b: (3) => nn.layer_norm(%x, %g, %b, axis=1) * %x");
  check_gradients("%x: (2, 4, 3), %g: (4), %b: (4) => nn.group_norm(%x, %g, %b, num_groups=2) * %x");
  check_gradients("%x: (2, 3, 2, 2), %g: (3), %b: (3), %m: (3), %v: (3) => nn.batch_norm(%x, %g, %b, %m, %v).0 * %x",
                  false);
  check_gradients("%x: (1, 5, 2) => nn.lrn(%x, size=3, alpha=0.2f) * %x");
  check_gradients("%x: (2, 3), %m: (2, 1) => variance(%x, %m, axis=[1], unbiased=True)");
  for (const char* reduction : {"none", "sum", "mean"})
    check_gradients(fmt::format("%x: (2, 3, 4), %t: (2, 4) int64, %w: (3) => exp(nn.nll_loss(%x, %t, %w, "
                                "reduction=\"{}\", ignore_index=1))",
                                reduction),
                    false);
}

TEST_CASE("gradients of products") {
  check_gradients("%a: (2, 3), %b: (4, 3) => exp(nn.dense(%a, %b))");
  check_gradients("%a: (2, 5, 3), %b: (3, 4) => exp(nn.matmul(%a, %b))");
  check_gradients("%a: (3), %b: (3, 4) => exp(nn.matmul(%a, %b))");
  for (const char* a : {"(2, 3, 5)", "(2, 5, 3), transpose_a=True", "(1, 3, 5)", "(4, 2, 3, 5)"})
    for (const char* b : {"(2, 5, 2)", "(2, 2, 5), transpose_b=True", "(5, 2)"}) {
      const auto shape = [](const std::string& text) { return text.substr(0, text.find(')') + 1); };
      const auto attrs = [](const std::string& text) { return text.substr(text.find(')') + 1); };
      check_gradients(
          fmt::format("%a: {}, %b: {} => exp(nn.batch_matmul(%a, %b{}{}))", shape(a), shape(b), attrs(a), attrs(b)));
    }
  for (const char* equation : {"bij,bjk->bik", "ij,jk->k", "...i,i->...", "i,j->ij"}) {
    const std::string e = equation;
    const char* shapes = e[0] == 'b'      ? "(2, 3, 4), %b: (2, 4, 2)"
                         : e[0] == '.'    ? "(2, 3, 4), %b: (4)"
                         : e == "i,j->ij" ? "(3), %b: (2)"
                                          : "(3, 4), %b: (4, 2)";
    check_gradients(fmt::format("%a: {} => exp(einsum((%a, %b), equation=\"{}\"))", shapes, e));
  }
  check_gradients("%a: (2, 3, 4) => exp(einsum((%a,), equation=\"ijk->j\"))");
}

TEST_CASE("gradients of convolutions and poolings") {
  for (const char* attrs : {"", ", strides=[2], padding=[1], groups=2", ", dilation=[2], padding=[2, 1]"}) {
    const char* weight = std::string(attrs).find("groups") == std::string::npos ? "(4, 2, 3)" : "(4, 1, 3)";
    check_gradients(fmt::format("%x: (2, 2, 7), %w: {} => exp(nn.conv1d(%x, %w{}))", weight, attrs));
  }
  check_gradients(
      "%x: (1, 5, 6, 2), %w: (3, 2, 2, 3) => "
      "exp(nn.conv2d(%x, %w, strides=[2, 1], padding=[1, 0], data_layout=\"NHWC\", kernel_layout=\"HWIO\"))");
  check_gradients(
      "%x: (2, 4, 4, 4, 4), %w: (4, 2, 2, 2, 2) => "
      "exp(nn.conv3d(%x, %w, strides=[2, 1, 2], padding=[1, 0, 0], dilation=[1, 2, 1], groups=2))");
  check_gradients(
      "%x: (2, 2, 3, 3), %w: (2, 2, 2, 3) => "
      "exp(nn.conv2d_transpose(%x, %w, strides=[2, 2], padding=[1, 0], groups=2, output_padding=[1, 0]))");
  for (const char* pool : {"max_pool", "sum_pool", "avg_pool"})
    for (const char* attrs : {"", ", padding=[1]", ", padding=[0, 1], ceil_mode=True"})
      check_gradients(fmt::format("%x: (1, 2, 6) => exp(nn.{}1d(%x, pool_size=[3], strides=[2]{}))", pool, attrs));
  check_gradients(
      "%x: (1, 2, 5, 5) => exp(nn.avg_pool2d(%x, pool_size=[3, 2], padding=[1, 1], count_include_pad=True))");
  check_gradients("%x: (1, 5, 5, 2) => exp(nn.max_pool2d(%x, pool_size=[3, 2], layout=\"NHWC\"))");
  check_gradients("%x: (1, 1, 4, 4, 4) => exp(nn.avg_pool3d(%x, pool_size=[2, 3, 2], strides=[2, 1, 2]))");
  check_gradients("%x: (1, 2, 3, 3) => exp(nn.global_avg_pool2d(%x)) + nn.global_max_pool2d(%x)");
  check_gradients("%x: (1, 3, 4) => exp(image.resize(%x, size=[1, 5, 6], method=\"cubic\"))");
  check_gradients("%x: (2, 3) => exp(image.resize(%x, size=[2, 7], scale=[1f, 2.5f], method=\"linear\"))");
}

TEST_CASE("gradients of operators that move elements") {
  check_gradients("%x: (2, 3, 4) => transpose(%x, axes=[2, 0, 1]) * transpose(%x, axes=[2, 0, 1])");
  check_gradients("%x: (2, 3), %y: (2, 2) => let %j = concatenate((%x, %y, %x), axis=1); exp(%j)");
  check_gradients("%x: (6, 2) => let %s = split(%x, indices_or_sections=[2, 4]); exp(%s.1) * %s.2");
  check_gradients("%x: (5, 4) => exp(strided_slice(%x, begin=[1, 3], end=[4, -5], strides=[1, -2]))");
  check_gradients("%x: (5, 4) => exp(strided_slice(%x, begin=[1, 0], end=[4, 3]))");
  check_gradients("%x: (2, 3), %v: () => exp(nn.pad(%x, %v, pad_width=[[1, 0], [0, 2]]))");
  check_gradients("%x: (2, 4), %v: () => exp(nn.pad(%x, %v, pad_width=[[1, 0], [-1, 2]]))");
  check_gradients("%x: (3, 3), %v: () => exp(nn.pad(%x, %v, pad_width=[[1, 2], [2, 1]], pad_mode=\"reflect\"))");
  check_gradients("%x: (2, 3), %i: (2, 2) int64 => exp(take(%x, %i, axis=1, mode=\"strict\"))");
  check_gradients("%x: (3, 2), %i: (4) int32 => exp(take(%x, %i, axis=0, mode=\"wrap\"))");
  check_gradients("%x: (2, 3), %i: (2, 2) int64 => exp(take(%x, %i, axis=1, batch_dims=1))");
  check_gradients("%x: (300), %i: (2) int8 => exp(take(%x, %i, axis=0)) + exp(take(%x, %i, axis=0, mode=\"wrap\"))");
  check_gradients("%x: (3, 3), %i: (2, 3) int64 => exp(gather(%x, %i, axis=0))");
  check_gradients("%x: (3, 3, 2), %i: (2, 4) int64 => exp(gather_nd(%x, %i))");
  check_gradients("%x: (2, 3) => exp(tile(%x, reps=[2, 1, 2]))");
  check_gradients(
      "%x: (2, 3) => exp(repeat(%x, repeats=2, axis=1)) + exp(repeat(reverse(%x, axis=0), repeats=2, axis=1))");
  check_gradients("%x: (3), %y: (2) => let %m = meshgrid((%x, %y), indexing=\"xy\"); exp(%m.0 * %m.1)");
  check_gradients("%x: (2, 4) => exp(cumsum(%x, axis=1, exclusive=True)) + exp(cumsum(%x, axis=0, reverse=True))");
  check_gradients("%x: (2, 5) => let %t = topk(%x, k=[3], axis=1); exp(%t.0)");
  check_gradients("%x: (2, 4) => exp(sort(%x, axis=1)) * %x");
  for (const char* reduction : {"update", "add"})
    check_gradients(
        fmt::format("%x: (3, 2), %i: (1, 2) int64, %u: (1, 2) => "
                    "exp(scatter_elements(%x, %i, %u, axis=0, reduction=\"{}\"))",
                    reduction));
  check_gradients("%x: (3, 2), %i: (1, 1) int64, %u: (1, 2) => exp(scatter_nd(%x, %i, %u, mode=\"add\"))");
  check_gradients("%x: (3, 3), %l: (3) int64 => exp(sequence_mask(%x, %l, mask_value=3f))");
  check_gradients("%x: (2, 4) => let %d = dft(%x, %x * %x); exp(%d.0) * %d.1 + dft(%x, %x, inverse=True).1");
}

TEST_CASE("gradients through tuples, branches, casts and checks of sizes") {
  check_gradients("%x: (3), %y: (3) => let %t = (%x * %y, exp(%x)); let %u = (%t, %y); %u.0.0 * %u.1 + %t.1");
  for (const char* condition : {"True", "False"})
    check_gradients(
        fmt::format("%x: (3), %y: (3) => let %z = exp(%x); let %a = if ({}) {{ let %w = %z * %y; %w * %w }} "
                    "else {{ %y }}; %a * %z",
                    condition));
  check_gradients(
      "%x: (3) => let %a = if (sum(%x) > 100f64) { (%x, 2f64) } else { let %b = if (True) { %x * %x } "
      "else { %x }; (%b, sum(exp(%b))) }; %a.0 * %a.1");
  check_gradients("%x: (3), %y: (2) => let %a = if (1 < 2) { exp(%x) } else { exp(%y) }; %a * %a");
  check_gradients("%x: (3) => let %y = match_cast(%x, Tensor[(3), float64]); exp(%y)");
  check_gradients("%x: (3) => cast(floor(%x), dtype=\"int32\") * 2");  // no result is a float
  check_gradients("%x: (3), %i: (3) int64 => (exp(%x), %i, sum(%x))");
}

TEST_CASE("sizes may be symbols") {
  const auto [module, gradients] = differentiated(
      "def @main(%x: Tensor[(n, 3), float64], %w: Tensor[(4, 3), float64], %b: Tensor[(4), float64]) {"
      "mean(exp(nn.softmax(concatenate((nn.dense(%x, %w) + %b, nn.dense(%x, %w)), axis=0)))) }");
  std::mt19937 random(3);
  for (const int64_t n : {1, 5}) {
    std::vector<Constant> args;
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{n, 3}, {4, 3}, {4}})
      args.push_back(random_value({dlcc::shape_of(shape), dtype::f64}, random, true));
    CHECK(largest_error(module, gradients, args) < 1e-6);
  }
}

TEST_CASE("gradients of float16 do not overflow where the results do not") {
  for (const char* body :
       {"nn.layer_norm(%x, %x, %x) * %x", "nn.lrn(reshape(%x, newshape=[1, 4]), size=3, alpha=1f) * 2f16",
        "mean(broadcast_to(%x, shape=[100000, 4])) * mean(%x)"}) {
    CAPTURE(body);
    const auto gradients = differentiated(fmt::format("def @main(%x: Tensor[(4), float16]) {{ {} }}", body)).gradients;
    std::vector<std::byte> bytes;
    for (const double value : {300.0, 500.0, -400.0, 600.0}) {
      const Constant element = scalar_constant(dtype::f16, value);
      bytes.insert(bytes.end(), element.bytes().begin(), element.bytes().end());
    }
    Diagnostics d;
    const auto evaluation =
        evaluate(gradients, std::vector{Constant(dtype::f16, {4}, bytes)}, tensor::Precision::specified, d);
    REQUIRE(evaluation);
    for (int64_t k = 0; k < 4; ++k) {
      const double gradient = evaluation->results.back().number_at(k);
      CHECK(std::isfinite(gradient));
      CHECK(gradient != 0);
    }
  }
}

TEST_CASE("derivatives of derivatives") {
  const Module first = differentiated(
                           "def @main(%x: Tensor[(1, 2, 6, 6), float64], %w: Tensor[(2, 2, 3, 3), float64]) {"
                           "nn.max_pool2d(tanh(nn.conv2d(%x, %w, padding=[1, 1])), pool_size=[2, 2], strides=[2, 2]) }")
                           .gradients;
  Diagnostics d;
  const auto second = with_gradients(first, d);
  REQUIRE_MESSAGE(second, d.str());
  std::mt19937 random(3);
  const std::vector<Constant> args = {random_value({{1, 2, 6, 6}, dtype::f64}, random, true),
                                      random_value({{2, 2, 3, 3}, dtype::f64}, random, true)};
  CHECK(largest_error(first, *second, args) < 1e-6);
}

TEST_CASE("what has no gradient is refused where it is") {
  CHECK(refusal("def @f(%x: float32) { if (%x > 2f) { %x } else { @f(%x * 2f) } }\n"
                "def @main(%x: float32) { @f(%x) }")
            .find("it calls a function") != std::string::npos);
  CHECK(refusal("def @main(%x: Tensor[(2, 2), float32]) { linalg.det(%x) }").find("linalg.det has no rule") !=
        std::string::npos);
  CHECK(refusal("def @main(%x: Tensor[(2, 2), float32]) { let %r = ref(%x); ref_read(%r) }").find("it has effects") !=
        std::string::npos);
}

}  // namespace dlcc::relay
