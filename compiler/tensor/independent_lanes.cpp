#include "tensor/independent_lanes.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

using Indices = std::vector<Expr>;

// The variables and the accesses of a loop's body.
struct Body {
  std::set<Var> variables;     // bound in it
  std::set<Buffer> allocated;  // in it
  std::vector<Buffer> written;
  std::map<Buffer, std::vector<Indices>> accesses;

  explicit Body(const For& loop) {
    for_each_stmt(loop.body, [&](const Stmt& s) { visit(s); });
    for_each_root_expr(loop.body, [&](const Expr& e) {
      for (const Load& load : loads_of(e)) accesses[load.buffer].push_back(load.indices);
    });
  }

 private:
  void visit(const Stmt& s) {
    if (const For* inner = as<For>(s)) variables.insert(inner->var);
    if (const Let* let = as<Let>(s)) variables.insert(let->var);
    if (const Allocate* local = as<Allocate>(s)) allocated.insert(local->buffer);
    if (const Store* x = as<Store>(s)) write(x->buffer, x->indices);
    if (const IntrinsicCall* call = as<IntrinsicCall>(s))
      for (const Region& r : call->operands) write(r.buffer, {});
  }

  void write(const Buffer& buffer, const Indices& indices) {
    written.push_back(buffer);
    accesses[buffer].push_back(indices);
  }
};

// Whether iterations access different elements, because dimension `d` has an index of each access that moves by a
// constant stride and all indices are equal or out of reach of each other.
bool separates(const For& loop, const Body& body, const std::vector<Indices>& accesses, size_t d) {
  auto moves = [&](const Indices& i) {
    const std::vector<Var> variables = variables_in(i[d]);
    const bool is_known = std::ranges::none_of(variables, [&](const Var& v) { return body.variables.contains(v); });
    return is_known && loads_of(i[d]).empty() && stride_along(i[d], loop.var).value_or(0) != 0;
  };
  for (size_t a = 0; a < accesses.size(); ++a) {
    if (d >= accesses[a].size() || !moves(accesses[a])) return false;
    for (size_t b = 0; b < a; ++b)
      if (!structurally_equal(accesses[a][d], accesses[b][d]) &&
          !are_out_of_reach(loop, accesses[a][d], accesses[b][d]))
        return false;
  }
  return true;
}

}  // namespace

bool are_out_of_reach(const For& loop, const Expr& a, const Expr& b) {
  const auto extent = constant_integer(loop.extent), distance = constant_integer(simplify(a - b));
  if (!extent || !distance) return false;
  const auto stride = stride_along(a, loop.var);
  return stride && *stride != 0 && std::abs(*distance) >= std::abs(*stride) * *extent;
}

Buffer shared_between_iterations(const For& loop) {
  const Body body(loop);
  for (const Buffer& buffer : body.written) {
    const std::vector<Indices>& accesses = body.accesses.at(buffer);
    bool is_separate = body.allocated.contains(buffer);
    for (size_t d = 0; d < buffer->shape.size() && !is_separate; ++d) is_separate = separates(loop, body, accesses, d);
    if (!is_separate) return buffer;
  }
  return nullptr;
}

}  // namespace dlcc::tensor
