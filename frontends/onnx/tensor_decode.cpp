#include "frontends/onnx/tensor_decode.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace dlcc::frontends::onnx {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and is used in place");

std::string element_type_name(int64_t number) {
  static constexpr const char* names[] = {"undefined",      "float",    "uint8",        "int8",           "uint16",
                                          "int16",          "int32",    "int64",        "string",         "bool",
                                          "float16",        "double",   "uint32",       "uint64",         "complex64",
                                          "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
                                          "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
                                          "uint2",          "int2",     "float6e2m3",   "float6e3m2"};
  bool known = number >= 0 && number < static_cast<int64_t>(std::size(names));
  return known ? names[number] : fmt::format("number {}", number);
}

namespace {

// Decodes one tensor.
struct Decoder {
  const schema::TensorProto& tensor;
  const std::shared_ptr<const void>& owner;
  ExternalFiles& files;
  const SourceLocation& location;
  Diagnostics& diagnostics;
  DType type = DType::float32_;
  std::vector<int64_t> shape = {};
  int64_t count = 0;

  std::optional<Constant> fail(DiagnosticId id, std::string message, std::string help = "") {
    diagnostics.error(id, location, std::move(message), {}, std::move(help));
    return std::nullopt;
  }
  std::optional<Constant> malformed(std::string message) {
    return fail(DiagnosticId::malformed_tensor, std::move(message));
  }

  std::optional<Constant> decode();
  std::optional<Constant> external();
  std::optional<Constant> raw(std::span<const std::byte> bytes, const std::shared_ptr<const void>& keeper);
  std::optional<Constant> typed();
  template <class Stored, class List>
  std::optional<Constant> elements(const List& list, const char* field);
};

std::optional<Constant> Decoder::decode() {
  auto known = checked_type(tensor.data_type(), location, diagnostics);
  if (!known) return std::nullopt;
  type = *known;
  shape.assign(tensor.dims().begin(), tensor.dims().end());
  auto elements = checked_count(shape, type, location, diagnostics);
  if (!elements) return std::nullopt;
  count = *elements;
  if (tensor.has_segment()) return malformed("tensors in segments are not supported");
  if (tensor.data_location() == schema::TensorProto::EXTERNAL) return external();
  if (!tensor.has_raw_data() || (tensor.raw_data().empty() && count > 0)) return typed();
  return raw(std::as_bytes(std::span(tensor.raw_data())), owner);
}

std::optional<Constant> Decoder::raw(std::span<const std::byte> bytes, const std::shared_ptr<const void>& keeper) {
  int64_t expected = storage_bytes(type, count);
  if (static_cast<int64_t>(bytes.size()) != expected)
    return malformed(fmt::format("expected {} bytes of data for {} elements of {}, found {}", expected, count,
                                 name(type), bytes.size()));
  bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % std::max(bits(type) / 8, 1) == 0;
  bool canonical = type != DType::bool_ || std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
  if (aligned && canonical) return Constant::view(type, shape, bytes, keeper);
  std::vector<std::byte> copy(bytes.begin(), bytes.end());
  if (!canonical) std::ranges::transform(copy, copy.begin(), [](std::byte b) { return std::byte{b != std::byte{0}}; });
  return Constant(type, shape, std::move(copy));
}

bool read_number(const std::string& text, int64_t& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out >= 0;
}

std::optional<Constant> Decoder::external() {
  std::string path;
  int64_t offset = 0, length = storage_bytes(type, count);
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") path = entry.value();
    int64_t* number = entry.key() == "offset" ? &offset : entry.key() == "length" ? &length : nullptr;
    if (number && !read_number(entry.value(), *number))
      return fail(DiagnosticId::external_data,
                  fmt::format("{} must be a number of bytes, found '{}'", entry.key(), entry.value()));
  }
  auto file = files.open(path, location, diagnostics);
  if (!file) return std::nullopt;
  auto size = static_cast<int64_t>(file->bytes.size());
  if (offset > size || length > size - offset)
    return fail(DiagnosticId::external_data,
                fmt::format("{} bytes at offset {} are outside '{}', which has {}", length, offset, path, size),
                "the file is truncated or of another export: copy it again with the model");
  return raw(file->bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(length)), file->owner);
}

// `list` has one element per entry; for types narrower than a byte, one byte of packed elements.
template <class Stored, class List>
std::optional<Constant> Decoder::elements(const List& list, const char* field) {
  int64_t expected = bits(type) < 8 ? storage_bytes(type, count) : count;
  if (list.size() != expected)
    return malformed(fmt::format("expected {} entries in {} for {} elements of {}, found {}", expected, field, count,
                                 name(type), list.size()));
  std::vector<std::byte> bytes(static_cast<size_t>(expected) * sizeof(Stored));
  for (int k = 0; k < list.size(); ++k) {
    Stored value = type == DType::bool_ ? static_cast<Stored>(list[k] != 0) : static_cast<Stored>(list[k]);
    std::memcpy(bytes.data() + static_cast<size_t>(k) * sizeof(Stored), &value, sizeof(Stored));
  }
  return Constant(type, shape, std::move(bytes));
}

std::optional<Constant> Decoder::typed() {
  switch (type) {
    case DType::float32_:
      return elements<float>(tensor.float_data(), "float_data");
    case DType::float64_:
      return elements<double>(tensor.double_data(), "double_data");
    case DType::int64_:
      return elements<int64_t>(tensor.int64_data(), "int64_data");
    case DType::uint64_:
      return elements<uint64_t>(tensor.uint64_data(), "uint64_data");
    case DType::uint32_:
      return elements<uint32_t>(tensor.uint64_data(), "uint64_data");
    case DType::int32_:
      return elements<int32_t>(tensor.int32_data(), "int32_data");
    case DType::int16_:
    case DType::uint16_:
    case DType::float16_:
    case DType::bfloat16_:
      return elements<uint16_t>(tensor.int32_data(), "int32_data");
    default:  // types of at most one byte
      return elements<uint8_t>(tensor.int32_data(), "int32_data");
  }
}

}  // namespace

std::optional<int64_t> checked_count(const std::vector<int64_t>& dims, DType type, const SourceLocation& location,
                                     Diagnostics& diagnostics) {
  auto negative = std::ranges::find_if(dims, [](int64_t d) { return d < 0; });
  if (negative != dims.end()) {
    diagnostics.error(DiagnosticId::malformed_tensor, location, fmt::format("a dimension is negative: {}", *negative));
    return std::nullopt;
  }
  // A zero could hide the overflow of the other sizes' product, so it is multiplied as 1.
  int64_t count = 1, bytes = 0;
  bool empty = false, overflow = false;
  for (int64_t d : dims) {
    empty = empty || d == 0;
    overflow = overflow || __builtin_mul_overflow(count, std::max<int64_t>(d, 1), &count);
  }
  overflow = overflow || __builtin_mul_overflow(count, int64_t{bits(type)}, &bytes) || bytes > INT64_MAX - 7;
  if (overflow) {
    diagnostics.error(DiagnosticId::too_large, location,
                      fmt::format("[{}] is more than can be addressed", fmt::join(dims, ", ")));
    return std::nullopt;
  }
  return empty ? 0 : count;
}

std::optional<DType> checked_type(int number, const SourceLocation& location, Diagnostics& diagnostics) {
  auto type = dtype_of_onnx(number);
  if (!type)
    diagnostics.error(DiagnosticId::unsupported_type, location,
                      fmt::format("element type {} is not supported", element_type_name(number)), {},
                      number == schema::TensorProto::STRING
                          ? "a compiled model computes with numbers: encode strings before the model; strings that "
                            "the model has as constants may meet label encoders and comparisons"
                          : "");
  return type;
}

std::optional<Constant> decode_tensor(const schema::TensorProto& tensor, const std::shared_ptr<const void>& owner,
                                      ExternalFiles& files, const SourceLocation& location, Diagnostics& diagnostics) {
  return Decoder{tensor, owner, files, location, diagnostics}.decode();
}

std::optional<Constant> decode_sparse_tensor(const schema::SparseTensorProto& tensor,
                                             const std::shared_ptr<const void>& owner, ExternalFiles& files,
                                             const SourceLocation& location, Diagnostics& diagnostics) {
  auto malformed = [&](std::string message) {
    diagnostics.error(DiagnosticId::malformed_tensor, location, std::move(message));
    return std::nullopt;
  };
  auto values = decode_tensor(tensor.values(), owner, files, location, diagnostics);
  auto indices = decode_tensor(tensor.indices(), owner, files, location, diagnostics);
  if (!values || !indices) return std::nullopt;
  std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  auto count = checked_count(shape, values->dtype(), location, diagnostics);
  if (!count) return std::nullopt;
  constexpr int64_t largest = int64_t{1} << 32;
  if (bits(values->dtype()) < 8 || storage_bytes(values->dtype(), *count) > largest)
    return malformed(
        fmt::format("a sparse tensor of {} elements of {} is not supported", *count, name(values->dtype())));
  auto rank = static_cast<int64_t>(shape.size());
  bool linear = indices->rank() == 1;
  if (values->rank() != 1 || indices->dtype() != DType::int64_ || indices->rank() > 2 || indices->rank() < 1 ||
      indices->shape()[0] != values->count() || (!linear && indices->shape()[1] != rank))
    return malformed("the indices must be int64 of shape [n] or [n, rank], for n values");
  int64_t size = storage_bytes(values->dtype(), 1);
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(values->dtype(), *count)));
  for (int64_t k = 0; k < values->count(); ++k) {
    int64_t position = linear ? indices->integer_at(k) : 0;
    for (int64_t d = 0; !linear && d < rank; ++d) {
      int64_t index = indices->integer_at(k * rank + d);
      if (index < 0 || index >= shape[d]) return malformed(fmt::format("index {} is outside axis {}", index, d));
      position = position * shape[d] + index;
    }
    if (position < 0 || position >= *count) return malformed(fmt::format("index {} is outside the tensor", position));
    std::memcpy(bytes.data() + position * size, values->bytes().data() + k * size, static_cast<size_t>(size));
  }
  return Constant(values->dtype(), shape, std::move(bytes));
}

}  // namespace dlcc::frontends::onnx
