// Brokers in their racks: who is up, who leads how much, who lags; and the buttons that stop and start them.

import { startBroker, startRack, stopBroker, stopRack } from "./actions.js";
import { byId, make, reconcile, setAttribute, setText } from "./dom.js";
import { byName, count, name, plural } from "./format.js";
import { button, rowsLink, showOne } from "./parts.js";
import { state, watch } from "./store.js";

const NO_RACK = "";
const STATES = { up: "●", fenced: "◐", down: "✕" };

export function start() {
  watch(["cluster", "topics"], draw, 200);
}

function draw() {
  if (state.cluster === null) return;
  const loads = loadsOf(state.topics);
  const racks = new Map();
  for (const broker of state.cluster.brokers) {
    const rack = broker.rack ?? NO_RACK;
    if (!racks.has(rack)) racks.set(rack, []);
    racks.get(rack).push({ ...broker, load: loads.get(broker.id) ?? NOTHING });
  }
  const items = [...racks]
    .map(([rack, brokers]) => ({ rack, brokers }))
    .sort((one, other) => byName(one.rack, other.rack));
  const list = byId("racks-list");
  setAttribute(
    list,
    "data-many",
    [...racks.values()].some((brokers) => brokers.length > 6),
  );
  reconcile(list, items, (item) => item.rack, createRack, updateRack);
}

const NOTHING = { leads: 0, replicas: 0, out: 0 };

/** How many partitions each broker leads and has, and of how many it is out of the ISR. */
export function loadsOf(topics) {
  const loads = new Map();
  const of = (id) => {
    let load = loads.get(id);
    if (load === undefined) loads.set(id, (load = { ...NOTHING }));
    return load;
  };
  for (const topic of topics) {
    if (topic.diskless) continue;
    for (const { leader, replicas, isr } of topic.partitions) {
      if (leader !== null && leader >= 0) of(leader).leads += 1;
      for (const id of replicas) {
        const load = of(id);
        load.replicas += 1;
        if (!isr.includes(id)) load.out += 1;
      }
    }
  }
  return loads;
}

/** up, fenced or down. */
export function statusOf(broker) {
  if (broker.online) return "up";
  return broker.running ? "fenced" : "down";
}

function createRack({ rack }) {
  const title = make("h3", {}, rack === NO_RACK ? "no rack" : `rack ${name(rack)}`);
  const shown = make("span", { class: "soft" });
  const stop = button("Stop rack", name(rack), () => stopRack(rack));
  const start = button("Start rack", name(rack), () => startRack(rack), "primary");
  for (const one of [stop, start]) one.querySelector(".unseen")?.classList.remove("unseen");
  const brokers = make("ul", {
    class: "brokers",
    "aria-label": rack === NO_RACK ? "brokers without a rack" : `brokers of rack ${name(rack)}`,
  });
  const buttons = rack === NO_RACK ? null : make("span", { class: "buttons" }, stop, start);
  const node = make("article", { class: "rack" }, make("header", {}, make("div", {}, title, shown), buttons), brokers);
  return { node, shown, stop, start, brokers };
}

function updateRack(row, { rack, brokers }) {
  const up = brokers.filter((broker) => broker.online).length;
  const running = brokers.filter((broker) => statusOf(broker) !== "down").length;
  setText(row.shown, `${up} of ${plural(brokers.length, "broker")} up`);
  setAttribute(row.node, "data-status", up === 0 ? "down" : up < brokers.length ? "partly" : "up");
  if (rack !== NO_RACK) {
    if (running === 0) showOne(row.start, row.stop);
    else if (running === brokers.length) showOne(row.stop, row.start);
    else row.stop.hidden = row.start.hidden = false;
  }
  reconcile(row.brokers, brokers, (broker) => broker.id, createBroker, updateBroker);
}

function createBroker({ id }) {
  const mark = make("span", { class: "mark", "aria-hidden": "true" });
  const status = make("span", { class: "status" });
  const load = make("span", { class: "load soft" });
  const notes = make("span", { class: "notes" });
  const stop = button("Stop", `broker ${id}`, () => stopBroker(id));
  const start = button("Start", `broker ${id}`, () => startBroker(id), "primary");
  const title = rowsLink(`broker ${id}`, { broker: String(id) }, `broker ${id}: its requests`);
  const node = make(
    "li",
    {},
    mark,
    make("span", { class: "who" }, title, " ", status),
    load,
    notes,
    make("span", { class: "buttons" }, stop, start),
  );
  return { node, mark, status, load, notes, stop, start };
}

function updateBroker(row, broker) {
  const status = statusOf(broker);
  setAttribute(row.node, "data-status", status);
  setText(row.mark, STATES[status]);
  setText(row.status, status);
  const { leads, replicas, out } = broker.load;
  setText(row.load, `leads ${count(leads)} of ${count(replicas)}`);
  setAttribute(row.load, "title", `leads ${plural(leads, "partition")}, has a replica of ${count(replicas)}`);
  const notes = [];
  if (broker.id === state.cluster.controller) notes.push("controller");
  if (broker.follower_lag > 0) notes.push(`lag ${count(broker.follower_lag)}`);
  if (out > 0) notes.push(`${count(out)} out of ISR`);
  if (broker.disk_full) notes.push("disk full");
  setText(row.notes, notes.join(" · "));
  setAttribute(
    row.notes,
    "data-trouble",
    notes.some((note) => note !== "controller"),
  );
  if (status !== "down") showOne(row.stop, row.start);
  else showOne(row.start, row.stop);
}
