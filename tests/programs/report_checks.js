// Runs at the end of a report's page and sends the problems, or "all checks passed", to the page around it
// (report_browser_test.sh). EXPECTED is {width, dark}; pageErrors has the errors of the page's scripts.

const problems = pageErrors;

function expect(holds, what) {
  if (!holds) problems.push(what);
}

function luminance(color) {
  const channels = color.match(/[\d.]+/g).slice(0, 3).map((text) => Number(text) / 255);
  const [r, g, b] = channels.map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function background(node) {
  for (; node; node = node.parentElement) {
    const color = getComputedStyle(node).backgroundColor;
    if (color !== "rgba(0, 0, 0, 0)") return color;
  }
  return "rgb(255, 255, 255)";
}

// WCAG 2, section 1.4.3.
function contrast(node, property) {
  const [high, low] = [getComputedStyle(node)[property], background(node)].map(luminance).sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function checkLayout() {
  expect(innerWidth === EXPECTED.width, `the page is ${innerWidth} pixels wide`);
  expect(document.documentElement.scrollWidth <= innerWidth, "the page scrolls sideways");
  expect(matchMedia("(prefers-color-scheme: dark)").matches === EXPECTED.dark, "the colour scheme is another one");
  const paper = background(document.body);
  expect(luminance(paper) < 0.1 === EXPECTED.dark, `the background is ${paper}`);
  for (const node of document.querySelectorAll("h1, p, dt, dd, li, th, td, small, summary, .legend span, .readout"))
    if (node.checkVisibility() && contrast(node, "color") < 4.5)
      problems.push(`contrast ${contrast(node, "color").toFixed(1)} of ${node.tagName} ${node.textContent.slice(0, 9)}`);
  for (const node of document.querySelectorAll("svg text:not(.inside)"))
    expect(contrast(node, "fill") >= 4.5, `contrast ${contrast(node, "fill").toFixed(1)} of ${node.textContent}`);
  for (const node of document.querySelectorAll(".drawing:not([hidden]) svg:not([aria-hidden])")) {
    expect(node.getAttribute("aria-label"), "a drawing has no text alternative");
    const [figure, box] = [node.closest("figure").getBoundingClientRect(), node.getBoundingClientRect()];
    expect(box.width > 0.5 * figure.width && box.right <= figure.right, "a drawing does not fit its figure");
  }
}

function checkContents() {
  const {arena, steps, inputs, outputs} = report;
  expect(document.title.startsWith(report.model), `the title is ${document.title}`);
  expect(document.querySelector("h1").textContent === report.model, "the heading is not the model's name");
  const rows = [...document.querySelectorAll("#steps tbody tr")];
  expect(rows.length === steps.length, `${rows.length} rows for ${steps.length} steps`);
  const marks = document.querySelectorAll("#arena .mark");
  const drawn = arena.buffers.length ? arena.buffers.length + inputs.length + outputs.length : 0;
  expect(marks.length === drawn, `${marks.length} marks in the arena, not ${drawn}`);
  const listed = document.querySelectorAll("#buffers tbody tr").length;
  expect(listed === arena.buffers.length, `${listed} rows for ${arena.buffers.length} buffers`);
  expect(document.querySelectorAll("script").length === 4, "there are further scripts");
  expect(!document.querySelector("b, main i:not(.legend i)"), "a name became an element");
  const measured = Boolean(report.measured), timed = measured && steps.some((step) => step.measured);
  expect(document.getElementById("roofline-section").hidden !== timed, "the roofline is shown without a measurement");
  if (measured) {
    const dots = steps.filter((step) => step.measured?.median_us > 0 && step.bytes > 0).length;
    expect(document.querySelectorAll("#roofline .mark").length === dots, `${dots} steps were measured`);
    expect(document.querySelectorAll("#latency .mark").length > 0, "the histogram is empty");
    expect(document.getElementById("machine").textContent.includes(report.measured.cpu), "the CPU is not named");
  }
}

function checkArenaUse() {
  const figure = document.getElementById("arena"), readout = figure.querySelector("output");
  if (figure.hidden) return;
  figure.querySelector(".mark").dispatchEvent(new MouseEvent("click", {bubbles: true}));
  expect(readout.textContent.startsWith(report.inputs[0].name), `a tap shows '${readout.textContent}'`);
  const before = readout.textContent;
  figure.querySelector(".canvas").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
  expect(readout.textContent !== before, "an arrow key shows no other buffer");
}

function checkTableUse() {
  const rows = () => [...document.querySelectorAll("#steps tbody tr")];
  const times = () => rows().map((row) => report.steps[row.id.slice("step-".length)].estimated_us);
  const title = [...document.querySelectorAll("#steps th")].find((th) => th.textContent === "estimated µs");
  title.querySelector("button").click();
  expect(times().every((time, i, all) => i === 0 || time <= all[i - 1]), "the steps are not sorted by time");
  expect(title.getAttribute("aria-sort") === "descending", "the order is not announced");
  title.querySelector("button").click();
  expect(times().every((time, i, all) => i === 0 || time >= all[i - 1]), "the steps are not sorted in reverse");

  const filter = document.getElementById("filter");
  filter.value = "no step has this name";
  filter.dispatchEvent(new Event("input"));
  expect(rows().every((row) => row.hidden), "the filter shows other steps");
  filter.value = "";
  filter.dispatchEvent(new Event("input"));
  expect(!rows().some((row) => row.hidden), "an empty filter hides steps");
}

addEventListener("load", () => setTimeout(() => {
  for (const check of [checkLayout, checkContents, checkArenaUse, checkTableUse]) {
    try {
      check();
    } catch (error) {
      problems.push(`${error}`);
    }
  }
  parent.postMessage(problems.length ? problems.join("\n") : "all checks passed", "*");
}, 100));
