// The table of steps: sortable by each column, with a filter for names.

function number(value, digits) {
  return value > 0 ? value.toFixed(digits) : "–";
}

function tensorsText(tensors) {
  return tensors.map((t) => shapeText(t.stored_shape)).join(", ");
}

function nodeCell(step) {
  const images = step.reads.filter((tensor) => tensor.storage !== "constant");
  const shapes = `${tensorsText(images) || "constants"} → ${tensorsText(step.writes)}`;
  const details = [step.node ? step.kernel : "", shapes, step.remark].filter((text) => text);
  return [stepName(step), ...details.map((text) => element("small", {}, text))];
}

// A column has a title, `value(step)` to sort by, `cell(step)`, and on request `share(step)`, the length of a bar in
// percent, and `total`, its cell in the last row.
const nameColumns = [
  {title: "node", head: true, value: stepName, cell: nodeCell, total: "all steps"},
  {title: "step", value: (s) => s.position, cell: (s) => [`${s.position}`]},
];

const measuredColumns = [
  {title: "measured µs", value: (m) => m.median_us, cell: (m) => number(m.median_us, 2),
   total: (all) => all.steps_us.toFixed(2)},
  {title: "of the time", value: (m) => m.percent, cell: (m) => `${m.percent.toFixed(1)} %`, share: (m) => m.percent},
  {title: "of floor", value: (m) => m.percent_of_floor, slow: isSlow,
   cell: (m, step) => `${isSlow(step) ? "▲ " : ""}${m.percent_of_floor.toFixed(0)} %`,
   total: (all) => `${all.percent_of_floor.toFixed(0)} %`},
  {title: "GFLOP/s", value: (m) => m.gflops, cell: (m) => number(m.gflops, 1), total: (all) => all.gflops.toFixed(1)},
  {title: "GB/s", value: (m) => m.gigabytes_per_second, cell: (m) => number(m.gigabytes_per_second, 1)},
].map((column) => ({
  ...column,
  value: (s) => s.measured ? column.value(s.measured) : -1,
  cell: (s) => [s.measured ? column.cell(s.measured, s) : "–"],
  share: column.share && ((s) => s.measured ? column.share(s.measured) : 0),
  total: measured && column.total?.(measured),
}));

const estimatedColumns = [
  {title: "estimated µs", value: (s) => s.estimated_us, cell: (s) => [s.estimated_us.toFixed(2)],
   total: report.totals.estimated_us.toFixed(2)},
  {title: "of the estimate", value: (s) => s.estimated_us, cell: (s) => [`${s.estimated_percent.toFixed(1)} %`],
   share: (s) => s.estimated_percent},
  {title: "million MACs", value: (s) => s.macs, cell: (s) => [number(s.macs * 1e-6, 3)],
   total: number(report.totals.macs * 1e-6, 3)},
  {title: "read KiB", value: (s) => s.bytes_read, cell: (s) => [number(s.bytes_read / 1024, 1)]},
  {title: "written KiB", value: (s) => s.bytes_written, cell: (s) => [number(s.bytes_written / 1024, 1)]},
];

function stepCell(column, step, longest) {
  if (column.head) return element("th", {scope: "row"}, ...column.cell(step));
  const cell = element("td", {class: column.share ? "bar" : column.slow?.(step) ? "slow" : ""}, ...column.cell(step));
  if (column.share) cell.style.setProperty("--share", `${100 * column.share(step) / (longest.get(column) || 1)}%`);
  return cell;
}

// Sorts the rows by a column: by numbers from the largest, by names from the first; another time in reverse.
function sortRows(body, rows, columns, titles, chosen) {
  const up = titles[chosen].getAttribute("aria-sort") === "descending" ||
             (columns[chosen].head && titles[chosen].getAttribute("aria-sort") !== "ascending");
  titles.forEach((title) => title.removeAttribute("aria-sort"));
  titles[chosen].setAttribute("aria-sort", up ? "ascending" : "descending");
  const {value} = columns[chosen], sign = up ? 1 : -1;
  const compare = (a, b) => a < b ? -1 : a > b ? 1 : 0;
  rows.sort((a, b) => sign * compare(value(a.step), value(b.step)) || a.step.position - b.step.position);
  body.append(...rows.map((row) => row.node));
}

function filterRows(rows, text) {
  const wanted = text.toLowerCase();
  let shown = 0;
  for (const {step, node} of rows) {
    node.hidden = ![step.node, step.kernel, step.remark].some((name) => name.toLowerCase().includes(wanted));
    shown += !node.hidden;
  }
  byId("filter-count").textContent = wanted ? `${shown} of ${rows.length} steps` : "";
}

function showSteps() {
  const all = [...nameColumns, ...(measured ? measuredColumns : []), ...estimatedColumns];
  const longest = new Map(all.filter((c) => c.share).map((c) => [c, Math.max(...report.steps.map(c.share))]));
  const rows = report.steps.map((step) => ({
    step,
    node: element("tr", {id: `step-${step.position}`}, ...all.map((column) => stepCell(column, step, longest))),
  }));
  const body = element("tbody", {}, ...rows.map((row) => row.node));
  const titles = all.map((column, index) => {
    const button = element("button", {type: "button"}, column.title);
    button.addEventListener("click", () => sortRows(body, rows, all, titles, index));
    return element("th", {scope: "col", class: column.head ? "row-title text" : ""}, button);
  });
  const totals = all.map((column) => column.head
    ? element("th", {scope: "row"}, column.total)
    : element("td", {}, column.total ?? ""));
  byId("steps").append(element("thead", {}, element("tr", {}, ...titles)), body,
                       element("tfoot", {}, element("tr", {}, ...totals)));
  byId("filter").addEventListener("input", (event) => filterRows(rows, event.target.value));
}

function showEstimate() {
  const e = report.estimate;
  const cores = e.cores === 1 ? "one core" : `${e.cores} cores, each with its own share of the bandwidth`;
  byId("estimate-text").textContent =
    `Bytes are operands, weights included, and results, each counted once. Shapes are as stored: blocks of channels ` +
    `lie next to each other, and an image may have a halo. The estimate is not a measurement: it is max(2 MACs / ` +
    `${e.gflops.toFixed(0)} GFLOP/s, bytes / ${e.gigabytes_per_second.toFixed(1)} GB/s), for ${cores} of ` +
    `${report.target.name} (${e.cpu_level}) at a nominal ${e.clock_ghz.toFixed(1)} GHz with ` +
    `${e.flops_per_cycle_and_core} FLOP per cycle. ` +
    `It assumes that all bytes come from memory, that arithmetic is as fast as in float32, and that nothing else ` +
    `takes time; both arms of a branch count. Steps whose data is in a cache are faster, and so are Winograd ` +
    `convolutions, which have fewer multiplications than their definition.`;
}
