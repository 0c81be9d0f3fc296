// The measurements of `dlcc bench`: the roofline with a dot for each step, and the distribution of the latency.

// 1, 2 and 5 times the powers of ten from `low` to `high`; the powers alone where there is little room.
function logarithmicTicks(low, high, roomy) {
  const ticks = [];
  for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10)
    for (const factor of roomy ? [1, 2, 5] : [1])
      if (decade * factor >= low && decade * factor <= high) ticks.push(decade * factor);
  return ticks;
}

// A logarithmic axis: the numbers [low, high] on the pixels [from, to].
function logarithmicAxis(low, high, from, to) {
  const pixelsPerDecade = Math.abs(to - from) / Math.log10(high / low);
  return {
    low, high, from, to, ticks: logarithmicTicks(low, high, pixelsPerDecade > 130),
    at: (value) => from + (to - from) * Math.log(value / low) / Math.log(high / low),
  };
}

function tickText(value) {
  return `${Number(value.toPrecision(3))}`;
}

function intensity(step) {
  return step.flops / Math.max(step.bytes, 1);
}

// Whether a step takes more than 0.5 % of the time and has less than 60 % of its floor.
function isSlow(step) {
  return step.measured?.percent_of_floor < 60 && step.measured.percent > 0.5;
}

function measuredSteps() {
  return report.steps.filter((step) => step.measured?.median_us > 0)
    .sort((a, b) => b.measured.median_us - a.measured.median_us);  // draws small dots over large ones
}

function stepDescription(step) {
  const m = step.measured;
  return [
    element("a", {href: `#step-${step.position}`}, `step ${step.position}`), " ",
    element("strong", {}, stepName(step)),
    ` ${timeText(m.median_us)}, ${m.percent.toFixed(1)} % of the time; ${m.gflops.toFixed(1)} GFLOP/s, ` +
    `${m.gigabytes_per_second.toFixed(1)} GB/s; ${m.percent_of_floor.toFixed(0)} % of its floor`,
  ];
}

function dot(step, x, y, scale) {
  const radius = 2.5 + scale * Math.sqrt(step.measured.percent / 100), kind = isSlow(step) ? "dot slow" : "dot";
  return {item: step, node: shape("circle", {class: `mark ${kind}`, cx: x, cy: y, r: radius})};
}

function verticalGrid(axis, top, bottom) {
  return axis.ticks.flatMap((t) => [
    shape("line", {class: "grid", x1: axis.at(t), x2: axis.at(t), y1: top, y2: bottom}),
    label(tickText(t), {x: axis.at(t), y: bottom + 16, "text-anchor": "middle"}),
  ]);
}

function horizontalGrid(axis, left, right) {
  return axis.ticks.flatMap((t) => [
    shape("line", {class: "grid", y1: axis.at(t), y2: axis.at(t), x1: left, x2: right}),
    label(tickText(t), {x: left - 6, y: axis.at(t) + 4, "text-anchor": "end"}),
  ]);
}

function roofs(x, y, ridge) {
  const peak = measured.peak_gflops, bandwidth = measured.bandwidth_gigabytes_per_second;
  const begin = Math.max(x.low, y.low / bandwidth), middle = Math.sqrt(begin * ridge);
  const corners = [[x.at(begin), y.at(begin * bandwidth)], [x.at(ridge), y.at(peak)], [x.to, y.at(peak)]];
  const angle = Math.atan2(corners[1][1] - corners[0][1], corners[1][0] - corners[0][0]) * 180 / Math.PI;
  return [
    shape("polyline", {class: "roof", points: corners.map((corner) => corner.join(",")).join(" ")}),
    label(`peak ${peak.toFixed(0)} GFLOP/s`, {class: "name", x: x.to - 4, y: y.at(peak) - 8, "text-anchor": "end"}),
    label(`reading ${bandwidth.toFixed(1)} GB/s`, {
      class: "name", "text-anchor": "middle", dy: -8,
      transform: `translate(${x.at(middle)} ${y.at(middle * bandwidth)}) rotate(${angle})`,
    }),
  ];
}

// Steps without multiply-adds have no intensity; they are drawn below the chart, by the bytes per second that they
// move.
function dataMovementAxis(steps, top, left, right, scale) {
  const bandwidth = measured.bandwidth_gigabytes_per_second;
  const rates = [bandwidth, ...steps.map((step) => step.measured.gigabytes_per_second)].filter((rate) => rate > 0);
  const x = logarithmicAxis(Math.min(...rates) / 1.6, Math.max(...rates) * 1.6, left, right), middle = top + 40;
  const marks = steps.filter((step) => step.bytes > 0)
    .map((step) => dot(step, x.at(step.measured.gigabytes_per_second), middle, scale));
  const parts = [
    label("GB/s of steps without multiply-adds", {class: "name", x: left, y: top + 8}),
    ...verticalGrid(x, middle - 20, middle + 20),
    shape("line", {class: "roof", x1: x.at(bandwidth), x2: x.at(bandwidth), y1: middle - 20, y2: middle + 20}),
  ];
  return {parts, marks};
}

function drawRoofline(width) {
  const left = 48, right = width - 10, bottom = Math.min(Math.max(width / 2, 260), 430), top = 26;
  const peak = measured.peak_gflops, ridge = peak / measured.bandwidth_gigabytes_per_second;
  const steps = measuredSteps(), computing = steps.filter((step) => step.flops > 0);
  const moving = steps.filter((step) => step.flops === 0);
  const intensities = [ridge / 4, ridge * 4, ...computing.map(intensity)];
  const rates = [peak / 4, peak, ...computing.map((step) => step.measured.gflops)];
  const x = logarithmicAxis(Math.min(...intensities) / 1.6, Math.max(...intensities) * 1.6, left, right);
  const y = logarithmicAxis(Math.min(...rates) / 1.6, Math.max(...rates) * 1.5, bottom, top);
  const scale = Math.min(width / 48, 20);
  const strip = moving.length ? dataMovementAxis(moving, bottom + 56, left, right, scale) : {parts: [], marks: []};
  const height = bottom + (moving.length ? 56 + 80 : 44);
  const dots = computing.map((step) => dot(step, x.at(intensity(step)), y.at(step.measured.gflops), scale));
  const marks = [...dots, ...strip.marks];
  const view = shape("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": "Steps by FLOP per byte and GFLOP/s, under the measured peak and bandwidth. " +
                  "The table of steps has the numbers.",
  }, ...verticalGrid(x, top, bottom), ...horizontalGrid(y, left, right),
    label("FLOP per byte", {class: "name", x: right, y: bottom + 34, "text-anchor": "end"}),
    label("GFLOP/s", {class: "name", x: 4, y: 14}),
    ...roofs(x, y, ridge), ...strip.parts, ...marks.map((mark) => mark.node));
  return {parts: [view], marks};
}

// Labels of the quantiles, in rows below each other: neighbours may be close.
function quantileMarks(x, top, bottom, left, right) {
  const quantiles = {fastest: measured.min_ms, median: measured.median_ms, "95th percentile": measured.p95_ms};
  return Object.entries(quantiles).flatMap(([name, milliseconds], row) => {
    const at = x(Math.min(milliseconds, measured.histogram.high_ms)), y = bottom + 16 + 15 * row;
    return [
      shape("line", {class: "quantile", x1: at, x2: at, y1: top, y2: y - 11}),
      label(`${name} ${timeText(1000 * milliseconds)}`, {y, ...anchorAt(at, left, right, 70)}),
    ];
  });
}

function drawLatency(width) {
  const left = 8, right = width - 8, top = 10, bottom = 130, height = bottom + 54;
  const {low_ms: low, high_ms: high, counts} = measured.histogram;
  const x = (milliseconds) => left + (right - left) * (milliseconds - low) / (high - low);
  const most = Math.max(...counts), binWidth = (right - left) / counts.length;
  const marks = counts.map((count, index) => {
    const from = low + (high - low) * index / counts.length, barHeight = (bottom - top) * count / most;
    const to = index === counts.length - 1 ? measured.max_ms : from + (high - low) / counts.length;
    const box = {x: left + index * binWidth + 0.5, width: binWidth - 1, y: bottom - barHeight, height: barHeight};
    return {item: {count, from, to}, node: shape("rect", {class: "mark bin", ...box})};
  }).filter((mark) => mark.item.count > 0);
  const view = shape("svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Histogram of ${measured.runs} latencies; median ${timeText(1000 * measured.median_ms)}`,
  }, ...marks.map((mark) => mark.node), shape("line", {class: "frame", x1: left, x2: right, y1: bottom, y2: bottom}),
    ...quantileMarks(x, top, bottom, left, right));
  return {parts: [view], marks};
}

function showMeasurement() {
  if (!measured) return;
  const timed = measuredSteps().length > 0;  // else the program has no kernels
  for (const id of ["roofline-section", "floor-text"]) byId(id).hidden = !timed;
  byId("latency-section").hidden = false;
  byId("roofline-text").textContent =
    `A dot is a step; its area is the step's time. The floor of a step is max(FLOPs / peak, bytes / bandwidth). The ` +
    `peak, multiply-adds in registers, is measured before and after each step; the bandwidth by reading ` +
    `${bytesText(measured.bandwidth_buffer_bytes)}, more than the level-2 cache holds. A dot above the ` +
    `roof has fewer operations than its definition, which GFLOP/s count (Winograd), or finds its data in a cache.`;
  byId("latency-text").textContent =
    `${measured.runs} calls on random inputs, from ${timeText(1000 * measured.min_ms)} to ` +
    `${timeText(1000 * measured.max_ms)}. Times of steps are medians of ${measured.profiled_calls} further calls.`;
  const legend = {dot: "step", slow: "below 60 % of its floor and more than 0.5 % of the time"};
  if (timed) new Drawing("roofline", drawRoofline, stepDescription, legend);
  new Drawing("latency", drawLatency, ({count, from, to}) =>
    [`${count} of ${measured.runs} calls from ${timeText(1000 * from)} to ${timeText(1000 * to)}`]);
}
