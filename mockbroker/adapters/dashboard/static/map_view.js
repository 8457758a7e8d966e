// Bytes between racks as a heat map: clients' racks down, brokers' racks across.

import { byId, draw, h } from "./dom.js";
import { byName, bytes, name, plural } from "./format.js";
import { LOCALITIES, isNotable, rowsLink } from "./parts.js";
import { bindChoice } from "./route.js";
import { state, watch } from "./store.js";

const FULLEST = 55; // percent of the locality's colour: the text on it keeps its contrast
const MANY_RACKS = 4;
const UNKNOWN = "";
const APIS = { produce: "Produce", consume: "Fetch" };
const KINDS = { clients: ["produce", "consume"], all: ["produce", "consume", "replication", "other"] };
const NOTES = {
  other: "All bytes that are not record batches: requests, headers, metadata, groups.",
  all: "All bytes of all frames. What followers copy has no rows in the journal.",
  replication: "Record batches as sent. What followers copy has no rows in the journal.",
};

/** Sums by client's rack and broker's, of some kinds of traffic. */
function cellsOf(flows, kinds) {
  const cells = new Map();
  for (const flow of flows.filter((one) => kinds.includes(one.category))) {
    const key = `${flow.client_rack ?? UNKNOWN}\0${flow.broker_rack ?? UNKNOWN}`;
    const cell = cells.get(key) ?? { size: 0, calls: 0, cross: 0, unknown: 0, local: 0 };
    cell.size += flow.bytes;
    cell.calls += flow.calls;
    cell[flow.locality] += flow.bytes;
    cells.set(key, cell);
  }
  return cells;
}

function drawMap() {
  if (state.traffic === null || state.cluster === null) return;
  const kind = category("clients");
  const cells = cellsOf(state.traffic.flows, KINDS[kind] ?? [kind]);
  const keys = [...cells.keys()].map((key) => key.split("\0"));
  const racks = Object.keys(state.cluster.racks);
  const down = axis([...racks, ...keys.map(([client]) => client)]);
  const across = axis([...racks, ...keys.map(([, broker]) => broker)]);
  const total = [...cells.values()].reduce((sum, cell) => sum + cell.size, 0);
  const table = byId("heat");
  table.dataset.many = Math.max(down.length, across.length) > MANY_RACKS;
  byId("traffic").dataset.many = across.length > MANY_RACKS + 2;
  const heads = across.map((rack) => h("th", { scope: "col" }, wordsFor(rack)));
  draw(table.tHead, h("tr", {}, h("th", { scope: "col", class: "corner" }, "clients ↓ brokers →"), heads));
  const cell = (client, broker) => cellFor(cells.get(`${client}\0${broker}`), client, broker, total, kind);
  const row = (client) =>
    h("tr", { key: client }, h("th", { scope: "row" }, wordsFor(client)), across.map((broker) => cell(client, broker)));
  draw(table.tBodies[0], down.map(row));
  draw(byId("heat-note"), `${NOTES[kind] ?? "Record batches as sent."} ${state.traffic.completeness ?? ""}`);
}

/** Racks by name, the unknown one last. */
function axis(racks) {
  const known = [...new Set(racks)].filter((rack) => rack !== UNKNOWN).sort(byName);
  return racks.includes(UNKNOWN) ? [...known, UNKNOWN] : known;
}

function wordsFor(rack) {
  return rack === UNKNOWN ? "unknown" : name(rack);
}

function cellFor(cell, client, broker, total, kind) {
  const where = `clients in ${wordsFor(client)}, brokers in ${wordsFor(broker)}`;
  const head = { key: broker || "\0", "data-head": wordsFor(broker) };
  if (!cell?.size) return h("td", { ...head, "data-locality": "none", title: `${where}: nothing` }, "–");
  const locality = Object.keys(LOCALITIES).reduce((best, one) => (cell[one] > cell[best] ? one : best));
  const strength = isNotable(cell.size, total) ? Math.round(FULLEST * Math.sqrt(cell.size / total)) : 0;
  const filters = { locality };
  if (APIS[kind] !== undefined) filters.api = APIS[kind];
  if (client !== UNKNOWN) filters.client_rack = client;
  if (broker !== UNKNOWN) filters.rack = broker;
  const { sign, word, words } = LOCALITIES[locality];
  const parts = Object.entries(LOCALITIES).map(([one, { words: meaning }]) => `${bytes(cell[one])} ${meaning}`);
  return h(
    "td",
    {
      ...head,
      "data-locality": strength > 0 ? locality : "little",
      style: { "--strength": `${strength}%` },
      title: `${where}: ${plural(cell.calls, "request")}, ${parts.join(", ")}`,
    },
    rowsLink(bytes(cell.size), filters, `${bytes(cell.size)}, ${words}: ${where}`),
    h("span", { class: "word" }, `${sign} ${word}`),
  );
}

const legend = Object.entries(LOCALITIES).map(([locality, { sign, words }]) =>
  h("span", {}, h("span", { class: `swatch ${locality}`, "aria-hidden": "true" }, sign), ` ${words}`),
);
draw(byId("traffic-legend"), legend);
const category = bindChoice(byId("traffic-category"), "traffic.category");
watch(["traffic", "cluster", "route"], drawMap, 200);
