#include "support/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "support/float_formats.h"

namespace dlcc {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

constexpr char record = '[';  // the kind of elements that are records with fields

// The fields of a file's header.
struct Header {
  char order = '|';  // '<', '>', '=' or '|'
  char kind = 0;     // b, i, u, f and V are read; `record`, c, M, m, O, S and U are not
  int64_t item_bytes = 0;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// The text after `'key':` in the header's dictionary.
std::optional<std::string_view> entry(std::string_view text, std::string_view key) {
  size_t at = text.find(fmt::format("'{}'", key));
  size_t colon = at == text.npos ? at : text.find(':', at);
  if (colon == text.npos) return std::nullopt;
  text.remove_prefix(colon + 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

bool read_number(std::string_view& text, int64_t& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || out < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool parse_descr(std::string_view text, Header& header) {
  if (text.starts_with('[')) {
    header.kind = record;
    return true;
  }
  if (text.size() < 5 || (text[0] != '\'' && text[0] != '"')) return false;
  header.order = text[1];
  header.kind = text[2];
  text.remove_prefix(3);
  if (std::string_view("OMm").find(header.kind) != std::string_view::npos) return true;
  return std::string_view("<>=|").find(header.order) != std::string_view::npos &&
         read_number(text, header.item_bytes) && !text.empty() && (text[0] == '\'' || text[0] == '"');
}

bool parse_shape(std::string_view text, std::vector<int64_t>& shape) {
  if (text.empty() || text[0] != '(') return false;
  text.remove_prefix(1);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.empty()) return false;
    if (text[0] == ')') return true;
    if (!read_number(text, shape.emplace_back())) return false;
  }
}

// Splits a file into header and elements.
std::optional<Header> parse_header(std::span<const std::byte>& bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(magic) || text.size() < 10) return std::nullopt;
  int major = text[6];
  auto byte = [&](size_t k) { return static_cast<size_t>(static_cast<unsigned char>(text[k])); };
  size_t start = major == 1 ? 10 : 12, length = byte(8) | byte(9) << 8;
  if (major < 1 || major > 3 || text.size() < start) return std::nullopt;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start) return std::nullopt;
  std::string_view dictionary = text.substr(start, length);
  Header header;
  auto descr = entry(dictionary, "descr"), fortran = entry(dictionary, "fortran_order"),
       shape = entry(dictionary, "shape");
  if (!descr || !fortran || !shape || !parse_descr(*descr, header) || !parse_shape(*shape, header.shape))
    return std::nullopt;
  header.fortran_order = fortran->starts_with("True");
  bytes = bytes.subspan(start + length);
  return header;
}

std::optional<DType> type_of(const Header& h, std::optional<DType> expected) {
  if (h.item_bytes < 1 || h.item_bytes > 8) return std::nullopt;
  if (expected && h.item_bytes == 1 && bits(*expected) < 8 &&
      std::string_view("iuV").find(h.kind) != std::string_view::npos)
    return expected;
  if (h.kind == 'V') return expected && bits(*expected) == 8 * h.item_bytes ? expected : std::nullopt;
  if (h.kind == 'b') return h.item_bytes == 1 ? std::optional(dtype::boolean) : std::nullopt;
  const char* stem = h.kind == 'i' ? "int" : h.kind == 'u' ? "uint" : h.kind == 'f' ? "float" : "";
  return dtype_named(fmt::format("{}{}", stem, 8 * h.item_bytes));
}

// The type as NumPy writes it in a header: "<f4".
std::string descr_of(DType type) {
  int64_t size = std::max(bits(type) / 8, 1);
  const char* order = size == 1 ? "|" : "<";
  bool raw = is_float(type) && (size == 1 || type == dtype::bf16);
  char kind = raw ? 'V' : is_bool(type) ? 'b' : is_float(type) ? 'f' : is_signed(type) ? 'i' : 'u';
  return fmt::format("{}{}{}", order, kind, size);
}

// The element type in words.
std::string described(const Header& h) {
  switch (h.kind) {
    case record:
      return "records";
    case 'O':
      return "Python objects";
    case 'U':
    case 'S':
      return "text";
    case 'c':
      return "complex numbers";
    case 'M':
    case 'm':
      return "dates or durations";
    case 'V':
      return fmt::format("raw values of {} bytes, as NumPy stores bfloat16 and 8-bit floats", h.item_bytes);
    default:
      return fmt::format("numbers of {} bytes and kind '{}'", h.item_bytes, h.kind);
  }
}

void report_unsupported(const Header& h, std::optional<DType> expected, const SourceLocation& location,
                        Diagnostics& diagnostics) {
  const std::string wanted = expected ? fmt::format(", where {} is wanted", name(*expected)) : "";
  const bool numpy_has_type = !expected || (bits(*expected) >= 8 && descr_of(*expected).find('V') == std::string::npos);
  diagnostics.error(DiagnosticId::unsupported_type, location,
                    fmt::format("the elements are {}{}", described(h), wanted), {},
                    fmt::format("convert them in Python: numpy.save(\"x.npy\", x.astype({}))",
                                numpy_has_type ? fmt::format("\"{}\"", expected ? name(*expected) : "float32")
                                               : fmt::format("ml_dtypes.{}", name(*expected))));
}

// The elements, converted to row-major order and the host's byte order.
std::vector<std::byte> reordered(const Header& h, std::span<const std::byte> bytes) {
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  auto size = static_cast<size_t>(h.item_bytes), rank = h.shape.size();
  if (h.fortran_order && rank > 1) {
    std::vector<int64_t> index(rank, 0);
    for (size_t to = 0; to < result.size(); to += size) {
      size_t from = 0;
      for (size_t d = rank; d-- > 0;) from = from * static_cast<size_t>(h.shape[d]) + static_cast<size_t>(index[d]);
      std::memcpy(&result[to], &bytes[from * size], size);
      for (size_t d = rank; d-- > 0 && ++index[d] == h.shape[d];) index[d] = 0;
    }
  }
  if (h.order == '>')
    for (auto item = result.begin(); item != result.end(); item += h.item_bytes)
      std::reverse(item, item + h.item_bytes);
  return result;
}

// Packs elements from one byte each to `width` bits each.
std::vector<std::byte> packed_bits(const std::vector<std::byte>& bytes, size_t width) {
  const size_t per_byte = 8 / width;
  const auto mask = static_cast<std::byte>((1 << width) - 1);
  std::vector<std::byte> result((bytes.size() + per_byte - 1) / per_byte);
  for (size_t k = 0; k < bytes.size(); ++k) result[k / per_byte] |= (bytes[k] & mask) << k % per_byte * width;
  return result;
}

}  // namespace

std::optional<Constant> read_npy(std::span<const std::byte> bytes, const SourceLocation& location,
                                 Diagnostics& diagnostics, std::optional<DType> expected) {
  auto header = parse_header(bytes);
  if (!header) {
    diagnostics.error(DiagnosticId::malformed_tensor, location, "the bytes are not an array in numpy's format", {},
                      "write the file again: numpy.save(\"x.npy\", x)");
    return std::nullopt;
  }
  auto type = type_of(*header, expected);
  if (!type) {
    report_unsupported(*header, expected, location, diagnostics);
    return std::nullopt;
  }
  int64_t size = header->item_bytes;
  bool overflow = false;
  for (int64_t d : header->shape) overflow = overflow || __builtin_mul_overflow(size, d, &size);
  if (overflow || size != static_cast<int64_t>(bytes.size())) {
    diagnostics.error(
        DiagnosticId::malformed_tensor, location,
        fmt::format("there are {} bytes of elements for shape ({})", bytes.size(), fmt::join(header->shape, ", ")), {},
        "the file is truncated or damaged: write it again with numpy.save(\"x.npy\", x)");
    return std::nullopt;
  }
  std::vector<std::byte> elements = reordered(*header, bytes);
  if (bits(*type) < 8) elements = packed_bits(elements, static_cast<size_t>(bits(*type)));
  return Constant(*type, header->shape, std::move(elements));
}

std::vector<std::byte> write_npy(const Constant& value) {
  std::string shape;
  for (int64_t d : value.shape()) shape += fmt::format("{}, ", d);
  if (value.rank() > 1) shape.resize(shape.size() - 2);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(value.dtype()), shape);
  text.resize((text.size() + 10 + 1 + 63) / 64 * 64 - 10, ' ');
  text.back() = '\n';
  std::string head = std::string(magic) + '\1' + '\0' + static_cast<char>(text.size() & 255) +
                     static_cast<char>(text.size() >> 8) + text;
  auto raw = std::as_bytes(std::span(head));
  std::vector<std::byte> file(raw.begin(), raw.end());
  if (value.dtype() == DType::float4_e2m1fn_)
    for (int64_t k = 0; k < value.count(); ++k)
      file.push_back(
          static_cast<std::byte>(float_to_minifloat(value.dtype(), static_cast<float>(value.number_at(k)), true)));
  else if (bits(value.dtype()) < 8)
    for (int64_t k = 0; k < value.count(); ++k) file.push_back(static_cast<std::byte>(value.integer_at(k)));
  else
    file.insert(file.end(), value.bytes().begin(), value.bytes().end());
  return file;
}

}  // namespace dlcc
