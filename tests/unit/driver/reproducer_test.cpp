// The folder that is written after an internal error.
#include "driver/reproducer.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temporary_folder.h"

namespace fs = std::filesystem;

TEST_CASE("the crash folder has the command line and the files that it names") {
  const dlcc::TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  std::ofstream(folder / "it's.onnx") << "model";
  std::ofstream(folder / "x.npy") << "data";
  std::string model = folder / "it's.onnx";
  std::string kept = dlcc::driver::write_reproducer(
      folder, {"run", model, "--input=x=" + (folder / "x.npy").string(), "-O2", "missing"}, "what failed");
  REQUIRE(fs::path(kept).parent_path() == folder);
  CHECK(fs::file_size(fs::path(kept) / "it's.onnx") == 5);
  CHECK(fs::file_size(fs::path(kept) / "x.npy") == 4);
  std::stringstream command;
  command << std::ifstream(fs::path(kept) / "command").rdbuf();
  CHECK(command.str().find(": what failed\ncd '") != std::string::npos);
  CHECK(command.str().find("it'\\''s.onnx' '--input=x=") != std::string::npos);
  CHECK(command.str().ends_with(" '-O2' 'missing'\n"));
  CHECK(dlcc::driver::write_reproducer(folder / "missing", {}, "") == "");
}
