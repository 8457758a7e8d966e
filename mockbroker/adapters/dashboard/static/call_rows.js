// One call of the journal as a row of a table: who asked whom for what, the verdict and its reason, what came of it.

import { make } from "./dom.js";
import { bytes, clock, milliseconds, name, short } from "./format.js";
import { setReason, verdict } from "./parts.js";
import { state } from "./store.js";

const LENGTH_BYTES = 4;
const HEADS = ["time (UTC)", "client", "request", "about", "served by", "verdict", "why", "bytes", "took", "outcome"];
const ANONYMOUS = "User:ANONYMOUS";
const NUMBERS = ["bytes", "took"];

/** The row of headings. */
export function createHead() {
  const cells = HEADS.map((head) =>
    make("th", { scope: "col", class: NUMBERS.includes(head) ? "number" : null }, head),
  );
  return make("tr", {}, ...cells);
}

export function createRow(entry) {
  const who = name(entry.client_id, "no client id");
  const where = entry.client_rack === null ? "unknown rack" : `rack ${name(entry.client_rack)}`;
  const as = entry.principal === ANONYMOUS ? "" : ` as ${name(entry.principal)}`;
  const about = aboutOf(entry);
  const reason = make("td", { class: "reason" });
  const trouble = [
    ...entry.errors,
    ...entry.faults.map((fault) => `fault ${fault}`).filter((one) => !entry.reason?.startsWith(one)),
  ];
  if (entry.reason !== null) trouble.push(entry.reason);
  const cells = {
    "time (UTC)": make("td", {}, make("time", { title: new Date(entry.at_ms).toISOString() }, clock(entry.at_ms))),
    client: make(
      "th",
      { scope: "row", title: `${who}${as}, ${entry.client_address}, connection ${entry.connection}` },
      short(who, 32) + short(as, 32),
      make("span", { class: "soft" }, ` ${where}`),
    ),
    request: make("td", {}, `${entry.api || "no request"} `, make("span", { class: "soft" }, `v${entry.version}`)),
    about: make("td", { title: about }, short(about, 40)),
    "served by": make(
      "td",
      {},
      `broker ${entry.broker}`,
      make("span", { class: "soft" }, entry.rack === null ? " no rack" : ` rack ${name(entry.rack)}`),
    ),
    verdict: make("td", {}, verdict(entry.locality)),
    why: reason,
    bytes: make("td", { class: "number" }, bytes(onTheWire(entry.request_bytes) + onTheWire(entry.response_bytes))),
    took: make("td", { class: "number" }, milliseconds(entry.latency_ms)),
    outcome: make(
      "td",
      { class: trouble.length > 0 ? "trouble" : "soft" },
      trouble.length > 0 ? `${trouble.map((one) => short(name(one), 80)).join(", ")} (${entry.ending})` : entry.ending,
    ),
  };
  const node = make("tr", { "data-locality": entry.locality }, ...HEADS.map((head) => cells[head]));
  return { node, reason, isExplained: false };
}

/** A frame with its length field, as the map of racks counts it. */
function onTheWire(size) {
  return size > 0 ? size + LENGTH_BYTES : 0;
}

/** An entry never changes; only the words for its reason may come later than it. */
export function updateRow(row, entry) {
  if (row.isExplained) return;
  setReason(row.reason, entry.locality_reason, entry.detail);
  row.isExplained = Object.keys(state.names.reasons).length > 0;
}

function aboutOf({ topics, groups }) {
  const found = Object.entries(topics).map(
    ([topic, partitions]) =>
      name(topic) +
      (partitions.length > 0 ? ` ${partitions.slice(0, 6).join(",")}${partitions.length > 6 ? ",…" : ""}` : ""),
  );
  return [...found, ...groups.map((group) => `group ${name(group)}`)].join("; ");
}
