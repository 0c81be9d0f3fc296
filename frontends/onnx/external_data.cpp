#include "frontends/onnx/external_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace dlcc::frontends::onnx {
namespace {

namespace fs = std::filesystem;

// Owns a file mapping.
struct Mapping {
  void* data;
  size_t size;
  ~Mapping() { munmap(data, size); }
};

bool is_inside(const fs::path& file, const fs::path& folder) {
  auto [end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end() && rest != file.end();
}

// The file's path with all links resolved; empty, with the reason in `problem`, if it may not be read.
std::optional<fs::path> resolve(const std::string& folder, const std::string& location, std::string& problem) {
  if (folder.empty()) {
    problem = "the model was not read from a file, so it has no folder";
    return std::nullopt;
  }
  fs::path relative(location);
  bool climbs = std::ranges::any_of(relative, [](const fs::path& part) { return part == ".."; });
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute() || climbs) {
    problem = "the location must be a path inside the model's folder";
    return std::nullopt;
  }
  std::error_code error;
  fs::path root = fs::canonical(folder, error);
  fs::path file = error ? fs::path() : fs::canonical(root / relative, error);
  if (error) {
    problem = error.message();
    return std::nullopt;
  }
  if (!is_inside(file, root)) {
    problem = "the location is a link that leads outside the model's folder; put a copy of the file there";
    return std::nullopt;
  }
  return file;
}

std::optional<ByteView> map_file(const fs::path& path, std::string& problem) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    problem = file < 0 ? "the file cannot be opened" : "not a regular file";
    if (file >= 0) close(file);
    return std::nullopt;
  }
  auto size = static_cast<size_t>(status.st_size);
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (size == 0) return ByteView{};
  if (data == MAP_FAILED) {
    problem = "the file cannot be mapped";
    return std::nullopt;
  }
  return ByteView{{static_cast<const std::byte*>(data), size}, std::shared_ptr<Mapping>(new Mapping{data, size})};
}

}  // namespace

std::optional<ByteView> ExternalFiles::open(const std::string& location, const SourceLocation& source,
                                            Diagnostics& diagnostics) {
  auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  std::string problem;
  auto path = resolve(folder_, location, problem);
  auto view = path ? map_file(*path, problem) : std::nullopt;
  if (!view) {
    diagnostics.error(DiagnosticId::external_data, source, fmt::format("cannot use '{}': {}", location, problem), {},
                      "external data lie in the folder of the model: copy all files that the export wrote");
    return std::nullopt;
  }
  if (files_read_) files_read_->insert((fs::path(folder_) / location).lexically_normal());
  return files_.emplace(location, *view).first->second;
}

}  // namespace dlcc::frontends::onnx
