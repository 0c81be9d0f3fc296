// Data sets in folders and archives.
#include "pipeline/tensor_files.h"

#include <doctest/doctest.h>

#include "support/files.h"
#include "support/npy.h"
#include "support/npz.h"
#include "support/temporary_folder.h"

using namespace dlcc;

namespace {

// A folder of tensors.
struct Folder : TemporaryFolder {
  void write(const std::string& name, const std::vector<std::byte>& bytes) const {
    Diagnostics diagnostics;
    REQUIRE(write_file(path() / name, bytes, diagnostics));
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

}  // namespace

TEST_CASE("an archive has the tensors by their names or C identifiers, in any order") {
  Folder folder;
  for (const char* name : {"an image", "an_image"}) {
    folder.write("data.npz", write_npz({{"unused", label}, {"label", label}, {name, image}}));
    Diagnostics diagnostics;
    auto data = read_data_set(folder.path() / "data.npz", interface(), {}, diagnostics);
    REQUIRE_MESSAGE(data, diagnostics.str());
    REQUIRE(data->inputs.size() == 1);
    REQUIRE(data->outputs.size() == 1);
    CHECK(data->inputs[0].same_as(image));
    CHECK(data->outputs[0].same_as(label));
  }
}

TEST_CASE("a missing array of an archive is an error that lists the arrays") {
  Folder folder;
  folder.write("data.npz", write_npz({{"picture", image}, {"label", label}}));
  Diagnostics diagnostics;
  CHECK_FALSE(read_data_set(folder.path() / "data.npz", interface(), {}, diagnostics));
  CHECK(diagnostics.str().find("there is no array for input 'an image'\n    help: the archive has: picture, label") !=
        std::string::npos);
}

TEST_CASE("a folder has numbered files of either format") {
  Folder folder;
  folder.write("input_0.npy", write_npy(image));
  folder.write("output_0.pb", tensor_file("output_0.pb", "label", label));
  Diagnostics diagnostics;
  auto data = read_data_set(folder.path(), interface(), {}, diagnostics);
  REQUIRE_MESSAGE(data, diagnostics.str());
  CHECK(data->inputs.at(0).same_as(image));
  CHECK(data->outputs.at(0).same_as(label));
}

TEST_CASE("a data set that does not exist is an error") {
  Diagnostics diagnostics;
  CHECK_FALSE(read_data_set("no such folder", interface(), {}, diagnostics));
  CHECK(diagnostics.str().find("no such folder: error[cannot-read-file]") != std::string::npos);
}
