// Files of other kinds are recognized by their bytes.
#include "support/file_kind.h"

#include <doctest/doctest.h>

#include <string>

using namespace dlcc;
using namespace std::string_literals;

namespace {

// The message, or "" for bytes that are not recognized.
std::string report_on(const std::string& bytes, FileUse use) {
  Diagnostics diagnostics;
  bool reported = report_wrong_kind(std::as_bytes(std::span(bytes)), use, {.file = "f", .node = ""}, diagnostics);
  CHECK(reported == diagnostics.has_errors());
  return diagnostics.str();
}

// The end of a zip archive with a file of this name.
std::string zip_of(const std::string& name) { return "PK\x03\x04" + std::string(100, '\0') + name + "PK\x05\x06"s; }

}  // namespace

TEST_CASE("each kind of file is recognized by its bytes and named") {
  struct Case {
    std::string bytes, kind, remedy;
  };
  for (const Case& c : std::vector<Case>{
           {"\x1F\x8B\x08\0\0"s, "a gzip archive", "gunzip"},
           {"BZh91AY", "a bzip2 archive", "bunzip2"},
           {"\xFD"
            "7zXZ\0"s,
            "an xz archive", "unxz"},
           {"\x28\xB5\x2F\xFD"s, "a zstd archive", "unzstd"},
           {std::string(257, 'x').append("ustar"), "a tar archive", "tar -xf"},
           {"\x1C\0\0\0TFL3"s, "a TensorFlow Lite model", "tf2onnx"},
           {"\x89HDF\r\n\x1A\n"s, "an HDF5 file", "tf2onnx"},
           {"\x93NUMPY\x01\0"s, "an array of NumPy", "--input"},
           {"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS", "git lfs pull"},
           {"GGUF\x03", "a GGUF file", "export"},
           {"\x10\0\0\0ORTM"s, "a model in ONNX Runtime's own format", ".onnx"},
           {"\x89PNG\r\n\x1A\n", "an image", "array"},
           {"\xFF\xD8\xFF\xE0", "an image", "array"},
           {"%PDF-1.7", "a PDF document", "ONNX"},
           {"<?xml version=\"1.0\"?><net>", "an XML file", "ONNX"},
           {"\x0D\0\0\0\0\0\0\0{\"w\":[1,2,3]}1234"s, "a safetensors file", "export"},
           {" [ {\n\"name\": 1}]", "JSON", "ONNX"},
           {zip_of("Data/com.apple.CoreML/model.mlmodel"), "a Core ML model", "exported"},
           {"\x7F"
            "ELF\x02",
            "an object file", "compiled from"},
           {"\xFF\xFE"
            "d\0e\0"s,
            "text in UTF-16", "UTF-8"},
           {"\n<!DOCTYPE html><html>", "a web page", "download"},
           {"<HTML lang=en>", "a web page", "download"},
           {"\x80\x02\x8A\nl", "a Python pickle", "torch.onnx.export"},
           {zip_of("archive/data.pkl"), "a PyTorch model", "torch.onnx.export"},
           {zip_of("model.weights.h5"), "a Keras model", "tf2onnx"},
           {zip_of("x.npy"), "an .npz archive", "inputs"},
           {zip_of("readme.txt"), "a zip archive", "unzip"},
       }) {
    std::string text = report_on(c.bytes, FileUse::model);
    CAPTURE(text);
    CHECK(text.starts_with("f: error[wrong-kind-of-file]: this is " + c.kind));
    CHECK(text.find(c.remedy, text.find("help: ")) != std::string::npos);
  }
}

TEST_CASE("the remedy for a wrong kind of file depends on the expected kind") {
  CHECK(
      report_on(zip_of("x.npy"), FileUse::npy) ==
      "f: error[wrong-kind-of-file]: this is an .npz archive of NumPy arrays\n"
      "    help: --input FILE.npz, without a name, takes arrays named after the inputs; unzip extracts single ones\n");
  CHECK(report_on(zip_of("a/data.pkl"), FileUse::npy).find("numpy.save") != std::string::npos);
}

TEST_CASE("a NumPy array is accepted where one is expected") {
  const std::string array = "\x93NUMPY\x01\0"s;
  CHECK(report_on(array, FileUse::npy).empty());
  CHECK(report_on(array, FileUse::tensor_proto).ends_with("help: give it a name that ends in .npy\n"));
}

TEST_CASE("models, tensors and other bytes are not reported as a wrong kind of file") {
  for (const std::string& bytes :
       {""s, "P"s, "def @main() { 1 }"s, "\x08\x08\x12\x07pytorch"s, "\x80\x02"s, "<"s, "TFL3"s})
    CHECK(report_on(bytes, FileUse::model).empty());
}
