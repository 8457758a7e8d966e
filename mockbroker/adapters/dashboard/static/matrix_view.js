// Partitions by rack and broker: a row per partition; a column per broker, per rack if brokers do not fit, or one for
// all. Only the rows in sight are elements, so that 10,000 partitions on 60 brokers cost as much as thirty.

import { byId, draw, h, setAttribute, setStyle } from "./dom.js";
import { byName, count, name, plural, short } from "./format.js";
import { bindChoice, showRows } from "./route.js";
import { state, watch } from "./store.js";

const ROW_HEIGHT = 26;
const SPARE_ROWS = 6; // above and below what is in sight
const LONGEST_NAME = 40;
// what brokers of one column have in common, and the pixels that a column needs
const COLUMNS = [[({ id }) => id, 18], [({ rack }) => rack, 64], [() => null, -Infinity]];
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
let columns = []; // lists of brokers, in the order of their racks
let longest = 9; // letters of a partition's name
let rows = []; // {topic, index}: partitions that pass the filters
let active = 0; // the keyboard's row
let isAsked = false;

function requestDraw() {
  if (!isAsked) requestAnimationFrame(drawVisible);
  isAsked = true;
}

function drawMatrix() {
  if (state.cluster === null) return;
  longest = Math.max(9, ...state.topics.map((one) => name(`${one.name}-${one.partitions.length}`).length));
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
  setStyle(grid, "--name", `min(${Math.min(LONGEST_NAME, longest)}ch + 16px, 40%)`);
  setStyle(body, "height", `${rows.length * ROW_HEIGHT}px`);
  setAttribute(grid, "aria-rowcount", rows.length + 2);
  const all = state.topics.reduce((sum, { partitions }) => sum + partitions.length, 0);
  const note = `${plural(all, "partition")} of ${plural(state.topics.length, "topic")}.`;
  const shown = rows.length === all ? "" : `${count(rows.length)} of `;
  draw(byId("matrix-note"), all === 0 ? "No topic yet." : `${shown}${note}`);
  drawVisible();
}

/** Racks above their brokers. */
function drawHead() {
  const order = (one, other) => byName(one.rack ?? "", other.rack ?? "") || one.id - other.id;
  const room = grid.clientWidth - Math.min(8 * longest + 16, 0.4 * grid.clientWidth) - 100;
  const all = [...state.cluster.brokers].sort(order);
  const ways = COLUMNS.map(([of, least]) => [[...Map.groupBy(all, of).values()], least]);
  [columns] = ways.find(([{ length }, least]) => length * least <= room);
  setAttribute(grid, "aria-colcount", columns.length + 2);
  setStyle(grid, "--columns", String(columns.length));
  const rackOf = ([first, ...others]) => (others.some(({ rack }) => rack !== first.rack) ? undefined : first.rack);
  let last = 2; // the next column
  const racks = [...Map.groupBy(columns, rackOf)].map(([rack, { length }]) => {
    const words = rack === undefined ? "all racks" : rack === null ? "no rack" : `rack ${name(rack)}`;
    last += length;
    return cell("columnheader", last - length, "rack-title", words, words, length);
  });
  const brokers = columns.map((own, index) => {
    const isDown = own.every(({ online }) => !online);
    const words = own.length > 1 ? plural(own.length, "broker") : `broker ${own[0].id}`;
    const [classes, title] = isDown ? ["broker-title down", `${words}, down`] : ["broker-title", words];
    return cell("columnheader", index + 2, classes, own.length > 1 ? words : own[0].id, title);
  });
  const end = cell("columnheader", last, "end", "offset", "high watermark, and end offset if higher");
  const line = (at, title, cells) =>
    h("div", { class: "matrix-row", role: "row", "aria-rowindex": at }, cell("columnheader", 1, "corner", title), cells);
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
  const { end_offset: end, high_watermark: mark } = partition; // null: a proxy does not know
  const called = `${name(topic.name)}-${partition.partition}`;
  const style = { transform: `translateY(${number * ROW_HEIGHT}px)` };
  const attributes = { id: `matrix-row-${number}`, "data-row": number, "data-active": number === active && isFocused };
  return h(
    "div",
    { class: "matrix-row", role: "row", "aria-rowindex": number + 3, ...attributes, style },
    cell("rowheader", 1, "partition-title", short(called, LONGEST_NAME), called),
    topic.diskless
      ? cell("gridcell", 2, "diskless", "diskless: any broker", "diskless: any broker serves it", columns.length)
      : columns.map((own, column) => replicas(partition, own, column + 2)),
    cell("gridcell", columns.length + 2, "end", end === null ? "–" : `${mark < end ? `${count(mark)} of ` : ""}${count(end)}`),
  );
}

/** The replicas of a partition on the brokers of a column. */
function replicas(partition, own, column) {
  const here = own.filter(({ id }) => partition.replicas.includes(id));
  const found = here.map((one) => replica(partition, one, own.length > 1));
  const label = found.map((one) => one.label).join("; ");
  return found.length > 0 && cell("gridcell", column, null, found.map(({ chip }) => chip), label);
}

function replica({ leader, isr, follower_lag: lags }, { id, rack, online }, isNamed) {
  const isIn = isr.includes(id);
  const state = !online ? "gone" : leader === id ? "leader" : isIn ? "insync" : "out";
  const lag = leader === id ? 0 : (lags?.[id] ?? 0);
  const words = state === "gone" && !isIn ? "down and out of ISR" : CELLS[state].words;
  const lacks = lag > 0 ? `, lacks ${plural(lag, "record")}` : "";
  const label = `broker ${id}${rack === null ? "" : `, rack ${name(rack)}`}: ${words}${lacks}`;
  const sign = isNamed ? `${CELLS[state].sign}${id}` : lag > 0 ? SHORT.format(lag) : CELLS[state].sign;
  return { chip: h("span", { class: `replica ${state}` }, sign), label };
}

const STEPS = {
  ArrowDown: () => active + 1,
  ArrowUp: () => active - 1,
  PageDown: () => active + pageRows(),
  PageUp: () => active - pageRows(),
  Home: () => 0,
  End: () => rows.length - 1,
};

const pageRows = () => Math.max(1, Math.floor((grid.clientHeight - head.offsetHeight) / ROW_HEIGHT) - 1);

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
new ResizeObserver(drawMatrix).observe(grid);
watch(["topics", "cluster", "route"], drawMatrix, 200);
