// Prints definitions and kernels in the text form that tensor/parse.h parses.
#include "tensor/analysis.h"
#include "tensor/intrinsic.h"
#include "tensor/print_expr.h"
#include "tensor/print_lines.h"
#include "tensor/text.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Printer : ExprPrinter {
 public:
  Printer() = default;
  // Adds the line of each statement to `lines`, where `first` is the number of the text's first line.
  Printer(int first, StatementLines& lines) : next_line_(first), lines_(&lines) {}

  void stmt(const Stmt&, int indent);
  void function(const TensorFunction&);
  void kernel(const Kernel&);
  std::string signature(const Kernel&);
  std::string take() { return std::move(out_); }

 private:
  std::string dim(const Dim&);
  std::string shape(const Shape&);
  std::string declaration(const Buffer& b);
  std::string declaration(const Var& scalar) {
    return fmt::format("scalar {}: {}", of(scalar), short_name(scalar->type));
  }
  std::string axes(const std::vector<Axis>&);
  void stage(const Stage&);
  std::string reduction(const Reduction&, const std::vector<Expr>& values);
  void line(int indent, const std::string& text) {
    out_ += std::string(2 * indent, ' ') + text + "\n";
    ++next_line_;
  }
  void block(const Stmt& s, int indent) {
    Mark m = mark();
    if (s) stmt(s, indent);
    release(m);
  }

  std::string out_;
  int next_line_ = 1;
  StatementLines* lines_ = nullptr;  // null: lines are not recorded
};

// ---- declarations ---------------------------------------------------------------------------------------------------

// A dimension with its symbols under the names of their variables in this text.
std::string Printer::dim(const Dim& d) {
  std::map<std::string, Dim> renamed;
  for (Symbol s : d.symbols()) {
    std::string name = of(scalar_of(s));
    if (name != s.name) renamed.emplace(s.name, Dim::symbol({name, s.low, s.high}));
  }
  return (renamed.empty() ? d : d.substitute(renamed)).str();
}

std::string Printer::shape(const Shape& shape) {
  std::string s;
  for (const Dim& d : shape) s += (s.empty() ? "" : ", ") + dim(d);
  return "[" + s + "]";
}

// "x: f32[1, n] strides [64, 1] align 64"
std::string Printer::declaration(const Buffer& b) {
  std::string s = fmt::format("{}: {}{}", of(b), short_name(b->type), shape(b->shape));
  if (!b->strides.empty()) s += fmt::format(" strides [{}]", fmt::join(b->strides, ", "));
  if (b->alignment) s += fmt::format(" align {}", b->alignment);
  return s;
}

std::string Printer::axes(const std::vector<Axis>& list) {
  std::string s;
  for (const Axis& a : list) s += fmt::format("{}{} < {}", s.empty() ? "" : ", ", of(a.var), dim(a.extent));
  return s;
}

// ---- definitions ----------------------------------------------------------------------------------------------------

std::string Printer::reduction(const Reduction& r, const std::vector<Expr>& values) {
  ReducerKind kind = reducer_kind(r);
  if (kind != ReducerKind::other) {
    Reduction plain = named_reduction(kind, {}, r.left[0]->type);
    Expr combined = substitute(plain.combined[0], {{plain.left[0], r.left[0]}, {plain.right[0], r.right[0]}});
    if (!structurally_equal(combined, r.combined[0]) || !structurally_equal(plain.identity[0], r.identity[0]))
      kind = ReducerKind::other;
  }
  std::string s = fmt::format("{}({}) {{ {} }}", text_of(kind), axes(r.axes), list(values));
  if (kind != ReducerKind::other) return s;
  Mark m = mark();
  auto names = [&](const std::vector<Var>& vars) {
    std::string t;
    for (const Var& v : vars) t += fmt::format("{}{}: {}", t.empty() ? "" : ", ", of(v), short_name(v->type));
    return t;
  };
  std::string left = names(r.left), right = names(r.right);
  s += fmt::format(" combine ({}), ({}) {{ {} }} identity {{ {} }}", left, right, list(r.combined), list(r.identity));
  release(m);
  return s;
}

void Printer::stage(const Stage& s) {
  for (const Buffer& b : s.results)
    if (!is_named(b)) line(1, "temp " + declaration(b));
  std::string target;
  for (const Buffer& b : s.results) target += (target.empty() ? "" : ", ") + of(b);
  if (s.results.size() != 1) target = "(" + target + ")";
  Mark m = mark();
  if (s.body) {
    line(1, target + " = {");
    block(s.body, 2);
    line(1, "}");
    return release(m);
  }
  std::string box;
  for (size_t d = 0; d < s.axes.size(); ++d) {
    box += fmt::format("{}{} < {}", d ? ", " : "", of(s.axes[d].var), dim(s.axes[d].extent));
    if (!s.origin.empty()) box += " at " + dim(s.origin[d]);
  }
  std::string value;
  if (s.reduction) {
    for (const Axis& a : s.reduction->axes) of(a.var);
    value = reduction(*s.reduction, s.values);
  } else {
    value = list(s.values);
  }
  line(1, fmt::format("{}[{}] = {}", target, box, value));
  for (const Requirement& q : s.requirements)
    line(2, fmt::format("require {} : {}", expr(q.condition), text_of(q.status)));
  release(m);
}

void Printer::function(const TensorFunction& f) {
  Shape used;
  for (const Symbol& s : symbols_of(f)) used.push_back(Dim::symbol(s));
  auto list = [&](const std::vector<Buffer>& buffers) {
    std::string s;
    for (const Buffer& b : buffers) s += (s.empty() ? "" : ", ") + declaration(b);
    return s;
  };
  std::string header = "tensor " + quoted_name(f.name) + symbols({used});
  std::string params = list(f.params);
  for (const Var& v : f.scalars) params += (params.empty() ? "" : ", ") + declaration(v);
  header += fmt::format("({})", params);
  header += fmt::format(" -> ({}) {{", list(f.results));
  line(0, header);
  for (const Stage& s : f.stages) stage(s);
  line(0, "}");
}

// ---- kernels --------------------------------------------------------------------------------------------------------

void Printer::stmt(const Stmt& s, int indent) {
  if (lines_ && !as<Sequence>(s)) lines_->add(s, next_line_);
  std::visit(
      overloaded{
          [&](const For& x) {
            std::string extent = expr(x.extent);
            Mark m = mark();
            line(indent, fmt::format("{} {} in {} {{", text_of(x.kind), of(x.var), extent));
            stmt(x.body, indent + 1);
            line(indent, "}");
            release(m);
          },
          [&](const Sequence& x) {
            for (size_t i = 0; i < x.body.size(); ++i) {
              bool declares = as<Let>(x.body[i]) || as<Allocate>(x.body[i]);
              if (declares && i + 1 < x.body.size()) {
                line(indent, "{");
                block(x.body[i], indent + 1);
                line(indent, "}");
              } else {
                stmt(x.body[i], indent);
              }
            }
          },
          [&](const Store& x) {
            std::string target = of(x.buffer), indices = list(x.indices);
            line(indent, fmt::format("{}[{}] = {}", target, indices, expr(x.value)));
          },
          [&](const Let& x) {
            std::string value = expr(x.value);
            line(indent, fmt::format("let {} = {}", of(x.var), value));
            if (x.body) stmt(x.body, indent);
          },
          [&](const Allocate& x) {
            line(indent, fmt::format("alloc {} {}",
                                     x.buffer->scope == Scope::reg     ? "reg"
                                     : x.buffer->scope == Scope::local ? "local"
                                                                       : "global",
                                     declaration(x.buffer)));
            if (x.body) stmt(x.body, indent);
          },
          [&](const IfThen& x) {
            line(indent, fmt::format("if {} {{", expr(x.condition)));
            block(x.then_body, indent + 1);
            if (x.else_body) {
              line(indent, "} else {");
              block(x.else_body, indent + 1);
            }
            line(indent, "}");
          },
          [&](const Require& x) { line(indent, fmt::format("require {} : {}", expr(x.condition), text_of(x.status))); },
          [&](const Prefetch& x) {
            std::string target = of(x.buffer);
            std::string_view cache = x.cache == CacheLevel::second ? " : l2" : "";
            line(indent, fmt::format("prefetch {}[{}]{}", target, list(x.indices), cache));
          },
          [&](const IntrinsicCall& x) {
            std::string operands;
            for (const Region& r : x.operands)
              operands += fmt::format("{}{}[{}]", operands.empty() ? "" : ", ", of(r.buffer), list(r.begin));
            line(indent, fmt::format("call {}({})", x.intrinsic->name, operands));
          },
          [&](const Outline& x) {
            line(indent, "outline {");
            block(x.body, indent + 1);
            line(indent, "}");
          },
      },
      s->v);
}

// "kernel @k<n in 1..>(read x: f32[n], write y: f32[n], scalar t: i64)"
std::string Printer::signature(const Kernel& k) {
  std::vector<Shape> shapes;
  for (const Parameter& p : k.params) shapes.push_back(p.buffer->shape);
  for (const Var& v : k.scalars)
    if (is_symbol_var(v)) shapes.push_back({Dim::symbol({v->name})});
  std::string header = "kernel " + quoted_name(k.name) + symbols(shapes), params;
  for (const Parameter& p : k.params) {
    std::string_view access = p.access == Access::read ? "read" : p.access == Access::write ? "write" : "scratch";
    params += fmt::format("{}{} {}", params.empty() ? "" : ", ", access, declaration(p.buffer));
  }
  for (const Var& v : k.scalars)
    if (!is_symbol_var(v)) params += (params.empty() ? "" : ", ") + declaration(v);
  return fmt::format("{}({})", header, params);
}

void Printer::kernel(const Kernel& k) {
  line(0, signature(k) + " {");
  block(k.body, 1);
  line(0, "}");
}

}  // namespace

std::string print(const Expr& e) { return e ? ExprPrinter().expr(e) : "<none>"; }

std::string print(const Stmt& s, int indent) {
  Printer p;
  if (s) p.stmt(s, indent);
  return p.take();
}

std::string print(const TensorFunction& f) {
  Printer p;
  p.function(f);
  return p.take();
}

std::string print(const Kernel& k) {
  Printer p;
  p.kernel(k);
  return p.take();
}

std::string print_signature(const Kernel& k) { return Printer().signature(k); }

std::string print(const Kernel& k, int first_line, StatementLines& lines) {
  Printer p(first_line, lines);
  p.kernel(k);
  return p.take();
}

std::string str(const Layout& layout) {
  std::string text;
  for (const Layout::Part& p : layout.parts) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", p.axis);
    if (p.divisor != 1) text += fmt::format("/{}", p.divisor);
    const std::string extent = p.extent.str();
    const bool is_word = extent.find_first_of(" (") == std::string::npos;
    text += is_word ? ":" + extent : ":(" + extent + ")";
    if (p.halo) text += fmt::format("+{}", p.halo);
  }
  if (layout.tail == Layout::Tail::zero) text += " zero";
  if (layout.tail == Layout::Tail::unspecified) text += " unspecified";
  return text;
}

}  // namespace dlcc::tensor
