// The collection of the interpreter's references: cycles that nothing outside refers to are freed while the program
// runs, and nothing else is.
#include "relay/references.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "frontends/frontend.h"
#include "relay/interpret.h"

namespace dlcc::relay {
namespace {

Value number(int64_t n) { return tensor_value(Constant::of<int64_t>(dtype::i64, {}, {n})); }

// A reference to a pair of itself and `other`.
Value cycle(References& references, Value other) {
  Value reference = references.create(number(0));
  std::get<RefValue>(reference->v).contents = make_value(TupleValue{{reference, std::move(other)}});
  return reference;
}

int64_t number_in(const Value& cycle) {
  const auto& pair = std::get<TupleValue>(as<RefValue>(cycle)->contents->v);
  return as<Constant>(pair.fields[1])->integer_at(0);
}

TEST_CASE("cycles that nothing refers to are freed while references are made") {
  References references;
  std::vector<std::weak_ptr<ValueNode>> made;
  size_t most = 0;
  for (int k = 0; k < 100'000; ++k) {
    made.push_back(cycle(references, number(k)));
    std::erase_if(made, [](const auto& reference) { return reference.expired(); });
    most = std::max(most, made.size());
  }
  CHECK(most < 5'000);
  references.collect();
  CHECK(std::ranges::all_of(made, [](const auto& reference) { return reference.expired(); }));
}

TEST_CASE("what is held from outside stays, with all that it reaches") {
  References references;
  const Value held = cycle(references, number(7));
  // A reference that only the contents of another one refer to, which a function captures, which data has.
  static const ConstructorDef box{"Box", {}};
  Value inner = cycle(references, number(8));
  const std::weak_ptr<ValueNode> watched = inner;
  Value data = make_value(DataValue{
      &box, {make_value(ClosureValue{nullptr, {nullptr, references.create(make_value(TupleValue{{inner}}))}, nullptr})}});
  inner.reset();
  references.collect();
  CHECK(number_in(held) == 7);
  REQUIRE(!watched.expired());
  CHECK(number_in(watched.lock()) == 8);
  data.reset();
  references.collect();
  CHECK(watched.expired());
  CHECK(number_in(held) == 7);
}

TEST_CASE("cycles through several references and shared values are one whole") {
  References references;
  const Value shared = number(5);
  Value first = references.create(shared);
  Value previous = first;
  for (int k = 0; k < 10; ++k) previous = references.create(make_value(TupleValue{{previous, shared}}));
  const std::weak_ptr<ValueNode> last = previous;
  std::get<RefValue>(first->v).contents = std::move(previous);
  references.collect();
  CHECK(!last.expired());
  first.reset();
  references.collect();
  CHECK(last.expired());
  CHECK(shared.use_count() == 1);
}

TEST_CASE("a value that two references of a cycle share is part of it") {
  References references;
  Value first = references.create(number(0));
  const std::weak_ptr<ValueNode> watched = first;
  Value shared = make_value(TupleValue{{first}});
  std::get<RefValue>(first->v).contents =
      make_value(TupleValue{{references.create(shared), references.create(shared)}});
  first.reset();
  references.collect();
  CHECK(!watched.expired());
  shared.reset();
  references.collect();
  CHECK(watched.expired());
}

TEST_CASE("a result may refer to itself after the run") {
  Diagnostics d;
  auto module = frontends::import_relay(R"(
type L { E, R(ref(L)) }
def @main() {
  let %loop = fn (%k: int32) -> ref(L) {
    let %r = ref(E);
    ref_write(%r, R(%r));
    if (%k == 0) { %r } else { %loop(%k - 1) }
  };
  %loop(10000)
}
)",
                                        {}, d);
  REQUIRE_MESSAGE(module, d.str());
  auto result = interpret(*module, {}, tensor::Precision::specified, d);
  REQUIRE(result);
  CHECK(str(result->value) == "ref(R(ref(...)))");
  std::get<RefValue>(result->value->v).contents = nullptr;  // a cycle that belongs to the caller
}

}  // namespace
}  // namespace dlcc::relay
