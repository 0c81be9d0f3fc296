// Relay text to a typed module: parses, substitutes the sizes of --dim for symbols, infers types.
#include <algorithm>
#include <set>

#include "frontends/frontend.h"
#include "frontends/relay/parser.h"
#include "relay/check_matches.h"
#include "relay/input_dims.h"
#include "support/similar_names.h"
#include "tensor/analysis.h"
#include "tensor/passes/bind_sizes.h"

namespace dlcc::frontends {

using namespace relay;

namespace {

// Substitutes the sizes of --dim for symbols in type annotations and attributes.
class Sizes {
 public:
  explicit Sizes(const std::map<std::string, SizeRange>& ranges) : ranges_(ranges) {}

  // A number replaces its symbol in all functions. A range applies to a symbol of @main's parameters only: other
  // functions have symbols of their own, which may have the same name.
  void apply(Module& module) {
    if (ranges_.empty()) return;
    for (const auto& [name, range] : ranges_)
      if (range.is_number()) sizes_.emplace(name, range.low);
    for (auto& [name, f] : module.functions) apply(f);
    for (auto& [name, f] : module.tensor_functions) apply(f);
    sizes_.clear();
    for (const InputDim& d : input_dims(module)) {
      auto range = ranges_.find(d.name);
      if (range == ranges_.end()) continue;
      module.dims.push_back(input_dim(d.name, range->second, known_));
      sizes_.emplace(d.name, module.dims.back().size());
    }
    if (sizes_.empty()) return;
    apply(module.functions.at("main"));
    for (auto& [name, f] : module.tensor_functions) apply(f);
  }

  // Reports numbers for dimensions that no type has, and ranges for dimensions that no input has.
  void report_unused(const std::string& file, Diagnostics& diagnostics) const {
    const std::vector<std::string> names(known_.begin(), known_.end());
    for (const auto& [name, range] : ranges_) {
      if (range.is_number() ? known_.contains(name) : sizes_.contains(name)) continue;
      diagnostics.error(DiagnosticId::undefined_value, {.file = file},
                        fmt::format("--dim {}={}: no {} has a dimension of this name", name, range.str(),
                                    range.is_number() ? "type" : "input of @main"),
                        {}, names.empty() ? "all dimensions have fixed sizes" : suggest_names(name, names));
    }
  }

 private:
  void apply(Type& type) {
    type = map_leaves(type, [&](const Type& leaf) {
      const TensorType* t = as<TensorType>(leaf);
      if (!t || is_static(t->shape)) return leaf;
      Shape shape = t->shape;
      for (Dim& d : shape) {
        for (const Symbol& s : d.symbols())
          if (s.name != "?") known_.insert(s.name);
        d = d.substitute(sizes_);
      }
      return with_shape(*t, std::move(shape));
    });
  }

  void apply(AttrValue& value) {
    if (AttrList* list = std::get_if<AttrList>(&value.v))
      for (AttrValue& item : *list) apply(item);
    Dim* dim = std::get_if<Dim>(&value.v);
    if (!dim) return;
    Dim size = dim->substitute(sizes_);
    if (size.is_constant())
      value.v = size.value();
    else
      value.v = size;
  }

  void apply(Pattern& pattern) {
    if (auto* bind = std::get_if<Pattern::Bind>(&pattern.v)) apply(bind->var->type);
    if (auto* c = std::get_if<Pattern::Constructor>(&pattern.v))
      for (Pattern& field : c->fields) apply(field);
    if (auto* t = std::get_if<Pattern::Tuple>(&pattern.v))
      for (Pattern& field : t->fields) apply(field);
  }

  void apply(Function& f) {
    for (Var& p : f.params) apply(p->type);
    apply(f.result_type);
    apply(f.body);
  }

  // A symbol that no operand of a tensor function has is the module's.
  void apply(tensor::TensorFunction& f) {
    std::map<std::string, Dim> of_module;
    for (const Symbol& s : tensor::symbols_of(f)) {
      const bool is_own = std::ranges::any_of(f.params, [&](const tensor::Buffer& p) {
        return std::ranges::any_of(p->shape, [&](const Dim& d) { return std::ranges::count(d.symbols(), s) > 0; });
      });
      if (is_own) continue;
      known_.insert(s.name);
      if (const auto size = sizes_.find(s.name); size != sizes_.end()) of_module.insert(*size);
    }
    if (!of_module.empty()) f = tensor::bind_sizes(f, of_module);
  }

  void apply(Block& block) {
    for (Binding& b : block.bindings) {
      apply(b.var->type);
      if (Call* call = std::get_if<Call>(&b.op))
        for (auto& [key, value] : call->attrs) apply(value);
      if (MatchCast* cast = std::get_if<MatchCast>(&b.op)) apply(cast->type);
      if (DefineSizes* sizes = std::get_if<DefineSizes>(&b.op))
        for (Dim& d : sizes->most) d = d.substitute(sizes_);
      if (RequireSizes* required = std::get_if<RequireSizes>(&b.op))
        for (Dim& d : required->sizes) d = d.substitute(sizes_);
      if (Match* match = std::get_if<Match>(&b.op))
        for (Clause& c : match->clauses) apply(c.pattern);
      if (MakeFunction* closure = std::get_if<MakeFunction>(&b.op))
        apply(*closure->function);
      else
        for_each_block(b.op, [&](Block& inner) { apply(inner); });
    }
  }

  const std::map<std::string, SizeRange>& ranges_;
  std::map<std::string, Dim> sizes_;
  std::set<std::string> known_;  // names of symbols in types
};

// Names the axes of @main's parameters that are declared as '?': PARAMETER_AXIS, as in ONNX models. In data, '?' is
// another size in each value.
void name_unknown_axes(Module& module) {
  auto main = module.functions.find("main");
  if (main == module.functions.end()) return;
  std::set<std::string> taken;
  for (const Var& p : main->second.params) for_each_symbol(p->type, [&](const Symbol& s) { taken.insert(s.name); });
  for (const Var& p : main->second.params) {
    size_t axis = 0;  // counted through the fields of a tuple
    auto with_names = [&](const Type& leaf) {
      const TensorType* t = as<TensorType>(leaf);
      if (!t) return leaf;
      Shape shape = t->shape;
      for (Dim& d : shape) {
        std::string name = fmt::format("{}_{}", p->name, axis++);
        if (d != unknown_dim()) continue;
        while (!taken.insert(name).second) name += '_';
        d = size_symbol(name);
      }
      return with_shape(*t, std::move(shape));
    };
    std::function<Type(const Type&)> named = [&](const Type& type) {
      if (as<DataType>(type)) return type;
      const TupleType* tuple = as<TupleType>(type);
      if (!tuple) return map_leaves(type, with_names);
      std::vector<Type> fields;
      for (const Type& field : tuple->fields) fields.push_back(named(field));
      return tuple_type(std::move(fields));
    };
    p->type = named(p->type);
  }
}

}  // namespace

static std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

bool check_expression_syntax(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  const relay_text::ParseOptions options{.file = file, .outside_constant = {}, .is_expression = true};
  Diagnostics problems;  // without those of names: an expression may use the data types of a module around it
  relay_text::parse(text, options, problems);
  const size_t errors = diagnostics.error_count();
  for (const Diagnostic& problem : problems.list())
    if (problem.id == DiagnosticId::syntax_error) diagnostics.add(problem);
  return diagnostics.error_count() == errors;
}

bool check_syntax(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  return relay_text::parse(without_byte_order_mark(text), {.file = file, .outside_constant = {}}, diagnostics)
      .has_value();
}

// Parses the text and puts the given sizes in place of symbols.
static std::optional<Module> read(std::string_view text, const ImportOptions& options, bool allows_missing_metadata,
                                  Diagnostics& diagnostics) {
  const relay_text::ParseOptions parsing{
      .file = options.file, .outside_constant = {}, .allows_missing_metadata = allows_missing_metadata};
  std::optional<Module> module = relay_text::parse_with_unknowns(without_byte_order_mark(text), parsing, diagnostics);
  if (!module) return std::nullopt;
  name_unknown_axes(*module);
  Sizes sizes(options.dims);
  sizes.apply(*module);
  sizes.report_unused(options.file, diagnostics);
  module->dims = input_dims(*module);
  check_input_dims(*module, diagnostics);
  return module;
}

void check_without_metadata(std::string_view text, const ImportOptions& options, Diagnostics& diagnostics) {
  if (auto module = read(text, options, true, diagnostics); module && infer_types(*module, diagnostics))
    check_matches(*module, diagnostics);
}

std::optional<Module> import_relay(std::string_view text, const ImportOptions& options, Diagnostics& diagnostics) {
  std::optional<Module> module = read(text, options, false, diagnostics);
  if (!module) return std::nullopt;
  if (!infer_types(*module, diagnostics) || !verify(*module, diagnostics)) return std::nullopt;
  if (!check_matches(*module, diagnostics)) return std::nullopt;
  return module;
}

}  // namespace dlcc::frontends
