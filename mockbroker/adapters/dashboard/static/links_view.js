// Links between racks: whole or cut. A cut link is a fault with a link and the effect cut.

import { cutLink, mendLink } from "./actions.js";
import { byId, make, reconcile, setAttribute, setText } from "./dom.js";
import { byName, name } from "./format.js";
import { button, showOne } from "./parts.js";
import { state, watch } from "./store.js";

export function start() {
  watch(["cluster", "faults"], draw);
}

/** The ids of the faults that cut the link between two racks, one way or both; names may have a * in them. */
export function cutsOf(faults, first, second) {
  return faults
    .filter((fault) => {
      const link = fault.link ?? fault.match?.link;
      if (!link || !fault.effect?.cut) return false;
      const [one, other] = link.between ?? [link.from, link.to];
      return (means(one, first) && means(other, second)) || (means(one, second) && means(other, first));
    })
    .map((fault) => fault.id);
}

function means(patterns, rack) {
  return [patterns].flat().some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`, "s").test(rack);
  });
}

function node(id) {
  return id < 0 ? "the controller" : `broker ${id}`;
}

function keyOf(first, second) {
  return [first, second].sort(byName).join("\0");
}

function draw() {
  if (state.cluster === null) return;
  const racks = Object.keys(state.cluster.racks).sort(byName);
  const pairs = [];
  racks.forEach((first, index) => {
    for (const second of racks.slice(index + 1))
      pairs.push({ first, second, cuts: cutsOf(state.faults, first, second) });
  });
  reconcile(byId("links"), pairs, ({ first, second }) => keyOf(first, second), create, update);
  const { cut_links: cut, clock_ms: clock } = state.cluster;
  const words = cut.map(([one, other]) => `${node(one)} – ${node(other)}`);
  const notes = words.length > 0 ? [`Cut between brokers: ${words.join(", ")}.`] : [];
  if (clock !== 0)
    notes.push(`The wall clock was moved by ${clock > 0 ? "+" : ""}${(clock / 1000).toLocaleString("en-US")} s.`);
  setText(byId("links-note"), notes.join(" "));
  byId("links-title").hidden = pairs.length === 0;
  setAttribute(byId("links"), "data-many", pairs.length > 10);
}

function create({ first, second }) {
  const words = `${name(first)} - ${name(second)}`;
  const row = { ids: [] };
  row.status = make("span", { class: "status" });
  row.mark = make("span", { class: "mark", "aria-hidden": "true" });
  row.cut = button("Cut link", words, () => cutLink(first, second));
  row.mend = button("Mend link", words, () => mendLink(first, second, row.ids), "primary");
  row.node = make(
    "li",
    {},
    row.mark,
    make("span", { class: "who" }, `${name(first)} – ${name(second)} `, row.status),
    make("span", { class: "buttons" }, row.cut, row.mend),
  );
  return row;
}

function update(row, { cuts }) {
  row.ids = cuts;
  setAttribute(row.node, "data-status", cuts.length > 0 ? "down" : "up");
  setText(row.mark, cuts.length > 0 ? "✂" : "━");
  setText(row.status, cuts.length > 0 ? "cut" : "whole");
  if (cuts.length > 0) showOne(row.mend, row.cut);
  else showOne(row.cut, row.mend);
}
