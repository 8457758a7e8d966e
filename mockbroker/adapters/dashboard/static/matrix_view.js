// Partitions by rack and broker: a row per partition, a column per broker. Only the rows in sight are elements, so that
// 10,000 partitions on 60 brokers cost as much as thirty.

import { byId, draw, h, setAttribute, setStyle } from "./dom.js";
import { byName, count, name, plural, short } from "./format.js";
import { bindChoice, showRows } from "./route.js";
import { state, watch } from "./store.js";

const ROW_HEIGHT = 26;
const SPARE_ROWS = 6; // above and below what is in sight
const SOME_BROKERS = 8;
const MANY_BROKERS = 36;
const LONGEST_NAME = 40;
const CELLS = {
  leader: { sign: "L", words: "leader" },
  insync: { sign: "●", words: "in sync" },
  out: { sign: "○", words: "out of ISR" },
  gone: { sign: "✕", words: "broker down" },
};
const PASSES = {
  "": () => true,
  isr: ({ replicas, isr }, { diskless }) => !diskless && isr.length < replicas.length,
  leader: ({ leader }, { diskless }) => !diskless && (leader === null || leader < 0),
  lag: (one) => one.high_watermark < one.end_offset || Object.values(one.follower_lag ?? {}).some((lag) => lag > 0),
};

const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 0 });

const grid = byId("matrix");
const [head, body] = grid.children;
let columns = []; // brokers in the order of their racks
let rows = []; // {topic, index}: partitions that pass the filters
let active = 0; // the keyboard's row
let isAsked = false;

function requestDraw() {
  if (!isAsked) requestAnimationFrame(drawVisible);
  isAsked = true;
}

function drawMatrix() {
  if (state.cluster === null) return;
  drawHead();
  const wanted = part().toLowerCase();
  const passes = PASSES[kind()] ?? PASSES[""];
  rows = [];
  for (const topic of state.topics) {
    if (wanted !== "" && !topic.name.toLowerCase().includes(wanted)) continue;
    topic.partitions.forEach((partition, index) => passes(partition, topic) && rows.push({ topic, index }));
  }
  active = Math.max(0, Math.min(active, rows.length - 1));
  grid.hidden = rows.length === 0;
  const longest = Math.max(9, ...state.topics.map((one) => name(`${one.name}-${one.partitions.length}`).length));
  setStyle(grid, "--name", `calc(${Math.min(LONGEST_NAME, longest)}ch + 16px)`);
  setStyle(body, "height", `${rows.length * ROW_HEIGHT}px`);
  setAttribute(grid, "aria-rowcount", rows.length + 2);
  const all = state.topics.reduce((sum, { partitions }) => sum + partitions.length, 0);
  const shown = rows.length === all ? "" : `${count(rows.length)} of `;
  const note = `${shown}${plural(all, "partition")} of ${plural(state.topics.length, "topic")}.`;
  draw(byId("matrix-note"), all === 0 ? "No topic yet." : note);
  drawVisible();
}

/** Racks above their brokers. */
function drawHead() {
  const order = (one, other) => byName(one.rack ?? "", other.rack ?? "") || one.id - other.id;
  columns = [...state.cluster.brokers].sort(order);
  const last = columns.length + 2;
  setAttribute(grid, "aria-colcount", last);
  setStyle(grid, "--brokers", String(columns.length));
  const dense = columns.length > MANY_BROKERS ? "many" : columns.length > SOME_BROKERS ? "some" : null;
  setAttribute(grid, "data-dense", dense);
  const isFirst = (index) => index === 0 || columns[index - 1].rack !== columns[index].rack;
  const racks = columns.map(({ rack }, index) => {
    if (!isFirst(index)) return null;
    const wide = columns.filter((other) => other.rack === rack).length;
    const words = rack === null ? "no rack" : `rack ${name(rack)}`;
    return cell("columnheader", index + 2, "rack-title", words, words, wide);
  });
  const brokers = columns.map(({ id, online }, index) => {
    const classes = `broker-title${isFirst(index) ? " first" : ""}${online ? "" : " down"}`;
    return cell("columnheader", index + 2, classes, id, `broker ${id}${online ? "" : ", down"}`);
  });
  const end = cell("columnheader", last, "end", "high watermark", "high watermark, and end offset if higher");
  const corner = (title) => cell("columnheader", 1, "corner", title);
  const line = (number, title, cells) =>
    h("div", { class: "matrix-row", role: "row", "aria-rowindex": number }, corner(title), cells);
  draw(head, line(1, "rack", racks), line(2, "partition", [brokers, end]));
}

function cell(role, column, kindOfCell, text, title = null, wide = 1) {
  const place = wide > 1 ? `${column} / span ${wide}` : String(column);
  const attributes = { role, class: kindOfCell, title, "aria-label": title, "aria-colindex": column };
  return h("div", { ...attributes, "aria-colspan": wide > 1 && wide, style: { "grid-column": place } }, text);
}

/** Draw the rows in sight, by the elements of those that left it. */
function drawVisible() {
  isAsked = false;
  const { clientHeight, scrollTop } = grid;
  const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - SPARE_ROWS);
  const last = Math.min(rows.length, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + SPARE_ROWS);
  const isFocused = document.activeElement === grid;
  draw(body, rows.slice(first, last).map((row, place) => rowOf(row, first + place, isFocused)));
  const isInSight = isFocused && active >= first && active < last;
  setAttribute(grid, "aria-activedescendant", isInSight ? `matrix-row-${active}` : null);
}

function rowOf({ topic, index }, number, isFocused) {
  const partition = topic.partitions[index];
  const called = `${name(topic.name)}-${partition.partition}`;
  const style = { transform: `translateY(${number * ROW_HEIGHT}px)` };
  const attributes = { id: `matrix-row-${number}`, "data-row": number, "data-active": number === active && isFocused };
  return h(
    "div",
    { class: "matrix-row", role: "row", "aria-rowindex": number + 3, ...attributes, style },
    cell("rowheader", 1, "partition-title", short(called, LONGEST_NAME), called),
    topic.diskless
      ? cell("gridcell", 2, "diskless", "diskless: any broker", "diskless: any broker serves it", columns.length)
      : columns.map((broker, column) => replica(partition, broker, column + 2)),
    cell("gridcell", columns.length + 2, "end", watermark(partition)),
  );
}

function watermark({ end_offset: end, high_watermark: mark }) {
  if (end === null) return "–"; // a proxy does not know
  return mark < end ? `${count(mark)} of ${count(end)}` : count(end);
}

function replica({ leader, replicas, isr, follower_lag: lags }, { id, rack, online }, column) {
  if (!replicas.includes(id)) return null;
  const isIn = isr.includes(id);
  const state = !online ? "gone" : leader === id ? "leader" : isIn ? "insync" : "out";
  const lag = leader === id ? 0 : (lags?.[id] ?? 0);
  const words = state === "gone" && !isIn ? "down and out of ISR" : CELLS[state].words;
  const lacks = lag > 0 ? `, lacks ${plural(lag, "record")}` : "";
  const label = `broker ${id}${rack === null ? "" : `, rack ${name(rack)}`}: ${words}${lacks}`;
  const sign = lag > 0 ? SHORT.format(lag) : CELLS[state].sign;
  return cell("gridcell", column, null, h("span", { class: `replica ${state}` }, sign), label);
}

// by keyboard

const STEPS = {
  ArrowDown: () => active + 1,
  ArrowUp: () => active - 1,
  PageDown: () => active + pageRows(),
  PageUp: () => active - pageRows(),
  Home: () => 0,
  End: () => rows.length - 1,
};

function pageRows() {
  return Math.max(1, Math.floor((grid.clientHeight - head.offsetHeight) / ROW_HEIGHT) - 1);
}

function move(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || rows.length === 0) return;
  if (event.key !== "Enter" && STEPS[event.key] === undefined) return;
  event.preventDefault();
  if (event.key === "Enter") return open(active);
  active = Math.max(0, Math.min(rows.length - 1, STEPS[event.key]()));
  const top = active * ROW_HEIGHT;
  const bottom = top + ROW_HEIGHT - (grid.clientHeight - head.offsetHeight);
  grid.scrollTop = Math.min(top, Math.max(bottom, grid.scrollTop));
  requestDraw();
}

function open(number) {
  active = number;
  const { topic, index } = rows[number];
  showRows({ topic: topic.name, partition: String(topic.partitions[index].partition) });
}

const legend = Object.entries(CELLS).map(([one, { sign, words }]) =>
  h("span", {}, h("span", { class: `replica ${one}`, "aria-hidden": "true" }, sign), ` ${words}`),
);
draw(byId("matrix-legend"), legend, h("span", {}, "number: records that the replica lacks"));
const part = bindChoice(byId("matrix-topic"), "matrix.topic");
const kind = bindChoice(byId("matrix-show"), "matrix.show");
for (const event of ["scroll", "focus", "blur"]) grid.addEventListener(event, requestDraw, { passive: true });
grid.addEventListener("keydown", move);
grid.addEventListener("click", ({ target }) => {
  const row = target.closest("[data-row]");
  if (row !== null) open(Number(row.dataset.row));
});
new ResizeObserver(requestDraw).observe(grid);
watch(["topics", "cluster", "route"], drawMatrix, 200);
