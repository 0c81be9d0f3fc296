// The arena over time: a rectangle for the live range of each buffer, below lanes for the caller's inputs and outputs.

// In pixels. Drawings with many steps are wider than their figure, which then scrolls.
const arenaLayout = {axis: 64, right: 8, top: 18, lane: 12, plot: 300, bottom: 34, narrowestStep: 1.5};

// A buffer of the arena, or an input or output, for which `caller` says which of the two it is.
function bufferDescription(buffer) {
  const place = buffer.caller ? `${buffer.caller} in the caller's memory` : `at byte ${buffer.offset_bytes}`;
  const before = report.arena.buffers[buffer.in_place_of];
  const first = positionText(buffer.first_position), last = positionText(buffer.last_position);
  return [
    element("strong", {}, buffer.name || "unnamed"),
    ` ${buffer.scratch ? "scratch, " : ""}${typeText(buffer)}, ${bytesText(buffer.bytes)} ${place}`,
    `${before ? `, in place of ${before.name}` : ""}; `,
    first === last ? `step ${first}` : `from step ${first} to ${last}`,
  ];
}

// The inputs and outputs that the program accesses, as buffers of the caller.
function callerBuffers(tensors, caller) {
  return tensors.filter((tensor) => tensor.first_position !== null).map((tensor) => ({...tensor, caller}));
}

// The scales of a figure of this width: pixels of positions, bytes and lanes.
function arenaGeometry(width) {
  const {axis, right, top, lane, plot, bottom, narrowestStep} = arenaLayout, {bytes, positions} = report.arena;
  const step = Math.max((width - axis - right) / Math.max(positions, 1), narrowestStep);
  const plotTop = top + 2 * lane + 6, floor = plotTop + plot;
  return {
    plotTop, floor,
    height: floor + bottom,
    end: positions * step,
    x: (position) => position * step,
    y: (offset) => floor - plot * offset / Math.max(bytes, 1),
    laneTop: (row) => top + row * lane,
  };
}

// The labels of bytes and lanes, which remain visible while the figure scrolls.
function arenaAxis({y, laneTop, height}) {
  const {axis} = arenaLayout;
  const name = (text, baseline) => label(text, {x: axis - 6, y: baseline, "text-anchor": "end"});
  return shape("svg", {class: "axis", width: axis, height, viewBox: `0 0 ${axis} ${height}`, "aria-hidden": "true"},
               ...byteTicks(report.arena.bytes, 6).map((tick) => name(tick.text, y(tick.bytes) + 4)),
               name("inputs", laneTop(0) + 10), name("outputs", laneTop(1) + 10));
}

function arenaGrid({x, y, end, floor}) {
  const {bytes, positions} = report.arena;
  const steps = linearTicks(positions - 1, Math.max(end / 60, 2)).filter(Number.isInteger);
  return [
    ...byteTicks(bytes, 6).map((tick) =>
      shape("line", {class: "grid", x1: 0, x2: end, y1: y(tick.bytes), y2: y(tick.bytes)})),
    ...steps.map((step) => label(`${step}`, {x: x(step + 0.5), y: floor + 16, "text-anchor": "middle"})),
    label("step", {class: "name", x: 0, y: floor + 31}),
  ];
}

// Where a result takes over the storage of an operand, both are drawn with half of the step: `given` and `taken` say
// that the end or the beginning of the live range is such a half.
function arenaBar({x}, buffer, {given, taken}, vertical, kind) {
  const from = x(buffer.first_position + (taken ? 0.5 : 0)), to = x(buffer.last_position + (given ? 0.5 : 1));
  const node = shape("rect", {class: `mark ${kind}`, x: from, width: Math.max(to - from, 1), ...vertical});
  return {item: buffer, node};
}

function arenaMarks(geometry) {
  const {y, laneTop} = geometry, {buffers} = report.arena;
  const lanes = [callerBuffers(report.inputs, "input"), callerBuffers(report.outputs, "output")];
  const callers = lanes.flatMap((list, row) => list.map((buffer) =>
    arenaBar(geometry, buffer, {}, {y: laneTop(row) + 1, height: arenaLayout.lane - 2}, "caller")));
  const givenAway = new Set(buffers.map((buffer) => buffer.in_place_of));
  let values = 0;
  const bars = buffers.map((buffer, index) => {
    const kind = buffer.scratch ? "scratch" : values++ % 2 ? "value odd" : "value";
    const top = y(buffer.offset_bytes + buffer.bytes), height = Math.max(y(buffer.offset_bytes) - top, 1);
    const halves = {given: givenAway.has(index), taken: buffer.in_place_of !== null};
    return arenaBar(geometry, buffer, halves, {y: top, height}, `buffer ${kind}`);
  });
  return [...callers, ...bars];
}

// The buffer's name, where its rectangle has room for it.
function nameInside({item, node}) {
  const [x, y, width, height] = ["x", "y", "width", "height"].map((side) => Number(node.getAttribute(side)));
  if (height < 16 || width < 7 * item.name.length + 8) return [];
  return [label(item.name, {class: "inside", x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle"})];
}

function peakMark({x, end, floor}) {
  const {peak_position: peak, peak_live_bytes: bytes} = report.arena, {top} = arenaLayout;
  const at = x(peak + 0.5), anchor = anchorAt(at, 0, end, 90);
  return [
    shape("line", {class: "peak-line", x1: at, x2: at, y1: top - 2, y2: floor}),
    label(`peak ${bytesText(bytes)}, step ${peak}`, {class: "peak-name", ...anchor, y: top - 6}),
  ];
}

function drawArena(width) {
  const geometry = arenaGeometry(width), marks = arenaMarks(geometry);
  const {bytes, positions, peak_position: peak, buffers} = report.arena;
  const {end, height, plotTop} = geometry, viewWidth = end + arenaLayout.right;
  const summary = `${buffers.length} buffers in an arena of ${bytesText(bytes)} over ${positions} steps; ` +
                  `most is live in step ${positionText(peak)}`;
  const view = shape("svg", {width: viewWidth, height, viewBox: `0 0 ${viewWidth} ${height}`, role: "img",
                             "aria-label": summary},
                     ...arenaGrid(geometry), ...marks.map((mark) => mark.node), ...marks.flatMap(nameInside),
                     ...peakMark(geometry),
                     shape("rect", {class: "frame", x: 0.5, y: plotTop, width: end, height: arenaLayout.plot}));
  return {parts: [arenaAxis(geometry), view], marks};
}

function useText(buffer) {
  if (buffer.scratch) return "scratch";
  const before = report.arena.buffers[buffer.in_place_of];
  return before ? `in place of ${before.name}` : "value";
}

function showBuffers() {
  fillTable(byId("buffers"), [
    {title: "buffer", head: true, cell: (b) => b.name || "unnamed"},
    {title: "stored as", text: true, cell: typeText},
    {title: "bytes", cell: (b) => `${b.bytes}`},
    {title: "offset", cell: (b) => `${b.offset_bytes}`},
    {title: "first step", cell: (b) => `${b.first_position}`},
    {title: "last step", cell: (b) => `${b.last_position}`},
    {title: "use", text: true, cell: useText},
  ], report.arena.buffers);
}

function showArena() {
  const {bytes, live_bound_bytes: bound, peak_position: peak, buffers} = report.arena;
  byId("arena").hidden = byId("buffers-details").hidden = buffers.length === 0;
  if (buffers.length === 0) {
    byId("arena-text").textContent = "The program needs no arena: its steps access the caller's memory and constants.";
    return;
  }
  byId("arena-text").textContent =
    `One rectangle for the live range of each buffer: its steps across, its bytes upwards. The arena has ` +
    `${bytesText(bytes)} (${bytes} bytes); no plan needs less${bytes > bound ? ` than ${bound} bytes` : ""}. Most ` +
    `bytes are live in step ${positionText(peak)}. Inputs and outputs are in the caller's memory.`;
  const legend = {value: "values", scratch: "scratch of one step", caller: "caller's memory", peak: "peak"};
  new Drawing("arena", drawArena, bufferDescription, legend);
  showBuffers();
}
