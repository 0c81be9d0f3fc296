// Sizes that requirements of equality determine.
#include "lower/equal_sizes.h"

#include <doctest/doctest.h>

#include "lower/instantiate.h"

namespace dlcc::lower {
namespace {

const Symbol past{"past", 1}, seq{"seq", 1}, total{"total", 1, 1000};

tensor::Expr size(const Symbol& s) { return tensor::Expr(Dim::symbol(s)); }

// A program without steps, with these sizes and requirements.
Program program(const std::vector<Symbol>& symbols, const std::vector<tensor::Expr>& requirements) {
  Program p;
  for (const Symbol& s : symbols) p.dims.push_back({.name = s.name, .symbol = s});
  for (const tensor::Expr& e : requirements) p.requirements.push_back({e, tensor::Status::shape_mismatch});
  return p;
}

using Values = std::map<std::string, int64_t>;

Values fitted(const Program& p, Values sizes, const std::set<std::string>& fixed = {}) {
  satisfy_equalities(p, fixed, sizes);
  return sizes;
}

}  // namespace

TEST_CASE("a sum follows from its parts, a part from the sum if that is given") {
  const Program p = program({total, past, seq}, {tensor::equal(size(total), size(past) + size(seq))});
  CHECK(fitted(p, {{"past", 5}, {"seq", 2}, {"total", 64}}) == Values{{"past", 5}, {"seq", 2}, {"total", 7}});
  CHECK(fitted(p, {{"past", 5}, {"seq", 2}, {"total", 7}}) == Values{{"past", 5}, {"seq", 2}, {"total", 7}});
  CHECK(fitted(p, {{"past", 5}, {"seq", 2}, {"total", 64}}, {"total", "past"}) ==
        Values{{"past", 5}, {"seq", 59}, {"total", 64}});
  // A sum above its bound is no solution; parts follow from it instead.
  CHECK(fitted(p, {{"past", 900}, {"seq", 200}, {"total", 1000}}) ==
        Values{{"past", 900}, {"seq", 100}, {"total", 1000}});
  CHECK(typical_sizes(p) == Values{{"past", 64}, {"seq", 64}, {"total", 128}});
}

TEST_CASE("sizes that broadcast are equal rather than 1") {
  const Program p =
      program({past, seq},
              {tensor::logical_or(tensor::equal(size(seq), tensor::Expr(1)), tensor::equal(size(seq), size(past)))});
  CHECK(fitted(p, {{"past", 5}, {"seq", 2}}) == Values{{"past", 5}, {"seq", 5}});
  const Program number = program({past}, {tensor::equal(size(past), tensor::Expr(4))});
  CHECK(fitted(number, {{"past", 5}}) == Values{{"past", 4}});
}

TEST_CASE("requirements that cannot be solved change nothing") {
  const tensor::Expr product = size(past) * size(seq);
  const Program p = program({past, seq}, {tensor::equal(product, tensor::Expr(12)), size(past) < size(seq)});
  CHECK(fitted(p, {{"past", 5}, {"seq", 2}}) == Values{{"past", 5}, {"seq", 2}});
}

}  // namespace dlcc::lower
