// Data sets in folders and archives.
#include "pipeline/tensor_files.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "support/files.h"
#include "support/npy.h"
#include "support/npz.h"

using namespace dlcc;

namespace {

// A folder that is removed at the end of a test.
struct Folder {
  std::string path = std::filesystem::temp_directory_path() / "dlcc-test-XXXXXX";  // mkdtemp replaces the last six
  Folder() { REQUIRE(::mkdtemp(path.data())); }
  ~Folder() { std::filesystem::remove_all(path); }

  void write(const std::string& name, const std::vector<std::byte>& bytes) const {
    Diagnostics diagnostics;
    REQUIRE(write_file(path + "/" + name, bytes, diagnostics));
  }
};

const Constant image = Constant::of<float>(dtype::f32, {2}, {1, 2}),
               label = Constant::of<int64_t>(dtype::i64, {1}, {7});

emit::Interface interface() {
  emit::Interface i;
  i.inputs = {{"an image", "an_image", dtype::f32, {2}}};
  i.outputs = {{"label", "label", dtype::i64, {1}}};
  return i;
}

bool equal(const Constant& a, const Constant& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

}  // namespace

TEST_CASE("an archive has the tensors by their names or C identifiers, in any order") {
  Folder folder;
  for (const char* name : {"an image", "an_image"}) {
    folder.write("data.npz", write_npz({{"unused", label}, {"label", label}, {name, image}}));
    Diagnostics diagnostics;
    auto data = read_data_set(folder.path + "/data.npz", interface(), diagnostics);
    REQUIRE_MESSAGE(data, diagnostics.str());
    REQUIRE(data->inputs.size() == 1);
    REQUIRE(data->outputs.size() == 1);
    CHECK(equal(data->inputs[0], image));
    CHECK(equal(data->outputs[0], label));
  }
}

TEST_CASE("an array that an archive lacks is an error that lists those it has") {
  Folder folder;
  folder.write("data.npz", write_npz({{"picture", image}, {"label", label}}));
  Diagnostics diagnostics;
  CHECK_FALSE(read_data_set(folder.path + "/data.npz", interface(), diagnostics));
  CHECK(diagnostics.str().find("there is no array for input 'an image'\n    help: the archive has: picture, label") !=
        std::string::npos);
}

TEST_CASE("a folder has numbered files of either format") {
  Folder folder;
  folder.write("input_0.npy", write_npy(image));
  folder.write("output_0.pb", tensor_file("output_0.pb", "label", label));
  Diagnostics diagnostics;
  auto data = read_data_set(folder.path, interface(), diagnostics);
  REQUIRE_MESSAGE(data, diagnostics.str());
  CHECK(equal(data->inputs.at(0), image));
  CHECK(equal(data->outputs.at(0), label));
}

TEST_CASE("a data set that does not exist is an error") {
  Diagnostics diagnostics;
  CHECK_FALSE(read_data_set("no such folder", interface(), diagnostics));
  CHECK(diagnostics.str().find("no such folder: error[cannot-read-file]") != std::string::npos);
}
