// vision.non_max_suppression_per_class: selects boxes by descending score, and drops a box that overlaps a selected one
// too much.
#include "relay/op_support/shape_operands.h"
#include "relay/op_support/sorting.h"

namespace dlcc::relay::ops {

namespace {

struct NonMaxSuppressionAttrs {
  std::vector<Dim> max_output_size = {0};
  bool center_point_box = false, filter_scores = true;
};

// The largest number of boxes of a class.
Dim most_in_class(const NonMaxSuppressionAttrs& a, const Operands& in) {
  const Dim& boxes = in[0].shape[1];
  return in.size() > 4 ? boxes : max(Dim(0), min(boxes, a.max_output_size[0]));
}

TypeResult type_of_suppression(const NonMaxSuppressionAttrs& a, const Operands& in) {
  const TensorType &boxes = in[0], &scores = in[1];
  if (auto e = first_of({check_type(boxes, "boxes", types::real), check_same_type(boxes, "boxes", scores, "scores"),
                         check_rank(boxes, "boxes", 3), check_rank(scores, "scores", 3),
                         check_same_type(boxes, "boxes", in[2], "iou_threshold"), check_rank(in[2], "iou_threshold", 0),
                         check_same_type(boxes, "boxes", in[3], "score_threshold"),
                         check_rank(in[3], "score_threshold", 0)}))
    return *e;
  if (auto e = first_of({check_equal(boxes.shape[0], "the batch of boxes", scores.shape[0], "the batch of scores"),
                         check_equal(boxes.shape[1], "the number of boxes", scores.shape[2], "the number of scores"),
                         check_equal(boxes.shape[2], "the last axis of boxes", 4, "four coordinates")}))
    return *e;
  Checked<PartialList> size = list_value(in, 4, a.max_output_size, "max_output_size");
  if (auto* e = std::get_if<TypeError>(&size)) return *e;
  if (std::get<PartialList>(size).size() != 1) return shape_error("max_output_size must be one number");
  TypeResult selected = tensor_result({scores.shape[0] * scores.shape[1] * most_in_class(a, in), 3}, dtype::i64);
  if (std::holds_alternative<TypeError>(selected)) return selected;
  return tuple_type({std::get<Type>(selected), tensor_type(Shape{Dim(1)}, dtype::i64)});
}

// The corners and the area of a box; corners of equal extent may be in any order.
struct Corners {
  Expr low[2], high[2];

  Expr area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

class Suppression {
 public:
  Suppression(Definition& d, const NonMaxSuppressionAttrs& a, const Operands& in) : a_(a) {
    boxes_ = d.input("boxes", in[0].dtype, in[0].shape);
    scores_ = d.input("scores", in[1].dtype, in[1].shape);
    iou_ = d.input("iou_threshold", in[2].dtype, in[2].shape);
    threshold_ = d.input("score_threshold", in[3].dtype, in[3].shape);
    if (in.size() > 4) size_ = d.input("max_output_size", in[4].dtype, in[4].shape);
    order_ = d.declare("order", dtype::i64, {boxes_.extent(1)});
    scratch_ = d.declare("scratch", dtype::i64, {boxes_.extent(1)});
    selected_ = d.declare("selected", dtype::i64, {scores_.extent(0) * scores_.extent(1) * most_in_class(a, in), 3});
    count_ = d.declare("count", dtype::i64, {1});
  }

  void define(Definition& d) const {
    Statements s;
    const Tensor all = s.local("all", dtype::i64);
    s.store(all, {}, Expr(0));
    const Expr most = s.let("most", size_.rank() ? integer_at(size_, 0) : Expr(a_.max_output_size[0]));
    s.loops({scores_.extent(0), scores_.extent(1)}, [&](Index i) {
      const Expr batch = i[0], of_class = i[1];
      const Expr candidates = sorted_candidates(s, batch, of_class);
      const Expr first = s.let("first", scalar(all));  // where the boxes of the class begin in `selected`
      s.loop("k", candidates, [&](const Expr& k) {
        const Expr box = s.let("box", order_(k)), end = s.let("end", scalar(all));
        s.if_then(end - first < most, [&] {
          const Tensor keeps = s.local("keeps", dtype::boolean);
          s.store(keeps, {}, tensor::literal(dtype::boolean, int64_t{1}));
          s.loop("j", end - first, [&](const Expr& j) {
            s.if_then(scalar(keeps), [&] {
              const Expr other = s.let("other", selected_(first + j, Expr(2)));
              s.store(keeps, {}, logical_not(overlap(corners(batch, box), corners(batch, other))));
            });
          });
          s.if_then(scalar(keeps), [&] {
            s.store(selected_, {end, Expr(0)}, batch);
            s.store(selected_, {end, Expr(1)}, of_class);
            s.store(selected_, {end, Expr(2)}, box);
            s.store(all, {}, end + Expr(1));
          });
        });
      });
    });
    s.store(count_, {Expr(0)}, scalar(all));
    d.body({selected_, count_, order_, scratch_}, s.finish());
    d.mark_result(selected_);
    d.mark_result(count_);
  }

 private:
  // The number of boxes above the threshold, which `order_` begins with, the best score first.
  Expr sorted_candidates(Statements& s, const Expr& batch, const Expr& of_class) const {
    const Tensor found = s.local("found", dtype::i64);
    s.store(found, {}, Expr(0));
    s.loop("b", Expr(boxes_.extent(1)), [&](const Expr& b) {
      auto keep = [&] {
        s.store(order_, {scalar(found)}, b);
        s.store(found, {}, scalar(found) + Expr(1));
      };
      if (a_.filter_scores)
        s.if_then(scores_(batch, of_class, b) > scalar(threshold_), keep);
      else
        keep();
    });
    const Expr count = s.let("candidates", scalar(found));
    merge_sort(s, order_, scratch_, {}, count, boxes_.extent(1), [&](const Expr& x, const Expr& y) {
      return is_before(scores_(batch, of_class, x), scores_(batch, of_class, y), false);
    });
    return count;
  }

  Corners corners(const Expr& batch, const Expr& box) const {
    auto at = [&](int k) { return boxes_(batch, box, Expr(k)); };
    Corners c;
    for (int k : {0, 1}) {
      const Expr half = at(k + 2) * number(at(0).type(), 0.5);
      c.low[k] = a_.center_point_box ? at(k) - half : min(at(k), at(k + 2));
      c.high[k] = a_.center_point_box ? at(k) + half : max(at(k), at(k + 2));
    }
    return c;
  }

  // Whether the intersection over the union is larger than the threshold; empty boxes overlap with nothing.
  Expr overlap(const Corners& a, const Corners& b) const {
    const Expr zero = number(a.low[0].type(), 0);
    Expr sides[2];
    for (int k : {0, 1}) sides[k] = min(a.high[k], b.high[k]) - max(a.low[k], b.low[k]);
    const Expr shared = sides[0] * sides[1], all = a.area() + b.area() - shared;
    const Expr meet = all_of({sides[0] > zero, sides[1] > zero, a.area() > zero, b.area() > zero, all > zero});
    return logical_and(meet, shared / all > scalar(iou_));
  }

  const NonMaxSuppressionAttrs& a_;
  Tensor boxes_, scores_, iou_, threshold_, size_ = Tensor(tensor::make_buffer("none", dtype::i64, {}));
  Tensor order_, scratch_, selected_, count_;
};

}  // namespace

void non_max_suppression(OperatorTable& table) {
  using A = NonMaxSuppressionAttrs;
  table.add<A>({
      .name = "vision.non_max_suppression_per_class",
      .summary =
          "(batch, class, box) of the boxes of each class that overlap with no better box of it, and their number, "
          "from which on rows are unspecified",
      .attributes = {{"max_output_size", &A::max_output_size,
                      "the largest number of boxes of a class, as a list of one"},
                     {"center_point_box", &A::center_point_box,
                      "boxes are (x, y, width, height) around a center, not two corners (y, x, y, x)"},
                     {"filter_scores", &A::filter_scores,
                      "leave out boxes of scores that are not above the threshold"}},
      .arguments = {"boxes", "scores", "iou_threshold", "score_threshold"},
      .values = {"max_output_size"},
      .type = type_of_suppression,
      .compute_as =
          [](const A& a, const Operands& in, const Shape&) {
            Definition d("non_max_suppression");
            Suppression(d, a, in).define(d);
            return d.finish();
          },
  });
}

}  // namespace dlcc::relay::ops
