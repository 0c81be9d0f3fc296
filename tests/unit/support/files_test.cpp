// Several files are written atomically: all or none.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "support/files.h"
#include "support/temporary_folder.h"

namespace {

using namespace dlcc;
namespace fs = std::filesystem;

struct Folder : TemporaryFolder {
  const fs::path& path = TemporaryFolder::path();
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST_CASE("several files are written together") {
  Folder folder;
  Diagnostics diagnostics;
  std::string one = "one", two = "two";
  CHECK(write_files({{folder.path / "a", {bytes_of(one)}}, {folder.path / "b", {bytes_of(two)}}}, diagnostics));
  CHECK(write_file(folder.path / "a", std::string_view("again"), diagnostics));
  CHECK(!diagnostics.has_errors());
  auto read = read_file(folder.path / "a", diagnostics);
  REQUIRE(read);
  CHECK(std::ranges::equal(*read, bytes_of(std::string("again"))));
  CHECK(folder.entries() == 2);
}

TEST_CASE("a symbolic link is kept and its target replaced") {
  Folder folder;
  Diagnostics diagnostics;
  fs::create_symlink("a", folder.path / "link");
  std::string text = "text";
  for (const char* path : {"a", "link"}) CHECK(write_files({{folder.path / path, {bytes_of(text)}}}, diagnostics));
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(fs::file_size(folder.path / "a") == text.size());
  CHECK(folder.entries() == 2);
}

TEST_CASE("two files with one path are an error, and can_write leaves no file") {
  Folder folder;
  fs::create_directory_symlink(".", folder.path / "here");
  Diagnostics diagnostics;
  std::string text = "text";
  const fs::path relative = fs::relative(folder.path / "a");
  for (const fs::path& same : {folder.path / "./a", folder.path / "here" / "a", relative})
    CHECK(!write_files({{folder.path / "a", {bytes_of(text)}}, {same, {bytes_of(text)}}}, diagnostics));
  CHECK(can_write({folder.path / "a", "-"}, diagnostics));
  CHECK(diagnostics.error_count() == 3);
  CHECK(folder.entries() == 1);
}

TEST_CASE("when one of several files cannot be written, none is") {
  Folder folder;
  fs::create_directory(folder.path / "taken");
  for (const char* bad : {"taken", "missing/b"}) {
    Diagnostics diagnostics;
    std::string text = "text";
    CHECK(!write_files({{folder.path / "a", {bytes_of(text)}}, {folder.path / bad, {bytes_of(text)}}}, diagnostics));
    CHECK(diagnostics.str().find(std::string(bad) + ": error[cannot-write-file]: cannot write the file: ") !=
          std::string::npos);
    CHECK(!can_write({folder.path / "a", folder.path / bad}, diagnostics));
    CHECK(diagnostics.error_count() == 2);
    CHECK(folder.entries() == 1);
  }
}
