#include "driver/interpret.h"

#include <algorithm>
#include <iostream>

#include "driver/run_inputs.h"
#include "frontends/frontend.h"
#include "pipeline/run.h"
#include "pipeline/tensor_files.h"
#include "relay/instances.h"
#include "relay/interpret.h"
#include "relay/unused_name.h"
#include "support/ascii.h"
#include "support/files.h"

namespace dlcc::driver {

using namespace relay;

namespace {

// A type of @main with holes for the variables of a generic one: the arguments decide them.
Type with_holes(const Type& type) {
  return map_leaves(type, &TypeNode::has_variables, [](const Type&) { return hole_type(); });
}

// The model with arguments: @main without parameters evaluates their expressions and calls the model's @main. Functions
// in the arguments are functions of the program.
class Program {
 public:
  explicit Program(Module model) : module_(std::move(model)) {
    model_main_ = unused_name("main", module_.functions);
    for (auto& [name, f] : module_.functions) rename_globals(f.body, {{"main", model_main_}});
    module_.functions.emplace(model_main_, std::exchange(module_.functions.at("main"), Function()));
  }

  const Module& model() const { return module_; }
  const std::vector<Var>& params() const { return module_.functions.at(model_main_).params; }
  void add(Constant argument) { call_.args.emplace_back(std::move(argument)); }

  // The value of @main of another module that has the model's data types.
  void add(Module expression) {
    std::map<std::string, std::string> names;
    for (const auto& [name, f] : expression.functions) {
      names[name] = unused_name(name, module_.functions);
      module_.functions.emplace(names[name], Function());
    }
    for (auto& [name, f] : expression.functions) {
      rename_globals(f.body, names);
      module_.functions.at(names[name]) = std::move(f);
    }
    module_.data_types.merge(expression.data_types);
    const Function& value = module_.functions.at(names.at("main"));
    const Var argument = module_.fresh("", value.result_type);
    body_.bindings.push_back({argument, Call{GlobalRef{names.at("main")}, {}, {}}, value.location});
    call_.args.emplace_back(argument);
  }

  // Empty, with a diagnostic, if the arguments of a generic @main do not fit together.
  std::optional<Module> finish(Diagnostics& diagnostics) {
    const Function& main = module_.functions.at(model_main_);
    const bool is_generic = !main.type_params.empty();
    const Type type = with_holes(main.result_type);
    const Var result = module_.fresh("", type);
    call_.callee = GlobalRef{model_main_};
    body_.bindings.push_back({result, std::move(call_), main.location});
    body_.result = result;
    module_.functions.at("main") = Function{{}, {}, type, std::move(body_), {}, main.location};
    if (is_generic && !infer_types(module_, diagnostics)) return std::nullopt;
    return std::move(module_);
  }

 private:
  Module module_;
  std::string model_main_;
  Call call_;   // of the model's @main
  Block body_;  // of @main: the values of the expressions
};

// Moves the locations of operations in the file up, by the lines before an expression.
void move_up(Block& block, const std::string& file, int lines) {
  for (Binding& b : block.bindings) {
    if (b.location.file == file) b.location.line -= lines;
    for_each_block(b.op, [&](Block& inner) { move_up(inner, file, lines); });
  }
}

// A module whose @main is an expression of the parameter's type. `file`: the name for the text in messages.
std::optional<Module> read_expression(const std::string& text, const std::string& file, const Module& model,
                                      const Var& param, Diagnostics& diagnostics) {
  diagnostics.keep_text(file, text);
  if (!frontends::check_expression_syntax(text, file, diagnostics)) return std::nullopt;
  Module types;
  types.data_types = model.data_types;
  const std::string before = fmt::format("{}def @main() -> {} {{\n", print(types), str(with_holes(param->type)));
  const auto lines_before = static_cast<int>(std::ranges::count(before, '\n'));
  const auto lines = static_cast<int>(std::ranges::count(text, '\n')) + 1;
  Diagnostics problems;
  auto module = frontends::import_relay(fmt::format("{}{}\n}}\n", before, text), {.file = file}, problems);
  for (Diagnostic problem : problems.list()) {
    const int line = problem.location.line - lines_before;
    problem.location.line = line > lines ? 0 : std::max(line, 0);
    if (problem.location.line == 0) problem.source_line.clear();
    // Another place of the program says what the value as a whole must be: it is the program's result.
    const bool is_of_whole =
        std::erase_if(problem.details, [&](const std::string& d) { return d.starts_with(file); }) > 0;
    if (is_of_whole) {
      problem.message = fmt::format("the value must be of type {}", str(param->type));
      problem.help =
          "give an expression of this type, or a file: FILE.rly has an expression, FILE.npy or FILE.pb a tensor";
    }
    diagnostics.add(std::move(problem));
  }
  if (module)
    for (auto& [name, f] : module->functions) move_up(f.body, file, lines_before);
  return module;
}

Type type_of_tensor(const Constant& c) { return tensor_type(c.shape(), c.dtype()); }

bool is_tensor_file(const std::string& text) { return text.ends_with(".npy") || text.ends_with(".pb"); }
bool is_expression_file(const std::string& text) { return text.ends_with(".rly"); }

// The type, with the lower bounds of its sizes.
std::string text_of(const Type& type) {
  std::string text = str(type);
  std::set<std::string> names;
  for_each_symbol(type, [&](const Symbol& s) {
    if (names.insert(s.name).second)
      text += fmt::format("{} {} is at least {}", names.size() == 1 ? ", where" : " and", s.name, s.low);
  });
  return text;
}

// Whether a value of type `found` may be the parameter. Values whose sizes are not known here are checked when they
// are.
bool check_type(const Type& found, const SourceLocation& location, const Var& param, Diagnostics& diagnostics) {
  const TensorType *expected = as<TensorType>(param->type), *tensor = as<TensorType>(found);
  if ((tensor && !is_static(tensor->shape)) || as<VariableType>(param->type)) return true;
  std::vector<int64_t> shape;
  for (const Dim& d : tensor ? tensor->shape : Shape()) shape.push_back(d.value());
  if (expected && tensor && same_element_type(*expected, *tensor) &&
      ActualSizes().match(*expected, shape) == tensor::Status::ok)
    return true;
  diagnostics.error(DiagnosticId::bad_data, location,
                    fmt::format("%{} is {}, found {}", param->name, text_of(param->type), str(found)));
  return false;
}

void add_expression(const std::string& text, const std::string& file, const Var& param, Program& program,
                    Diagnostics& diagnostics) {
  auto expression = read_expression(text, file, program.model(), param, diagnostics);
  const Type type = expression ? expression->functions.at("main").result_type : nullptr;
  if (type && (!as<TensorType>(type) || check_type(type, {.file = file}, param, diagnostics)))
    program.add(std::move(*expression));
}

void add_argument(const std::string& text, const Var& param, Program& program, Diagnostics& diagnostics) {
  if (is_tensor_file(text)) {
    const auto tensor = read_tensor(text, diagnostics);
    if (tensor && check_type(type_of_tensor(*tensor), {.file = text}, param, diagnostics)) program.add(*tensor);
  } else if (is_expression_file(text)) {
    if (const auto bytes = read_file(text, diagnostics))
      add_expression({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, text, param, program, diagnostics);
  } else {
    add_expression(text, "--input " + param->name, param, program, diagnostics);
  }
}

// All arguments from an archive of arrays with the names of the parameters.
void add_archive(const std::string& file, Program& program, Diagnostics& diagnostics) {
  const std::vector<Var> params = program.params();
  std::vector<emit::TensorInterface> names;
  for (const Var& p : params) names.push_back({.name = p->name, .identifier = p->name});
  const auto tensors = read_archive(file, names, "input", diagnostics);
  for (size_t k = 0; tensors && k < params.size(); ++k)
    if (check_type(type_of_tensor((*tensors)[k]), {.file = file}, params[k], diagnostics)) program.add((*tensors)[k]);
}

void add_arguments(const std::vector<std::string>& inputs, Program& program, Diagnostics& diagnostics) {
  const std::vector<Var> params = program.params();
  if (inputs.size() == 1 && is_archive(inputs[0])) return add_archive(inputs[0], program, diagnostics);
  std::vector<std::optional<std::string>> texts(params.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const size_t equals = inputs[k].find('=');
    const std::string name = inputs[k].substr(0, equals == std::string::npos ? 0 : equals);
    const auto named = std::ranges::find(params, name, [](const Var& p) { return p->name; });
    const bool is_param = named != params.end();
    const bool is_other_name = !is_param && !name.empty() && std::ranges::all_of(name, is_identifier_character);
    const size_t at = is_param ? static_cast<size_t>(named - params.begin()) : k;
    if (at < params.size() && !texts[at] && !is_other_name)
      texts[at] = is_param ? inputs[k].substr(equals + 1) : inputs[k];
    else
      diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("there is no parameter for --input {}", inputs[k]));
  }
  for (size_t k = 0; k < params.size() && !diagnostics.has_errors(); ++k) {
    if (!texts[k])
      diagnostics.error(DiagnosticId::bad_data, {}, fmt::format("--input {}=VALUE is missing", params[k]->name));
    else
      add_argument(*texts[k], params[k], program, diagnostics);
  }
}

}  // namespace

bool interpret_and_print(Compiler& compiler, const std::vector<std::string>& inputs, int64_t max_steps,
                         Diagnostics& diagnostics) {
  auto module = compiler.import();
  if (!module) return false;
  if (!module->functions.contains("main")) {
    diagnostics.error(DiagnosticId::undefined_value, {}, "the module has no function @main");
    return false;
  }
  Program program(std::move(*module));
  add_arguments(inputs, program, diagnostics);
  if (diagnostics.has_errors()) return false;
  const auto with_arguments = program.finish(diagnostics);
  if (!with_arguments) return false;
  const auto run = interpret(*with_arguments, {}, tensor::Precision::specified, diagnostics, max_steps);
  if (!run || !returned_ok(static_cast<int>(run->status), diagnostics, run->location)) return false;
  std::cout << str(run->value) << "\n";
  return true;
}

}  // namespace dlcc::driver
