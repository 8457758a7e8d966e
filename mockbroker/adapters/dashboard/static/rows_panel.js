// The panel that opens the journal's calls behind any number, with filters, at an address of their own.

import { Problem, ask, query } from "./api.js";
import { say } from "./actions.js";
import { byId, make, reconcile, setAttribute, setText } from "./dom.js";
import { createHead, createRow, updateRow } from "./call_rows.js";
import { count, name } from "./format.js";
import { FILTERS, changeFilters, closeRows } from "./route.js";
import { state, watch } from "./store.js";

const ROWS_SHOWN = 200;
const CHOICES = { locality: ["local", "cross", "unknown"] };

let opener = null; // what had the keyboard before the panel opened
let asked = 0; // the last question's number: older answers come too late
let loadedFor = null; // the filters of that question

export function start() {
  byId("rows-table").tHead.append(createHead());
  const form = byId("rows-filters");
  for (const filter of FILTERS) form.append(make("label", {}, filter.replaceAll("_", " "), fieldOf(filter)));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    const filters = {};
    for (const filter of FILTERS) {
      const given = form.elements[filter].value.trim();
      if (given !== "") filters[filter] = given;
    }
    changeFilters(filters);
  });
  byId("rows-close").addEventListener("click", closeRows);
  byId("rows-refresh").addEventListener("click", load);
  byId("rows-link").addEventListener("click", copyLink);
  addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && state.route.isOpen && document.querySelector("dialog[open]") === null) closeRows();
  });
  watch(["route"], draw);
}

function fieldOf(filter) {
  if (CHOICES[filter] === undefined) {
    const list = { api: "api-names", error: "error-names", topic: "topic-names" }[filter] ?? null;
    return make("input", { name: filter, autocomplete: "off", spellcheck: "false", list, placeholder: "any" });
  }
  const options = ["", ...CHOICES[filter]].map((one) => make("option", { value: one }, one === "" ? "any" : one));
  return make("select", { name: filter }, ...options);
}

function draw() {
  const { isOpen, filters } = state.route;
  const panel = byId("rows");
  const wasOpen = !panel.hidden;
  panel.hidden = !isOpen;
  setAttribute(document.body, "data-rows", isOpen ? "open" : null);
  if (!isOpen) {
    loadedFor = null;
    if (wasOpen && opener?.isConnected) opener.focus();
    opener = null;
    return;
  }
  for (const filter of FILTERS) {
    const field = byId("rows-filters").elements[filter];
    if (field !== document.activeElement && field.value !== (filters[filter] ?? ""))
      field.value = filters[filter] ?? "";
  }
  if (!wasOpen) {
    opener = document.activeElement;
    byId("rows-title").focus();
  }
  if (loadedFor !== JSON.stringify(filters)) load();
}

async function load() {
  const { filters } = state.route;
  loadedFor = JSON.stringify(filters);
  asked += 1;
  const question = asked;
  setText(byId("rows-problem"), "");
  setAttribute(byId("rows-table"), "aria-busy", "true");
  try {
    const [counted, found] = await Promise.all([
      ask("POST", "requests/count", countable(filters)),
      ask("GET", `requests?${query({ ...filters, limit: ROWS_SHOWN })}`),
    ]);
    if (question === asked) show(counted.count, found.requests);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (question !== asked) return;
    show(0, []);
    setText(byId("rows-count"), "");
    setText(byId("rows-problem"), problem.message);
  } finally {
    setAttribute(byId("rows-table"), "aria-busy", null);
  }
}

/** Filters as JSON: brokers and partitions are numbers there. */
function countable(filters) {
  return Object.fromEntries(
    Object.entries(filters).map(([key, value]) => [
      key,
      ["broker", "partition"].includes(key) && /^\d+$/.test(value) ? Number(value) : value,
    ]),
  );
}

function show(total, entries) {
  const newest = [...entries].sort((one, other) => other.sequence - one.sequence);
  reconcile(byId("rows-table").tBodies[0], newest, (entry) => entry.sequence, createRow, updateRow);
  const filters = Object.entries(state.route.filters).map(
    ([key, value]) => `${key.replaceAll("_", " ")} ${name(value)}`,
  );
  setText(byId("rows-title"), filters.length === 0 ? "All requests" : `Requests: ${filters.join(", ")}`);
  setText(byId("rows-count"), `${count(total)} in the journal`);
  setText(byId("rows-note"), total > newest.length ? `The newest ${count(newest.length)} of them are shown.` : "");
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link to these rows is copied.");
  } catch {
    say(`The browser does not allow to copy; the link is in its address bar: ${location.href}`, true);
  }
}
