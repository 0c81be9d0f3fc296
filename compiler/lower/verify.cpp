// The rules of programs. Those of storage, of reads before writes and of overlapping operands are in check_plan.cpp.
//
// Values
//   * A view's base exists and is no view. A view that begins at a scalar has a positive stride.
//   * Sizes are over the symbols of the program's dims, input sizes and data sizes, which are distinct. Requirements on
//     sizes, the bounds of data sizes, and the sizes in functions are over those of the dims and the input sizes.
//   * `entry` reads elements of inputs with static shapes, computes scalars and requires conditions, and does nothing
//     else. It defines the symbols of the input sizes.
// Functions
//   * A function calls those before it. Its inputs and outputs have this storage, in their order.
//   * A call has one operand for each input and one result for each output, of their types and sizes.
// Kernels
//   * The scalar parameters that are symbols are the last ones, in the order of their names.
// Steps
//   * Values and kernels that a step names exist. A call has one operand for each parameter of the kernel.
//   * A call has one scalar for each scalar parameter, of its type, for all variants of the kernel.
//   * An element that is read into or written from a scalar has the scalar's type, and is inside of the value.
// Scalars
//   * A scalar is defined once, before its uses, in the region of the use or in one around it. The carried scalars of a
//     loop and those of its test are visible after the loop.
//   * Expressions over scalars have no loads and no errors of type. Conditions are bool, a view begins at an int64.
//   * A scalar has the type of the expressions that define it.
#include "lower/verify.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lower/walk.h"
#include "tensor/type_rules.h"
#include "tensor/visit.h"

namespace dlcc::lower {
namespace {

class Verifier {
 public:
  Verifier(const Program& program, Diagnostics& diagnostics) : program_(program), diagnostics_(diagnostics) {}

  void run() {
    Scope scope;
    for (const InputDim& d : program_.dims) define(scalar_of(d.symbol), scope);
    entry(scope);
    for_each_function(program_, [&](const Function& f) {
      for (const Dim& d : f.checked_sizes) check_symbols("a checked size", d);
    });
    for (const DataSize& d : program_.data_sizes) {
      for (const Dim* bound : {&d.most, &d.then_most, &d.else_most})
        for (const Symbol& s : bound->symbols())
          expect(is_given(s), "the bound of the size {} depends on {}, which no input gives", d.symbol.name, s.name);
      expect(!scope.contains(scalar_of(d.symbol)), "the input gives the size {}", d.symbol.name);
    }
    for (const Require& r : program_.requirements)
      expression(r.condition, dtype::boolean, scope, "a requirement on sizes");
    for (const KernelVariants& kernel : program_.kernels)
      for (const tensor::Kernel& variant : kernel.variants) check_scalars(variant, kernel.name);
    for (const Function& f : program_.functions) function(f, scope);
    function(program_, scope);
  }

 private:
  using Scope = std::set<tensor::Var>;

  void function(const Function& f, Scope scope) {
    function_ = &f;
    for (ValueId v = 0; v < static_cast<ValueId>(f.values.size()); ++v) check_value(v);
    interface(f.inputs, Storage::input);
    interface(f.outputs, Storage::output);
    region(f.body, scope);
  }

  void interface(const std::vector<ValueId>& list, Storage storage) {
    for (size_t k = 0; k < list.size(); ++k) {
      if (!exists(list[k])) continue;
      const Value& v = value_of(list[k]);
      expect(v.storage == storage && std::cmp_equal(v.index, k), "%{} is not the {} {}", list[k],
             storage == Storage::input ? "input" : "output", k);
    }
  }

  bool is_program() const { return function_ == static_cast<const Function*>(&program_); }
  const Value& value_of(ValueId v) const { return function_->values[static_cast<size_t>(v)]; }

  template <class... A>
  bool expect(bool holds, fmt::format_string<A...> format, A&&... args) {
    if (!holds)
      diagnostics_.error(DiagnosticId::invalid_ir, {.node = "program"}, fmt::format(format, std::forward<A>(args)...));
    return holds;
  }

  bool exists(ValueId v) {
    return expect(v >= 0 && v < static_cast<ValueId>(function_->values.size()), "there is no value %{}", v);
  }

  void check_value(ValueId v) {
    const Value& value = value_of(v);
    for (const Dim& d : value.shape) check_symbols(fmt::format("the shape of %{}", v), d);
    check_symbols(fmt::format("the size of %{}", v), value.bytes);
    if (value.storage != Storage::view) return;
    if (exists(value.base)) expect(value_of(value.base).storage != Storage::view, "%{} is a view of a view", v);
    if (value.begin) expect(value.stride > 0, "%{} begins at a scalar with a stride of {} bytes", v, value.stride);
  }

  void check_symbols(const std::string& what, const Dim& size) {
    for (const Symbol& s : size.symbols())
      expect(is_given(s) || (is_program() && std::ranges::count(program_.data_sizes, s, &DataSize::symbol) > 0),
             "{} depends on {}, which neither an input nor data give", what, s.name);
  }
  bool is_given(const Symbol& s) const { return std::ranges::count(entry_symbols(program_), s) > 0; }

  // Adds the symbols of the input sizes to `scope`.
  void entry(Scope& scope) {
    Scope inner = scope;
    for (const Step& s : program_.entry.steps) {
      const auto* read = std::get_if<Read>(&s);
      const bool is_input = read && exists(read->from) &&
                            program_.values[static_cast<size_t>(read->from)].storage == Storage::input &&
                            is_static(program_.values[static_cast<size_t>(read->from)].shape);
      if (expect(is_input || std::holds_alternative<Compute>(s) || std::holds_alternative<Require>(s),
                 "the entry has a step that is none of a read of an input, a computation and a requirement"))
        std::visit([&](const auto& x) { step(x, inner); }, s);
    }
    for (const Symbol& s : program_.input_sizes)
      if (expect(inner.contains(scalar_of(s)), "the entry does not define the size {}", s.name))
        scope.insert(scalar_of(s));
  }

  void check_scalars(const tensor::Kernel& kernel, const std::string& name) {
    auto first = std::ranges::find_if(kernel.scalars, tensor::is_symbol_var);
    expect(
        std::all_of(first, kernel.scalars.end(), tensor::is_symbol_var) &&
            std::is_sorted(first, kernel.scalars.end(), [](const auto& a, const auto& b) { return a->name < b->name; }),
        "the symbols of {} are not its last scalar parameters, in the order of their names", name);
  }

  // ---- scalars

  void expression(const tensor::Expr& e, DType type, const Scope& scope, const char* what) {
    if (!expect(bool(e), "{} is missing", what)) return;
    expect(e.type() == type, "{} has type {} instead of {}: {}", what, name(e.type()), name(type), print(e));
    tensor::for_each_expr(e, [&](const tensor::Expr& part) {
      if (const auto* ref = tensor::as<tensor::VarRef>(part))
        expect(scope.contains(ref->var), "{} uses the scalar {}, which is not visible", what, ref->var->name);
      expect(!tensor::as<tensor::Load>(part), "{} has a load: {}", what, print(e));
      tensor::check_types(part, [&](const std::string& error) { expect(false, "{}: {}", what, error); });
    });
  }

  void define(const tensor::Var& v, Scope& scope) {
    scope.insert(v);
    expect(defined_.insert(v).second, "the scalar {} is defined twice", v->name);
  }

  // ---- steps

  void use(ValueId v, const Scope& scope) {
    if (!exists(v)) return;
    const Value& value = value_of(v);
    if (value.begin) expression(value.begin, dtype::i64, scope, "the index of a view");
  }

  void element(ValueId v, int64_t index, DType type) {
    if (!exists(v)) return;
    const Value& value = value_of(v);
    expect(value.type == type, "an element of %{} has type {}, its scalar {}", v, name(value.type), name(type));
    expect(index >= 0 && provably_le(Dim(storage_bytes(value.type, index + 1)), value.bytes), "%{} has no element {}",
           v, index);
  }

  // Adds the scalars that the region defines to `scope`.
  void region(const Region& r, Scope& scope) {
    for (const Step& s : r.steps) std::visit([&](const auto& x) { step(x, scope); }, s);
  }

  void step(const Invoke& x, Scope& scope) {
    for (ValueId v : x.operands) use(v, scope);
    bool known = x.kernel >= 0 && x.kernel < static_cast<int>(program_.kernels.size());
    if (!expect(known, "there is no kernel {}", x.kernel)) return;
    const KernelVariants& kernel = program_.kernels[static_cast<size_t>(x.kernel)];
    for (const tensor::Kernel& variant : kernel.variants) {
      expect(variant.params.size() == x.operands.size(), "{} operands for {} parameters of {}", x.operands.size(),
             variant.params.size(), kernel.name);
      if (!expect(variant.scalars.size() == x.scalars.size(), "{} scalars for {} scalar parameters of {}",
                  x.scalars.size(), variant.scalars.size(), kernel.name))
        return;
      for (size_t k = 0; k < x.scalars.size(); ++k)
        expression(x.scalars[k], variant.scalars[k]->type, scope, "the operand of a scalar parameter");
    }
  }
  void step(const Copy& x, Scope& scope) { use(x.from, scope), use(x.to, scope); }
  void step(const Compute& x, Scope& scope) {
    expression(x.value, x.result->type, scope, "the value of a scalar");
    define(x.result, scope);
  }
  void step(const Read& x, Scope& scope) {
    use(x.from, scope);
    element(x.from, x.element, x.result->type);
    define(x.result, scope);
  }
  void step(const Write& x, Scope& scope) {
    use(x.to, scope);
    if (expect(bool(x.value), "a stored scalar is missing")) element(x.to, x.element, x.value.type());
    if (x.value) expression(x.value, x.value.type(), scope, "a stored scalar");
  }
  void step(const Call& x, Scope& scope) {
    const auto own = is_program() ? program_.functions.size() : static_cast<size_t>(function_ - &program_.functions[0]);
    if (!expect(x.function >= 0 && std::cmp_less(x.function, own), "there is no function {} before its caller",
                x.function))
      return;
    const Function& callee = program_.functions[static_cast<size_t>(x.function)];
    passed(x.operands, callee, callee.inputs, "operands", scope);
    passed(x.results, callee, callee.outputs, "results", scope);
  }
  void passed(const std::vector<ValueId>& list, const Function& callee, const std::vector<ValueId>& formal,
              const char* what, const Scope& scope) {
    if (!expect(list.size() == formal.size(), "{} {} for {} of @{}", list.size(), what, formal.size(), callee.name))
      return;
    for (size_t k = 0; k < list.size(); ++k) {
      use(list[k], scope);
      if (!exists(list[k]) || formal[k] < 0 || std::cmp_greater_equal(formal[k], callee.values.size())) continue;
      const Value &given = value_of(list[k]), &wanted = callee.values[static_cast<size_t>(formal[k])];
      expect(given.type == wanted.type && given.bytes == wanted.bytes, "%{} has {} and {} bytes, @{} takes {} and {}",
             list[k], name(given.type), given.bytes.str(), callee.name, name(wanted.type), wanted.bytes.str());
    }
  }
  void step(const Require& x, Scope& scope) { expression(x.condition, dtype::boolean, scope, "a requirement"); }
  void step(const CheckSize& x, Scope& scope) {
    check_symbols("a checked size", x.size);
    if (expect(!x.size.is_overflow(), "a checked size does not fit 64 bits"))
      expression(tensor::Expr(x.size), dtype::i64, scope, "a checked size");
  }

  void step(const std::shared_ptr<Branch>& x, Scope& scope) {
    expression(x->condition, dtype::boolean, scope, "the condition of a branch");
    Scope then_scope = scope, else_scope = scope;
    region(x->then_region, then_scope);
    region(x->else_region, else_scope);
    for (const Branch::Merge& m : x->merges) {
      expression(m.then_value, m.result->type, then_scope, "the result of a branch");
      expression(m.else_value, m.result->type, else_scope, "the result of a branch");
      define(m.result, scope);
    }
  }
  void step(const std::shared_ptr<Loop>& x, Scope& scope) {
    for (const Loop::Carried& c : x->carried) expression(c.initial, c.var->type, scope, "the initial value of a loop");
    for (const Loop::Carried& c : x->carried) define(c.var, scope);
    region(x->test, scope);
    expression(x->condition, dtype::boolean, scope, "the condition of a loop");
    Scope inner = scope;
    region(x->body, inner);
    for (const Loop::Carried& c : x->carried) expression(c.next, c.var->type, inner, "the next value of a loop");
  }

  const Program& program_;
  const Function* function_ = &program_;  // the one that is checked
  Diagnostics& diagnostics_;
  Scope defined_;
};

}  // namespace

bool verify(const Program& program, Diagnostics& diagnostics) {
  size_t before = diagnostics.error_count();
  Verifier(program, diagnostics).run();
  return diagnostics.error_count() == before;
}

void check_verified(const Program& program, std::string_view pass) {
  Diagnostics found;
  DLCC_CHECK(verify(program, found), "after {}:\n{}", pass, found.str());
}

}  // namespace dlcc::lower
