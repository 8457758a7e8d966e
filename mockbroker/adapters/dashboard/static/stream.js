// What the server sends, put into the state.

import { ask } from "./api.js";
import { trafficOf } from "./model.js";
import { changed, state } from "./store.js";

const KEPT_REQUESTS = 500;
const HIDDEN_MS = 10_000;

const topics = new Map(); // name -> topic, as far as it has come
let areTopicsStale = false;
let worker = null;

export function listen() {
  worker = new Worker(trusted(new URL("stream_worker.js", import.meta.url).href), { type: "module" });
  worker.onmessage = ({ data }) => taken[data.kind](data);
  addEventListener("online", retry);
  giveUpWhileHidden();
  ask("GET", "dashboard/names.json")
    .then((names) => {
      state.names = names;
      changed("names");
    })
    .catch(() => {}); // reasons then stand without their explanation
}

export function retry() {
  worker.postMessage("retry");
}

/**
 * A page that nobody sees listens no longer: browsers open six connections to a server at a time, whatever number of
 * windows there are.
 */
function giveUpWhileHidden() {
  let timer = null;
  const pause = () => worker.postMessage("pause");
  const goOn = () => state.connection.status !== "live" && retry();
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") timer = setTimeout(pauseHidden, HIDDEN_MS);
    else goOn();
  });
  addEventListener("pagehide", pauseHidden);
  addEventListener("pageshow", ({ persisted }) => persisted && goOn());

  function pauseHidden() {
    Object.assign(state.connection, { status: "connecting", retryAtMs: null });
    changed("connection");
    pause();
  }
}

/** The one string that becomes code, where the browser wants to be told so. */
function trusted(address) {
  const policy = globalThis.trustedTypes?.createPolicy("kafka-rack", { createScriptURL: (one) => one });
  return policy === undefined ? address : policy.createScriptURL(address);
}

const taken = {
  connection({ status, retryAtMs }) {
    Object.assign(state.connection, { status, retryAtMs });
    changed("connection");
  },

  topic({ topic }) {
    topics.set(topic.name, topic);
    areTopicsStale = true;
  },

  partitions({ changes }) {
    for (const [name, index, partition] of changes) topics.get(name).partitions[index] = partition;
    areTopicsStale = true;
  },

  /** What came of topics and partitions before belongs to it. */
  cluster({ cluster, order }) {
    if (state.cluster !== null && state.cluster.cluster_id !== cluster.cluster_id) state.requests = [];
    if (topics.size > order.length) {
      const there = new Set(order);
      for (const name of topics.keys()) if (!there.has(name)) topics.delete(name);
      areTopicsStale = true;
    }
    state.cluster = cluster;
    changed("cluster");
    if (!areTopicsStale) return;
    areTopicsStale = false;
    state.topics = order.map((name) => topics.get(name));
    changed("topics");
  },

  traffic({ data }) {
    state.traffic = trafficOf(data);
    changed("traffic");
  },

  groups({ data }) {
    state.groups = data.groups;
    changed("groups");
  },

  faults({ data }) {
    state.faults = data.faults;
    changed("faults");
  },

  requests({ data }) {
    const entries = data.requests;
    const newest = state.requests.length > 0 ? state.requests[0].sequence : -1;
    // A journal that was emptied counts on; one that begins anew is another cluster's, or one that was reset.
    const isAnew = entries.length > 0 && entries[entries.length - 1].sequence < newest;
    const before = isAnew ? [] : state.requests;
    const fresh = entries.filter((entry) => isAnew || entry.sequence > newest).reverse();
    if (before.length > 0 && fresh.length > 0)
      state.connection.skipped += fresh[fresh.length - 1].sequence - newest - 1;
    state.requests = [...fresh, ...before].slice(0, KEPT_REQUESTS);
    changed("requests");
  },
};
