#include "tensor/schedules/line_buffer.h"

#include "tensor/layout.h"
#include "tensor/schedules/loops.h"
#include "tensor/simplify.h"
#include "tensor/visit.h"

namespace dlcc::tensor {
namespace {

class LineBufferScheduler {
 public:
  LineBufferScheduler(const LineBufferPlan& plan, const std::map<Buffer, Layout>& layouts, const Machine& machine,
                      const TuningConfig& config)
      : plan_(plan), layouts_(layouts), machine_(machine), config_(config) {}

  Stmt run() {
    Stmt body = workers();
    for (int axis : batch_axes())
      body = for_loop(plan_.consumer_axis(axis).var, Expr(plan_.consumer_axis(axis).extent), LoopKind::serial, body);
    return sequence(
        {zero_halo(plan_.line_buffer, plan_.line_buffer_layout), schedule_copies(plan_.producer, machine_), body});
  }

 private:
  std::vector<int> batch_axes() const {
    std::vector<int> axes;
    for (auto [dim, axis] : plan_.batch_dims)
      if (axis >= 0) axes.push_back(axis);
    return axes;
  }
  int64_t n() const { return plan_.extent(plan_.producer.n_axis).value(); }

  // Each worker has an equal share of the work items and a line buffer of its own. Bands are outermost: all panels read
  // the same rows.
  Stmt workers() {
    const Dim items = plan_.bands() * Dim(plan_.panels);
    const Dim share = floor_div(items + Dim(plan_.workers - 1), plan_.workers);
    Var next = make_var("next"), item = make_var("item"), band = make_var("band"), panel = make_var("panel");
    Stmt body = let(panel, floor_mod(Expr(item), Expr(plan_.panels)), one_band(band, panel));
    body = let(band, floor_div(Expr(item), Expr(plan_.panels)), body);
    if (floor_mod(items, plan_.workers) != Dim(0)) body = if_then(Expr(item) < Expr(items), body);
    body = let(item, Expr(worker_) * Expr(share) + Expr(next), body);
    return for_loop(worker_, plan_.workers, LoopKind::parallel, for_loop(next, Expr(share), LoopKind::serial, body));
  }

  // One panel of one band.
  struct WorkItem {
    Expr n;            // first channel of the panel
    int64_t channels;  // of the panel that exist
    Expr result;       // first row of the result
    Expr read;         // first row of the intermediate image that is read
    Var computed;      // first row of the intermediate image that is computed together
    Var shift;         // row of the line buffer that holds row `computed`
  };

  Stmt one_band(const Var& band, const Var& panel) {
    Var computed = make_var("computed"), shift = make_var("shift");
    Expr result = Expr(band) * Expr(plan_.rows), read = result * Expr(plan_.stride) + Expr(plan_.first_read);
    int64_t width = plan_.producer.panel_width, whole = n() / width, left = n() % width;
    auto one = [&](const Expr& first, int64_t channels) {
      return channels == 0 ? nullptr : one_panel({first, channels, result, read, computed, shift});
    };
    Stmt rest = one(Expr(whole * width), left);
    Stmt body = whole == 0 ? rest : one(Expr(panel) * Expr(width), width);
    if (whole > 0 && rest) body = if_then(Expr(panel) < Expr(whole), body, rest);
    return plan_.is_static_image() ? with_computed_rows(read, computed, shift, body) : body;
  }

  // Every band of a static image computes the same number of rows, all of them inside the image. At the top and the
  // bottom of the image these are not exactly the rows that are read; the line buffer has room for both.
  Stmt with_computed_rows(const Expr& read, const Var& computed, const Var& shift, const Stmt& body) const {
    int64_t last = plan_.height().value() - plan_.rows_computed(), above = plan_.rows_above();
    // computed - read + above, in a form whose bounds the simplifier can derive.
    Expr difference = min(max(Expr(above), Expr(above) - read), Expr(last + above) - read);
    return let(computed, min(max(read, Expr(0)), Expr(last)), let(shift, difference, body));
  }

  Stmt one_panel(const WorkItem& at) {
    WindowReductionArea consumed{.first_lane = at.n,
                                 .lanes = at.channels,
                                 .row_axis = plan_.row_axis,
                                 .row = make_var("row"),
                                 .first_row = at.result,
                                 .rows = plan_.rows,
                                 .free_axes = batch_axes()};
    consumed.known = {{consumed.row, {0, plan_.rows - 1}}, {worker_, {0, plan_.workers - 1}}};
    return sequence({plan_.is_static_image() ? sequence({computed_rows(at, plan_.rows_computed()), pad_rows(at)})
                                             : each_row_read(at),
                     schedule_area(from_line_buffer(consumed, at), consumed, layouts_, machine_)});
  }

  // `count` rows of the intermediate image, from `computed` on.
  Stmt computed_rows(const WorkItem& at, int64_t count) {
    ContractionArea produced{at.n, round_up(at.channels, plan_.block), at.computed, count};
    return to_line_buffer(schedule_area(plan_.producer, produced, machine_, config_), at);
  }

  // The rows that a band of a symbolic image reads: computed where the image has them, else padding.
  Stmt each_row_read(const WorkItem& at) {
    const Expr row(at.computed);
    Stmt one = if_then(logical_and(row >= Expr(0), row < Expr(plan_.height())), computed_rows(at, 1),
                       plan_.padding ? fill_row(at.shift) : nullptr);
    return for_loop(at.shift, plan_.rows_read(), LoopKind::parallel, let(at.computed, at.read + Expr(at.shift), one));
  }

  // The producer's code, with the line buffer in place of the intermediate image.
  Stmt to_line_buffer(const Stmt& code, const WorkItem& at) const {
    auto index_of = [&](const std::vector<Expr>& index) {
      Expr row = index[static_cast<size_t>(plan_.row_dim)] - Expr(at.computed) + Expr(at.shift);
      return in_line_buffer(at, index, row);
    };
    Substitution fixed;
    for (auto [dim, axis] : plan_.batch_dims) {
      const Axis& own = plan_.producer.function.stages[0].axes[static_cast<size_t>(dim)];
      fixed[own.var] = axis < 0 ? Expr(0) : Expr(plan_.consumer_axis(axis).var);
    }
    auto on_load = [&](const Expr& e) {
      const Load* l = as<Load>(e);
      return l && l->buffer == plan_.intermediate ? load(plan_.line_buffer, index_of(l->indices)) : e;
    };
    return substitute(rewrite(code, on_load,
                              [&](const Stmt& s) {
                                const Store* x = as<Store>(s);
                                return x && x->buffer == plan_.intermediate
                                           ? store(plan_.line_buffer, index_of(x->indices), x->value)
                                           : s;
                              }),
                      fixed);
  }

  // The consumer, with the line buffer in place of the intermediate image.
  WindowReductionPlan from_line_buffer(const WindowReductionArea& area, const WorkItem& at) const {
    WindowReductionPlan consumer = plan_.consumer;
    Expr row = area.first_row + Expr(area.row);
    Substitution here = {{plan_.consumer_axis(plan_.row_axis).var, row}};
    consumer.reduced.values[0] = rewrite(consumer.reduced.values[0], [&](const Expr& e) {
      const Load* l = as<Load>(e);
      if (!l || l->buffer != plan_.intermediate) return e;
      Expr read = substitute(l->indices[static_cast<size_t>(plan_.row_dim)], here);
      Expr row_here = simplify(read - at.read + Expr(plan_.rows_above()));
      return load(plan_.line_buffer, in_line_buffer(at, l->indices, row_here), l->otherwise);
    });
    return consumer;
  }

  std::vector<Expr> in_line_buffer(const WorkItem& at, const std::vector<Expr>& index, const Expr& row) const {
    return {worker_, index[static_cast<size_t>(plan_.producer.n_axis)] - at.n, row,
            index[static_cast<size_t>(plan_.row_dim) + 1]};
  }

  // Stores the padding in rows of the line buffer above and below a static image.
  Stmt pad_rows(const WorkItem& at) const {
    if (!plan_.padding) return nullptr;
    int64_t end = (plan_.result_rows().value() - 1) * plan_.stride + plan_.first_read + plan_.window_height;
    return sequence({pad_rows(at, plan_.first_read, 0), pad_rows(at, plan_.height().value(), end)});
  }

  // Stores the padding in the rows [first, end) of the image, as far as the band reads them.
  Stmt pad_rows(const WorkItem& at, int64_t first, int64_t end) const {
    if (first >= end) return nullptr;
    Var y = make_var("y"), row = make_var("row");
    int64_t above = plan_.rows_above();
    Expr is_read = logical_and(Expr(row) >= Expr(above), Expr(row) < Expr(above + plan_.rows_read()));
    Stmt one = let(row, Expr(y) + Expr(first + above) - at.read, if_then(is_read, fill_row(row)));
    return for_loop(y, end - first, LoopKind::serial, one);
  }

  // Stores the padding in one row of the line buffer.
  Stmt fill_row(const Var& row) const {
    Var block = make_var("block"), x = make_var("x"), lane = make_var("lane");
    Stmt fill =
        store(plan_.line_buffer, {worker_, Expr(block) * Expr(plan_.block) + Expr(lane), row, x}, plan_.padding);
    fill = for_loop(x, Expr(plan_.width()), LoopKind::serial, for_loop(lane, plan_.block, LoopKind::vector, fill));
    return for_loop(block, plan_.producer.panel_width / plan_.block, LoopKind::serial, fill);
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
  return LineBufferScheduler(plan, layouts, machine, config).run();
}

}  // namespace dlcc::tensor
