"use strict";
// The report's data, its numbers as text, and the elements that the other scripts build the page of. Names of the model
// become text nodes only, never markup.

const report = JSON.parse(document.getElementById("report").textContent);
const measured = report.measured;  // undefined without a measurement

function byId(id) {
  return document.getElementById(id);
}

function append(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function element(tag, attributes = {}, ...children) {
  return append(document.createElement(tag), attributes, children);
}

function shape(tag, attributes = {}, ...children) {
  return append(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// An SVG text; `at` has x, y and further attributes.
function label(text, at) {
  return shape("text", at, text);
}

// A number below 1000 with three digits.
function threeDigits(value) {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

// The largest binary unit of which there is at least one.
function byteUnit(bytes) {
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size = 1, unit = 0;
  for (; bytes >= 1024 * size && unit + 1 < names.length; ++unit) size *= 1024;
  return {name: names[unit], size};
}

function bytesText(bytes) {
  const {name, size} = byteUnit(bytes);
  return `${size === 1 ? bytes : threeDigits(bytes / size)} ${name}`;
}

// "301 M"
function countText(count) {
  const units = ["", " k", " M", " G", " T"];
  let unit = 0;
  for (; count >= 1000 && unit + 1 < units.length; ++unit) count /= 1000;
  return (unit === 0 ? `${count}` : threeDigits(count)) + units[unit];
}

// "12.6 µs", "76.2 ms", "1.50 s"
function timeText(microseconds) {
  const units = [["s", 1e6], ["ms", 1e3], ["µs", 1]];
  const [name, size] = units.find(([, size]) => microseconds >= size) ?? units.at(-1);
  return `${threeDigits(microseconds / size)} ${name}`;
}

function shapeText(dimensions) {
  return dimensions.length ? dimensions.join("×") : "scalar";
}

// "float32 1×3×224×224"
function typeText(tensor) {
  return `${tensor.dtype} ${shapeText(tensor.stored_shape ?? tensor.shape)}`;
}

// The steps' names, by position; a branch or loop has a position of its own and no name.
const stepAt = new Map(report.steps.map((step) => [step.position, step]));

// "conv1 (Conv)" for "node 'conv1' (Conv)", an ONNX node
function stepName(step) {
  return step.node.replace(/^node '(.*)' \((\w+)\)$/, "$1 ($2)") || step.kernel;
}

function positionText(position) {
  const step = stepAt.get(position);
  return step ? `${position} (${stepName(step)})` : `${position}`;
}

// Multiples of 1, 2 or 5 times a power of ten, at most `most` of them besides 0, from 0 to `high`.
function linearTicks(high, most) {
  const decade = 10 ** Math.floor(Math.log10(high / most || 1));
  const distance = [1, 2, 5, 10].map((factor) => factor * decade).find((d) => high / d <= most);
  return Array.from({length: Math.floor(high / distance) + 1}, (_, index) => index * distance);
}

// Attributes of a label at `x`: centred, except within `margin` pixels of an edge.
function anchorAt(x, left, right, margin) {
  if (x < left + margin) return {x: left, "text-anchor": "start"};
  if (x > right - margin) return {x: right, "text-anchor": "end"};
  return {x, "text-anchor": "middle"};
}

// Ticks of round numbers in one unit.
function byteTicks(bytes, most) {
  const {name, size} = byteUnit(bytes);
  return linearTicks(bytes / size, most).map((t) => ({bytes: t * size, text: `${Number(t.toPrecision(3))} ${name}`}));
}

// A table's head and body. A column has a title and `cell(row)`, a string or an element; the cells of a column with
// `head` name their rows.
function fillTable(table, columns, rows) {
  const titles = columns.map((column) =>
    element("th", {scope: "col", class: column.head ? "row-title text" : column.text ? "text" : ""}, column.title));
  const cells = (row) => columns.map((column) => column.head
    ? element("th", {scope: "row"}, column.cell(row))
    : element("td", {class: column.text ? "text" : ""}, column.cell(row)));
  table.replaceChildren(element("thead", {}, element("tr", {}, ...titles)),
                        element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))));
}

const printWidth = 680;  // pixels of a drawing; a page of A4 or letter paper has a few more

// A drawing that is as wide as its figure, and whose marks can be pointed at, tapped, or visited with the arrow keys.
//   draw(width)     returns {parts: elements of the canvas, marks: [{node, item}]}
//   describe(item)  returns the nodes and strings that are shown below the drawing for a chosen mark
//   legend          the text of each class of marks
class Drawing {
  constructor(id, draw, describe, legend = {}) {
    this.draw = draw;
    this.describe = describe;
    this.chosen = -1;
    this.figure = byId(id);
    const role = {role: "group", "aria-label": "Marks of the drawing, to visit with the arrow keys"};
    this.canvas = element("div", {class: "canvas", tabindex: "0", ...role});
    this.readout = element("output", {class: "readout"}, this.hint());
    const entry = ([kind, text]) => element("span", {}, element("i", {class: kind}), text);
    const key = element("div", {class: "legend"}, ...Object.entries(legend).map(entry));
    this.figure.append(key, this.canvas, this.readout);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("click", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.redraw(this.canvas.clientWidth)).observe(this.canvas);
    window.addEventListener("beforeprint", () => this.redraw(printWidth));
    window.addEventListener("afterprint", () => this.redraw(this.canvas.clientWidth));
    this.redraw(this.canvas.clientWidth);
  }

  hint() {
    return "Point at or tap a mark to see what it is; arrow keys go from mark to mark.";
  }

  redraw(width) {
    if (width === this.width || width === 0) return;
    this.width = width;
    const {parts, marks} = this.draw(width);
    this.marks = marks;
    this.canvas.replaceChildren(...parts);
    if (this.chosen >= 0) this.choose(this.chosen);
  }

  point(event) {
    const index = this.marks.findIndex((mark) => mark.node === event.target);
    if (index >= 0) this.choose(index);
  }

  key(event) {
    const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!move || this.marks.length === 0) return;
    event.preventDefault();
    this.choose((Math.max(this.chosen, move > 0 ? -1 : 0) + move + this.marks.length) % this.marks.length);
  }

  choose(index) {
    this.marks[this.chosen]?.node.classList.remove("chosen");
    this.chosen = index;
    this.marks[index].node.classList.add("chosen");
    this.readout.replaceChildren(...this.describe(this.marks[index].item));
  }
}
