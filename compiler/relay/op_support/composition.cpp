// Calls of operators within the definition of another one.
#include "relay/op_support/composition.h"

#include "relay/call_gradient.h"
#include "support/scalar_constant.h"

namespace dlcc::relay::ops {

namespace {

struct Rejected {  // thrown to leave a composition
  TypeError error;
};

// The definition of a composition's own stage; `define` declares its only result.
TensorFunction define_stage(const Operands& operands,
                            const std::function<void(Definition&, const std::vector<Tensor>&)>& define) {
  Definition d("stage");
  std::vector<Tensor> tensors;
  for (const Operand& o : operands) tensors.push_back(d.input(fmt::format("p{}", tensors.size()), o.dtype, o.shape));
  define(d, tensors);
  return d.finish();
}

}  // namespace

Operands Composition::Part::operands() const {
  Operands types;
  for (const Value& v : args) types.emplace_back(v.type);
  return types;
}

std::vector<Value> Composition::call_all(const std::string& name, const std::vector<Value>& args, const Attrs& attrs) {
  return add_call(*op(name), args, attrs, nullptr);
}

Value Composition::call_as(const std::string& name, const std::vector<Value>& args, const Attrs& attrs,
                           const Shape& shape) {
  Shape known = shape;
  for (size_t k = 0; result_ && k < known.size(); ++k)
    if (known[k] == unknown_dim()) known[k] = result_->at(k);
  return add_call(*op(name), args, attrs, &known).at(0);
}

std::vector<Value> Composition::add_call(const Operator& callee, const std::vector<Value>& args, const Attrs& attrs,
                                         const Shape* shape) {
  Part part{.args = args, .define = {}, .positive_sizes = {}};
  if (!shape) {
    part.callee = &callee;
    part.attrs = attrs;
  }
  TypeResult typed = callee.type(attrs, part.operands());
  if (auto* error = std::get_if<TypeError>(&typed)) fail(std::move(*error));
  Type result = std::get<Type>(typed);
  if (shape) result = with_shape(*as<TensorType>(result), *shape);
  part.define = [&callee, attrs, result](const Operands& in) { return callee.compute_as(attrs, in, result); };
  if (callee.positive_sizes)
    part.positive_sizes = [&callee, attrs](const Operands& in) { return callee.positive_sizes(attrs, in); };
  std::vector<Value> values;
  for_each_field(result, [&](const Type& field) {
    values.push_back({{static_cast<int>(parts_.size()), static_cast<int>(values.size())}, *as<TensorType>(field)});
  });
  parts_.push_back(std::move(part));
  return values;
}

Value Composition::call(const std::string& name, const std::vector<Value>& args, const Attrs& attrs) {
  return call_all(name, args, attrs).at(0);
}

Value Composition::add(Part part, const TensorType& result) {
  const TypeResult checked = tensor_result(result.shape, result.dtype);
  if (auto* error = std::get_if<TypeError>(&checked)) fail(*error);
  parts_.push_back(std::move(part));
  return {{static_cast<int>(parts_.size()) - 1, 0}, result};
}

Value Composition::compute(DType type, const Shape& shape, const std::vector<Value>& args, const Elements& elements) {
  auto define = [=](const Operands& in) {
    return define_stage(in, [&](Definition& d, const std::vector<Tensor>& tensors) {
      d.result("result", type, shape, [&](Index i) { return elements(tensors, i); });
    });
  };
  return add({args, define, {}}, {shape, type});
}

Value Composition::reduce(DType type, const Shape& shape, const tensor::Reducer& reducer, const Shape& extents,
                          const std::vector<Value>& args, const Terms& terms) {
  auto define = [=](const Operands& in) {
    return define_stage(in, [&](Definition& d, const std::vector<Tensor>& tensors) {
      d.reduce_result("result", type, shape, reducer, extents, [&](Index i, Index r) { return terms(tensors, i, r); });
    });
  };
  return add({args, define, {}}, {shape, type});
}

Value Composition::sum(DType type, const Shape& shape, const Shape& extents, const std::vector<Value>& args,
                       const Terms& terms) {
  return reduce(type, shape, tensor::sum_of(tensor::compute_type(type)), extents, args, terms);
}

Value Composition::number(DType type, double value) {
  const Value result = compute(type, {}, {}, [=](const std::vector<Tensor>&, Index) {
    return relay::number(tensor::compute_type(type), value);
  });
  parts_.back().number = scalar_constant(type, value);
  return result;
}

Value Composition::cast(const Value& value, DType type) {
  return value.dtype() == type ? value : call("cast", {value}, {{"dtype", std::string(name(type))}});
}

Value Composition::reshape(const Value& value, const Shape& shape) {
  if (value.shape() == shape) return value;
  return call("reshape", {value}, {{"newshape", sizes_attribute(shape)}, {"allowzero", true}});
}

Value Composition::transpose(const Value& value, const std::vector<int64_t>& axes) {
  return call("transpose", {value}, {{"axes", axes}});
}

void Composition::require(const Failure& failure) const {
  if (failure) fail(*failure);
}

void Composition::fail(TypeError error) const { throw Rejected{std::move(error)}; }

Composition::Functions Composition::functions(const std::string& name, const Calls& calls) {
  auto type = [calls](const void* attrs, const Operands& operands) -> TypeResult {
    try {
      Composition c(operands);
      std::vector<Type> types;
      for (const Value& v : calls(attrs, c)) types.push_back(tensor_type(v.type.shape, v.type.dtype));
      return types.size() == 1 ? types[0] : tuple_type(std::move(types));
    } catch (Rejected& rejected) {
      return std::move(rejected.error);
    }
  };
  auto compute = [name, calls](const void* attrs, const Operands& operands, const Shape& result) {
    Composition c(operands, &result);
    const std::vector<Value> results = calls(attrs, c);
    return c.definition(name, results);
  };
  auto positive_sizes = [calls](const void* attrs, const Operands& operands) {
    Composition c(operands);
    calls(attrs, c);
    return c.positive_sizes();
  };
  auto gradient = [calls](const void* attrs, CallGradient& g) {
    Operands operands;
    for (const CallGradient::Slot& slot : g.operands()) operands.emplace_back(slot.type);
    Composition c(operands);
    const std::vector<Value> results = calls(attrs, c);
    c.add_gradient(g, results);
  };
  return {type, compute, positive_sizes, gradient};
}

TensorFunction Composition::definition(const std::string& name, const std::vector<Value>& values) {
  std::vector<tensor::Source> results;
  auto copied = [](const std::vector<Tensor>& args, Index i) { return stored(args[0], i); };
  for (const Value& v : values)  // a result is computed by a stage
    results.push_back(v.source.part < 0 ? compute(v.dtype(), v.shape(), {v}, copied).source : v.source);
  std::vector<tensor::Buffer> params;
  for (const Operand& o : operands_)
    params.push_back(tensor::make_buffer(fmt::format("p{}", params.size()), o.dtype, o.shape));
  std::vector<tensor::Part> parts;
  for (const Part& part : parts_) {
    tensor::Part& composed = parts.emplace_back(part.define(part.operands()));
    for (const Value& v : part.args) composed.operands.push_back(v.source);
  }
  tensor::TensorFunction f = tensor::compose(name, std::move(params), std::move(parts), results);
  tensor::inline_stages(f);
  return f;
}

std::vector<Dim> Composition::positive_sizes() const {
  std::vector<Dim> sizes;
  for (const Part& part : parts_) {
    if (!part.positive_sizes) continue;
    const std::vector<Dim> more = part.positive_sizes(part.operands());
    sizes.insert(sizes.end(), more.begin(), more.end());
  }
  return sizes;
}

void Composition::add_gradient(CallGradient& g, const std::vector<Value>& results) const {
  g.add_through([&] {
    std::vector<std::vector<Term>> values;
    auto terms = [&](const std::vector<Value>& list) {
      std::vector<Term> found;
      for (const Value& v : list) {
        const auto result = static_cast<size_t>(v.source.index);
        found.push_back(v.source.part < 0 ? g.operand(result) : values[static_cast<size_t>(v.source.part)][result]);
      }
      return found;
    };
    for (const Part& part : parts_) {
      if (part.number)
        values.push_back({g.code().term(*part.number)});
      else if (part.callee)
        values.push_back(g.code().call_all(*part.callee, terms(part.args), part.attrs));
      else
        g.refuse("a step of it has no rule");
    }
    return terms(results);
  });
}

}  // namespace dlcc::relay::ops
