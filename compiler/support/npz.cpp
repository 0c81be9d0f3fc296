#include "support/npz.h"

#include <zip.h>

#include <memory>

#include "support/npy.h"

namespace dlcc {
namespace {

struct Close {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Archive = std::unique_ptr<zip_t, Close>;
using File = std::unique_ptr<zip_file_t, Close>;
using Source = std::unique_ptr<zip_source_t, Close>;

// The archive takes its own reference to the source.
Archive open(const Source& source, int flags) {
  Archive archive(source ? zip_open_from_source(source.get(), flags, nullptr) : nullptr);
  if (archive) zip_source_keep(source.get());
  return archive;
}

std::optional<std::vector<std::byte>> read_entry(zip_t* archive, zip_uint64_t index, uint64_t size) {
  File file(zip_fopen_index(archive, index, 0));
  if (!file) return std::nullopt;
  std::vector<std::byte> bytes(size);
  uint64_t filled = 0;
  while (filled < size) {
    zip_int64_t n = zip_fread(file.get(), bytes.data() + filled, size - filled);
    if (n <= 0) return std::nullopt;
    filled += static_cast<uint64_t>(n);
  }
  std::byte extra;  // reading the end makes libzip check the CRC
  if (zip_fread(file.get(), &extra, 1) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

std::optional<std::vector<NamedArray>> read_npz(std::span<const std::byte> bytes, const SourceLocation& location,
                                                Diagnostics& diagnostics) {
  auto fail = [&](const std::string& why) {
    diagnostics.error(DiagnosticId::malformed_tensor, location, "this is not an archive of arrays (.npz): " + why);
    return std::nullopt;
  };
  constexpr uint64_t largest_ratio = 1100;  // deflate turns at most 1032 bytes into one
  if (bytes.empty()) return fail("it has no bytes");
  Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, nullptr));
  Archive archive = open(source, ZIP_RDONLY | ZIP_CHECKCONS);
  if (!archive) return fail("it is not a well-formed zip file");
  std::vector<NamedArray> arrays;
  for (zip_int64_t k = 0, count = zip_get_num_entries(archive.get(), 0); k < count; ++k) {
    zip_stat_t info;
    const auto index = static_cast<zip_uint64_t>(k);
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE;
    if (zip_stat_index(archive.get(), index, 0, &info) != 0 || (info.valid & needed) != needed)
      return fail("an entry has no name or size");
    std::string name = info.name;
    if (!name.ends_with(".npy")) continue;
    if (info.size / largest_ratio > bytes.size()) return fail(fmt::format("entry '{}' has an impossible size", name));
    auto contents = read_entry(archive.get(), index, info.size);
    if (!contents) return fail(fmt::format("entry '{}' cannot be read", name));
    SourceLocation entry = location;
    entry.node = fmt::format("array '{}'", name);
    Diagnostics problems;
    auto value = read_npy(*contents, entry, problems);
    if (!value) {
      diagnostics.remark(DiagnosticId::unsupported_type, entry,
                         fmt::format("the array is left out: {}", problems.list().front().message));
      continue;
    }
    arrays.push_back({name.substr(0, name.size() - 4), std::move(*value)});
  }
  return arrays;
}

std::vector<std::byte> write_npz(const std::vector<NamedArray>& arrays) {
  std::vector<std::vector<std::byte>> files;  // the archive refers to them until it is closed
  files.reserve(arrays.size());
  Source target(zip_source_buffer_create(nullptr, 0, 0, nullptr));
  Archive archive = open(target, ZIP_CREATE | ZIP_TRUNCATE);
  DLCC_CHECK(archive, "libzip cannot make an archive");
  for (const NamedArray& array : arrays) {
    const auto& file = files.emplace_back(write_npy(array.value));
    zip_source_t* source = zip_source_buffer(archive.get(), file.data(), file.size(), 0);
    zip_int64_t index = zip_file_add(archive.get(), (array.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    DLCC_CHECK(index >= 0, "libzip cannot add '{}'", array.name);
    constexpr zip_uint16_t january_1 = 1 << 5 | 1;  // 1980-01-01, the earliest date of a zip file
    zip_file_set_dostime(archive.get(), static_cast<zip_uint64_t>(index), 0, january_1, 0);
    zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  }
  DLCC_CHECK(zip_close(archive.get()) == 0, "libzip cannot write: {}", zip_strerror(archive.get()));
  (void)archive.release();  // zip_close has freed it
  zip_stat_t info;
  zip_source_stat(target.get(), &info);
  std::vector<std::byte> bytes(info.size);
  zip_source_open(target.get());
  zip_source_read(target.get(), bytes.data(), bytes.size());
  zip_source_close(target.get());
  return bytes;
}

}  // namespace dlcc
