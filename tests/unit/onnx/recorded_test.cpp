// Operators that have no test vectors in the ONNX standard, with what onnxruntime computes for them: the files that
// tests/onnx/record_onnxruntime.py writes.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "evaluated.h"
#include "frontends/onnx/operators/table.h"
#include "frontends/onnx/tensor_proto.h"

using namespace dlcc;
using namespace dlcc::frontends;
using namespace dlcc::frontends::onnx;
namespace fs = std::filesystem;

namespace {

struct Tensor {
  std::string kind, name;  // kind: input, constant or output
  Constant value;
};

// A node in protobuf's text format, its operands and the results of onnxruntime.
struct Case {
  std::string node;
  std::vector<Tensor> tensors;

  std::vector<Tensor> of_kind(const std::string& kind) const {
    std::vector<Tensor> found;
    for (const Tensor& t : tensors)
      if (t.kind == kind) found.push_back(t);
    return found;
  }
};

Constant constant_of(DType type, const std::vector<int64_t>& shape, const std::vector<double>& numbers) {
  auto as = [&]<class T>(T) { return Constant::of(type, shape, std::vector<T>(numbers.begin(), numbers.end())); };
  switch (type) {
    case dtype::f32:
      return as(float());
    case dtype::i64:
      return as(int64_t());
    case dtype::i32:
      return as(int32_t());
    case dtype::i8:
      return as(int8_t());
    default:
      REQUIRE((type == dtype::u8 || type == dtype::boolean));
      return as(uint8_t());
  }
}

// "input x float32 [2, 3] 1 2 3 4 5 6"
Tensor read_tensor(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('[')));
  Tensor t;
  std::string type;
  words >> t.kind >> t.name >> type;
  const size_t open = line.find('['), close = line.find(']');
  std::vector<int64_t> shape;
  std::istringstream sizes(line.substr(open + 1, close - open - 1));
  for (std::string size; std::getline(sizes, size, ',');) shape.push_back(std::stoll(size));
  std::vector<double> numbers;
  std::istringstream elements(line.substr(close + 1));
  for (double number; elements >> number;) numbers.push_back(number);
  t.value = constant_of(dtype_named(type).value(), shape, numbers);
  return t;
}

std::vector<Case> read_cases(const fs::path& path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    if (line == "case") {
      cases.emplace_back();
      std::getline(file, cases.back().node);
    } else {
      cases.back().tensors.push_back(read_tensor(line));
    }
  }
  return cases;
}

std::vector<std::byte> model_of(const Case& c) {
  std::string graph = fmt::format("node {{ {} }} ", c.node);
  for (const Tensor& t : c.tensors) {
    std::vector<std::string> dims;
    for (int64_t d : t.value.shape()) dims.push_back(std::to_string(d));
    if (t.kind == "input") graph += value("input", t.name, onnx_number(t.value.dtype()), dims);
    if (t.kind == "output") graph += value("output", t.name, onnx_number(t.value.dtype()), dims);
  }
  schema::ModelProto model;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(
      fmt::format("ir_version: 8 opset_import {{ version: 17 }} opset_import {{ domain: 'com.microsoft' version: 1 }} "
                  "graph {{ {} }}",
                  graph),
      &model));
  for (const Tensor& t : c.of_kind("constant")) {
    const std::vector<std::byte> bytes = write_tensor_proto(t.name, t.value);
    model.mutable_graph()->add_initializer()->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  }
  return serialized(model);
}

// Floats agree to 1e-5 of the largest one, integers but for one.
std::string difference(const Constant& got, const Constant& wanted) {
  if (got.dtype() != wanted.dtype() || got.shape() != wanted.shape())
    return fmt::format("{} {}", name(got.dtype()), str(shape_of(got.shape())));
  double largest = 1;
  for (int64_t k = 0; k < wanted.count(); ++k) largest = std::max(largest, std::abs(wanted.number_at(k)));
  const double allowed = is_float(wanted.dtype()) ? 1e-5 * largest : 0;
  for (int64_t k = 0; k < wanted.count(); ++k)
    if (!(std::abs(got.number_at(k) - wanted.number_at(k)) <= allowed))
      return fmt::format("element {}: {} instead of {}", k, got.number_at(k), wanted.number_at(k));
  return "";
}

void check_case(const Case& c) {
  CAPTURE(c.node);
  ImportOptions options;
  options.file = "m";
  Diagnostics d;
  auto module = import_onnx(model_of(c), options, d);
  REQUIRE_MESSAGE(module.has_value(), d.str());
  std::vector<Constant> args;
  for (const Tensor& t : c.of_kind("input")) args.push_back(t.value);
  auto result = relay::evaluate(*module, args, tensor::Precision::specified, d);
  REQUIRE_MESSAGE((result && result->status == tensor::Status::ok), d.str());
  const std::vector<Tensor> wanted = c.of_kind("output");
  REQUIRE(result->results.size() == wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k) {
    CAPTURE(wanted[k].name);
    CHECK(difference(result->results[k], wanted[k].value) == "");
  }
}

}  // namespace

TEST_CASE("every operator of com.microsoft computes what onnxruntime does") {
  std::set<std::string> missing;
  const std::string domain = "com.microsoft.";
  for (const std::string& op : operator_table().names())
    if (op.starts_with(domain)) missing.insert(op.substr(domain.size()));
  for (const auto& file : fs::directory_iterator(DLCC_RECORDED_FOLDER)) {
    CAPTURE(file.path().filename().string());
    const std::vector<Case> cases = read_cases(file.path());
    CHECK(!cases.empty());
    for (const Case& c : cases) check_case(c);
    missing.erase(file.path().stem().string());
  }
  CHECK_MESSAGE(missing.empty(), fmt::format("without a recorded case: {}", fmt::join(missing, ", ")));
}
