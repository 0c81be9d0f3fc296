// Finds the operator of a node in the operator table, and checks the numbers and types of its inputs and outputs.
#include <algorithm>
#include <map>

#include "frontends/onnx/element_types.h"
#include "frontends/onnx/foreign_operators.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/structure.h"
#include "support/similar_names.h"

namespace dlcc::frontends::onnx {

const Row* Importer::find_row(const schema::NodeProto& node, const Body& body, const SourceLocation& location,
                              int64_t& opset) {
  std::string domain = canonical_domain(node.domain());
  auto version = body.opsets.find(domain);
  if (version == body.opsets.end()) {
    diagnostics_.error(DiagnosticId::unsupported_opset, location,
                       domain.empty() ? "the model does not say which operator set it uses"
                                      : fmt::format("the model does not import domain '{}'", domain));
    return nullptr;
  }
  opset = version->second;
  const Row* row = operator_table().find(qualified_name(domain, node.op_type()), opset);
  if (!row) report_unknown_operator(node.op_type(), domain, opset, location);
  return row;
}

// A remedy for an operator that is not supported, in particular those of maps, strings and image files.
static std::string remedy_for(const std::string& op) {
  static constexpr const char* strings =
      "a compiled model computes with numbers: process strings before the model, and export the part after it";
  static const std::map<std::string, const char*> remedies = {
      {"ZipMap",
       "a compiled model has no maps: export the classifier without ZipMap (skl2onnx: options={'zipmap': "
       "False}); the output is then the tensor of probabilities"},
      {"DictVectorizer",
       "a compiled model has no maps: export the part after the vectorizer, and give it a tensor with "
       "one column for each key"},
      {"CastMap", "a compiled model has no maps: export the part after CastMap, and give it the tensor of values"},
      {"ImageDecoder", "decode the image before the model, and export the part after it, whose input is the pixels"},
      {"RegexFullMatch", strings},
      {"StringConcat", strings},
      {"StringNormalizer", strings},
      {"StringSplit", strings}};
  const auto found = remedies.find(op);
  return found == remedies.end() ? "a model-local function can define it" : found->second;
}

// "did you mean 'Gelu'?" for a name that is no operator of the domain; "" if there is no suggestion.
static std::string suggest_in_domain(const std::string& domain, const std::string& op) {
  std::vector<std::string> names;
  for (const std::string& name : operator_table().names())
    if (name.rfind('.') == domain.size() && name.starts_with(domain)) names.push_back(name.substr(domain.size() + 1));
  return did_you_mean(op, names);
}

// "did you mean 'Conv'?" for a name that is no operator of ONNX; "" if there is no suggestion. The name is qualified in
// other domains.
static std::string suggest_operator(const std::string& op) {
  if (const size_t dot = op.rfind('.'); dot != std::string::npos) {
    const std::string domain = op.substr(0, dot), name = op.substr(dot + 1), near = suggest_in_domain(domain, name);
    if (domain == "com.microsoft.nchwc")
      return "onnxruntime has optimized the model for one machine; save it at the level EXTENDED or below";
    const bool is_standard = std::ranges::binary_search(standard_operators(), name);
    return is_standard ? fmt::format("ONNX's default domain has an operator {}", name) : near;
  }
  const auto [meant, rest] = find_foreign_operator(op);
  if (meant.empty()) return did_you_mean(op, standard_operators());
  return fmt::format("did you mean '{}'{}{}?", meant, rest.empty() ? "" : " ", rest);
}

// The suggestion is kept, so that all nodes with the operator have the same remedy.
const std::string& Importer::meant_operator(const std::string& op) {
  constexpr size_t most_names = 1000;  // more than anyone reads
  auto known = meant_operators_.find(op);
  if (known == meant_operators_.end())
    known = meant_operators_.emplace(op, meant_operators_.size() < most_names ? suggest_operator(op) : "").first;
  return known->second;
}

void Importer::report_unknown_operator(const std::string& op, const std::string& domain, int64_t opset,
                                       const SourceLocation& location) {
  auto report = [&](std::string message, std::string help) {
    diagnostics_.error(DiagnosticId::unsupported_operator, location, std::move(message), {}, std::move(help));
  };
  if (!domain.empty()) {
    const std::string name = qualified_name(domain, op), suggestion = meant_operator(name);
    return report(fmt::format("operator {} is not supported", name), suggestion.empty() ? remedy_for(op) : suggestion);
  }
  if (auto first = operator_table().first_version(op))
    return report(fmt::format("operator {} does not exist in operator set {}", op, opset),
                  fmt::format("operator sets from {} have it", *first));
  if (std::ranges::binary_search(standard_operators(), op))
    return report(fmt::format("operator {} is not supported", op), remedy_for(op));
  const std::string suggestion = meant_operator(op);
  report(fmt::format("there is no operator {} in ONNX", op),
         suggestion.empty() ? "a model-local function can define it" : suggestion);
}

// A hint at the first later operator set that allows this number of inputs, or "".
static std::string later_version_with(const Row& row, int inputs) {
  for (const int64_t version : operator_table().versions(row.op))
    if (const int most = operator_table().find(row.op, version)->max_inputs;
        version > row.since && (most == any_number || most >= inputs))
      return fmt::format("; in operator sets from {} it may have {}", version, inputs);
  return "";
}

void Importer::check_counts(Node& n, const Row& row) {
  const std::string moved = n.remedy_for_moved_attribute();
  const std::string help = moved.empty() ? fmt::format("the inputs of {} are: {}", row.op, inputs_text(row)) : moved;
  int given = n.input_count();
  bool missing = given < row.min_inputs;
  for (int k = 0; k < given; ++k)
    missing = missing || (!n.has(k) && (!is_optional_input(row, k) || k >= inputs_before_list(row)));
  if (missing)
    n.fail(DiagnosticId::wrong_arity,
           fmt::format("needs {} input{}, found {}", row.min_inputs, row.min_inputs == 1 ? "" : "s",
                       n.all_inputs().size()),
           help);
  if (row.max_inputs != any_number && given > row.max_inputs)
    n.fail(DiagnosticId::wrong_arity,
           fmt::format("has at most {} input{}, found {}", row.max_inputs, row.max_inputs == 1 ? "" : "s", given),
           help + later_version_with(row, given));
  if (row.max_outputs != any_number && n.output_count() > row.max_outputs)
    n.fail(DiagnosticId::wrong_arity,
           fmt::format("has at most {} outputs, found {}", row.max_outputs, n.output_count()));
}

void Importer::check_structures(Node& n, const Row& row) {
  for (int k = 0; k < n.input_count() && !row.structures; ++k)
    if (n.has(k) && n.in(k).structure)
      n.fail(DiagnosticId::unsupported_type,
             fmt::format("{} must be a tensor of numbers, found {}", n.in(k).role, describe(n.in(k))),
             is_strings(n.in(k))
                 ? "strings are known to label encoders and comparisons only; encode them as numbers before"
                 : "");
}

// The meaning of a type does not depend on the operator set, so the model is compiled; each operator and type is
// reported once.
void Importer::warn_of_later_type(const Node& n, const Row& row, int input, const std::string& what, DType type) {
  const auto since = operator_set_with_type(row.op, input, type);
  if (!since || *since <= n.opset() || !later_types_.insert(fmt::format("{} {}", row.op, name(type))).second) return;
  diagnostics_.warning(
      DiagnosticId::later_type, n.location(),
      fmt::format("{} is {}, which {} may have in operator sets from {}; the model declares {}", what, name(type),
                  row.op, *since, n.opset()),
      {},
      fmt::format("it is compiled as operator set {0} defines it, but other programs may refuse the model: declare "
                  "operator set {0}, or cast to another type before the node",
                  *since));
}

void Importer::warn_of_later_types(const Node& n, const Row& row) {
  for (int k = 0; k < n.input_count(); ++k)
    if (n.has(k) && !n.in(k).structure) warn_of_later_type(n, row, k, n.in(k).role, n.in(k).type.dtype);
}

}  // namespace dlcc::frontends::onnx
