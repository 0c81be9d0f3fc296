#include "tensor/schedules/winograd.h"

#include <algorithm>

#include "tensor/schedules/contraction.h"
#include "tensor/schedules/contraction_k_loops.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/loops.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

using Matrix = std::vector<std::vector<double>>;

// The matrices of F(tile, 3) for the points 0, 1, -1, (2, -2,) infinity. Rows of `input` (B^T) and columns of `output`
// (A^T) for opposite points stand side by side.
struct Transforms {
  Matrix input, weights, output;
};

const Transforms& transforms(int64_t tile) {
  static const Transforms two = {
      {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
      {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
      {{1, 1, 1, 0}, {0, 1, -1, -1}},
  };
  static const Transforms four = {
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{1. / 4, 0, 0},
       {-1. / 6, -1. / 6, -1. / 6},
       {-1. / 6, 1. / 6, -1. / 6},
       {1. / 24, 1. / 12, 1. / 6},
       {1. / 24, -1. / 12, 1. / 6},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
  };
  DLCC_CHECK(tile == 2 || tile == 4, "there is no F({}, 3)", tile);
  return tile == 2 ? two : four;
}

class Scheduler {
 public:
  Scheduler(const WinogradPlan& plan, const Machine& machine)
      : plan_(plan),
        machine_(machine),
        matrices_(transforms(plan.tile)),
        epilogue_(stage(), plan.contraction.epilogue < 0 ? nullptr : &plan.function.stages.back()),
        size_(plan.tile + WinogradPlan::taps - 1),
        lanes_(std::min<int64_t>(machine.lanes(32), channel_block)),
        terms_of_step_(machine.k_unroll),
        register_tile_(choose_register_tile(machine, lanes_, plan.panel)) {}

  Stmt run() {
    int64_t tiles = plan_.tiles_along(plan_.y) * plan_.tiles_along(plan_.x), blocks = ceil_div(tiles, plan_.block);
    int64_t blocks_each = ceil_div(blocks, plan_.workers);
    int64_t panels_each = extent(plan_.n_axis) / plan_.panel / plan_.shares;
    Var next = make_var("next"), block = make_var("block"), share = make_var("share"), in_share = make_var("panel");
    first_tile_ = Expr(block) * Expr(plan_.block);
    count_ = tiles % plan_.block ? min(Expr(plan_.block), Expr(tiles) - first_tile_) : Expr(plan_.block);
    slot_ = plan_.workers > 1 ? worker_ : share;
    Expr panel = Expr(share) * Expr(panels_each) + Expr(in_share);
    Stmt panels =
        for_loop(in_share, panels_each, LoopKind::serial, sequence({products(panel), transform_output(panel)}));
    Stmt body = sequence({transform_input(), for_loop(share, plan_.shares, LoopKind::parallel, panels)});
    if (blocks % plan_.workers) body = if_then(Expr(block) < Expr(blocks), body);
    body = let(block, Expr(worker_) * Expr(blocks_each) + Expr(next), body);
    body = for_loop(next, blocks_each, LoopKind::serial, body);
    body = for_loop(worker_, plan_.workers, LoopKind::parallel, body);
    for (size_t k = plan_.batch_axes.size(); k-- > 0;)
      body = for_loop(axis(plan_.batch_axes[k]).var, extent(plan_.batch_axes[k]), LoopKind::serial, body);
    return body;
  }

 private:
  const Stage& stage() const { return plan_.function.stages[0]; }
  const Axis& axis(int k) const { return stage().axes[static_cast<size_t>(k)]; }
  int64_t extent(int k) const { return axis(k).extent.value(); }

  Stmt lanes(const std::function<Stmt(const Expr&)>& body) const {
    Var lane = make_var("lane");
    return for_loop(lane, lanes_, LoopKind::vector, body(lane));
  }

  // Of blocks of channels, which lie apart, so that an address differs by a constant from one vector to the next.
  Stmt vectors(int64_t channels, const std::function<Stmt(const Expr&)>& body) const {
    Var b = make_var("block"), v = make_var("v");
    Stmt in_block = for_loop(v, channel_block / lanes_, LoopKind::serial,
                             body(Expr(b) * Expr(channel_block) + Expr(v) * Expr(lanes_)));
    return for_loop(b, channels / channel_block, LoopKind::serial, in_block);
  }

  // Loops over the tiles of the block; the body gets the tile's number in the block and its first output.
  Stmt each_tile(const std::function<Stmt(const Expr&, const Expr&, const Expr&)>& body) const {
    Var i = make_var("tile"), number = make_var("number"), top = make_var("top"), left = make_var("left");
    int64_t across = plan_.tiles_along(plan_.x), last = plan_.tiles_along(plan_.y) * across - 1;
    Stmt inner = body(Expr(i), Expr(top), Expr(left));
    inner = let(left, floor_mod(Expr(number), Expr(across)) * Expr(plan_.tile), inner);
    inner = let(top, floor_div(Expr(number), Expr(across)) * Expr(plan_.tile), inner);
    return for_loop(i, count_, LoopKind::parallel, let(number, min(first_tile_ + Expr(i), Expr(last)), inner));
  }

  // ---- linear transformations

  Expr scaled_sum(const Expr& sum, double factor, const Expr& x) const {
    if (factor == 0) return sum;
    Expr scale = literal(dtype::f32, factor);
    if (!sum) return factor == 1 ? x : factor == -1 ? -x : scale * x;
    if (factor == 1) return sum + x;
    if (factor == -1) return sum - x;
    return multiply_add(scale * x, sum, machine_);
  }

  Expr combination(const std::vector<double>& factors, const std::vector<Expr>& x, int64_t parity = -1) const {
    Expr sum;
    for (bool negative : {false, true})  // a positive term first, so that no negation is needed
      for (size_t k = 0; k < x.size(); ++k)
        if ((factors[k] < 0) == negative && (parity < 0 || static_cast<int64_t>(k % 2) == parity))
          sum = scaled_sum(sum, factors[k], x[k]);
    return sum;
  }

  // Binds each expression to a variable in front of what `body` makes of the variables.
  static Stmt bound(const std::vector<Expr>& values, const std::string& name,
                    const std::function<Stmt(const std::vector<Expr>&)>& body) {
    std::vector<Expr> refs;
    std::vector<Var> vars;
    for (const Expr& v : values) {
      vars.push_back(make_var(name, v.type()));
      refs.push_back(vars.back());
    }
    Stmt result = body(refs);
    for (size_t k = values.size(); k-- > 0;) result = let(vars[k], values[k], result);
    return result;
  }

  // B^T x. Rows of opposite points are the sum and the difference of their even and odd terms.
  Stmt input_rows(const std::vector<Expr>& x, const std::function<Stmt(const std::vector<Expr>&)>& body) const {
    const Matrix& m = matrices_.input;
    std::vector<Expr> parts;
    for (size_t r = 1; r + 2 < m.size(); r += 2)
      parts.insert(parts.end(), {combination(m[r], x, 0), combination(m[r], x, 1)});
    return bound(parts, "part", [&](const std::vector<Expr>& p) {
      std::vector<Expr> rows = {combination(m[0], x)};
      for (size_t k = 0; k < p.size(); k += 2) rows.insert(rows.end(), {p[k] + p[k + 1], p[k] - p[k + 1]});
      rows.push_back(combination(m.back(), x));
      return body(rows);
    });
  }

  // A^T x. Opposite points enter even rows by their sum, odd rows by their difference.
  Stmt output_rows(const std::vector<Expr>& x, const std::function<Stmt(const std::vector<Expr>&)>& body) const {
    std::vector<Expr> parts;
    for (size_t k = 1; k + 2 < x.size(); k += 2) parts.insert(parts.end(), {x[k] + x[k + 1], x[k] - x[k + 1]});
    return bound(parts, "part", [&](const std::vector<Expr>& p) {
      std::vector<Expr> rows;
      for (size_t r = 0; r < matrices_.output.size(); ++r) {
        std::vector<double> factors = {matrices_.output[r][0]};
        std::vector<Expr> terms = {x[0]};
        for (size_t k = 1; k + 2 < x.size(); k += 2) {
          factors.push_back(matrices_.output[r][k]);
          terms.push_back(p[k - 1 + r % 2]);
        }
        factors.push_back(matrices_.output[r].back());
        terms.push_back(x.back());
        rows.push_back(combination(factors, terms));
      }
      return body(rows);
    });
  }

  using Transformation = Stmt (Scheduler::*)(const std::vector<Expr>&,
                                             const std::function<Stmt(const std::vector<Expr>&)>&) const;

  // One vector of `rows` transformed columns: to[row][k] from the column's elements.
  Stmt transform_columns(Transformation transformation, const Buffer& to,
                         const std::function<Expr(int64_t row, const Expr& column, const Expr& lane)>& element) const {
    Var j = make_var("j");
    return for_loop(j, size_, LoopKind::serial, lanes([&](const Expr& lane) {
                      std::vector<Expr> column;
                      for (int64_t i = 0; i < size_; ++i) column.push_back(element(i, j, lane));
                      return bound(column, "d", [&](const std::vector<Expr>& d) {
                        return (this->*transformation)(d, [&](const std::vector<Expr>& rows) {
                          std::vector<Stmt> stores;
                          for (size_t r = 0; r < rows.size(); ++r)
                            stores.push_back(store(to, {Expr(int64_t(r)), j, lane}, rows[r]));
                          return sequence(std::move(stores));
                        });
                      });
                    }));
  }

  // The columns of one row of a half-transformed tile, transformed and handed to `body`.
  Stmt transform_row(Transformation transformation, const Buffer& from, const Expr& row, const Expr& lane,
                     const std::function<Stmt(const std::vector<Expr>&)>& body) const {
    std::vector<Expr> elements;
    for (int64_t k = 0; k < size_; ++k) elements.push_back(load(from, {row, Expr(k), lane}));
    return bound(elements, "d", [&](const std::vector<Expr>& d) { return (this->*transformation)(d, body); });
  }

  Buffer half_transformed(int64_t rows) const {
    return make_buffer("half", dtype::f32, {rows, size_, lanes_}, Scope::local, storage_alignment);
  }

  // ---- the three steps

  Stmt transform_input() const {
    const Load& data = plan_.contraction.data;
    Var channels = make_var("channels"), row = make_var("row");
    Buffer half = half_transformed(size_);
    Stmt body = each_tile([&](const Expr& tile, const Expr& top, const Expr& left) {
      return vectors(channel_block, [&](const Expr& first) {
        auto element = [&](int64_t i, const Expr& j, const Expr& lane) {
          std::vector<Expr> index = data.indices;
          index[static_cast<size_t>(plan_.channel_dim)] = Expr(channels) * Expr(channel_block) + first + lane;
          index[static_cast<size_t>(plan_.y.dim)] = top + Expr(i + plan_.y.begin);
          index[static_cast<size_t>(plan_.x.dim)] = left + j + Expr(plan_.x.begin);
          return load(data.buffer, std::move(index), data.otherwise);
        };
        Stmt rows = for_loop(
            row, size_, LoopKind::serial, lanes([&](const Expr& lane) {
              return transform_row(&Scheduler::input_rows, half, row, lane, [&](const std::vector<Expr>& values) {
                std::vector<Stmt> stores;
                for (size_t k = 0; k < values.size(); ++k)
                  stores.push_back(store(
                      plan_.transformed,
                      {worker_, channels, Expr(row) * Expr(size_) + Expr(int64_t(k)), tile, first + lane}, values[k]));
                return sequence(std::move(stores));
              });
            }));
        return allocate(half, sequence({transform_columns(&Scheduler::input_rows, half, element), rows}));
      });
    });
    return for_loop(channels, plan_.in_channels() / channel_block, LoopKind::parallel, body);
  }

  // One matrix product for every point of a tile: tiles of the block by channels of the panel.
  Stmt products(const Expr& panel) const {
    Var point = make_var("point"), r = make_var("rows");
    int64_t count = ceil_div(plan_.block, register_tile_.rows), tall = ceil_div(plan_.block, count);
    std::vector<Stmt> all;
    for (int64_t offset = 0; offset < plan_.panel; offset += register_tile_.vectors * lanes_) {
      all.push_back(for_loop(r, plan_.block / tall, LoopKind::serial, product(panel, point, {r, count}, tall, offset)));
      if (int64_t rest = plan_.block % tall)
        all.push_back(product(panel, point, {Expr(count - 1), count}, rest, offset));
    }
    return for_loop(point, size_ * size_, LoopKind::parallel, sequence(std::move(all)));
  }

  // The rows of a product are computed in `count` parts.
  struct Part {
    Expr number;
    int64_t count;
  };

  // `tall` rows of one matrix product, by one register tile's columns beginning at `offset` in the panel.
  Stmt product(const Expr& panel, const Expr& point, const Part& part, int64_t tall, int64_t offset) const {
    Expr first = tall == plan_.block ? Expr(0) : part.number * Expr(ceil_div(plan_.block, part.count));
    Buffer acc = make_buffer("acc", dtype::f32, {tall, register_tile_.vectors, lanes_}, Scope::reg);
    Var r = make_var("r"), v = make_var("v"), channels = make_var("channels"), step = make_var("step"),
        k = make_var("k");
    auto each = [&](const std::function<Stmt(const Expr& column, const Expr& lane)>& body) {
      Stmt s = lanes([&](const Expr& lane) { return body(Expr(v) * Expr(lanes_) + lane + Expr(offset), lane); });
      return for_loop(r, tall, LoopKind::unrolled, for_loop(v, register_tile_.vectors, LoopKind::unrolled, s));
    };
    Expr in_block = Expr(step) * Expr(terms_of_step_) + Expr(k);
    Expr base = Expr(channels) * Expr(channel_block);
    Stmt init = each([&](const Expr&, const Expr& lane) { return store(acc, {r, v, lane}, literal(dtype::f32, 0.)); });
    Stmt accumulate = each([&](const Expr& column, const Expr& lane) {
      return store(acc, {r, v, lane},
                   multiply_add(load(plan_.transformed, {worker_, channels, point, first + Expr(r), in_block}) *
                                    load(plan_.weights, {panel, point, base + in_block, column}),
                                load(acc, {r, v, lane}), machine_));
    });
    accumulate = for_loop(k, terms_of_step_, LoopKind::unrolled, accumulate);
    accumulate = sequence({prefetch(panel, point, part, channels, step, offset), accumulate});
    accumulate = for_loop(step, channel_block / terms_of_step_, LoopKind::serial, accumulate);
    accumulate = sequence({prefetch(panel, point, part, channels, Expr(), offset), accumulate});
    accumulate = for_loop(channels, plan_.in_channels() / channel_block, LoopKind::serial, accumulate);
    Stmt drain = each([&](const Expr& column, const Expr& lane) {
      return store(plan_.products, {slot_, first + Expr(r), point * Expr(plan_.panel) + column},
                   load(acc, {r, v, lane}));
    });
    return allocate(acc, sequence({init, accumulate, drain}));
  }

  // The parts of a product fetch the weights of the next point; behind the last point lies the next panel. `step` as in
  // lines_to_fetch.
  Stmt prefetch(const Expr& panel, const Expr& point, const Part& part, const Expr& channels, const Expr& step,
                int64_t offset) const {
    int64_t per_line = machine_.cache_line_bytes / 4;
    int64_t across = register_tile_.vectors * lanes_ / per_line;
    if (across == 0) return nullptr;
    KRun run{channels, plan_.in_channels() / channel_block, channel_block / terms_of_step_};
    std::vector<Stmt> hints;
    bool contiguous = across * per_line == plan_.panel;  // one line after another, whichever the row
    for (const Expr& line :
         lines_to_fetch(plan_.in_channels() * across, part.number, part.count, run, step, machine_)) {
      Expr row = contiguous ? Expr(0) : floor_div(line, Expr(across));
      Expr column = contiguous ? line : floor_mod(line, Expr(across));
      std::vector<Expr> index = {panel, point + Expr(1), row, Expr(offset) + column * Expr(per_line)};
      hints.push_back(make_stmt(Prefetch{plan_.weights, std::move(index), CacheLevel::second}));
    }
    return sequence(std::move(hints));
  }

  Stmt transform_output(const Expr& panel) const {
    Buffer half = half_transformed(plan_.tile);
    Var row = make_var("row");
    return each_tile([&](const Expr& tile, const Expr& top, const Expr& left) {
      return vectors(plan_.panel, [&](const Expr& first) {
        auto element = [&](int64_t i, const Expr& j, const Expr& lane) {
          Expr point = Expr(i * size_) + j;
          return load(plan_.products, {slot_, tile, point * Expr(plan_.panel) + first + lane});
        };
        Buffer out = make_buffer("out", dtype::f32, {plan_.tile, lanes_}, Scope::reg);
        Stmt transformed = lanes([&](const Expr& lane) {
          return transform_row(&Scheduler::output_rows, half, row, lane, [&](const std::vector<Expr>& values) {
            std::vector<Stmt> stores;
            for (size_t k = 0; k < values.size(); ++k)
              stores.push_back(store(out, {Expr(int64_t(k)), lane}, values[k]));
            return sequence(std::move(stores));
          });
        });
        auto index = [&](const Expr& k, const Expr& lane) {
          return result_index(panel * Expr(plan_.panel) + first + lane, top + Expr(row), left + k);
        };
        std::vector<Stmt> outputs;
        for (int64_t k = 0; k < plan_.tile; ++k)
          outputs.push_back(inside(left + Expr(k), plan_.x, lanes([&](const Expr& lane) {
                                     return epilogue_.store_total(load(out, {Expr(k), lane}), index(Expr(k), lane));
                                   })));
        if (epilogue_.has_finish()) {
          Var k = make_var("k");
          Stmt finished = lanes([&](const Expr& lane) { return epilogue_.finish(index(k, lane)); });
          outputs.push_back(
              for_loop(k, plan_.tile, LoopKind::serial, inside(left + Expr(k), plan_.x, std::move(finished))));
        }
        Stmt results = allocate(out, sequence({transformed, sequence(std::move(outputs))}));
        Stmt rows = for_loop(row, plan_.tile, LoopKind::serial, inside(top + Expr(row), plan_.y, results));
        return allocate(half, sequence({transform_columns(&Scheduler::output_rows, half, element), rows}));
      });
    });
  }

  // Tiles may hang over the edge.
  Stmt inside(const Expr& index, const WindowAxis& w, Stmt body) const {
    return extent(w.axis) % plan_.tile ? if_then(index < Expr(extent(w.axis)), std::move(body)) : body;
  }

  std::vector<Expr> result_index(const Expr& channel, const Expr& y, const Expr& x) const {
    std::vector<Expr> index;
    for (size_t k = 0; k < stage().axes.size(); ++k) {
      int a = static_cast<int>(k);
      index.push_back(a == plan_.n_axis ? channel : a == plan_.y.axis ? y : a == plan_.x.axis ? x : Expr(axis(a).var));
    }
    return index;
  }

  const WinogradPlan& plan_;
  const Machine& machine_;
  const Transforms& matrices_;
  Epilogue epilogue_;
  int64_t size_;  // points of a tile along either axis
  int64_t lanes_;
  int64_t terms_of_step_;
  RegisterTile register_tile_;
  Expr first_tile_, count_;  // of the block; tiles it has
  Var worker_ = make_var("worker");
  Expr slot_;  // of the products
};

}  // namespace

Stmt schedule_winograd(const WinogradPlan& plan, const Machine& machine) { return Scheduler(plan, machine).run(); }

Constant pack_winograd_weights(const WinogradPlan& plan, const Constant& weights) {
  const Stage& stage = plan.function.stages[0];
  const Matrix& g = transforms(plan.tile).weights;
  int64_t size = static_cast<int64_t>(g.size());
  int64_t channels = plan.in_channels(), columns = plan.extent(plan.n_axis);
  // Strides of the four roles in the weights as the model has them.
  int64_t column_stride = 0, channel_stride = 0, y_stride = 0, x_stride = 0, stride = 1;
  for (size_t d = weights.shape().size(); d-- > 0; stride *= weights.shape()[d]) {
    const Expr& index = plan.contraction.weights.indices[d];
    auto is_term = [&](int t) { return is_var(index, stage.reduction->axes[static_cast<size_t>(t)].var); };
    (is_term(plan.channel_k) ? channel_stride
     : is_term(plan.y.term)  ? y_stride
     : is_term(plan.x.term)  ? x_stride
                             : column_stride) = stride;
  }
  std::span<const float> from = weights.as<float>();
  std::vector<float> to(static_cast<size_t>(columns * channels * size * size));
  std::vector<double> half(static_cast<size_t>(size) * WinogradPlan::taps);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t channel = 0; channel < channels; ++channel) {
      const float* w = &from[static_cast<size_t>(column * column_stride + channel * channel_stride)];
      for (int64_t r = 0; r < size; ++r)
        for (int64_t kx = 0; kx < WinogradPlan::taps; ++kx) {
          double sum = 0;
          for (int64_t ky = 0; ky < WinogradPlan::taps; ++ky) sum += g[r][ky] * w[ky * y_stride + kx * x_stride];
          half[static_cast<size_t>(r * WinogradPlan::taps + kx)] = sum;
        }
      for (int64_t r = 0; r < size; ++r)
        for (int64_t c = 0; c < size; ++c) {
          double sum = 0;
          for (int64_t kx = 0; kx < WinogradPlan::taps; ++kx)
            sum += half[static_cast<size_t>(r * WinogradPlan::taps + kx)] * g[c][kx];
          int64_t panel = column / plan.panel, point = r * size + c;
          int64_t at = ((panel * size * size + point) * channels + channel) * plan.panel + column % plan.panel;
          to[static_cast<size_t>(at)] = static_cast<float>(sum);
        }
    }
  return Constant::of(dtype::f32, static_shape(plan.weights->shape), to);
}

}  // namespace dlcc::tensor
