// The figures at a glance; each opens what it counts.

import { byId, make, reconcile, setAttribute, setText } from "./dom.js";
import { bytes, count, money, plural, share } from "./format.js";
import { statusOf } from "./racks_view.js";
import { rowsHref } from "./route.js";
import { state, watch } from "./store.js";

export function start() {
  watch(["traffic", "cluster", "topics", "faults"], draw, 200);
}

function draw() {
  if (state.cluster === null) return;
  const cards = [...trafficCards(), ...clusterCards()];
  reconcile(byId("summary"), cards, (card) => card.what, createCard, updateCard);
}

function trafficCards() {
  if (state.traffic === null) return [];
  const { cross, unknown, local, total, month, currency } = state.traffic;
  const known = cross + local;
  return [
    {
      what: "crossed racks",
      figure: share(cross, total),
      more: `${bytes(cross)} of ${bytes(total)}; ${share(cross, known)} of what is known`,
      filters: { locality: "cross" },
      kind: "cross",
    },
    {
      what: "crossing costs a month",
      figure: month === null ? "–" : money(month, currency),
      more: month === null ? "once some time has passed" : "at the pace since the start",
      filters: { locality: "cross" },
    },
    {
      what: "unknown",
      figure: share(unknown, total),
      more: `${bytes(unknown)} of which nobody says whether they crossed`,
      filters: { locality: "unknown" },
      kind: "unknown",
    },
  ];
}

function clusterCards() {
  const brokers = state.cluster.brokers;
  const up = brokers.filter((broker) => statusOf(broker) === "up").length;
  let partitions = 0;
  let out = 0;
  let leaderless = 0;
  for (const topic of state.topics) {
    partitions += topic.partitions.length;
    if (topic.diskless) continue;
    for (const { leader, replicas, isr } of topic.partitions) {
      if (isr.length < replicas.length) out += 1;
      if (leader === null || leader < 0) leaderless += 1;
    }
  }
  const fired = state.faults.reduce((sum, fault) => sum + (fault.fired ?? 0), 0);
  return [
    {
      what: "brokers up",
      figure: `${count(up)} of ${count(brokers.length)}`,
      more: `${plural(Object.keys(state.cluster.racks).length, "rack")}`,
      to: "#racks",
      kind: up < brokers.length ? "bad" : null,
    },
    {
      what: "out of ISR",
      figure: count(out),
      more: `of ${plural(partitions, "partition")}; ${leaderless === 0 ? "all have a leader" : `${count(leaderless)} without a leader`}`,
      to: "#partitions",
      kind: out > 0 ? "bad" : null,
    },
    {
      what: "faults set",
      figure: count(state.faults.length),
      more: `fired ${plural(fired, "time")}`,
      to: "#faults",
    },
  ];
}

function createCard() {
  const what = make("span", { class: "what" });
  const figure = make("b");
  const more = make("span", { class: "more" });
  const node = make("a", { class: "card" }, what, figure, more);
  node.addEventListener("click", (event) => {
    if (node.dataset.rows !== undefined) return;
    event.preventDefault();
    const target = byId(node.dataset.to.slice(1));
    target.scrollIntoView();
    const title = target.querySelector("h2");
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  });
  return { node, what, figure, more };
}

function updateCard({ node, what, figure, more }, card) {
  setText(what, card.what);
  setText(figure, card.figure);
  setText(more, card.more);
  setAttribute(node, "data-kind", card.kind ?? null);
  if (card.filters === undefined) {
    setAttribute(node, "data-to", card.to);
    setAttribute(node, "href", card.to);
  } else if (node.dataset.rows === undefined) {
    node.dataset.rows = JSON.stringify(card.filters);
    setAttribute(node, "href", rowsHref(card.filters));
  }
}
