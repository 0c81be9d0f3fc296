#include "tensor/schedules/winograd.h"

#include <algorithm>

#include "tensor/schedules/contraction.h"
#include "tensor/schedules/contraction_k_loops.h"
#include "tensor/schedules/epilogue.h"
#include "tensor/schedules/loops.h"
#include "tensor/schedules/row_reduction.h"
#include "tensor/schedules/winograd_transforms.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class WinogradScheduler {
 public:
  WinogradScheduler(const WinogradPlan& plan, const Machine& machine)
      : plan_(plan),
        machine_(machine),
        transforms_(plan.tile, machine),
        epilogue_(stage(), plan.contraction.epilogue < 0 ? nullptr : &plan.function.stages.back()),
        size_(plan.tile + WinogradPlan::taps - 1),
        lanes_(std::min<int64_t>(machine.lanes(32), channel_block)),
        k_unroll_(machine.k_unroll),
        register_tile_(choose_register_tile(machine, lanes_, plan.panel_width)) {}

  Stmt run() {
    const Dim tiles = plan_.tiles_along(plan_.y) * plan_.tiles_along(plan_.x);
    auto rounded_up = [](const Dim& a, int64_t b) { return floor_div(a + Dim(b - 1), b); };
    const Dim blocks = rounded_up(tiles, plan_.tiles_per_block), blocks_each = rounded_up(blocks, plan_.workers);
    int64_t panels_each = extent(plan_.n_axis) / plan_.panel_width / plan_.panel_shares;
    Var next = make_var("next"), block = make_var("block"), share = make_var("share"), in_share = make_var("panel");
    first_tile_ = Expr(block) * Expr(plan_.tiles_per_block);
    count_ = Expr(plan_.tiles_per_block);
    if (floor_mod(tiles, plan_.tiles_per_block) != Dim(0)) count_ = min(count_, Expr(tiles) - first_tile_);
    const Expr count = count_;
    if (!plan_.is_static_image()) count_ = tiles_of_block_;
    slot_ = plan_.workers > 1 ? worker_ : share;
    Expr panel = Expr(share) * Expr(panels_each) + Expr(in_share);
    Stmt panels =
        for_loop(in_share, panels_each, LoopKind::serial, sequence({products(panel), transform_output(panel)}));
    Stmt body = sequence({transform_input(), for_loop(share, plan_.panel_shares, LoopKind::parallel, panels)});
    if (!plan_.is_static_image()) {
      // The condition is always true. From it, accesses of the scratch are proved to be in range (index_facts.h).
      body = if_then(Expr(tiles_of_block_) <= Expr(plan_.products->shape[1]), body);
      body = let(tiles_of_block_, max(count, Expr(0)), body);  // the maximum proves that the number is at least 0
    }
    if (floor_mod(blocks, plan_.workers) != Dim(0)) body = if_then(Expr(block) < Expr(blocks), body);
    body = let(block, Expr(worker_) * Expr(blocks_each) + Expr(next), body);
    body = for_loop(next, Expr(blocks_each), LoopKind::serial, body);
    body = for_loop(worker_, plan_.workers, LoopKind::parallel, body);
    for (size_t k = plan_.batch_axes.size(); k-- > 0;)
      body = for_loop(axis(plan_.batch_axes[k]).var, Expr(plan_.size(plan_.batch_axes[k])), LoopKind::serial, body);
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

  // Loops over the vectors of some channels; the body gets the first channel of a vector. One loop over blocks and one
  // within a block, since blocked layouts store blocks apart.
  Stmt vectors(int64_t channels, const std::function<Stmt(const Expr&)>& body) const {
    Var b = make_var("block"), v = make_var("v");
    Stmt in_block = for_loop(v, channel_block / lanes_, LoopKind::serial,
                             body(Expr(b) * Expr(channel_block) + Expr(v) * Expr(lanes_)));
    return for_loop(b, channels / channel_block, LoopKind::serial, in_block);
  }

  // Loops over the tiles of the block; the body gets the tile's number in the block and the pixel of its first output.
  Stmt each_tile(const std::function<Stmt(const Expr&, const Expr&, const Expr&)>& body) const {
    Var i = make_var("tile"), number = make_var("number"), top = make_var("top"), left = make_var("left");
    const Dim across = plan_.tiles_along(plan_.x), down = plan_.tiles_along(plan_.y);
    Expr row = floor_div(Expr(number), Expr(across));
    if (!plan_.is_static_image()) row = min(row, Expr(down - Dim(1)));  // proves the bound
    Stmt inner = body(Expr(i), Expr(top), Expr(left));
    inner = let(left, floor_mod(Expr(number), Expr(across)) * Expr(plan_.tile), inner);
    inner = let(top, row * Expr(plan_.tile), inner);
    const Expr last(down * across - Dim(1));
    return for_loop(i, count_, LoopKind::parallel, let(number, min(first_tile_ + Expr(i), last), inner));
  }

  // Transforms the columns of a tile: to[row, column, lane] from the column's elements.
  Stmt transform_columns(WinogradTransforms::Transform transform, const Buffer& to,
                         const std::function<Expr(int64_t row, const Expr& column, const Expr& lane)>& element) const {
    Var j = make_var("j");
    return for_loop(j, size_, LoopKind::serial, lanes([&](const Expr& lane) {
                      std::vector<Expr> column;
                      for (int64_t i = 0; i < size_; ++i) column.push_back(element(i, j, lane));
                      return bind_values(column, "d", [&](const std::vector<Expr>& d) {
                        return (transforms_.*transform)(d, [&](const std::vector<Expr>& rows) {
                          std::vector<Stmt> stores;
                          for (size_t r = 0; r < rows.size(); ++r)
                            stores.push_back(store(to, {Expr(int64_t(r)), j, lane}, rows[r]));
                          return sequence(std::move(stores));
                        });
                      });
                    }));
  }

  // Transforms one row of a tile whose columns are transformed; `body` gets the results.
  Stmt transform_row(WinogradTransforms::Transform transform, const Buffer& from, const Expr& row, const Expr& lane,
                     const std::function<Stmt(const std::vector<Expr>&)>& body) const {
    std::vector<Expr> elements;
    for (int64_t k = 0; k < size_; ++k) elements.push_back(load(from, {row, Expr(k), lane}));
    return bind_values(elements, "d", [&](const std::vector<Expr>& d) { return (transforms_.*transform)(d, body); });
  }

  Buffer half_transformed(int64_t rows) const {
    return make_buffer("half", dtype::f32, {rows, size_, lanes_}, Scope::local, storage_alignment);
  }

  // ---- the three phases

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
              return transform_row(&WinogradTransforms::input, half, row, lane, [&](const std::vector<Expr>& values) {
                std::vector<Stmt> stores;
                for (size_t k = 0; k < values.size(); ++k)
                  stores.push_back(store(
                      plan_.transformed,
                      {worker_, channels, Expr(row) * Expr(size_) + Expr(int64_t(k)), tile, first + lane}, values[k]));
                return sequence(std::move(stores));
              });
            }));
        return allocate(half, sequence({transform_columns(&WinogradTransforms::input, half, element), rows}));
      });
    });
    return for_loop(channels, plan_.in_channels() / channel_block, LoopKind::parallel, body);
  }

  // One matrix product for each point: tiles of the block (M) x input channels (K) x channels of the panel (N).
  Stmt products(const Expr& panel) const {
    Var point = make_var("point"), r = make_var("rows");
    int64_t count = ceil_div(plan_.tiles_per_block, register_tile_.rows), tall = ceil_div(plan_.tiles_per_block, count);
    std::vector<Stmt> all;
    for (int64_t offset = 0; offset < plan_.panel_width; offset += register_tile_.vectors * lanes_) {
      if (!plan_.is_static_image()) {
        all.push_back(products_of_some(panel, point, offset));
        continue;
      }
      all.push_back(for_loop(r, plan_.tiles_per_block / tall, LoopKind::serial,
                             product(panel, point, {r, count},
                                     tall == plan_.tiles_per_block ? Expr(0) : Expr(r) * Expr(tall), tall, offset)));
      if (int64_t rest = plan_.tiles_per_block % tall)
        all.push_back(product(panel, point, {Expr(count - 1), count}, Expr(count - 1) * Expr(tall), rest, offset));
    }
    return for_loop(point, size_ * size_, LoopKind::parallel, sequence(std::move(all)));
  }

  // The products of the tiles in the block, whose number is known at run time only.
  Stmt products_of_some(const Expr& panel, const Expr& point, int64_t offset) const {
    const int64_t most = std::min(register_tile_.rows, plan_.tiles_per_block);
    return in_tiles(count_, most, [&](const Expr& begin, int64_t tall) {
      RowTile rows{floor_div(begin, Expr(most)), ceil_div(plan_.tiles_per_block, most)};
      return product(panel, point, rows, begin, tall, offset);
    });
  }

  // The register tile `number` of `count` along M.
  struct RowTile {
    Expr number;
    int64_t count;
  };

  // One register tile: `tall` rows of a matrix product, the vectors of the panel from channel `offset` on.
  Stmt product(const Expr& panel, const Expr& point, const RowTile& rows, const Expr& first, int64_t tall,
               int64_t offset) const {
    Buffer acc = make_buffer("acc", dtype::f32, {tall, register_tile_.vectors, lanes_}, Scope::reg);
    Var r = make_var("r"), v = make_var("v"), channels = make_var("channels"),
        unrolled_block = make_var("unrolled_block"), k = make_var("k");
    auto each = [&](const std::function<Stmt(const Expr& column, const Expr& lane)>& body) {
      Stmt s = lanes([&](const Expr& lane) { return body(Expr(v) * Expr(lanes_) + lane + Expr(offset), lane); });
      return for_loop(r, tall, LoopKind::unrolled, for_loop(v, register_tile_.vectors, LoopKind::unrolled, s));
    };
    Expr in_block = Expr(unrolled_block) * Expr(k_unroll_) + Expr(k);
    Expr base = Expr(channels) * Expr(channel_block);
    Stmt init = each([&](const Expr&, const Expr& lane) { return store(acc, {r, v, lane}, literal(dtype::f32, 0.)); });
    Stmt accumulate = each([&](const Expr& column, const Expr& lane) {
      return store(acc, {r, v, lane},
                   multiply_add(load(plan_.transformed, {worker_, channels, point, first + Expr(r), in_block}) *
                                    load(plan_.weights, {panel, point, base + in_block, column}),
                                load(acc, {r, v, lane}), machine_));
    });
    accumulate = for_loop(k, k_unroll_, LoopKind::unrolled, accumulate);
    accumulate = sequence({prefetch(panel, point, rows, channels, unrolled_block, offset), accumulate});
    accumulate = for_loop(unrolled_block, channel_block / k_unroll_, LoopKind::serial, accumulate);
    accumulate = sequence({prefetch(panel, point, rows, channels, Expr(), offset), accumulate});
    accumulate = for_loop(channels, plan_.in_channels() / channel_block, LoopKind::serial, accumulate);
    Stmt store_products = each([&](const Expr& column, const Expr& lane) {
      return store(plan_.products, {slot_, first + Expr(r), point * Expr(plan_.panel_width) + column},
                   load(acc, {r, v, lane}));
    });
    return allocate(acc, sequence({init, accumulate, store_products}));
  }

  // Each register tile prefetches its share of the next point's weights. After the last point of a panel, these are the
  // first of the next panel. `unrolled_block` as in prefetched_lines.
  Stmt prefetch(const Expr& panel, const Expr& point, const RowTile& rows, const Expr& channels,
                const Expr& unrolled_block, int64_t offset) const {
    int64_t per_line = machine_.cache_line_bytes / 4;
    int64_t across = register_tile_.vectors * lanes_ / per_line;
    if (across == 0) return nullptr;
    KChunk chunk{channels, plan_.in_channels() / channel_block, channel_block / k_unroll_};
    std::vector<Stmt> hints;
    bool contiguous = across * per_line == plan_.panel_width;  // the tile's vectors fill the rows of the panel
    for (const Expr& line :
         prefetched_lines(plan_.in_channels() * across, rows.number, rows.count, chunk, unrolled_block, machine_)) {
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
      return vectors(plan_.panel_width, [&](const Expr& first) {
        auto element = [&](int64_t i, const Expr& j, const Expr& lane) {
          Expr point = Expr(i * size_) + j;
          return load(plan_.products, {slot_, tile, point * Expr(plan_.panel_width) + first + lane});
        };
        Buffer out = make_buffer("out", dtype::f32, {plan_.tile, lanes_}, Scope::reg);
        Stmt transformed = lanes([&](const Expr& lane) {
          return transform_row(&WinogradTransforms::output, half, row, lane, [&](const std::vector<Expr>& values) {
            std::vector<Stmt> stores;
            for (size_t k = 0; k < values.size(); ++k)
              stores.push_back(store(out, {Expr(int64_t(k)), lane}, values[k]));
            return sequence(std::move(stores));
          });
        });
        auto index = [&](const Expr& k, const Expr& lane) {
          return result_index(panel * Expr(plan_.panel_width) + first + lane, top + Expr(row), left + k);
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
        return allocate(half, sequence({transform_columns(&WinogradTransforms::output, half, element), rows}));
      });
    });
  }

  // Tiles may extend beyond the image: runs `body` where the index is inside.
  Stmt inside(const Expr& index, const WindowAxis& w, Stmt body) const {
    const Dim& size = plan_.size(w.axis);
    return floor_mod(size, plan_.tile) == Dim(0) ? body : if_then(index < Expr(size), std::move(body));
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
  WinogradTransforms transforms_;
  Epilogue epilogue_;
  int64_t size_;  // points of a tile along either axis
  int64_t lanes_;
  int64_t k_unroll_;
  RegisterTile register_tile_;
  Expr first_tile_, count_;  // of the block
  Var tiles_of_block_ = make_var("tiles");
  Var worker_ = make_var("worker");
  Expr slot_;  // of `products`: the worker or the share
};

}  // namespace

Stmt schedule_winograd(const WinogradPlan& plan, const Machine& machine) {
  return WinogradScheduler(plan, machine).run();
}

}  // namespace dlcc::tensor
