#include "relay/operator_spec.h"

#include <algorithm>

#include "relay/ir.h"

namespace dlcc::relay {

namespace {

AttrValue value_of(const detail::ErasedField& field, void* object) { return field.type->value(field.address(object)); }

// The functions of an operator, which read the attributes of a call into an object of the operator's struct.
class Functions {
 public:
  explicit Functions(detail::ErasedSpec spec) : spec_(std::move(spec)) {}

  std::variant<std::shared_ptr<const void>, TypeError> parse(const Attrs& attrs, bool values_given) const {
    std::shared_ptr<void> object = spec_.copy(spec_.defaults.get());
    std::vector<detail::AttrSlot> slots;
    for (const detail::ErasedField& f : spec_.fields) {
      const bool is_operand = values_given && std::ranges::count(spec_.op.values, f.name) > 0;
      slots.push_back({f.name, f.required && !is_operand, f.type, f.address(object.get()), is_operand});
    }
    if (auto error = detail::read_attrs(slots, attrs)) return std::move(*error);
    return object;
  }
  Attrs canonical(const Attrs& attrs, bool values_given) const {
    const std::shared_ptr<void> object = spec_.copy(read(attrs, values_given).get());
    Attrs result;
    for (const detail::ErasedField& f : spec_.fields) {
      if (!attrs.contains(std::string(f.name))) continue;
      AttrValue value = value_of(f, object.get());
      if (f.required || !(value == value_of(f, spec_.defaults.get()))) result.emplace(f.name, std::move(value));
    }
    return result;
  }
  std::shared_ptr<const void> read(const Attrs& attrs, bool values_given = false) const {
    auto object = parse(attrs, values_given);
    const auto* error = std::get_if<TypeError>(&object);
    DLCC_CHECK(!error, "{}", error ? error->message : "");
    return std::get<0>(std::move(object));
  }
  std::shared_ptr<const void> read(const Attrs& attrs, const Operands& in) const { return read(attrs, given(in)); }

  TypeResult type(const Attrs& attrs, const Operands& in) const {
    auto object = parse(attrs, given(in));
    if (auto* error = std::get_if<TypeError>(&object)) return std::move(*error);
    return spec_.type(std::get<0>(object).get(), in);
  }

  tensor::TensorFunction compute(const Attrs& attrs, const Operands& in) const {
    if (spec_.compute_as) return compute_as(attrs, in, std::get<Type>(type(attrs, in)));
    return spec_.compute(read(attrs).get(), in);
  }
  tensor::TensorFunction compute_as(const Attrs& attrs, const Operands& in, const Type& result) const {
    if (!spec_.compute_as) return compute(attrs, in);
    const TupleType* results = as<TupleType>(result);
    return spec_.compute_as(read(attrs, in).get(), in, as<TensorType>(results ? results->fields[0] : result)->shape);
  }

  tensor::TensorFunction define_sizes(const Attrs& attrs, const Operands& in, const std::vector<size_t>& axes) const {
    const size_t first = spec_.op.first_size_operand();
    tensor::Definition d(spec_.op.short_name() + "_sizes");
    std::vector<Tensor> values;
    for (size_t k = first; k < in.size(); ++k)
      values.push_back(d.input(fmt::format("p{}", k - first), in[k].dtype, in[k].shape));
    const std::vector<Expr> all = spec_.sizes(read(attrs, in).get(), in, values, d);
    std::vector<Expr> sizes;
    for (const size_t axis : axes) sizes.push_back(all.at(axis));
    d.result("sizes", dtype::i64, {static_cast<int64_t>(sizes.size())},
             [&](tensor::Index i) { return tensor::element_at(sizes, i[0]); });
    return d.finish();
  }

  const detail::ErasedSpec& spec() const { return spec_; }

 private:
  bool given(const Operands& in) const { return !spec_.op.values.empty() && in.size() > spec_.op.arguments.size(); }

  const detail::ErasedSpec spec_;
};

}  // namespace

Names::Names(std::initializer_list<const char*> names) : vector(names.begin(), names.end()) {}

void OperatorTable::add_erased(detail::ErasedSpec spec) {
  const auto f = std::make_shared<const Functions>(std::move(spec));
  const detail::ErasedSpec& s = f->spec();
  Operator op = s.op;
  for (const detail::ErasedField& field : s.fields)
    op.attributes.push_back(
        {field.name, field.type->text, field.doc, value_of(field, s.defaults.get()), field.required});
  op.read = [f](const Attrs& attrs) { return f->read(attrs); };
  op.canonical = [f](const Attrs& attrs, bool values_given) { return f->canonical(attrs, values_given); };
  op.type = [f](const Attrs& attrs, const Operands& in) { return f->type(attrs, in); };
  if (s.compute || s.compute_as) {
    op.compute = [f](const Attrs& attrs, const Operands& in) { return f->compute(attrs, in); };
    op.compute_as = [f](const Attrs& attrs, const Operands& in, const Type& result) {
      return f->compute_as(attrs, in, result);
    };
  }
  if (s.positive_sizes)
    op.positive_sizes = [f](const Attrs& attrs, const Operands& in) {
      return f->spec().positive_sizes(f->read(attrs, in).get(), in);
    };
  if (s.largest_sizes)
    op.largest_sizes = [f](const Attrs& attrs, const Operands& in) {
      return f->spec().largest_sizes(f->read(attrs, in).get(), in);
    };
  if (s.sizes)
    op.sizes = [f](const Attrs& attrs, const Operands& in, const std::vector<size_t>& axes) {
      return f->define_sizes(attrs, in, axes);
    };
  if (s.gradient)
    op.gradient = [f](const Attrs& attrs, bool values_given, CallGradient& g) {
      f->spec().gradient(f->read(attrs, values_given).get(), g);
    };
  const std::string name = op.name;
  const bool inserted = operators_.emplace(name, std::make_unique<const Operator>(std::move(op))).second;
  DLCC_CHECK(inserted, "operator {} is defined twice", name);
}

}  // namespace dlcc::relay
