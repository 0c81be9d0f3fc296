#include "mutate_model.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frontends/frontend.h"

namespace dlcc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

class ModelMutator {
 public:
  ModelMutator(Message& model, std::mt19937& random) : random_(random) { collect(model); }

  void mutate() {
    if (fields_.empty()) return;
    const SetField set_field = any_of(fields_);
    const Reflection& access = *set_field.message->GetReflection();
    if (!set_field.field->is_repeated())
      change(set_field, -1);
    else if (draw(2))
      change(set_field, static_cast<int>(draw(access.FieldSize(*set_field.message, set_field.field))));
    else
      rearrange(set_field);
  }

 private:
  // A field that is set.
  struct SetField {
    Message* message;
    const FieldDescriptor* field;
  };

  size_t draw(size_t n) { return random_() % n; }
  template <typename T>
  const T& any_of(const std::vector<T>& list) {
    return list[draw(list.size())];
  }

  void collect(Message& message) {
    const Reflection& access = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    access.ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      fields_.push_back({&message, field});
      const bool is_text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      const int count = field->is_repeated() ? access.FieldSize(message, field) : 1;
      for (int k = 0; k < count && is_text; ++k)
        texts_[field->name()].push_back(field->is_repeated() ? access.GetRepeatedString(message, field, k)
                                                             : access.GetString(message, field));
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
      for (int k = 0; k < count; ++k)
        collect(field->is_repeated() ? *access.MutableRepeatedMessage(&message, field, k)
                                     : *access.MutableMessage(&message, field));
    }
  }

  int64_t number_near(int64_t v) {
    const auto u = static_cast<uint64_t>(v);  // its sums wrap around
    const std::vector<uint64_t> candidates = {0,
                                              1,
                                              UINT64_MAX,
                                              2,
                                              3,
                                              4,
                                              8,
                                              17,
                                              u + 1,
                                              u - 1,
                                              0 - u,
                                              2 * u,
                                              1u << 31,
                                              uint64_t{1} << 62,
                                              uint64_t{1} << 63,
                                              INT64_MAX};
    return static_cast<int64_t>(any_of(candidates));
  }
  double number_near(double v) {
    const std::vector<double> candidates = {
        0, -0.0, 1, -1, 0.5, 2 * v, -v, 1e-30, 1e30, std::nan(""), std::numeric_limits<double>::infinity()};
    return any_of(candidates);
  }
  std::string text_near(const FieldDescriptor* field, std::string text) {
    if (field->name() == "op_type" && draw(4)) {
      static const std::vector<frontends::OnnxOperator> operators = frontends::onnx_operators();
      return any_of(operators).name;
    }
    // The text of such a field elsewhere, or of an input or output: an output may get the name of an input.
    const std::string source = draw(3) ? field->name() : draw(2) ? "input" : "output";
    if (field->type() != FieldDescriptor::TYPE_BYTES && texts_.contains(source)) return any_of(texts_[source]);
    if (text.empty() || draw(8) == 0) return draw(2) ? "" : "x";
    if (draw(4) == 0) text.resize(draw(2 * text.size()));
    if (!text.empty()) text[draw(text.size())] = static_cast<char>(random_());
    return text;
  }

  // Another value for the field, or for element k of a list.
  void change(const SetField& set_field, int k) {
    Message& m = *set_field.message;
    const FieldDescriptor* f = set_field.field;
    const Reflection& a = *m.GetReflection();
    const bool single = k < 0;
    switch (f->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32: {
        const auto v =
            static_cast<int32_t>(number_near(int64_t{single ? a.GetInt32(m, f) : a.GetRepeatedInt32(m, f, k)}));
        return single ? a.SetInt32(&m, f, v) : a.SetRepeatedInt32(&m, f, k, v);
      }
      case FieldDescriptor::CPPTYPE_INT64: {
        const int64_t v = number_near(single ? a.GetInt64(m, f) : a.GetRepeatedInt64(m, f, k));
        return single ? a.SetInt64(&m, f, v) : a.SetRepeatedInt64(&m, f, k, v);
      }
      case FieldDescriptor::CPPTYPE_FLOAT: {
        const auto v = static_cast<float>(number_near(double{single ? a.GetFloat(m, f) : a.GetRepeatedFloat(m, f, k)}));
        return single ? a.SetFloat(&m, f, v) : a.SetRepeatedFloat(&m, f, k, v);
      }
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        const double v = number_near(single ? a.GetDouble(m, f) : a.GetRepeatedDouble(m, f, k));
        return single ? a.SetDouble(&m, f, v) : a.SetRepeatedDouble(&m, f, k, v);
      }
      case FieldDescriptor::CPPTYPE_ENUM:
        return single ? a.SetEnumValue(&m, f, static_cast<int>(draw(16))) : void();
      case FieldDescriptor::CPPTYPE_STRING: {
        std::string v = text_near(f, single ? a.GetString(m, f) : a.GetRepeatedString(m, f, k));
        return single ? a.SetString(&m, f, std::move(v)) : a.SetRepeatedString(&m, f, k, std::move(v));
      }
      default:  // a message is removed or stays: its fields are chosen on their own
        return single && draw(4) == 0 ? a.ClearField(&m, f) : void();
    }
  }

  // Removes, repeats or moves an element of a list.
  void rearrange(const SetField& set_field) {
    Message& m = *set_field.message;
    const FieldDescriptor* f = set_field.field;
    const Reflection& a = *m.GetReflection();
    const auto count = static_cast<size_t>(a.FieldSize(m, f));
    const auto from = static_cast<int>(draw(count)), last = static_cast<int>(count - 1);
    switch (draw(3)) {
      case 0:
        a.SwapElements(&m, f, from, last);
        return a.RemoveLast(&m, f);
      case 1:
        if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          const Message& original = a.GetRepeatedMessage(m, f, from);
          const std::unique_ptr<Message> copy(original.New());
          copy->CopyFrom(original);  // the list may move when it grows
          a.AddMessage(&m, f)->CopyFrom(*copy);
        } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
          a.AddString(&m, f, a.GetRepeatedString(m, f, from));
        } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
          a.AddInt64(&m, f, a.GetRepeatedInt64(m, f, from));
        }
        return;
      default:
        return a.SwapElements(&m, f, from, static_cast<int>(draw(count)));
    }
  }

  std::mt19937& random_;
  std::vector<SetField> fields_;
  std::map<std::string, std::vector<std::string>> texts_;  // by name of their field
};

}  // namespace

void mutate(frontends::onnx::schema::ModelProto& model, std::mt19937& random) { ModelMutator(model, random).mutate(); }

}  // namespace dlcc
