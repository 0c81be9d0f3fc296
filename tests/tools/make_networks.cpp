// Writes networks with seeded random weights and the results that their definitions give: make_networks FOLDER.
//
// Each network NAME becomes FOLDER/NAME with
//   model.rly                          the network; its weights are constants
//   test_data_set_0/{input,output}_0.pb  a data set for `dlcc verify`, computed by the evaluator of definitions
//   input.bin, expected.bin            the same numbers as bytes, for tests/programs/run_model.c
// Random weights differ from channel to channel, so a permutation of channels changes the results.
#include <cstdio>
#include <filesystem>
#include <random>

#include "frontends/frontend.h"
#include "pipeline/tensor_files.h"
#include "relay/evaluate.h"
#include "relay/metadata.h"
#include "support/files.h"

namespace fs = std::filesystem;
using namespace dlcc;

namespace {

// The image between two layers: a variable of the text, and its channels.
struct Image {
  std::string name;
  int64_t channels;
};

struct Conv {
  int64_t channels, taps = 1, stride = 1, groups = 1;
};

// The text of a network under construction.
class Network {
 public:
  explicit Network(unsigned seed) : random_(seed) {}

  Image input(int64_t channels, int64_t size) {
    shape_ = {1, channels, size, size};
    return {"%x", channels};
  }

  // A convolution that keeps the image's size but for its stride, with folded batch normalization as real networks
  // have.
  Image conv(const Image& x, const Conv& c) {
    int64_t fan_in = x.channels / c.groups * c.taps * c.taps;
    std::string weights = constant({c.channels, x.channels / c.groups, c.taps, c.taps}, 0, std::sqrt(3.0 / fan_in));
    std::string sums = bind("nn.conv2d({}, {}, strides=[{}, {}], padding=[{}, {}], groups={})", x.name, weights,
                            c.stride, c.stride, c.taps / 2, c.taps / 2, c.groups);
    std::vector<int64_t> shape = {c.channels};
    std::string gamma = constant(shape, 1, 0.25), beta = constant(shape, 0, 0.25), mean = constant(shape, 0, 0.25),
                variance = constant(shape, 1, 0.25);
    std::string normal = bind("nn.batch_norm({}, {}, {}, {}, {})", sums, gamma, beta, mean, variance);
    return {bind("{}.0", normal), c.channels};
  }

  Image relu(const Image& x) { return {bind("nn.relu({})", x.name), x.channels}; }
  Image relu6(const Image& x) { return {bind("clip({}, a_min=0f, a_max=6f)", x.name), x.channels}; }
  Image swish(const Image& x) { return multiply(x, {bind("sigmoid({})", x.name), x.channels}); }
  Image add(const Image& x, const Image& y) { return {bind("add({}, {})", x.name, y.name), x.channels}; }
  Image multiply(const Image& x, const Image& y) { return {bind("multiply({}, {})", x.name, y.name), x.channels}; }
  Image mean(const Image& x) { return {bind("nn.global_avg_pool2d({})", x.name), x.channels}; }
  Image max_pool(const Image& x, int64_t size, int64_t padding) {
    return {bind("nn.max_pool2d({}, pool_size=[{}, {}], strides=[2, 2], padding=[{}, {}])", x.name, size, size, padding,
                 padding),
            x.channels};
  }
  Image average_pool(const Image& x) {
    return {bind("nn.avg_pool2d({}, pool_size=[2, 2], strides=[2, 2])", x.name), x.channels};
  }
  Image concat(const Image& x, const Image& y) {
    return {bind("concatenate(({}, {}), axis=1)", x.name, y.name), x.channels + y.channels};
  }

  // The image in unsigned bytes, and back.
  Image quantize(const Image& x) { return {bind("cast(round({} * 40f + 100f), dtype=\"uint8\")", x.name), x.channels}; }
  Image dequantize(const Image& x) { return {bind("cast({}, dtype=\"float32\") * 0.02f", x.name), x.channels}; }

  // A convolution of unsigned data and signed weights, both bytes. The sums in int32 and their bias are requantized to
  // unsigned bytes, so that about half of the results are 0, as behind a rectifier.
  Image byte_conv(const Image& x, const Conv& c) {
    const int64_t in_group = x.channels / c.groups, k = in_group * c.taps * c.taps;
    const std::string sums = bind(
        "nn.conv2d({}, {}, strides=[{}, {}], padding=[{}, {}], groups={}, out_dtype=\"int32\")", x.name,
        byte_constant({c.channels, in_group, c.taps, c.taps}), c.stride, c.stride, c.taps / 2, c.taps / 2, c.groups);
    const std::string bias = bind("cast({}, dtype=\"int32\")", byte_constant({c.channels, 1, 1}));
    const double scale = 0.01 / std::sqrt(static_cast<double>(k));
    return {bind("cast(round(cast({} + {}, dtype=\"float32\") * {:.6f}f), dtype=\"uint8\")", sums, bias, scale),
            c.channels};
  }

  // The classifier: means over the image, a product, a bias.
  void classify(const Image& x, int64_t classes) {
    std::string flat = bind("nn.batch_flatten({})", mean(x).name);
    std::string sums = bind("nn.dense({}, {})", flat, constant({classes, x.channels}, 0, std::sqrt(3.0 / x.channels)));
    bind("nn.bias_add({}, {})", sums, constant({classes}, 0, 1));
  }

  // A recurrent layer, h' = tanh(U h + x[t]), which is the whole network: the states of all steps.
  void recurrent_layer(int64_t steps, int64_t width) {
    shape_ = {steps, width};
    const std::string state = fmt::format("Tensor[(1, {}), float32]", width),
                      states = fmt::format("Tensor[({}, {}), float32]", steps, width);
    body_ += fmt::format(
        "  let %layer = fn (%t: int64, %h: {}, %states: {}) -> {} {{\n"
        "    if (less(%t, {}i64)) {{\n"
        "      let %next = tanh(nn.dense(%h, {}) + take(%x, %t, axis=0));\n"
        "      %layer(%t + 1i64, %next, dynamic_update_slice(%states, reshape(%next, newshape=[{}]), %t))\n"
        "    }} else {{ %states }}\n  }};\n",
        state, states, states, steps, constant({width, width}, 0, std::sqrt(3.0 / static_cast<double>(width))), width);
    bind("%layer(0i64, full(0f, shape=[1, {}]), full(0f, shape=[{}, {}]))", width, steps, width);
  }

  std::string text() const {
    return fmt::format("#[version = \"0.0.5\"]\ndef @main(%x: Tensor[({}), float32]) {{\n{}  %{}\n}}\n",
                       fmt::join(shape_, ", "), body_, count_ - 1) +
           relay::metadata_text(constants_);
  }

  // Numbers uniformly around `center`, from std::mt19937's own integers, which are the same everywhere.
  Constant numbers(const std::vector<int64_t>& shape, double center, double radius) {
    std::vector<float> values(static_cast<size_t>(product(shape_of(shape)).value()));
    for (float& v : values) v = static_cast<float>(center + radius * (random_() / 2147483648.0 - 1));
    return Constant::of(dtype::f32, shape, values);
  }
  Constant numbers() { return numbers(shape_, 0, 1.7); }

 private:
  template <class... Args>
  std::string bind(fmt::format_string<Args...> text, Args&&... args) {
    std::string name = fmt::format("%{}", count_++);
    body_ += fmt::format("  {} = {};\n", name, fmt::format(text, std::forward<Args>(args)...));
    return name;
  }

  std::string constant(const std::vector<int64_t>& shape, double center, double radius) {
    constants_.push_back(numbers(shape, center, radius));
    return fmt::format("meta[relay.Constant][{}]", constants_.size() - 1);
  }

  std::string byte_constant(const std::vector<int64_t>& shape) {
    std::vector<int8_t> values(static_cast<size_t>(product(shape_of(shape)).value()));
    for (int8_t& v : values) v = static_cast<int8_t>(static_cast<int64_t>(random_() % 255) - 127);
    constants_.push_back(Constant::of(dtype::i8, shape, values));
    return fmt::format("meta[relay.Constant][{}]", constants_.size() - 1);
  }

  std::mt19937 random_;
  std::vector<int64_t> shape_;
  std::string body_;
  int count_ = 0;
  std::vector<Constant> constants_;
};

// Bottlenecks and basic blocks with residuals: 3x3 convolutions for Winograd, strided projections.
Network resnet() {
  Network n(1);
  Image x = n.relu(n.conv(n.input(3, 64), {.channels = 32, .taps = 7, .stride = 2}));
  x = n.max_pool(x, 3, 1);
  for (int64_t k = 0; k < 2; ++k) {
    Image y = n.relu(n.conv(x, {.channels = 32, .taps = 3}));
    x = n.relu(n.add(n.conv(y, {.channels = 32, .taps = 3}), x));
  }
  for (int64_t channels : {64, 96}) {
    Image y = n.relu(
        n.conv(n.relu(n.conv(x, {.channels = channels / 2})), {.channels = channels / 2, .taps = 3, .stride = 2}));
    x = n.relu(n.add(n.conv(y, {.channels = channels}), n.conv(x, {.channels = channels, .stride = 2})));
  }
  n.classify(x, 100);
  return n;
}

// Inverted residuals with squeeze and excitation: expansions, depthwise convolutions, scales of channels.
Network mobilenet() {
  Network n(2);
  Image x = n.swish(n.conv(n.input(3, 64), {.channels = 24, .taps = 3, .stride = 2}));
  for (int64_t stride : {1, 2, 1}) {
    int64_t taps = stride == 1 ? 3 : 5, wide = x.channels * 4;
    Image y = n.swish(n.conv(x, {.channels = wide}));
    y = n.swish(n.conv(y, {.channels = wide, .taps = taps, .stride = stride, .groups = wide}));
    Image scale = n.conv(n.relu(n.conv(n.mean(y), {.channels = 20})), {.channels = wide});
    y = n.conv(n.multiply(y, {n.relu6(scale).name, wide}), {.channels = x.channels});
    x = stride == 1 ? n.add(x, y) : y;
  }
  n.classify(n.relu6(n.conv(x, {.channels = 152})), 37);
  return n;
}

// Images that are joined along channels, of 12 at a time, which is not a whole block.
Network densenet() {
  Network n(3);
  Image x = n.max_pool(n.relu(n.conv(n.input(3, 48), {.channels = 24, .taps = 3, .stride = 2})), 3, 1);
  for (int block = 0; block < 2; ++block) {
    for (int layer = 0; layer < 3; ++layer)
      x = n.concat(x, n.relu(n.conv(n.relu(n.conv(x, {.channels = 48})), {.channels = 12, .taps = 3})));
    x = n.average_pool(n.relu(n.conv(x, {.channels = x.channels / 2})));
  }
  n.classify(x, 10);
  return n;
}

// Convolutions in groups, tails of fewer channels than a block, an image whose sizes are odd.
Network groups() {
  Network n(4);
  Image x = n.relu(n.conv(n.input(5, 29), {.channels = 40, .taps = 3}));
  x = n.relu(n.conv(x, {.channels = 72, .taps = 3, .stride = 2, .groups = 4}));
  x = n.relu(n.conv(x, {.channels = 33, .taps = 5}));
  n.classify(n.relu(n.conv(x, {.channels = 70, .taps = 3, .stride = 2})), 19);
  return n;
}

// A loop whose weights exceed the second-level caches, so that its steps read them forward and backward in turn; their
// last panel is not whole.
Network recurrent() {
  Network n(5);
  n.recurrent_layer(7, 420);
  return n;
}

// A quantized network: dense and depthwise convolutions of bytes, of channels that fill blocks and that do not.
Network quantized() {
  Network n(6);
  Image x = n.byte_conv(n.quantize(n.input(3, 32)), {.channels = 32, .taps = 3, .stride = 2});
  x = n.byte_conv(x, {.channels = 48});
  x = n.byte_conv(x, {.channels = 48, .taps = 3, .groups = 48});
  x = n.byte_conv(x, {.channels = 40, .taps = 3, .stride = 2});
  n.classify(n.dequantize(n.byte_conv(x, {.channels = 20})), 10);
  return n;
}

bool write(const fs::path& folder, Network network, Diagnostics& diagnostics) {
  std::string text = network.text();
  auto module = frontends::import_relay(text, {}, diagnostics);
  if (!module) return false;
  Constant input = network.numbers();
  auto result = relay::evaluate(*module, std::vector{input}, tensor::Precision::specified, diagnostics);
  if (!result) return false;
  const fs::path data = folder / "test_data_set_0";
  fs::create_directories(data);
  const Constant& output = result->results.at(0);
  std::vector<std::byte> in = tensor_file("input_0.pb", "x", input), out = tensor_file("output_0.pb", "y", output);
  return write_files({{folder / "model.rly", {std::as_bytes(std::span(text))}},
                      {data / "input_0.pb", {in}},
                      {data / "output_0.pb", {out}},
                      {folder / "input.bin", {input.bytes()}},
                      {folder / "expected.bin", {output.bytes()}}},
                     diagnostics);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: make_networks FOLDER\n"), 2;
  const std::pair<const char*, Network (*)()> networks[] = {{"resnet", resnet},       {"mobilenet", mobilenet},
                                                            {"densenet", densenet},   {"groups", groups},
                                                            {"recurrent", recurrent}, {"quantized", quantized}};
  Diagnostics diagnostics;
  for (auto [name, make] : networks) {
    if (write(fs::path(argv[1]) / name, make(), diagnostics)) continue;
    std::fprintf(stderr, "%s: %s", name, diagnostics.str().c_str());
    return 1;
  }
}
