#include "support/file_kind.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "support/ascii.h"

namespace dlcc {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view export_pytorch =
    "export it from Python: torch.onnx.export(model, example_inputs, \"model.onnx\")";
constexpr std::string_view convert_keras =
    "convert it with tf2onnx: python -m tf2onnx.convert --keras MODEL --output model.onnx";

// A kind of file, and the remedies if a model or a tensor is expected.
struct FileKind {
  std::string_view name;
  std::string_view remedy_for_model;
  std::string_view remedy_for_tensor = "tensors are .npy files or ONNX TensorProto files (.pb)";
};

// The bytes that files of a kind have at an offset.
struct Signature {
  size_t offset;
  std::string_view bytes;
  FileKind kind;
};

constexpr std::string_view npy_signature = "\x93NUMPY";

constexpr FileKind image = {"an image", "an image can be an input once it is an array: dlcc run MODEL --input FILE.npy",
                            "convert it in Python: numpy.save(\"x.npy\", ...), prepared as for the training"};

constexpr Signature signatures[] = {
    {0, "\x1F\x8B"sv, {"a gzip archive", "decompress it with gunzip", "decompress it with gunzip"}},
    {0, "BZh"sv, {"a bzip2 archive", "decompress it with bunzip2", "decompress it with bunzip2"}},
    {0,
     "\xFD"
     "7zXZ\0"sv,
     {"an xz archive", "decompress it with unxz", "decompress it with unxz"}},
    {0, "\x28\xB5\x2F\xFD"sv, {"a zstd archive", "decompress it with unzstd", "decompress it with unzstd"}},
    {257, "ustar"sv, {"a tar archive", "extract it with tar -xf", "extract it with tar -xf"}},
    {4,
     "TFL3"sv,
     {"a TensorFlow Lite model",
      "convert it with tf2onnx: python -m tf2onnx.convert --tflite MODEL --output model.onnx"}},
    {0, "\x89HDF\r\n\x1A\n"sv, {"an HDF5 file, for instance a Keras model", convert_keras}},
    {0,
     npy_signature,
     {"an array of NumPy", "a model is ONNX or Relay text; an array can be an input: dlcc run MODEL --input FILE",
      "give it a name that ends in .npy"}},
    {0,
     "version https://git-lfs"sv,
     {"a pointer of Git LFS, not the file itself", "fetch the file with git lfs pull",
      "fetch the file with git lfs pull"}},
    {0,
     "GGUF"sv,
     {"a GGUF file, which has weights but no operators", "export the model that it was made from to ONNX"}},
    {0,
     "\x7F"
     "ELF"sv,
     {"an object file or a program", "give the model that it was compiled from"}},
    {4, "ORTM"sv, {"a model in ONNX Runtime's own format", "give the .onnx file that it was made from"}},
    {0, "\x89PNG\r\n\x1A\n"sv, image},
    {0, "\xFF\xD8\xFF"sv, image},
    {0, "GIF8"sv, image},
    {0, "BM"sv, image},
    {0, "P2\n"sv, image},
    {0, "P5\n"sv, image},
    {0, "P6\n"sv, image},
    {0, "P2 "sv, image},
    {0, "P5 "sv, image},
    {0, "P6 "sv, image},
    {0, "%PDF-"sv, {"a PDF document", "a model is ONNX or Relay text"}},
    {0,
     "<?xml"sv,
     {"an XML file, for instance a model of OpenVINO", "give the ONNX file that the model was converted from"}},
    {0, "\xFF\xFE"sv, {"text in UTF-16", "save it as UTF-8"}},
    {0, "\xFE\xFF"sv, {"text in UTF-16", "save it as UTF-8"}},
};

constexpr FileKind tensorflow = {"a TensorFlow graph",
                                 "convert it with tf2onnx: python -m tf2onnx.convert --graphdef FILE --output "
                                 "model.onnx, with --inputs and --outputs"};
constexpr FileKind saved_model = {"a TensorFlow SavedModel",
                                  "convert its folder with tf2onnx: python -m tf2onnx.convert --saved-model FOLDER "
                                  "--output model.onnx"};
constexpr FileKind caffe = {"a network of Caffe", "convert it to ONNX, for instance with caffe2onnx"};
constexpr FileKind onnx_text = {"an ONNX model in protobuf's text format",
                                "save it in binary form from Python: onnx.save(onnx.load(FILE, "
                                "format=\"textproto\"), \"model.onnx\")"};
constexpr FileKind python = {"a Python program", "run it, and let it export the model: torch.onnx.export(...)"};
constexpr std::string_view zip_signature = "PK\x03\x04";
constexpr FileKind pytorch = {"a PyTorch model", export_pytorch,
                              "save the tensor in Python: numpy.save(\"x.npy\", tensor.numpy())"};
constexpr FileKind keras = {"a Keras model", convert_keras};
constexpr FileKind core_ml = {"a Core ML model", "give the model that it was converted from, exported to ONNX"};
constexpr FileKind safetensors = {"a safetensors file, which has weights but no operators",
                                  "export the model that has these weights to ONNX"};
constexpr FileKind json = {"JSON", "give the model itself, as ONNX or Relay text"};
constexpr FileKind npz = {
    "an .npz archive of NumPy arrays",
    "a model is ONNX or Relay text; the arrays can be inputs: dlcc run MODEL --input FILE",
    "--input FILE.npz, without a name, takes arrays named after the inputs; unzip extracts single ones"};
constexpr FileKind zip = {"a zip archive", "extract it with unzip", "extract it with unzip"};
constexpr FileKind html = {"a web page, perhaps the answer to a download",
                           "download the file itself: of several links, the one named 'raw' or 'download'",
                           "download the file itself: of several links, the one named 'raw' or 'download'"};

bool has_at(std::string_view bytes, size_t offset, std::string_view signature) {
  return bytes.size() >= offset && bytes.substr(offset).starts_with(signature);
}

// The directory of a zip archive, with the names of its files, is at its end.
const FileKind& kind_of_zip(std::string_view bytes) {
  constexpr size_t directory = 1 << 16;  // bytes to search
  std::string_view end = bytes.substr(bytes.size() - std::min(bytes.size(), directory));
  auto has_file = [&](std::string_view name) { return end.find(name) != std::string_view::npos; };
  if (has_file("/data.pkl")) return pytorch;
  if (has_file("model.weights.h5")) return keras;
  if (has_file("com.apple.CoreML")) return core_ml;
  return has_file(".npy") ? npz : zip;
}

std::string_view without_leading_space(std::string_view bytes) {
  bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  return bytes;
}

bool is_html(std::string_view bytes) {
  bytes = without_leading_space(bytes);
  const std::string start = lower_case(bytes.substr(0, 15));
  return start.starts_with("<!doctype html") || start.starts_with("<html");
}

// Whether the text begins as a JSON object with a named member, or as an array of such objects. No Relay text begins
// like that.
bool is_json(std::string_view bytes) {
  bytes = without_leading_space(bytes);
  if (bytes.starts_with('[')) bytes = without_leading_space(bytes.substr(1));
  return bytes.starts_with('{') && without_leading_space(bytes.substr(1)).starts_with('"');
}

// A safetensors file begins with the size of its JSON header, 8 bytes in little-endian order, and the header.
bool is_safetensors(std::string_view bytes) {
  constexpr size_t length_bytes = 8;
  uint64_t length = 0;
  for (size_t k = length_bytes; k-- > 0 && bytes.size() > length_bytes;)
    length = length << 8 | static_cast<unsigned char>(bytes[k]);
  return length > 0 && length <= bytes.size() - length_bytes && is_json(bytes.substr(length_bytes));
}

// PyTorch's files before version 1.6, and others: the opcode PROTO of a pickle, a version, and an opcode.
bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 &&
         "\x8A}](c\x95"sv.find(bytes[2]) != std::string_view::npos;
}

// A serialized graph of TensorFlow: its nodes have a name and, as field 2, an operator.
const FileKind* tensorflow_kind(std::string_view bytes) {
  constexpr size_t beginning = 1 << 16;  // bytes to search
  const std::string_view start = bytes.substr(0, beginning);
  auto has_operator = [&](std::string_view field) { return start.find(field) != std::string_view::npos; };
  if (!has_operator("\x12\x0BPlaceholder"sv) &&
      !has_operator("\x12\x05"
                    "Const"sv) &&
      !has_operator("\x12\x0BVarHandleOp"sv))
    return nullptr;
  if (start.starts_with("\x08\x01\x12"sv)) return &saved_model;
  return start.starts_with('\n') ? &tensorflow : nullptr;
}

// Recognizes text formats by the words at the beginning of lines.
const FileKind* text_kind(std::string_view bytes) {
  constexpr size_t beginning = 1 << 12;  // bytes to search
  const std::string text = "\n" + std::string(without_leading_space(bytes.substr(0, beginning)));
  auto has_line = [&](std::string_view words) { return text.find("\n" + std::string(words)) != std::string::npos; };
  if (text.starts_with("\nir_version:")) return &onnx_text;
  if (has_line("layer {") || has_line("layers {")) return &caffe;
  const bool imports = has_line("import ") || (has_line("from ") && text.find(" import ") != std::string::npos);
  return imports ? &python : nullptr;
}

const FileKind* recognized(std::string_view bytes) {
  for (const Signature& s : signatures)
    if (has_at(bytes, s.offset, s.bytes)) return &s.kind;
  if (bytes.starts_with(zip_signature)) return &kind_of_zip(bytes);
  static constexpr FileKind pickle = {"a Python pickle, for instance a PyTorch model", export_pytorch,
                                      pytorch.remedy_for_tensor};
  if (is_html(bytes)) return &html;
  if (is_safetensors(bytes)) return &safetensors;
  if (is_json(bytes)) return &json;
  if (const FileKind* kind = tensorflow_kind(bytes)) return kind;
  if (const FileKind* kind = text_kind(bytes)) return kind;
  return is_pickle(bytes) ? &pickle : nullptr;
}

}  // namespace

bool report_wrong_kind(std::span<const std::byte> bytes, FileUse use, const SourceLocation& location,
                       Diagnostics& diagnostics) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const FileKind* kind = recognized(text);
  const bool is_wanted = (use == FileUse::npy && text.starts_with(npy_signature)) ||
                         (use == FileUse::npz && text.starts_with(zip_signature));
  if (!kind || is_wanted) return false;
  diagnostics.error(DiagnosticId::wrong_kind_of_file, location, fmt::format("this is {}", kind->name), {},
                    std::string(use == FileUse::model ? kind->remedy_for_model : kind->remedy_for_tensor));
  return true;
}

}  // namespace dlcc
