// What is open and filtered, in the address behind the #, so that a link to it can be sent on.

import { changed, state } from "./store.js";

/** Filters of the journal, as GET /requests has them. */
export const FILTERS = [
  "api",
  "client_id",
  "client_rack",
  "principal",
  "topic",
  "partition",
  "group",
  "broker",
  "rack",
  "locality",
  "error",
  "fault",
];

const OPEN = "rows";
state.route = read();

addEventListener("hashchange", () => {
  state.route = read();
  changed("route");
});

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  const filters = {};
  for (const name of FILTERS) if (given.has(name)) filters[name] = given.get(name);
  const settings = {};
  for (const [name, value] of given) if (name.includes(".")) settings[name] = value;
  return { isOpen: given.has(OPEN), filters, settings };
}

function write(route, replace) {
  const found = new URLSearchParams();
  if (route.isOpen) found.set(OPEN, "open");
  for (const [name, value] of Object.entries(route.filters)) if (route.isOpen && value !== "") found.set(name, value);
  for (const [name, value] of Object.entries(route.settings)) if (value !== "") found.set(name, value);
  const hash = `#${found}`;
  if (replace) history.replaceState(null, "", hash);
  else if (location.hash !== hash) history.pushState(null, "", hash);
  state.route = read();
  changed("route");
}

/** Open the rows with these filters and no others. */
export function openRows(filters) {
  write({ ...state.route, isOpen: true, filters }, false);
}

export function changeFilters(filters) {
  write({ ...state.route, filters }, true);
}

export function closeRows() {
  write({ ...state.route, isOpen: false, filters: {} }, false);
}

/** A choice of a part of the page, as "matrix.topic"; an empty one is forgotten. */
export function choose(name, value) {
  write({ ...state.route, settings: { ...state.route.settings, [name]: value } }, true);
}

/** Where a link to these rows leads. */
export function rowsHref(filters) {
  return `#${new URLSearchParams({ [OPEN]: "open", ...filters })}`;
}

// A link to rows keeps what else is chosen; opened in a window of its own it is a plain link.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-rows]");
  if (link === null || link === undefined || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  openRows(JSON.parse(link.dataset.rows));
});
