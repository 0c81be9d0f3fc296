// Imports a part of a graph once more, for other values of some names: what Gradient differentiates. The part may reach
// over the graphs around the node's.
#include <algorithm>

#include "frontends/onnx/importer.h"

namespace dlcc::frontends::onnx {

namespace {

// The scopes of one graph: that of its nodes, which is the last, and before it those of earlier imports of a part.
struct Level {
  Scope *first, *graph;
};

// Those of a node's graph, and then of the graphs around it.
std::vector<Level> levels_of(Scope& innermost) {
  std::vector<Level> levels;
  for (Scope* scope = &innermost; scope; scope = scope->outer) {
    Scope* first = scope;
    while (!scope->nodes && scope->outer) scope = scope->outer;
    levels.push_back({first, scope});
  }
  return levels;
}

class Part {
 public:
  using Name = std::pair<size_t, std::string>;  // with the level of the graph that defines it
  struct Node {
    size_t level;
    int number;  // in its graph
  };

  explicit Part(const std::vector<Level>& levels) : levels_(levels), produced_(levels.size()) {
    for (size_t k = 0; k < levels.size(); ++k)
      for (const schema::NodeProto& node : nodes_of(k))
        for (const std::string& output : node.output()) produced_[k].insert(output);
  }

  // The graph that defines a name which is used in the graph of a level.
  std::optional<Name> resolve(size_t level, const std::string& name) const {
    for (size_t k = level; k < levels_.size(); ++k)
      if (defines(k, name)) return Name(k, name);
    return std::nullopt;
  }

  // The nodes that compute the named value from the given ones, directly or through others: those of outer graphs
  // first, each graph's in evaluation order.
  std::vector<Node> between(const std::set<Name>& given, const Name& name) const {
    struct Candidate {
      Node node;
      std::set<Name> inputs, outputs;
    };
    auto any_in = [](const std::set<Name>& names, const std::set<Name>& set) {
      return std::ranges::any_of(names, [&](const Name& n) { return set.contains(n); });
    };
    std::set<Name> dependent = given, needed = {name};
    std::vector<Candidate> candidates;
    for (size_t level = levels_.size(); level-- > 0;)
      for (const int k : evaluation_order(nodes_of(level)).sorted) {
        Candidate c{{level, k}, {}, {}};
        for (const std::string& used : names_used(nodes_of(level)[k]))
          if (auto from = resolve(level, used)) c.inputs.insert(*from);
        if (!any_in(c.inputs, dependent)) continue;
        for (const std::string& output : nodes_of(level)[k].output())
          if (const Name own(level, output); !output.empty() && !given.contains(own)) c.outputs.insert(own);
        dependent.insert(c.outputs.begin(), c.outputs.end());
        candidates.push_back(std::move(c));
      }
    std::vector<Node> nodes;
    for (auto c = candidates.rbegin(); c != candidates.rend(); ++c) {
      if (!any_in(c->outputs, needed)) continue;
      for (const Name& input : c->inputs)
        if (!given.contains(input)) needed.insert(input);
      nodes.push_back(c->node);
    }
    std::ranges::reverse(nodes);
    return nodes;
  }

  const NodeList& nodes_of(size_t level) const { return *levels_[level].graph->nodes; }

 private:
  bool defines(size_t level, const std::string& name) const {
    if (produced_[level].contains(name)) return true;
    for (const Scope* scope = levels_[level].first;; scope = scope->outer) {
      if (scope->values.contains(name) || scope->initializers.contains(name)) return true;
      if (scope == levels_[level].graph) return false;
    }
  }

  const std::vector<Level>& levels_;
  std::vector<std::set<std::string>> produced_;  // by the nodes of each level
};

// Scopes for the values of the part, one before those of each graph, while it lives.
class PartScopes {
 public:
  explicit PartScopes(const std::vector<Level>& levels) : levels_(levels), scopes_(levels.size()) {
    for (size_t k = 0; k < levels.size(); ++k) {
      scopes_[k].outer = levels[k].first;
      scopes_[k].declared = levels[k].graph->declared;
      if (k + 1 < levels.size()) levels[k].graph->outer = &scopes_[k + 1];
    }
  }
  ~PartScopes() {
    for (size_t k = 0; k + 1 < levels_.size(); ++k) levels_[k].graph->outer = levels_[k + 1].first;
  }
  PartScopes(const PartScopes&) = delete;
  PartScopes& operator=(const PartScopes&) = delete;

  Scope& operator[](size_t level) { return scopes_[level]; }

 private:
  const std::vector<Level>& levels_;
  std::vector<Scope> scopes_;
};

}  // namespace

std::optional<Value> Importer::import_again(const std::string& name, const std::map<std::string, Value>& given,
                                            Scope& innermost, const Body& body, const SourceLocation& location) {
  constexpr int most_levels = 16;  // of nodes that are imported again and import others again
  constexpr int64_t most_nodes = 200000;
  const std::vector<Level> levels = levels_of(innermost);
  const Part part(levels);
  auto resolved = [&](const std::string& of) {
    auto found = part.resolve(0, of);
    if (!found)
      diagnostics_.error(DiagnosticId::undefined_value, location, fmt::format("nothing defines '{}'", of), {},
                         remedy_for_name(of, innermost, nothing_produces));
    return found;
  };
  std::map<Part::Name, Value> values;
  std::set<Part::Name> names;
  for (const auto& [of, value] : given)
    if (const auto found = resolved(of)) {
      values.emplace(*found, value);
      names.insert(*found);
    }
  const auto target = resolved(name);
  if (!target || names.size() < given.size()) return std::nullopt;
  const std::vector<Part::Node> nodes = part.between(names, *target);
  inlined_ += static_cast<int64_t>(nodes.size());
  if (again_ >= most_levels || inlined_ > most_nodes) {
    diagnostics_.error(DiagnosticId::too_large, location, "derivatives of derivatives expand to too many nodes");
    return std::nullopt;
  }
  PartScopes scopes(levels);
  for (const auto& [of, value] : values) {
    scopes[of.first].values.emplace(of.second, value);
    scopes[of.first].given.insert(of.second);
  }
  ++again_;
  for (const Part::Node& node : nodes) {
    const Body of_graph{body.opsets, body.attributes, levels[node.level].graph->path, body.calls};
    import_node(part.nodes_of(node.level)[node.number], scopes[node.level], of_graph);
  }
  --again_;
  return lookup(name, scopes[0]);
}

}  // namespace dlcc::frontends::onnx
