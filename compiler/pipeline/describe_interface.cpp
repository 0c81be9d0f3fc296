#include "pipeline/describe_interface.h"

#include <algorithm>

#include "lower/steps.h"
#include "relay/input_dims.h"
#include "support/ascii.h"
#include "support/version.h"
#include "tensor/visit.h"

namespace dlcc {
namespace {

std::string stem_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

// Appends the tensor types of a type, tuples flattened.
void append_tensor_types(const relay::Type& type, std::vector<const relay::TensorType*>& list) {
  relay::for_each_field(type, [&](const relay::Type& field) {
    if (const auto* tensor = relay::as<relay::TensorType>(field)) list.push_back(tensor);
  });
}

// Tensors with the names of the model, else with `unnamed` and their index. No identifier is in `taken`. A size that is
// negative, so that every run ends with a status, is 0 here: -1 would mean that it is not a number.
std::vector<emit::TensorInterface> describe_tensors(const std::vector<const relay::TensorType*>& types,
                                                    const std::vector<std::string>& names, const char* unnamed,
                                                    std::vector<std::string> taken) {
  std::vector<emit::TensorInterface> list;
  for (size_t k = 0; k < types.size(); ++k) {
    std::string name = k < names.size() && !names[k].empty() ? names[k] : fmt::format("{}{}", unnamed, k);
    taken.push_back(emit::c_identifier(name, taken));
    Shape shape = types[k]->shape;
    for (Dim& d : shape)
      if (d.is_constant() && d.value() < 0) d = 0;
    list.push_back({name, taken.back(), types[k]->dtype, std::move(shape)});
  }
  return list;
}

bool equal_ignoring_case(const std::string& a, const std::string& b) { return lower_case(a) == lower_case(b); }

// The sizes with C identifiers that differ in upper case, too: the macros of their bounds contain them.
std::vector<emit::DimInterface> describe_dims(const std::vector<InputDim>& dims) {
  std::vector<emit::DimInterface> list;
  std::vector<std::string> taken;
  auto is_taken = [&](const std::string& id) {
    return std::ranges::any_of(list, [&](const auto& d) { return equal_ignoring_case(d.identifier, id); });
  };
  for (const InputDim& d : dims) {
    do taken.push_back(emit::c_identifier(d.name, taken));
    while (is_taken(taken.back()));
    list.push_back({d, taken.back()});
  }
  return list;
}

// The option -mcpu=, with the name of the host's CPU for native.
std::string cpu_option(const CompileOptions& o, const targets::Target& target) {
  std::string text = o.mcpu.empty() ? "" : " -mcpu=" + o.mcpu;
  for (const targets::CodeLevel& level : target.levels)
    if (level.name == targets::native_cpu) text += fmt::format(" ({})", level.cpu);
  return text;
}

// The version, the options that change the object, and the model's hash.
std::string provenance(const CompileOptions& o, const targets::Target& target, uint64_t model_hash) {
  return fmt::format("dlcc {} --target {}{}{} -O{}{}{}{} model {:016x}", version, o.target, cpu_option(o, target),
                     o.mattr.empty() ? "" : " -mattr=" + o.mattr,
                     o.schedule.small ? "s" : std::to_string(o.optimization),
                     o.schedule.strict ? " --accuracy=strict" : "", o.weights_file.empty() ? "" : " --weights external",
                     o.schedule.threads > 1 ? fmt::format(" --threads={}", o.schedule.threads) : "", model_hash);
}

// The value of each symbol in units of the caller's sizes: floordiv(h, 32) for h_by_32.
tensor::Substitution in_caller_sizes(const std::vector<InputDim>& dims) {
  tensor::Substitution sizes;
  for (const InputDim& d : dims)
    if (d.multiple != 1)
      sizes.emplace(tensor::scalar_of(d.symbol),
                    tensor::floor_div(tensor::scalar_of(Symbol{d.name}), tensor::Expr(d.multiple)));
  return sizes;
}

// "shape[0]" for a size that is an element of an input; else the expression, or size(...) of the elements and the
// caller's sizes in it if it is long.
std::string text_of(const lower::Program& program, const Symbol& size, const tensor::Substitution& caller_sizes) {
  constexpr size_t longest = 60;  // characters of an expression
  std::vector<std::string> elements;
  for (const lower::Step& step : program.entry.steps) {
    const auto* compute = std::get_if<lower::Compute>(&step);
    if (!compute || compute->result != lower::scalar_of(size)) continue;
    const tensor::Expr value = tensor::substitute(compute->value, caller_sizes);
    const std::string text = tensor::print(value);
    if (text.size() <= longest) return text;
    for (const tensor::Var& v : tensor::variables_in(value)) elements.push_back(v->name);
  }
  return fmt::format("size({})", fmt::join(elements, ", "));
}

void describe_input_sizes(const lower::Program& program, emit::Interface& i) {
  const tensor::Substitution caller_sizes = in_caller_sizes(i.input_dims());
  for (const Symbol& s : program.input_sizes) i.input_sizes.push_back({s, text_of(program, s, caller_sizes)});
  for (const lower::Step& step : program.entry.steps)
    if (const auto* read = std::get_if<lower::Read>(&step))
      i.inputs[static_cast<size_t>(program.values[static_cast<size_t>(read->from)].index)].decides_sizes = true;
}

}  // namespace

emit::Interface describe_tensors(const relay::Module& module) {
  const relay::Function& main = module.functions.at("main");
  std::vector<const relay::TensorType*> inputs, outputs;
  for (const relay::Var& p : main.params) append_tensor_types(p->type, inputs);
  append_tensor_types(main.result_type ? main.result_type : relay::type_of(module, main.body.result), outputs);
  const auto is_unknown = [](const relay::TensorType* t) { return !is_static(t->shape); };
  const bool is_dynamic = std::ranges::any_of(inputs, is_unknown) || std::ranges::any_of(outputs, is_unknown) ||
                          relay::defines_sizes(module);
  const auto reserved = [&](const char* member) { return std::vector<std::string>(is_dynamic ? 1 : 0, member); };
  emit::Interface i;
  i.inputs = describe_tensors(inputs, module.input_names, "input", reserved("dims"));
  i.outputs = describe_tensors(outputs, module.output_names, "output", reserved("shapes"));
  i.dims = describe_dims(relay::input_dims(module));
  return i;
}

emit::Interface describe_interface(const relay::Module& module, const lower::Program& program,
                                   const lower::StoragePlan& plan, const CompileOptions& options,
                                   const targets::Target& target, uint64_t model_hash) {
  emit::Interface i = describe_tensors(module);
  describe_input_sizes(program, i);
  i.prefix = options.prefix.empty() ? emit::c_identifier(stem_of(options.model)) : options.prefix;
  i.arena_bytes = plan.is_stacked() ? std::nullopt : std::optional(plan.arena_bytes);
  i.arena_alignment = plan.arena_alignment;
  for (const Constant& c : program.constants) i.weights_bytes += static_cast<int64_t>(c.bytes().size());
  i.threads = options.schedule.threads;
  i.macs = lower::total_macs(program);
  i.provenance = provenance(options, target, model_hash);
  return i;
}

}  // namespace dlcc
