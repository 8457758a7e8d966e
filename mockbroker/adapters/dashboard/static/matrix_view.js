// Partitions by rack and broker: one row a partition, one column a broker. Only the rows in sight are elements, so that
// 10,000 partitions on 60 brokers cost as much as thirty do.

import { byId, make, setAttribute, setStyle, setText } from "./dom.js";
import { byName, count, name, plural, short } from "./format.js";
import { choose, openRows } from "./route.js";
import { state, watch } from "./store.js";

const ROW_HEIGHT = 26;
const SPARE_ROWS = 6; // above and below what is in sight
const HIGHEST = 8_000_000; // browsers do not scroll higher elements exactly
const CELLS = {
  leader: { sign: "L", words: "leader" },
  insync: { sign: "●", words: "in sync" },
  out: { sign: "○", words: "out of ISR" },
  gone: { sign: "✕", words: "broker down" },
};

const grid = byId("matrix");
const head = make("div", { class: "matrix-head", role: "rowgroup" });
const body = make("div", { class: "matrix-body", role: "rowgroup" });
const pool = []; // elements of rows, used again as one scrolls
let columns = []; // brokers in the order of their racks
let rows = []; // {topic, index}: what passes the filters
let active = 0; // the row that the keyboard is at

export function start() {
  grid.append(head, body);
  byId("matrix-legend").append(
    ...Object.entries(CELLS).map(([kind, { sign, words }]) =>
      make("span", {}, make("span", { class: `replica ${kind}`, "aria-hidden": "true" }, sign), ` ${words}`),
    ),
    make("span", { class: "soft" }, "a number: records behind the leader"),
  );
  byId("matrix-topic").addEventListener("input", ({ target }) => choose("matrix.topic", target.value));
  byId("matrix-show").addEventListener("change", ({ target }) => choose("matrix.show", target.value));
  grid.addEventListener("scroll", () => requestDraw(), { passive: true });
  grid.addEventListener("keydown", move);
  grid.addEventListener("click", ({ target }) => {
    const row = target.closest("[data-row]");
    if (row === null) return;
    active = Number(row.dataset.row);
    open();
  });
  grid.addEventListener("focus", () => requestDraw());
  new ResizeObserver(() => requestDraw()).observe(grid);
  watch(["topics", "cluster", "route"], draw, 200);
}

let isAsked = false;

function requestDraw() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    drawVisible();
  });
}

function draw() {
  if (state.cluster === null) return;
  drawHead();
  const part = (state.route.settings["matrix.topic"] ?? "").toLowerCase();
  const kind = state.route.settings["matrix.show"] ?? "";
  if (byId("matrix-topic").value.toLowerCase() !== part) byId("matrix-topic").value = part;
  if (byId("matrix-show").value !== kind) byId("matrix-show").value = kind;
  const passes = PASSES[kind] ?? PASSES[""];
  rows = [];
  let all = 0;
  for (const topic of state.topics) {
    all += topic.partitions.length;
    if (part !== "" && !topic.name.toLowerCase().includes(part)) continue;
    for (let index = 0; index < topic.partitions.length; index += 1) {
      if (passes(topic.partitions[index], topic)) rows.push({ topic, index });
    }
  }
  active = Math.max(0, Math.min(active, rows.length - 1));
  setStyle(body, "height", `${Math.min(HIGHEST, rows.length * ROW_HEIGHT)}px`);
  setAttribute(grid, "aria-rowcount", rows.length + 2);
  setAttribute(grid, "data-empty", rows.length === 0);
  setText(byId("matrix-note"), noteOn(all));
  drawVisible();
}

function noteOn(all) {
  if (all === 0) return "No topic yet.";
  const shown = rows.length === all ? "" : `${count(rows.length)} of `;
  return `${shown}${plural(all, "partition")} of ${plural(state.topics.length, "topic")}.`;
}

const PASSES = {
  "": () => true,
  isr: ({ replicas, isr }, topic) => !topic.diskless && isr.length < replicas.length,
  leader: ({ leader }, topic) => !topic.diskless && (leader === null || leader < 0),
  lag: (partition) => lagging(partition),
};

function lagging(partition) {
  if (partition.high_watermark < partition.end_offset) return true;
  const lags = partition.follower_lag;
  return lags !== undefined && lags !== null && Object.values(lags).some((lag) => lag > 0);
}

/** Racks above their brokers. */
function drawHead() {
  const brokers = [...state.cluster.brokers].sort(
    (one, other) => byName(one.rack ?? "", other.rack ?? "") || one.id - other.id,
  );
  const shape = JSON.stringify(brokers.map(({ id, rack, online }) => [id, rack, online]));
  columns = brokers;
  if (head.dataset.shape === shape) return;
  head.dataset.shape = shape;
  setAttribute(grid, "aria-colcount", brokers.length + 2);
  setStyle(grid, "--brokers", String(brokers.length));
  setAttribute(grid, "data-dense", brokers.length > 36 ? "many" : brokers.length > 12 ? "some" : null);
  const racks = make(
    "div",
    { class: "matrix-row racks-row", role: "row", "aria-rowindex": 1 },
    cell("columnheader", 1, "corner", "rack"),
  );
  const ids = make(
    "div",
    { class: "matrix-row", role: "row", "aria-rowindex": 2 },
    cell("columnheader", 1, "corner", "partition"),
  );
  brokers.forEach((broker, index) => {
    const isFirst = index === 0 || brokers[index - 1].rack !== broker.rack;
    if (isFirst) {
      const wide = brokers.filter((other) => other.rack === broker.rack).length;
      const words = broker.rack === null ? "no rack" : `rack ${name(broker.rack)}`;
      const title = cell("columnheader", index + 2, "rack-title", words, words);
      setStyle(title, "grid-column", `${index + 2} / span ${wide}`);
      setAttribute(title, "aria-colspan", wide);
      racks.append(title);
    }
    const title = cell(
      "columnheader",
      index + 2,
      `broker-title${isFirst ? " first" : ""}${broker.online ? "" : " down"}`,
      broker.online || brokers.length > 12 ? broker.id : `${broker.id} ✕`,
      `broker ${broker.id}${broker.online ? "" : ", down"}`,
    );
    setStyle(title, "grid-column", String(index + 2));
    ids.append(title);
  });
  const end = cell(
    "columnheader",
    brokers.length + 2,
    "end",
    "readable to",
    "the high watermark, and the end offset where that is further",
  );
  setStyle(end, "grid-column", String(brokers.length + 2));
  ids.append(end);
  head.replaceChildren(racks, ids);
}

function cell(role, column, kind, text, title = null) {
  return make("div", { role, class: kind, "aria-colindex": column, title, "aria-label": title }, text);
}

/** Draw the rows in sight; elements of those that left it are used again. */
function drawVisible() {
  const height = grid.clientHeight || 400;
  const whole = rows.length * ROW_HEIGHT;
  const scale = whole > HIGHEST ? (whole - height) / (HIGHEST - height) : 1; // of very many rows some are skipped
  const top = grid.scrollTop * scale;
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - SPARE_ROWS);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + SPARE_ROWS);
  const shift = grid.scrollTop - top;
  while (pool.length > last - first) pool.pop().remove();
  for (let place = 0; place < last - first; place += 1) {
    if (pool[place] === undefined) body.append((pool[place] = make("div", { class: "matrix-row", role: "row" })));
    drawRow(pool[place], first + place, shift);
  }
  const isFocused = document.activeElement === grid;
  setAttribute(
    grid,
    "aria-activedescendant",
    isFocused && active >= first && active < last ? `matrix-row-${active}` : null,
  );
}

function drawRow(node, number, shift) {
  const { topic, index } = rows[number];
  const partition = topic.partitions[index];
  setStyle(node, "transform", `translateY(${Math.round(number * ROW_HEIGHT + shift)}px)`);
  setAttribute(node, "data-active", number === active && document.activeElement === grid);
  const drawn = node.drawn;
  if (
    drawn !== undefined &&
    drawn.number === number &&
    drawn.partition === partition &&
    drawn.columns === head.dataset.shape
  )
    return;
  node.drawn = { number, partition, columns: head.dataset.shape };
  node.id = `matrix-row-${number}`;
  node.dataset.row = number;
  setAttribute(node, "aria-rowindex", number + 3);
  const called = `${name(topic.name)}-${partition.partition}`;
  const title = cell("rowheader", 1, "partition-title", short(called, 40), called);
  const end = cell("gridcell", columns.length + 2, "end", endWords(partition));
  setStyle(end, "grid-column", String(columns.length + 2));
  node.replaceChildren(title, ...replicasOf(topic, partition), end);
}

function endWords({ end_offset: end, high_watermark: mark }) {
  if (end === null) return "–"; // a proxy is not told
  return mark < end ? `${count(mark)} of ${count(end)}` : count(end);
}

function replicasOf(topic, partition) {
  if (topic.diskless) {
    const words = make(
      "div",
      { role: "gridcell", class: "diskless", "aria-colindex": 2 },
      "diskless: any broker serves it",
    );
    setStyle(words, "grid-column", `2 / span ${columns.length}`);
    return [words];
  }
  const found = [];
  columns.forEach((broker, index) => {
    if (!partition.replicas.includes(broker.id)) return;
    const kind = kindOf(partition, broker);
    const lag = partition.leader === broker.id ? 0 : (partition.follower_lag?.[broker.id] ?? 0);
    const words = `broker ${broker.id}${broker.rack === null ? "" : `, rack ${name(broker.rack)}`}: ${kindWords(partition, broker, kind)}${lag > 0 ? `, ${plural(lag, "record")} behind` : ""}`;
    const node = make(
      "div",
      { role: "gridcell", "aria-colindex": index + 2, "aria-label": words, title: words },
      make("span", { class: `replica ${kind}` }, lag > 0 ? shortCount(lag) : CELLS[kind].sign),
    );
    setStyle(node, "grid-column", String(index + 2));
    found.push(node);
  });
  return found;
}

function kindOf({ leader, isr }, broker) {
  if (!broker.online) return "gone";
  if (leader === broker.id) return "leader";
  return isr.includes(broker.id) ? "insync" : "out";
}

function kindWords({ isr }, broker, kind) {
  return kind === "gone" && !isr.includes(broker.id) ? "down and out of ISR" : CELLS[kind].words;
}

/** 12345 -> "12k": what fits into a cell. */
function shortCount(value) {
  if (value < 1000) return String(value);
  return value < 1_000_000 ? `${Math.floor(value / 1000)}k` : `${Math.floor(value / 1_000_000)}M`;
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
  if (event.key === "Enter") {
    event.preventDefault();
    open();
  } else if (STEPS[event.key] !== undefined) {
    event.preventDefault();
    active = Math.max(0, Math.min(rows.length - 1, STEPS[event.key]()));
    bringIntoSight();
    requestDraw();
  }
}

function bringIntoSight() {
  const whole = rows.length * ROW_HEIGHT;
  const inSight = grid.clientHeight - head.offsetHeight;
  const scale = whole > HIGHEST ? (whole - grid.clientHeight) / (HIGHEST - grid.clientHeight) : 1;
  const top = active * ROW_HEIGHT;
  if (top < grid.scrollTop * scale) grid.scrollTop = top / scale;
  else if (top + ROW_HEIGHT > grid.scrollTop * scale + inSight) grid.scrollTop = (top + ROW_HEIGHT - inSight) / scale;
}

function open() {
  const row = rows[active];
  if (row === undefined) return;
  openRows({ topic: row.topic.name, partition: String(row.topic.partitions[row.index].partition) });
}
