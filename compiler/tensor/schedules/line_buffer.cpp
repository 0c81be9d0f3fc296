#include "tensor/schedules/line_buffer.h"

#include "tensor/layout.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class Scheduler {
 public:
  Scheduler(const LineBufferPlan& plan, const std::map<Buffer, Layout>& layouts, const Machine& machine,
            const TuningConfig& config)
      : plan_(plan), layouts_(layouts), machine_(machine), config_(config) {}

  Stmt run() {
    Stmt body = workers();
    for (int axis : fixed_axes())
      body = for_loop(plan_.consumer_axis(axis).var, plan_.consumer_axis(axis).extent.value(), LoopKind::serial, body);
    return sequence({zero_halo(plan_.strip, plan_.strip_layout), schedule_copies(plan_.producer, machine_), body});
  }

 private:
  std::vector<int> fixed_axes() const {
    std::vector<int> axes;
    for (auto [dim, axis] : plan_.fixed)
      if (axis >= 0) axes.push_back(axis);
    return axes;
  }
  int64_t columns() const { return plan_.extent(plan_.producer.n_axis); }

  // Every worker has a share of the items, and a strip of its own. Strips are outermost: all panels read the same rows.
  Stmt workers() {
    int64_t items = plan_.strips * plan_.panels, share = ceil_div(items, plan_.workers);
    Var next = make_var("next"), item = make_var("item"), strip = make_var("strip"), panel = make_var("panel");
    Stmt body = let(panel, floor_mod(Expr(item), Expr(plan_.panels)), one_strip(strip, panel));
    body = let(strip, floor_div(Expr(item), Expr(plan_.panels)), body);
    if (items % plan_.workers) body = if_then(Expr(item) < Expr(items), body);
    body = let(item, Expr(worker_) * Expr(share) + Expr(next), body);
    return for_loop(worker_, plan_.workers, LoopKind::parallel, for_loop(next, share, LoopKind::serial, body));
  }

  // A panel of a strip.
  struct Item {
    Expr column;      // first of the panel,
    int64_t columns;  // of those that exist
    Expr result;      // first row of the results
    Expr read;        // first row that is read,
    Var computed;     // and that is computed, of the image;
    Var shift;        // the latter's place in the strip
  };

  // All strips compute equally many rows, which lie inside of the image. At its edges these are others than those that
  // are read, and the strip has room for both.
  Stmt one_strip(const Var& strip, const Var& panel) {
    Var computed = make_var("computed"), shift = make_var("shift");
    Expr result = Expr(strip) * Expr(plan_.rows), read = result * Expr(plan_.step) + Expr(plan_.before);
    int64_t last = plan_.height() - plan_.rows_computed(), front = plan_.rows_in_front();
    int64_t width = plan_.producer.panel, whole = columns() / width, left = columns() % width;
    auto one = [&](const Expr& column, int64_t columns) {
      return columns == 0 ? nullptr : one_panel({column, columns, result, read, computed, shift});
    };
    Stmt rest = one(Expr(whole * width), left);
    Stmt body = whole == 0 ? rest : one(Expr(panel) * Expr(width), width);
    if (whole > 0 && rest) body = if_then(Expr(panel) < Expr(whole), body, rest);
    // The shift is the difference of both, in a form of which the simplifier sees the bounds.
    Expr difference = min(max(Expr(front), Expr(front) - read), Expr(last + front) - read);
    return let(computed, min(max(read, Expr(0)), Expr(last)), let(shift, difference, body));
  }

  Stmt one_panel(const Item& at) {
    ContractionArea produced{at.column, round_up(at.columns, channel_block), at.computed, plan_.rows_computed()};
    WindowReductionArea consumed{.first_lane = at.column,
                                 .lanes = at.columns,
                                 .row_axis = plan_.row_axis,
                                 .row = make_var("row"),
                                 .first_row = at.result,
                                 .rows = plan_.rows,
                                 .fixed_axes = fixed_axes()};
    consumed.known = {{consumed.row, {0, plan_.rows - 1}}, {worker_, {0, plan_.workers - 1}}};
    return sequence({relocated(schedule_area(plan_.producer, produced, machine_, config_), at), edges(at),
                     schedule_area(reading_strip(consumed, at), consumed, layouts_, machine_)});
  }

  // The producer's code, with the strip in place of what it stores.
  Stmt relocated(const Stmt& code, const Item& at) const {
    auto place = [&](const std::vector<Expr>& index) {
      Expr row = index[static_cast<size_t>(plan_.row_dim)] - Expr(at.computed) + Expr(at.shift);
      return in_strip(at, index, row);
    };
    Substitution fixed;
    for (auto [dim, axis] : plan_.fixed) {
      const Axis& own = plan_.producer.function.stages[0].axes[static_cast<size_t>(dim)];
      fixed[own.var] = axis < 0 ? Expr(0) : Expr(plan_.consumer_axis(axis).var);
    }
    auto on_load = [&](const Expr& e) {
      const Load* l = as<Load>(e);
      return l && l->buffer == plan_.passed ? load(plan_.strip, place(l->indices)) : e;
    };
    return substitute(rewrite(code, on_load,
                              [&](const Stmt& s) {
                                const Store* x = as<Store>(s);
                                return x && x->buffer == plan_.passed ? store(plan_.strip, place(x->indices), x->value)
                                                                      : s;
                              }),
                      fixed);
  }

  // The consumer, with the strip in place of what it reads.
  WindowReductionPlan reading_strip(const WindowReductionArea& area, const Item& at) const {
    WindowReductionPlan consumer = plan_.consumer;
    Expr row = area.first_row + Expr(area.row);
    Substitution here = {{plan_.consumer_axis(plan_.row_axis).var, row}};
    consumer.reduced.values[0] = rewrite(consumer.reduced.values[0], [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l || l->buffer != plan_.passed) return e;
      Expr read = substitute(l->indices[static_cast<size_t>(plan_.row_dim)], here);
      Expr row_here = simplify(read - at.read + Expr(plan_.rows_in_front()));
      return load(plan_.strip, in_strip(at, l->indices, row_here), l->otherwise);
    });
    return consumer;
  }

  std::vector<Expr> in_strip(const Item& at, const std::vector<Expr>& index, const Expr& row) const {
    return {worker_, index[static_cast<size_t>(plan_.producer.n_axis)] - at.column, row,
            index[static_cast<size_t>(plan_.row_dim) + 1]};
  }

  // Rows of the strip that lie above or below the image.
  Stmt edges(const Item& at) const {
    if (!plan_.outside) return nullptr;
    int64_t end = (plan_.results() - 1) * plan_.step + plan_.before + plan_.window;
    return sequence({edge(at, plan_.before, 0), edge(at, plan_.height(), end)});
  }

  // Those of the rows [first, end) that the strip reads.
  Stmt edge(const Item& at, int64_t first, int64_t end) const {
    if (first >= end) return nullptr;
    Var y = make_var("y"), row = make_var("row"), block = make_var("block"), x = make_var("x"), lane = make_var("lane");
    Stmt fill = store(plan_.strip, {worker_, Expr(block) * Expr(channel_block) + Expr(lane), row, x}, plan_.outside);
    fill = for_loop(x, plan_.width(), LoopKind::serial, for_loop(lane, channel_block, LoopKind::vector, fill));
    fill = for_loop(block, plan_.producer.panel / channel_block, LoopKind::serial, fill);
    int64_t front = plan_.rows_in_front();
    Expr is_read = logical_and(Expr(row) >= Expr(front), Expr(row) < Expr(front + plan_.rows_read()));
    Stmt one = let(row, Expr(y) + Expr(first + front) - at.read, if_then(is_read, fill));
    return for_loop(y, end - first, LoopKind::serial, one);
  }

  const LineBufferPlan& plan_;
  const std::map<Buffer, Layout>& layouts_;
  const Machine& machine_;
  const TuningConfig& config_;
  Var worker_ = make_var("worker");
};

}  // namespace

Stmt schedule_line_buffer(const LineBufferPlan& plan, const std::map<Buffer, Layout>& layouts, const Machine& machine,
                          const TuningConfig& config) {
  return Scheduler(plan, layouts, machine, config).run();
}

}  // namespace dlcc::tensor
