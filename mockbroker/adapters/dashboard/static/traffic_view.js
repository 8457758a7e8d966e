// Record batches between racks as a heat map.

import { byId, make, reconcile, setAttribute, setStyle, setText } from "./dom.js";
import { byName, bytes, name, plural } from "./format.js";
import { LOCALITIES, legend, rowsLink, setRowsLink } from "./parts.js";
import { choose } from "./route.js";
import { state, watch } from "./store.js";

const FAINTEST = 12;
const FULLEST = 48; // percent of the locality's colour: the text on it keeps its contrast
const UNKNOWN = ""; // a rack that nobody says
const APIS = { produce: "Produce", consume: "Fetch" };

export function start() {
  byId("traffic-legend").append(...legend());
  byId("traffic-category").addEventListener("change", ({ target }) => choose("traffic.category", target.value));
  watch(["traffic", "cluster", "route"], drawMap, 200);
}

const NOTES = {
  records: "Record batches as sent.",
  all: "All bytes of all frames.",
  other: "All bytes that are not record batches: requests, headers, metadata, groups.",
};
const CLIENTS = "clients";
const KINDS = { clients: ["produce", "consume"], all: ["produce", "consume", "replication", "other"] };

/** The kind of traffic that is shown: that of clients, all, or one. */
function category() {
  return state.route.settings["traffic.category"] ?? CLIENTS;
}

/** Sums by client's rack and broker's, of some kinds of traffic. */
export function cellsOf(rows, wanted) {
  const cells = new Map();
  for (const row of rows) {
    if (!(KINDS[wanted] ?? [wanted]).includes(row.category)) continue;
    const key = `${row.client_rack ?? UNKNOWN}\0${row.broker_rack ?? UNKNOWN}`;
    let cell = cells.get(key);
    if (cell === undefined) cells.set(key, (cell = { size: 0, calls: 0, cross: 0, unknown: 0, local: 0 }));
    cell.size += row.bytes;
    cell.calls += row.calls;
    cell[row.locality] += row.bytes;
  }
  return cells;
}

/** The locality with the most bytes of a cell. */
function mostly(cell) {
  return Object.keys(LOCALITIES).reduce((best, one) => (cell[one] > cell[best] ? one : best));
}

function drawMap() {
  if (state.traffic === null || state.cluster === null) return;
  const select = byId("traffic-category");
  if (select.value !== category()) select.value = category();
  const cells = cellsOf(state.traffic.rows, category());
  const keys = [...cells.keys()].map((key) => key.split("\0"));
  const racks = Object.keys(state.cluster.racks);
  const down = axis([...racks, ...keys.map(([client]) => client)]);
  const across = axis([...racks, ...keys.map(([, broker]) => broker)]);
  const most = Math.max(1, ...[...cells.values()].map((cell) => cell.size));
  const table = byId("heat");
  reconcile(table.tHead, [across], () => "head", createHead, updateHead);
  const rows = down.map((client) => ({ client, across, cells, most }));
  reconcile(table.tBodies[0], rows, ({ client }) => client, createRow, updateRow);
  const copies = ["all", "replication"].includes(category()) ? " What followers copy has no rows in the journal." : "";
  setText(byId("heat-note"), `${NOTES[category()] ?? NOTES.records}${copies} ${state.traffic.completeness}`);
}

/** Racks by name, those that nobody says last. */
function axis(racks) {
  const known = [...new Set(racks)].filter((rack) => rack !== UNKNOWN).sort(byName);
  return racks.includes(UNKNOWN) ? [...known, UNKNOWN] : known;
}

function rackWords(rack) {
  return rack === UNKNOWN ? "unknown" : name(rack);
}

function createHead() {
  return { node: make("tr", {}, make("th", { scope: "col", class: "corner" }, "client rack ↓ broker rack →")) };
}

function updateHead(row, across) {
  const wanted = across.map((rack) => ({ rack }));
  row.cells ??= make("template").content;
  const others = [...row.node.children].slice(1);
  const shown = others.map((cell) => cell.dataset.rack).join("\0");
  if (others.length === across.length && shown === across.join("\0")) return;
  others.forEach((cell) => cell.remove());
  row.node.append(...wanted.map(({ rack }) => make("th", { scope: "col", "data-rack": rack }, rackWords(rack))));
}

function createRow({ client }) {
  const head = make("th", { scope: "row" }, rackWords(client));
  return { node: make("tr", {}, head), cells: new Map() };
}

function updateRow(row, { client, across, cells, most }) {
  for (const [broker, cell] of row.cells) {
    if (across.includes(broker)) continue;
    cell.node.remove();
    row.cells.delete(broker);
  }
  across.forEach((broker, index) => {
    let cell = row.cells.get(broker);
    if (cell === undefined) row.cells.set(broker, (cell = createCell()));
    const place = row.node.children[index + 1];
    if (place !== cell.node) row.node.insertBefore(cell.node, place ?? null);
    updateCell(cell, client, broker, cells.get(`${client}\0${broker}`), most);
  });
}

function createCell() {
  const size = rowsLink("", {});
  const cost = make("span", { class: "cost" });
  const sign = make("span", { class: "sign", "aria-hidden": "true" });
  return { node: make("td", {}, sign, size, cost), size, cost, sign };
}

function updateCell({ node, size, cost, sign }, client, broker, cell, most) {
  const where = `clients in ${rackWords(client)}, brokers in ${rackWords(broker)}`;
  if (cell === undefined || cell.size === 0) {
    setAttribute(node, "data-locality", "none");
    setAttribute(node, "title", `${where}: nothing`);
    size.hidden = true;
    setText(size, "");
    setText(cost, "–");
    setText(sign, "");
    return;
  }
  const locality = mostly(cell);
  const strength = FAINTEST + (FULLEST - FAINTEST) * Math.sqrt(cell.size / most);
  setAttribute(node, "data-locality", locality);
  setStyle(node, "--strength", `${Math.round(strength)}%`);
  size.hidden = false;
  const filters = { locality };
  if (APIS[category()] !== undefined) filters.api = APIS[category()];
  if (client !== UNKNOWN) filters.client_rack = client;
  if (broker !== UNKNOWN) filters.rack = broker;
  setRowsLink(size, bytes(cell.size), filters, `${bytes(cell.size)}, ${LOCALITIES[locality].words}: ${where}`);
  setText(cost, locality);
  setText(sign, LOCALITIES[locality].sign);
  setAttribute(
    node,
    "title",
    `${where}: ${plural(cell.calls, "call")}, ${bytes(cell.cross)} crossed, ${bytes(cell.unknown)} unknown, ${bytes(cell.local)} local`,
  );
}
