#include "frontends/onnx/operators/unrolled_loop.h"

#include <algorithm>

#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/loop_function.h"
#include "frontends/onnx/operators/subgraphs.h"
#include "frontends/onnx/schema.h"
#include "frontends/onnx/structure.h"

namespace dlcc::frontends::onnx {
namespace {

// Limits of all iterations together: of nodes, and of tensors in the sequences that are carried, since an iteration
// copies a sequence to which it adds a tensor.
constexpr int64_t most_nodes = 200'000, most_carried_tensors = 5'000'000;

class UnrolledLoop {
 public:
  UnrolledLoop(Node& n, const schema::GraphProto& body) : n_(n), body_(body) {
    for (int k = before_carried; k < n.input_count(); ++k) carried_.push_back(n.in(k));
    scanned_.resize(static_cast<size_t>(body.output_size() - 1) - carried_.size());
  }

  Values convert() {
    std::optional<int64_t> count;
    bool again = true;
    if (n_.has(0)) count = known(n_.in(0), "the trip count M");
    if (n_.has(1)) again = known(n_.in(1), "the condition cond").value_or(0) != 0;
    for (int64_t i = 0; again && !n_.failed() && i < count.value_or(INT64_MAX); ++i) {
      for (const Value& v : carried_)
        if (v.structure) carried_tensors_ += static_cast<int64_t>(v.structure->elements.size());
      n_.check(i * std::max(body_.node_size(), 1) < most_nodes && carried_tensors_ < most_carried_tensors,
               DiagnosticId::too_large,
               fmt::format("{} iterations of {} nodes are too many to compile one by one", i, body_.node_size()),
               "carry a tensor and not a sequence, and check that the loop ends");
      auto next = n_.failed() ? std::nullopt : iteration(i);
      if (!next) return {};
      again = *next;
    }
    return n_.failed() ? Values{} : outputs();
  }

 private:
  // The only element of a value that must be known.
  std::optional<int64_t> known(const Value& value, const std::string& what) {
    const relay::KnownValue elements = value.structure ? nullptr : n_.context().builder.known(value);
    if (elements && elements->elements.size() == 1 && elements->elements[0] && elements->elements[0]->is_constant())
      return elements->elements[0]->value();
    n_.fail(
        DiagnosticId::dynamic_shape,
        fmt::format(
            "{} is known only when the program runs, and decides the lengths of the sequences that the loop carries",
            what),
        help_for(elements ? elements->elements[0] : std::nullopt));
    return std::nullopt;
  }

  // How the user can make a number known, which may be an expression of sizes.
  std::string help_for(const std::optional<Dim>& size) const {
    std::vector<std::string> options;
    for (const Symbol& s : size ? size->symbols() : std::vector<Symbol>())
      for (const InputDim& d : n_.context().builder.dims())
        if (d.symbol == s) options.push_back(fmt::format("--dim {}=N", d.name));
    if (!options.empty()) return fmt::format("it depends on a size: {}", fmt::join(options, " "));
    return "make it a constant; for an input of the model: --input NAME=value:3";
  }

  // Imports an iteration; returns whether another one follows.
  std::optional<bool> iteration(int64_t i) {
    Values inputs = {in_declared_rank(n_, integer_scalar(i), body_.input(0)),
                     in_declared_rank(n_, Value::of(Constant::of<uint8_t>(dtype::boolean, {}, {1})), body_.input(1))};
    inputs.insert(inputs.end(), carried_.begin(), carried_.end());
    auto results = n_.context().import_inline(body_, inputs);
    if (!results) return std::nullopt;
    const auto again = known(results->front(), "the condition that the body computes");
    for (size_t k = 0; k < carried_.size(); ++k) carried_[k] = results->at(1 + k);
    for (size_t k = 0; k < scanned_.size(); ++k) scanned_[k].push_back(results->at(1 + carried_.size() + k));
    return again ? std::optional(*again != 0) : std::nullopt;
  }

  Values outputs() {
    Values all = carried_;
    for (size_t k = 0; k < scanned_.size(); ++k)
      all.push_back(n_.wants(static_cast<int>(carried_.size() + k)) ? scan_output(scanned_[k]) : Value::poison());
    return all;
  }

  Value scan_output(const Values& slices) {
    n_.check(!slices.empty(), DiagnosticId::dynamic_shape,
             "the loop has no iteration, so that the shape of the scan output is not known");
    return slices.empty() ? Value::poison() : stacked(n_, slices, 0);
  }

  Node& n_;
  const schema::GraphProto& body_;
  Values carried_;
  int64_t carried_tensors_ = 0;  // in the sequences of all iterations so far
  std::vector<Values> scanned_;  // the slices of each scan output
};

}  // namespace

Values unrolled_loop(Node& n, const schema::GraphProto& body) { return UnrolledLoop(n, body).convert(); }

}  // namespace dlcc::frontends::onnx
