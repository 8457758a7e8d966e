// Clients with their locality, and groups with their lag.

import { byId, make, reconcile, setAttribute, setText } from "./dom.js";
import { bytes, count, name, plural, short } from "./format.js";
import { bar, rowsLink, setBar, setReason, setRowsLink } from "./parts.js";
import { state, watch } from "./store.js";

const MAX_ROWS = 100;
const LAGS_SHOWN = 4;

export function start() {
  watch(["traffic", "names"], drawClients, 500);
  watch(["groups"], drawGroups, 200);
}

function drawClients() {
  if (state.traffic === null) return;
  const clients = [...state.traffic.clients].sort(
    (one, other) => other.cross - one.cross || other.unknown - one.unknown || other.local - one.local,
  );
  const shown = clients.slice(0, MAX_ROWS);
  const longest = Math.max(0, ...shown.map((client) => client.cross + client.unknown + client.local));
  const rows = shown.map((client) => ({ client, longest }));
  reconcile(byId("clients-table").tBodies[0], rows, ({ client }) => client.key, createClient, updateClient);
  setText(byId("clients-note"), noteOn(clients.length, shown.length, "client"));
}

function noteOn(all, shown, noun) {
  if (all === 0) return `No ${noun} yet.`;
  return all > shown ? `And ${plural(all - shown, `more ${noun}`)}.` : "";
}

function createClient({ client }) {
  const row = {
    link: rowsLink("", {}),
    rack: make("td"),
    bar: bar(),
    reason: make("td", { class: "reason" }),
  };
  for (const locality of ["local", "cross", "unknown"]) row[locality] = rowsLink("", {});
  const title = client.isOther ? make("i", {}, "all others") : row.link;
  row.node = make(
    "tr",
    {},
    make("th", { scope: "row" }, title),
    row.rack,
    make("td", { class: "bar" }, row.bar),
    ...["local", "cross", "unknown"].map((locality) => make("td", { class: "number" }, row[locality])),
    row.reason,
  );
  return row;
}

function updateClient(row, { client, longest }) {
  const filters = client.client_id === null ? {} : { client_id: client.client_id };
  const called = short(name(client.client_id, "no client id"));
  setRowsLink(row.link, called, filters, `${called}: its requests`);
  setAttribute(row.link, "title", name(client.client_id, "no client id"));
  setText(
    row.rack,
    client.rack === null ? "unknown" : name(client.rack) + (client.source ? ` by ${client.source}` : ""),
  );
  setAttribute(row.rack, "class", client.rack === null ? "isunknown" : null);
  setBar(row.bar, client, longest);
  for (const locality of ["local", "cross", "unknown"]) {
    setRowsLink(
      row[locality],
      bytes(client[locality]),
      { ...filters, locality },
      `${bytes(client[locality])} ${locality}: ${called}`,
    );
    setAttribute(row[locality].parentNode, "data-some", client[locality] > 0 ? locality : null);
  }
  setReason(row.reason, client.reason, client.detail);
}

function drawGroups() {
  const groups = state.groups.map(groupOf).sort((one, other) => other.lag - one.lag);
  const shown = groups.slice(0, MAX_ROWS);
  reconcile(byId("groups-table").tBodies[0], shown, (group) => group.id, createGroup, updateGroup);
  setText(byId("groups-note"), noteOn(groups.length, shown.length, "group"));
}

/** A group as it is shown; lags are by partition, the largest first. */
function groupOf(group) {
  const lags = group.offsets
    .map(({ topic, partition, lag }) => ({ topic, partition, lag: lag ?? 0 }))
    .sort((one, other) => other.lag - one.lag);
  return {
    id: group.id,
    state: [group.type, group.state].filter(Boolean).join(", "),
    members: group.members.length,
    coordinator: group.coordinator,
    lag: group.lag,
    lags,
  };
}

function createGroup() {
  const row = { link: rowsLink("", {}), coordinator: rowsLink("", {}), lags: make("td", { class: "reason" }) };
  row.state = make("td");
  row.members = make("td", { class: "number" });
  row.lag = make("td", { class: "number" });
  row.node = make(
    "tr",
    {},
    make("th", { scope: "row" }, row.link),
    row.state,
    row.members,
    make("td", {}, row.coordinator),
    row.lag,
    row.lags,
  );
  return row;
}

function updateGroup(row, group) {
  const called = short(name(group.id));
  setRowsLink(row.link, called, { group: group.id }, `group ${called}: its requests`);
  setAttribute(row.link, "title", name(group.id));
  setText(row.state, group.state);
  setText(row.members, count(group.members));
  const isKnown = group.coordinator !== null && group.coordinator !== undefined && group.coordinator >= 0;
  row.coordinator.hidden = !isKnown;
  if (isKnown)
    setRowsLink(row.coordinator, `broker ${group.coordinator}`, { broker: String(group.coordinator), group: group.id });
  setText(row.lag, count(group.lag));
  setAttribute(row.lag, "data-some", group.lag > 0 ? "cross" : null);
  const behind = group.lags.filter((one) => one.lag > 0);
  const words = behind
    .slice(0, LAGS_SHOWN)
    .map(({ topic, partition, lag }) => `${short(name(topic), 24)}-${partition}: ${count(lag)}`);
  if (behind.length > LAGS_SHOWN) words.push(`and ${count(behind.length - LAGS_SHOWN)} more`);
  setText(row.lags, words.join(", "));
}
