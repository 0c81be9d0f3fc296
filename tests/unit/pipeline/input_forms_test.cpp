// The forms of inputs that --input gives, and those that data gives.
#include "pipeline/input_forms.h"

#include <doctest/doctest.h>

#include "pipeline/tensor_files.h"
#include "support/files.h"
#include "support/temporary_folder.h"

using namespace dlcc;
using namespace dlcc::frontends;

namespace {

std::string text_of(const std::optional<InputForm>& form) {
  if (!form) return "nothing";
  if (std::holds_alternative<AbsentInput>(*form)) return "absent";
  if (const auto* fixed = std::get_if<FixedInput>(&*form)) {
    std::string text = "value " + str(shape_of(fixed->value.shape()));
    for (int64_t k = 0; k < fixed->value.count(); ++k) text += fmt::format(" {}", fixed->value.integer_at(k));
    return text;
  }
  if (const auto* shaped = std::get_if<ShapedInput>(&*form)) return "shape " + str(shape_of(shaped->shape));
  std::string text = "sequence";
  if (const auto* sequence = std::get_if<SequenceInput>(&*form))
    for (const auto& shape : sequence->shapes) text += shape ? " " + str(shape_of(*shape)) : " ?";
  return text;
}

// A SequenceProto of two float32 tensors, [2] and [0], as it is serialized.
const std::string two_tensors("\x1a\x0e\x08\x02\x10\x01J\x08\0\0\x80?\0\0\0@\x1a\x06\x08\0\x10\x01J\0", 24);
// OptionalProtos without an element, and with this sequence.
const std::string nothing("\x10\0", 2), some("\x10\x03*\x18" + two_tensors);

struct Folder : TemporaryFolder {
  void write(const std::string& name, const std::string& bytes) const {
    Diagnostics diagnostics;
    REQUIRE(write_file(path() / name, std::as_bytes(std::span(bytes)), diagnostics));
  }
};

}  // namespace

TEST_CASE("the values of --input are parsed or refused") {
  CHECK(text_of(parse_input_form("none")) == "absent");
  CHECK(text_of(parse_input_form("seq:2")) == "sequence ? ?");
  CHECK(text_of(parse_input_form("seq:0")) == "sequence");
  CHECK(text_of(parse_input_form("seq:[2,3],[]")) == "sequence (2, 3) ()");
  CHECK(text_of(parse_input_form("[2,0]")) == "shape (2, 0)");
  CHECK(text_of(parse_input_form("[]")) == "shape ()");
  CHECK(text_of(parse_input_form("value:-5")) == "value () -5");
  CHECK(text_of(parse_input_form("value:[1,2]")) == "value (2) 1 2");
  for (const char* wrong : {"", "x.npy", "seq:", "seq:-1", "seq:x", "seq:[2", "seq:[2],", "seq:[2]3", "seq:[-1]",
                            "seq:[1,]", "value:", "value:1.5", "value:[1", "[2", "[-1]", "[2],[3]"})
    CHECK_MESSAGE(text_of(parse_input_form(wrong)) == "nothing", wrong);
}

TEST_CASE("the length of a sequence, the presence of an optional and a value are taken from data") {
  Folder folder;
  folder.write("input_0.pb", two_tensors);
  folder.write("input_1.pb", nothing);
  folder.write("input_2.pb", some);
  Diagnostics diagnostics;
  const FindInputForm find = forms_of_data_set(folder.path(), diagnostics);
  CHECK(text_of(find({0, "s", ArgumentKind::sequence})) == "sequence (2) (0)");
  CHECK(text_of(find({1, "o", ArgumentKind::optional})) == "absent");
  CHECK(text_of(find({2, "t", ArgumentKind::optional_sequence})) == "sequence (2) (0)");
  CHECK(diagnostics.str().find("input 's' is compiled as a sequence of 2 tensors") != std::string::npos);
  CHECK(!diagnostics.has_errors());
  CHECK(text_of(find({3, "u", ArgumentKind::sequence})) == "nothing");
  CHECK(diagnostics.has_errors());
  CHECK(text_of(find({2, "t", ArgumentKind::optional})) == "nothing");
  CHECK(diagnostics.str().find("an element of another kind than the model declares") != std::string::npos);
  folder.write("input_0.pb", "\xff");
  CHECK(text_of(find({0, "s", ArgumentKind::sequence})) == "nothing");
}

TEST_CASE("data give the value of an input that sizes depend on, and an undeclared shape") {
  Folder folder;
  folder.write("input_0.pb", std::string("\x08\x01\x10\x07J\x08\x05\0\0\0\0\0\0\0", 14));
  Diagnostics diagnostics;
  const FindInputForm find = forms_of_data_set(folder.path(), diagnostics);
  CHECK(text_of(find({0, "n", ArgumentKind::tensor, true})) == "value (1) 5");
  CHECK(text_of(find({0, "n", ArgumentKind::tensor, false})) == "shape (1)");
  CHECK(diagnostics.str().find("input 'n' is compiled as a tensor of shape (1)") != std::string::npos);
}

TEST_CASE("a data set whose sequence has another length than the compiled model is refused") {
  Folder folder;
  folder.write("input_0.pb", two_tensors);
  folder.write("output_0.pb", two_tensors);
  emit::Interface interface;
  for (const char* name : {"s[0]", "s[1]"}) interface.inputs.push_back({name, name, dtype::f32, {2}});
  interface.outputs = interface.inputs;
  const Argument pair{"s", ArgumentKind::sequence, 2};
  Diagnostics diagnostics;
  auto data = read_data_set(folder.path(), interface, {{pair}, {pair}}, diagnostics);
  REQUIRE_MESSAGE(data, diagnostics.str());
  CHECK(data->inputs.size() == 2);
  CHECK(data->outputs.at(0).number_at(1) == 2);
  const Argument triple{"s", ArgumentKind::sequence, 3};
  CHECK_FALSE(read_data_set(folder.path(), interface, {{triple}, {pair}}, diagnostics));
  CHECK(diagnostics.str().find("'s' is a sequence of 2 tensors; the model was compiled for a sequence of 3 tensors") !=
        std::string::npos);
}

TEST_CASE("a data set must have the value of a fixed input, which has no tensor") {
  Folder folder;
  folder.write("input_0.pb", std::string("\x10\x07J\x08\x05\0\0\0\0\0\0\0", 12));
  folder.write("output_0.pb", two_tensors);
  emit::Interface interface;
  for (const char* name : {"s[0]", "s[1]"}) interface.outputs.push_back({name, name, dtype::f32, {2}});
  const Argument pair{"s", ArgumentKind::sequence, 2};
  for (int64_t value : {5, 6}) {
    const Argument fixed{"n", ArgumentKind::tensor, 0, false, Constant::of<int64_t>(dtype::i64, {}, {value})};
    Diagnostics diagnostics;
    auto data = read_data_set(folder.path(), interface, {{fixed}, {pair}}, diagnostics);
    CHECK(data.has_value() == (value == 5));
    if (data) CHECK(data->inputs.empty());
    if (!data)
      CHECK(diagnostics.str().find("'n' is another value; the model was compiled for a fixed one") !=
            std::string::npos);
  }
}
