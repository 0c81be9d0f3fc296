// Random kernels: on every CPU level the results must equal the evaluator's, bit for bit.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "harness.h"

namespace dlcc::test {

using namespace tensor;

namespace {

// Draws expressions over a few buffers and the variables of the loops around them.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {
    for (DType type : {dtype::f32, dtype::i32, dtype::i64, dtype::u8, dtype::i8, dtype::f64, dtype::boolean, dtype::f16,
                       dtype::bf16})
      inputs_.push_back(make_buffer("x" + std::to_string(inputs_.size()), type, {rows, columns}));
  }

  Kernel kernel() {
    Kernel result{"random", {}, nullptr};
    for (const Buffer& b : inputs_) result.params.push_back({b, Access::read});
    std::vector<Stmt> body;
    for (DType type : {pick_type(), pick_type(), pick_type()}) {
      Buffer y = make_buffer("y" + std::to_string(body.size()), type, {rows, columns});
      result.params.push_back({y, Access::write});
      body.push_back(nest(y));
    }
    result.body = sequence(std::move(body));
    return result;
  }

  std::vector<Constant> data() {
    std::vector<Constant> result;
    for (const Buffer& b : inputs_) result.push_back(values(b->type));
    return result;
  }

 private:
  static constexpr int64_t rows = 5, columns = 37;

  int draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  DType pick_type() {
    constexpr DType types[] = {dtype::f32, dtype::f32, dtype::i32, dtype::i64,
                               dtype::u8,  dtype::i8,  dtype::f64, dtype::boolean};
    return types[draw(8)];
  }

  Constant values(DType type) {
    int64_t n = rows * columns;
    std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(type, n)));
    if (type == dtype::f32 || type == dtype::f64) {  // ordinary numbers, sometimes a special one
      for (int64_t i = 0; i < n; ++i) {
        constexpr double special[] = {0.0,       -0.0, 1e30,  -1e30,  1e-40,        INFINITY,
                                      -INFINITY, NAN,  127.5, -128.5, 2147483648.0, 0.5};
        double v = draw(6) ? (draw(20001) - 10000) / 256.0 : special[draw(12)];
        if (type == dtype::f64) std::memcpy(&bytes[static_cast<size_t>(i) * 8], &v, 8);
        auto f = static_cast<float>(v);
        if (type == dtype::f32) std::memcpy(&bytes[static_cast<size_t>(i) * 4], &f, 4);
      }
    } else {
      for (std::byte& b : bytes)
        b = static_cast<std::byte>(is_bool(type) ? draw(2) : draw(3) ? draw(256) : draw(2) * 255);
    }
    return Constant(type, {rows, columns}, std::move(bytes));
  }

  // Loops of random kinds over all of `y` around one store.
  Stmt nest(const Buffer& y) {
    Var r = make_var("r"), c = make_var("c");
    row_ = r, column_ = c;
    lets_.clear();
    constexpr LoopKind outer[] = {LoopKind::serial, LoopKind::parallel, LoopKind::unrolled};
    constexpr LoopKind inner[] = {LoopKind::vector, LoopKind::vector, LoopKind::vector, LoopKind::serial};
    Var shared = make_var("shared", dtype::f32);
    bool with_let = draw(2) == 0;
    Expr bound = expression(dtype::f32, 2);
    if (with_let) lets_.push_back(shared);
    Stmt body = store(y, {r, c}, expression(y->type, 4));
    if (with_let) body = let(shared, bound, body);
    return for_loop(r, rows, outer[draw(3)], for_loop(c, columns, inner[draw(4)], body));
  }

  Expr index(int64_t extent, const Var& v) {
    switch (draw(5)) {
      case 0:
        return Expr(v) + (draw(9) - 4);
      case 1:
        return Expr(extent - 1) - Expr(v);
      case 2:
        return Expr(v) * (draw(4)) - draw(3);
      case 3:
        return floor_div(Expr(v) * 3, 2) - 1;
      default:
        return v;
    }
  }

  Expr loaded(DType type) {
    for (const Buffer& b : inputs_) {
      if (b->type != type) continue;
      Expr otherwise = literal(type, static_cast<int64_t>(draw(2)));
      if (draw(3) == 0) return load(b, {row_, column_});
      if (draw(6) == 0 && type == dtype::f32) {  // a loaded index
        Expr at = cast(dtype::i64, load(inputs_[3], {row_, column_}));
        return load(b, {index(rows, row_), at}, otherwise);
      }
      if (draw(5) == 0) {  // lanes along the first dimension
        Expr inside = logical_and(Expr(column_) < rows, Expr(row_) < columns);
        return select(inside, load(b, {column_, row_}), otherwise);
      }
      return load(b, {index(rows, row_), index(columns, column_)}, otherwise);
    }
    return literal(type, int64_t{1});
  }

  Expr expression(DType type, int depth) {
    if (depth == 0) {
      if (type == dtype::f32 && !lets_.empty() && draw(3) == 0) return lets_.back();
      if (type == dtype::i64 && draw(2)) return draw(2) ? row_ : column_;
      if (draw(5) == 0)
        return is_float(type) ? literal(type, (draw(41) - 20) / 4.0)
                              : literal(type, static_cast<int64_t>(draw(is_bool(type) ? 2 : 100)));
      if (type == dtype::f32 && draw(4) == 0) return cast(dtype::f32, loaded(draw(2) ? dtype::f16 : dtype::bf16));
      return loaded(type);
    }
    auto sub = [&] { return expression(type, depth - 1); };
    if (draw(6) == 0) return cast(type, expression(pick_type(), depth - 1));
    if (draw(6) == 0) return select(expression(dtype::boolean, depth - 1), sub(), sub());
    if (is_bool(type)) {
      constexpr BinaryOp compare[] = {BinaryOp::eq, BinaryOp::ne, BinaryOp::lt,
                                      BinaryOp::le, BinaryOp::gt, BinaryOp::ge};
      constexpr BinaryOp logic[] = {BinaryOp::logical_and, BinaryOp::logical_or, BinaryOp::logical_xor};
      if (draw(2)) return binary(logic[draw(3)], sub(), sub());
      DType of = pick_type();
      return binary(compare[draw(6)], expression(of, depth - 1), expression(of, depth - 1));
    }
    if (is_float(type)) {
      constexpr BinaryOp ops[] = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul,
                                  BinaryOp::div, BinaryOp::min, BinaryOp::max};
      constexpr UnaryOp one[] = {UnaryOp::negate,     UnaryOp::abs,  UnaryOp::floor,
                                 UnaryOp::round_even, UnaryOp::sqrt, UnaryOp::ceil};
      if (draw(4) == 0) return unary(one[draw(6)], sub());
      if (draw(6) == 0) return fma(sub(), sub(), sub());
      return binary(ops[draw(6)], sub(), sub());
    }
    constexpr BinaryOp ops[] = {BinaryOp::add, BinaryOp::sub,       BinaryOp::mul,       BinaryOp::div,
                                BinaryOp::rem, BinaryOp::floor_div, BinaryOp::floor_mod, BinaryOp::min,
                                BinaryOp::max, BinaryOp::bit_and,   BinaryOp::bit_xor,   BinaryOp::shl,
                                BinaryOp::shr};
    return binary(ops[draw(13)], sub(), sub());
  }

  std::mt19937 random_;
  std::vector<Buffer> inputs_;
  Var row_, column_;
  std::vector<Var> lets_;
};

}  // namespace

TEST_CASE("random kernels compute what the evaluator computes") {
  const char* more = std::getenv("DLCC_RANDOM_KERNELS");  // a longer search, started by hand
  int count = more ? std::atoi(more) : 25;
  for (int seed = 1; seed <= count; ++seed) {
    CAPTURE(seed);
    Generator generator(static_cast<unsigned>(seed));
    Kernel kernel = generator.kernel();
    INFO(print(kernel));
    run(kernel, generator.data());
  }
}

}  // namespace dlcc::test
