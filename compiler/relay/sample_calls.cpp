#include "relay/sample_calls.h"

namespace dlcc::relay {
namespace {

constexpr DType all_types[] = {
#define DTYPE(name, bits, kind, ctype, onnx) DType::name##_,
#include "support/dtype.def"
#undef DTYPE
};

const std::vector<int64_t> shapes[] = {{},
                                       {2, 2},
                                       {2},
                                       {1},
                                       {4},
                                       {1, 2, 4, 4},
                                       {1, 2, 4},
                                       {2, 2, 1},
                                       {2, 2, 1, 1},
                                       {1, 2, 4, 4, 4},
                                       {2, 2, 1, 1, 1},
                                       {1, 4},
                                       {1, 5},
                                       {1, 2, 3},
                                       {1, 1, 4, 4},
                                       {1, 4, 4},
                                       {4, 6}};

// The meaning of an operand's elements. Operands beyond the list have its last role.
enum class Role : uint8_t { data, index, condition, real, quantized };
const std::vector<Role> roles[] = {
    {Role::data},
    {Role::data, Role::index},
    {Role::data, Role::real},
    {Role::data, Role::real, Role::data},
    {Role::data, Role::data, Role::quantized},
    {Role::data, Role::real, Role::index, Role::real, Role::index},
    {Role::data, Role::data, Role::index, Role::index, Role::real, Role::real},
    {Role::data, Role::data, Role::real, Role::index, Role::real, Role::index, Role::real, Role::index},
    {Role::data, Role::data, Role::index, Role::real},
    {Role::data, Role::data, Role::index, Role::index, Role::index},
    {Role::index, Role::data},
    {Role::condition, Role::data},
    {Role::data, Role::index, Role::data},
    {Role::data, Role::data, Role::index},
    {Role::data, Role::index, Role::data, Role::index, Role::index, Role::index, Role::data}};

DType type_of(Role role, DType data) {
  switch (role) {
    case Role::index:
      return dtype::i64;
    case Role::condition:
      return dtype::boolean;
    case Role::real:
      return dtype::f32;
    case Role::quantized:
      return dtype::i8;
    default:
      return data;
  }
}

// Values to try for a required attribute; `type` is tried where it names an element type.
std::vector<AttrValue> attribute_values(const Operator::Attribute& attribute, DType type) {
  using List = std::vector<int64_t>;
  std::vector<AttrValue> fitting;
  const AttrValue list_of_pairs = AttrList{List{0, 0}, List{0, 0}};
  for (const AttrValue& v : std::initializer_list<AttrValue>{
           1, 0, 2, 1.0, std::string(name(type)), List{1}, List{2}, List{2, 2}, List{1, 1}, List{1, 1, 1}, List{4},
           List{0}, List{1, 2, 4, 4}, list_of_pairs, std::string("ab->ba"), std::string("HW")}) {
    bool any = std::holds_alternative<std::monostate>(attribute.default_value.v);
    if (any || v.v.index() == attribute.default_value.v.index()) fitting.push_back(v);
  }
  return fitting;
}

// Removes the lowest digit of a number in a mixed radix: a candidate selects one item of each list.
size_t take_digit(size_t& number, size_t radix) {
  size_t digit = number % radix;
  number /= radix;
  return digit;
}

class Search {
 public:
  explicit Search(const Operator& op)
      : op_(op),
        operands_(op.variadic ? std::max<size_t>(2, op.sample_shapes.size()) : op.arguments.size()),
        free_shapes_(std::min<size_t>(operands_, 3)) {}

  std::map<DType, SampleCall> run() {
    std::map<DType, SampleCall> found;
    if (!op_.has_definition()) return found;
    // Shapes and attributes that fit one type fit all others that the operator accepts.
    for (DType type : {dtype::f32, dtype::boolean, dtype::i64, dtype::i8})
      if (find_candidate(type)) break;
    for (DType type : all_types)
      if (auto call = sample(type)) found[type] = std::move(*call);
    return found;
  }

 private:
  bool find_candidate(DType type) {
    if (!op_.sample_shapes.empty()) return sample(type).has_value();
    size_t all = 1;
    for (size_t k = 0; k < free_shapes_; ++k) all *= std::size(shapes);
    for (const Operator::Attribute& a : op_.attributes)
      if (a.required) all *= attribute_values(a, type).size();
    for (candidate_ = 0; candidate_ < all; ++candidate_)
      if (sample(type)) return true;
    return false;
  }

  // The application of the current candidate, if the operator accepts this type in one of the roles.
  std::optional<SampleCall> sample(DType type) const {
    size_t candidate = candidate_;
    SampleCall call{op_.sample_attrs, {}};
    std::vector<const std::vector<int64_t>*> chosen;
    for (const std::vector<int64_t>& shape : op_.sample_shapes) chosen.push_back(&shape);
    while (op_.sample_shapes.empty() && chosen.size() < free_shapes_)
      chosen.push_back(&shapes[take_digit(candidate, std::size(shapes))]);
    for (const Operator::Attribute& a : op_.attributes) {
      if (!a.required || call.attrs.contains(a.name)) continue;
      std::vector<AttrValue> values = attribute_values(a, type);
      call.attrs[a.name] = values[take_digit(candidate, values.size())];
    }
    for (const std::vector<Role>& role : roles) {
      const auto used = role.begin() + static_cast<ptrdiff_t>(std::min(operands_, role.size()));
      if (operands_ > 0 && std::find(role.begin(), used, Role::data) == used) continue;
      call.operands.clear();
      for (size_t k = 0; k < operands_; ++k) {
        Role r = role[std::min(k, role.size() - 1)];
        const DType element = type_of(r, type);
        call.operands.push_back({shape_of(*chosen[std::min(k, chosen.size() - 1)]), element});
      }
      if (std::holds_alternative<Type>(op_.type(call.attrs, call.operands))) return call;
    }
    return std::nullopt;
  }

  const Operator& op_;
  size_t operands_;
  size_t free_shapes_;    // operands after these have the last one's shape
  size_t candidate_ = 0;  // of shapes and attributes
};

}  // namespace

std::map<DType, SampleCall> sample_calls(const Operator& op) { return Search(op).run(); }

}  // namespace dlcc::relay
