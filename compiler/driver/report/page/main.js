// Fills the page: its head, the totals, the interface and the operators, then the drawings and tables.

function showHead() {
  const {target} = report;
  document.title = `${report.model} · dlcc report`;
  byId("model").textContent = report.model;
  const threads = target.threads === 1 ? "one thread" : `${target.threads} threads`;
  byId("origin").textContent =
    `${report.provenance}; code for ${target.name}: ${target.cpu_levels.join(", ")}; ${threads}`;
  byId("machine").textContent = measured
    ? `Measured on ${measured.cpu}, ${measured.date.replace("T", " ").replace("Z", " UTC")}.`
    : "Not measured: times are estimates. dlcc bench --html FILE measures.";
}

function measuredFigures() {
  return [
    [timeText(1000 * measured.median_ms), "median latency"],
    [`${measured.gflops.toFixed(0)} GFLOP/s`, "over all steps"],
    [`${measured.percent_of_floor.toFixed(0)} %`, "of the floor"],
    [`${measured.peak_gflops.toFixed(0)} GFLOP/s`, "peak, measured"],
    [`${measured.bandwidth_gigabytes_per_second.toFixed(1)} GB/s`, "reading, measured"],
  ];
}

function showTotals() {
  const {totals} = report;
  const figures = [
    ...(measured ? measuredFigures() : []),
    [timeText(totals.estimated_us), "time, estimated"],
    [countText(totals.macs), "MACs"],
    [countText(totals.parameters), "parameters"],
    [bytesText(totals.weights_bytes), "weights"],
    ...(totals.weights_file_bytes === null ? [] : [[bytesText(totals.weights_file_bytes), "file of weights"]]),
    [bytesText(totals.flash_bytes), "flash: code and constants"],
    [bytesText(totals.code_bytes), "code"],
    [bytesText(totals.arena_bytes), "arena"],
    [bytesText(totals.stack_bytes), "stack"],
    [`${totals.steps}`, "steps"],
  ];
  for (const [value, name] of figures)
    byId("totals").append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
}

function showInterface() {
  const rows = (tensors, use) => tensors.map((tensor) => ({...tensor, use}));
  fillTable(byId("interface"), [
    {title: "name", head: true, cell: (t) => t.name},
    {title: "use", text: true, cell: (t) => t.use},
    {title: "type", text: true, cell: typeText},
    {title: "size", cell: (t) => bytesText(t.bytes)},
  ], [...rows(report.inputs, "input"), ...rows(report.outputs, "output")]);
}

function showOperators() {
  const operators = Object.entries(report.operators).sort(([, a], [, b]) => b - a);
  const chip = ([name, count]) => element("li", {}, element("strong", {}, `${count} `), name);
  byId("operators").append(...operators.map(chip));
}

showHead();
showTotals();
showInterface();
showOperators();
showArena();
showMeasurement();
showEstimate();
showSteps();
