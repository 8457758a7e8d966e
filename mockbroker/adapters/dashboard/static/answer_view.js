// The answer first: what of the clients' traffic crosses racks, what of it is avoidable and how, what it costs; and the
// address for clients.

import { byId, draw, h } from "./dom.js";
import { byName, bytes, count, name, perTerabyte, plural, share } from "./format.js";
import { copyButton, isNotable, rowsLink } from "./parts.js";
import { state, watch } from "./store.js";

const SELECTOR = "replica.selector.class";
const RACK_AWARE = `${SELECTOR}=org.apache.kafka.common.replica.RackAwareReplicaSelector`;
const ADDRESSES_SHOWN = 6;
const MAX_LINES = 8;
const ACTIONS_SHOWN = 3;

function drawAnswer() {
  const { cluster, traffic } = state;
  if (cluster === null) return;
  draw(byId("connect"), connect(bootstrapOf(cluster)), health());
  if (traffic === null) return;
  const isEmpty = traffic.summary.client.bytes === 0;
  draw(byId("cards"), isEmpty ? [] : cards(traffic));
  draw(byId("todo"), isEmpty ? firstSteps(cluster) : whatToDo(traffic));
}

/** One address of each rack, as clients take it. */
export function bootstrapOf({ brokers }) {
  const racks = new Map();
  for (const one of brokers) if (!one.rack || !racks.has(one.rack)) racks.set(one.rack ?? one.id, one);
  const listeners = [...racks.values()].slice(0, ADDRESSES_SHOWN).map((broker) => broker.listeners[0]);
  return listeners.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join(",");
}

function connect(address) {
  const copy = copyButton(address, "the bootstrap address");
  return h("div", { class: "connect" }, "bootstrap.servers ", h("code", {}, address), copy);
}

/** Brokers, partitions and faults in a line; each leads to its part of the page. */
function health() {
  const { brokers } = state.cluster;
  const up = brokers.filter((broker) => broker.online).length;
  const classic = state.topics.filter(({ diskless }) => !diskless).flatMap(({ partitions }) => partitions);
  const out = classic.filter(({ isr, replicas }) => isr.length < replicas.length).length;
  const faults = state.faults.length;
  const chip = (to, text, isBad) => h("a", { href: `#${to}`, class: "chip", "data-bad": isBad }, text);
  return h(
    "div",
    { class: "health" },
    chip("racks", `${count(up)} of ${plural(brokers.length, "broker")} up`, up < brokers.length),
    chip("partitions", out === 0 ? "all replicas in sync" : `${plural(out, "partition")} out of ISR`, out > 0),
    chip("faults", faults === 0 ? "no faults" : plural(faults, "fault"), faults > 0),
  );
}

/** cross: much is avoidable; unknown: that cannot be said; good: nothing is, or too little to matter. */
function verdictOf({ bytes: all, avoidable_bytes: avoidable }, actions) {
  if (isNotable(avoidable, all)) return "cross";
  const isOpen = actions.some((one) => one.reason !== "client_rack_unknown" && isNotable(one.bytes, all));
  return isOpen ? "unknown" : "good";
}

function cards({ summary: { client, replication, actions, period }, currency, clients }) {
  const kind = verdictOf(client, actions);
  const { bytes: all, cross_bytes: crossed, unknown_bytes: unknown, avoidable_bytes: avoidable } = client;
  const month = (part, otherwise, rest) => (period === "a month" ? `${part.cost_text} a month${rest}` : otherwise);
  const nameless = new Set(clients.filter((one) => one.unknown_bytes > 0).map((one) => one.client_id)).size;
  const crossing = unknown === all ? "unknown" : rowsLink(client.cross_share, { locality: "cross" });
  const price = perTerabyte(client.cost, all, currency);
  const most = perTerabyte(Number(client.cost) + Number(client.possible_cost), all, currency);
  const figure = avoidable > 0 ? bytes(avoidable) : kind === "good" ? "nothing" : "cannot tell";
  const part = kind === "unknown" ? "see what to do below" : `${share(avoidable, all)} of client traffic`;
  const owners = unknown > 0 ? `${bytes(unknown)}: ${plural(nameless, "client")} without a rack` : "all racks are known";
  const rate = month(client, "a month: after one minute of traffic", " at this rate");
  const copies = `${month(replication, "", "; ")}unavoidable with replicas in several racks`;
  return [
    card("client traffic across racks", crossing, kind, `${bytes(crossed)} of ${bytes(all)}`),
    card("avoidable", figure, kind, part),
    card("cost per TB of client traffic", most === price ? price : `${price} to ${most}`, null, rate),
    card("unknown", rowsLink(share(unknown, all), { locality: "unknown" }), unknown > 0 ? "unknown" : null, owners),
    card("replication across racks", bytes(replication.cross_bytes), null, copies),
  ];
}

function card(what, figure, kind, more) {
  return h("div", { class: "card", "data-kind": kind }, h("span", {}, what), h("b", {}, figure), h("span", {}, more));
}

function whatToDo({ summary: { client, actions, period } }) {
  const isGood = verdictOf(client, actions) === "good";
  const words = client.cross_bytes > 0 ? "hardly anything is avoidable." : "no client traffic crossed racks.";
  return [
    isGood && step("good", `✓ Nothing to do: ${words}`),
    actions.filter((one) => isNotable(one.bytes, client.bytes)).slice(0, ACTIONS_SHOWN).map((one) => {
      const saved = period === "a month" ? `${one.saving} a month` : bytes(one.avoidable_bytes);
      const effect = one.avoidable_bytes > 0 ? `Saves ${saved}.` : `${bytes(one.bytes)}: ${one.avoidable}.`;
      const kind = isNotable(one.avoidable_bytes, client.bytes) ? "cross" : "unknown";
      return step(kind, one.action, `${effect} ${one.what}`, linesFor(one.reason), one.action);
    }),
  ];
}

/** A line of the list: what to do, its effect, and the settings to copy, or else the words. */
function step(kind, action, effect = null, lines = [], words = null) {
  const text = lines.length > 0 ? lines.join("\n") : words;
  return h(
    "li",
    { "data-kind": kind },
    h("div", {}, h("b", {}, action), effect && h("span", { class: "soft" }, ` ${effect}`)),
    lines.map((line) => h("code", {}, line)),
    text && copyButton(text, lines.length > 0 ? lines[0] : "the action"),
  );
}

/** The settings of an action. */
function linesFor(reason) {
  const rack = Object.keys(state.cluster.racks).sort(byName)[0] ?? "RACK";
  const selector = state.cluster.mode !== "proxy" && readsFromFollowers(state.cluster) ? [] : [RACK_AWARE];
  const clientRack = `client.rack=${rack}`;
  const lines = {
    no_client_rack: [clientRack, ...selector],
    version_too_old: [clientRack],
    rack_not_in_cluster: [clientRack],
    not_redirected: selector,
    diskless_without_zone: [`client.id=NAME,diskless_az=${rack}`],
    unaware_partitioner: ["partitioner.rack.aware=true", clientRack],
    client_rack_unknown: racksFile(),
  };
  return lines[reason] ?? [];
}

/** Lines of a racks file for clients whose rack is unknown. */
function racksFile() {
  const clients = state.traffic.clients.filter(({ reason }) => reason === "client_rack_unknown");
  const ids = clients.map(({ client_id: id }) => id).filter((id) => /^[\w.-]+$/.test(id ?? ""));
  return [...new Set(ids)].slice(0, MAX_LINES).map((id) => `RACK@client:${id}`);
}

/** What to do while no client has read or written. */
function firstSteps(cluster) {
  const racks = Object.keys(cluster.racks).sort(byName);
  const settings = [`bootstrap.servers=${bootstrapOf(cluster)}`, `client.rack=${racks[0] ?? "RACK"}`];
  const named = racks.length > 0 ? `its own rack: ${racks.map((rack) => name(rack)).join(", ")}` : "its own rack";
  return [
    step("empty", "No client has read or written yet.", `Start one with these settings and ${named}.`, settings),
    !readsFromFollowers(cluster) &&
      step("empty", "Consumers read from leaders.", `Set ${SELECTOR} to let them read in their rack.`, [RACK_AWARE]),
  ];
}

/** Whether brokers send consumers to replicas in their rack; a proxy does not know. */
function readsFromFollowers({ mode, settings }) {
  return mode === "proxy" || Boolean(settings?.[SELECTOR]);
}

watch(["traffic", "cluster", "topics", "faults", "names"], drawAnswer, 200);
