// Every way of storing a tensor's elements, and wrong sizes.
#include <filesystem>
#include <fstream>

#include "frontends/onnx/tensor_proto.h"
#include "support.h"
#include "support/temporary_folder.h"

using namespace dlcc;
using namespace dlcc::frontends::onnx;

namespace {

std::optional<Constant> decoded(const std::string& text, const std::string& folder = "",
                                std::string* errors = nullptr) {
  schema::TensorProto tensor;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &tensor));
  Diagnostics diagnostics;
  auto result = read_tensor_proto(serialized(tensor), {.file = "t"}, diagnostics, folder);
  if (errors) *errors = diagnostics.str();
  return result ? std::optional(result->value) : std::nullopt;
}

std::string error_of(const std::string& text, const std::string& folder = "") {
  std::string errors;
  CHECK(!decoded(text, folder, &errors));
  return errors;
}

}  // namespace

TEST_CASE("elements in the typed fields of a TensorProto") {
  CHECK(
      decoded("data_type: 1 dims: 2 float_data: [1.5, -2]")->same_as(Constant::of<float>(dtype::f32, {2}, {1.5, -2})));
  CHECK(decoded("data_type: 11 double_data: 3")->same_as(Constant::of<double>(dtype::f64, {}, {3})));
  CHECK(decoded("data_type: 10 dims: 1 int32_data: 15360")->number_at(0) == 1);
  CHECK(decoded("data_type: 16 dims: 1 int32_data: 16256")->number_at(0) == 1);
  CHECK(decoded("data_type: 3 dims: 2 int32_data: [-1, 7]")->same_as(Constant::of<int8_t>(dtype::i8, {2}, {-1, 7})));
  CHECK(decoded("data_type: 5 dims: 1 int32_data: -300")->integer_at(0) == -300);
  CHECK(decoded("data_type: 12 dims: 1 uint64_data: 4294967295")->integer_at(0) == 4294967295);
  CHECK(decoded("data_type: 13 dims: 1 uint64_data: 5")->integer_at(0) == 5);
  CHECK(
      decoded("data_type: 9 dims: 2 int32_data: [0, 2]")->same_as(Constant::of<uint8_t>(dtype::boolean, {2}, {0, 1})));
  CHECK(decoded("data_type: 22 dims: 3 int32_data: [31, 2]")->integer_at(0) == -1);
  CHECK(decoded("data_type: 17 dims: 1 int32_data: 56")->number_at(0) == 1);
}

TEST_CASE("elements in raw_data of a TensorProto") {
  CHECK(decoded(R"(data_type: 6 dims: 1 raw_data: "\001\000\000\000")")->integer_at(0) == 1);
  CHECK(decoded(R"(data_type: 9 dims: 2 raw_data: "\003\000")")
            ->same_as(Constant::of<uint8_t>(dtype::boolean, {2}, {1, 0})));
  CHECK(decoded("data_type: 1 dims: 0 raw_data: ''")->count() == 0);
  CHECK(error_of("data_type: 1 dims: 2 raw_data: '1234'") ==
        "t: error[malformed-tensor]: expected 8 bytes of data for 2 elements of float32, found 4\n");
}

TEST_CASE("a TensorProto with a wrong number of elements or invalid dims is an error") {
  CHECK(error_of("data_type: 1 dims: 3 float_data: 1") ==
        "t: error[malformed-tensor]: expected 3 entries in float_data for 3 elements of float32, found 1\n");
  CHECK(error_of("data_type: 1 dims: -1").find("negative") != std::string::npos);
  CHECK(error_of("data_type: 1 dims: 9223372036854775807 dims: 2").find("error[too-large]") != std::string::npos);
  CHECK(error_of("data_type: 1 dims: 0 dims: 9223372036854775807 dims: 2").find("error[too-large]") !=
        std::string::npos);
  CHECK(error_of("data_type: 14 dims: 1") == "t: error[unsupported-type]: element type complex64 is not supported\n");
}

TEST_CASE("tensors are read back as written") {
  auto value = Constant::of<float>(dtype::f32, {2, 1}, {1, 2});
  Diagnostics diagnostics;
  auto copy = read_tensor_proto(write_tensor_proto("w", value), {}, diagnostics);
  REQUIRE(copy);
  CHECK(copy->name == "w");
  CHECK(copy->value.same_as(value));
}

TEST_CASE("external data is read inside the folder only") {
  namespace fs = std::filesystem;
  const dlcc::TemporaryFolder temporary;
  const fs::path& root = temporary.path();
  fs::create_directories(root / "model" / "sub");
  auto write = [](const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; };
  write(root / "outside.bin", "12345678");
  write(root / "model" / "sub" / "w.bin", std::string("xxxx\1\0\0\0\2\0\0\0", 12));
  fs::create_symlink(root / "outside.bin", root / "model" / "link.bin");
  auto tensor = [](const std::string& location, const std::string& rest = "") {
    return fmt::format(
        "data_type: 6 dims: 2 data_location: EXTERNAL external_data {{ key: 'location' value: '{}' }} {}", location,
        rest);
  };
  std::string folder = root / "model", offset = "external_data { key: 'offset' value: '4' } ";
  auto value = decoded(tensor("sub/w.bin", offset), folder);
  REQUIRE(value);
  CHECK(value->same_as(Constant::of<int32_t>(dtype::i32, {2}, {1, 2})));
  CHECK(decoded(tensor("sub/w.bin", "external_data { key: 'offset' value: '1' } "), folder));  // unaligned: copied
  for (const std::string& bad : {tensor("../outside.bin"), tensor("sub/../../outside.bin"),
                                 tensor((root / "outside.bin").string()), tensor("link.bin"), tensor(""), tensor("sub"),
                                 tensor("none.bin"), tensor("sub/w.bin", "external_data { key: 'offset' value: '8' } "),
                                 tensor("sub/w.bin", "external_data { key: 'offset' value: '-1' } "),
                                 tensor("sub/w.bin", "external_data { key: 'length' value: '9223372036854775807' } "),
                                 tensor("sub/w.bin", "external_data { key: 'length' value: 'x' } ")})
    CHECK(error_of(bad, folder).find("error[external-data]") != std::string::npos);
  CHECK(error_of(tensor("sub/w.bin", "external_data { key: 'length' value: '4' } "), folder).find("expected 8 bytes") !=
        std::string::npos);
  CHECK(error_of(tensor("sub/w.bin")).find("was not read from a file") != std::string::npos);
}

TEST_CASE("the external files that a model uses are listed") {
  namespace fs = std::filesystem;
  const dlcc::TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  std::ofstream(folder / "w.bin", std::ios::binary) << "12345678";
  std::string weights =
      "initializer { name: 'w' data_type: 1 dims: 2 data_location: EXTERNAL "
      "external_data { key: 'location' value: 'w.bin' } } ";
  std::set<std::string> files;
  dlcc::frontends::ImportOptions options;
  options.folder = folder;
  options.files_read = &files;
  std::string graph = value("input", "x", 1, {"2"}) + value("output", "y", 1, {"2"}) + weights;
  body(graph_bytes(graph + node("Add", {"x", "w"}, {"y"})), options);
  CHECK(files == std::set<std::string>{folder / "w.bin"});
}

TEST_CASE("sparse constants become dense") {
  std::string sparse =
      "attribute { name: 'sparse_value' type: SPARSE_TENSOR sparse_tensor { dims: 2 dims: 2 "
      "values { data_type: 7 dims: 1 int64_data: 5 } indices { data_type: 7 dims: 1 int64_data: 3 } } } ";
  std::string graph = value("output", "y", 7, {"2", "2"}) + node("Constant", {}, {"y"}, sparse);
  CHECK(body(graph_bytes(graph)) == "  meta[relay.Constant][0]\n");
  graph.replace(graph.find("int64_data: 3"), 13, "int64_data: 4");
  CHECK(body(graph_bytes(graph)).find("index 4 is outside the tensor") != std::string::npos);
}
