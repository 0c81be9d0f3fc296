#include "driver/run_inputs.h"

#include <algorithm>

#include "driver/options.h"
#include "pipeline/input_forms.h"
#include "pipeline/tensor_files.h"
#include "shape/solve_sizes.h"
#include "support/npz.h"

namespace dlcc::driver {

using frontends::Argument;
using frontends::ArgumentKind;

std::string file_of(const std::string& option) { return option.substr(option.find('=') + 1); }

bool is_archive(const std::string& option) { return option.ends_with(".npz") && option.find('=') == option.npos; }

std::optional<size_t> find_tensor(const std::string& text, size_t position,
                                  const std::vector<emit::TensorInterface>& tensors, const char* what,
                                  std::string& file, Diagnostics& diagnostics) {
  size_t equals = text.find('=');
  file = file_of(text);
  if (file.empty()) {
    diagnostics.error(DiagnosticId::bad_option, {}, fmt::format("--{} has no file: '{}'", what, text));
    return std::nullopt;
  }
  if (file.ends_with(".npz")) {
    diagnostics.error(DiagnosticId::bad_option, {.file = file},
                      "an archive has all tensors: it takes no name, and is the only file", {},
                      fmt::format("--{} {}", what, file));
    return std::nullopt;
  }
  if (equals == std::string::npos && position < tensors.size()) return position;
  if (equals == std::string::npos) {
    diagnostics.error(DiagnosticId::bad_data, {},
                      fmt::format("'{}' is file {}, but the model has {} {}{}", text, position + 1, tensors.size(),
                                  what, tensors.size() == 1 ? "" : "s"));
    return std::nullopt;
  }
  std::string wanted = text.substr(0, equals), known;
  for (auto name : {&emit::TensorInterface::name, &emit::TensorInterface::identifier})
    for (size_t k = 0; k < tensors.size(); ++k)
      if (tensors[k].*name == wanted) return k;
  for (const emit::TensorInterface& t : tensors) known += (known.empty() ? "" : ", ") + t.name;
  diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("the model has no {} for '{}'", what, wanted), {},
                    fmt::format("{}s: {}", what, known));
  return std::nullopt;
}

Store append_to_inputs(std::vector<std::string>& files, CompileOptions& options) {
  return [&files, store_form = store_input_form(options.inputs)](const std::string& text) -> Problem {
    const bool is_form = text.find('=') != text.npos && frontends::parse_input_form(file_of(text));
    if (is_form) return store_form(text);
    files.push_back(text);
    return {};
  };
}

// The option for an input, by name or position.
static const std::string* option_for(const std::vector<std::string>& options, const std::string& name, size_t index) {
  for (const std::string& option : options)
    if (option.starts_with(name + "=")) return &option;
  const bool by_position = index < options.size() && options[index].find('=') == std::string::npos;
  return by_position ? &options[index] : nullptr;
}

frontends::FindInputForm forms_of_files(const std::vector<std::string>& options, Diagnostics& diagnostics) {
  return [&options, &diagnostics](const frontends::UnknownInput& input) -> std::optional<frontends::InputForm> {
    const std::string* option = option_for(options, input.name, input.index);
    return option && !is_archive(*option) ? form_of_data(file_of(*option), input, diagnostics) : std::nullopt;
  };
}

namespace {

std::optional<std::vector<Constant>> read_inputs_of_archive(const std::string& path, const emit::Interface& interface,
                                                            Diagnostics& diagnostics) {
  auto values = read_archive(path, interface.inputs, "input", diagnostics);
  for (size_t k = 0; values && k < values->size(); ++k) fits((*values)[k], interface, k, {.file = path}, diagnostics);
  return diagnostics.has_errors() ? std::nullopt : std::move(values);
}

// The tensors of the inputs read so far, empty where not given, and the options that are not used yet.
struct Given {
  std::vector<std::optional<Constant>> tensors;
  std::vector<std::string> other_options;
};

// Reads the inputs that are sequences or optionals. The other options are left for the tensors.
Given read_arguments(const std::vector<std::string>& options, const emit::Interface& interface,
                     const std::vector<Argument>& arguments, Diagnostics& diagnostics) {
  const std::vector<emit::TensorInterface>& tensors = interface.inputs;
  Given given{std::vector<std::optional<Constant>>(tensors.size()), options};
  size_t first = 0;  // tensor of the argument
  for (size_t k = 0; k < arguments.size(); first += arguments[k++].tensors) {
    const Argument& a = arguments[k];
    const std::string* option = option_for(options, a.name, k);
    if (a.absent && a.tensors > 0) given.tensors[first] = Constant(tensors[first].type, {0}, {});
    if (!option) continue;
    const auto place = std::ranges::find(given.other_options, *option);
    if (a.kind == ArgumentKind::tensor && !a.fixed) {
      *place = tensors[first].name + "=" + file_of(*option);
      continue;
    }
    given.other_options.erase(place);
    auto data = read_argument(file_of(*option), a.kind, diagnostics);
    if (!data || !fits(*data, a, {.file = file_of(*option)}, diagnostics)) continue;
    for (size_t i = 0; i < a.tensors && !a.absent; ++i) {
      given.tensors[first + i] = data->tensors[i];
      fits(data->tensors[i], interface, first + i, {.file = file_of(*option)}, diagnostics);
    }
  }
  return given;
}

}  // namespace

std::optional<std::map<size_t, Constant>> read_some_inputs(const std::vector<std::string>& options,
                                                           const emit::Interface& interface, Diagnostics& diagnostics) {
  std::map<size_t, Constant> given;
  if (options.size() == 1 && is_archive(options[0])) {
    auto all = read_inputs_of_archive(options[0], interface, diagnostics);
    for (size_t k = 0; all && k < all->size(); ++k) given.emplace(k, std::move((*all)[k]));
    return all ? std::optional(std::move(given)) : std::nullopt;
  }
  const size_t errors = diagnostics.error_count();
  for (size_t k = 0; k < options.size(); ++k) {
    std::string file;
    const auto at = find_tensor(options[k], k, interface.inputs, "input", file, diagnostics);
    const auto tensor = at ? read_tensor(file, diagnostics) : std::nullopt;
    if (tensor && fits(*tensor, interface, *at, {.file = file}, diagnostics)) given.insert_or_assign(*at, *tensor);
  }
  return diagnostics.error_count() == errors ? std::optional(std::move(given)) : std::nullopt;
}

bool add_sizes_of(const std::map<size_t, Constant>& given, const emit::Interface& interface,
                  std::map<std::string, int64_t>& sizes, Diagnostics& diagnostics) {
  const size_t errors = diagnostics.error_count();
  for (const auto& [index, value] : given) {
    const emit::TensorInterface& input = interface.inputs[index];
    for (size_t k = 0; k < input.shape.size(); ++k) {
      const auto axis = as_linear(input.shape[k]);
      const auto dim = axis ? std::ranges::find(interface.dims, axis->symbol, &InputDim::symbol) : interface.dims.end();
      if (dim == interface.dims.end()) continue;
      const int64_t size = (value.shape()[k] - axis->offset) / axis->scale * dim->multiple;
      const auto [known, is_new] = sizes.emplace(dim->name, size);
      if (!is_new && known->second != size)
        diagnostics.error(DiagnosticId::bad_option, {},
                          fmt::format("axis {} of input '{}' gives {} = {}, but {} is {}", k, input.name, dim->name,
                                      size, dim->name, known->second),
                          {}, fmt::format("leave out --size {}, and give inputs that agree", dim->name));
    }
  }
  return diagnostics.error_count() == errors;
}

std::optional<std::vector<Constant>> read_inputs(const std::vector<std::string>& options,
                                                 const emit::Interface& interface,
                                                 const frontends::Arguments& arguments, Diagnostics& diagnostics) {
  const std::vector<emit::TensorInterface>& tensors = interface.inputs;
  if (options.size() == 1 && is_archive(options[0])) return read_inputs_of_archive(options[0], interface, diagnostics);
  auto [given, files] = read_arguments(options, interface, arguments.inputs, diagnostics);
  for (size_t k = 0; k < files.size(); ++k) {
    std::string file;
    auto at = find_tensor(files[k], k, tensors, "input", file, diagnostics);
    if (!at) continue;
    if (given[*at]) {
      diagnostics.error(DiagnosticId::bad_option, {.file = file},
                        fmt::format("input '{}' is given twice", tensors[*at].name), {}, "give it one file");
      continue;
    }
    given[*at] = read_tensor(file, diagnostics);
    if (given[*at]) fits(*given[*at], interface, *at, {.file = file}, diagnostics);
  }
  if (diagnostics.has_errors()) return std::nullopt;
  std::vector<Constant> values;
  for (size_t k = 0; k < given.size(); ++k) {
    if (given[k])
      values.push_back(*given[k]);
    else
      diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("input '{}' is missing", tensors[k].name), {},
                        fmt::format("--input {}=FILE", tensors[k].name));
  }
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(values));
}

}  // namespace dlcc::driver
