// Brokers in their racks, the links between racks, and the buttons that stop, start, cut and restore them.

import { cutLink, removeFaults, switchBroker, switchRack } from "./actions.js";
import { byId, draw, h } from "./dom.js";
import { byName, count, name, plural } from "./format.js";
import { button, rowsLink, soft } from "./parts.js";
import { state, watch } from "./store.js";

const STATES = { up: "●", fenced: "◐", down: "✕" };
const MANY_BROKERS = 6;
const MANY_LINKS = 10;

function drawRacks() {
  if (state.cluster === null) return;
  const loads = loadsOf(state.topics);
  const racks = Map.groupBy(state.cluster.brokers, ({ rack }) => rack ?? "");
  byId("racks-list").dataset.many = [...racks.values()].some((brokers) => brokers.length > MANY_BROKERS);
  const names = [...racks.keys()].sort(byName);
  draw(byId("racks-list"), names.map((rack) => rackOf(rack, racks.get(rack), loads)));
}

/** By broker: how many partitions it leads and has, and of how many it is out of the ISR. */
function loadsOf(topics) {
  const loads = new Map();
  const add = (id, field) => {
    if (!loads.has(id)) loads.set(id, { leads: 0, replicas: 0, out: 0 });
    loads.get(id)[field] += 1;
  };
  const classic = topics.filter(({ diskless }) => !diskless);
  for (const { leader, replicas, isr } of classic.flatMap(({ partitions }) => partitions)) {
    if (leader !== null && leader >= 0) add(leader, "leads");
    for (const id of replicas) {
      add(id, "replicas");
      if (!isr.includes(id)) add(id, "out");
    }
  }
  return loads;
}

function statusOf({ online, running }) {
  return online ? "up" : running ? "fenced" : "down";
}

function rackOf(rack, brokers, loads) {
  const up = brokers.filter(({ online }) => online).length;
  const down = brokers.filter((broker) => statusOf(broker) === "down").length;
  const of = (verb, text, kind) => button(text, name(rack), () => switchRack(verb, rack), kind);
  const buttons = [down < brokers.length && of("stop", "Stop rack"), down > 0 && of("start", "Start rack", "primary")];
  const title = rack ? `rack ${name(rack)}` : "no rack";
  const status = up === 0 ? "down" : up < brokers.length ? "partly" : "up";
  return h(
    "article",
    { key: rack, class: "rack", "data-status": status },
    h(
      "header",
      {},
      h("div", {}, h("h3", {}, title), soft(`${up} of ${plural(brokers.length, "broker")} up`)),
      rack && h("span", { class: "buttons" }, buttons),
    ),
    h("ul", { "aria-label": `brokers of ${title}` }, brokers.map((broker) => brokerOf(broker, loads.get(broker.id)))),
  );
}

function brokerOf(broker, load = { leads: 0, replicas: 0, out: 0 }) {
  const { id } = broker;
  const status = statusOf(broker);
  const trouble = [
    broker.follower_lag > 0 && `followers lag ${count(broker.follower_lag)}`,
    load.out > 0 && `${count(load.out)} out of ISR`,
    broker.disk_full && "disk full",
  ].filter(Boolean);
  const [verb, text, kind] = status === "down" ? ["start", "Start", "primary"] : ["stop", "Stop", null];
  return h(
    "li",
    { key: id, "data-status": status },
    h("span", { class: "mark", "aria-hidden": "true" }, STATES[status]),
    h(
      "span",
      {},
      rowsLink(`broker ${id}`, { broker: String(id) }, `broker ${id}: its requests`),
      h("span", { class: "status" }, ` ${status}${id === state.cluster.controller ? ", controller" : ""}`),
      h("span", { class: "load soft" }, `leads ${count(load.leads)} of ${plural(load.replicas, "replica")}`),
      h("span", { class: "load trouble" }, trouble.join(" · ")),
    ),
    button(text, `broker ${id}`, () => switchBroker(verb, id), kind),
  );
}

/** The ids of the faults that cut the link between two racks, one way or both; names may contain a *. */
export function cutsOf(faults, first, second) {
  const isCut = ({ link, match, effect }) => {
    const between = link ?? match?.link;
    if (!between || !effect?.cut) return false;
    const [one, other] = between.between ?? [between.from, between.to];
    return (matches(one, first) && matches(other, second)) || (matches(one, second) && matches(other, first));
  };
  return faults.filter(isCut).map(({ id }) => id);
}

function matches(patterns, rack) {
  return [patterns].flat().some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`, "s").test(rack);
  });
}

function drawLinks() {
  if (state.cluster === null) return;
  const racks = Object.keys(state.cluster.racks).sort(byName);
  const pairs = racks.flatMap((first, index) => racks.slice(index + 1).map((second) => [first, second]));
  byId("links-title").hidden = pairs.length === 0;
  byId("links").dataset.many = pairs.length > MANY_LINKS;
  draw(byId("links"), pairs.map(linkOf));
  const { cut_links: cut, clock_ms: clockMs } = state.cluster;
  const node = (id) => (id < 0 ? "the controller" : `broker ${id}`);
  const words = cut.map(([one, other]) => `${node(one)} – ${node(other)}`).join(", ");
  const moved = clockMs !== 0 && `The wall clock was moved by ${clockMs > 0 ? "+" : ""}${clockMs / 1000} s.`;
  draw(byId("links-note"), words && `Cut between brokers: ${words}. `, moved);
}

function linkOf([first, second]) {
  const cuts = cutsOf(state.faults, first, second);
  const isCut = cuts.length > 0;
  const words = `${name(first)} - ${name(second)}`;
  const restore = () => removeFaults(cuts, `Restored link ${words}.`);
  return h(
    "li",
    { key: `${first}\0${second}`, "data-status": isCut ? "down" : "up" },
    h("span", { class: "mark", "aria-hidden": "true" }, isCut ? "✂" : "━"),
    h("span", {}, `${name(first)} – ${name(second)} `, h("span", { class: "status" }, isCut ? "cut" : "connected")),
    isCut ? button("Restore link", words, restore, "primary") : button("Cut link", words, () => cutLink(first, second)),
  );
}

watch(["cluster", "topics"], drawRacks, 200);
watch(["cluster", "faults"], drawLinks);
