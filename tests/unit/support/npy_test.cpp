// .npy files: arrays that numpy wrote, arrays that are written and read back, and malformed files.
#include <doctest/doctest.h>

#include "support/npy.h"

namespace {

using namespace dlcc;

std::vector<std::byte> file_of(const std::string& dictionary, const std::vector<uint8_t>& elements) {
  std::string text = dictionary + "\n";
  std::vector<std::byte> file;
  for (char c : "\x93NUMPY\x01" + std::string(1, '\0') + static_cast<char>(text.size()) + std::string(1, '\0') + text)
    file.push_back(static_cast<std::byte>(c));
  for (uint8_t b : elements) file.push_back(std::byte{b});
  return file;
}

std::optional<Constant> read(const std::vector<std::byte>& file, std::optional<DType> expected = std::nullopt) {
  Diagnostics diagnostics;
  auto value = read_npy(file, {.file = "x.npy"}, diagnostics, expected);
  CHECK(value.has_value() != diagnostics.has_errors());
  return value;
}

}  // namespace

TEST_CASE("arrays are read back as written") {
  for (const Constant& value :
       {Constant::of<float>(dtype::f32, {2, 3}, {1, 2, 3, 4, 5, 6}), Constant::of<int64_t>(dtype::i64, {}, {-7}),
        Constant::of<uint8_t>(dtype::boolean, {3}, {1, 0, 1}), Constant::of<uint16_t>(dtype::f16, {1}, {0x3c00}),
        Constant::of<uint16_t>(dtype::bf16, {2}, {0x3f80, 0}), Constant::of<uint8_t>(dtype::i4, {3}, {0xf7, 0x01}),
        Constant::of<uint8_t>(DType::uint2_, {5}, {0xe4, 0x02}),
        Constant::of<uint8_t>(DType::float4_e2m1fn_, {3}, {0xf7, 0x08}),
        Constant::of<uint8_t>(DType::float8_e8m0fnu_, {2}, {0x7f, 0xff}),
        Constant::of<double>(dtype::f64, {0, 4}, {})}) {
    auto copy = read(write_npy(value), value.dtype());
    REQUIRE(copy);
    CHECK(copy->same_as(value));
  }
}

TEST_CASE("the elements begin at a multiple of 64 bytes") {
  CHECK(write_npy(Constant::of<float>(dtype::f32, {1}, {1})).size() == 128 + 4);
}

TEST_CASE("big-endian numbers and Fortran order") {
  auto value = read(file_of("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }", {0, 1, 0, 2, 0, 3, 1, 4}));
  REQUIRE(value);
  CHECK(value->same_as(Constant::of<int16_t>(dtype::i16, {2, 2}, {1, 3, 2, 260})));
}

TEST_CASE("an unsupported or unexpected element type is an error that names it") {
  auto message = [](const std::string& descr, std::optional<DType> expected) {
    Diagnostics diagnostics;
    read_npy(file_of("{'descr': " + descr + ", 'fortran_order': False, 'shape': (0,), }", {}), {.file = "x.npy"},
             diagnostics, expected);
    return diagnostics.str();
  };
  const std::string start = "x.npy: error[unsupported-type]: the elements are ";
  for (const auto& [descr, words] : std::vector<std::pair<std::string, std::string>>{
           {"'|V2'", "raw values of 2 bytes, as NumPy stores bfloat16 and 8-bit floats, where float32 is wanted"},
           {"'<c8'", "complex numbers, where"},
           {"'|O'", "Python objects, where"},
           {"'<U5'", "text, where"},
           {"'<M8[s]'", "dates or durations, where"},
           {"[('a', '<f4'), ('b', '<i4')]", "records, where"},
           {"'<f16'", "numbers of 16 bytes and kind 'f', where"}}) {
    const std::string text = message(descr, dtype::f32);
    CAPTURE(text);
    CHECK(text.starts_with(start + words));
    CHECK(text.find("numpy.save(\"x.npy\", x.astype(\"float32\"))") != std::string::npos);
  }
  CHECK(message("'<c8'", dtype::bf16).find("x.astype(ml_dtypes.bfloat16)") != std::string::npos);
}

TEST_CASE("malformed .npy files are errors") {
  CHECK(!read({}));
  CHECK(!read(file_of("", {})));
  CHECK(!read(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", {0, 0, 0, 0})));
  CHECK(!read(file_of("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", {0, 0, 0, 0, 0, 0, 0, 0})));
  CHECK(!read(file_of("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }", {0, 0})));
  CHECK(!read(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }", {})));
  CHECK(!read(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (1", {})));
  auto whole = write_npy(Constant::of<float>(dtype::f32, {2}, {1, 2}));
  for (size_t size = 0; size < whole.size(); ++size)
    CHECK(!read({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)}));
}
