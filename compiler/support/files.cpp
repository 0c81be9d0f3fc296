#include "support/files.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <set>

#include "support/similar_names.h"

namespace dlcc {
namespace {

// A file descriptor that closes itself.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd > STDERR_FILENO) ::close(fd);
  }
};

bool write_all(int fd, const std::vector<std::span<const std::byte>>& pieces) {
  for (std::span<const std::byte> rest : pieces)
    while (!rest.empty()) {
      ssize_t n = ::write(fd, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      rest = rest.subspan(static_cast<size_t>(n));
    }
  return true;
}

// Blocks the signals by which users and build systems end a process, so that the process ends before or after files are
// written and leaves no temporary file.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t ending;
    ::sigemptyset(&ending);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&ending, signal);
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// The target of a symbolic link; any other path unchanged.
std::string link_target(const std::string& path) {
  std::error_code unresolved;
  if (!std::filesystem::is_symlink(path, unresolved)) return path;
  std::filesystem::path target = std::filesystem::canonical(path, unresolved);
  return unresolved ? path : target.string();
}

// A file that is to be written in two steps. prepare() writes a temporary file in the same folder; commit() renames it.
// A device or a pipe cannot be replaced: commit() opens it, which may wait for its reader, and writes to it. On
// failure, errno has the reason.
class PendingFile {
 public:
  explicit PendingFile(const OutputFile& file) : file_(file), target_(link_target(file.path)) {
    struct stat info;
    is_stream_ = path() == "-" || (::stat(target_.c_str(), &info) == 0 && !S_ISREG(info.st_mode));
  }
  PendingFile(const PendingFile&) = delete;
  ~PendingFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  const std::string& path() const { return file_.path; }
  bool is_stream() const { return is_stream_; }

  bool prepare() {
    if (path() == "-") return true;
    if (is_stream_) return !is_folder() && ::access(target_.c_str(), W_OK) == 0;
    std::string name = target_ + "." + std::string(6, 'X');  // mkstemp replaces the last six
    Descriptor descriptor{::mkstemp(name.data())};
    if (descriptor.fd < 0) return false;
    temporary_ = name;
    mode_t mask = ::umask(0);
    ::umask(mask);
    return write_all(descriptor.fd, file_.pieces) && ::fchmod(descriptor.fd, 0666 & ~mask) == 0;
  }

  bool commit() {
    if (is_stream_) {
      Descriptor stream{path() == "-" ? STDOUT_FILENO : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC)};
      return stream.fd >= 0 && write_all(stream.fd, file_.pieces);
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return false;
    temporary_.clear();
    return true;
  }

 private:
  bool is_folder() const {
    std::error_code ignored;
    const bool is = std::filesystem::is_directory(target_, ignored);
    if (is) errno = EISDIR;
    return is;
  }

  const OutputFile& file_;
  const std::string target_;
  bool is_stream_ = false;
  std::string temporary_;
};

// A remedy for a path that does not exist: a file in the same folder with the same suffix and a similar name, or for a
// URL the command that downloads it. Empty if there is none.
std::string remedy_for_missing_file(const std::string& path) {
  if (path.find("://") != path.npos) return fmt::format("download it first: curl -L -O {}", path);
  constexpr size_t max_names = 10000;  // names of the folder to compare
  const std::filesystem::path wanted(path);
  std::vector<std::string> names;
  std::error_code error;  // an unreadable folder has no names
  for (std::filesystem::directory_iterator entry(wanted.has_parent_path() ? wanted.parent_path() : ".", error), end;
       !error && entry != end && names.size() < max_names; entry.increment(error))
    if (entry->path().extension() == wanted.extension()) names.push_back(entry->path().stem());
  std::ranges::sort(names);
  auto nearest = nearest_name(wanted.stem().string(), names);
  if (!nearest) return "";
  return fmt::format("did you mean '{}'?", (wanted.parent_path() / (*nearest + wanted.extension().string())).string());
}

std::string remedy_for_reading_folder(const std::string& path) {
  if (std::error_code ignored; std::filesystem::exists(path + "/saved_model.pb", ignored))
    return fmt::format(
        "convert this TensorFlow SavedModel: python -m tf2onnx.convert --saved-model {} --output "
        "model.onnx",
        path);
  return "name a file in it";
}

// The absolute path without symbolic links, as far as it exists.
std::string resolved(const std::string& path) {
  std::error_code unresolved;
  const std::filesystem::path result = std::filesystem::weakly_canonical(std::filesystem::absolute(path), unresolved);
  return unresolved ? path : result.string();
}

template <class Files>
bool are_distinct(const Files& files, Diagnostics& diagnostics) {
  std::set<std::string> paths;
  bool distinct = true;
  for (const OutputFile& file : files) {
    if (paths.insert(resolved(file.path)).second) continue;
    diagnostics.error(DiagnosticId::bad_option, {.file = file.path}, "two outputs would be written to this file", {},
                      "give one of them another name");
    distinct = false;
  }
  return distinct;
}

// A remedy for a file that cannot be written because of `reason`, a value of errno; may be empty.
std::string remedy_for_writing(const std::string& path, int reason) {
  const std::string folder = std::filesystem::path(path).parent_path();
  if (std::error_code ignored; reason == ENOENT && !folder.empty() && !std::filesystem::exists(folder, ignored))
    return fmt::format("create the folder: mkdir -p {}", folder);
  return reason == EISDIR ? "choose another path" : "";
}

// Calls `step` for each file for which `applies` holds. Stops at the first failure, reports it and returns false.
bool all_succeed(
    std::deque<PendingFile>& pending, bool (PendingFile::*step)(), Diagnostics& diagnostics,
    const std::function<bool(const PendingFile&)>& applies = [](const PendingFile&) { return true; }) {
  for (PendingFile& file : pending) {
    errno = 0;
    if (!applies(file) || (file.*step)()) continue;
    const int reason = errno;
    diagnostics.error(DiagnosticId::cannot_write_file, {.file = file.path()},
                      fmt::format("cannot write the file: {}", std::strerror(reason)), {},
                      remedy_for_writing(file.path(), reason));
    return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::byte>> read_file(const std::string& path, Diagnostics& diagnostics) {
  auto fail = [&](const char* why, std::string help = "") {
    diagnostics.error(DiagnosticId::cannot_read_file, {.file = path}, fmt::format("cannot read the file: {}", why), {},
                      std::move(help));
    return std::nullopt;
  };
  Descriptor file{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return fail(std::strerror(errno), errno == ENOENT ? remedy_for_missing_file(path) : "");
  struct stat info;
  if (::fstat(file.fd, &info) != 0) return fail(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return fail("it is a folder", remedy_for_reading_folder(path));
  std::vector<std::byte> bytes(S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) : 0);
  constexpr size_t max_stream_bytes = size_t{1} << 31;  // bytes; an ONNX model has no more, a device may have no end
  size_t filled = 0;
  for (;;) {
    if (!S_ISREG(info.st_mode) && filled > max_stream_bytes)
      return fail("more than 2 GiB come from this device or pipe", "write them to a file and name it");
    if (filled == bytes.size()) {
      // The size of a regular file is known: the end is found by reading one more byte, without growing the buffer.
      std::byte extra[1 << 16];
      ssize_t n = ::read(file.fd, extra, sizeof extra);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail(std::strerror(errno));
      if (n == 0) return bytes;
      bytes.insert(bytes.end(), extra, extra + n);
      filled = bytes.size();
      continue;
    }
    ssize_t n = ::read(file.fd, bytes.data() + filled, bytes.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(std::strerror(errno));
    if (n == 0) {
      bytes.resize(filled);
      return bytes;
    }
    filled += static_cast<size_t>(n);
  }
}

bool write_files(const std::vector<OutputFile>& files, Diagnostics& diagnostics) {
  if (!are_distinct(files, diagnostics)) return false;
  std::deque<PendingFile> pending;
  auto is_stream = [](const PendingFile& file) { return file.is_stream(); };
  {
    const BlockedSignals held;
    for (const OutputFile& file : files) pending.emplace_back(file);
    if (!all_succeed(pending, &PendingFile::prepare, diagnostics) ||
        !all_succeed(pending, &PendingFile::commit, diagnostics, std::not_fn(is_stream))) {
      pending.clear();  // removes temporary files
      return false;
    }
  }
  return all_succeed(pending, &PendingFile::commit, diagnostics,
                     is_stream);  // may wait for the reader of a pipe
}

bool can_write(const std::vector<std::string>& paths, Diagnostics& diagnostics) {
  const BlockedSignals held;
  std::deque<OutputFile> files;
  std::deque<PendingFile> pending;
  for (const std::string& path : paths) pending.emplace_back(files.emplace_back(OutputFile{path, {}}));
  return are_distinct(files, diagnostics) && all_succeed(pending, &PendingFile::prepare, diagnostics);
}

bool differ_from_inputs(const std::vector<std::string>& outputs, const std::set<std::string>& inputs,
                        Diagnostics& diagnostics) {
  bool differ = true;
  for (const std::string& output : outputs)
    for (const std::string& input : inputs)
      if (std::error_code e; std::filesystem::equivalent(output, input, e)) {
        diagnostics.error(DiagnosticId::bad_option, {.file = output}, "the output would overwrite this input", {},
                          "choose another path for the output");
        differ = false;
      }
  return differ;
}

bool write_file(const std::string& path, std::span<const std::byte> bytes, Diagnostics& diagnostics) {
  return write_files({{path, {bytes}}}, diagnostics);
}

bool write_file(const std::string& path, std::string_view text, Diagnostics& diagnostics) {
  return write_file(path, std::as_bytes(std::span(text)), diagnostics);
}

}  // namespace dlcc
