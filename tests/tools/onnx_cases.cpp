// onnx_cases FOLDER < LIST: imports the ONNX cases that LIST names by folders below FOLDER, evaluates each of their
// data sets by the operators' definitions, and compares with the expected outputs. One line a case that is not right,
// and a summary; exit status 1 unless all are right. It tells problems of the importer and of definitions from those of
// later stages.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "frontends/frontend.h"
#include "frontends/onnx/tensor_proto.h"
#include "relay/evaluate.h"

namespace {

namespace fs = std::filesystem;
using namespace dlcc;

std::vector<std::byte> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
  auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The tensors PREFIX_0.pb, PREFIX_1.pb ... of a data set.
std::vector<Constant> read_tensors(const fs::path& folder, const std::string& prefix, Diagnostics& diagnostics) {
  std::vector<Constant> tensors;
  for (int k = 0;; ++k) {
    fs::path path = folder / fmt::format("{}_{}.pb", prefix, k);
    if (!fs::exists(path)) return tensors;
    auto tensor = frontends::onnx::read_tensor_proto(read_file(path), {.file = path.filename()}, diagnostics);
    tensors.push_back(tensor ? tensor->value : Constant());
  }
}

// Values of the symbolic dimensions for which the arguments fit.
std::map<std::string, int64_t> dims_of(const relay::Module& module, const std::vector<Constant>& args) {
  std::map<std::string, int64_t> dims;
  const auto& params = module.functions.at("main").params;
  for (size_t k = 0; k < std::min(params.size(), args.size()); ++k) {
    const Shape& shape = relay::as<relay::TensorType>(params[k]->type)->shape;
    for (size_t d = 0; d < std::min(shape.size(), args[k].shape().size()); ++d)
      if (!shape[d].is_constant()) dims[shape[d].str()] = args[k].shape()[d];
  }
  return dims;
}

bool close(double a, double b, double rtol, double atol) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= atol + rtol * std::abs(b);
}

// Why two tensors differ, or nothing.
std::string difference(const Constant& found, const Constant& expected) {
  if (found.dtype() != expected.dtype() || found.shape() != expected.shape())
    return fmt::format("is {} [{}], expected {} [{}]", name(found.dtype()), fmt::join(found.shape(), ", "),
                       name(expected.dtype()), fmt::join(expected.shape(), ", "));
  bool half = expected.dtype() == dtype::f16 || expected.dtype() == dtype::bf16;
  for (int64_t k = 0; k < found.count(); ++k) {
    bool same = is_float(found.dtype())
                    ? close(found.number_at(k), expected.number_at(k), half ? 1e-2 : 1e-3, half ? 1e-2 : 1e-7)
                    : found.integer_at(k) == expected.integer_at(k);
    if (!same) return fmt::format("element {} is {}, expected {}", k, found.number_at(k), expected.number_at(k));
  }
  return "";
}

std::string run_data_set(const relay::Module& module, const fs::path& folder, Diagnostics& diagnostics) {
  std::vector<Constant> args = read_tensors(folder, "input", diagnostics),
                        expected = read_tensors(folder, "output", diagnostics);
  const auto& params = module.functions.at("main").params;
  if (args.size() < params.size())
    return fmt::format("there are {} inputs for {} parameters", args.size(), params.size());
  args.resize(params.size());
  for (size_t k = 0; k < args.size(); ++k) {
    const auto& type = *relay::as<relay::TensorType>(params[k]->type);
    if (type.dtype != args[k].dtype() || !(type.shape == shape_of(args[k].shape())))
      return fmt::format("input {} is {} [{}], the parameter {}", k, name(args[k].dtype()),
                         fmt::join(args[k].shape(), ", "), str(params[k]->type));
  }
  auto result = relay::evaluate(module, args, tensor::Precision::specified, diagnostics);
  if (!result) return diagnostics.str();
  if (result->status != tensor::Status::ok) return fmt::format("status {}", static_cast<int>(result->status));
  if (result->results.size() != expected.size())
    return fmt::format("{} results, expected {}", result->results.size(), expected.size());
  for (size_t k = 0; k < expected.size(); ++k)
    if (std::string text = difference(result->results[k], expected[k]); !text.empty())
      return fmt::format("output {} {}", k, text);
  return "";
}

// Kind of the problem ("" if there is none) and what it is.
std::pair<std::string, std::string> run_case(const fs::path& folder) {
  auto bytes = read_file(folder / "model.onnx");
  frontends::ImportOptions options{.dims = {}, .file = "model.onnx", .folder = folder};
  Diagnostics diagnostics;
  auto module = frontends::import_onnx(bytes, options, diagnostics);
  if (!module) return {"import", diagnostics.str()};
  options.dims = dims_of(*module, read_tensors(folder / "test_data_set_0", "input", diagnostics));
  if (!options.dims.empty()) module = frontends::import_onnx(bytes, options, diagnostics);
  if (!module) return {"import", diagnostics.str()};
  for (int k = 0; fs::exists(folder / fmt::format("test_data_set_{}", k)); ++k)
    if (std::string text = run_data_set(*module, folder / fmt::format("test_data_set_{}", k), diagnostics);
        !text.empty())
      return {"value", text};
  return {"", ""};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: onnx_cases FOLDER < LIST\n";
    return 2;
  }
  std::map<std::string, int> counts;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::pair<std::string, std::string> problem;
    try {
      problem = run_case(fs::path(argv[1]) / line);
    } catch (const std::exception& e) {
      problem = {"internal", e.what()};
    }
    ++counts[problem.first.empty() ? "ok" : problem.first];
    if (!problem.first.empty()) std::cout << problem.first << ' ' << line << ": " << problem.second << std::endl;
  }
  for (const auto& [kind, count] : counts) std::cout << kind << ": " << count << '\n';
  return counts.size() == 1 && counts.contains("ok") ? 0 : 1;
}
