// TfIdfVectorizer of integers, and Det.
#include <algorithm>
#include <set>

#include "frontends/onnx/operators/lists.h"
#include "frontends/onnx/operators/table.h"

namespace dlcc::frontends::onnx {
namespace {

// The n-grams of one length, and their columns in the result.
struct Grams {
  int64_t length = 1;
  std::vector<int64_t> elements = {};  // of all n-grams, one after the other
  std::vector<int64_t> columns = {};

  int64_t count() const { return static_cast<int64_t>(elements.size()) / length; }
};

// The pool of n-grams: n-grams of length k begin at entry k - 1 of ngram_counts.
std::vector<Grams> read_grams(Node& n) {
  const auto pool = n.integers("pool_int64s"), starts = n.integers("ngram_counts"),
             columns = n.integers("ngram_indexes");
  n.check(!n.has_attr("pool_strings"), DiagnosticId::unsupported_type, "the n-grams are strings",
          "number the words before the model, and give attribute 'pool_int64s' these numbers");
  n.check(pool && starts && columns && !columns->empty(), DiagnosticId::bad_attribute,
          "attributes 'pool_int64s', 'ngram_counts' and 'ngram_indexes' are needed");
  std::vector<Grams> all;
  size_t column = 0;
  for (size_t k = 0; !n.failed() && k < starts->size(); ++k) {
    Grams grams{static_cast<int64_t>(k + 1)};
    const int64_t begin = (*starts)[k],
                  end = k + 1 < starts->size() ? (*starts)[k + 1] : static_cast<int64_t>(pool->size());
    n.check(
        begin >= 0 && begin <= end && end <= static_cast<int64_t>(pool->size()) && (end - begin) % grams.length == 0,
        DiagnosticId::bad_attribute,
        fmt::format("attribute 'ngram_counts' does not cut the pool into {}-grams", k + 1));
    if (n.failed()) break;
    grams.elements.assign(pool->begin() + begin, pool->begin() + end);
    for (int64_t g = 0; g < grams.count() && column < columns->size(); ++g)
      grams.columns.push_back((*columns)[column++]);
    n.check(static_cast<int64_t>(grams.columns.size()) == grams.count(), DiagnosticId::bad_attribute,
            "attribute 'ngram_indexes' has fewer entries than there are n-grams");
    all.push_back(std::move(grams));
  }
  constexpr int64_t most_columns = 1 << 24;  // more than any vocabulary has
  for (const Grams& grams : all)
    for (int64_t c : grams.columns) {
      n.check(c >= 0, DiagnosticId::bad_attribute,
              fmt::format("attribute 'ngram_indexes' has {}, which is no column", c));
      n.check(
          c < most_columns, DiagnosticId::too_large,
          fmt::format("attribute 'ngram_indexes' has column {}; at most {} columns are supported", c, most_columns));
    }
  return all;
}

// How often each n-gram occurs in a row with `distance` between its elements: int64 [rows, n-grams]. Empty if a row is
// too short for one.
std::optional<Value> occurrences(Node& n, const Value& rows, int64_t width, const Grams& grams, int64_t distance) {
  const int64_t windows = width - (grams.length - 1) * distance;
  if (windows < 1 || grams.count() == 0) return std::nullopt;
  std::optional<Value> all;
  for (int64_t k = 0; k < grams.length; ++k) {
    std::vector<int64_t> wanted;
    for (int64_t g = 0; g < grams.count(); ++g)
      wanted.push_back(grams.elements[static_cast<size_t>(g * grams.length + k)]);
    Value elements = n.call("strided_slice", {rows},
                            {{"begin", relay::AttrList{k * distance}},
                             {"end", relay::AttrList{k * distance + windows}},
                             {"axes", relay::AttrList{1}}});
    Value same = n.call("equal", {n.call("expand_dims", {elements}, {{"axis", 2}}), integers(wanted)});
    all = all ? n.call("logical_and", {*all, same}) : same;
  }
  return n.call("sum", {n.cast(*all, dtype::i64)}, {{"axis", relay::AttrList{1}}});
}

// How often each n-gram occurs in a row. Single elements have no distance between them.
std::optional<Value> counts(Node& n, const Value& rows, int64_t width, const Grams& grams, int64_t most_skipped) {
  std::optional<Value> sum;
  for (int64_t distance = 1; distance <= (grams.length == 1 ? 1 : most_skipped + 1); ++distance)
    if (auto found = occurrences(n, rows, width, grams, distance)) sum = sum ? n.call("add", {*sum, *found}) : *found;
  return sum;
}

// Counts in the columns that the n-grams have. A column is the sum of its n-grams, 0 without one.
Value in_columns(Node& n, const Value& rows, const Values& parts, const std::vector<int64_t>& columns, int64_t width) {
  const std::vector<int64_t> none(static_cast<size_t>(width), static_cast<int64_t>(columns.size()));
  std::vector<std::vector<int64_t>> sources = {none};  // the first n-gram of each column, the second one, ...
  std::vector<size_t> found(static_cast<size_t>(width));
  for (size_t k = 0; k < columns.size(); ++k) {
    const auto column = static_cast<size_t>(columns[k]);
    if (found[column] == sources.size()) sources.push_back(none);
    sources[found[column]++][column] = static_cast<int64_t>(k);
  }
  Values all = parts;
  all.push_back(
      n.call("full", {n.scalar(dtype::f32, 0)}, {{"shape", relay::sizes_attribute({rows.type.shape[0], Dim(1)})}}));
  const Value counts = n.call("concatenate", all, {{"axis", 1}});
  Value sum = n.call("take", {counts, integers(sources[0])}, {{"axis", 1}});
  for (size_t k = 1; k < sources.size(); ++k)
    sum = n.call("add", {sum, n.call("take", {counts, integers(sources[k])}, {{"axis", 1}})});
  return sum;
}

// The weights of all n-grams, by default 1.
std::vector<float> weights_of_grams(Node& n, const std::vector<Grams>& all) {
  size_t count = 0;
  for (const Grams& grams : all) count += grams.columns.size();
  const auto weights = n.numbers("weights");
  n.check(!weights || weights->size() == count, DiagnosticId::bad_attribute,
          fmt::format("there are {} weights for {} n-grams", weights ? weights->size() : 0, count));
  return weights.value_or(std::vector<float>(count, 1));
}

Values convert_tfidf(Node& n) {
  const Value& x = n.in(0);
  const auto all = read_grams(n);
  const int64_t shortest = n.required_integer("min_gram_length"), longest = n.required_integer("max_gram_length"),
                skipped = n.required_integer("max_skip_count");
  const std::string mode = n.text("mode", "");
  n.check(mode == "TF" || mode == "IDF" || mode == "TFIDF", DiagnosticId::bad_attribute,
          fmt::format("mode is '{}'; it must be TF, IDF or TFIDF", mode));
  n.check(x.rank() == 1 || x.rank() == 2, DiagnosticId::shape_mismatch,
          fmt::format("X must be [C] or [N, C], found {}", describe(x.type)));
  const auto length = n.failed() ? std::nullopt : x.type.shape.back().constant();
  n.check(length.has_value(), DiagnosticId::dynamic_shape,
          "the number of elements of a row must be known at compile time", "give the dimension a number: --dim NAME=8");
  n.check(skipped >= 0 && skipped < 1000, DiagnosticId::bad_attribute, fmt::format("max_skip_count is {}", skipped));
  if (n.failed()) return {};
  const Value rows = n.cast(x.rank() == 1 ? n.reshape(x, {Dim(1), Dim(*length)}) : x, dtype::i64);
  const std::vector<float> weights = weights_of_grams(n, all);
  if (n.failed()) return {};
  int64_t width = 1;
  Values parts;
  std::vector<int64_t> columns;
  std::vector<float> of_column;  // of the last n-gram of each column
  auto weight = weights.begin();
  for (const Grams& grams : all) {
    const std::vector<float> own(weight, weight + grams.count());
    weight += grams.count();
    for (size_t k = 0; k < own.size(); ++k) {
      width = std::max(width, grams.columns[k] + 1);
      of_column.resize(static_cast<size_t>(width), 1);
      of_column[static_cast<size_t>(grams.columns[k])] = own[k];
    }
    if (grams.length < shortest || grams.length > longest) continue;
    auto found = counts(n, rows, *length, grams, skipped);
    if (!found) continue;
    Value part = n.cast(*found, dtype::f32);
    parts.push_back(mode == "TFIDF" ? n.call("multiply", {part, floats(own)}) : part);
    columns.insert(columns.end(), grams.columns.begin(), grams.columns.end());
  }
  of_column.resize(static_cast<size_t>(width), 1);
  Value result = in_columns(n, rows, parts, columns, width);
  if (mode == "IDF")
    result = n.call("multiply",
                    {n.cast(n.call("greater", {result, n.scalar(dtype::f32, 0)}), dtype::f32), floats(of_column)});
  return {x.rank() == 1 ? n.reshape(result, {Dim(width)}) : result};
}

}  // namespace

void add_ngrams(Table& table) {
  table.add({
      {"TfIdfVectorizer", 9, "X", 1, 1, 1, convert_tfidf},
      {"Det", 11, "X", 1, 1, 1, direct("linalg.det")},
  });
  table.only_if("TfIdfVectorizer",
                "n-grams are of integers, and the number of elements of a row is known at compile time");
}

}  // namespace dlcc::frontends::onnx
