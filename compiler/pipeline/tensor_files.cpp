#include "pipeline/tensor_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "shape/caller_sizes.h"
#include "support/file_kind.h"
#include "support/files.h"
#include "support/float_formats.h"
#include "support/npy.h"
#include "support/npz.h"

namespace dlcc {

static constexpr const char* formats_of_data_sets =
    "a data set is a folder with input_0.pb, output_0.pb, ... (or .npy), or an .npz file";
static constexpr const char* formats_of_tensors = "a tensor is an .npy file (numpy.save) or an ONNX TensorProto (.pb)";

std::optional<Constant> read_tensor(const std::string& path, Diagnostics& diagnostics) {
  auto bytes = read_file(path, diagnostics);
  if (!bytes) return std::nullopt;
  if (bytes->empty()) {
    diagnostics.error(DiagnosticId::malformed_tensor, {.file = path}, "the file is empty", {}, formats_of_tensors);
    return std::nullopt;
  }
  const bool is_npy = path.ends_with(".npy");
  const FileUse use = is_npy ? FileUse::npy : FileUse::tensor_proto;
  if (report_wrong_kind(*bytes, use, {.file = path}, diagnostics)) return std::nullopt;
  if (is_npy) return read_npy(*bytes, {.file = path}, diagnostics);
  auto tensor = frontends::onnx::read_tensor_proto(*bytes, {.file = path}, diagnostics);
  return tensor ? std::optional(tensor->value) : std::nullopt;
}

using frontends::Argument;
using frontends::ArgumentKind;
using frontends::onnx::ArgumentData;

std::optional<ArgumentData> read_argument(const std::string& path, ArgumentKind kind, Diagnostics& diagnostics) {
  if (kind == ArgumentKind::tensor || path.ends_with(".npy")) {
    auto tensor = read_tensor(path, diagnostics);
    return tensor ? std::optional(ArgumentData{false, {*tensor}}) : std::nullopt;
  }
  auto bytes = read_file(path, diagnostics);
  return bytes ? frontends::onnx::read_argument(*bytes, kind, {.file = path}, diagnostics) : std::nullopt;
}

bool fits(const ArgumentData& data, const Argument& argument, const SourceLocation& location,
          Diagnostics& diagnostics) {
  auto fail = [&](const std::string& found, const std::string& compiled, std::string help) {
    diagnostics.error(DiagnosticId::bad_data, location,
                      fmt::format("'{}' is {}; the model was compiled for {}", argument.name, found, compiled), {},
                      std::move(help));
    return false;
  };
  if (argument.fixed)
    return data.tensors[0].same_as(*argument.fixed) ||
           fail("another value", "a fixed one", "verify data sets with different values one by one");
  if (data.absent == argument.absent && (data.absent || data.tensors.size() == argument.tensors)) return true;
  return fail(frontends::describe(argument.kind, data.tensors.size(), data.absent),
              frontends::describe(argument.kind, argument.tensors, argument.absent),
              "verify data sets of different kinds one by one");
}

std::vector<std::byte> tensor_file(const std::string& path, const std::string& name, const Constant& value) {
  return path.ends_with(".npy") ? write_npy(value) : frontends::onnx::write_tensor_proto(name, value);
}

namespace {

// FOLDER/KIND_K.npy if it exists, else FOLDER/KIND_K.pb.
std::string file_in(const std::string& folder, const char* kind, size_t k) {
  const std::string stem = fmt::format("{}/{}_{}", folder, kind, k);
  std::error_code ignored;  // reading the file reports it
  return stem + (std::filesystem::exists(stem + ".npy", ignored) ? ".npy" : ".pb");
}

// The arguments of an interface all of whose arguments are tensors.
std::vector<Argument> tensors_of(const std::vector<emit::TensorInterface>& interface) {
  std::vector<Argument> arguments;
  for (const emit::TensorInterface& t : interface) arguments.push_back({t.name});
  return arguments;
}

std::optional<std::vector<Constant>> read_from_folder(const std::string& folder, const char* kind,
                                                      const std::vector<emit::TensorInterface>& interface,
                                                      const std::vector<Argument>& given, Diagnostics& diagnostics) {
  const std::vector<Argument> arguments = given.empty() ? tensors_of(interface) : given;
  std::vector<Constant> tensors;
  bool complete = true;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const Argument& argument = arguments[k];
    const std::string file = file_in(folder, kind, k);
    auto data = read_argument(file, argument.kind, diagnostics);
    if (!data || !fits(*data, argument, {.file = file}, diagnostics))
      complete = false;
    else if (argument.absent && argument.tensors > 0)
      tensors.push_back(Constant(interface[tensors.size()].type, {0}, {}));
    else if (!argument.fixed)
      tensors.insert(tensors.end(), data->tensors.begin(), data->tensors.end());
  }
  return complete ? std::optional(std::move(tensors)) : std::nullopt;
}

// The tensors of the interface, by name, from the arrays of the archive `path`.
std::optional<std::vector<Constant>> named(const std::vector<NamedArray>& arrays, const std::string& path,
                                           const std::vector<emit::TensorInterface>& interface, const char* what,
                                           Diagnostics& diagnostics) {
  std::vector<Constant> tensors;
  for (const emit::TensorInterface& t : interface) {
    auto found =
        std::ranges::find_if(arrays, [&](const NamedArray& a) { return a.name == t.name || a.name == t.identifier; });
    if (found != arrays.end()) {
      tensors.push_back(found->value);
      continue;
    }
    std::vector<std::string> names;
    for (const NamedArray& a : arrays) names.push_back(a.name);
    diagnostics.error(DiagnosticId::bad_data, {.file = path},
                      fmt::format("there is no array for {} '{}'", what, t.name), {},
                      fmt::format("the archive has: {}; numpy names an array with savez(\"x.npz\", **{{\"{}\": x}})",
                                  fmt::join(names, ", "), t.name));
  }
  return tensors.size() == interface.size() ? std::optional(std::move(tensors)) : std::nullopt;
}

std::optional<std::vector<NamedArray>> read_arrays(const std::string& path, Diagnostics& diagnostics) {
  auto bytes = read_file(path, diagnostics);
  if (bytes && report_wrong_kind(*bytes, FileUse::npz, {.file = path}, diagnostics)) return std::nullopt;
  return bytes ? read_npz(*bytes, {.file = path}, diagnostics) : std::nullopt;
}

}  // namespace

std::optional<std::vector<Constant>> read_archive(const std::string& path,
                                                  const std::vector<emit::TensorInterface>& interface, const char* what,
                                                  Diagnostics& diagnostics) {
  auto arrays = read_arrays(path, diagnostics);
  return arrays ? named(*arrays, path, interface, what, diagnostics) : std::nullopt;
}

namespace {

bool has_data_set(const std::string& folder) {
  return std::ranges::any_of(std::array{"/input_0.pb", "/input_0.npy", "/output_0.pb", "/output_0.npy"},
                             [&](const char* file) {
                               std::error_code ignored;
                               return std::filesystem::exists(folder + file, ignored);
                             });
}

// Names the folders within that have data sets.
std::string remedy_for_folder(const std::string& folder) {
  constexpr size_t most = 3;
  std::vector<std::string> found;
  std::error_code error;  // an unreadable folder has no entries
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::string path = entry->path(); has_data_set(path)) found.push_back(path);
  std::ranges::sort(found);
  if (found.size() > most) found.resize(most);
  return found.empty() ? formats_of_data_sets : fmt::format("did you mean {}?", fmt::join(found, ", "));
}

}  // namespace

std::string input_file(const std::string& folder, size_t k) { return file_in(folder, "input", k); }

std::optional<DataSet> read_data_set(const std::string& path, const emit::Interface& interface,
                                     const frontends::Arguments& arguments, Diagnostics& diagnostics) {
  std::optional<std::vector<Constant>> inputs, outputs;
  if (std::error_code ignored; path.ends_with(".npz")) {
    auto arrays = read_arrays(path, diagnostics);
    if (!arrays) return std::nullopt;
    inputs = named(*arrays, path, interface.inputs, "input", diagnostics);
    outputs = named(*arrays, path, interface.outputs, "output", diagnostics);
  } else if (std::filesystem::is_directory(path, ignored)) {
    if (!has_data_set(path)) {
      diagnostics.error(DiagnosticId::cannot_read_file, {.file = path},
                        "the folder has no data set: no input_0 or output_0 with .pb or .npy", {},
                        remedy_for_folder(path));
      return std::nullopt;
    }
    inputs = read_from_folder(path, "input", interface.inputs, arguments.inputs, diagnostics);
    outputs = read_from_folder(path, "output", interface.outputs, arguments.outputs, diagnostics);
  } else {
    diagnostics.error(DiagnosticId::cannot_read_file, {.file = path}, "this is no folder and no .npz file", {},
                      formats_of_data_sets);
  }
  if (!inputs || !outputs) return std::nullopt;
  return DataSet{std::move(*inputs), std::move(*outputs)};
}

// The call of numpy that makes the wanted shape from a tensor with the same number of elements: a transposition if the
// channels are on another axis (NHWC, NCHW) or the two axes of a matrix are exchanged, else a reshape.
static std::string change_of_shape(const std::vector<int64_t>& from, const Shape& wanted) {
  const size_t rank = from.size();
  std::vector<size_t> channels_second(rank), channels_last(rank);
  for (size_t k = 0; k < rank; ++k) channels_second[k] = channels_last[k] = k;
  if (rank >= 3) {
    std::rotate(channels_second.begin() + 1, channels_second.end() - 1, channels_second.end());
    std::rotate(channels_last.begin() + 1, channels_last.begin() + 2, channels_last.end());
  } else {
    std::ranges::reverse(channels_last);
  }
  for (const auto& order : {channels_second, channels_last})
    if (std::ranges::equal(order, wanted, [&](size_t axis, const Dim& size) { return Dim(from[axis]) == size; }))
      return fmt::format(".transpose({})", fmt::join(order, ", "));
  return fmt::format(".reshape{}", str(wanted));
}

// How to make the wanted tensor in Python, where the number of elements allows it.
static std::string conversion_in_python(const Constant& t, DType wanted, const Shape& shape, bool same_shape) {
  const bool numpy_has_type = bits(wanted) >= 16 ? wanted != dtype::bf16 : bits(wanted) == 8 && !is_float(wanted);
  std::string change;
  if (t.dtype() != wanted)
    change += fmt::format(".astype({})", numpy_has_type ? fmt::format("\"{}\"", name(wanted))
                                                        : fmt::format("ml_dtypes.{}", name(wanted)));
  if (!same_shape && product(shape) != Dim(t.count())) return "'dlcc inspect MODEL' lists the inputs with their shapes";
  if (!same_shape) change += change_of_shape(t.shape(), shape);
  return fmt::format("convert it in Python: numpy.save(\"x.npy\", x{})", change);
}

bool fits(const Constant& t, const emit::Interface& interface, size_t input, const SourceLocation& location,
          Diagnostics& diagnostics) {
  const emit::TensorInterface& wanted = interface.inputs[input];
  const bool same_shape = std::ranges::equal(t.shape(), wanted.shape, [](int64_t size, const Dim& d) {
    return !d.is_constant() || d.value() == size;  // run_object() finds the symbols' values
  });
  if (t.dtype() == wanted.type && same_shape) return true;
  Shape shape = wanted.shape;
  for (Dim& d : shape) d = in_caller_sizes(d, interface.input_dims());
  diagnostics.error(DiagnosticId::bad_data, location,
                    fmt::format("input '{}' is {} {}, the model has {} {}", wanted.name, name(t.dtype()),
                                str(shape_of(t.shape())), name(wanted.type), str(shape)),
                    {}, conversion_in_python(t, wanted.type, shape, same_shape));
  return false;
}

bool fits(const std::vector<Constant>& inputs, const emit::Interface& interface, Diagnostics& diagnostics) {
  bool ok = true;
  for (size_t k = 0; k < inputs.size(); ++k) ok &= fits(inputs[k], interface, k, {}, diagnostics);
  return ok;
}

Constant random_tensor(const emit::TensorInterface& t, uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  auto uniform = [&] {  // in (0, 1); Marsaglia, "Xorshift RNGs", 2003
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (static_cast<double>(state >> 11) + 0.5) / 9007199254740992.0;
  };
  int64_t count = product(t.shape).value();
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(t.type, count)));
  auto put = [&](int64_t i, auto value) {
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof value, &value, sizeof value);
  };
  for (int64_t i = 0; i < count; ++i) {
    double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    if (t.type == dtype::f32)
      put(i, static_cast<float>(normal));
    else if (t.type == dtype::f64)
      put(i, normal);
    else if (t.type == dtype::f16)
      put(i, float_to_half(static_cast<float>(normal)));
    else if (t.type == dtype::bf16)
      put(i, float_to_bfloat16(static_cast<float>(normal)));
    else if (is_bool(t.type))
      put(i, static_cast<uint8_t>(normal > 0));
    else if (bits(t.type) == 8)
      put(i, static_cast<uint8_t>(uniform() * 9));
    else if (bits(t.type) == 16)
      put(i, static_cast<uint16_t>(uniform() * 9));
    else if (bits(t.type) == 32)
      put(i, static_cast<uint32_t>(uniform() * 9));
    else if (bits(t.type) == 64)
      put(i, static_cast<uint64_t>(uniform() * 9));
  }
  return Constant(t.type, static_shape(t.shape), std::move(bytes));
}

}  // namespace dlcc
