// Small parts that several views are made of.

import { make, setAttribute, setStyle, setText } from "./dom.js";
import { bytes } from "./format.js";
import { rowsHref } from "./route.js";
import { state } from "./store.js";

/** The localities in the order in which bars are stacked, with their sign and words: colour is never alone. */
export const LOCALITIES = {
  cross: { sign: "↗", words: "crossed racks" },
  unknown: { sign: "?", words: "unknown" },
  local: { sign: "=", words: "stayed in its rack" },
};

/** A number or name that opens the journal's entries behind it. */
export function rowsLink(text, filters, label) {
  const link = make("a", { class: "opens" }, text);
  return setRowsLink(link, text, filters, label);
}

export function setRowsLink(link, text, filters, label) {
  const asText = JSON.stringify(filters);
  if (link.dataset.rows !== asText) {
    link.dataset.rows = asText;
    link.href = rowsHref(filters);
  }
  setText(link, text);
  setAttribute(link, "aria-label", label);
  return link;
}

/** A verdict as a chip: its sign and its word. */
export function verdict(locality) {
  const known = LOCALITIES[locality];
  if (known === undefined) return make("span", { class: "soft" }, "–");
  return make(
    "span",
    { class: `verdict ${locality}` },
    make("b", { "aria-hidden": "true" }, known.sign),
    ` ${locality}`,
  );
}

/** The legend of localities. */
export function legend() {
  return Object.entries(LOCALITIES).map(([locality, { sign, words }]) =>
    make("span", {}, make("span", { class: `swatch ${locality}`, "aria-hidden": "true" }, sign), ` ${words}`),
  );
}

/** A bar of three parts; the figures stand beside it, so it is for the eye alone. */
export function bar() {
  const parts = Object.keys(LOCALITIES).map((locality) => make("span", { class: `part ${locality}` }));
  return make("span", { class: "stack", "aria-hidden": "true" }, ...parts);
}

export function setBar(node, sizes, longest) {
  Object.keys(LOCALITIES).forEach((locality, index) => {
    const part = longest > 0 ? (100 * (sizes[locality] ?? 0)) / longest : 0;
    setStyle(node.children[index], "width", `${part.toFixed(2)}%`);
  });
}

/** What a reason of the locality table means, and what helps; undefined for one that is not known. */
export function reasonOf(key) {
  return state.names.reasons[key];
}

/** A reason's key, with its meaning below. */
export function setReason(node, key, detail) {
  const known = key === null || key === undefined ? undefined : reasonOf(key);
  setText(node, key === null || key === undefined ? "" : key.replaceAll("_", " "));
  const words = known === undefined ? detail : `${known.what} ${known.action}${detail ? ` (${detail})` : ""}`;
  setAttribute(node, "title", words || null);
}

export function sizeOrNothing(size) {
  return size > 0 ? bytes(size) : "0 B";
}

/** A button; what it is called beside other buttons is in its text too, unseen. */
export function button(text, rest, onclick, kind = "") {
  const whole = rest === "" ? text : `${text} ${rest}`;
  return make(
    "button",
    { type: "button", class: kind || null, "aria-label": whole, onclick },
    text,
    rest === "" ? null : make("span", { class: "unseen" }, ` ${rest}`),
  );
}

/** Show one of two buttons; the keyboard's place goes along. */
export function showOne(shown, other) {
  const hadFocus = document.activeElement === other;
  shown.hidden = false;
  if (hadFocus) shown.focus({ preventScroll: true });
  other.hidden = true;
}
