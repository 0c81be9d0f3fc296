// Imports models with loops and evaluates them by the operators' definitions, as imported and after the graph passes.
#pragma once

#include <algorithm>

#include "relay/evaluate.h"
#include "relay/passes/passes.h"
#include "relay/passes/replace.h"
#include "support.h"

namespace dlcc::frontends::onnx {

inline Constant floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Constant::of<float>(dtype::f32, std::move(shape), values);
}
// A tensor of 0, 1, 2, ...
inline Constant counting(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  std::vector<float> values;
  for (int64_t k = 0; k < count; ++k) values.push_back(static_cast<float>(k));
  return floats(std::move(shape), values);
}
inline Constant integers(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return Constant::of<int64_t>(dtype::i64, std::move(shape), values);
}
inline Constant truth(bool value) { return Constant::of<uint8_t>(dtype::boolean, {}, {value}); }

// A subgraph attribute: subgraph("body", node(...) + value("input", ...)).
inline std::string subgraph(const std::string& name, const std::string& graph) {
  return fmt::format("attribute {{ name: '{}' type: GRAPH g {{ {} }} }} ", name, graph);
}

// The binding that computes a block's result, if it is the last one.
inline const relay::Binding* last_binding(const relay::Block& block) {
  const relay::Var* result = std::get_if<relay::Var>(&block.result);
  bool last = result && !block.bindings.empty() && block.bindings.back().var == *result;
  return last ? &block.bindings.back() : nullptr;
}

inline bool calls(const relay::Binding& b, const relay::Var& function) {
  const relay::Call* call = std::get_if<relay::Call>(&b.op);
  const relay::Var* callee = call ? std::get_if<relay::Var>(&call->callee) : nullptr;
  return callee && *callee == function;
}

// Checks that every local function is a loop: its body ends with an `if` whose first branch ends with the only
// recursive call, and the function has one further use, a call in the block around it.
inline void check_loops(const relay::Block& block) {
  for (const relay::Binding& b : block.bindings) {
    relay::for_each_block(b.op, check_loops);
    const relay::MakeFunction* loop = std::get_if<relay::MakeFunction>(&b.op);
    if (!loop) continue;
    const relay::Block& body = loop->function->body;
    const relay::Binding* end = last_binding(body);
    const relay::If* choice = end ? std::get_if<relay::If>(&end->op) : nullptr;
    REQUIRE(choice);
    const relay::Binding* next = last_binding(*choice->then_block);
    REQUIRE(next);
    CHECK(calls(*next, b.var));
    CHECK(relay::Uses(body)[b.var] == 1);
    CHECK(relay::Uses(block)[b.var] == 2);
    CHECK(std::ranges::count_if(block.bindings, [&](const relay::Binding& c) { return calls(c, b.var); }) == 1);
  }
}

// The shapes and elements of the results, one result per line: "(2): 1 2"; else the diagnostics or the status.
inline std::string results_of(const relay::Module& module, const std::vector<Constant>& args, Diagnostics& d) {
  auto result = relay::evaluate(module, args, tensor::Precision::specified, d);
  if (!result) return "errors:\n" + d.str();
  if (result->status != tensor::Status::ok) return fmt::format("status {}", static_cast<int>(result->status));
  std::string text;
  for (const Constant& c : result->results) {
    text += (text.empty() ? "" : "\n") + str(shape_of(c.shape())) + ":";
    for (int64_t k = 0; k < c.count(); ++k) text += fmt::format(" {:.4g}", c.number_at(k));
  }
  return text;
}

// The results of a model. Checks after every graph pass that loops have their form and that the results are the same.
inline std::string evaluated(const std::vector<std::byte>& bytes, const std::vector<Constant>& args,
                             ImportOptions options = {}) {
  options.file = "m";
  Diagnostics d;
  auto module = import_onnx(bytes, options, d);
  if (!module) return "errors:\n" + d.str();
  const std::string expected = results_of(*module, args, d);
  for (const char* name :
       {"define-sizes", "fold-constants", "simplify-inference", "fold-constants", "eliminate-common-subexpressions",
        "eliminate-dead-code", "fuse", "fuse-line-buffers", "eliminate-dead-code"}) {
    CAPTURE(name);
    auto pass = std::ranges::find(relay::all_passes(), std::string(name), &relay::PassInfo::name);
    relay::PassContext context{.diagnostics = &d, .channel_block = 16};
    *module = pass->run(std::move(*module), context);
    CHECK_MESSAGE(relay::verify(*module, d), d.str());
    check_loops(module->functions.at("main").body);
    CHECK(results_of(*module, args, d) == expected);
  }
  return expected;
}

}  // namespace dlcc::frontends::onnx
