// Puts what the server sends into the state.

import { ask } from "./actions.js";
import { changed, state } from "./store.js";

const MAX_REQUESTS = 500;
const HIDDEN_MS = 10_000;
const topics = new Map(); // name -> topic
let areTopicsStale = false;

export function listen() {
  // The one string that becomes code, as browsers with trusted types require.
  const policy = globalThis.trustedTypes?.createPolicy("kafka-rack", { createScriptURL: (one) => one });
  const address = new URL("stream_worker.js", import.meta.url).href;
  const worker = new Worker(policy?.createScriptURL(address) ?? address, { type: "module" });
  worker.onmessage = ({ data }) => received[data.kind](data);
  const connect = () => state.connection.status !== "live" && worker.postMessage("connect");
  const pause = () => {
    received.connection({ status: "connecting" });
    worker.postMessage("pause");
  };
  let timer = null;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer); // a hidden page gives up its connection: browsers open six to a server, over all windows
    if (document.visibilityState === "hidden") timer = setTimeout(pause, HIDDEN_MS);
    else connect();
  });
  addEventListener("pagehide", pause);
  addEventListener("pageshow", ({ persisted }) => persisted && connect());
  addEventListener("online", connect);
  document.getElementById("retry").addEventListener("click", connect);
  ask("GET", "dashboard/names.json").then((names) => set("names", names));
}

function set(part, value) {
  state[part] = value;
  changed(part);
}

const received = {
  connection({ status }) {
    state.connection.status = status;
    changed("connection");
  },

  topic({ topic }) {
    topics.set(topic.name, topic);
    areTopicsStale = true;
  },

  /** Ends a series of topics. */
  cluster({ cluster, order }) {
    if (state.cluster !== null && state.cluster.cluster_id !== cluster.cluster_id) state.requests = [];
    const existing = new Set(order);
    for (const name of topics.keys()) if (!existing.has(name)) areTopicsStale = topics.delete(name);
    set("cluster", cluster);
    if (areTopicsStale) set("topics", order.map((name) => topics.get(name)));
    areTopicsStale = false;
  },

  traffic: ({ data }) => set("traffic", data),
  groups: ({ data }) => set("groups", data.groups),
  faults: ({ data }) => set("faults", data.faults),

  requests({ data: { requests: entries } }) {
    const newest = state.requests[0]?.sequence ?? -1;
    // A cleared journal counts on; one that starts again is another cluster's, or was reset.
    const isReset = entries.length > 0 && entries.at(-1).sequence < newest;
    const before = isReset ? [] : state.requests;
    const fresh = entries.filter((entry) => isReset || entry.sequence > newest).reverse();
    if (before.length > 0 && fresh.length > 0) state.connection.skipped += fresh.at(-1).sequence - newest - 1;
    set("requests", [...fresh, ...before].slice(0, MAX_REQUESTS));
  },
};
