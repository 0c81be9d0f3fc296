// The arena over time: a rectangle for the live range of each buffer, over lanes for the caller's inputs and outputs.

const arenaLayout = {axis: 64, right: 8, top: 18, lane: 12, plot: 300, bottom: 34, narrowestStep: 1.5};

function bufferDescription(buffer) {
  const place = buffer.caller ? `${buffer.caller} in the caller's memory` : `at byte ${buffer.offset_bytes}`;
  const taken = buffer.in_place_of === null || buffer.in_place_of === undefined
    ? "" : `, in place of ${report.arena.buffers[buffer.in_place_of].name}`;
  const first = positionText(buffer.first_position), last = positionText(buffer.last_position);
  return [
    element("strong", {}, buffer.name || "unnamed"),
    ` ${buffer.scratch ? "scratch, " : ""}${typeText(buffer)}, ${bytesText(buffer.bytes)} ${place}${taken}; `,
    first === last ? `step ${first}` : `from step ${first} to ${last}`,
  ];
}

// The inputs and outputs that the program accesses, as buffers of the caller.
function callerBuffers() {
  const buffers = (tensors, caller) =>
    tensors.filter((t) => t.first_position !== null).map((t) => ({...t, caller}));
  return {inputs: buffers(report.inputs, "input"), outputs: buffers(report.outputs, "output")};
}

function drawArena(width) {
  const {axis, right, top, lane, plot, bottom, narrowestStep} = arenaLayout;
  const {bytes, positions, peak_position: peak, buffers} = report.arena;
  const step = Math.max((width - axis - right) / Math.max(positions, 1), narrowestStep);
  const end = positions * step, plotTop = top + 2 * lane + 6, floor = plotTop + plot;
  const height = floor + bottom;
  const x = (position) => position * step;
  const y = (offset) => floor - plot * offset / Math.max(bytes, 1);
  const scales = shape("svg", {class: "axis", width: axis, height, viewBox: `0 0 ${axis} ${height}`, "aria-hidden": "true"});
  const view = shape("svg", {
    width: end + right, height, viewBox: `0 0 ${end + right} ${height}`, role: "img",
    "aria-label": `${buffers.length} buffers in an arena of ${bytesText(bytes)} over ${positions} steps; most is live in step ${positionText(peak)}`,
  });
  const givenAway = new Set(buffers.map((buffer) => buffer.in_place_of));
  const marks = [];

  for (const t of byteTicks(bytes, 6)) {
    view.append(shape("line", {class: "grid", x1: 0, x2: end, y1: y(t.bytes), y2: y(t.bytes)}));
    scales.append(label(t.text, {x: axis - 6, y: y(t.bytes) + 4, "text-anchor": "end"}));
  }
  for (const t of linearTicks(positions - 1, Math.max(end / 60, 2)).filter(Number.isInteger))
    view.append(label(`${t}`, {x: x(t + 0.5), y: floor + 16, "text-anchor": "middle"}));
  view.append(label("step", {class: "name", x: 0, y: floor + 31}));

  const {inputs, outputs} = callerBuffers();
  for (const [row, [name, list]] of Object.entries(Object.entries({inputs, outputs}))) {
    const laneTop = top + row * lane;
    scales.append(label(name, {x: axis - 6, y: laneTop + 10, "text-anchor": "end"}));
    for (const buffer of list) marks.push({item: buffer, node: bar(buffer, false, laneTop + 1, lane - 2, "caller")});
  }
  let values = 0;
  buffers.forEach((buffer, index) => {
    const kind = buffer.scratch ? "scratch" : values++ % 2 ? "value odd" : "value";
    const bufferTop = y(buffer.offset_bytes + buffer.bytes), height = Math.max(y(buffer.offset_bytes) - bufferTop, 1);
    marks.push({item: buffer, node: bar(buffer, givenAway.has(index), bufferTop, height, `buffer ${kind}`)});
  });
  view.append(...marks.map((mark) => mark.node), ...marks.flatMap(nameInside));
  if (buffers.length > 0) view.append(...peakMark());
  view.append(shape("rect", {class: "frame", x: 0.5, y: plotTop, width: end, height: plot}));
  return {parts: [scales, view], marks};

  // Where a result takes over the storage of an operand, both are drawn with half of the step.
  function bar(buffer, given, barTop, barHeight, kind) {
    const takes = (buffer.in_place_of ?? null) !== null;
    const from = x(buffer.first_position + (takes ? 0.5 : 0)), to = x(buffer.last_position + (given ? 0.5 : 1));
    return shape("rect", {class: `mark ${kind}`, x: from, y: barTop, width: Math.max(to - from, 1), height: barHeight});
  }

  // The buffer's name, where its rectangle has room for it.
  function nameInside({item, node}) {
    const size = (side) => Number(node.getAttribute(side));
    if (size("height") < 16 || size("width") < 7 * item.name.length + 8) return [];
    return [label(item.name, {class: "inside", x: size("x") + size("width") / 2, y: size("y") + size("height") / 2 + 4, "text-anchor": "middle"})];
  }

  function peakMark() {
    const at = x(peak + 0.5), text = `peak ${bytesText(report.arena.peak_live_bytes)}, step ${peak}`;
    const anchor = at < 90 ? "start" : at > end - 90 ? "end" : "middle";
    return [
      shape("line", {class: "peak-line", x1: at, x2: at, y1: top - 2, y2: floor}),
      label(text, {class: "peak-name", x: anchor === "start" ? 0 : anchor === "end" ? end : at, y: top - 6, "text-anchor": anchor}),
    ];
  }
}

function showArena() {
  const {arena} = report;
  byId("arena-text").textContent = arena.buffers.length === 0
    ? "The program needs no arena: its steps read and write the caller's memory and constants only."
    : `One rectangle for the live range of each buffer: its steps across, its bytes upwards. The arena has ` +
      `${bytesText(arena.bytes)} (${arena.bytes} bytes); ` +
      `no plan needs less${arena.bytes > arena.live_bound_bytes ? ` than ${arena.live_bound_bytes} bytes` : ""}. ` +
      `Most bytes are live in step ${positionText(arena.peak_position)}. Inputs and outputs are in the caller's memory.`;
  byId("arena").hidden = arena.buffers.length === 0;
  new Drawing("arena", drawArena, bufferDescription,
              [["value", "values"], ["scratch", "scratch of one step"], ["caller", "caller's memory"], ["peak", "peak"]]);
  fillTable(byId("buffers"), [
    {title: "buffer", head: true, cell: (b) => b.name || "unnamed"},
    {title: "stored as", text: true, cell: (b) => typeText(b)},
    {title: "bytes", cell: (b) => `${b.bytes}`},
    {title: "offset", cell: (b) => `${b.offset_bytes}`},
    {title: "first step", cell: (b) => `${b.first_position}`},
    {title: "last step", cell: (b) => `${b.last_position}`},
    {title: "use", text: true, cell: (b) => b.scratch ? "scratch" : b.in_place_of !== null ? `in place of ${arena.buffers[b.in_place_of].name}` : "value"},
  ], arena.buffers);
}
