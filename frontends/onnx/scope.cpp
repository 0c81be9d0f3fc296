#include "frontends/onnx/scope.h"

#include <algorithm>

#include "frontends/onnx/structure.h"
#include "frontends/onnx/tensor_decode.h"
#include "support/ascii.h"

namespace dlcc::frontends::onnx {

std::optional<Value> Initializer::strings() const {
  const schema::TensorProto* dense = tensor_ ? tensor_ : shared_;
  return dense ? strings_in(*dense) : std::nullopt;
}

std::optional<Constant> Initializer::decode(const std::shared_ptr<schema::ModelProto>& model, ExternalFiles& files,
                                            const std::string& file, Diagnostics& diagnostics) const {
  auto location = [&](const std::string& name) {
    return SourceLocation{.file = file, .node = fmt::format("initializer '{}'", name)};
  };
  if (sparse_) return decode_sparse_tensor(*sparse_, model, files, location(sparse_->values().name()), diagnostics);
  if (shared_) return decode_tensor(*shared_, model, files, location(shared_->name()), diagnostics);
  auto own = std::make_shared<schema::TensorProto>();
  own->Swap(tensor_);
  return decode_tensor(*own, own, files, location(own->name()), diagnostics);
}

void Scope::add(const std::string& name, Initializer initializer, Diagnostics& diagnostics, const std::string& file) {
  if (!initializers.emplace(name, initializer).second)
    diagnostics.error(DiagnosticId::duplicate_definition, {.file = file, .node = fmt::format("initializer '{}'", name)},
                      "another initializer has this name");
}

void Scope::add_initializers(schema::GraphProto& graph, Diagnostics& diagnostics, const std::string& file) {
  for (auto& t : *graph.mutable_initializer()) add(t.name(), Initializer(&t), diagnostics, file);
  for (const auto& t : graph.sparse_initializer()) add(t.values().name(), Initializer(&t), diagnostics, file);
}

void Scope::add_initializers(const schema::GraphProto& graph, Diagnostics& diagnostics, const std::string& file) {
  for (const auto& t : graph.initializer()) add(t.name(), Initializer(&t), diagnostics, file);
  for (const auto& t : graph.sparse_initializer()) add(t.values().name(), Initializer(&t), diagnostics, file);
}

void Scope::add_declarations(const schema::GraphProto& graph) {
  for (const auto* list : {&graph.value_info(), &graph.output()})
    for (const schema::ValueInfoProto& info : *list)
      if (info.has_type()) declared.emplace(info.name(), &info.type());
}

void Scope::propagate_declarations(const NodeList& nodes,
                                   const std::function<bool(const schema::NodeProto&)>& keeps_shape) {
  for (int k = nodes.size(); k-- > 0;) {
    const schema::NodeProto& node = nodes[k];
    auto result = node.output_size() > 0 ? declared.find(node.output(0)) : declared.end();
    if (result != declared.end() && node.input_size() > 0 && keeps_shape(node))
      declared.emplace(node.input(0), result->second);
  }
}

// The names that the types of a graph's values have for dimensions.
static std::set<std::string> dimension_names(const schema::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto* list : {&graph.input(), &graph.value_info(), &graph.output()})
    for (const schema::ValueInfoProto& info : *list)
      for (const auto& dim : info.type().tensor_type().shape().dim()) names.insert(dim.dim_param());
  return names;
}

DeclaredTypes::DeclaredTypes(const std::map<std::string, SizeRange>& ranges, const schema::GraphProto& graph,
                             std::string file, Diagnostics& diagnostics)
    : ranges_(ranges), declared_(dimension_names(graph)), file_(std::move(file)), diagnostics_(diagnostics) {}

// "?" if no input has a dimension of this name.
Dim DeclaredTypes::size_named(const std::string& name) const {
  if (auto range = ranges_.find(name); range != ranges_.end() && range->second.is_number()) return range->second.low;
  auto dim = dims_.find(name);
  return dim == dims_.end() ? relay::unknown_dim() : dim->second.size();
}

Dim DeclaredTypes::size_of_input(const std::string& name) {
  if (std::ranges::count(names_, name) == 0) names_.push_back(name);
  auto given = ranges_.find(name);
  const SizeRange range = given == ranges_.end() ? SizeRange() : given->second;
  if (range.is_number() || dims_.contains(name)) return size_named(name);
  return dims_.emplace(name, input_dim(name, range, taken_names())).first->second.size();
}

// The names that no further dimension and no further symbol may have.
std::set<std::string> DeclaredTypes::taken_names() const {
  std::set<std::string> taken = declared_;
  taken.insert(names_.begin(), names_.end());
  for (const auto& [name, dim] : dims_) taken.insert(dim.symbol.name);
  return taken;
}

// `wanted`, followed by underscores if it is taken. Requests with equal keys get the same name.
const std::string& DeclaredTypes::new_name(const std::string& key, const std::string& wanted) {
  auto [known, is_new] = new_names_.emplace(key, wanted);
  if (is_new)
    for (const std::set<std::string> taken = taken_names(); taken.contains(known->second);) known->second += '_';
  return known->second;
}

const Value* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope; scope = scope->outer)
    if (const auto value = scope->values.find(name); value != scope->values.end()) return &value->second;
  return nullptr;
}

bool Scope::is_left_out(const std::string& name) const {
  if (left_out.contains(name)) return true;
  return outer && !values.contains(name) && !initializers.contains(name) && outer->is_left_out(name);
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> names;
  for (const Scope* scope = this; scope; scope = scope->outer) {
    for (const auto& [name, value] : scope->values) names.push_back(name);
    for (const auto& [name, initializer] : scope->initializers) names.push_back(name);
  }
  return names;
}

std::vector<InputDim> DeclaredTypes::dims() const {
  std::vector<InputDim> list;
  for (const std::string& name : names_)
    if (auto dim = dims_.find(name); dim != dims_.end()) list.push_back(dim->second);
  return list;
}

std::optional<relay::TensorType> DeclaredTypes::of_input(const schema::TypeProto::Tensor& tensor,
                                                         const std::string& input, const SourceLocation& location) {
  return of_tensor(tensor, input, "", location);
}

std::optional<relay::TensorType> DeclaredTypes::of_element(const schema::TypeProto::Tensor& tensor,
                                                           const std::string& input, size_t element,
                                                           const std::optional<std::vector<int64_t>>& sizes,
                                                           const SourceLocation& location) {
  if (tensor.has_shape() || !sizes) return of_tensor(tensor, input, fmt::format("_{}", element), location);
  auto dtype = checked_type(tensor.elem_type(), location, diagnostics_);
  if (!dtype || !checked_count(*sizes, *dtype, location, diagnostics_)) return std::nullopt;
  return relay::TensorType{shape_of(*sizes), *dtype};
}

// The type of a tensor; `suffix` is appended to the names of its dimensions.
std::optional<relay::TensorType> DeclaredTypes::of_tensor(const schema::TypeProto::Tensor& tensor,
                                                          const std::string& input, const std::string& suffix,
                                                          const SourceLocation& location) {
  auto dtype = checked_type(tensor.elem_type(), location, diagnostics_);
  if (!tensor.has_shape())
    diagnostics_.error(
        DiagnosticId::cannot_infer, location, "the input's shape is not declared, not even its rank", {},
        suffix.empty()
            ? fmt::format("declare it in the model, or give it: --input '{}=[2,3]'", input)
            : fmt::format("declare it in the model, or give the shapes of its tensors: --input '{}=seq:[2,3],[4,3]'",
                          input));
  if (!dtype || !tensor.has_shape()) return std::nullopt;
  Shape shape;
  std::vector<int64_t> known;
  for (int k = 0; k < tensor.shape().dim_size(); ++k) {
    const auto& dim = tensor.shape().dim(k);
    if (has_size(dim)) {
      shape.push_back(dim.dim_value());
    } else {
      std::string name = dim.dim_param();
      if (std::ranges::none_of(name, is_alphanumeric))  // some exporters write "?"
        name = new_name(fmt::format("{}{}, axis {}", input, suffix, k), fmt::format("{}{}_{}", input, suffix, k));
      else if (!suffix.empty() && !size_named(name).is_constant())
        name = new_name(fmt::format("{}, element{}", name, suffix), name + suffix);
      shape.push_back(size_of_input(name));
    }
    if (shape.back().is_constant()) known.push_back(shape.back().value());
  }
  if (!checked_count(known, *dtype, location, diagnostics_)) return std::nullopt;
  return relay::TensorType{std::move(shape), *dtype};
}

Declaration DeclaredTypes::of_value(const schema::TypeProto& type) const {
  Declaration declaration;
  if (!type.has_tensor_type()) return declaration;
  declaration.dtype = dtype_of_onnx(type.tensor_type().elem_type());
  if (!type.tensor_type().has_shape()) return declaration;
  Shape& shape = declaration.shape.emplace();
  for (const auto& dim : type.tensor_type().shape().dim()) {
    const bool says_size = dim.has_dim_value() && dim.dim_value() >= 0;
    shape.push_back(says_size ? Dim(dim.dim_value()) : size_named(dim.dim_param()));
  }
  return declaration;
}

std::optional<Shape> DeclaredTypes::declared_shape(const Scope& scope, const std::string& name) const {
  auto declared = scope.declared.find(name);
  return declared == scope.declared.end() ? std::nullopt : of_value(*declared->second).shape;
}

}  // namespace dlcc::frontends::onnx
