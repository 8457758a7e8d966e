// The journal's requests: the newest on the page, and in a panel those of any figure, with filters.

import { Problem, ask } from "./actions.js";
import { byId, draw, h, setText } from "./dom.js";
import { bytes, clock, count, milliseconds, name, short } from "./format.js";
import { button, copy, drawTable, reasonName, soft, verdict } from "./parts.js";
import { FILTERS, bindChoice, showRows } from "./route.js";
import { state, watch } from "./store.js";

const RECENT_SHOWN = 30;
const ROWS_SHOWN = 200;
const LENGTH_BYTES = 4;
const ANONYMOUS = "User:ANONYMOUS";
const RECORD_APIS = new Set(["Produce", "Fetch", "ShareFetch"]);
const ENDINGS = { "answered later": "long poll" };
const LISTS = { api: "api-names", error: "error-names", topic: "topic-names" };
const SHOWN = {
  "": () => true,
  records: (entry) => RECORD_APIS.has(entry.api),
  trouble: (entry) => entry.locality !== "local" || entry.errors.length > 0 || entry.faults.length > 0,
};
const COLUMNS = [
  { head: "time (UTC)", kind: "time", cell: ({ at_ms: ms }) => h("time", {}, clock(ms)) },
  { head: "client", cell: whoCalls },
  { head: "request", cell: ({ api, version }) => [api || "no request", soft(` v${version}`)] },
  { head: "topic / group", cell: (entry) => h("span", { title: subjectOf(entry) }, short(subjectOf(entry), 40)) },
  { head: "served by", cell: ({ broker, rack }) => [`broker ${broker}`, soft(rack === null ? "" : ` rack ${name(rack)}`)] },
  { head: "verdict", cell: ({ locality }) => verdict(locality) },
  { head: "reason", kind: "reason", cell: (entry) => reasonName(entry.locality_reason, entry.detail) },
  { head: "bytes", kind: "number", cell: (entry) => bytes(frame(entry.request_bytes) + frame(entry.response_bytes)) },
  { head: "took", kind: "number", cell: ({ latency_ms: ms }) => milliseconds(ms) },
  { head: "outcome", kind: "outcome", cell: outcomeOf },
];

const bySequence = ({ sequence }) => sequence;

let paused = null; // the entries at the moment of the pause
let opener = null; // the focused element before the panel opened
let loadedFor = null; // the filters of the last question: answers to earlier ones come too late

function whoCalls({ client_id: id, client_rack: rack, client_address: address, principal, connection }) {
  const who = name(id, "no client id") + (principal === ANONYMOUS ? "" : ` as ${name(principal)}`);
  const where = rack === null ? "rack unknown" : `rack ${name(rack)}`;
  const title = `${who}, ${address}, connection ${connection}`;
  return h("span", { title }, short(who, 48), soft(` ${where}`));
}

function subjectOf({ topics, groups }) {
  const partitions = (all) => all.slice(0, 6).join(",") + (all.length > 6 ? ",…" : "");
  const named = Object.entries(topics).map(([topic, all]) => `${name(topic)} ${partitions(all)}`.trim());
  return [...named, ...groups.map((group) => `group ${name(group)}`)].join("; ");
}

/** A frame with its length field, as the map of racks counts it. */
function frame(size) {
  return size > 0 ? size + LENGTH_BYTES : 0;
}

function outcomeOf({ errors, faults, reason: why, ending }) {
  const hits = faults.map((fault) => `fault ${fault}`).filter((fault) => !why?.startsWith(fault));
  const trouble = [...errors, ...hits, ...(why === null ? [] : [why])].map((one) => short(name(one), 80)).join(", ");
  const shown = ENDINGS[ending] ?? ending;
  return trouble === "" ? soft(shown) : h("span", { class: "bad" }, `${trouble} (${shown})`);
}

function drawRecent() {
  const shown = (paused ?? state.requests).filter(SHOWN[kind()] ?? SHOWN[""]);
  const pause = () => {
    paused = paused === null ? state.requests : null;
    drawRecent();
  };
  draw(byId("pause"), button(paused === null ? "Pause" : "Resume", null, pause));
  drawTable("requests-table", COLUMNS, shown.slice(0, RECENT_SHOWN), bySequence);
  const { skipped } = state.connection;
  draw(
    byId("requests-note"),
    shown.length === 0 && "No request yet. ",
    paused !== null && "Paused; the journal continues. ",
    skipped > 0 && `${count(skipped)} came too fast or while this page was not connected; the journal has them.`,
  );
}

// the panel

function fieldOf(filter) {
  if (filter !== "locality")
    return h("input", { name: filter, autocomplete: "off", list: LISTS[filter], placeholder: "any" });
  const options = ["local", "cross", "unknown"].map((one) => h("option", { value: one }, one));
  return h("select", { name: filter }, h("option", { value: "" }, "any"), options);
}

function drawPanel() {
  const { isOpen, filters } = state.route;
  const panel = byId("rows");
  const wasOpen = !panel.hidden;
  panel.hidden = !isOpen;
  if (!isOpen) {
    loadedFor = null;
    if (wasOpen && opener?.isConnected) opener.focus();
    return;
  }
  for (const filter of FILTERS) {
    const field = byId("rows-filters").elements[filter];
    if (field !== document.activeElement) field.value = filters[filter] ?? "";
  }
  if (!wasOpen) {
    opener = document.activeElement;
    byId("rows-title").focus();
  }
  if (loadedFor !== JSON.stringify(filters)) load();
}

async function load() {
  const { filters } = state.route;
  const asked = (loadedFor = JSON.stringify(filters));
  setText(byId("rows-problem"), "");
  try {
    const query = new URLSearchParams({ ...filters, limit: ROWS_SHOWN });
    const answers = [ask("POST", "requests/count", countable(filters)), ask("GET", `requests?${query}`)];
    const [{ count: total }, { requests }] = await Promise.all(answers);
    if (asked === loadedFor) show(total, requests);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (asked !== loadedFor) return;
    show(null, []);
    setText(byId("rows-problem"), problem.message);
  }
}

/** Filters as JSON: brokers and partitions are numbers there. */
function countable(filters) {
  const isNumber = (key, value) => ["broker", "partition"].includes(key) && /^\d+$/.test(value);
  const entries = Object.entries(filters).map(([key, value]) => [key, isNumber(key, value) ? Number(value) : value]);
  return Object.fromEntries(entries);
}

function show(total, entries) {
  const newest = [...entries].sort((one, other) => other.sequence - one.sequence);
  drawTable("rows-table", COLUMNS, newest, bySequence);
  const words = ([key, value]) => `${key.replaceAll("_", " ")} ${name(value)}`;
  const filters = Object.entries(state.route.filters).map(words);
  setText(byId("rows-title"), filters.length === 0 ? "All requests" : `Requests: ${filters.join(", ")}`);
  setText(byId("rows-count"), total === null ? "" : `${count(total)} in the journal`);
  setText(byId("rows-note"), total > newest.length ? `Shown: the newest ${count(newest.length)}.` : "");
}

const kind = bindChoice(byId("requests-show"), "requests.show");
byId("all-rows").addEventListener("click", () => showRows({}));
watch(["requests", "route", "names"], drawRecent, 250);
const form = byId("rows-filters");
const fields = FILTERS.map((filter) => h("label", {}, filter.replaceAll("_", " "), fieldOf(filter)));
draw(form, fields);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("change", () => {
  const given = FILTERS.map((filter) => [filter, form.elements[filter].value.trim()]);
  showRows(Object.fromEntries(given));
});
byId("rows-close").addEventListener("click", () => showRows(null));
byId("rows-refresh").addEventListener("click", load);
byId("rows-link").addEventListener("click", () => copy(location.href, "Copied the link to these requests."));
addEventListener("keydown", ({ key }) => {
  if (key === "Escape" && state.route.isOpen && document.querySelector("dialog[open]") === null) showRows(null);
});
watch(["route"], drawPanel);
