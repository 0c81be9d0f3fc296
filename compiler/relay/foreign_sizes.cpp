#include "relay/foreign_sizes.h"

#include <algorithm>
#include <vector>

#include "relay/types_in.h"
#include "relay/visit.h"

namespace dlcc::relay {

namespace {

using SizeNames = std::set<std::string>;

SizeNames sizes_in(const Type& type, const SizeNames& own) {
  SizeNames found;
  if (type)
    for_each_symbol(type, [&](const Symbol& s) {
      if (own.contains(s.name)) found.insert(s.name);
    });
  return found;
}

// Visits functions with the sizes that those around them have.
class Functions {
 public:
  using VisitParameter = std::function<void(const Var&, const SizeNames& around)>;
  using VisitBinding = std::function<void(const Binding&, const SizeNames& around)>;
  Functions(const SizeNames& own, VisitParameter visit_parameter, VisitBinding visit_binding)
      : own_(own), visit_parameter_(std::move(visit_parameter)), visit_binding_(std::move(visit_binding)) {}

  void visit(const Function& function) {
    std::vector<std::string> of_tensors;
    for (const Var& p : function.params) {
      visit_parameter_(p, around_);
      for_each_field(p->type, [&](const Type& field) {
        if (as<TensorType>(field)) std::ranges::copy(sizes_in(field, own_), std::back_inserter(of_tensors));
      });
    }
    std::erase_if(of_tensors, [&](const std::string& size) { return !around_.insert(size).second; });
    visit(function.body);
    for (const std::string& size : of_tensors) around_.erase(size);
  }

 private:
  void visit(const Block& block) {
    for (const Binding& b : block.bindings) {
      visit_binding_(b, around_);
      if (const MakeFunction* made = std::get_if<MakeFunction>(&b.op))
        visit(*made->function);
      else
        for_each_block(b.op, [&](const Block& inner) { visit(inner); });
    }
  }

  const SizeNames& own_;
  const VisitParameter visit_parameter_;
  const VisitBinding visit_binding_;
  SizeNames around_;
};

bool includes(const SizeNames& all, const SizeNames& some) { return std::ranges::includes(all, some); }

// Whether values of the type have sizes that are not known. A function has those of its result only.
bool has_foreign_sizes(const Type& type, const SizeNames& own, const SizeNames& known) {
  auto is_foreign = [&](const Type& part) { return has_foreign_sizes(part, own, known); };
  if (const TupleType* tuple = as<TupleType>(type)) return std::ranges::any_of(tuple->fields, is_foreign);
  if (const DataType* data = as<DataType>(type)) return std::ranges::any_of(data->args, is_foreign);
  if (const RefType* ref = as<RefType>(type)) return is_foreign(ref->value);
  const FunctionType* function = as<FunctionType>(type);
  if (!function) return !includes(known, sizes_in(type, own));
  SizeNames all = known;
  for (const Type& param : function->params) all.merge(sizes_in(param, own));
  return has_foreign_sizes(function->result, own, all);
}

// Removes the types with these sizes of variables and results, but not of parameters.
void remove_types(Function& function, const SizeNames& own);

void remove_types(Block& block, const SizeNames& own) {
  for (Binding& b : block.bindings) {
    if (!sizes_in(b.var->type, own).empty()) b.var->type = nullptr;
    if (MakeFunction* made = std::get_if<MakeFunction>(&b.op)) {
      remove_types(*made->function, own);
      continue;
    }
    if (Match* match = std::get_if<Match>(&b.op))
      for (const Clause& c : match->clauses)
        for_each_variable(c.pattern, [&](const Var& v) {
          if (!sizes_in(v->type, own).empty()) v->type = nullptr;
        });
    for_each_block(b.op, [&](Block& inner) { remove_types(inner, own); });
  }
}

void remove_types(Function& function, const SizeNames& own) {
  if (!sizes_in(function.result_type, own).empty()) function.result_type = nullptr;
  remove_types(function.body, own);
}

}  // namespace

void forget_foreign_sizes(Module& module, const SizeNames& own,
                          const std::function<Type(const Type&, const SizeNames& sizes)>& forget) {
  for (auto& [name, function] : module.functions) {
    bool is_changed = false;
    auto forget_sizes = [&](const Var& param, const SizeNames& around) {
      std::function<Type(const Type&)> without_foreign = [&](const Type& type) {
        if (const TupleType* tuple = as<TupleType>(type)) {
          std::vector<Type> fields;
          std::ranges::transform(tuple->fields, std::back_inserter(fields), without_foreign);
          return fields == tuple->fields ? type : tuple_type(std::move(fields));
        }
        SizeNames foreign = as<DataType>(type) ? sizes_in(type, own) : SizeNames();
        std::erase_if(foreign, [&](const std::string& size) { return around.contains(size); });
        return foreign.empty() ? type : forget(type, foreign);
      };
      const Type type = without_foreign(param->type);
      is_changed |= type != param->type;
      param->type = type;
    };
    Functions(own, forget_sizes, [](const Binding&, const SizeNames&) {}).visit(function);
    if (is_changed) remove_types(function, own);
  }
}

void find_foreign_sizes(const Module& module, const SizeNames& own, const std::function<void(const Binding&)>& report) {
  auto find = [&](const Binding& b, const SizeNames& around) {
    const bool is_function = std::holds_alternative<MakeFunction>(b.op);
    if (!is_function && has_foreign_sizes(b.var->type, own, around)) report(b);
  };
  for (const auto& [name, function] : module.functions)
    Functions(
        own, [](const Var&, const SizeNames&) {}, find)
        .visit(function);
}

}  // namespace dlcc::relay
