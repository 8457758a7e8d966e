// The figures at a glance; each opens what it counts.

import { byId, make, reconcile, setAttribute, setText } from "./dom.js";
import { bytes, count, plural, share } from "./format.js";
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
  const { client, replication, actions, period } = state.traffic.summary;
  const fix = actions.find((action) => action.avoidable_bytes > 0);
  const perhaps = client.perhaps_bytes > 0 ? `; cannot tell of ${bytes(client.perhaps_bytes)}` : "";
  return [
    {
      what: "client traffic across racks",
      figure: client.cross_share,
      more: `${bytes(client.cross_bytes)} of ${bytes(client.bytes)}, ${client.cost_text} ${period}`,
      filters: { locality: "cross" },
      kind: client.avoidable_bytes > 0 ? "cross" : "good",
    },
    {
      what: "avoidable",
      figure: fix === undefined ? "nothing" : bytes(client.avoidable_bytes),
      more: fix === undefined ? `no client traffic that crossed${perhaps}` : `saves ${fix.saving} ${period}: ${fix.action}`,
      copy: fix?.action,
      filters: { locality: "cross" },
      kind: fix === undefined ? "good" : "cross",
    },
    {
      what: "unknown",
      figure: share(client.unknown_bytes, client.bytes),
      more:
        client.unknown_bytes === 0
          ? "the rack of every client is known"
          : `${bytes(client.unknown_bytes)}: name the clients in a racks file (--client-racks)`,
      filters: { locality: "unknown" },
      kind: client.unknown_bytes > 0 ? "unknown" : null,
    },
    {
      what: "replication across racks",
      figure: bytes(replication.cross_bytes),
      more: `${replication.cost_text} ${period}; unavoidable with replicas in several racks`,
      to: "#traffic",
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
  const copy = make("button", { type: "button", class: "copy", hidden: "" }, "Copy");
  const link = make("a", {}, what, figure, more);
  const node = make("div", { class: "card" }, link, copy);
  copy.addEventListener("click", () => {
    navigator.clipboard?.writeText(copy.dataset.text);
    setText(copy, "Copied");
  });
  link.addEventListener("click", (event) => {
    if (link.dataset.rows !== undefined) return;
    event.preventDefault();
    const target = byId(link.dataset.to.slice(1));
    target.scrollIntoView();
    const title = target.querySelector("h2");
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  });
  return { node, link, what, figure, more, copy };
}

function updateCard({ node, link, what, figure, more, copy }, card) {
  setText(what, card.what);
  setText(figure, card.figure);
  setText(more, card.more);
  setAttribute(node, "data-kind", card.kind ?? null);
  copy.hidden = card.copy === undefined;
  if (card.copy !== undefined && copy.dataset.text !== card.copy) {
    copy.dataset.text = card.copy;
    setText(copy, "Copy");
  }
  if (card.filters === undefined) {
    setAttribute(link, "data-to", card.to);
    setAttribute(link, "href", card.to);
  } else if (link.dataset.rows === undefined) {
    link.dataset.rows = JSON.stringify(card.filters);
    setAttribute(link, "href", rowsHref(card.filters));
  }
}
