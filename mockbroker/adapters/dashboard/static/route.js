// The open panel and the choices of views, in the address after the #, so that a link leads to the same view.

import { changed, state } from "./store.js";

/** Filters of the journal, by their names in GET /requests. */
export const FILTERS = [
  ...["api", "client_id", "client_rack", "principal", "topic", "partition", "group", "broker", "rack", "locality"],
  ...["error", "fault"],
];

state.route = read();
addEventListener("hashchange", apply);

function apply() {
  state.route = read();
  changed("route");
}

function read() {
  const given = [...new URLSearchParams(location.hash.slice(1))];
  const filters = Object.fromEntries(given.filter(([name]) => FILTERS.includes(name)));
  const settings = Object.fromEntries(given.filter(([name]) => name.includes(".")));
  return { isOpen: given.some(([name]) => name === "rows"), filters, settings };
}

function hashOf(filters, settings) {
  const given = Object.entries({ ...filters, ...settings }).filter(([, value]) => value !== "");
  return `#${new URLSearchParams(given)}`;
}

/** The address of the panel with these filters and no others. */
export function rowsHref(filters) {
  return hashOf({ rows: "open", ...filters }, state.route.settings);
}

/** Open the panel with these filters, or close it: null. */
export function showRows(filters) {
  location.hash = filters === null ? hashOf({}, state.route.settings) : rowsHref(filters);
}

/** Have a field of the page set a choice, such as "matrix.topic". Returns what shows and returns the choice. */
export function bindChoice(field, name) {
  field.addEventListener(field.localName === "select" ? "change" : "input", () => {
    const { isOpen, filters, settings } = state.route;
    const open = isOpen ? { rows: "open", ...filters } : {};
    history.replaceState(null, "", hashOf(open, { ...settings, [name]: field.value }));
    apply();
  });
  return (absent = "") => {
    const value = state.route.settings[name] ?? absent;
    if (field.value !== value) field.value = value;
    return value;
  };
}
