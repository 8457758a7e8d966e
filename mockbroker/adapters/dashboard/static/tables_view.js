// Clients with their bytes by locality, and groups with their lag.

import { byId, draw, h } from "./dom.js";
import { bytes, count, name, short } from "./format.js";
import { LOCALITIES, bar, drawTable, isNotable, noteOn, reason, rowsLink } from "./parts.js";
import { state, watch } from "./store.js";

const MAX_ROWS = 100;
const LAGS_SHOWN = 4;

/**
 * One row per client: what its connections without a rack carried (those to its coordinator, say) counts with the rack
 * that others of its connections name, if that is one.
 *
 * @param clients of GET /traffic @returns {id, rack, source, local, cross, unknown, reason, detail, isOther}
 */
export function foldClients(clients) {
  const byClient = Map.groupBy(clients, (one) => `${one.is_other} ${one.client_id}`);
  return [...byClient.values()].flatMap((rows) => {
    const racks = rows.filter((one) => one.client_rack !== null);
    if (racks.length === 0) return rows.map((one) => clientOf([one]));
    const nameless = rows.filter((one) => one.client_rack === null);
    if (racks.length === 1) return [clientOf([racks[0], ...nameless])];
    return [...racks, ...nameless.filter((one) => one.unknown_bytes > 0)].map((one) => clientOf([one]));
  });
}

function clientOf(rows) {
  const [first] = rows;
  const sum = (field) => rows.reduce((total, row) => total + row[field], 0);
  return {
    id: first.client_id || null,
    rack: first.client_rack,
    source: first.client_rack_source,
    local: sum("local_bytes"),
    cross: sum("cross_bytes"),
    unknown: sum("unknown_bytes"),
    reason: first.reason ?? rows.at(-1).reason,
    detail: first.detail,
    isOther: first.is_other,
  };
}

const total = (client) => client.local + client.cross + client.unknown;
const filtersFor = (client) => (client.id === null ? {} : { client_id: client.id });

function drawClients() {
  if (state.traffic === null) return;
  const clients = foldClients(state.traffic.clients).sort(
    (one, other) => other.cross - one.cross || other.unknown - one.unknown || other.local - one.local,
  );
  const shown = clients.slice(0, MAX_ROWS);
  const longest = Math.max(0, ...shown.map(total));
  const size = (locality) => ({
    head: LOCALITIES[locality].word,
    kind: "number",
    attributes: (client) => ({ "data-some": isNotable(client[locality], total(client)) ? locality : null }),
    cell: (client) => {
      const text = bytes(client[locality]);
      const label = `${text} ${LOCALITIES[locality].word}: ${name(client.id, "no client id")}`;
      return client[locality] > 0 ? rowsLink(text, { ...filtersFor(client), locality }, label) : text;
    },
  });
  const columns = [
    { head: "client", cell: whoIs },
    { head: "traffic", kind: "bar", cell: (client) => bar(client, longest) },
    ...["local", "cross", "unknown"].map(size),
    { head: "last reason", kind: "reason", cell: (client) => reason(client.reason, client.detail) },
  ];
  drawTable("clients-table", columns, shown, ({ id, rack, isOther }) => `${id}\0${rack}\0${isOther}`);
  draw(byId("clients-note"), noteOn(clients.length, shown.length, "client"));
}

function whoIs(client) {
  if (client.isOther) return h("i", {}, "all others");
  const called = name(client.id, "no client id");
  const source = client.source ? ` by ${client.source}` : "";
  const rack = client.rack === null ? "rack unknown" : `rack ${name(client.rack)}${source}`;
  const link = rowsLink(short(called), filtersFor(client), `${called}: its requests`, { title: called });
  return [link, h("span", { class: "soft rack-of" }, ` ${rack}`)];
}

function drawGroups() {
  const groups = [...state.groups].sort((one, other) => other.lag - one.lag);
  const shown = groups.slice(0, MAX_ROWS);
  const coordinated = ({ id, coordinator }) =>
    coordinator >= 0 && rowsLink(`broker ${coordinator}`, { broker: String(coordinator), group: id });
  const columns = [
    { head: "group", cell: ({ id }) => rowsLink(short(name(id)), { group: id }, `group ${name(id)}: its requests`) },
    { head: "state", cell: (group) => [group.type, group.state].filter(Boolean).join(", ") },
    { head: "members", kind: "number", cell: ({ members }) => count(members.length) },
    { head: "coordinator", cell: (group) => (group.coordinator === null ? null : coordinated(group)) },
    { head: "lag", kind: "number", cell: ({ lag }) => count(lag) },
    { head: "lagging partitions", kind: "reason", cell: ({ offsets }) => lagsOf(offsets) },
  ];
  drawTable("groups-table", columns, shown, ({ id }) => id);
  draw(byId("groups-note"), noteOn(groups.length, shown.length, "group"));
}

/** The partitions with the most lag. */
function lagsOf(offsets) {
  const lags = offsets.filter(({ lag }) => lag > 0).sort((one, other) => other.lag - one.lag);
  const word = ({ topic, partition, lag }) => `${short(name(topic), 24)}-${partition}: ${count(lag)}`;
  const words = lags.slice(0, LAGS_SHOWN).map(word);
  if (lags.length > LAGS_SHOWN) words.push(`and ${count(lags.length - LAGS_SHOWN)} more`);
  return words.join(", ");
}

watch(["traffic", "names"], drawClients, 500);
watch(["groups"], drawGroups, 200);
