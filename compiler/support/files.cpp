#include "support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace dlcc {
namespace {

// A file descriptor that closes itself.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd > STDERR_FILENO) ::close(fd);
  }
};

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::byte>> read_file(const std::string& path, Diagnostics& diagnostics) {
  auto fail = [&](const char* why) {
    diagnostics.error(DiagnosticId::cannot_read_file, {.file = path}, fmt::format("cannot read the file: {}", why));
    return std::nullopt;
  };
  Descriptor file{path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return fail(std::strerror(errno));
  struct stat info;
  if (::fstat(file.fd, &info) != 0) return fail(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return fail("it is a folder");
  std::vector<std::byte> bytes(S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) : 0);
  size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) {
      // A regular file's size is known: one more read of a single byte tells its end without copying the contents.
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

bool write_file(const std::string& path, std::span<const std::byte> bytes, Diagnostics& diagnostics) {
  auto fail = [&](const char* why) {
    diagnostics.error(DiagnosticId::cannot_write_file, {.file = path}, fmt::format("cannot write the file: {}", why));
    return false;
  };
  if (path == "-") return write_all(STDOUT_FILENO, bytes) || fail(std::strerror(errno));
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {  // a device or a pipe cannot be replaced
    Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    return (file.fd >= 0 && write_all(file.fd, bytes)) || fail(std::strerror(errno));
  }
  std::string temporary = path + ".XXXXXX";
  Descriptor file{::mkstemp(temporary.data())};
  if (file.fd < 0) return fail(std::strerror(errno));
  mode_t mask = ::umask(0);
  ::umask(mask);
  bool ok = write_all(file.fd, bytes) && ::fchmod(file.fd, 0666 & ~mask) == 0 &&
            ::rename(temporary.c_str(), path.c_str()) == 0;
  if (ok) return true;
  int why = errno;
  ::unlink(temporary.c_str());
  return fail(std::strerror(why));
}

bool write_file(const std::string& path, std::string_view text, Diagnostics& diagnostics) {
  return write_file(path, std::as_bytes(std::span(text)), diagnostics);
}

}  // namespace dlcc
