#include "driver/roofline_page.h"

#include <algorithm>
#include <cmath>

#include "driver/step_table.h"

namespace dlcc::driver {

namespace {

constexpr const char* style = R"css(
:root { --paper: #fbfaf8; --ink: #23262b; --soft: #6c727c; --line: #e2dfd9; --card: #ffffff; --roof: #23262b;
        --dot: #2a6fdb; --slow: #d9662b; --bar: #c9dcf7; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181c; --ink: #e7e6e3; --soft: #9aa1ac; --line: #2d3138; --card: #1d2025; --roof: #e7e6e3;
          --dot: #6ea8ff; --slow: #ff9a5c; --bar: #26405f; } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 66rem; background: var(--paper); color: var(--ink);
       font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif }
h1 { font-size: 1.7rem; font-weight: 650; letter-spacing: -.01em; margin: 0 }
h2 { font-size: 1.05rem; font-weight: 650; margin: 2.5rem 0 .5rem }
p { color: var(--soft); margin: .3rem 0 1rem; max-width: 48rem }
.figures { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.5rem 0 }
.figures div { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .6rem 1rem; min-width: 8.5rem }
.figures b { display: block; font-size: 1.35rem; font-weight: 650; font-variant-numeric: tabular-nums }
.figures span { color: var(--soft); font-size: .8rem }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: .75rem; overflow-x: auto }
svg { display: block; width: 100%; min-width: 40rem; height: auto; font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums }
svg text { fill: var(--soft) } svg .name { fill: var(--ink); font-weight: 600 }
.grid { stroke: var(--line) } .roof { stroke: var(--roof); stroke-width: 2; fill: none; stroke-linejoin: round }
.dot { fill: var(--dot); fill-opacity: .5; stroke: var(--dot) } .dot.slow { fill: var(--slow); stroke: var(--slow) }
a:hover .dot, a:focus .dot { fill-opacity: .95 }
.bin { fill: var(--dot); fill-opacity: .75 } .mark { stroke: var(--soft); stroke-dasharray: 3 3 }
.wide { overflow-x: auto }
table { border-collapse: collapse; width: 100%; font-size: .85rem; font-variant-numeric: tabular-nums }
th { text-align: right; font-weight: 600; color: var(--soft); border-bottom: 1px solid var(--line); padding: .35rem .6rem; position: sticky; top: 0; background: var(--paper) }
td { text-align: right; border-bottom: 1px solid var(--line); padding: .25rem .6rem; white-space: nowrap }
td:last-child, th:last-child { text-align: left; white-space: normal; min-width: 16rem; overflow-wrap: anywhere }
td small { color: var(--soft) } td.slow { color: var(--slow); font-weight: 600 }
tr:target td { background: var(--bar) } tfoot td { font-weight: 600; border-bottom: 0 }
)css";

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

// 1, 2 and 5 times the powers of ten from `low` to `high`.
std::vector<double> ticks(double low, double high) {
  std::vector<double> result;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
    for (double step : {1.0, 2.0, 5.0})
      if (decade * step >= low && decade * step <= high) result.push_back(decade * step);
  return result;
}

// A logarithmic axis: the numbers [low, high] on the pixels [from, to].
struct Axis {
  double low, high, from, to;
  double at(double x) const { return from + (to - from) * std::log(x / low) / std::log(high / low); }
};

double intensity(const StepProfile& s) {
  return static_cast<double>(s.cost.flops) / static_cast<double>(std::max<int64_t>(s.cost.bytes(), 1));
}

// Whether a step takes more than 0.5 % of the time and has less than 60 % of its floor.
bool is_slow(const Profile& p, const StepProfile& s) { return s.of_floor < 0.6 && p.share_of_time(s) > 0.005; }

class RooflineChart {
 public:
  explicit RooflineChart(const Profile& p) : p_(p) {
    for (const StepProfile& s : p.steps) (s.cost.flops > 0 ? computing_ : moving_).push_back(&s);
    auto by_time = [](const StepProfile* a, const StepProfile* b) { return a->seconds > b->seconds; };
    std::ranges::stable_sort(computing_, by_time);  // draws small dots over large ones
    std::ranges::stable_sort(moving_, by_time);
    double peak = p.roof.peak * 1e-9, ridge = p.roof.peak / p.roof.bandwidth;
    double low_x = ridge / 4, high_x = ridge * 4, low_y = peak / 4, high_y = peak;
    for (const StepProfile* s : computing_) {
      if (s->seconds <= 0) continue;
      low_x = std::min(low_x, intensity(*s)), high_x = std::max(high_x, intensity(*s));
      low_y = std::min(low_y, s->gflops()), high_y = std::max(high_y, s->gflops());
    }
    x_ = {low_x / 1.6, high_x * 1.6, 62, 940};
    y_ = {low_y / 1.6, high_y * 1.5, 430, 24};
  }

  std::string svg() {
    text_ = "<svg viewBox=\"0 0 960 560\" role=\"img\" aria-label=\"Roofline\">\n";
    grid();
    roofs();
    for (const StepProfile* s : computing_)
      if (s->seconds > 0) dot(*s, x_.at(intensity(*s)), y_.at(s->gflops()));
    if (!moving_.empty()) moving_strip();
    return text_ + "</svg>\n";
  }

 private:
  void grid() {
    for (double t : ticks(x_.low, x_.high))
      text_ += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
          "<text x=\"{0:.1f}\" y=\"448\" text-anchor=\"middle\">{3:g}</text>\n",
          x_.at(t), y_.to, y_.from, t);
    for (double t : ticks(y_.low, y_.high))
      text_ += fmt::format(
          "<line class=\"grid\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" x1=\"{1}\" x2=\"{2}\"/>"
          "<text x=\"54\" y=\"{3:.1f}\" text-anchor=\"end\">{4:g}</text>\n",
          y_.at(t), x_.from, x_.to, y_.at(t) + 4, t);
    text_ += "<text class=\"name\" x=\"940\" y=\"468\" text-anchor=\"end\">FLOP per byte</text>\n";
    text_ += "<text class=\"name\" x=\"62\" y=\"14\">GFLOP/s</text>\n";
  }

  void roofs() {
    double peak = p_.roof.peak * 1e-9, bandwidth = p_.roof.bandwidth * 1e-9;
    double begin = std::max(x_.low, y_.low / bandwidth), ridge = peak / bandwidth;
    text_ += fmt::format("<polyline class=\"roof\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\"/>\n",
                         x_.at(begin), y_.at(begin * bandwidth), x_.at(ridge), y_.at(peak), x_.to, y_.at(peak));
    text_ += fmt::format("<text class=\"name\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">peak {:.0f} GFLOP/s</text>\n",
                         x_.to - 4, y_.at(peak) - 8, peak);
    double middle = std::sqrt(begin * ridge),
           angle = std::atan2(y_.at(peak) - y_.at(begin * bandwidth), x_.at(ridge) - x_.at(begin));
    text_ += fmt::format(
        "<text class=\"name\" text-anchor=\"middle\" transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\" "
        "dy=\"-8\">reading {:.0f} GB/s</text>\n",
        x_.at(middle), y_.at(middle * bandwidth), angle * 57.29578, bandwidth);
  }

  // Steps without multiply-adds have no intensity; they are drawn below the chart, by the bytes per second that they
  // move.
  void moving_strip() {
    constexpr double y = 520;
    double bandwidth = p_.roof.bandwidth * 1e-9, low = bandwidth, high = bandwidth;
    for (const StepProfile* s : moving_)
      if (s->seconds > 0) low = std::min(low, s->gigabytes()), high = std::max(high, s->gigabytes());
    Axis rate{low / 1.6, high * 1.6, 260, x_.to};
    text_ += fmt::format(
        "<text class=\"name\" x=\"62\" y=\"{}\">Steps without multiply-adds</text><text x=\"62\" y=\"{}\">GB/s moved; "
        "line: reading</text>\n",
        y - 4, y + 12);
    for (double t : ticks(rate.low, rate.high))
      text_ += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
          "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
          rate.at(t), y - 20, y + 20, y + 36, t);
    text_ += fmt::format("<line class=\"roof\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n",
                         rate.at(bandwidth), y - 20, y + 20);
    for (const StepProfile* s : moving_)
      if (s->seconds > 0) dot(*s, rate.at(s->gigabytes()), y);
  }

  void dot(const StepProfile& s, double x, double y) {
    text_ += fmt::format(
        "<a href=\"#s{}\"><circle class=\"dot{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"><title>{}\n{:.1f} µs, "
        "{:.1f} % of "
        "the time\n{:.1f} GFLOP/s, {:.1f} GB/s\n{:.0f} % of its floor</title></circle></a>\n",
        s.cost.number, is_slow(p_, s) ? " slow" : "", x, y, 2.5 + 40 * std::sqrt(p_.share_of_time(s)) / 2,
        escaped(s.cost.node), s.seconds * 1e6, 100 * p_.share_of_time(s), s.gflops(), s.gigabytes(), 100 * s.of_floor);
  }

  const Profile& p_;
  std::vector<const StepProfile*> computing_, moving_;
  Axis x_{}, y_{};
  std::string text_;
};

// The text-anchor of a label at `x`: centred, except at the edges of the chart.
const char* anchor_at(double x, double left, double right) {
  constexpr double half = 60;  // of a label's width
  return x < left + half ? "start" : x > right - half ? "end" : "middle";
}

// A histogram of the latencies up to the 99th percentile; the last bin also has those above. There are about
// 2 sqrt(calls) bins of equal width.
std::string latency_chart(const Profile& p) {
  constexpr double left = 62, right = 940, bottom = 150, top = 26;
  const int bins = std::clamp(static_cast<int>(2 * std::sqrt(static_cast<double>(p.seconds.size()))), 8, 48);
  double low = p.quantile(0), high = std::max(p.quantile(0.99), low * 1.02);
  auto bin_of = [&](double t) { return std::min(static_cast<int>((t - low) / (high - low) * bins), bins - 1); };
  std::vector<int> counts(static_cast<size_t>(bins));
  for (double t : p.seconds) ++counts[static_cast<size_t>(bin_of(t))];
  int most = *std::ranges::max_element(counts);
  double width = (right - left) / bins;
  std::string text = "<svg viewBox=\"0 0 960 190\" role=\"img\" aria-label=\"Latencies\">\n";
  for (int b = 0; b < bins; ++b) {
    int count = counts[static_cast<size_t>(b)];
    double height = (bottom - top) * count / most;
    text += fmt::format(
        "<rect class=\"bin\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"1.5\"><title>{} calls "
        "from {:.3f} ms</title></rect>\n",
        left + b * width + 1, bottom - height, width - 2, height, count, (low + (high - low) * b / bins) * 1e3);
  }
  text += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", left, right, bottom, bottom);
  struct Mark {
    const char* name;
    double q, y;
  };
  for (auto [name, q, y] : {Mark{"fastest", 0, 168}, Mark{"median", 0.5, 14}, Mark{"95th percentile", 0.95, 168}}) {
    double t = p.quantile(q), x = left + (right - left) * std::min((t - low) / (high - low), 1.0);
    if (q > 0.5 && x < left + 200) y += 15;  // else the labels would overlap
    text += fmt::format(
        "<line class=\"mark\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"{6}\">{4} {5:.3f} ms</text>\n",
        x, top - 6, bottom + 5, y, name, t * 1e3, anchor_at(x, left, right));
  }
  return text + "</svg>\n";
}

// A number with `digits` decimals, or a dash for zero.
std::string number(double x, int digits) { return x > 0 ? fmt::format("{:.{}f}", x, digits) : "–"; }

std::string step_rows(const Profile& p) {
  double longest = 0;
  for (const StepProfile& s : p.steps) longest = std::max(longest, s.seconds);
  std::string text;
  for (const StepProfile& s : p.steps) {
    std::string note = remark(s.cost);
    text += fmt::format(
        "<tr id=\"s{}\"><td>{}</td><td style=\"background:linear-gradient(to left,var(--bar) {:.1f}%,transparent 0)\">"
        "{:.2f}</td><td>{:.1f} %</td><td>{}</td><td>{:.1f}</td><td>{}</td><td>{:.1f}</td>"
        "<td{}>{:.0f} %</td><td>{}{}</td></tr>\n",
        s.cost.number, s.cost.number, 100 * s.seconds / longest, s.seconds * 1e6, 100 * p.share_of_time(s),
        number(static_cast<double>(s.cost.flops) * 1e-6, 3), static_cast<double>(s.cost.bytes()) / 1024,
        number(s.gflops(), 1), s.gigabytes(), is_slow(p, s) ? " class=\"slow\"" : "", 100 * s.of_floor,
        escaped(s.cost.node), note.empty() ? "" : "<br><small>" + escaped(note) + "</small>");
  }
  return text;
}

std::string total_row(const Profile& p) {
  return fmt::format(
      "<tr><td>all</td><td>{:.2f}</td><td></td><td></td><td></td><td>{:.1f}</td><td></td><td>{:.0f} %</td>"
      "<td></td></tr>\n",
      p.step_seconds() * 1e6, p.gflops(), 100 * p.floor_seconds() / p.step_seconds());
}

}  // namespace

std::string roofline_page(const emit::Interface& model, const Profile& p) {
  auto figure = [](const std::string& value, const char* what) {
    return fmt::format("<div><b>{}</b><span>{}</span></div>\n", value, what);
  };
  std::string name = escaped(model.prefix),
              text = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n";
  text += "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n";
  text +=
      fmt::format("<title>{} · dlcc bench</title>\n<style>{}</style></head><body>\n<h1>{}</h1>\n", name, style, name);
  text += fmt::format("<p>{}</p>\n<p>{} calls on random inputs; steps: medians of {} more.</p>\n",
                      escaped(model.provenance), p.seconds.size(), p.calls);
  text += "<div class=\"figures\">\n";
  text += figure(fmt::format("{:.3f} ms", p.quantile(0.5) * 1e3), "median latency");
  text += figure(fmt::format("{:.0f} GFLOP/s", p.gflops()), "over all steps");
  text += figure(fmt::format("{:.0f} %", 100 * p.floor_seconds() / p.step_seconds()), "of the roofline");
  text += figure(fmt::format("{:.0f} GFLOP/s", p.roof.peak * 1e-9), "peak, probed");
  text += figure(fmt::format("{:.1f} GB/s", p.roof.bandwidth * 1e-9), "reading, probed");
  text += "</div>\n<h2>Roofline</h2>\n";
  text += fmt::format(
      "<p>A dot is a step; its area is the step's time. A step's floor is max(FLOPs / peak, bytes / bandwidth). The "
      "peak "
      "is measured before and after each step, the bandwidth by reading {:.0f} MiB, more than the level-2 cache holds. "
      "Percentages are floor / time. They exceed 100 % for data in a cache and for algorithms with fewer "
      "multiplications (Winograd). Orange: below 60 %, and more than 0.5 % of the time.</p>\n",
      static_cast<double>(p.roof.buffer_bytes) / (1 << 20));
  text += "<figure>\n" + RooflineChart(p).svg() + "</figure>\n<h2>Latency</h2>\n<figure>\n" + latency_chart(p);
  text +=
      "</figure>\n<h2>Steps</h2>\n<div class=\"wide\"><table><thead><tr><th>step</th><th>µs</th><th>time</th><th>MFLOP"
      "</th><th>KiB</th><th>GFLOP/s</th><th>GB/s</th><th>of floor</th><th>node</th></tr></thead><tbody>\n";
  return text + step_rows(p) + "</tbody><tfoot>" + total_row(p) + "</tfoot></table></div>\n</body></html>\n";
}

}  // namespace dlcc::driver
