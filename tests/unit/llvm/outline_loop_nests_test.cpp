// Induction pointers and outlining in random loop nests: compiled kernels must give the results of the evaluator.
#include <random>
#include <sstream>

#include "harness.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::test {

using namespace tensor;

namespace {

// Draws loops, sequences, branches and lets around stores, whose indices are linear forms of the bound variables.
class Nests {
 public:
  explicit Nests(unsigned seed) : random_(seed) {}

  Kernel kernel(int depth) {
    Var r = make_var("r");
    row_ = r;
    Stmt body = for_loop(r, rows, LoopKind::parallel, nest(depth));
    return {"nests", {{x_, Access::read}, {y_, Access::write}, {z_, Access::write}}, sequence({cleared(), body})};
  }

  static Constant data() {
    std::vector<float> values(size);
    for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k % 251);
    return Constant::of(dtype::f32, {size}, values);
  }

 private:
  static constexpr int64_t rows = 3, size = 3000;

  struct Integer {
    Expr value;
    Range range;
  };

  int64_t draw(int64_t n) { return static_cast<int64_t>(random_() % static_cast<unsigned>(n)); }

  Stmt cleared() const {
    std::vector<Stmt> all;
    for (const Buffer& b : {y_, z_}) {
      Var r = make_var("r"), k = make_var("k");
      Stmt clear = store(b, {r, k}, literal(dtype::f32, int64_t{0}));
      all.push_back(for_loop(r, rows, LoopKind::serial, for_loop(k, size, LoopKind::vector, clear)));
    }
    return sequence(std::move(all));
  }

  Stmt nest(int depth) {
    if (depth == 0) return add();
    switch (draw(6)) {
      case 0:
        return sequence({nest(depth - 1), nest(depth - 1)});
      case 1:
        return if_then(floor_mod(sum().value, Expr(3)) < Expr(2), nest(depth - 1), draw(2) ? nest(depth - 1) : nullptr);
      case 2: {
        Var v = make_var("v");
        Integer bound = draw(2) ? sum() : part(sum());
        return let(v, bound.value, within({v, bound.range}, depth - 1));
      }
      case 3:
        return draw(2) ? copied() : nest(depth - 1);
      default: {
        Var v = make_var("i");
        int64_t extent = 1 + draw(4);
        return for_loop(v, extent, draw(4) ? LoopKind::serial : LoopKind::unrolled,
                        within({v, {0, extent - 1}}, depth - 1));
      }
    }
  }

  Stmt within(const Integer& bound, int depth) {
    bound_.push_back(bound);
    Stmt body = nest(depth);
    if (draw(2)) body = sequence({body, add()});
    bound_.pop_back();
    return body;
  }

  // A linear form of some bound integers.
  Integer sum() {
    Integer result{Expr(0), {0, 0}};
    for (const Integer& i : bound_) {
      int64_t factor = draw(7) - 3;
      if (factor == 0) continue;
      result.value = result.value + i.value * Expr(factor);
      result.range.low += std::min(factor * i.range.low, factor * i.range.high);
      result.range.high += std::max(factor * i.range.low, factor * i.range.high);
    }
    return result;
  }

  Integer part(const Integer& i) {
    int64_t by = 2 + draw(5);
    if (draw(2)) return {floor_mod(i.value, Expr(by)), {0, by - 1}};
    return {floor_div(i.value, Expr(by)), {i.range.low / by - 1, i.range.high / by + 1}};
  }

  // An index in [0, most].
  Expr index(int64_t most) {
    Integer i = sum();
    if (draw(3) == 0) {
      Integer other = part(sum());
      i = {i.value + other.value, {i.range.low + other.range.low, i.range.high + other.range.high}};
    }
    if (i.range.high - i.range.low > most) return floor_mod(i.value, Expr(most));
    return i.value + Expr(-i.range.low + draw(most - (i.range.high - i.range.low) + 1));
  }

  // Changes one element. All values are exact: the number of roundings does not matter.
  Stmt add() {
    std::vector<Expr> at = {row_, index(size - 1)};
    return store(y_, at, floor_of(load(y_, at) * literal(dtype::f32, 0.5)) + load(x_, {index(size - 1)}));
  }
  static Expr floor_of(const Expr& e) { return unary(UnaryOp::floor, e); }

  // A copy of contiguous lanes.
  Stmt copied() {
    constexpr int64_t lanes = 37;
    Var lane = make_var("lane");
    Expr to = index(size - lanes) + Expr(lane);
    return for_loop(lane, lanes, LoopKind::vector, store(z_, {row_, to}, load(x_, {index(size - lanes) + Expr(lane)})));
  }

  std::minstd_rand random_;
  Buffer x_ = make_buffer("x", dtype::f32, {size}), y_ = make_buffer("y", dtype::f32, {rows, size}),
         z_ = make_buffer("z", dtype::f32, {rows, size});
  Expr row_;
  std::vector<Integer> bound_;
};

}  // namespace

TEST_CASE("random nests compute what the evaluator computes") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Kernel kernel = Nests(seed).kernel(4);
    INFO(print(kernel));
    run(kernel, {Nests::data()}, 1 + static_cast<int>(seed % 2));
  }
}

namespace {

// A machine whose functions may have `loops` nested loops, and whose calls cost nothing.
ChangeMachine holding(int loops) {
  return [=](Machine& m) { m.general_registers = 3 * loops, m.call_cost = 0; };
}

// The number of outlined functions.
size_t nests(const Kernel& kernel, const ChangeMachine& change) {
  std::istringstream lines(assembly(kernel, "x86-64-v3", change));
  size_t n = 0;
  for (std::string line; std::getline(lines, line);)
    n += line.find(".type") != std::string::npos && line.find("_outlined") != std::string::npos;
  return n;
}

}  // namespace

TEST_CASE("random nests outlined to a depth of one or two loops compute what the evaluator computes") {
  size_t functions = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Kernel kernel = Nests(seed).kernel(6);
    INFO(print(kernel));
    ChangeMachine few = holding(1 + static_cast<int>(seed % 3 == 0));
    run(kernel, {Nests::data()}, 1 + static_cast<int>(seed % 2), few);
    functions += nests(kernel, few);
  }
  CHECK(functions > 40);
}

TEST_CASE("loop nests that need more registers than exist are outlined") {
  // y[i, j, k] += x[i, j, k, l, m, n], in one nest of six loops, or with two nests in the body of the fourth.
  constexpr int64_t extent = 6;
  Buffer x = make_buffer("x", dtype::f32, Shape(6, Dim(extent))), y = make_buffer("y", dtype::f32, {6, 6, 6});
  std::vector<Var> v;
  for (const char* name : {"i", "j", "k", "l", "m", "n"}) v.push_back(make_var(name));
  auto loops = [&](size_t from, size_t to, Stmt body) {
    for (size_t l = to; l-- > from;) body = for_loop(v[l], extent, LoopKind::serial, body);
    return body;
  };
  auto kernel_of = [&](Stmt body) { return Kernel{"deep", {{x, Access::read}, {y, Access::write}}, std::move(body)}; };
  Expr sum = load(y, {v[0], v[1], v[2]}) + load(x, {v[0], v[1], v[2], v[3], v[4], v[5]});
  Stmt clear = store(y, {v[0], v[1], v[2]}, literal(dtype::f32, 0.)), add = store(y, {v[0], v[1], v[2]}, sum);
  Kernel deep = kernel_of(loops(0, 3, sequence({clear, loops(3, 6, add)})));
  std::vector<float> values(extent * extent * extent * extent * extent * extent);
  for (size_t n = 0; n < values.size(); ++n) values[n] = static_cast<float>(n % 7);
  Constant data = Constant::of(dtype::f32, std::vector<int64_t>(6, extent), values);

  auto functions = [&](const Kernel& kernel, const ChangeMachine& change) {
    run(kernel, {data}, 1, change);
    return nests(kernel, change);
  };
  CHECK(functions(deep, holding(6)) == 0);
  CHECK(functions(deep, holding(5)) == 1);
  CHECK(functions(deep, holding(4)) == 1);
  CHECK(functions(deep, holding(2)) == 2);
  // Calls that are too expensive.
  CHECK(functions(deep, [](Machine& m) { m.general_registers = 9, m.call_cost = 1e9; }) == 0);

  SUBCASE("each nest of a sequence is outlined") {
    Stmt again = with_unique_names(loops(4, 6, add));
    Kernel two = kernel_of(loops(0, 3, sequence({clear, loops(3, 4, sequence({loops(4, 6, add), again}))})));
    CHECK(functions(two, holding(7)) == 0);
    CHECK(functions(two, holding(3)) == 3);
  }
  SUBCASE("nests that use surrounding register buffers are not outlined") {
    Buffer acc = make_buffer("acc", dtype::f32, {1}, Scope::reg);
    auto at = [&](const Expr& value) { return store(acc, {0}, value); };
    Stmt body = sequence({at(literal(dtype::f32, 0.)),
                          loops(3, 6, at(load(acc, {0}) + load(x, {v[0], v[1], v[2], v[3], v[4], v[5]}))),
                          store(y, {v[0], v[1], v[2]}, load(acc, {0}))});
    CHECK(functions(kernel_of(loops(0, 3, allocate(acc, body))), holding(3)) == 1);  // with the accumulator
    CHECK(functions(kernel_of(allocate(acc, loops(0, 3, body))), holding(3)) == 0);
  }
  SUBCASE("parallel loops are not outlined as nests if threads share them") {
    std::vector<Expr> at = {v[1], v[2], v[3]};
    Stmt add_there = store(y, at, load(y, at) + load(x, {v[0], v[1], v[2], v[3], v[4], v[5]}));
    Stmt row = sequence({store(y, at, literal(dtype::f32, 0.)), loops(4, 6, add_there)});
    Kernel kernel = kernel_of(loops(0, 3, for_loop(v[3], extent, LoopKind::parallel, row)));
    run(kernel, {data}, 2, holding(2));
    auto has = [&](int threads, const char* function) {
      return assembly(kernel, "x86-64-v3", holding(2), threads).find(function) != std::string::npos;
    };
    CHECK(has(2, "_share"));
    CHECK(has(1, "_outlined"));
    CHECK(!has(1, "_share"));
  }
  SUBCASE("nests with requirements are not outlined") {
    Expr positive = binary(BinaryOp::ge, load(x, {v[0], v[1], v[2], v[3], v[4], v[5]}), literal(dtype::f32, 0.));
    Stmt checked = sequence({require(positive, Status::division_by_zero), add});
    CHECK(functions(kernel_of(loops(0, 3, sequence({clear, loops(3, 6, checked)}))), holding(3)) == 0);
  }
}

TEST_CASE("accumulators that spill do not lead to outlining") {
  // y[a, b, c, d, q] = sum over k of x[a, b, c, d, k] * w[k, q]: 20 vectors of accumulators for 16 vector registers.
  constexpr int64_t extent = 3, vectors = 20, lanes = 4, depth = 8;
  Shape outer(4, Dim(extent));
  auto shape = [&](std::vector<int64_t> inner) {
    Shape result = outer;
    for (int64_t n : inner) result.push_back(Dim(n));
    return result;
  };
  Buffer x = make_buffer("x", dtype::f32, shape({depth})), w = make_buffer("w", dtype::f32, {depth, vectors * lanes}),
         y = make_buffer("y", dtype::f32, shape({vectors * lanes})),
         acc = make_buffer("acc", dtype::f32, {vectors, lanes}, Scope::reg);
  std::vector<Var> v = {make_var("a"), make_var("b"), make_var("c"), make_var("d")};
  Var k = make_var("k");
  auto at = [&](const Expr& last) { return std::vector<Expr>{v[0], v[1], v[2], v[3], last}; };
  auto tile = [&](const std::function<Stmt(Expr q, Expr l)>& body) {
    Var q = make_var("q"), l = make_var("l");
    return for_loop(q, vectors, LoopKind::unrolled, for_loop(l, lanes, LoopKind::vector, body(q, l)));
  };
  auto add = [&](const Expr& q, const Expr& l) {
    return store(acc, {q, l}, load(x, at(k)) * load(w, {k, q * Expr(lanes) + l}) + load(acc, {q, l}));
  };
  Stmt body = allocate(acc, sequence({tile([&](Expr q, Expr l) {
                                        return store(acc, {q, l}, literal(dtype::f32, 0.));
                                      }),
                                      for_loop(k, depth, LoopKind::serial, tile(add)), tile([&](Expr q, Expr l) {
                                        return store(y, at(q * Expr(lanes) + l), load(acc, {q, l}));
                                      })}));
  for (size_t d = v.size(); d-- > 0;) body = for_loop(v[d], extent, LoopKind::serial, body);
  Kernel kernel{"tile", {{x, Access::read}, {w, Access::read}, {y, Access::write}}, body};
  std::string code = assembly(kernel, "x86-64-v2", holding(5));
  CHECK(code.find("16-byte Spill") != std::string::npos);
  CHECK(code.find("_outlined") == std::string::npos);
  CHECK(assembly(kernel, "x86-64-v2", holding(4)).find("_outlined") != std::string::npos);
}

TEST_CASE("LLVM's loop strength reduction does not replace the induction pointers") {
  // z[i] = x[i] + y[2 i]: three pointers, where LLVM's strength reduction would index with one register.
  constexpr int64_t size = 1000;
  Buffer x = make_buffer("x", dtype::f32, {size}), y = make_buffer("y", dtype::f32, {2 * size}),
         z = make_buffer("z", dtype::f32, {size});
  Var i = make_var("i");
  Stmt add = store(z, {i}, load(x, {i}) + load(y, {Expr(i) * Expr(2)}));
  Kernel kernel{
      "sum", {{x, Access::read}, {y, Access::read}, {z, Access::write}}, for_loop(i, size, LoopKind::serial, add)};
  std::string code = assembly(kernel, "x86-64-v3");
  CHECK(code.find("addq\t$8, ") != std::string::npos);
  CHECK(code.find(",%r") == std::string::npos);  // no index register
}

TEST_CASE("addresses in a loop nest need no multiplication") {
  // A 3x3 window over an image in blocks of channels, the last of which is partial.
  Buffer x = make_buffer("x", dtype::f32, {9, 30, 30, 16}), w = make_buffer("w", dtype::f32, {9, 3, 3, 16}),
         y = make_buffer("y", dtype::f32, {28, 28});
  Var i = make_var("i"), j = make_var("j"), block = make_var("block"), r = make_var("r"), s = make_var("s"),
      k = make_var("k");
  auto blocks = [&](int64_t first, int64_t count, int64_t channels) {
    Expr b = Expr(block) + Expr(first);
    Stmt add = store(y, {i, j},
                     load(y, {i, j}) + load(x, {b, Expr(i) + Expr(r), Expr(j) + Expr(s), k}) * load(w, {b, r, s, k}));
    for (auto [v, extent] :
         {std::pair(k, channels), std::pair(s, int64_t{3}), std::pair(r, int64_t{3}), std::pair(block, count)})
      add = for_loop(v, extent, LoopKind::serial, add);
    return add;
  };
  Stmt sums = sequence({store(y, {i, j}, literal(dtype::f32, int64_t{0})), blocks(0, 8, 16), blocks(8, 1, 5)});
  Kernel kernel{"window",
                {{x, Access::read}, {w, Access::read}, {y, Access::write}},
                for_loop(i, 28, LoopKind::serial, for_loop(j, 28, LoopKind::serial, sums))};
  auto numbers = [](std::vector<int64_t> shape) {
    std::vector<float> values(static_cast<size_t>(product(shape_of(shape)).value()));
    for (size_t n = 0; n < values.size(); ++n) values[n] = static_cast<float>(n % 7) - 3;
    return Constant::of(dtype::f32, std::move(shape), values);
  };
  run(kernel, {numbers({9, 30, 30, 16}), numbers({9, 3, 3, 16})});
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    std::string code = assembly(kernel, level);
    CHECK(code.find("imul") == std::string::npos);
    CHECK(code.find("Spill") == std::string::npos);
  }
}

}  // namespace dlcc::test
