#include "relay/check_matches.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace dlcc::relay {
namespace {

constexpr int64_t most_steps = 1'000'000;  // of one match, for its arms and for what they leave; a step visits a row

// The values that begin with one constructor, or all tuples of one length.
struct Head {
  const DataTypeDef* type = nullptr;  // null for tuples
  size_t index = 0;                   // of the constructor in its type
  size_t fields = 0;
};

// One pattern for each column; null fits everything.
using Row = std::vector<const Pattern*>;
using Witness = std::vector<std::string>;  // a pattern for each column, as text

class Matrix {
 public:
  explicit Matrix(const Module& module) {
    for (const auto& [name, type] : module.data_types)
      for (size_t k = 0; k < type.constructors.size(); ++k)
        heads_.emplace(type.constructors[k].name, Head{&type, k, type.constructors[k].fields.size()});
  }

  void begin() { steps_ = 0; }
  bool is_exhausted() const { return steps_ > most_steps; }

  // Patterns of `columns` values that no row fits; empty if there are none. The last column is looked at first.
  std::optional<Witness> unmatched(const std::vector<Row>& rows, size_t columns) {
    steps_ += static_cast<int64_t>(rows.size()) + 1;
    if (is_exhausted() || (columns == 0 && !rows.empty())) return std::nullopt;
    if (rows.empty()) return Witness(columns, "_");
    std::map<size_t, Head> present = heads_in(rows);
    if (present.size() < heads_of_type(present)) {
      auto rest = unmatched(default_rows(rows), columns - 1);
      if (rest) rest->push_back(missing(present));
      return rest;
    }
    for (auto& [index, part] : split(rows, present))
      if (auto found = unmatched(part, columns - 1 + present.at(index).fields))
        return with_head(std::move(*found), present.at(index));
    return std::nullopt;
  }

  // Whether a value that fits `row` fits none of `rows`.
  bool is_useful(const std::vector<Row>& rows, const Row& row) {
    steps_ += static_cast<int64_t>(rows.size()) + 1;
    if (is_exhausted() || rows.empty()) return true;
    if (row.empty()) return false;
    if (auto head = head_of(row.back())) return is_useful(specialized(rows, *head), specialized({row}, *head)[0]);
    std::map<size_t, Head> present = heads_in(rows);
    const Row rest(row.begin(), row.end() - 1);
    if (present.size() < heads_of_type(present)) return is_useful(default_rows(rows), rest);
    return std::ranges::any_of(split(rows, present), [&](const auto& part) {
      Row wide = rest;
      wide.resize(rest.size() + present.at(part.first).fields, nullptr);
      return is_useful(part.second, wide);
    });
  }

 private:
  std::optional<Head> head_of(const Pattern* p) const {
    if (!p) return std::nullopt;
    if (const auto* c = std::get_if<Pattern::Constructor>(&p->v)) return heads_.at(c->name);
    if (const auto* t = std::get_if<Pattern::Tuple>(&p->v)) return Head{nullptr, 0, t->fields.size()};
    return std::nullopt;
  }

  // The heads in the last column, by index.
  std::map<size_t, Head> heads_in(const std::vector<Row>& rows) const {
    std::map<size_t, Head> present;
    for (const Row& r : rows)
      if (auto head = head_of(r.back())) present.emplace(head->index, *head);
    return present;
  }

  // The number of constructors of the column's type; 1 for tuples and for a column without heads.
  static size_t heads_of_type(const std::map<size_t, Head>& present) {
    const DataTypeDef* type = present.empty() ? nullptr : present.begin()->second.type;
    return type ? type->constructors.size() : 1;
  }

  // A row for values with this head: the fields of the last column's pattern, in reverse order, replace that column.
  static Row specialized_row(const Row& row, const Head& head) {
    Row result(row.begin(), row.end() - 1);
    const Pattern* p = row.back();
    const std::vector<Pattern>* fields = nullptr;
    if (p) {
      if (const auto* c = std::get_if<Pattern::Constructor>(&p->v)) fields = &c->fields;
      if (const auto* t = std::get_if<Pattern::Tuple>(&p->v)) fields = &t->fields;
    }
    for (size_t k = head.fields; k-- > 0;) result.push_back(fields ? &(*fields)[k] : nullptr);
    return result;
  }

  // The specialized matrix (section 3): the rows that fit values with this head.
  std::vector<Row> specialized(const std::vector<Row>& rows, const Head& head) const {
    std::vector<Row> result;
    for (const Row& r : rows) {
      auto own = head_of(r.back());
      if (!own || own->index == head.index) result.push_back(specialized_row(r, head));
    }
    return result;
  }

  // The specialized matrices of all heads.
  std::map<size_t, std::vector<Row>> split(const std::vector<Row>& rows, const std::map<size_t, Head>& heads) const {
    std::map<size_t, std::vector<Row>> parts;
    for (const auto& [index, head] : heads) parts[index];
    for (const Row& r : rows) {
      if (auto own = head_of(r.back()))
        parts[own->index].push_back(specialized_row(r, *own));
      else
        for (const auto& [index, head] : heads) parts[index].push_back(specialized_row(r, head));
    }
    return parts;
  }

  // The default matrix (section 3): the rows that fit values with any other head, without the last column.
  std::vector<Row> default_rows(const std::vector<Row>& rows) const {
    std::vector<Row> result;
    for (const Row& r : rows)
      if (!head_of(r.back())) result.emplace_back(r.begin(), r.end() - 1);
    return result;
  }

  static std::string applied(const std::string& name, size_t fields) {
    if (fields == 0) return name;
    std::string text = name + "(_";
    for (size_t k = 1; k < fields; ++k) text += ", _";
    return text + ")";
  }

  // A pattern for the first constructor that is not in the column.
  static std::string missing(const std::map<size_t, Head>& present) {
    if (present.empty()) return "_";
    const auto& constructors = present.begin()->second.type->constructors;
    size_t k = 0;
    while (present.contains(k)) ++k;
    return applied(constructors[k].name, constructors[k].fields.size());
  }

  // Makes one pattern of the patterns of the head's fields.
  static Witness with_head(Witness witness, const Head& head) {
    std::string text = head.type ? head.type->constructors[head.index].name : "";
    if (!head.type || head.fields > 0) text += "(";
    for (size_t k = 0; k < head.fields; ++k) {
      text += (k ? ", " : "") + witness.back();
      witness.pop_back();
    }
    if (!head.type && head.fields == 1) text += ",";
    if (!head.type || head.fields > 0) text += ")";
    witness.push_back(std::move(text));
    return witness;
  }

  std::unordered_map<std::string, Head> heads_;  // by constructor
  int64_t steps_ = 0;
};

class MatchChecker {
 public:
  MatchChecker(const Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics), matrix_(module) {}

  bool run() {
    for (const auto& [name, f] : module_.functions) block(f.body);
    return good_;
  }

 private:
  void block(const Block& b) {
    for (const Binding& binding : b.bindings) {
      if (const Match* m = std::get_if<Match>(&binding.op)) match(*m, binding.location);
      for_each_block(binding.op, [&](const Block& inner) { block(inner); });
    }
  }

  void match(const Match& m, const SourceLocation& location) {
    std::vector<Row> rows;
    matrix_.begin();
    for (size_t k = 0; k < m.clauses.size(); ++k) {
      Row row = {&m.clauses[k].pattern};
      if (!is_trivially_useful(m.clauses[k].pattern, rows) && !matrix_.is_useful(rows, row))
        diagnostics_.warning(DiagnosticId::type_mismatch, location.within(m.clauses[k].pattern.range),
                             fmt::format("no value reaches arm {} of this match: earlier arms take them all", k + 1));
      rows.push_back(std::move(row));
    }
    seen_.clear();
    if (!m.complete) return;
    matrix_.begin();
    auto missing = matrix_.unmatched(rows, 1);
    if (matrix_.is_exhausted())
      diagnostics_.warning(DiagnosticId::type_mismatch, location,
                           "it is not known whether this match has an arm for every value: its patterns are too many");
    if (!missing) return;
    good_ = false;
    diagnostics_.error(DiagnosticId::type_mismatch, location,
                       fmt::format("this match has no arm for {}", missing->front()), {},
                       "write match? for a match that may fail at run time");
  }

  // Whether the pattern has a constructor that no earlier arm has, and no earlier arm fits everything. Such an arm
  // needs no search, so that a match with many constructors takes linear time.
  bool is_trivially_useful(const Pattern& p, const std::vector<Row>& rows) {
    const auto* c = std::get_if<Pattern::Constructor>(&p.v);
    const bool fresh = seen_.insert(c ? c->name : "").second;
    return c && fresh && !seen_.contains("") && !rows.empty();
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  Matrix matrix_;
  std::set<std::string> seen_;  // constructors of the earlier arms; "" for other patterns
  bool good_ = true;
};

}  // namespace

bool check_matches(const Module& module, Diagnostics& diagnostics) { return MatchChecker(module, diagnostics).run(); }

}  // namespace dlcc::relay
