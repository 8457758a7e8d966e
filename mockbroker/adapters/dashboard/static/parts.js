// Parts that several views use.

import { say } from "./actions.js";
import { byId, draw, h } from "./dom.js";
import { rowsHref } from "./route.js";
import { state } from "./store.js";

/** Localities in the order of bars, with a sign and words: colour is never alone. */
export const LOCALITIES = {
  cross: { sign: "↗", word: "crossed", words: "crossed racks" },
  unknown: { sign: "?", word: "unknown", words: "unknown" },
  local: { sign: "=", word: "local", words: "stayed in its rack" },
};
const NOTABLE_SHARE = 0.01;
/** The part of a whole from which bytes are coloured. */
export const isNotable = (part, whole) => part > 0 && part >= NOTABLE_SHARE * whole;

/** A number or name that opens its entries in the journal. */
export function rowsLink(text, filters, label = null, attributes = {}) {
  return h("a", { href: rowsHref(filters), "aria-label": label, ...attributes }, text);
}

/** A button; its name has the rest too, which sets it apart from others with the same text. */
export function button(text, rest, onclick, kind = null) {
  const once = (event) => event.detail > 1 || onclick(event); // the second click of a double click hits another button
  return h("button", { type: "button", class: kind, "aria-label": rest && `${text} ${rest}`, onclick: once }, text);
}

/** A button that copies a text. */
export function copyButton(text, what) {
  return button("Copy", what, () => copy(text, `Copied ${what}.`));
}

/** Copy a text and say so. Returns whether the browser allowed it. */
export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
    return true;
  } catch {
    say(`Your browser blocked copying. Copy it by hand: ${text}`, true);
    return false;
  }
}

/** A bar of three parts beside its figures, for the eye alone. */
export function bar(sizes, longest) {
  const widths = Object.keys(LOCALITIES).map((one) => [one, longest > 0 ? (100 * (sizes[one] ?? 0)) / longest : 0]);
  const part = ([one, width]) => h("span", { class: `part ${one}`, style: { width: `${width.toFixed(2)}%` } });
  return h("span", { class: "stack", "aria-hidden": "true" }, widths.map(part));
}

/** A verdict: its sign and its word. */
export function verdict(locality) {
  const { sign, word } = LOCALITIES[locality] ?? {};
  return sign && h("span", { class: `verdict ${locality}` }, h("b", { "aria-hidden": "true" }, sign), ` ${word}`);
}

export function soft(...children) {
  return h("span", { class: "soft" }, children);
}

/** A reason's name and what it met. */
export function reasonName(key, detail) {
  const { what, action } = state.names.reasons[key] ?? {};
  const title = what && `${what} ${action}`;
  return key && h("span", { class: "why", title }, key.replaceAll("_", " "), detail && ` (${detail})`);
}

/** A reason in words: the action where one helps, and the reason's name. */
export function reason(key, detail) {
  const { what, action, avoidable } = state.names.reasons[key] ?? {};
  return key && [avoidable === "no" ? what : action, " ", soft(reasonName(key, detail))];
}

/**
 * Draw a table; on narrow screens each row is a block of headings and values.
 *
 * @param columns {head, cell(item), kind, attributes(item)}: the first column names the row
 * @param keyOf item -> a key; @param rowAttributes item -> attributes of its row
 */
export function drawTable(id, columns, items, keyOf, rowAttributes = () => ({})) {
  const table = byId(id);
  table.parentElement.hidden = items.length === 0;
  const heads = columns.map(({ head, kind }) => h("th", { scope: "col", class: kind }, head));
  draw(table.tHead ?? table.createTHead(), h("tr", {}, heads));
  const row = (item) =>
    columns.map(({ head, kind, cell, attributes }, index) => {
      const shown = { "data-head": head, class: kind, scope: index === 0 ? "row" : null, ...attributes?.(item) };
      return h(index === 0 ? "th" : "td", shown, cell(item));
    });
  const rows = items.map((item) => h("tr", { key: keyOf(item), ...rowAttributes(item) }, row(item)));
  draw(table.tBodies[0] ?? table.createTBody(), rows);
}

/** "None yet.", or how many more there are than are shown. */
export function noteOn(all, shown, noun) {
  if (all === 0) return `No ${noun} yet.`;
  return all > shown ? `And ${all - shown} more.` : "";
}
