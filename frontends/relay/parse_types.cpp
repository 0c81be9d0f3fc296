// Parses types, dimensions and attributes.
#include <charconv>

#include "frontends/relay/parser.h"
#include "frontends/relay/remedies.h"
#include "support/similar_names.h"

namespace dlcc::frontends::relay_text {

using namespace relay;

// ---- types ----------------------------------------------------------------------------------------------------------

Type Parser::type() {
  Depth depth(*this);
  if (accept("(")) return parenthesised_type();
  Token name = expect_kind(TokenKind::identifier, "a type");
  if (lexer_.failed()) return hole_type();
  if (name.word("_")) return hole_type();
  if (name.word("Tensor")) return tensor_type();
  if (name.word("fn")) return function_type();
  if (name.word("ref")) {
    expect("(", "ref");
    Type value = type();
    expect(")", "the type");
    return ref_type(value);
  }
  return named_type(name);
}

// A tuple type, after '('. In format 0.0.4, a type in parentheses is that type, and (T,) a tuple of one field.
Type Parser::parenthesised_type() {
  std::vector<Type> fields;
  bool has_comma = false;
  while (!lexer_.failed() && !accept(")")) {
    fields.push_back(type());
    if (accept(","))
      has_comma = true;
    else if (!peek().is(")"))
      unexpected("',' or ')'");
  }
  if (is_old_ && fields.size() == 1 && !has_comma) return fields[0];
  return tuple_type(std::move(fields));
}

std::vector<Type> Parser::type_list(std::string_view close) {
  std::vector<Type> types;
  list(close, [&] { types.push_back(type()); });
  return types;
}

static std::vector<std::string> all_element_types() {
  return {
#define DTYPE(name, ...) #name,
#include "support/dtype.def"
#undef DTYPE
  };
}

// Tensor[(1, n), float32], Tensor[s, b] or Tensor[_, _], after "Tensor".
Type Parser::tensor_type() {
  expect("[", "Tensor");
  Type shape = this->shape();
  if (!shape) return hole_type();
  expect(",", "the shape");
  Type element = this->element(expect_kind(TokenKind::identifier, "an element type"));
  expect("]", "the tensor type");
  return element ? open_tensor_type(std::move(shape), std::move(element)) : hole_type();
}

// A shape as a tensor type (OpenTensorType), a variable of one, or a hole; null after an error.
Type Parser::shape() {
  const Token name = peek();
  if (name.word("_")) {
    lexer_.next();
    return hole_type();
  }
  const TypeVariable* variable =
      name.kind == TokenKind::identifier ? type_variables_.find(std::string(name.text)) : nullptr;
  if (variable) {
    lexer_.next();
    return use_variable(*variable, Kind::shape, lexer_.location(name));
  }
  Shape shape;
  auto size = [&] {
    const SourceLocation where = lexer_.location(peek());
    shape.push_back(dim());
    if (shape.back().is_constant() && shape.back().value() < 0)
      report(DiagnosticId::syntax_error, where, fmt::format("the size {} is negative", shape.back().str()),
             "a size is a number of at least 0, a name, or ? for one that is not known");
  };
  if (is_old_ && !peek().is("("))  // Tensor[3, float32]
    size();
  else if (expect("(", "Tensor["))
    list(")", size);
  else
    return nullptr;
  return relay::tensor_type(std::move(shape), dtype::boolean);
}

// An element type as the type of a scalar, a variable of one, or a hole; null after an error.
Type Parser::element(const Token& name) {
  if (lexer_.failed()) return nullptr;
  if (name.word("_")) return hole_type();
  if (const TypeVariable* variable = type_variables_.find(std::string(name.text)))
    return use_variable(*variable, Kind::element, lexer_.location(name));
  if (auto known = element_type(name)) return with_shape(TensorType{{}, known->dtype, known->lanes}, {});
  const std::vector<std::string> known = all_element_types();
  const auto elsewhere = element_type_named_elsewhere(name.text);
  const std::string meant = elsewhere ? fmt::format("did you mean '{}'?", *elsewhere) : did_you_mean(name.text, known);
  report(DiagnosticId::unsupported_type, lexer_.location(name), fmt::format("{} is not an element type", name.text),
         meant.empty() ? fmt::format("the element types are: {}", fmt::join(known, ", ")) : meant);
  return nullptr;
}

// fn [A](T) -> U, after "fn".
Type Parser::function_type() {
  Scope scope(*this);
  std::vector<TypeVariable> params = type_params();
  if (!expect("(", "fn")) return hole_type();
  std::vector<Type> types = type_list(")");
  if (!expect("->", "the parameters' types")) return hole_type();
  Type result = type();
  find_kinds(params);
  return relay::function_type(std::move(types), std::move(result), std::move(params));
}

// "int", "uint" and "float" have 32 bits; int8x4 is a vector of four int8, uint1x4 one of bool.
std::optional<Parser::ElementType> Parser::element_type(const Token& t) {
  constexpr std::string_view digits = "0123456789";
  std::string_view name = t.text;
  int lanes = 1;
  const size_t x = name.find_last_not_of(digits);
  const bool is_vector = x != std::string_view::npos && x > 0 && x + 1 < name.size() && name[x] == 'x' &&
                         digits.find(name[x - 1]) != std::string_view::npos;
  if (is_vector) {
    auto [end, error] = std::from_chars(name.data() + x + 1, name.data() + name.size(), lanes);
    constexpr int most_lanes = 65535;
    if (error != std::errc() || lanes < 2 || lanes > most_lanes) return std::nullopt;
    name = name.substr(0, x);
  }
  const bool is_bare = name == "int" || name == "uint" || name == "float";
  const auto dtype = is_vector && name == "uint1" ? dtype::boolean
                                                  : dtype_named(is_bare ? std::string(name) + "32" : std::string(name));
  return dtype ? std::optional(ElementType{*dtype, lanes}) : std::nullopt;
}

// Whether an expression or a pattern that begins with this name means something else than a constructor: a keyword, an
// element type or an operator.
bool Parser::is_reserved(const Token& name) {
  static const std::set<std::string_view> words = {
      "let",       "def",    "type",  "else",        "extern",     "free_var",     "match",
      "_",         "True",   "False", "if",          "fn",         "ref",          "ref_read",
      "ref_write", "Tensor", "meta",  "call_tensor", "match_cast", "define_sizes", "require_sizes"};
  return words.contains(name.text) || element_type(name) || operators().find(std::string(name.text));
}

bool Parser::is_type_of_language(const Token& name) {
  return name.word("Tensor") || name.word("fn") || name.word("ref") || name.word("_") || element_type(name);
}

Type Parser::named_type(const Token& name) {
  SourceLocation where = lexer_.location(name);
  if (const TypeVariable* v = type_variables_.find(std::string(name.text))) return use_variable(*v, Kind::type, where);
  const auto own = types_of_text_.find(std::string(name.text));
  const auto known = module_.data_types.find(std::string(name.text));
  if (own != types_of_text_.end() || known != module_.data_types.end()) {
    const size_t expected = known != module_.data_types.end() ? known->second.params.size() : own->second;
    std::vector<Type> args;
    if (accept("[")) args = type_list("]");
    if (args.size() != expected && !lexer_.failed())
      report(DiagnosticId::wrong_arity, where,
             fmt::format("type {} takes {} type arguments, found {}", name.text, expected, args.size()));
    args.resize(expected, hole_type());
    return data_type(std::string(name.text), std::move(args));
  }
  if (auto element = element_type(name)) {
    if (peek().is("["))
      lexer_.error(where, fmt::format("{} is the type of a scalar", name.text),
                   fmt::format("a type of tensors is written Tensor[(2, 3), {}]", name.text));
    return with_shape(TensorType{{}, element->dtype, element->lanes}, {});
  }
  if (may_report() && load_type(std::string(name.text))) return named_type(name);
  const auto meant = meant_by(name.text, [&] {
    std::vector<std::string> names = all_element_types();
    for (const auto& [known_type, params] : types_of_text_) names.push_back(known_type);
    names.emplace_back("Tensor");
    return names;
  });
  report(DiagnosticId::unsupported_type, where, fmt::format("there is no type {}", name.text),
         meant ? fmt::format("did you mean '{}'?", *meant)
               : "a type is defined by `type " + std::string(name.text) + " { ... }`");
  if (accept("[")) type_list("]");
  return hole_type();
}

// [A, S: Shape, B: BaseType]. The kind of a variable without one is that of its first use.
std::vector<TypeVariable> Parser::type_params() {
  std::vector<TypeVariable> params;
  if (!accept("[")) return params;
  list("]", [&] {
    Token name = expect_kind(TokenKind::identifier, "a type variable");
    if (std::ranges::find(params, name.text, &TypeVariable::name) != params.end())
      report(DiagnosticId::duplicate_definition, lexer_.location(name),
             fmt::format("the type variable {} is declared twice", name.text), "give each variable a name of its own");
    params.push_back({module_.next_id++, std::string(name.text)});
    if (accept(":"))
      if (auto declared = kind()) kinds_.emplace(params.back().id, KindOfVariable{*declared, lexer_.location(name)});
    type_variables_.add(params.back().name, params.back());
  });
  return params;
}

std::optional<Kind> Parser::kind() {
  if (accept_word("Type")) return Kind::type;
  if (accept_word("Shape")) return Kind::shape;
  if (accept_word("BaseType")) return Kind::element;
  unexpected("a kind: Type, Shape or BaseType");
  return std::nullopt;
}

static std::string_view text_of(Kind kind) {
  if (kind == Kind::shape) return "a shape";
  return kind == Kind::element ? "an element type" : "a type";
}

Type Parser::use_variable(const TypeVariable& variable, Kind kind, const SourceLocation& where) {
  auto [known, first] = kinds_.emplace(variable.id, KindOfVariable{kind, where});
  if (known->second.kind != kind && may_report()) {
    is_broken_ = true;
    diagnostics_.error(
        DiagnosticId::type_mismatch, where,
        fmt::format("the type variable {} stands for {}, not for {}", variable.name, text_of(known->second.kind),
                    text_of(kind)),
        {fmt::format("{}: it stands for {} here", known->second.location.str(), text_of(known->second.kind))},
        "a tensor type of any shape and element type is written Tensor[s, b]");
  }
  return variable_type({variable.id, variable.name, kind});
}

void Parser::find_kinds(std::vector<TypeVariable>& params) const {
  for (TypeVariable& v : params)
    if (auto known = kinds_.find(v.id); known != kinds_.end()) v.kind = known->second.kind;
}

// ---- dimensions: integers, symbols, and sums and products of them ---------------------------------------------------

Dim Parser::dim() {
  Depth depth(*this);
  Dim sum = dim_product();
  while (peek().is("+") || peek().is("-")) {
    bool plus = lexer_.next().text == "+";
    Dim right = dim_product();
    sum = plus ? sum + right : sum - right;
  }
  return sum;
}

Dim Parser::dim_product() {
  bool negative = false;
  while (accept("-")) negative = !negative;
  Dim product = negative ? dim_atom() * Dim(-1) : dim_atom();
  while (accept("*")) product = product * dim_atom();
  return product;
}

Dim Parser::dim_atom() {
  Token t = peek();
  if (t.kind == TokenKind::number) {
    check_suffix(lexer_.next());
    uint64_t magnitude = 0;
    auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), magnitude);
    const bool is_whole = error == std::errc() && end == t.text.data() + t.text.size() && !t.is_float;
    if (is_whole && magnitude <= static_cast<uint64_t>(INT64_MAX) + t.negative)
      return static_cast<int64_t>(t.negative ? 0 - magnitude : magnitude);
    report(DiagnosticId::syntax_error, lexer_.location(t), "this is not an integer of 64 bits");
    return 0;
  }
  if (t.kind == TokenKind::unknown) return symbol(std::string(lexer_.next().text));
  if (t.word("meta")) return meta_dim();
  if (t.word("True") || t.word("False") || t.word("None") || t.word("nullptr")) {  // reserved words
    unexpected("a dimension");
    return 0;
  }
  if (accept_word("_")) return symbol("?");  // a hole
  Token name = expect_kind(TokenKind::identifier, "a dimension");
  using Function = Dim (*)(const Dim&, const Dim&);
  static const std::map<std::string_view, Function> functions = {
      {"floor_div", [](const Dim& a, const Dim& b) { return floor_div(a, b); }},
      {"floor_mod", [](const Dim& a, const Dim& b) { return floor_mod(a, b); }},
      {"min", [](const Dim& a, const Dim& b) { return min(a, b); }},
      {"max", [](const Dim& a, const Dim& b) { return max(a, b); }}};
  auto function = functions.find(name.text);
  if (function == functions.end() || !accept("(")) return symbol(std::string(name.text));
  Dim left = dim();
  expect(",", "the first operand");
  Dim right = dim();
  expect(")", "the second operand");
  return function->second(left, right);
}

Dim Parser::symbol(const std::string& name) {
  symbols_.insert(name);
  return size_symbol(name);
}

// ---- attributes -----------------------------------------------------------------------------------------------------

// key=value, ... up to `close`, which is not consumed.
Attrs Parser::attributes(std::string_view close) {
  Attrs attrs;
  while (!lexer_.failed() && !peek().is(close)) {
    Token key = expect_kind(TokenKind::identifier, "an attribute");
    if (!expect("=", "the attribute's name")) break;
    if (!attrs.emplace(key.text, attribute_value()).second)
      report(DiagnosticId::duplicate_definition, lexer_.location(key),
             fmt::format("attribute '{}' is given twice", key.text));
    if (!accept(",")) break;
  }
  return attrs;
}

AttrValue Parser::attribute_value() {
  Depth depth(*this);
  Token t = peek();
  if (t.kind == TokenKind::string) return std::string(lexer_.next().text);
  if (accept_word("True")) return true;
  if (accept_word("False")) return false;
  if (accept_word("None") || accept_word("nullptr")) return {};
  if (t.word("meta")) return meta_value();
  if (accept("[") || accept("(")) {
    AttrList values;
    bool has_comma = false;
    list(t.is("[") ? "]" : ")", [&] {
      values.push_back(attribute_value());
      has_comma |= peek().is(",");
    });
    const bool is_value = t.is("(") && values.size() == 1 && !has_comma;  // in parentheses
    return is_value ? std::move(values[0]) : AttrValue(std::move(values));
  }
  if (t.kind == TokenKind::number && t.is_float) {
    check_suffix(lexer_.next());
    std::optional<double> value = number(t);
    if (!value) report(DiagnosticId::bad_attribute, lexer_.location(t), "this number is out of range");
    return value.value_or(0);
  }
  if (t.kind != TokenKind::number && t.kind != TokenKind::identifier && t.kind != TokenKind::unknown && !t.is("-")) {
    unexpected("an attribute's value");
    return {};
  }
  Dim value = dim();
  if (value.is_constant()) return value.value();
  AttrValue held;
  held.v = value;
  return held;
}

// The number of characters of a layout's extent: a number or name, or a dimension in parentheses.
static size_t length_of_extent(std::string_view text) {
  if (!text.starts_with("(")) return std::min(text.find_first_of("+ "), text.size());
  int open = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    open += (text[k] == '(') - (text[k] == ')');
    if (open == 0) return k + 1;
  }
  return text.size();
}

// The dimension that the text describes, which may be in parentheses; empty if the text has anything else.
std::optional<Dim> Parser::dim_in(std::string_view text) {
  if (text.starts_with("(") && text.ends_with(")")) text = text.substr(1, text.size() - 2);
  Diagnostics ignored;
  Parser inner(text, options_, ignored);
  Dim d = inner.dim();
  const bool whole = inner.peek().kind == TokenKind::end && !ignored.has_errors() && !d.is_overflow();
  return whole ? std::optional(std::move(d)) : std::nullopt;
}

// For each operand and result "axis/divisor:extent+halo ...", then the fill of the tail.
std::vector<tensor::Layout> Parser::layouts(const AttrValue& value, const SourceLocation& where) {
  std::vector<tensor::Layout> all;
  bool good = std::holds_alternative<AttrList>(value.v);
  for (const AttrValue& item : good ? std::get<AttrList>(value.v) : AttrList()) {
    tensor::Layout layout;
    const std::string* text = std::get_if<std::string>(&item.v);
    std::string_view rest;
    if (text) rest = *text;
    good &= text != nullptr;
    auto integer = [&](auto& out) {
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
      good &= error == std::errc();
      rest.remove_prefix(end - rest.data());
    };
    auto skip = [&](std::string_view prefix) {
      bool there = rest.starts_with(prefix);
      if (there) rest.remove_prefix(prefix.size());
      return there;
    };
    while (good && !rest.empty()) {
      if (skip("zero")) {
        layout.tail = tensor::Layout::Tail::zero;
        good &= !layout.parts.empty() && rest.empty();
      } else if (skip("unspecified")) {
        layout.tail = tensor::Layout::Tail::unspecified;
        good &= !layout.parts.empty() && rest.empty();
      } else {
        tensor::Layout::Part part{0, 1, 0};
        integer(part.axis);
        if (skip("/")) integer(part.divisor);
        good &= skip(":");
        const std::string_view extent = rest.substr(0, length_of_extent(rest));
        rest.remove_prefix(extent.size());
        part.extent = dim_in(extent).value_or(Dim(0));
        if (skip("+")) integer(part.halo);
        good &= part.axis >= 0 && part.divisor > 0 && !provably_lt(part.extent, 1) && part.halo >= 0;
        layout.parts.push_back(part);
      }
      skip(" ");
    }
    all.push_back(std::move(layout));
  }
  if (!good)
    report(DiagnosticId::bad_attribute, where, "layouts are a list of strings such as \"0:1 1/16:2 2:14 1:16 zero\"");
  return all;
}

}  // namespace dlcc::frontends::relay_text
