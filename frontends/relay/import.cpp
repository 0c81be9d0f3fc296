// Relay text to a typed module: parses, substitutes the sizes of --dim for symbols, infers types.
#include <set>

#include "frontends/frontend.h"
#include "frontends/relay/parser.h"

namespace dlcc::frontends {

using namespace relay;

namespace {

// Substitutes sizes for symbols in all type annotations and attributes.
class Sizes {
 public:
  explicit Sizes(const std::map<std::string, int64_t>& dims) {
    for (const auto& [name, value] : dims) sizes_.emplace(name, Dim(value));
  }

  void apply(Module& module) {
    if (sizes_.empty()) return;
    for (auto& [name, f] : module.functions) apply(f);
  }

  // Reports sizes for dimensions that no type has.
  void report_unused(const std::string& file, Diagnostics& diagnostics) const {
    for (const auto& [name, size] : sizes_)
      if (!known_.contains(name))
        diagnostics.error(
            DiagnosticId::undefined_value, {.file = file},
            fmt::format("--dim {}={}: no type has a dimension of this name", name, size.str()), {},
            known_.empty() ? "all dimensions have fixed sizes" : fmt::format("there are: {}", fmt::join(known_, ", ")));
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
      return tensor_type(std::move(shape), t->dtype);
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

  void apply(Block& block) {
    for (Binding& b : block.bindings) {
      apply(b.var->type);
      if (Call* call = std::get_if<Call>(&b.op))
        for (auto& [key, value] : call->attrs) apply(value);
      if (MatchCast* cast = std::get_if<MatchCast>(&b.op)) apply(cast->type);
      if (Match* match = std::get_if<Match>(&b.op))
        for (Clause& c : match->clauses) apply(c.pattern);
      if (MakeFunction* closure = std::get_if<MakeFunction>(&b.op))
        apply(*closure->function);
      else
        for_each_block(b.op, [&](Block& inner) { apply(inner); });
    }
  }

  std::map<std::string, Dim> sizes_;
  std::set<std::string> known_;  // names of symbols in types
};

}  // namespace

std::optional<Module> import_relay(std::string_view text, const ImportOptions& options, Diagnostics& diagnostics) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::optional<Module> module =
      relay_text::parse_with_unknowns(text, {.file = options.file, .outside_constant = {}}, diagnostics);
  if (!module) return std::nullopt;
  Sizes sizes(options.dims);
  sizes.apply(*module);
  sizes.report_unused(options.file, diagnostics);
  if (!infer_types(*module, diagnostics) || !verify(*module, diagnostics)) return std::nullopt;
  return module;
}

}  // namespace dlcc::frontends
