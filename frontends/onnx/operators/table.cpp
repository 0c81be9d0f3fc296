#include "frontends/onnx/operators/table.h"

#include <iterator>
#include <sstream>

namespace dlcc::frontends::onnx {

void Table::add(std::vector<Row> rows) {
  for (Row& row : rows) {
    std::string op = row.op;
    bool inserted = rows_[op].emplace(row.since, std::move(row)).second;
    DLCC_CHECK(inserted, "{} has two rows for one version", op);
  }
}

void Table::add_with_structures(std::vector<Row> rows) {
  for (Row& row : rows) row.structures = true;
  add(std::move(rows));
}

void Table::only_if(const std::string& op, std::string condition) {
  DLCC_CHECK(rows_.contains(op), "{} has a condition but no row", op);
  DLCC_CHECK(conditions_.emplace(op, std::move(condition)).second, "{} has two conditions", op);
}

const std::string& Table::only_if(const std::string& op) const {
  static const std::string none;
  const auto found = conditions_.find(op);
  return found == conditions_.end() ? none : found->second;
}

const Row* Table::find(const std::string& op, int64_t opset) const {
  auto versions = rows_.find(op);
  if (versions == rows_.end()) return nullptr;
  auto after = versions->second.upper_bound(opset);
  return after == versions->second.begin() ? nullptr : &std::prev(after)->second;
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> result;
  for (const auto& [name, versions] : rows_) result.push_back(name);
  return result;
}

std::vector<int64_t> Table::versions(const std::string& op) const {
  std::vector<int64_t> result;
  for (const auto& [since, row] : rows_.at(op)) result.push_back(since);
  return result;
}

std::optional<int64_t> Table::first_version(const std::string& op) const {
  auto versions = rows_.find(op);
  return versions == rows_.end() ? std::nullopt : std::optional(versions->second.begin()->first);
}

const Table& operator_table() {
  static const Table table = [] {
    Table t;
    add_elementwise(t);
    add_activation_functions(t);
    add_bits(t);
    add_positions(t);
    add_statistics(t);
    add_losses(t);
    add_optimizers(t);
    add_gradient(t);
    add_random(t);
    add_windows(t);
    add_conv_transpose(t);
    add_resize(t);
    add_sampling(t);
    add_rearrangement(t);
    add_einsum(t);
    add_quantization(t);
    add_attention(t);
    add_sequence_layers(t);
    add_dft(t);
    add_microsoft(t);
    add_microsoft_quantized(t);
    add_microsoft_transformers(t);
    add_microsoft_attention(t);
    add_microsoft_group_query_attention(t);
    add_microsoft_weights(t);
    add_microsoft_diffusion(t);
    add_normalization(t);
    add_products(t);
    add_shapes(t);
    add_movement(t);
    add_reductions(t);
    add_constants(t);
    add_control_flow(t);
    add_loop(t);
    add_scan(t);
    add_recurrent(t);
    add_scatter(t);
    add_selection(t);
    add_sequences(t);
    add_optionals(t);
    add_strings(t);
    add_ml_trees(t);
    add_ml_features(t);
    add_ml_labels(t);
    add_ml_linear(t);
    add_ml_svm(t);
    add_ngrams(t);
    return t;
  }();
  return table;
}

std::string qualified_name(const std::string& domain, const std::string& op) {
  return domain.empty() ? op : domain + "." + op;
}

// The names in the row, each with '?' at its end if the row has it.
static std::vector<std::string> marked_names(const Row& row) {
  std::istringstream names(row.inputs);
  return {std::istream_iterator<std::string>(names), {}};
}

std::vector<std::string> input_names(const Row& row) {
  std::vector<std::string> names = marked_names(row);
  for (std::string& name : names)
    if (name.ends_with('?')) name.pop_back();
  return names;
}

bool is_optional_input(const Row& row, int input) {
  const std::vector<std::string> names = marked_names(row);
  const auto k = static_cast<size_t>(input);
  return input >= row.min_inputs || (k < names.size() && names[k].ends_with('?'));
}

int inputs_before_list(const Row& row) {
  return row.max_inputs == any_number ? static_cast<int>(input_names(row).size()) - 1 : row.max_inputs;
}

std::string input_name(const Row& row, int input) {
  const std::vector<std::string> names = input_names(row);
  const int single = inputs_before_list(row);
  if (row.max_inputs == any_number && input >= single) return fmt::format("{}[{}]", names.back(), input - single);
  return input < static_cast<int>(names.size()) ? names[static_cast<size_t>(input)] : "";
}

std::string inputs_text(const Row& row) {
  const std::vector<std::string> names = input_names(row);
  std::string text;
  for (int k = 0; k < static_cast<int>(names.size()); ++k) {
    const bool is_list = row.max_inputs == any_number && k == inputs_before_list(row);
    text += (k == 0 ? "" : " ") + names[static_cast<size_t>(k)] +
            (is_list                     ? "..."
             : is_optional_input(row, k) ? "?"
                                         : "");
  }
  return text;
}

Converter direct(const char* relay_op) {
  return [relay_op](Node& n) -> Values {
    n.ignore("consumed_inputs");  // an optimization hint of operator set 1
    return {n.call(relay_op, n.all_inputs())};
  };
}

// The smallest type that holds every value of a type of less than 8 bits.
static DType widened(DType type) { return is_float(type) ? dtype::f16 : is_signed(type) ? dtype::i8 : dtype::u8; }

Converter moving(Converter convert) {
  return [convert = std::move(convert)](Node& n) -> Values {
    const DType narrow = n.has(0) ? n.in(0).type.dtype : dtype::i8;
    if (bits(narrow) >= 8) return convert(n);
    const DType wide = widened(narrow);
    for (std::optional<Value>& input : n.context().inputs)
      if (input && !input->structure && input->type.dtype == narrow) {
        Value widened = n.cast(*input, wide);
        widened.role = input->role;
        input = std::move(widened);
      }
    Values results = convert(n);
    for (size_t k = 0; k < results.size() && !n.failed(); ++k)
      results[k] = n.cast(n.with_declared_sizes(results[k], n.declared_shape(k)), narrow);
    return results;
  };
}

Converter bools_as(DType type, Converter convert) {
  return [type, convert = std::move(convert)](Node& n) -> Values {
    if (!n.has(0) || !is_bool(n.in(0).type.dtype)) return convert(n);
    for (std::optional<Value>& input : n.context().inputs)
      if (input && !input->structure && is_bool(input->type.dtype)) {
        Value number = n.cast(*input, type);
        number.role = input->role;
        input = std::move(number);
      }
    Values results = convert(n);
    if (!results.empty()) results[0] = n.cast(n.with_declared_sizes(results[0]), dtype::boolean);
    return results;
  };
}

ListArgument list_attribute(Node& n, const char* name) {
  auto list = n.integers(name);  // nothing if the attribute has another type, which is reported
  return {list.has_value(), list};
}

ListArgument list_input(Node& n, int input) {
  if (!n.has(input)) return {};
  return {true, n.integers_in(input)};
}

}  // namespace dlcc::frontends::onnx
