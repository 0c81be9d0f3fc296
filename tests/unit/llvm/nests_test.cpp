// Random nests of loops, whose pointers move: what is compiled must equal what the evaluator computes.
#include <random>

#include "harness.h"
#include "tensor/simplify.h"

namespace dlcc::test {

using namespace tensor;

namespace {

// Draws loops, sequences, branches and bound integers, around stores at sums of whatever is bound.
class Nests {
 public:
  explicit Nests(unsigned seed) : random_(seed) {}

  Kernel kernel() {
    Var r = make_var("r");
    row_ = r;
    Stmt body = for_loop(r, rows, LoopKind::parallel, nest(4));
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

  // A sum of multiples of some integers.
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

  // At most `most` and not negative.
  Expr index(int64_t most) {
    Integer i = sum();
    if (draw(3) == 0) {
      Integer other = part(sum());
      i = {i.value + other.value, {i.range.low + other.range.low, i.range.high + other.range.high}};
    }
    if (i.range.high - i.range.low > most) return floor_mod(i.value, Expr(most));
    return i.value + Expr(-i.range.low + draw(most - (i.range.high - i.range.low) + 1));
  }

  // Changes one element. What is computed is exact, so that the number of roundings does not matter.
  Stmt add() {
    std::vector<Expr> at = {row_, index(size - 1)};
    return store(y_, at, floor_of(load(y_, at) * literal(dtype::f32, 0.5)) + load(x_, {index(size - 1)}));
  }
  static Expr floor_of(const Expr& e) { return unary(UnaryOp::floor, e); }

  // Lanes next to each other, here and there.
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
    Kernel kernel = Nests(seed).kernel();
    INFO(print(kernel));
    run(kernel, {Nests::data()}, 1 + static_cast<int>(seed % 2));
  }
}

TEST_CASE("no address in a nest of loops is a product") {
  // A window over an image in blocks of channels, which end with part of one.
  Buffer x = make_buffer("x", dtype::f32, {9, 30, 30, 16}), w = make_buffer("w", dtype::f32, {9, 3, 3, 16}),
         y = make_buffer("y", dtype::f32, {28, 28});
  Var i = make_var("i"), j = make_var("j"), block = make_var("block"), r = make_var("r"), s = make_var("s"),
      k = make_var("k");
  auto blocks = [&](int64_t first, int64_t count, int64_t terms) {
    Expr b = Expr(block) + Expr(first);
    Stmt add = store(y, {i, j},
                     load(y, {i, j}) + load(x, {b, Expr(i) + Expr(r), Expr(j) + Expr(s), k}) * load(w, {b, r, s, k}));
    for (auto [v, extent] :
         {std::pair(k, terms), std::pair(s, int64_t{3}), std::pair(r, int64_t{3}), std::pair(block, count)})
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
