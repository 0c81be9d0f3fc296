#include "lower/parse_program.h"

#include <algorithm>

#include "lower/program_parser.h"
#include "lower/verify.h"
#include "tensor/verify.h"

namespace dlcc::lower {
ParsedProgram ProgramParser::run() {
  while (accept("size")) size();
  while (accept("input")) input_size();
  while (accept("data")) data_size();
  values();
  while (accept("require")) program_.requirements.push_back(requirement());
  while (accept("kernel")) kernel_signature();
  while (accept("function")) function();
  if (accept("entry")) {
    expect("{");
    program_.entry = region();
    expect("}");
  }
  body();
  while (accept("kernel")) kernel_body();
  if (peek().kind != Token::Kind::end) fail(peek(), "expected the end of the text");
  if (!plan_) return {std::move(program_), std::nullopt};
  StoragePlan plan{std::move(*plan_), {}};
  for (std::optional<FunctionPlan>& f : function_plans_)
    plan.functions.push_back(std::move(f).value_or(FunctionPlan()));
  return {std::move(program_), std::move(plan)};
}

// The values, with their offsets or blocks in the plan, and the required sizes.
void ProgramParser::values() {
  while (peek().kind == Token::Kind::shared) value();
  if (accept("arena")) arena();
  while (accept("block")) block();
  check_offsets(peek());
  while (accept("check")) program_.checked_sizes.push_back(checked_size());
}

// run { ... }
void ProgramParser::body() {
  expect("run");
  expect("{");
  program_.body = region();
  expect("}");
  for (auto& [v, at] : begins_) begin_of_view(v, at);
  for (auto& [block, name] : arenas_) plan_->blocks[block].function = function_named(name);
  find_interface(Storage::input, program_.inputs);
  find_interface(Storage::output, program_.outputs);
}

// function @layer { the values, the arena, run { ... } }
void ProgramParser::function() {
  const Token where = take();
  if (where.kind != Token::Kind::name) fail(where, "expected a name such as @layer");
  Function outer = std::exchange(static_cast<Function&>(program_), {});
  auto offsets = std::exchange(offsets_, {});
  auto block_of = std::exchange(block_of_, {});
  auto begins = std::exchange(begins_, {});
  auto arenas = std::exchange(arenas_, {});
  auto plan = std::exchange(plan_, std::nullopt);
  expect("{");
  values();
  body();
  expect("}");
  program_.name = where.text;
  Function own = std::exchange(static_cast<Function&>(program_), std::move(outer));
  if (!functions_.emplace(where.text, static_cast<int>(program_.functions.size())).second)
    report(where, DiagnosticId::duplicate_definition, fmt::format("there are two functions @{}", where.text));
  program_.functions.push_back(std::move(own));
  function_plans_.push_back(std::exchange(plan_, std::move(plan)));
  if (plan_.has_value() != function_plans_.back().has_value())
    fail(where, "expected an arena in the program and in all of its functions, or in none");
  offsets_ = std::move(offsets), block_of_ = std::move(block_of), begins_ = std::move(begins);
  arenas_ = std::move(arenas);
}

int ProgramParser::function_named(const Token& where) {
  if (where.kind != Token::Kind::name) fail(where, "expected a name such as @layer");
  auto it = functions_.find(where.text);
  if (it == functions_.end())
    fail(where, fmt::format("expected a function that is defined before; there is no @{}", where.text));
  return it->second;
}

// ---- tokens

int64_t ProgramParser::number_in(int64_t low, int64_t high) {
  const Token where = peek();
  const int64_t n = integer();
  if (n < low || n > high) fail(where, fmt::format("expected a number in [{}, {}]", low, high));
  return n;
}

int64_t ProgramParser::alignment() {
  const Token where = peek();
  const int64_t bytes = number_in(1, most_alignment);
  if ((bytes & (bytes - 1)) != 0) fail(where, "expected a power of two");
  return bytes;
}

ValueId ProgramParser::value_id() {
  const Token t = take();
  if (t.kind != Token::Kind::shared || t.text.empty() || t.text.size() > 8) fail(t, "expected a value such as %0");
  return std::stoi(t.text);
}

std::string ProgramParser::note() {
  if (peek().kind != Token::Kind::note) return "";
  std::string text = take().text;
  const bool quoted = text.size() >= 2 && text.front() == '\'' && text.back() == '\'';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

Dim ProgramParser::bytes() {
  const Token where = peek();
  const Dim d = dim();
  expect("bytes");
  if (provably_lt(d, 0) || provably_lt(tensor::max_value_bytes, d) || d.is_overflow())
    fail(where, "expected a number of bytes");
  return d;
}

// ---- sizes, values and the plan

// "n in [1, 32]" or "n in [1, unbounded]".
Symbol ProgramParser::bounded_symbol() {
  Symbol s{.name = identifier()};
  expect("in");
  expect("[");
  s.low = number_in(0, INT64_MAX - 1);
  expect(",");
  if (!accept("unbounded")) s.high = number_in(s.low, INT64_MAX - 1);
  expect("]");
  return s;
}

// input size _1 in [0, unbounded]
void ProgramParser::input_size() {
  expect("size");
  const Token where = peek();
  const Symbol s = bounded_symbol();
  if (!symbols_.emplace(s.name, s).second)
    report(where, DiagnosticId::duplicate_definition, fmt::format("there are two sizes {}", s.name));
  program_.input_sizes.push_back(s);
}

// size h_by_32 in [1, 32], times 32, typically 224  # 'h'
void ProgramParser::size() {
  const Token where = peek();
  InputDim d{.symbol = bounded_symbol()};
  while (accept(",")) {
    if (accept("times")) {
      d.multiple = number_in(1, INT64_MAX);
    } else {
      expect("typically");
      d.typical = number_in(1, INT64_MAX);
    }
  }
  d.name = note();
  if (d.name.empty()) d.name = d.symbol.name;
  bind(where, d.symbol.name, {scalar_of(d.symbol), nullptr});
  symbols_.emplace(d.symbol.name, d.symbol);
  program_.dims.push_back(std::move(d));
}

// data size _1 in [0, 4 * n]
// data size _1 in [0, 1] or [0, n], branch 0
void ProgramParser::data_size() {
  expect("size");
  const Token where = peek();
  DataSize d{.symbol = {.name = identifier()}, .most = {}};
  if (symbols_.contains(d.symbol.name))
    report(where, DiagnosticId::duplicate_definition, fmt::format("there are two sizes {}", d.symbol.name));
  auto bound = [&] {
    expect("[");
    number_in(0, 0);
    expect(",");
    const Dim most = dim();
    if (most.is_overflow()) fail(where, "expected a bound that fits 64 bits");
    expect("]");
    return most;
  };
  expect("in");
  d.most = bound();
  if (accept("or")) {
    d.then_most = d.most;
    d.else_most = bound();
    d.most = max(d.then_most, d.else_most);
    expect(",");
    expect("branch");
    d.branch = static_cast<int>(number_in(0, INT32_MAX));
  }
  symbols_.emplace(d.symbol.name, d.symbol);
  program_.data_sizes.push_back(std::move(d));
}

Storage ProgramParser::storage() {
  const Token t = take();
  for (auto [name, storage] : {std::pair("input", Storage::input), std::pair("output", Storage::output),
                               std::pair("constant", Storage::constant), std::pair("temporary", Storage::temporary),
                               std::pair("view", Storage::view)})
    if (t.is(name)) return storage;
  fail(t, "expected a storage such as 'temporary'");
}

// %3 = temporary float32[1, 8, 28, 28], 25088 bytes, align 64, at 128  # 'conv1'
void ProgramParser::value() {
  const Token where = peek();
  if (value_id() != static_cast<ValueId>(program_.values.size()))
    fail(where, fmt::format("expected %{}", program_.values.size()));
  expect("=");
  Value v{.storage = storage()};
  if (v.storage == Storage::view)
    view(v);
  else if (v.storage != Storage::temporary)
    v.index = static_cast<int>(number_in(0, INT32_MAX));
  const Token type = take();
  const auto named = type.kind == Token::Kind::word ? dtype_named(type.text) : std::nullopt;
  if (!named) fail(type, "expected an element type");
  v.type = *named;
  v.shape = shape();
  for (const Dim& d : v.shape)
    if (d.is_overflow()) fail(type, "expected sizes that fit 64 bits after the element type");
  expect(",");
  v.bytes = bytes();
  v.alignment = default_alignment(v.storage, v.type);
  offsets_.push_back(-1);
  block_of_.push_back(-1);
  while (accept(",")) {
    if (accept("align")) {
      v.alignment = alignment();
    } else if (accept("at")) {
      offsets_.back() = number_in(0, tensor::max_value_bytes);
    } else {
      expect("block");
      block_of_.back() = static_cast<int>(number_in(0, INT32_MAX));
    }
  }
  v.name = note();
  program_.values.push_back(std::move(v));
}

// " of %0 + 0 + (t) * 32", " of %0 + [16 * n]". The scalars of the index follow later in the text.
void ProgramParser::view(Value& v) {
  expect("of");
  v.base = value_id();
  expect("+");
  if (accept("[")) {
    v.base_offset = dim();
    expect("]");
  } else {
    v.base_offset = number_in(0, tensor::max_value_bytes);
  }
  if (!accept("+")) return;
  begins_.emplace_back(program_.values.size(), at_);
  int open = 0;
  do {
    const Token t = take();
    if (t.kind == Token::Kind::end) fail(t, "expected an index in parentheses");
    open += t.is("(") - t.is(")");
  } while (open > 0);
  expect("*");
  v.stride = number_in(1, tensor::max_value_bytes);
}

void ProgramParser::begin_of_view(size_t v, size_t at) {
  const size_t end = std::exchange(at_, at);
  expect("(");
  program_.values[v].begin = expr();
  expect(")");
  at_ = end;
}

// arena 640 bytes, align 64
void ProgramParser::arena() {
  plan_.emplace();
  if (!accept("stacked")) {
    plan_->arena_bytes = number_in(0, INT64_MAX);
    expect("bytes");
  }
  expect(",");
  expect("align");
  plan_->arena_alignment = alignment();
  plan_->offsets = offsets_;
  plan_->block_of = block_of_;
}

// block 2 = 4 * n bytes, align 64, above 0, 1
// block 3 = 4 * n * m - 16 * n bytes where 0 <= m - 4, align 64
// block 4 = the arena of @layer, align 64
void ProgramParser::block() {
  const Token where = peek();
  const auto index = static_cast<int64_t>(plan_ ? plan_->blocks.size() : 0);
  if (!plan_) fail(where, "expected 'arena' before the first block");
  number_in(index, index);
  expect("=");
  StackedBlock b;
  if (accept("the")) {
    expect("arena");
    expect("of");
    arenas_.emplace_back(plan_->blocks.size(), take());
  } else {
    b.size.bytes = bytes();
    for (bool more = accept("where"); more; more = accept("and")) {
      number_in(0, 0);
      expect("<=");
      b.size.checks.push_back(dim());
    }
  }
  expect(",");
  expect("align");
  b.alignment = alignment();
  if (accept(",")) {
    expect("above");
    do b.below.push_back(static_cast<int>(number_in(0, index - 1)));
    while (accept(","));
  }
  plan_->blocks.push_back(std::move(b));
}

// Checks that the offsets and blocks of values belong to a plan.
void ProgramParser::check_offsets(const Token& where) {
  const auto blocks = static_cast<int>(plan_ ? plan_->blocks.size() : 0);
  for (size_t v = 0; v < offsets_.size(); ++v) {
    if (!plan_ && offsets_[v] >= 0) fail(where, "expected 'arena' after values with offsets");
    if (block_of_[v] >= blocks) fail(where, fmt::format("expected block {}, which %{} names", block_of_[v], v));
  }
}

// check 0 <= h - 2 <= 2^40
Dim ProgramParser::checked_size() {
  number_in(0, 0);
  expect("<=");
  const Token where = peek();
  Dim size = dim();
  if (size.is_overflow()) fail(where, "expected a size that fits 64 bits");
  expect("<=");
  number_in(2, 2);
  expect("^");
  number_in(40, 40);
  return size;
}

// The inputs or outputs, in the order of their indices.
void ProgramParser::find_interface(Storage storage, std::vector<ValueId>& list) {
  std::map<int, ValueId> by_index;
  for (size_t v = 0; v < program_.values.size(); ++v)
    if (program_.values[v].storage == storage) by_index.emplace(program_.values[v].index, static_cast<ValueId>(v));
  const auto count = std::ranges::count(program_.values, storage, &Value::storage);
  const char* name = storage == Storage::input ? "input" : "output";
  if (std::cmp_not_equal(by_index.size(), count)) fail(peek(), fmt::format("expected each {} once", name));
  for (const auto& [index, v] : by_index) {
    if (std::cmp_not_equal(index, list.size())) fail(peek(), fmt::format("expected {} {}", name, list.size()));
    list.push_back(v);
  }
}

// ---- kernels

// Calls `parse` in a new scope of names and symbols.
template <class F>
auto ProgramParser::in_own_scope(F parse) {
  auto names = std::exchange(names_, {});
  auto symbols = std::exchange(symbols_, {});
  auto bound = std::exchange(bound_, {});
  auto result = parse();
  names_ = std::move(names), symbols_ = std::move(symbols), bound_ = std::move(bound);
  return result;
}

void ProgramParser::kernel_signature() {
  const Token where = peek();
  tensor::Kernel k = in_own_scope([&] { return signature(); });
  if (!kernels_.emplace(k.name, static_cast<int>(program_.kernels.size())).second)
    report(where, DiagnosticId::duplicate_definition, fmt::format("there are two kernels @{}", k.name));
  program_.kernels.push_back({k.name, {k}});
  has_body_.push_back(false);
}

// The first body replaces the signature; further ones are for other CPU levels.
void ProgramParser::kernel_body() {
  const Token where = peek();
  tensor::Kernel k = in_own_scope([&] { return kernel(); });
  const int index = kernel_named(where, k.name);
  Diagnostics found;
  tensor::verify(k, found);
  for (const Diagnostic& d : found.list()) report(where, d.id, d.message);
  std::vector<tensor::Kernel>& variants = program_.kernels[static_cast<size_t>(index)].variants;
  if (!has_body_[static_cast<size_t>(index)]) variants.clear();
  has_body_[static_cast<size_t>(index)] = true;
  variants.push_back(std::move(k));
}

int ProgramParser::kernel_named(const Token& where, const std::string& name) {
  auto it = kernels_.find(name);
  if (it == kernels_.end()) report(where, DiagnosticId::undefined_value, fmt::format("there is no kernel @{}", name));
  return it->second;
}

std::optional<ParsedProgram> parse_program(std::string_view text, const std::string& file, Diagnostics& diagnostics) {
  const size_t before = diagnostics.error_count();
  try {
    ParsedProgram parsed = ProgramParser(text, file, diagnostics).run();
    Diagnostics found;
    verify(parsed.program, found);
    for (Diagnostic d : found.list()) {
      d.location.file = file;
      diagnostics.add(std::move(d));
    }
    if (diagnostics.error_count() == before) return parsed;
  } catch (const tensor::SyntaxError&) {
  }
  return std::nullopt;
}

}  // namespace dlcc::lower
