#include "lower/program_text.h"

#include <algorithm>
#include <map>
#include <set>

#include "tensor/print_expr.h"
#include "tensor/text.h"

namespace dlcc::lower {
namespace {

const char* storage_name(Storage s) {
  switch (s) {
    case Storage::input:
      return "input";
    case Storage::output:
      return "output";
    case Storage::constant:
      return "constant";
    case Storage::temporary:
      return "temporary";
    case Storage::view:
      return "view";
  }
  DLCC_UNREACHABLE("storage {}", static_cast<int>(s));
}

// The alignment of a value that the text does not name; 0: it always does.
int64_t usual_alignment(const Value& v) {
  return v.storage == Storage::temporary ? 0 : default_alignment(v.storage, v.type);
}

// A name for people, as a comment at the end of a line.
std::string note(std::string name) {
  for (char& c : name)
    if (c == '\n' || c == '\r') c = ' ';
  return "  # " + name;
}

// The names of the kernels or functions, each different from the others.
template <class Named>
std::vector<std::string> unique_names(const std::vector<Named>& list) {
  std::vector<std::string> names;
  std::set<std::string> used;
  for (const Named& k : list) {
    std::string name = k.name;
    for (int n = 1; !used.insert(name).second; ++n) name = fmt::format("{}.{}", k.name, n);
    names.push_back(std::move(name));
  }
  return names;
}

class Printer {
 public:
  Printer(const Program& program, const StoragePlan* plan)
      : program_(program),
        plans_(plan),
        function_(&program),
        plan_(plan),
        kernels_(unique_names(program.kernels)),
        functions_(unique_names(program.functions)) {}

  void print_program() {
    for (const InputDim& d : program_.dims) size(d);
    for (const Symbol& s : program_.input_sizes) input_size(s);
    for (const DataSize& d : program_.data_sizes) size(d);
    values(0);
    for (const Require& r : program_.requirements) print(r, 0);
    for (size_t k = 0; k < kernels_.size(); ++k)
      if (!program_.kernels[k].variants.empty())
        line(0, tensor::print_signature(renamed(program_.kernels[k].variants[0], k)));
    for (size_t f = 0; f < functions_.size(); ++f) function(f);
    if (!program_.entry.steps.empty()) {
      text_ += "entry {\n";
      region(program_.entry, 1);
      text_ += "}\n";
    }
    result_.run_line = next_line();
    text_ += "run {\n";
    region(program_.body, 1);
    text_ += "}\n";
  }

  void print_kernels() {
    for (size_t k = 0; k < kernels_.size(); ++k) {
      std::vector<KernelText>& variants = result_.kernels.emplace_back();
      for (const tensor::Kernel& variant : program_.kernels[k].variants) {
        text_ += "\n";
        KernelText& printed = variants.emplace_back(next_line());
        text_ += tensor::print(renamed(variant, k), printed.line, printed.statements);
      }
    }
  }

  ProgramText take() {
    result_.text = std::move(text_);
    return std::move(result_);
  }

 private:
  int next_line() {
    lines_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_), text_.end(), '\n'));
    counted_ = text_.size();
    return lines_ + 1;
  }

  tensor::Kernel renamed(tensor::Kernel kernel, size_t index) const {
    kernel.name = kernels_[index];
    return kernel;
  }

  // size h_by_32 in [1, 32], times 32, typically 224  # 'h'
  void size(const InputDim& d) {
    const std::string symbol = name_of(d.symbol);
    text_ += fmt::format("size {} in [{}, {}]", symbol, d.symbol.low,
                         d.is_bounded() ? std::to_string(d.symbol.high) : "unbounded");
    if (d.multiple != 1) text_ += fmt::format(", times {}", d.multiple);
    if (d.typical != 0) text_ += fmt::format(", typically {}", d.typical);
    if (d.name != symbol) text_ += note("'" + d.name + "'");
    text_ += '\n';
  }

  // input size _1 in [0, unbounded]
  void input_size(const Symbol& s) {
    const std::string symbol = name_of(s);
    line(0, fmt::format("input size {} in [{}, {}]", symbol, s.low,
                        s.high == INT64_MAX ? "unbounded" : std::to_string(s.high)));
  }

  // data size _1 in [0, 4 * n]
  // data size _1 in [0, 1] or [0, n], branch 0
  void size(const DataSize& d) {
    const std::string symbol = name_of(d.symbol);
    if (d.branch < 0)
      line(0, fmt::format("data size {} in [0, {}]", symbol, dim(d.most)));
    else
      line(0, fmt::format("data size {} in [0, {}] or [0, {}], branch {}", symbol, dim(d.then_most), dim(d.else_most),
                          d.branch));
  }

  std::string name_of(const Symbol& s) {
    const std::string name = names_.of(scalar_of(s));
    if (name != s.name) renamed_.emplace(s.name, Dim::symbol({name, s.low, s.high}));
    return name;
  }

  // A dim with its symbols under their names in this text.
  std::string dim(const Dim& d) const { return (renamed_.empty() ? d : d.substitute(renamed_)).str(); }

  // function @layer { the values, the arena, run { ... } }
  void function(size_t index) {
    result_.functions.push_back(next_line());
    function_ = &program_.functions[index];
    if (plans_) plan_ = &plans_->functions[index];
    line(0, fmt::format("function {} {{", tensor::quoted_name(functions_[index])));
    values(1);
    line(1, "run {");
    next_workspace_ = 0;
    region(function_->body, 2);
    line(1, "}");
    line(0, "}");
    function_ = &program_, plan_ = plans_, next_workspace_ = 0;
  }

  // The values of the current function, its arena, and the sizes that it requires.
  void values(int depth) {
    for (size_t v = 0; v < function_->values.size(); ++v) value(v, depth);
    if (plan_) arena(depth);
    for (const Dim& d : function_->checked_sizes) print(CheckSize{d}, depth);
  }

  // arena 640 bytes, align 64
  void arena(int depth) {
    line(depth, fmt::format("arena {}, align {}",
                            plan_->is_stacked() ? "stacked" : fmt::format("{} bytes", plan_->arena_bytes),
                            plan_->arena_alignment));
    for (size_t b = 0; b < plan_->blocks.size(); ++b) block(b, depth);
  }

  std::string bytes(const MemorySize& size) const {
    std::string text = dim(size.bytes) + " bytes";
    for (size_t k = 0; k < size.checks.size(); ++k)
      text += fmt::format(" {} 0 <= {}", k == 0 ? "where" : "and", dim(size.checks[k]));
    return text;
  }
  // block 2 = 4 * n bytes, align 64, above 0, 1
  // block 3 = 4 * n * m - 16 * n bytes where 0 <= m - 4, align 64
  // block 4 = the arena of @layer, align 64
  void block(size_t index, int depth) {
    const StackedBlock& b = plan_->blocks[index];
    const std::string size =
        b.function < 0 ? bytes(b.size) : "the arena of " + tensor::quoted_name(functions_.at(b.function));
    const std::string above = b.below.empty() ? "" : fmt::format(", above {}", fmt::join(b.below, ", "));
    line(depth, fmt::format("block {} = {}, align {}{}", index, size, b.alignment, above));
  }

  // %3 = temporary float32[1, 8, 28, 28], 25088 bytes, align 64, at 128  # 'conv1'
  void value(size_t v, int depth) {
    const Value& value = function_->values[v];
    text_ += fmt::format("{:{}}%{} = {}", "", 2 * depth, v, storage_name(value.storage));
    if (value.storage == Storage::view) {
      const bool is_number = value.base_offset.is_constant();
      text_ += fmt::format(" of %{} + {}", value.base,
                           is_number ? dim(value.base_offset) : fmt::format("[{}]", dim(value.base_offset)));
      if (value.begin) text_ += fmt::format(" + ({}) * {}", names_.expr(value.begin), value.stride);
    } else if (value.storage != Storage::temporary) {
      text_ += fmt::format(" {}", value.index);
    }
    std::string shape;
    for (const Dim& d : value.shape) append(shape, dim(d));
    text_ += fmt::format(" {}[{}], {} bytes", name(value.type), shape, dim(value.bytes));
    if (value.alignment != usual_alignment(value)) text_ += fmt::format(", align {}", value.alignment);
    if (plan_ && plan_->is_stacked() && plan_->block_of[v] >= 0)
      text_ += fmt::format(", block {}", plan_->block_of[v]);
    else if (plan_ && plan_->offsets[v] >= 0)
      text_ += fmt::format(", at {}", plan_->offsets[v]);
    if (!value.name.empty()) text_ += note("'" + value.name + "'");
    text_ += '\n';
  }

  void region(const Region& region, int depth) {
    for (const Step& s : region.steps) {
      result_.steps[&s] = next_line();
      std::visit([&](const auto& step) { print(step, depth); }, s);
    }
  }

  void line(int depth, const std::string& text) { text_ += std::string(2 * depth, ' ') + text + '\n'; }

  // @conv1(%0, %1, %2), %2 may replace %0  # conv/Conv
  void print(const Invoke& call, int depth) {
    std::vector<std::string> operands;
    for (ValueId v : call.operands) operands.push_back(fmt::format("%{}", v));
    for (const tensor::Expr& e : call.scalars) operands.push_back(names_.expr(e));
    std::string text = fmt::format("{}({})", tensor::quoted_name(kernels_.at(call.kernel)), fmt::join(operands, ", "));
    auto operand = [&](int k) {  // its value, or its number where several operands have one value
      const bool once = std::ranges::count(call.operands, call.operands.at(k)) == 1;
      return once ? operands[k] : fmt::format("operand {}", k);
    };
    for (const auto& [written, read] : call.in_place)
      text += fmt::format(", {} may replace {}", operand(written), operand(read));
    if (!call.node.empty()) text += note(call.node);
    line(depth, text);
  }
  // call @layer(%0, %1) -> %2, workspace at 64  # layer1
  void print(const Call& call, int depth) {
    std::vector<std::string> operands, results;
    for (ValueId v : call.operands) operands.push_back(fmt::format("%{}", v));
    for (ValueId v : call.results) results.push_back(fmt::format("%{}", v));
    std::string text = fmt::format("call {}({}) -> {}", tensor::quoted_name(functions_.at(call.function)),
                                   fmt::join(operands, ", "), fmt::join(results, ", "));
    if (const int64_t workspace_at = plan_ ? plan_->workspaces[next_workspace_++] : -1; workspace_at >= 0)
      text += fmt::format(", workspace {} {}", plan_->is_stacked() ? "block" : "at", workspace_at);
    if (!call.node.empty()) text += note(call.node);
    line(depth, text);
  }
  void print(const Copy& copy, int depth) { line(depth, fmt::format("copy(%{}, %{})", copy.from, copy.to)); }
  void print(const Compute& s, int depth) {
    std::string value = names_.expr(s.value);
    line(depth, fmt::format("let {} = {}", declaration(s.result), value));
  }
  void print(const Read& s, int depth) {
    line(depth, fmt::format("let {} = %{}[{}]", declaration(s.result), s.from, s.element));
  }
  void print(const Write& s, int depth) {
    line(depth, fmt::format("%{}[{}] = {}", s.to, s.element, names_.expr(s.value)));
  }
  void print(const Require& s, int depth) {
    line(depth, fmt::format("require {} : {}", names_.expr(s.condition), tensor::text_of(s.status)));
  }
  void print(const CheckSize& s, int depth) { line(depth, fmt::format("check 0 <= {} <= 2^40", dim(s.size))); }
  // let x: i64 = if c { ... yield 1 } else { ... yield 2 }
  void print(const std::shared_ptr<Branch>& branch, int depth) {
    std::string results, then_values, else_values;
    std::string condition = names_.expr(branch->condition);
    for (const Branch::Merge& m : branch->merges) append(results, declaration(m.result));
    line(depth, fmt::format("{}if {} {{", results.empty() ? "" : "let " + results + " = ", condition));
    region(branch->then_region, depth + 1);
    for (const Branch::Merge& m : branch->merges) append(then_values, names_.expr(m.then_value));
    if (!then_values.empty()) line(depth + 1, "yield " + then_values);
    line(depth, "} else {");
    region(branch->else_region, depth + 1);
    for (const Branch::Merge& m : branch->merges) append(else_values, names_.expr(m.else_value));
    if (!else_values.empty()) line(depth + 1, "yield " + else_values);
    line(depth, "}");
  }
  // loop i: i64 = 0 { the test } while i < 10 { the body ... next i + 1 }
  void print(const std::shared_ptr<Loop>& loop, int depth) {
    std::string carried, next;
    for (const Loop::Carried& c : loop->carried) {
      std::string initial = names_.expr(c.initial);
      append(carried, fmt::format("{} = {}", declaration(c.var), initial));
    }
    line(depth, fmt::format("loop {}{{", carried.empty() ? "" : carried + " "));
    region(loop->test, depth + 1);
    line(depth, fmt::format("}} while {} {{", names_.expr(loop->condition)));
    region(loop->body, depth + 1);
    for (const Loop::Carried& c : loop->carried) append(next, names_.expr(c.next));
    if (!next.empty()) line(depth + 1, "next " + next);
    line(depth, "}");
  }

  static void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }
  std::string declaration(const tensor::Var& v) {
    return fmt::format("{}: {}", names_.of(v), tensor::short_name(v->type));
  }

  const Program& program_;
  const StoragePlan* plans_;
  // The current function, the program or one that it calls, and its plan.
  const Function* function_;
  const FunctionPlan* plan_;
  size_t next_workspace_ = 0;                           // of the next call
  const std::vector<std::string> kernels_, functions_;  // their names in the text
  tensor::ExprPrinter names_;                           // of scalars
  std::map<std::string, Dim> renamed_;                  // symbols whose names are no identifiers
  std::string text_;
  size_t counted_ = 0;  // characters of text_ that have been counted
  int lines_ = 0;       // their number of lines
  ProgramText result_;  // without its text
};

}  // namespace

std::string print(const Program& program, const StoragePlan* plan) {
  Printer printer(program, plan);
  printer.print_program();
  return printer.take().text;
}

ProgramText print_with_lines(const Program& program, const StoragePlan& plan) {
  Printer printer(program, &plan);
  printer.print_program();
  printer.print_kernels();
  return printer.take();
}

}  // namespace dlcc::lower
